//! Contradicting memories, as a merge has left them: found, and resolved.
//!
//! Two live memories are a pair if one of them has a link of type `conflicts-with` to the other, or
//! if they have one title in one namespace. Resolving never loses a text: the memory that is not kept
//! is forgotten, and only links are changed. A text with git's conflict markers becomes one memory, or such a pair.

use std::collections::HashMap;

use crate::engine::error::EngineError;
use crate::engine::history::remote::three_way_merge::{RELATION, is_conflict};
use crate::engine::live::names::Names;
use crate::engine::live::{current_snapshot, index_recovery, names, rows};
use crate::engine::ops::forget;
use crate::engine::ops::relations::contender::{Conflict, Contender, contender};
use crate::engine::ops::relations::{links, titles};
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::engine::write::put;
use crate::files::Place;
use crate::format;
use crate::format::{MergeSide, Merged};
use crate::model::{Filter, Link, Memory, Stem, Talks, Visibility};

/// Result of resolving one pair, or all pairs of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Stems of the memories that stay.
    pub kept: Vec<Stem>,
    /// Stem of the memory that was archived.
    pub forgotten: Option<Stem>,
}

/// A memory with git's conflict markers in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged {
    /// Stem of the memory.
    pub stem: Stem,
    /// Path below `files/`.
    pub name: String,
    /// Line number of the first marker, from 1.
    pub line: usize,
}

/// Result of removing git's conflict markers from a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmarked {
    /// Stem of the memory.
    pub stem: Stem,
    /// Stem of the memory that holds the contradicting side, if there is one.
    pub aside: Option<Stem>,
}

/// Returns the pairs of live memories that contradict each other, each once.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn conflicts(engine: &Engine) -> Result<Vec<Conflict>, EngineError> {
    index_recovery::mending(&engine.live, || conflicts_now(engine))
}

fn conflicts_now(engine: &Engine) -> Result<Vec<Conflict>, EngineError> {
    let filter = Filter {
        equals: vec![("links.type".to_owned(), RELATION.to_owned())],
        visibility: Visibility::Everything,
        talks: Talks::Everywhere,
        ..Filter::default()
    };
    let snapshot = current_snapshot::snapshot(&engine.live)?;
    let hits = rows::names_of(&engine.live, snapshot.as_ref(), &filter)?;
    if hits.is_empty() {
        return Ok(Vec::new());
    }
    let names = Names::of(&engine.live, snapshot.as_ref());
    let mut read = HashMap::new();
    let mut pairs: Vec<[String; 2]> = Vec::new();
    for name in hits {
        let Some(contender) = self::contender(engine, &name)? else {
            continue; // Gone since it was found.
        };
        for link in conflict_links(&contender.memory) {
            if let Some(other) = names.called(&link.to).filter(|other| *other != name) {
                let mut pair = [name.clone(), other.into_owned()];
                pair.sort_unstable();
                pairs.push(pair);
            }
        }
        read.insert(name, contender);
    }
    pairs.sort_unstable();
    pairs.dedup();
    let mut conflicts = Vec::new();
    for [one, other] in pairs {
        for name in [&one, &other] {
            if !read.contains_key(name)
                && let Some(contender) = self::contender(engine, name)?
            {
                read.insert(name.clone(), contender);
            }
        }
        if let (Some(one), Some(other)) = (read.get(&one), read.get(&other)) {
            let pair = [one.clone(), other.clone()];
            conflicts.push(Conflict { pair });
        }
    }
    Ok(conflicts)
}

/// Returns the pairs of current memories of one user with one title in one namespace, the last changed
/// first; without those of [`conflicts`].
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn title_conflicts(engine: &Engine) -> Result<Vec<Conflict>, EngineError> {
    let mut pairs = titles::title_pairs(engine)?;
    if !pairs.is_empty() {
        let known = conflicts(engine)?;
        pairs.retain(|pair| !known.iter().any(|other| other.is_of(pair)));
    }
    Ok(pairs)
}

/// Returns the pairs of the memory called `id`: those by links, and those by titles; at least one
/// in all.
///
/// # Errors
///
/// [`EngineError::Invalid`] if it contradicts no live memory.
pub fn conflicts_of(engine: &Engine, id: &str) -> Result<[Vec<Conflict>; 2], EngineError> {
    let (stem, name) = names::resolve(&engine.live, id)?;
    let mut both = [conflicts(engine)?, title_conflicts(engine)?];
    for pairs in &mut both {
        pairs.retain(|conflict| conflict.other_than(&name).is_some());
    }
    if both.iter().all(Vec::is_empty) {
        let short = stem.short();
        return Err(EngineError::Invalid(format!(
            "there is no such pair: `{short}` conflicts with no live memory"
        )));
    }
    Ok(both)
}

