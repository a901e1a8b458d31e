//! Comparison of all files with the committed index, and what one file that was read changes in the view.
//!
//! Promises: a comparison that fails leaves the view as it was, and is done again by the next operation.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::known_names;
use crate::engine::error::EngineError;
use crate::engine::live::freshness::{Freshness, SWEEP_INTERVAL, Sweep};
use crate::engine::live::reading::{CHUNK, Read, side_by_side};
use crate::engine::live::reconcile::{Changes, Compared, verified};
use crate::engine::live::store::LiveStore;
use crate::engine::live::{index_recovery, indexing, reading};
use crate::engine::texts::{RACY_NANOS, age};
use crate::files::{ChangeFeed, Entry, Listing, Place};
use crate::index::Snapshot;

/// Minimum number of changed files that are indexed at once and not searched through an overlay:
/// about what a commit costs.
const INDEX_AT_ONCE: usize = 256;

/// Number of files whose scan costs as much as the first search of one changed file through the
/// overlay.
const SCANS: usize = 6;

/// Compares all files with the committed index. Returns the number of differences that were new, and
/// old enough to have been reported by a watch. If it fails, the view stays that of before, and the next operation does
/// it again.
pub(super) fn look(
    live: &LiveStore,
    freshness: &mut Freshness,
    own: &BTreeSet<String>,
) -> Result<usize, EngineError> {
    let before = (freshness.current.clone(), freshness.behind);
    let looked = look_once(live, freshness, own);
    if looked.is_err() {
        (freshness.current, freshness.behind) = before;
        freshness.compare_again();
        if let Some(watch) = live.watch() {
            watch.note_indexed(false);
        }
    }
    looked
}

/// Lists all files and compares them. `Ok(None)` if the files themselves are searched from now on.
fn compare(
    live: &LiveStore,
    freshness: &mut Freshness,
    watch: Option<&dyn ChangeFeed>,
    (started, from): (Instant, i64),
) -> Result<Option<Compared>, EngineError> {
    let (listing, committed) = if freshness.avoids_index() {
        (list_cleared(live, watch)?, None)
    } else {
        list_beside_committed(live, watch)?
    };
    let Some(mut committed) = committed else {
        let waiting = listing.entries.len();
        freshness.avoid_index();
        answer_by_scan(live, freshness, &listing, waiting, started);
        return Ok(None);
    };
    let between = |committed: &dyn Snapshot, known: i64| {
        Changes::between(&listing, committed, verified(known, committed, from))
    };
    let mut changes = between(committed.as_ref(), freshness.verified);
    // A long-running process indexes in the background.
    let at_once = changes.len() >= INDEX_AT_ONCE && !live.has_background();
    if at_once && indexing::index_if_possible(live, &changes, committed.as_ref())? {
        let known = verified(freshness.verified, committed.as_ref(), from);
        committed = index_recovery::committed(live)?;
        changes = between(committed.as_ref(), known);
    }
    if changes.len() >= INDEX_AT_ONCE && changes.len() * SCANS > listing.entries.len() {
        answer_by_scan(live, freshness, &listing, changes.len(), started);
        return Ok(None);
    }
    Ok(Some(Compared {
        committed,
        changes,
        has_links: listing.entries.iter().any(|entry| entry.has_links),
        is_to_be_recorded: listing.skipped.is_empty() && listing.temps.is_empty(),
        folders: listing.folders,
        skipped: listing.skipped,
    }))
}

