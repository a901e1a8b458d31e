//! Renders memories as entries: field names and values of the specification.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::entry::{Entry, read, text};
use super::vocabulary;
use super::vocabulary::{SOURCE_DETAIL, SOURCES};
use crate::dialect::call::Call;
use crate::dialect::reply::ToolError;
use crate::engine::{live, ops};
use crate::model::{Filter, Memory, Stem, Timestamp, Visibility};

/// Relation from a memory to the one that it replaces.
pub(super) const SUPERSEDES: &str = "supersedes";
/// Status of an entry that a live memory replaces.
pub(super) const SUPERSEDED: &str = "superseded";

/// An entry with all of its fields.
#[derive(Serialize)]
pub(super) struct EntryView {
    /// Text of the memory.
    pub value: String,
    created_at: String,
    /// Time of the last change.
    pub updated_at: String,
    tags: Vec<String>,
    confidence: Option<f64>,
    importance: u8,
    /// Source of the entry.
    pub source: SourceView,
    access_count: u32,
    last_accessed: Option<String>,
    /// Status: one of the set's three words.
    pub status: &'static str,
    /// Links to other entries.
    pub links: Vec<LinkView>,
    /// Whether only the beginning of the value is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

/// Source of an entry.
#[derive(Serialize)]
pub(super) struct SourceView {
    /// One of the set's sources.
    #[serde(rename = "type")]
    pub kind: String,
    /// Further description of the source.
    pub detail: Option<String>,
}

/// A link to another entry.
#[derive(Serialize, PartialEq)]
pub(super) struct LinkView {
    /// Name of the other entry.
    pub target: String,
    /// Relation to it.
    pub relation: String,
}

/// Renders memories as entries.
pub(super) struct EntryRenderer<'a> {
    call: &'a Call<'a>,
    /// Status of entries that are not active, if it is known of all entries.
    inactive: Option<HashMap<Stem, &'static str>>,
    /// Names of memories in this set, by the names in links.
    names: RefCell<HashMap<String, Option<String>>>,
}

impl<'a> EntryRenderer<'a> {
    /// Returns a renderer for a few entries.
    pub fn new(call: &'a Call<'a>) -> EntryRenderer<'a> {
        EntryRenderer {
            call,
            inactive: None,
            names: RefCell::default(),
        }
    }

    /// Returns a renderer for many entries of a category, or of all, with the status of all from one search.
    ///
    /// # Errors
    ///
    /// Fails if a journal, or the store, cannot be read.
    pub fn of_all(
        call: &'a Call<'a>,
        category: Option<&str>,
        entries: &[Entry],
    ) -> Result<EntryRenderer<'a>, ToolError> {
        let mut renderer = EntryRenderer::new(call);
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
        if ops::count(call.engine, filter)? < entries.len() {
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
        renderer.inactive = Some(inactive);
        let names = entries.iter();
        let names = names.map(|entry| (entry.id().to_owned(), Some(entry.name())));
        renderer.names = RefCell::new(names.collect());
        Ok(renderer)
    }

    /// Returns the entry with all of its fields.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be searched for what it is linked with.
    pub fn entry(&self, entry: &Entry) -> Result<EntryView, ToolError> {
        let memory = &entry.memory;
        let (state, usage) = live::state_of(&self.call.engine.live, memory);
        Ok(EntryView {
            value: memory.content.clone(),
            created_at: moment(memory.timestamp.utc()),
            updated_at: moment(state.changed),
            tags: memory.topics.clone(),
            confidence: memory.confidence,
            importance: entry.importance(),
            source: source(memory),
            access_count: usage.count(),
            last_accessed: usage.last().map(moment),
            status: self.status(memory)?,
            links: self.links(memory)?,
            truncated: None,
        })
    }

    /// Returns the status of a memory: one of the set's three words.
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
            Ok(ops::count(self.call.engine, filter)? > 0)
        };
        Ok(match is(Visibility::Current)? {
            true => "active",
            false if is(Visibility::Expired)? => "archived",
            false => SUPERSEDED,
        })
    }

    /// Returns the links of a memory to existing ones, in the order of its file.
    fn links(&self, memory: &Memory) -> Result<Vec<LinkView>, ToolError> {
        let supersedes = memory.supersedes.iter();
        let supersedes = supersedes.map(|to| (to.as_str(), SUPERSEDES));
        let links = memory.links.iter();
        let links = links.map(|link| (link.to.as_str(), link.relation.as_str()));
        let mut rendered: Vec<LinkView> = Vec::new();
        for (to, relation) in supersedes.chain(links) {
            let Some(target) = self.name_of(to)? else {
                continue;
            };
            let relation = relation.to_owned();
            let link = LinkView { target, relation };
            if !rendered.contains(&link) {
                rendered.push(link);
            }
        }
        Ok(rendered)
    }

    /// Returns the name of the memory that a link points to; `None` if there is none.
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

/// Returns a moment in this set's form: in UTC.
pub(super) fn moment(at: DateTime<Utc>) -> String {
    Timestamp::from_utc(at).as_str().to_owned()
}

/// Returns the source of an entry. A source that is none of the set's words is the detail.
fn source(memory: &Memory) -> SourceView {
    let source = memory.source.as_deref();
    let known = source.filter(|source| SOURCES.contains(source));
    let detail = text(memory, SOURCE_DETAIL).or(source.filter(|_| known.is_none()));
    SourceView {
        kind: known.unwrap_or("session").to_owned(),
        detail: detail.map(str::to_owned),
    }
}