/// Keeps the memory called `keep` of the pair that contains the memory called `id`, which may be
/// the same; the other one is forgotten.
///
/// # Errors
///
/// [`EngineError::Invalid`] if the two are no pair, or if several pairs are possible;
/// nothing is changed then.
pub fn keep_one(engine: &Engine, id: &str, keep: &str) -> Result<Resolved, EngineError> {
    engine.writer.check_writable()?;
    let conflicts = conflicts_of(engine, id)?.concat();
    let (stem, name) = names::resolve(&engine.live, id)?;
    let (kept, kept_name) = names::resolve(&engine.live, keep)?;
    let others: Vec<&Contender> = conflicts
        .iter()
        .filter_map(|conflict| conflict.other_than(&name))
        .collect();
    let forgotten = if kept_name == name {
        let [other] = others.as_slice() else {
            return Err(EngineError::Invalid(format!(
                "`{short}` conflicts with {} memories: say which of them goes, `memdir resolve THAT --keep {short}`",
                others.len(),
                short = stem.short()
            )));
        };
        other.name.clone()
    } else if others.iter().any(|other| other.name == kept_name) {
        name
    } else {
        return Err(no_such_pair(&stem, &kept));
    };
    // The link is removed first: if the process ends in between, the pair can be resolved again.
    unmark_pair(engine, &kept_name, &forgotten)?;
    let moved = forget::forget(engine, &forgotten)?;
    Ok(Resolved {
        kept: vec![kept],
        forgotten: Some(moved.stem),
    })
}

/// Keeps the memory called `id` and the one called `other` that it contradicts, or all such ones, and removes the links
/// between them.
///
/// # Errors
///
/// [`EngineError::Invalid`] if it contradicts no live memory, or only because of its title, or not `other`.
pub fn keep_both(engine: &Engine, id: &str, other: Option<&str>) -> Result<Resolved, EngineError> {
    engine.writer.check_writable()?;
    let [mut conflicts, mut titled] = conflicts_of(engine, id)?;
    let (stem, name) = names::resolve(&engine.live, id)?;
    if let Some(other) = other {
        let (other, other_name) = names::resolve(&engine.live, other)?;
        for pairs in [&mut conflicts, &mut titled] {
            pairs.retain(|pair| {
                pair.other_than(&name)
                    .is_some_and(|one| one.name == other_name)
            });
        }
        if conflicts.is_empty() && titled.is_empty() {
            return Err(no_such_pair(&stem, &other));
        }
    }
    if conflicts.is_empty() {
        let short = stem.short();
        return Err(EngineError::Invalid(format!(
            "`{short}` and another memory have one title in one namespace. To keep both, give one \
                 of them another: `memdir update {short} --title TITLE`"
        )));
    }
    let mut kept = vec![stem.clone()];
    for conflict in &conflicts {
        let Some(other) = conflict.other_than(&name) else {
            continue;
        };
        unmark_pair(engine, &name, &other.name)?;
        unmark_pair(engine, &other.name, &name)?;
        kept.push(other.memory.stem.clone());
    }
    Ok(Resolved {
        kept,
        forgotten: None,
    })
}

fn no_such_pair(one: &Stem, other: &Stem) -> EngineError {
    EngineError::Invalid(format!(
        "there is no such pair: `{}` does not conflict with `{}`",
        one.short(),
        other.short()
    ))
}

/// Returns the live memories with git's conflict markers, sorted by name.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn unmerged(engine: &Engine) -> Result<Vec<Unmerged>, EngineError> {
    index_recovery::mending(&engine.live, || {
        let mut names = current_snapshot::snapshot(&engine.live)?.with_problems()?;
        names.sort_unstable();
        let reader = engine.live.store.reader(Place::Files);
        let found = names.into_iter().filter_map(|name| {
            let version = reader.read(&name, u64::MAX).ok()?;
            let line = format::first_conflict_marker(&version.bytes)?;
            let stem = stem_of(&name);
            Some(Unmerged { stem, name, line })
        });
        Ok(found.collect())
    })
}

/// Merges both sides of git's conflict markers in the memory called `id` into one memory, or makes a
/// pair of two where they contradict; `None` if there are no markers.
///
/// # Errors
///
/// Fails if there is no such memory, or if it cannot be written.
pub fn take_out_markers(engine: &Engine, id: &str) -> Result<Option<Unmarked>, EngineError> {
    engine.writer.check_writable()?;
    put::until_put(id, || {
        let (name, version) = names::read(&engine.live, id)?;
        let Some(sides) = format::conflict_sides(&version.bytes) else {
            return Ok(Some(None));
        };
        let stem = stem_of(&name);
        let at = version.entry.stamp.modified / 1_000_000_000;
        let side = |bytes| MergeSide { bytes, at };
        let (one, other) = (side(&sides.ours), side(&sides.theirs));
        let (bytes, aside) = match format::merge(&stem, sides.base.as_deref(), one, other) {
            Merged::One(bytes) => (bytes, None),
            Merged::Two {
                kept,
                aside,
                aside_stem,
            } => {
                engine
                    .writer
                    .leave_note("resolve", &format!("{aside_stem}.md"));
                put::put_aside(&engine.writer, Place::Files, &aside_stem, &aside)?;
                (kept, Some(aside_stem))
            }
        };
        let edited = put::put(&engine.writer, &name, &version, &bytes, "resolve")?;
        Ok(edited.map(|_| Some(Unmarked { stem, aside })))
    })
}

/// Removes the links of a conflict from the memory in the file `from` to that of `other`.
fn unmark_pair(engine: &Engine, from: &str, other: &str) -> Result<(), EngineError> {
    let to_other = links::links_to(engine, &stem_of(other), Place::Files, other);
    links::change_links(engine, from, "resolve", |links| {
        links.retain(|link| !(is_conflict(link) && to_other(&link.to)));
    })?;
    Ok(())
}

fn conflict_links(memory: &Memory) -> impl Iterator<Item = &Link> {
    memory.links.iter().filter(|link| is_conflict(link))
}