fn look_once(
    live: &LiveStore,
    freshness: &mut Freshness,
    own: &BTreeSet<String>,
) -> Result<usize, EngineError> {
    let started = Instant::now();
    let from = reading::now_nanos(live);
    let watch = live.watch();
    // Before the directory is read: later changes are reported later.
    let told = watch.as_ref().map(|watch| watch.take());
    let watch = watch.as_deref();
    let known = match freshness.avoids_index() {
        true => None,
        false => known_names::compare(live, watch, (freshness.verified, from), INDEX_AT_ONCE),
    };
    let compared = match known {
        Some(compared) => Some(compared),
        None => compare(live, freshness, watch, (started, from))?,
    };
    let Some(compared) = compared else {
        return Ok(0);
    };
    let Compared {
        committed,
        changes,
        folders,
        skipped,
        has_links,
        is_to_be_recorded,
    } = compared;
    if is_to_be_recorded {
        known_names::record(live, committed.as_ref(), (&changes, &folders), from);
    }
    freshness.verified = verified(freshness.verified, committed.as_ref(), from);
    if !changes.is_empty() && live.has_background() {
        live.note_all_pending();
    }
    freshness.behind = 0;
    let is_news = |name: &str| {
        let is_told = told.as_ref().is_some_and(|told| told.names.contains(name));
        !is_told && !own.contains(name) && !freshness.overlay.files.contains_key(name)
    };
    let long_ago = |entry: &&Entry| age(entry.changed) > Some(SWEEP_INTERVAL);
    let news = match told.as_ref().is_some_and(|told| told.everything) {
        true => 0,
        false => changes
            .changed
            .iter()
            .filter(long_ago)
            .filter(|entry| is_news(&entry.name))
            .count(),
    };
    freshness.committed = Some(committed);
    freshness.current = None;
    let skipped = skipped.into_iter();
    freshness.skipped = skipped.map(|one| (one.name, one.reason)).collect();
    freshness.unreadable_elsewhere = 0;
    freshness.folders = folders;
    freshness.has_links = has_links;
    take_in_changes(live, freshness, &changes, own)?;
    let all_as_indexed = changes.in_doubt.iter().all(|entry| {
        let known = freshness.overlay.files.get(&entry.name);
        known.is_none() && age(entry.changed) > Some(Duration::from_nanos(RACY_NANOS as u64))
    });
    if watch.is_some() || all_as_indexed {
        freshness.verified = freshness.verified.max(from);
    }
    freshness.in_doubt = changes.in_doubt.len();
    if watch.is_none() {
        freshness.distrust_young_folders(reading::now_nanos(live));
    }
    if !(freshness.overlay.files.is_empty()
        && freshness.touched.is_empty()
        && freshness.unsettled.is_empty())
    {
        live.wake();
    }
    freshness.swept = Some(Sweep {
        at: started,
        cost: started.elapsed(),
    });
    freshness.has_failed = false;
    Ok(news)
}

/// Makes a scan of the files the current view until the index has caught up with them; the listing began
/// at `started`.
pub(super) fn answer_by_scan(
    live: &LiveStore,
    freshness: &mut Freshness,
    listing: &Listing,
    waiting: usize,
    started: Instant,
) {
    if freshness.behind == 0 {
        tracing::info!("{waiting} files are searched one by one until they are indexed");
    }
    let is_awaited = live.has_background() && !freshness.avoids_index();
    let scan = reading::scan(live, listing, is_awaited);
    freshness.scan(scan, listing, waiting, started.elapsed());
    freshness.distrust_young_folders(reading::now_nanos(live));
    live.wake();
}

/// Lists the memory folder while the committed index is read, each on a core of its own. The index is
/// `None` if it cannot be read.
fn list_beside_committed(
    live: &LiveStore,
    watch: Option<&dyn ChangeFeed>,
) -> Result<(Listing, Option<Arc<dyn Snapshot>>), EngineError> {
    let (listing, committed) = side_by_side(
        || list_cleared(live, watch),
        || index_recovery::committed(live),
    );
    let committed = committed.inspect_err(|error| {
        tracing::warn!("the files are searched without the index: {error}");
    });
    Ok((listing?, committed.ok()))
}

/// Lists the memory folder after removing leftovers of interrupted writes.
pub(super) fn list_cleared(
    live: &LiveStore,
    watch: Option<&dyn ChangeFeed>,
) -> Result<Listing, EngineError> {
    let include = |folder: &str| {
        if let Some(watch) = watch {
            watch.include(folder);
        }
    };
    let listing = live.store.list_after(Place::Files, &include)?;
    if live.is_read_only() || listing.temps.is_empty() {
        return Ok(listing);
    }
    let cleared = live.store.remove_leftovers(Place::Files, &listing.temps);
    for leftover in &cleared {
        tracing::info!(name = %leftover.name, "cleared what an interrupted write left");
    }
    if cleared.is_empty() {
        return Ok(listing);
    }
    // One of them may have become a conflict copy.
    Ok(live.store.list_after(Place::Files, &include)?)
}

