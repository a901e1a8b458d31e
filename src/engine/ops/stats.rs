//! Counts of a store.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, index_recovery, rows, usage};
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::files::Place;
use crate::index::{AsOf, Query, SearchModels, Snapshot};
use crate::lifecycle::FLAGGED_BELOW;
use crate::model::{Filter, Stem, TALK, Talks, Visibility};

/// Counts of memories by state, kind and other fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Number of live memories.
    pub memories: usize,
    /// Number of live memories that searches return.
    pub current: usize,
    /// Number of live memories that have expired and are not archived yet.
    pub expired: usize,
    /// Number of live memories that another live memory supersedes.
    pub superseded: usize,
    /// Number of archived memories.
    pub archived: usize,
    /// Number of live memories by kind; memories that state none are not counted.
    pub kinds: BTreeMap<String, usize>,
    /// Number of live memories by scope.
    pub scopes: BTreeMap<String, usize>,
    /// Number of live memories by tier.
    pub tiers: BTreeMap<String, usize>,
    /// Number of distinct topics.
    pub topics: usize,
    /// Number of distinct users.
    pub users: usize,
    /// Number of distinct namespaces.
    pub namespaces: usize,
    /// Number of memories that have links or supersede another memory.
    pub linked: usize,
    /// Total size of the memory files in bytes.
    pub bytes: u64,
    /// Timestamp of the oldest memory.
    pub oldest: Option<DateTime<Utc>>,
    /// Timestamp of the newest memory.
    pub newest: Option<DateTime<Utc>>,
}

/// Counts the memories that pass `filter`, whatever its visibility. All archived memories are counted.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn stats(engine: &Engine, filter: &Filter) -> Result<Stats, EngineError> {
    index_recovery::mending(&engine.live, || stats_now(engine, filter))
}

/// Returns the current memories that pass `filter` and whose confidence is below [`FLAGGED_BELOW`] as of
/// now, newest first.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn flagged(engine: &Engine, filter: &Filter) -> Result<Vec<Stem>, EngineError> {
    let filter = Filter {
        visibility: Visibility::Current,
        ..filter.clone()
    };
    let believed = Filter {
        min_confidence: Some(filter.min_confidence.unwrap_or(0.0).max(FLAGGED_BELOW)),
        ..filter.clone()
    };
    current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let believed = rows::names_of(&engine.live, snapshot, &believed)?;
        let believed: HashSet<&str> = believed.iter().map(String::as_str).collect();
        let all = rows::names_of(&engine.live, snapshot, &filter)?;
        let flagged = all.iter().filter(|name| !believed.contains(name.as_str()));
        Ok(flagged.map(|name| stem_of(name)).collect())
    })
}

fn stats_now(engine: &Engine, filter: &Filter) -> Result<Stats, EngineError> {
    let snapshot = current_snapshot::snapshot(&engine.live)?;
    let snapshot = snapshot.as_ref();
    let with = |visibility| Filter {
        visibility,
        ..filter.clone()
    };
    let everything = with(Visibility::Everything);
    // The newest comes first.
    let newest = rows::page_of(&engine.live, snapshot, &everything, 0..1)?;
    let memories = newest.0;
    let last = memories.saturating_sub(1)..memories;
    let oldest = rows::page_of(&engine.live, snapshot, &everything, last)?;
    let at = |(_, names): &(usize, Vec<String>)| {
        Some(
            rows::read_memory(&engine.live, names.first()?)?
                .timestamp
                .utc(),
        )
    };
    // Facets count talks, too.
    let is_whole = everything
        == Filter {
            visibility: Visibility::Everything,
            talks: filter.talks,
            ..Filter::default()
        }
        && (filter.talks == Talks::Everywhere || !has_talks(snapshot)?);
    let counted = |key: &str| -> Result<BTreeMap<String, usize>, EngineError> {
        let mut counts = BTreeMap::new();
        for (value, count) in snapshot.facet(key)? {
            let count = match is_whole {
                true => count,
                false => self::count(engine, snapshot, &everything, key, &value)?,
            };
            if count > 0 {
                counts.insert(value, count);
            }
        }
        Ok(counts)
    };
    let distinct = |key: &str| Ok::<_, EngineError>(counted(key)?.len());
    let mut linked: Vec<String> = Vec::new();
    for key in ["links", "supersedes"] {
        let holders = snapshot.holders(key)?.into_iter();
        linked.extend(holders.map(|(_, name)| name));
    }
    linked.sort_unstable();
    linked.dedup();
    let bytes = match is_whole {
        true => snapshot
            .files()
            .map(|(_, indexed)| indexed.stamp.size)
            .sum(),
        false => {
            let names = rows::names_of(&engine.live, snapshot, &everything)?;
            let passing: HashSet<&str> = names.iter().map(String::as_str).collect();
            linked.retain(|name| passing.contains(name.as_str()));
            let files = snapshot.files().filter(|(name, _)| passing.contains(name));
            files.map(|(_, indexed)| indexed.stamp.size).sum()
        }
    };
    let total = |visibility| {
        Ok::<_, EngineError>(rows::page_of(&engine.live, snapshot, &with(visibility), 0..0)?.0)
    };
    let current = total(Visibility::Current)?;
    let expired = total(Visibility::Expired)?;
    Ok(Stats {
        memories,
        current,
        expired,
        // One may have ended between the two looks.
        superseded: memories.saturating_sub(current + expired),
        archived: engine.live.store.list(Place::Archive)?.entries.len(),
        kinds: counted("kind")?,
        scopes: counted("scope")?,
        tiers: counted("tier")?,
        topics: distinct("topics")?,
        users: distinct("user")?,
        namespaces: distinct("namespace")?,
        linked: linked.len(),
        bytes,
        oldest: at(&oldest),
        newest: at(&newest),
    })
}

