//! Succession: memories that supersede others, directly or indirectly.
//!
//! A search hides memories that a live one supersedes. If one in the middle of a chain is removed, the
//! live one that superseded it takes over what it had superseded: the archive is not in the index, and
//! an earlier text must not be found again because of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::engine::error::EngineError;
use crate::engine::live::names::Names;
use crate::engine::live::{current_snapshot, names, rows};
use crate::engine::ops::relations::graph;
use crate::engine::ops::relations::graph::{Relation, Relations, SUPERSEDES};
use crate::engine::ops::update;
use crate::engine::parts::Engine;
use crate::engine::texts::{is_called, stem_of};
use crate::model::{Change, Filter, Link, Memory, Patch, Stem, Visibility};

/// Returns the live memory that supersedes this one: by its `superseded_by`, or by the other's `supersedes`.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn newer_than(engine: &Engine, memory: &Memory) -> Result<Option<Stem>, EngineError> {
    let marked = memory.superseded_by.as_deref();
    if let Some(Ok((newer, _))) = marked.map(|id| names::resolve(&engine.live, id))
        && newer != memory.stem
    {
        return Ok(Some(newer));
    }
    let names = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let called = [memory.stem.as_str(), memory.stem.short()];
        names::holding(&engine.live, snapshot, SUPERSEDES, &called)
    })?;
    let mut newer = names.iter().map(|name| stem_of(name));
    Ok(newer.find(|newer| *newer != memory.stem))
}

/// Returns the last live memory of this one's chain of supersessions; itself if it has no successor.
///
/// # Errors
///
/// As for [`newer_than`].
pub fn current_of(engine: &Engine, stem: &Stem) -> Result<Stem, EngineError> {
    let mut at = stem.clone();
    let mut seen = BTreeSet::new();
    // Files can state that two supersede each other.
    while seen.insert(at.clone()) {
        let live = names::resolve(&engine.live, at.as_str()).ok();
        let Some(memory) = live.and_then(|(_, name)| rows::read_memory(&engine.live, &name)) else {
            break;
        };
        match newer_than(engine, &memory)? {
            Some(newer) => at = newer,
            None => break,
        }
    }
    Ok(at)
}

/// Returns those of these memories that a search finds.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn current_among(engine: &Engine, ids: &[String]) -> Result<Vec<Stem>, EngineError> {
    let live = ids
        .iter()
        .filter_map(|id| Some(names::resolve(&engine.live, id).ok()?.0));
    passing(engine, live.collect(), &Filter::default())
}

fn passing(
    engine: &Engine,
    stems: BTreeSet<Stem>,
    filter: &Filter,
) -> Result<Vec<Stem>, EngineError> {
    if stems.is_empty() {
        return Ok(Vec::new());
    }
    let filter = Filter {
        stems: Some(stems.into_iter().collect()),
        ..filter.clone()
    };
    let names = rows::names_where(&engine.live, &filter)?;
    Ok(names.iter().map(|name| stem_of(name)).collect())
}

/// Adds the memories that the one in the file `name` superseded, before that is removed, to the live
/// memory that supersedes it, if there is one.
pub(in crate::engine) fn hand_on(engine: &Engine, name: &str) {
    if let Err(error) = try_to_hand_on(engine, name) {
        tracing::warn!("what {name} superseded may be found again: {error}");
    }
}

fn try_to_hand_on(engine: &Engine, name: &str) -> Result<(), EngineError> {
    let Some(memory) = rows::read_memory(&engine.live, name) else {
        return Ok(());
    };
    // Most are in no chain, and that needs no look into the index.
    if memory.supersedes.is_empty() && memory.superseded_by.is_none() {
        return Ok(());
    }
    let Some(newer) = newer_than(engine, &memory)? else {
        return Ok(());
    };
    let marked = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let called = [memory.stem.as_str(), memory.stem.short()];
        names::holding(&engine.live, snapshot, "superseded_by", &called)
    })?;
    let marked = marked.iter().map(|name| stem_of(name).as_str().to_owned());
    let older: Vec<String> = memory.supersedes.iter().cloned().chain(marked).collect();
    update::update_with(engine, "supersede", newer.as_str(), |newer| {
        let mut supersedes = newer.supersedes.clone();
        for id in &older {
            let older = Stem::from_file_name(id);
            let is_known = supersedes.iter().any(|known| is_called(&older, known));
            if !is_known && !is_called(&newer.stem, id) {
                supersedes.push(id.clone());
            }
        }
        if supersedes == newer.supersedes {
            return Ok(Change::default());
        }
        Ok(Change {
            supersedes: Patch::Set(supersedes),
            ..Change::default()
        })
    })?;
    Ok(())
}