fn take_in_changes(
    live: &LiveStore,
    freshness: &mut Freshness,
    changes: &Changes,
    own: &BTreeSet<String>,
) -> Result<(), EngineError> {
    let is_changed = |name: &String| {
        let by_name = |entry: &Entry| entry.name.as_str().cmp(name);
        changes.changed.binary_search_by(by_name).is_ok()
            || changes.in_doubt.binary_search_by(by_name).is_ok()
            || changes.removed.binary_search(name).is_ok()
    };
    freshness.touched.retain(|name, _| is_changed(name));
    // An overlay entry that is no change any more is committed by now, or gone for good.
    let (unchanged, gone): (Vec<String>, Vec<String>) = freshness
        .overlay
        .files
        .keys()
        .filter(|name| !is_changed(name))
        .cloned()
        .partition(|name| freshness.is_committed(name));
    for name in &unchanged {
        freshness.drop_from_overlay(name);
    }
    let in_flux: Vec<String> = freshness.unsettled.keys().cloned().collect();
    for name in &in_flux {
        if !is_changed(name) && !gone.contains(name) {
            freshness.settled(name);
        }
    }
    let known: Vec<bool> = changes
        .changed
        .iter()
        .map(|entry| freshness.is_known(entry))
        .collect();
    let unread: Vec<&str> = changes
        .changed
        .iter()
        .zip(known)
        .filter(|(_, known)| !known)
        .map(|(entry, _)| entry)
        .chain(&changes.in_doubt)
        .map(|entry| entry.name.as_str())
        .collect();
    let removed = changes.removed.iter().chain(&gone);
    let mut seen_all: Vec<Read> = removed.map(|name| Read::Gone(name.clone())).collect();
    // Before anything is taken in: of a renamed file, an answer must not lack both names if this fails.
    for chunk in unread.chunks(CHUNK) {
        let known = |name: &str| freshness.committed_version(name);
        seen_all.extend(reading::read_all(live, chunk, &known)?);
    }
    for read in seen_all {
        take_in(live, freshness, read, own);
    }
    Ok(())
}

/// Puts the result of reading a file into the overlay, unless it is as committed, or the last
/// good text stays valid a little longer.
pub(super) fn take_in(
    live: &LiveStore,
    freshness: &mut Freshness,
    read: Read,
    own: &BTreeSet<String>,
) {
    match read {
        Read::Document { document, changed } => {
            let name = document.name.clone();
            freshness.skipped.remove(&name);
            let may_be_a_piece = !own.contains(&name) && !live.store.shows_whole_texts();
            if may_be_a_piece && freshness.holds_before(&document) {
                return;
            }
            freshness.settled(&name);
            freshness.put(document, changed);
        }
        Read::Touched {
            name,
            indexed,
            changed,
        } => {
            freshness.skipped.remove(&name);
            freshness.settled(&name);
            freshness.touch(name, indexed, changed);
        }
        Read::Gone(name) => {
            freshness.skipped.remove(&name);
            let may_come_back = !own.contains(&name) && !live.store.shows_whole_texts();
            if may_come_back && holds_missing(live, freshness, &name) {
                return;
            }
            freshness.settled(&name);
            freshness.take_out(&name);
        }
        Read::Skipped(skipped) => {
            freshness.settled(&skipped.name);
            freshness.take_out(&skipped.name);
            freshness.skipped.insert(skipped.name, skipped.reason);
        }
    }
}

/// Whether a missing file is still searched by its last text.
fn holds_missing(live: &LiveStore, freshness: &mut Freshness, name: &str) -> bool {
    let age = folder_age(live, name);
    // If this process had to wait, that may be long after it was found missing.
    let is_back = || live.store.look_at(Place::Files, name).is_some();
    freshness.holds_missing(name, age)
        || is_back() && freshness.holds_missing(name, Some(Duration::ZERO))
}

/// Returns the time since the folder of `name` was last changed.
fn folder_age(live: &LiveStore, name: &str) -> Option<Duration> {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let times = [(folder.to_owned(), 0)];
    match live.store.folder_times(Place::Files, &times) {
        Some(times) => age(times[0].1),
        None => Some(Duration::MAX),
    }
}
