//! Finds the turns of talks that answer a question.
//!
//! A talk is a memory of up to 40 KB, and what answers is a turn of it. A search ranks talks as a whole among
//! all memories; then the turns of the first talks are ranked among each other, by the same ranking as
//! memories, and stand in the places of the talks: as many hits are talks as before, but each is a turn, and
//! one talk may be there several times. Promises: in a store without talks the result is that of
//! [`think`](super::think), to the byte; the text that is read for it is bounded.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::TimeDelta;

use crate::engine::error::EngineError;
use crate::engine::live::usage;
use crate::engine::ops::retrieval::search::{Hit, SearchResults};
use crate::engine::ops::retrieval::think::think;
use crate::engine::parts::Engine;
use crate::index::{Document, Indexed, Query, QueryKind, Scan, SearchModels, Snapshot};
use crate::model::{Filter, Memory, Stamp, Talks, Timestamp};
use crate::ranking::Method;
use crate::talks::{Turn, turns};

/// Number of first hits whose talks are looked into: of what answers the development chats, 87 % lies in the
/// first 20 talks, and 90 % in the first 50.
const LOOKED_INTO: usize = 20;

/// Maximum size of the texts that are looked into, in bytes: the time of a question grows with them.
const MAX_BYTES: usize = 1 << 20;

/// Time between two turns whose times are not written: less than what makes another episode.
const STEP: TimeDelta = TimeDelta::seconds(30);

/// As [`think`], with turns of talks in the places of talks.
///
/// # Errors
///
/// As for [`search`](super::search::search).
pub fn think_in_talks(engine: &Engine, query: &Query) -> Result<SearchResults, EngineError> {
    let is_ranked = matches!(query.kind, QueryKind::Text(_))
        && matches!(query.ranking.method, Method::Fused | Method::Words);
    let may_hold = is_ranked && query.offset == 0 && query.filter.talks != Talks::Nowhere;
    if !may_hold || !engine.live.has_talks() {
        return think(engine, query);
    }
    let deeper = Query {
        limit: query.limit.max(LOOKED_INTO),
        ..query.clone()
    };
    let mut results = think(engine, &deeper)?;
    let further = results.hits.split_off(query.limit.min(results.hits.len()));
    if results.hits.iter().any(|hit| hit.memory.is_talk()) {
        let talks: Vec<Hit> = results.hits.iter().chain(&further).cloned().collect();
        let found = found_turns(engine, query, talks)?;
        results.hits = in_places_of_talks(results.hits, found);
    }
    Ok(results)
}

/// Returns the turns of the first talks that match the query, the best first.
fn found_turns(
    engine: &Engine,
    query: &Query,
    mut talks: Vec<Hit>,
) -> Result<Vec<Hit>, EngineError> {
    talks.retain(|hit| hit.memory.is_talk());
    talks.truncate(LOOKED_INTO);
    let mut bytes = 0;
    talks.retain(|hit| {
        bytes += hit.memory.content.len();
        bytes <= MAX_BYTES
    });
    let mut documents = Vec::new();
    // Of each document, the number of its talk and the lines.
    let mut places = Vec::new();
    for (number, hit) in talks.iter().enumerate() {
        let format = hit
            .memory
            .source
            .as_deref()
            .and_then(|name| name.parse().ok());
        let head = head_of(&hit.memory);
        let mut at = head.timestamp.utc();
        for turn in turns(&hit.memory.content, format) {
            at = turn.at.unwrap_or(at + STEP);
            let memory = as_memory(&head, &turn, Timestamp::from_utc(at));
            documents.push(document(documents.len(), memory));
            places.push((number, turn.lines));
        }
    }
    let files = documents
        .iter()
        .map(|one| (one.name.clone(), Stamp::default()));
    let files = files.collect();
    let documents = Arc::new(documents);
    let read = move |name: &str| documents.get(name.parse::<usize>().ok()?).cloned();
    let scan = Scan::new(files, Box::new(read), &engine.live.languages);
    let scan = scan.with_people(&engine.live.people);
    // What the filter asks for was asked of the talks.
    let query = Query {
        filter: Filter {
            talks: Talks::Everywhere,
            ..Filter::default()
        },
        ..query.clone()
    };
    let found = usage::at_once(&engine.live, |moment| {
        scan.search(&query, moment, SearchModels::default(), &|_| None)
    })?;
    let hits = found.hits.into_iter().filter_map(|found| {
        let (talk, lines) = places.get(found.name.parse::<usize>().ok()?)?;
        Some(Hit {
            parts: found.parts,
            lines: Some(lines.clone()),
            ..talks[*talk].clone()
        })
    });
    Ok(hits.collect())
}

/// Returns a talk without its text, its title and what else is not of one turn.
fn head_of(talk: &Memory) -> Memory {
    Memory {
        topics: Vec::new(),
        title: None,
        links: Vec::new(),
        metadata: Vec::new(),
        content: String::new(),
        ..talk.clone()
    }
}

/// Returns a turn as a memory of its own.
fn as_memory(head: &Memory, turn: &Turn<'_>, timestamp: Timestamp) -> Memory {
    let user = match (turn.role, turn.who) {
        (Some(role), _) => role,
        (None, "") => &head.user,
        (None, who) => who,
    };
    Memory {
        timestamp,
        user: user.to_owned(),
        content: turn.text.to_owned(),
        ..head.clone()
    }
}

/// Returns the document called by a number, so that the order of names is that of numbers.
fn document(number: usize, memory: Memory) -> Document {
    Document {
        name: format!("{number:08}"),
        indexed: Indexed {
            stamp: Stamp::default(),
            hash: 0,
            racy: false,
        },
        memory,
        bytes: Vec::new(),
    }
}

/// Returns the hits with the turns in the places of talks. A place for which there is no turn keeps its talk,
/// unless a turn of it stands before.
fn in_places_of_talks(hits: Vec<Hit>, turns: Vec<Hit>) -> Vec<Hit> {
    let mut turns = turns.into_iter();
    let mut shown: HashSet<String> = HashSet::new();
    let mut placed = Vec::with_capacity(hits.len());
    for hit in hits {
        if !hit.memory.is_talk() {
            placed.push(hit);
            continue;
        }
        let hit = match turns.next() {
            // The order of the scores stays that of the places.
            Some(turn) => Hit {
                score: hit.score,
                ..turn
            },
            None if shown.contains(&hit.name) => continue,
            None => hit,
        };
        shown.insert(hit.name.clone());
        placed.push(hit);
    }
    placed
}
