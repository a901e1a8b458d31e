//! Says what entries are: their fields, as the specification names them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::HashSet;

use chrono::DateTime;
use chrono::Utc;
use serde_json::Value;
use serde_json::json;

use super::entry::Entry;
use super::entry::read;
use super::entry::text;
use super::vocabulary;
use super::vocabulary::SOURCE_DETAIL;
use super::vocabulary::SOURCES;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::object;
use crate::engine::Query;
use crate::engine::live;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Memory;
use crate::model::Stem;
use crate::model::Timestamp;
use crate::model::Visibility;

/// What replaces another memory is linked with it by this relation.
pub(super) const SUPERSEDES: &str = "supersedes";
/// What is called so has a live memory in its place.
pub(super) const SUPERSEDED: &str = "superseded";

/// Says what entries are, in the words of this set.
pub(super) struct EntryRenderer<'a> {
    call: &'a Call<'a>,
    /// What is not active, if it is known of all that are told of.
    inactive: Option<HashMap<Stem, &'static str>>,
    /// What links call memories, and what this set does.
    names: RefCell<HashMap<String, Option<String>>>,
}

impl<'a> EntryRenderer<'a> {
    /// For a few entries.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    pub fn new(call: &'a Call<'a>) -> Result<EntryRenderer<'a>, ToolError> {
        Ok(EntryRenderer {
            call,
            inactive: None,
            names: RefCell::default(),
        })
    }

    /// For many of a category, or of all: the index tells of all of them at once.
    ///
    /// # Errors
    ///
    /// Fails if a journal, or the store, cannot be read.
    pub fn of_all(
        call: &'a Call<'a>,
        category: Option<&str>,
        entries: &[Entry],
    ) -> Result<EntryRenderer<'a>, ToolError> {
        let mut teller = EntryRenderer::new(call)?;
        let stems = |visibility| -> Result<HashSet<Stem>, ToolError> {
            let filter = Filter {
                visibility,
                ..vocabulary::filter(category)
            };
            Ok(live::stems(&call.engine.live, &filter)?
                .into_iter()
                .collect())
        };
        let filter = vocabulary::filter(category);
        let mut inactive = HashMap::new();
        if total(call, filter)? < entries.len() {
            let current = stems(Visibility::Current)?;
            let expired = stems(Visibility::Expired)?;
            for Entry { memory, .. } in entries {
                if expired.contains(&memory.stem) {
                    inactive.insert(memory.stem.clone(), "archived");
                } else if !current.contains(&memory.stem) {
                    inactive.insert(memory.stem.clone(), SUPERSEDED);
                }
            }
        }
        teller.inactive = Some(inactive);
        let names = entries.iter();
        let names = names.map(|entry| (entry.id().to_owned(), Some(entry.name())));
        teller.names = RefCell::new(names.collect());
        Ok(teller)
    }

    /// The entry with all of its fields.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be searched for what it is linked with.
    pub fn entry(&self, entry: &Entry) -> Result<JsonObject, ToolError> {
        let memory = &entry.memory;
        let (state, usage) = live::state_of(&self.call.engine.live, memory);
        let created = memory.timestamp.utc();
        Ok(object(json!({
            "value": memory.content,
            "created_at": moment(created),
            "updated_at": moment(state.changed),
            "tags": memory.topics,
            "confidence": memory.confidence,
            "importance": entry.importance(),
            "source": source(memory),
            "access_count": usage.count(),
            "last_accessed": usage.last().map(moment),
            "status": self.status(memory)?,
            "links": self.links(memory)?,
        })))
    }

    /// As [`EntryRenderer::entry`], with what it is called.
    ///
    /// # Errors
    ///
    /// As for [`EntryRenderer::entry`].
    pub fn called(&self, entry: &Entry) -> Result<JsonObject, ToolError> {
        let mut called = object(json!({"category": entry.category, "key": entry.key}));
        called.extend(self.entry(entry)?);
        Ok(called)
    }

    /// One of the set's three words.
    pub fn status(&self, memory: &Memory) -> Result<&'static str, ToolError> {
        if let Some(inactive) = &self.inactive {
            return Ok(inactive.get(&memory.stem).copied().unwrap_or("active"));
        }
        let is = |visibility| -> Result<bool, ToolError> {
            let filter = Filter {
                stems: Some(vec![memory.stem.clone()]),
                visibility,
                ..Filter::default()
            };
            Ok(total(self.call, filter)? > 0)
        };
        Ok(match is(Visibility::Current)? {
            true => "active",
            false if is(Visibility::Expired)? => "archived",
            false => SUPERSEDED,
        })
    }

    /// The links of a memory to others that are there, in the order of its file.
    fn links(&self, memory: &Memory) -> Result<Vec<Value>, ToolError> {
        let supersedes = memory.supersedes.iter();
        let supersedes = supersedes.map(|to| (to.as_str(), SUPERSEDES));
        let links = memory.links.iter();
        let links = links.map(|link| (link.to.as_str(), link.relation.as_str()));
        let mut told: Vec<Value> = Vec::new();
        for (to, relation) in supersedes.chain(links) {
            let Some(target) = self.name_of(to)? else {
                continue;
            };
            let link = json!({"target": target, "relation": relation});
            if !told.contains(&link) {
                told.push(link);
            }
        }
        Ok(told)
    }

    /// What the memory is called that a link names; `None` if there is none.
    pub fn name_of(&self, id: &str) -> Result<Option<String>, ToolError> {
        if let Some(known) = self.names.borrow().get(id) {
            return Ok(known.clone());
        }
        let name = match read(self.call, id) {
            Some(hit) => Some(Entry::of_hit(self.call, hit)?.name()),
            None => None,
        };
        self.names.borrow_mut().insert(id.to_owned(), name.clone());
        Ok(name)
    }
}

/// How many memories pass a filter.
///
/// # Errors
///
/// Fails if the store cannot be searched.
pub(super) fn total(call: &Call<'_>, filter: Filter) -> Result<usize, ToolError> {
    Ok(ops::search(call.engine, &Query::everything(filter, 0))?.total)
}

/// A moment as this set writes it: in UTC.
pub(super) fn moment(at: DateTime<Utc>) -> String {
    Timestamp::from_utc(at).as_str().to_owned()
}

/// Where an entry comes from. What is none of the set's words is said in the detail.
fn source(memory: &Memory) -> Value {
    let source = memory.source.as_deref();
    let known = source.filter(|source| SOURCES.contains(source));
    let detail = text(memory, SOURCE_DETAIL).or(match known {
        Some(_) => None,
        None => source,
    });
    json!({"type": known.unwrap_or("session"), "detail": detail})
}