/// Returns the present relations of live memories, each once: those of a superseded memory are its
/// successor's, and those to a superseded one lead to its successor. With `seen_from`, only those to
/// memories visible from that namespace. Supersessions are left out.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn current_relations(
    engine: &Engine,
    stems: &[Stem],
    seen_from: Option<&str>,
) -> Result<Vec<Option<Relations>>, EngineError> {
    let mut each = Vec::new();
    let mut ends = BTreeSet::new();
    for stem in stems {
        let row = graph::relations_of_each(engine, &row_of(engine, stem))?;
        if row.first().is_none_or(Option::is_none) {
            each.push(None);
            continue;
        }
        let mut all = Relations::default();
        for relations in row.into_iter().flatten() {
            all.to.extend(relations.to);
            all.from.extend(relations.from);
        }
        all.to.retain(|one| one.relation != SUPERSEDES);
        all.from.retain(|one| one.relation != SUPERSEDES);
        ends.extend(all.to.iter().filter_map(|one| one.to.clone()));
        ends.extend(all.from.iter().map(|one| one.from.clone()));
        each.push(Some(all));
    }
    let heads = heads_of(engine, ends)?;
    let filter = Filter {
        seen_from: seen_from.map(str::to_owned),
        visibility: Visibility::Everything,
        ..Filter::default()
    };
    let seen = passing(engine, heads.values().cloned().collect(), &filter)?;
    let seen: BTreeSet<Stem> = seen.into_iter().collect();
    let both = stems.iter().zip(each);
    let both = both.map(|(stem, relations)| {
        let relations = relations?;
        let head = |end: &Stem| {
            let head = heads.get(end)?;
            (head != stem && seen.contains(head)).then(|| head.clone())
        };
        let headline = |end: &Stem, head: &Stem, known: String| match end == head {
            true => known,
            false => headline_of(engine, head).unwrap_or(known),
        };
        let to = relations.to.into_iter().filter_map(|one| {
            let end = one.to.as_ref()?;
            let to = head(end)?;
            Some(Relation {
                from: stem.clone(),
                headline: headline(end, &to, one.headline),
                to: Some(to),
                ..one
            })
        });
        let from = relations.from.into_iter().filter_map(|one| {
            let from = head(&one.from)?;
            Some(Relation {
                headline: headline(&one.from, &from, one.headline),
                from,
                to: Some(stem.clone()),
                ..one
            })
        });
        Some(Relations {
            to: each_once(to),
            from: each_once(from),
        })
    });
    Ok(both.collect())
}

/// Returns a live memory and the live ones that it superseded, directly or indirectly.
fn row_of(engine: &Engine, stem: &Stem) -> Vec<Stem> {
    let mut row = vec![stem.clone()];
    let mut next = 0;
    while let Some(at) = row.get(next) {
        next += 1;
        let live = names::resolve(&engine.live, at.as_str()).ok();
        let memory = live.and_then(|(_, name)| rows::read_memory(&engine.live, &name));
        for id in memory.iter().flat_map(|memory| &memory.supersedes) {
            if let Ok((older, _)) = names::resolve(&engine.live, id)
                && !row.contains(&older)
            {
                row.push(older);
            }
        }
    }
    row
}

/// Returns the last successor of each of these memories.
fn heads_of(engine: &Engine, stems: BTreeSet<Stem>) -> Result<BTreeMap<Stem, Stem>, EngineError> {
    let current = passing(engine, stems.clone(), &Filter::default())?;
    let current: BTreeSet<Stem> = current.into_iter().collect();
    let head = |stem: Stem| match current.contains(&stem) {
        true => Ok((stem.clone(), stem)),
        false => Ok((stem.clone(), current_of(engine, &stem)?)),
    };
    stems.into_iter().map(head).collect()
}

fn headline_of(engine: &Engine, stem: &Stem) -> Option<String> {
    let (_, name) = names::resolve(&engine.live, stem.as_str()).ok()?;
    Some(
        rows::read_memory(&engine.live, &name)?
            .headline()
            .to_owned(),
    )
}

/// Counts the links from one current memory that passes `filter` to another; a link of or to a
/// superseded memory counts as one of or to its successor.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn count_links(engine: &Engine, filter: &Filter) -> Result<usize, EngineError> {
    let links: Vec<(Stem, String, Stem)> =
        current_snapshot::with_snapshot(&engine.live, |snapshot| {
            let live = Names::of(&engine.live, snapshot);
            let everything = Filter {
                visibility: Visibility::Everything,
                ..filter.clone()
            };
            let known = rows::names_of(&engine.live, snapshot, &everything)?;
            let known: HashSet<&str> = known.iter().map(String::as_str).collect();
            let holders = snapshot.holders("links")?.into_iter();
            let holders: BTreeSet<String> = holders.map(|(_, name)| name).collect();
            let mut links = Vec::new();
            for name in holders.iter().filter(|name| known.contains(name.as_str())) {
                let Some(memory) = rows::read_memory(&engine.live, name) else {
                    continue;
                };
                let end = |link: &Link| {
                    let other = live.called(&link.to)?;
                    known.contains(&*other).then(|| stem_of(&other))
                };
                let all = memory.links.iter();
                links.extend(all.filter_map(|link| {
                    Some((memory.stem.clone(), link.relation.clone(), end(link)?))
                }));
            }
            Ok(links)
        })?;
    let ends = links.iter().flat_map(|(from, _, to)| [from, to]);
    let heads = heads_of(engine, ends.cloned().collect())?;
    let current = passing(engine, heads.values().cloned().collect(), filter)?;
    let current: BTreeSet<Stem> = current.into_iter().collect();
    let links = links.iter().filter_map(|(from, relation, to)| {
        let (from, to) = (heads.get(from)?, heads.get(to)?);
        let is_inside = from != to && current.contains(from) && current.contains(to);
        is_inside.then_some((from, relation, to))
    });
    Ok(links.collect::<BTreeSet<_>>().len())
}

/// Returns the relations without duplicates.
fn each_once(relations: impl Iterator<Item = Relation>) -> Vec<Relation> {
    let mut seen = BTreeSet::new();
    let key = |one: &Relation| (one.from.clone(), one.relation.clone(), one.to.clone());
    relations.filter(|one| seen.insert(key(one))).collect()
}