fn count(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    filter: &Filter,
    key: &str,
    value: &str,
) -> Result<usize, EngineError> {
    let mut filter = filter.clone();
    filter.equals.push((key.to_owned(), value.to_owned()));
    Ok(rows::page_of(&engine.live, snapshot, &filter, 0..0)?.0)
}

/// Counts the memories that pass `filter` and expire between now and `until`, unless they are used
/// before. The filter's visibility is ignored.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn ending_by(
    engine: &Engine,
    filter: &Filter,
    until: DateTime<Utc>,
) -> Result<usize, EngineError> {
    let filter = Filter {
        visibility: Visibility::Expired,
        ..filter.clone()
    };
    let query = Query::everything(filter, 0);
    current_snapshot::with_snapshot(&engine.live, |snapshot| {
        usage::at_once(&engine.live, |moment| {
            let ended = |now| {
                snapshot.search(
                    &query,
                    AsOf { now, ..moment },
                    SearchModels::default(),
                    &|_| None,
                )
            };
            let (then, now) = (ended(until)?.total, ended(moment.now)?.total);
            Ok(then.saturating_sub(now))
        })
    })
}

/// Returns whether a store holds talks.
fn has_talks(snapshot: &dyn Snapshot) -> Result<bool, EngineError> {
    Ok(!snapshot.facet(&format!("metadata.{TALK}"))?.is_empty())
}

/// Returns the values of a facet (`topics`, `namespace`, `user`, …) with their numbers of live memories,
/// the most frequent first. Talks are not counted.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn facet(engine: &Engine, key: &str) -> Result<Vec<(String, usize)>, EngineError> {
    frequent(engine, key, usize::MAX)
}

/// As [`facet`], at most `limit` values; of values that are equally frequent any may be the last.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn frequent(
    engine: &Engine,
    key: &str,
    limit: usize,
) -> Result<Vec<(String, usize)>, EngineError> {
    current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let mut counted = snapshot.facet(key)?;
        if !has_talks(snapshot)? {
            counted.truncate(limit);
            return Ok(counted);
        }
        let mut values: Vec<(String, usize)> = Vec::new();
        for (value, count) in counted {
            // With talks a value is as frequent as those before it, or less: no further one belongs to them.
            let last = values.get(limit.saturating_sub(1));
            if last.is_some_and(|(_, least)| *least >= count) {
                break;
            }
            let talks = Filter {
                equals: vec![
                    (key.to_owned(), value.clone()),
                    (format!("metadata.{TALK}"), "true".to_owned()),
                ],
                visibility: Visibility::Everything,
                talks: Talks::Everywhere,
                ..Filter::default()
            };
            let (talks, _) = rows::page_of(&engine.live, snapshot, &talks, 0..0)?;
            let count = count.saturating_sub(talks);
            if count > 0 {
                let place = (Reverse(count), &value);
                let at = values.partition_point(|(known, times)| (Reverse(*times), known) < place);
                values.insert(at, (value, count));
                values.truncate(limit);
            }
        }
        Ok(values)
    })
}
