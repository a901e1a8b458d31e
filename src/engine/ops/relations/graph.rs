//! Relations between memories, as they are stated: from one memory, to one, to nothing.
//!
//! A relation is stored with the memory it starts from: in `links` and `supersedes`, and where its
//! text says `[[…]]` or `memory://…`. The index finds what points to a memory. A relation to a
//! memory that was forgotten is shown again once that is restored.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};

use crate::engine::error::EngineError;
use crate::engine::live::names::{Names, former_id, ids_of};
use crate::engine::live::{current_snapshot, index_recovery, names, rows};
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::files::{Place, Store};
use crate::index::Snapshot;
use crate::model::{Filter, MENTIONED, Memory, Stem, is_bare, mentioned, plain_id, stripped_id};

/// Relation of a mention in a text.
const MENTIONS: &str = "mentions";

/// Relation of a memory to an older one that it replaces.
pub(in crate::engine) const SUPERSEDES: &str = "supersedes";

/// Metadata keys with the names of a person or thing.
const CALLED_BY: [&str; 2] = ["metadata.name", "metadata.aliases"];

/// A relation of one memory to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relation {
    /// Stem of the memory that states it.
    pub from: Stem,
    /// Type of the relation, from the first memory to the second.
    pub relation: String,
    /// Stem of the second memory; `None` if no live memory has the written name.
    pub to: Option<Stem>,
    /// Name of the second memory, as written in the first.
    pub written: String,
    /// Headline of the memory at the other end; empty if there is none.
    pub headline: String,
}

/// The relations of one memory, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Relations {
    /// Relations from it to others, in the order of its file.
    pub to: Vec<Relation>,
    /// Relations from others to it, in the order of their stems.
    pub from: Vec<Relation>,
}

/// Returns the relations of the live memory of this name, in both directions, without those to
/// archived memories.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn relations_of(engine: &Engine, id: &str) -> Result<Relations, EngineError> {
    let mut all = relations_of_each(engine, &[Stem::from_file_name(id)])?;
    all.pop()
        .flatten()
        .ok_or_else(|| EngineError::NotFound(id.to_owned()))
}

/// As [`relations_of`], of several memories in their order; `None` for one that is not live.
///
/// # Errors
///
/// As for [`relations_of`].
pub fn relations_of_each(
    engine: &Engine,
    stems: &[Stem],
) -> Result<Vec<Option<Relations>>, EngineError> {
    if stems.is_empty() {
        return Ok(Vec::new());
    }
    current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let called = self::called(engine, snapshot);
        let each = stems.iter();
        each.map(|stem| relations_in(engine, snapshot, &called, stem.as_str()))
            .collect()
    })
}

fn relations_in(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    called: &Called<'_>,
    id: &str,
) -> Result<Option<Relations>, EngineError> {
    let live = called.live.called(id);
    let read =
        live.and_then(|name| rows::read_memory(&engine.live, &name).map(|memory| (name, memory)));
    let Some((name, memory)) = read else {
        return Ok(None);
    };
    let mut relations = Relations {
        to: without_files(outgoing(engine, &memory, &name, called)),
        from: Vec::new(),
    };
    for other in naming(engine, snapshot, &memory)? {
        if other == name {
            continue;
        }
        let Some(holder) = rows::read_memory(&engine.live, &other) else {
            continue; // Gone since it was found.
        };
        let headline = holder.headline().to_owned();
        let to_this = outgoing(engine, &holder, &other, called).into_iter();
        let to_this = to_this.filter(|(_, file)| file.as_deref() == Some(&*name));
        relations.from.extend(to_this.map(|(relation, _)| Relation {
            headline: headline.clone(),
            ..relation
        }));
    }
    relations.from.sort();
    Ok(Some(relations))
}

/// Returns the relations that the keys of these memories state, in their order, without mentions in
/// their texts.
///
/// # Errors
///
/// As for [`relations_of`].
pub fn stated_relations(
    engine: &Engine,
    memories: &[Memory],
) -> Result<Vec<Relation>, EngineError> {
    current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let called = self::called(engine, snapshot);
        let each = memories.iter();
        Ok(each
            .flat_map(|memory| {
                let stated = outgoing_of(engine, memory, ("", ""), &called, Unknown::Skip);
                without_files(stated)
            })
            .collect())
    })
}

