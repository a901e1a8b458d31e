//! The store in numbers.

use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, index_recovery, rows, usage};
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::files::Place;
use crate::index::{AsOf, Query, Snapshot};
use crate::lifecycle::FLAGGED_BELOW;
use crate::model::{Filter, Stem, Visibility};

/// How many memories there are, and of what sort.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// All live memories.
    pub memories: usize,
    /// Of these, those that searches find.
    pub current: usize,
    /// Those whose life has ended, and that are not archived yet.
    pub expired: usize,
    /// Those that another live memory replaces.
    pub superseded: usize,
    pub archived: usize,
    /// Of the live memories, by word of the vocabulary; none stated is not counted.
    pub kinds: BTreeMap<String, usize>,
    pub scopes: BTreeMap<String, usize>,
    pub tiers: BTreeMap<String, usize>,
    /// How many distinct topics, users and namespaces there are.
    pub topics: usize,
    pub users: usize,
    pub namespaces: usize,
    /// Memories that have links, or supersede another.
    pub linked: usize,
    /// Of the memory files.
    pub bytes: u64,
    pub oldest: Option<DateTime<Utc>>,
    pub newest: Option<DateTime<Utc>>,
}

/// Counts the memories that pass `filter`, whatever its visibility. The archive is counted
/// whole.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn stats(engine: &Engine, filter: &Filter) -> Result<Stats, EngineError> {
    index_recovery::mending(&engine.live, || stats_now(engine, filter))
}

/// The current memories that pass `filter` and are hardly believed: below [`FLAGGED_BELOW`] as of
/// now; the newest first.
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
    let is_whole = everything
        == Filter {
            visibility: Visibility::Everything,
            ..Filter::default()
        };
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
            let passing: HashSet<&String> = names.iter().collect();
            linked.retain(|name| passing.contains(name));
            let sizes = names.iter().filter_map(|name| snapshot.indexed(name));
            sizes.map(|indexed| indexed.stamp.size).sum()
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

/// How many of the memories that pass `filter` live now and no longer at the moment `until`, unless
/// they are used. Its visibility is not looked at.
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
            let ended = |now| snapshot.search(&query, AsOf { now, ..moment }, None, &|_| None);
            let (then, now) = (ended(until)?.total, ended(moment.now)?.total);
            Ok(then.saturating_sub(now))
        })
    })
}

/// The values of a facet (`topics`, `namespace`, `user`, …) with their numbers of live memories,
/// the commonest first.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn facet(engine: &Engine, key: &str) -> Result<Vec<(String, usize)>, EngineError> {
    current_snapshot::with_snapshot(&engine.live, |snapshot| Ok(snapshot.facet(key)?))
}
