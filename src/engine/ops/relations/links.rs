//! Relations between memories.
//!
//! A relation is stored with the memory it starts from: in `links` and `supersedes`, and as
//! `[[…]]` or `memory://…` in its text. References to a memory are found by the index. A relation to a
//! forgotten memory is shown again once that is restored.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeSet, HashSet};

use crate::engine::error::EngineError;
use crate::engine::live::names::{Names, Recalled, former_id, is_former};
use crate::engine::live::{current_snapshot, index_recovery, names, rows};
use crate::engine::ops::retrieval::recall;
use crate::engine::ops::update;
use crate::engine::parts::Engine;
use crate::engine::texts::{is_called, parse, stem_of};
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::index::Snapshot;
use crate::model::{
    Change, Filter, Link, MENTIONED, Memory, Patch, Problem, Stem, is_bare, mentioned, plain_id,
    stripped_id,
};

/// Relation of a mention in a text.
const MENTIONS: &str = "mentions";

/// Relation of a memory to an older one that it replaces.
pub(in crate::engine) const SUPERSEDES: &str = "supersedes";

/// Metadata keys with the names of a person or thing.
const CALLED_BY: [&str; 2] = ["metadata.name", "metadata.aliases"];

/// Types of links between contradicting memories.
const AGAINST: [&str; 2] = ["contradicts", "conflicts-with"];

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

/// Result of a decision between two memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Stem of the memory that supersedes the other.
    pub winner: Stem,
    /// Stem of the superseded memory.
    pub loser: Stem,
    /// Whether the decision was not stored before.
    pub is_new: bool,
    /// Number of contradiction links that were removed.
    pub unlinked: usize,
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
        let called = self::called(engine, snapshot)?;
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
        let called = self::called(engine, snapshot)?;
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
    let called = self::called(engine, snapshot.as_ref())?;
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
    let called = self::called(engine, snapshot.as_ref())?;
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
        engine.live.directory.attachments().unwrap_or_default()
    });
    // `![](../x.png)` is no mention; a path may begin anywhere.
    let end = format!("/{}", written.trim_start_matches(['.', '/']).to_lowercase());
    files
        .iter()
        .any(|file| format!("/{}", file.to_lowercase()).ends_with(&end))
}

/// Adds a link of a type from one live memory to another; false if it exists already.
///
/// # Errors
///
/// Fails if there is no such memory, if the type is invalid, or if the file cannot be changed.
pub fn link(engine: &Engine, from: &str, to: &str, relation: &str) -> Result<bool, EngineError> {
    let (_, from) = names::resolve(&engine.live, from)?;
    let (to, file) = names::resolve(&engine.live, to)?;
    if from == file {
        let what = "a memory cannot be linked to itself".to_owned();
        return Err(EngineError::Invalid(what));
    }
    let relation = relation.trim();
    if relation == SUPERSEDES {
        return supersede(engine, &from, &file);
    }
    let to_it = links_to(engine, &to, Place::Files, &file);
    let written = names::link_text(&engine.live, &file);
    change_links(engine, &from, "link", |links| {
        // An ambiguous link does not count.
        let leads =
            |id: &str| names::resolve(&engine.live, id).is_ok_and(|(_, found)| found == file);
        let is_it = |link: &Link| link.relation == relation && to_it(&link.to) && leads(&link.to);
        if !links.iter().any(is_it) {
            links.push(Link {
                to: written.clone(),
                relation: relation.to_owned(),
            });
        }
    })
}

/// Removes the links, of a type or of all, from one memory to another; returns their number.
/// The other one need not be live. A supersession is removed only if `supersedes` is
/// named.
///
/// # Errors
///
/// Fails if there is no memory that they start from, or if the file cannot be changed.
pub fn unlink(
    engine: &Engine,
    from: &str,
    to: &str,
    relation: Option<&str>,
) -> Result<usize, EngineError> {
    let (_, from) = names::resolve(&engine.live, from)?;
    let live = names::resolve(&engine.live, to).map(|found| (Place::Files, found));
    let found = live.or_else(|_| {
        Ok::<_, EngineError>((Place::Archive, names::resolve_archived(&engine.live, to)?))
    });
    let (place, (to, file)) =
        found.unwrap_or_else(|_| (Place::Archive, (Stem::from_file_name(to), String::new())));
    let to_it = links_to(engine, &to, place, &file);
    // Only live memories have namesakes here.
    let id = match place {
        Place::Files => &file,
        Place::Archive => to.as_str(),
    };
    let removed = Cell::new(0);
    change_links(engine, &from, "unlink", |links| {
        let before = links.len();
        let is_other = |link: &Link| {
            relation.is_some_and(|relation| relation != link.relation) || !to_it(&link.to)
        };
        links.retain(is_other);
        removed.set(before - links.len());
    })?;
    let is_current = relation == Some(SUPERSEDES) && unsupersede(engine, "unlink", &from, id)?;
    Ok(removed.get() + usize::from(is_current))
}