/// Counts the relations that the keys of all live memories state, without those to archived
/// memories: as [`stated_relations`] of all of them.
///
/// # Errors
///
/// As for [`relations_of`].
pub fn count_stated_relations(engine: &Engine) -> Result<usize, EngineError> {
    let names: BTreeSet<String> = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let mut holders = snapshot.holders("links")?;
        holders.extend(snapshot.holders(SUPERSEDES)?);
        Ok(holders.into_iter().map(|(_, name)| name).collect())
    })?;
    rows::prefetch(&engine.live, &names);
    let memories = names
        .iter()
        .filter_map(|name| rows::read_memory(&engine.live, name));
    let memories: Vec<Memory> = memories.collect();
    Ok(stated_relations(engine, &memories)?.len())
}

/// Returns the memories that pass `filter` and whose name occurs in `text` as whole words, without
/// regard to case: the `name` or one of the `aliases` in their metadata.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn named_in(engine: &Engine, text: &str, filter: &Filter) -> Result<Vec<Stem>, EngineError> {
    let words = spaced_words(text);
    current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let mut stems = BTreeSet::new();
        for key in CALLED_BY {
            let holders = snapshot.holders(key)?.into_iter();
            let named = holders.filter(|(name, _)| {
                let name = spaced_words(name);
                !name.trim().is_empty() && words.contains(&name)
            });
            stems.extend(named.map(|(_, file)| stem_of(&file)));
        }
        if let Some(only) = &filter.stems {
            stems.retain(|stem| only.contains(stem));
        }
        let filter = Filter {
            stems: Some(stems.into_iter().collect()),
            ..filter.clone()
        };
        let names = rows::names_of(&engine.live, snapshot, &filter)?;
        Ok(names.iter().map(|name| stem_of(name)).collect())
    })
}

/// Returns the relations of all live memories to names of which there is neither a live nor an
/// archived memory.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn dangling(engine: &Engine) -> Result<Relations, EngineError> {
    let snapshot =
        index_recovery::mending(&engine.live, || current_snapshot::snapshot(&engine.live))?;
    let called = self::called(engine, snapshot.as_ref());
    let mut names = BTreeSet::new();
    for key in ["links", SUPERSEDES, MENTIONED] {
        let holders = snapshot.holders(key)?;
        names.extend(holders.into_iter().map(|(_, name)| name));
    }
    let mut relations = Relations::default();
    for name in names {
        relations.to.extend(to_nothing(engine, &name, &called));
    }
    Ok(relations)
}

/// As [`dangling`], from the file `name` only.
///
/// # Errors
///
/// As for [`dangling`].
pub fn dangling_of(engine: &Engine, name: &str) -> Result<Vec<Relation>, EngineError> {
    let snapshot =
        index_recovery::mending(&engine.live, || current_snapshot::snapshot(&engine.live))?;
    let called = self::called(engine, snapshot.as_ref());
    Ok(to_nothing(engine, name, &called))
}

fn to_nothing(engine: &Engine, name: &str, called: &Called<'_>) -> Vec<Relation> {
    let memory = rows::read_memory(&engine.live, name);
    let all = memory.iter().flat_map(|memory| {
        let text = (name, memory.content.as_str());
        without_files(outgoing_of(engine, memory, text, called, Unknown::Keep))
    });
    let is_dangling = |relation: &Relation| {
        let is_file =
            relation.relation == MENTIONS && is_attachment(engine, &relation.written, called);
        relation.to.is_none() && !is_file
    };
    all.filter(is_dangling).collect()
}

/// Whether a mention names a file beside the notes: an image, a document.
fn is_attachment(engine: &Engine, written: &str, called: &Called<'_>) -> bool {
    let end = written
        .rsplit('/')
        .next()
        .unwrap_or(written)
        .rsplit_once('.');
    if !end.is_some_and(|(name, kind)| !name.is_empty() && !kind.is_empty()) {
        return false;
    }
    let files = called.attachments.get_or_init(|| {
        // If they cannot be listed, more mentions are reported.
        let directory = engine.live.directory();
        let attachments = directory.map(Store::attachments);
        attachments.and_then(Result::ok).unwrap_or_default()
    });
    // `![](../x.png)` is no mention; a path may begin anywhere.
    let end = format!("/{}", written.trim_start_matches(['.', '/']).to_lowercase());
    files
        .iter()
        .any(|file| format!("/{}", file.to_lowercase()).ends_with(&end))
}

fn called<'a>(engine: &'a Engine, snapshot: &'a dyn Snapshot) -> Called<'a> {
    Called {
        live: Names::of(&engine.live, snapshot),
        archived: OnceCell::new(),
        attachments: OnceCell::new(),
    }
}

