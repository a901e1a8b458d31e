//! Candidates for a brief: standards, pinned memories, and the newest of the namespace.

use std::collections::HashSet;

use crate::engine::error::EngineError;
use crate::engine::live::read_cache::Shared;
use crate::engine::live::{current_snapshot, rows, usage};
use crate::engine::ops::{standards, talks};
use crate::engine::parts::Engine;
use crate::lifecycle::Stated;
use crate::model::{Filter, GLOBAL, Memory, TALK, Talks, is_global_namespace, is_same_namespace};
use crate::ranking::brief::{BriefCandidate, BriefPlace};

/// Maximum number of memories of the namespace that are read: more would take longer than a client waits.
const MOST_HERE: usize = 400;
/// Maximum number of memories of the namespaces above it that are read.
const MOST_ABOVE: usize = 100;

/// Maximum number of talks that are looked at for how the last session ended.
const MOST_TALKS: usize = 4;

/// A memory that was read, with its place.
pub(super) struct ReadMemory {
    memory: Shared,
    place: BriefPlace,
    uses: u32,
}

/// Returns the standards of `namespace`, the most general first, and then current memories of it and of the
/// namespaces above it, newest first, each memory once.
pub(super) fn read(engine: &Engine, namespace: &str) -> Result<Vec<ReadMemory>, EngineError> {
    let standards = standards::standards_in(engine, namespace)?;
    let standards: Vec<Shared> = standards
        .into_iter()
        .map(|(_, memory)| Shared::from(memory))
        .collect();
    let mut names = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let newest = |filter: Filter, most: usize| {
            let page = rows::page_of(&engine.live, snapshot, &filter, 0..most)?;
            Ok::<_, EngineError>(page.1)
        };
        let of = |namespaces: Vec<String>| Filter {
            namespaces,
            ..Filter::default()
        };
        let mut names = newest(of(vec![namespace.to_owned()]), MOST_HERE)?;
        let above = above(namespace);
        names.extend(newest(of(above.clone()), MOST_ABOVE)?);
        for key in ["pinned", "metadata.pinned"] {
            let pinned = Filter {
                equals: vec![(key.to_owned(), "true".to_owned())],
                ..of([above.clone(), vec![namespace.to_owned()]].concat())
            };
            names.extend(newest(pinned, MOST_ABOVE)?);
        }
        Ok(names)
    })?;
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let memories = rows::read_memories(&engine.live, &names);
    let known: HashSet<&str> = standards
        .iter()
        .map(|memory| memory.stem.as_str())
        .collect();
    let mut others: Vec<Shared> = memories
        .into_iter()
        .filter(|memory| !known.contains(memory.stem.as_str()))
        .collect();
    others.sort_by(|one, other| {
        let newest_first = other.timestamp.utc().cmp(&one.timestamp.utc());
        newest_first.then_with(|| one.stem.as_str().cmp(other.stem.as_str()))
    });
    let read = usage::at_once(&engine.live, |moment| {
        let with_place = |memory: Shared, place: BriefPlace| {
            let state = (moment.state)(memory.stem.as_str(), &Stated::of(&memory), moment.now);
            ReadMemory {
                memory,
                place,
                uses: state.uses,
            }
        };
        let standards = standards
            .into_iter()
            .map(|memory| with_place(memory, BriefPlace::Standard));
        let others = others.into_iter().map(|memory| {
            let place = match is_within(memory.namespace_or_global(), namespace) {
                true => BriefPlace::Here,
                false => BriefPlace::Above,
            };
            with_place(memory, place)
        });
        standards.chain(others).collect()
    });
    Ok(read)
}

/// Returns how the last session of a namespace ended, which `mine` noted in its talk, as a memory of that one
/// line; `None` if no talk says so.
pub(super) fn ending(engine: &Engine, namespace: &str) -> Result<Option<ReadMemory>, EngineError> {
    let of_talks = Filter {
        namespaces: vec![namespace.to_owned()],
        equals: vec![(format!("metadata.{TALK}"), "true".to_owned())],
        talks: Talks::Everywhere,
        ..Filter::default()
    };
    let names = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        Ok(rows::page_of(&engine.live, snapshot, &of_talks, 0..MOST_TALKS)?.1)
    })?;
    let ending = names.iter().find_map(|name| {
        let talk = rows::read_memory(&engine.live, name)?;
        let content = talk.metadata_text(talks::ENDING)?.to_owned();
        Some(Shared::from(Memory {
            title: None,
            metadata: Vec::new(),
            content,
            ..talk
        }))
    });
    Ok(ending.map(|memory| ReadMemory {
        memory,
        place: BriefPlace::Ending,
        uses: 0,
    }))
}

/// Returns what was read as candidates, with the ids that agents are shown.
pub(super) fn candidates<'a>(engine: &Engine, read: &'a [ReadMemory]) -> Vec<BriefCandidate<'a>> {
    let candidate = |read: &'a ReadMemory| BriefCandidate {
        memory: &read.memory,
        id: engine.live.shown_id(&read.memory.stem),
        place: read.place,
        uses: read.uses,
    };
    read.iter().map(candidate).collect()
}

/// Returns the namespaces above `namespace`, `global` first; of `global` none.
pub(super) fn above(namespace: &str) -> Vec<String> {
    if is_global_namespace(namespace) {
        return Vec::new();
    }
    let parents = namespace.match_indices('/').filter(|(at, _)| *at > 0);
    let parents = parents.map(|(at, _)| namespace[..at].to_owned());
    std::iter::once(GLOBAL.to_owned()).chain(parents).collect()
}

/// Returns whether a namespace is `around` or lies in it.
fn is_within(namespace: &str, around: &str) -> bool {
    let (lower, around_lower) = (namespace.to_lowercase(), around.to_lowercase());
    let rest = lower.strip_prefix(&around_lower);
    is_same_namespace(namespace, around) || rest.is_some_and(|rest| rest.starts_with('/'))
}