/// Returns a test whether the text of a link names the memory `stem` of the file `name`, by its name or
/// by its id in its former system.
pub(in crate::engine) fn links_to<'a>(
    engine: &'a Engine,
    stem: &Stem,
    place: Place,
    name: &str,
) -> impl Fn(&str) -> bool + use<'a> {
    let has_namesakes = place == Place::Files && names::link_text(&engine.live, name) == name;
    let version = engine
        .live
        .store
        .reader(place)
        .read(name, MAX_INDEXED_BYTES as u64);
    let memory = version
        .ok()
        .map(|version| parse(&version.entry, &version.bytes));
    let former = memory.as_ref().and_then(former_id).map(str::to_owned);
    let (stem, name) = (stem.clone(), name.to_owned());
    move |id| {
        let is_former = |former: &String| is_former(former, id);
        let is_other = || {
            has_namesakes && names::resolve(&engine.live, id).is_ok_and(|(_, found)| found != name)
        };
        (is_called(&stem, id) && !is_other()) || former.as_ref().is_some_and(is_former)
    }
}

/// Removes, in the files of both, that one memory supersedes another; returns whether the newer one
/// stated it.
fn unsupersede(engine: &Engine, tool: &str, newer: &str, older: &str) -> Result<bool, EngineError> {
    let to = |id: &str| links_to(engine, &stem_of(id), Place::Files, id);
    let (to_newer, to_older) = (to(newer), to(older));
    let edited = update::update_with(engine, tool, newer, |memory| {
        let mut supersedes = memory.supersedes.clone();
        supersedes.retain(|known| !to_older(known));
        if supersedes == memory.supersedes {
            return Ok(Change::default());
        }
        check_readable(memory, SUPERSEDES)?;
        Ok(Change {
            supersedes: match supersedes.is_empty() {
                true => Patch::Clear,
                false => Patch::Set(supersedes),
            },
            ..Change::default()
        })
    })?;
    let unmarked = update::update_with(engine, tool, older, |memory| {
        let by = memory.superseded_by.as_deref();
        Ok(Change {
            superseded_by: match by.is_some_and(&to_newer) {
                true => Patch::Clear,
                false => Patch::Keep,
            },
            ..Change::default()
        })
    });
    match unmarked {
        // It may be in the archive, or gone.
        Ok(_) | Err(EngineError::NotFound(_)) => Ok(edited.changed),
        Err(error) => Err(error),
    }
}

/// Removes every link to the memory `stem`, which may be gone, from all live memories; returns their
/// number.
///
/// # Errors
///
/// Fails if a file cannot be changed; earlier changes stay.
pub fn unlink_from_all(engine: &Engine, stem: &Stem) -> Result<usize, EngineError> {
    let called = [stem.as_str(), stem.short()];
    let names = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        naming_one_of(engine, snapshot, &called)
    })?;
    let removed = Cell::new(0);
    for name in names {
        change_links(engine, &name, "unlink", |links| {
            let before = links.len();
            links.retain(|link| !is_called(stem, &link.to));
            removed.set(removed.get() + before - links.len());
        })?;
    }
    Ok(removed.get())
}

