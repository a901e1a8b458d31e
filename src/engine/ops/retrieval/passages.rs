//! Finds the turns of talks that answer a question.
//!
//! A talk is a memory of up to 40 KB, and what answers is a turn of it. The turns of all talks are ranked among each
//! other (`live::turns`), by the same ranking as memories, and the best of them stand among the other memories by
//! their relevance: each hit is a turn with its lines, and one talk may be there several times. Promises: in a store
//! without talks the result is that of [`think`](super::think), to the byte; a turn that is shown stands in its file
//! at the lines that are named.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::engine::error::EngineError;
use crate::engine::live::turns::{memories_of, parse_row};
use crate::engine::live::{current_snapshot, index_recovery, indexing, reading, rows, usage};
use crate::engine::meaning::embedding;
use crate::engine::ops::retrieval::search::{Hit, SearchResults};
use crate::engine::ops::retrieval::think::think;
use crate::engine::parts::Engine;
use crate::files::Place;
use crate::index::{AsOf, IndexError, IndexHit, Query, QueryKind, SearchModels, Snapshot, Texts};
use crate::model::{Filter, Memory, TALK, Talks, Visibility};
use crate::ranking::Method;
use crate::talks::turns;

/// Number of turns that are looked at first; the talks of some of them may not pass the filter.
const FIRST_LOOK: usize = 64;

/// Factor by which that number grows from one search to the next.
const GROWTH: usize = 8;

/// As [`think`], with turns of talks in place of whole talks.
///
/// # Errors
///
/// As for [`search`](super::search::search).
pub fn think_in_talks(engine: &Engine, query: &Query) -> Result<SearchResults, EngineError> {
    let is_ranked = matches!(query.kind, QueryKind::Text(_))
        && matches!(query.ranking.method, Method::Fused | Method::Words);
    let may_hold = is_ranked && query.offset == 0 && query.filter.talks != Talks::Nowhere;
    let found = match may_hold {
        true => index_recovery::mending(&engine.live, || found_turns(engine, query))?,
        false => None,
    };
    let Some((turns, count)) = found else {
        return think(engine, query);
    };
    let others = Query {
        filter: Filter {
            talks: Talks::Nowhere,
            ..query.filter.clone()
        },
        ..query.clone()
    };
    let mut results = think(engine, &others)?;
    results.total += count;
    results.hits = merged(results.hits, turns, query.limit);
    Ok(results)
}

/// Returns the best turns that match the query, the best first, with the number of all; `None` while turns cannot
/// be searched.
fn found_turns(engine: &Engine, query: &Query) -> Result<Option<(Vec<Hit>, usize)>, EngineError> {
    if !engine.live.has_talks() {
        return Ok(None);
    }
    let memories = current_snapshot::snapshot(&engine.live)?;
    let Some(turns) = indexing::turns(&engine.live, &memories) else {
        return Ok(None);
    };
    match best_turns(engine, query, memories.as_ref(), turns.as_ref()) {
        Ok((best, count)) => {
            let hits = best.into_iter().filter_map(|turn| hit_of(engine, turn));
            Ok(Some((hits.collect(), count)))
        }
        Err(error) => {
            indexing::reset_turns(&engine.live, &error);
            Ok(None)
        }
    }
}