/// Whether `id` is the name of an archived memory.
fn is_archived(engine: &Engine, id: &str, called: &Called<'_>) -> bool {
    let archived = called.archived.get_or_init(|| {
        // If they cannot be listed, more links are reported.
        let archive = engine.live.store.list(Place::Archive).unwrap_or_default();
        let names = archive.entries.iter().map(|entry| entry.name.as_str());
        names.flat_map(ids_of).collect()
    });
    archived.contains(id)
}

/// Returns the files of memories that may reference this one, by its names here or its former id.
fn naming(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    memory: &Memory,
) -> Result<BTreeSet<String>, EngineError> {
    let former = former_id(memory).into_iter();
    let mut called = vec![memory.stem.as_str(), memory.stem.short()];
    called.extend(former.flat_map(|id| [id, stripped_id(id)]));
    called.extend(memory.aliases());
    naming_one_of(engine, snapshot, &called)
}

pub(in crate::engine) fn naming_one_of(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    called: &[&str],
) -> Result<BTreeSet<String>, EngineError> {
    let mut names = BTreeSet::new();
    for key in ["links", SUPERSEDES, MENTIONED] {
        names.extend(names::holding(&engine.live, snapshot, key, called)?);
    }
    Ok(names)
}

/// Returns the relations that the file `name` of a memory states, each once, in its order, with the
/// files that they lead to.
fn outgoing(
    engine: &Engine,
    memory: &Memory,
    name: &str,
    called: &Called<'_>,
) -> Vec<(Relation, Option<String>)> {
    outgoing_of(
        engine,
        memory,
        (name, &memory.content),
        called,
        Unknown::Skip,
    )
}

/// As [`outgoing`], with the text and the file name `from` given.
fn outgoing_of(
    engine: &Engine,
    memory: &Memory,
    (from, text): (&str, &str),
    called: &Called<'_>,
    unknown: Unknown,
) -> Vec<(Relation, Option<String>)> {
    let superseded = memory.supersedes.iter().map(|to| (SUPERSEDES, to.clone()));
    let linked = memory.links.iter();
    let linked = linked.map(|link| (link.relation.as_str(), link.to.clone()));
    let mentioned = mentioned(text).into_iter();
    let mentioned = mentioned.map(|to| (MENTIONS, to.to_owned()));
    // Two files may have one stem.
    let mut relations: Vec<(Relation, Option<String>)> = Vec::new();
    for (relation, written) in superseded.chain(linked).chain(mentioned) {
        let name = match relation {
            MENTIONS => called.live.mentioned(&written, from),
            _ => called.live.called(&written),
        };
        if name.is_none() && is_archived(engine, &plain_id(&written), called) {
            continue;
        }
        let to = name.as_deref().map(stem_of);
        let is_itself = name.as_deref() == Some(from);
        // A note of another program names notes that never were memories.
        // The same holds for a text with an id of something else.
        let is_name = unknown == Unknown::Keep && !is_bare(text, &written);
        let is_other = to.is_none() && !is_name && Stem::parse(&written).is_none();
        if relation == MENTIONS && (is_itself || is_other) {
            continue;
        }
        let name = name.map(Cow::into_owned);
        let is_known = |(known, file): &(Relation, Option<String>)| {
            (relation == MENTIONS || known.relation == relation)
                && *file == name
                && (to.is_some() || known.written == written)
        };
        if relations.iter().any(is_known) {
            continue;
        }
        let headline = name
            .as_deref()
            .and_then(|name| rows::read_memory(&engine.live, name));
        let headline = headline.map(|memory| memory.headline().to_owned());
        let relation = Relation {
            from: memory.stem.clone(),
            relation: relation.to_owned(),
            to,
            written,
            headline: headline.unwrap_or_default(),
        };
        relations.push((relation, name));
    }
    relations
}

fn without_files(relations: Vec<(Relation, Option<String>)>) -> Vec<Relation> {
    relations
        .into_iter()
        .map(|(relation, _)| relation)
        .collect()
}

/// Returns the words of a text in lower case, with a blank before and after each.
fn spaced_words(text: &str) -> String {
    let mut spaced = " ".to_owned();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_empty() {
            spaced.push_str(&word.to_lowercase());
            spaced.push(' ');
        }
    }
    spaced
}

/// Handling of a mention whose name no memory has: `[[an idea for later]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Skip,
    Keep,
}

/// Names by which links and mentions are resolved.
struct Called<'a> {
    live: Names<'a>,
    /// Names of the archived ones, listed on first use.
    archived: OnceCell<HashSet<String>>,
    /// Other files beside the live ones, listed on first use.
    attachments: OnceCell<Vec<String>>,
}