/// Returns the files of the live memories that the one of `name` supersedes, directly or indirectly.
fn replaced_by(engine: &Engine, name: &str) -> Result<BTreeSet<String>, EngineError> {
    let mut replaced = BTreeSet::new();
    let mut left = vec![name.to_owned()];
    while let Some(next) = left.pop() {
        let Some(Recalled::Found { memory, .. }) = recall::recall(engine, &[next]).pop() else {
            continue;
        };
        for id in &memory.supersedes {
            match names::resolve(&engine.live, id) {
                Ok((_, older)) if replaced.insert(older.clone()) => left.push(older),
                // Known, or not live.
                Ok(_) | Err(EngineError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(replaced)
}

/// Records in the files of both that one live memory supersedes another; false if it is recorded already.
fn supersede(engine: &Engine, newer: &str, older: &str) -> Result<bool, EngineError> {
    let written = [newer, older].map(|name| names::link_text(&engine.live, name));
    let [newer_id, older_id] = &written;
    if replaced_by(engine, older)?.contains(newer) {
        let what = format!(
            "{older_id} replaces {newer_id} already, if not directly, and both would be hidden. That \
                 has to be taken back first: memdir unlink {older_id} {newer_id} --type {SUPERSEDES}"
        );
        return Err(EngineError::Invalid(what));
    }
    let to_older = links_to(engine, &stem_of(older), Place::Files, older);
    let edited = update::update_with(engine, "supersede", newer, |memory| {
        let mut supersedes = memory.supersedes.clone();
        if supersedes.iter().any(|known| to_older(known)) {
            return Ok(Change::default());
        }
        check_readable(memory, SUPERSEDES)?;
        supersedes.push(older_id.clone());
        Ok(Change {
            supersedes: Patch::Set(supersedes),
            ..Change::default()
        })
    })?;
    if edited.changed {
        let mark = crate::engine::ops::update::superseded_by(&Stem::from_file_name(newer_id));
        update::update_as(engine, "supersede", older, &mark)?;
    }
    Ok(edited.changed)
}

/// Decides between two live memories: `winner` supersedes `loser`, and contradiction links between them
/// are removed. Both files stay; the loser is not current.
///
/// # Errors
///
/// Fails if there is no such memory, if both are one, or if a file cannot be changed.
pub fn decide_between(engine: &Engine, winner: &str, loser: &str) -> Result<Decided, EngineError> {
    engine.writer.check_writable()?;
    let (winner, winning) = names::resolve(&engine.live, winner)?;
    let (loser, losing) = names::resolve(&engine.live, loser)?;
    if winning == losing {
        let what = "a memory cannot be decided against itself".to_owned();
        return Err(EngineError::Invalid(what));
    }
    let mut unlinked = 0;
    for (from, to) in [(&winning, &losing), (&losing, &winning)] {
        for relation in AGAINST {
            unlinked += unlink(engine, from, to, Some(relation))?;
        }
    }
    // An earlier decision the other way round no longer holds.
    unsupersede(engine, "supersede", &losing, &winning)?;
    let is_new = supersede(engine, &winning, &losing)?;
    Ok(Decided {
        winner,
        loser,
        is_new,
        unlinked,
    })
}

/// Changes the links of the memory in the file `from`; false if they are unchanged.
fn change_links(
    engine: &Engine,
    from: &str,
    tool: &str,
    change: impl Fn(&mut Vec<Link>),
) -> Result<bool, EngineError> {
    let edited = update::update_with(engine, tool, from, |memory| {
        let mut links = memory.links.clone();
        change(&mut links);
        if links == memory.links {
            return Ok(Change::default());
        }
        check_readable(memory, "links")?;
        let links = match links.is_empty() {
            true => Patch::Clear,
            false => Patch::Set(links),
        };
        Ok(Change {
            links,
            ..Change::default()
        })
    })?;
    Ok(edited.changed)
}

fn called<'a>(engine: &'a Engine, snapshot: &'a dyn Snapshot) -> Result<Called<'a>, EngineError> {
    let archive = engine.live.store.list(Place::Archive)?.entries;
    let archive = archive.iter().map(|entry| entry.name.as_str());
    Ok(Called {
        live: Names::of(&engine.live, snapshot),
        archived: archive.flat_map(ids_of).collect(),
        attachments: OnceCell::new(),
    })
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

fn naming_one_of(
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
        if name.is_none() && called.archived.contains(&plain_id(&written)) {
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
    archived: HashSet<String>,
    /// Other files beside the live ones, listed on first use.
    attachments: OnceCell<Vec<String>>,
}

/// Returns the names of a file in links.
fn ids_of(name: &str) -> [String; 2] {
    let stem = stem_of(name);
    [plain_id(stem.as_str()), stem.short().to_owned()]
}

/// Fails if a key cannot be parsed: rewriting it would lose its content.
pub(in crate::engine) fn check_readable(memory: &Memory, key: &str) -> Result<(), EngineError> {
    let is_of = |problem: &&Problem| matches!(problem, Problem::Key { key: of, .. } if of == key);
    match memory.problems.iter().find(is_of) {
        None => Ok(()),
        Some(problem) => Err(EngineError::Invalid(format!(
            "`{key}` of {} cannot be read, so nothing is added to it: {problem}",
            memory.stem.short()
        ))),
    }
}