/// Returns the best rows of turns whose talks pass the filter, with the number of all.
fn best_turns(
    engine: &Engine,
    query: &Query,
    memories: &dyn Snapshot,
    turns: &dyn Snapshot,
) -> Result<(Vec<IndexHit>, usize), IndexError> {
    // A turn is of the namespace and the scope of its talk; all else is asked of the talk.
    let places = Filter {
        namespaces: query.filter.namespaces.clone(),
        seen_from: query.filter.seen_from.clone(),
        talks: query.filter.talks,
        ..Filter::default()
    };
    let mut of_turns = Query {
        limit: match query.filter == places {
            true => FIRST_LOOK.max(query.limit),
            false => usize::MAX / 2,
        },
        filter: Filter {
            visibility: Visibility::Everything,
            talks: Talks::Everywhere,
            ..places
        },
        ..query.clone()
    };
    let live = &engine.live;
    let reader = live.store.reader(Place::Files).held();
    let now = reading::before_reading(live);
    let talk = |name: &str| rows::version_of(live, reader.as_ref(), name, now);
    let texts = |name: &str| talk(name).map(|(_, memory)| memory.into_memory());
    let read: RefCell<HashMap<String, Vec<Memory>>> = RefCell::default();
    let turn_texts = |name: &str| {
        let (name, number) = parse_row(name)?;
        let turns = || talk(name).map_or_else(Vec::new, |(_, memory)| memories_of(&memory));
        let mut read = read.borrow_mut();
        let turns = read.entry(name.to_owned()).or_insert_with(turns);
        turns.get(number).cloned()
    };
    let embed = |text: &str| embedding::embed_query(&engine.meaning, turns, text);
    let ahead = |names: &[&str]| {
        let talks: BTreeSet<&str> = names
            .iter()
            .filter_map(|name| Some(parse_row(name)?.0))
            .collect();
        let talks: Vec<&str> = talks.into_iter().collect();
        rows::read_ahead(live, reader.as_ref(), &talks);
    };
    let models = SearchModels {
        embed: Some(&embed),
        rerank: None,
        ahead: Some(&ahead),
    };
    usage::at_once(live, |moment| {
        if !has_talks_that_pass(query, memories, moment, &texts)? {
            return Ok((Vec::new(), 0));
        }
        loop {
            let found = turns.search(&of_turns, moment, models, &turn_texts)?;
            let names: HashSet<&str> = found.hits.iter().filter_map(talk_of).collect();
            let names = names.into_iter().map(str::to_owned).collect();
            let passing = memories.passing(names, &query.filter, moment, &texts)?;
            let passing: HashSet<String> = passing.into_iter().collect();
            let looked_at = found.hits.len();
            let mut best = found.hits;
            best.retain(|turn| talk_of(turn).is_some_and(|talk| passing.contains(talk)));
            if best.len() >= query.limit || looked_at == found.total {
                let count = found.total - (looked_at - best.len());
                best.truncate(query.limit);
                return Ok((best, count));
            }
            of_turns.limit = of_turns.limit.saturating_mul(GROWTH);
        }
    })
}

/// Returns whether a talk passes the filter: to look for turns costs more than to know.
fn has_talks_that_pass(
    query: &Query,
    memories: &dyn Snapshot,
    moment: AsOf<'_>,
    texts: &Texts<'_>,
) -> Result<bool, IndexError> {
    let mut filter = query.filter.clone();
    filter
        .equals
        .push((format!("metadata.{TALK}"), "true".to_owned()));
    filter.talks = Talks::Everywhere;
    let any = Query::everything(filter, 0);
    let found = memories.search(&any, moment, SearchModels::default(), texts)?;
    Ok(found.total > 0)
}

fn talk_of(turn: &IndexHit) -> Option<&str> {
    parse_row(&turn.name).map(|(talk, _)| talk)
}

/// Returns the hit of a turn; `None` if its talk was changed meanwhile.
fn hit_of(engine: &Engine, turn: IndexHit) -> Option<Hit> {
    let (talk, number) = parse_row(&turn.name)?;
    let reader = engine.live.store.reader(Place::Files).held();
    let now = reading::before_reading(&engine.live);
    let (hash, memory) = rows::version_of(&engine.live, reader.as_ref(), talk, now)?;
    let format = memory.source.as_deref().and_then(|name| name.parse().ok());
    let lines = turns(&memory.content, format).get(number)?.lines.clone();
    (hash == turn.indexed.hash).then(|| Hit {
        name: talk.to_owned(),
        memory,
        score: turn.score,
        matched: turn.matched,
        parts: turn.parts,
        lines: Some(lines),
    })
}

/// Merges two lists, each the best first, into one of at most `limit` hits: the next is the one that is more likely
/// to answer, or of a list of words the one of the higher score. A score is at most that of the hit before.
fn merged(memories: Vec<Hit>, turns: Vec<Hit>, limit: usize) -> Vec<Hit> {
    let worth = |hit: &Hit| hit.relevance().map_or(hit.score, f64::from);
    let (mut memories, mut turns) = (
        memories.into_iter().peekable(),
        turns.into_iter().peekable(),
    );
    let mut merged: Vec<Hit> = Vec::with_capacity(limit);
    while merged.len() < limit {
        let next = match (memories.peek(), turns.peek()) {
            (Some(memory), Some(turn)) if worth(turn) > worth(memory) => turns.next(),
            (None, _) => turns.next(),
            _ => memories.next(),
        };
        let Some(mut hit) = next else { break };
        let before = merged.last().map_or(f64::INFINITY, |hit| hit.score);
        hit.score = hit.score.min(before);
        merged.push(hit);
    }
    merged
}
