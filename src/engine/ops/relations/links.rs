//! Adds, removes and replaces relations between memories: links, supersession, decisions.
//!
//! Each is a change of the file of the memory that the relation starts from; a supersession is
//! recorded in the files of both. `graph` reads them.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::engine::error::EngineError;
use crate::engine::live::names::{Recalled, former_id, is_former};
use crate::engine::live::{current_snapshot, names};
use crate::engine::ops::relations::graph::{SUPERSEDES, naming_one_of};
use crate::engine::ops::retrieval::recall;
use crate::engine::ops::update;
use crate::engine::parts::Engine;
use crate::engine::texts::{is_called, parse, stem_of};
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::model::{Change, Link, Patch, Stem};

/// Types of links between contradicting memories.
const AGAINST: [&str; 2] = ["contradicts", "conflicts-with"];

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
pub(in crate::engine) fn change_links(
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
