//! Makes every result agree with the files.
//!
//! The index is one committed state; differing files are in an overlay that searches
//! include at once. Differences are detected in three ways: by names that this process changed
//! itself; by names from a watch, in a process that runs for long; and without a watch, by
//! the folders' times on every operation and a sweep over all stamps, at most a second apart and
//! never for more than a twentieth of the time. A process trusts an index that it did not compare
//! itself only while the leader confirms that it is complete.
//!
//! While a file is being rewritten, and just after it was removed, its last good
//! text stays valid for a short time.
//!
//! A one-shot command, and a process whose folder cannot be watched, compares itself: a folder in which
//! a name was added, removed or replaced has a new modification time, checked on every operation; a file
//! changed in place is found by a sweep over all stamps (size, modification time, inode). Differing files
//! are read and parsed into an overlay. A command indexes 256 differences and more before it
//! answers, and 32 and more after it has answered; a server commits everything in the background.
//! If more is pending than an overlay can hold cheaply, and if the index cannot be read, the files
//! themselves are searched (`index::Scan`): the same results at the speed of reading.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::error::EngineError;
use crate::engine::live::freshness::{
    DISTRUST_INTERVAL, FLUX_PATIENCE, Freshness, HALF_WRITTEN_PATIENCE, SWEEP_INTERVAL, Sweep,
};
use crate::engine::live::reading::{CHUNK, Read, side_by_side};
use crate::engine::live::reconcile::{Changes, differing};
use crate::engine::live::store::LiveStore;
use crate::engine::live::{index_recovery, indexing, leader, reading};
use crate::engine::texts::{RACY_NANOS, age};
use crate::files::{ChangeFeed, Changed, Entry, Listing, Place};
use crate::index::{IndexError, Snapshot};

/// Minimum number of changed files that are indexed at once and not searched through an overlay:
/// about what a commit costs.
const INDEX_AT_ONCE: usize = 256;

/// Number of files whose scan costs as much as the first search of one changed file through the
/// overlay.
const SCANS: usize = 6;

/// Maximum delay of an event after the folder's time has shown a change: much longer than ever
/// observed, short enough to wait for.
const EVENT_PATIENCE: Duration = Duration::from_millis(20);

/// Interval at which files in flux are checked while waiting.
const PAUSE: Duration = Duration::from_millis(5);

/// Maximum number of comparisons overtaken by another process's commit, before the files are searched
/// without the index.
const MAX_LOOKS: usize = 10;

/// Returns a view of the store in which every file is as it is on disk now.
///
/// # Errors
///
/// Fails if the directory cannot be read; never because of the index, which is rebuilt if
/// it is unusable.
pub(in crate::engine) fn snapshot(live: &LiveStore) -> Result<Arc<dyn Snapshot>, EngineError> {
    snapshot_after(live, &[])
}

/// Does `work` with a [`snapshot`]; anew with another one where the index is damaged, or changed
/// meanwhile.
pub(in crate::engine) fn with_snapshot<T>(
    live: &LiveStore,
    work: impl Fn(&dyn Snapshot) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    index_recovery::mending(live, || work(snapshot(live)?.as_ref()))
}

/// As [`snapshot`], looking at the files `suspects` whatever is known of them.
pub(in crate::engine) fn snapshot_after(
    live: &LiveStore,
    suspects: &[String],
) -> Result<Arc<dyn Snapshot>, EngineError> {
    let started = Instant::now();
    loop {
        let watch = live.watch();
        if watch.is_none() {
            // A watch is lost with the folder.
            live.check_there()?;
        }
        let mut freshness = live.freshness();
        let own = live.take_own_changes();
        let followed = match &watch {
            Some(watch) if freshness.behind == 0 => {
                follow(live, &mut freshness, watch.as_ref(), &own, suspects)
            }
            _ => poll(live, &mut freshness, &own, suspects),
        };
        if let Some(watch) = &watch {
            watch.note_indexed(followed.is_ok());
        }
        if let Err(error) = followed {
            own.iter().for_each(|name| live.note_own_change(name));
            // What a feed of a directory told is not told again.
            freshness.look_again();
            return answer_as_known(live, &mut freshness, error);
        }
        freshness.was_current = true;
        let brief = freshness.brief_until();
        let Some(until) = brief.filter(|_| started.elapsed() < FLUX_PATIENCE) else {
            return view(live, &mut freshness);
        };
        drop(freshness);
        // Whether a file is gone or being replaced, short or being written, is clear soon.
        if until > Instant::now() {
            pause(live);
        }
    }
}

/// Returns the view that was known before the store went away with `error`, if it keeps account of such answers.
fn answer_as_known(
    live: &LiveStore,
    freshness: &mut Freshness,
    error: EngineError,
) -> Result<Arc<dyn Snapshot>, EngineError> {
    let is_away = matches!(&error, EngineError::Files(error) if error.is_away());
    match live
        .store
        .sequence()
        .filter(|_| is_away && freshness.was_current)
    {
        Some(sequence) => {
            let known = view(live, freshness)?;
            sequence.answer_as_known();
            Ok(known)
        }
        None => Err(error),
    }
}

/// Waits a moment for a change.
pub(in crate::engine) fn pause(live: &LiveStore) {
    match live.watch() {
        Some(watch) => watch.wait(PAUSE),
        // No change feed here.
        None => std::thread::sleep(PAUSE),
    }
}

/// As [`snapshot`], checking every file's stamp in any case, and waiting until
/// no file is in flux.
pub(in crate::engine) fn swept_snapshot(
    live: &LiveStore,
) -> Result<Arc<dyn Snapshot>, EngineError> {
    let started = Instant::now();
    loop {
        let mut freshness = live.freshness();
        let own = live.take_own_changes();
        let looked = look(live, &mut freshness, &own);
        if looked.is_err() {
            own.iter().for_each(|name| live.note_own_change(name));
        }
        looked?;
        if freshness.next_due().is_none() || started.elapsed() > HALF_WRITTEN_PATIENCE {
            return view(live, &mut freshness);
        }
        drop(freshness);
        pause(live);
    }
}

/// Compares all files although a watch reports changes; a difference that it should have reported
/// long ago ends the trust in it.
pub(in crate::engine) fn check_watch(live: &LiveStore) -> Result<(), EngineError> {
    let mut freshness = live.freshness();
    if look(live, &mut freshness, &BTreeSet::new())? > 0 {
        live.distrust_watch("it missed a change");
    }
    Ok(())
}

/// Applies changes from events.
fn follow(
    live: &LiveStore,
    freshness: &mut Freshness,
    watch: &dyn ChangeFeed,
    own: &BTreeSet<String>,
    suspects: &[String],
) -> Result<(), EngineError> {
    let mut names: BTreeSet<String> = suspects.iter().cloned().collect();
    let from = reading::now_nanos(live);
    match freshness.swept {
        None => {
            names.extend(watch.take().names);
            if !leader::trust(live, freshness)? {
                look(live, freshness, own)?;
                return Ok(());
            }
        }
        Some(sweep) => {
            if sweep.at.elapsed() > DISTRUST_INTERVAL {
                live.wake();
            }
            if freshness.has_links && sweep.is_due() {
                return look(live, freshness, own).map(drop);
            }
            let mut changed = watch.take();
            let is_quiet =
                |changed: &Changed| changed.events == 0 && !changed.everything && own.is_empty();
            if is_quiet(&changed) {
                if !live.store.folders_changed(Place::Files, &freshness.folders) {
                    let is_named = !names.is_empty() || !changed.names.is_empty();
                    if !is_named && freshness.is_settled() && freshness.committed.is_some() {
                        freshness.verified = freshness.verified.max(from);
                        return Ok(());
                    }
                } else {
                    watch.wait(EVENT_PATIENCE);
                    changed = watch.take();
                    if is_quiet(&changed) {
                        if look(live, freshness, own)? > 0 {
                            live.distrust_watch("it missed a change");
                        }
                        return Ok(());
                    }
                }
            }
            // Of an event in pieces, such as a temporary file and its renaming, the first
            // may have come without the last.
            let until = Instant::now() + EVENT_PATIENCE;
            while !changed.everything && is_unexplained(live, freshness, &changed.names, own) {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    changed.everything = !watch.tells_at_once();
                    break;
                }
                watch.wait(left);
                changed.add(watch.take());
            }
            if changed.everything {
                return look(live, freshness, own).map(drop);
            }
            names.extend(changed.names);
        }
    }
    names.extend(freshness.due());
    refresh(live, freshness, own, names)?;
    match live.store.folder_times(Place::Files, &freshness.folders) {
        Some(folders) => freshness.folders = folders,
        None => drop(look(live, freshness, own)?),
    }
    Ok(())
}

/// Whether a folder changed without a known change of a file in it.
fn is_unexplained(
    live: &LiveStore,
    freshness: &Freshness,
    names: &BTreeSet<String>,
    own: &BTreeSet<String>,
) -> bool {
    let folder_of = |name: &String| name.rsplit_once('/').map_or(0, |(folder, _)| folder.len());
    let explains = |folder: &str| {
        let lies_in = |name: &&String| &name[..folder_of(name)] == folder;
        names.iter().chain(own).any(|name| lies_in(&name))
    };
    live.store
        .changed_folders(Place::Files, &freshness.folders)
        .into_iter()
        .any(|folder| !explains(folder))
}

/// Finds changes by comparing.
fn poll(
    live: &LiveStore,
    freshness: &mut Freshness,
    own: &BTreeSet<String>,
    suspects: &[String],
) -> Result<(), EngineError> {
    if !own.is_empty()
        || (freshness.must_look(live.store.as_ref()) && !leader::trust(live, freshness)?)
    {
        return look(live, freshness, own).map(drop);
    }
    let mut names: BTreeSet<String> = suspects.iter().cloned().collect();
    names.extend(freshness.due());
    if names.is_empty() {
        return Ok(());
    }
    refresh(live, freshness, own, names)
}

/// Checks the named files only.
fn refresh(
    live: &LiveStore,
    freshness: &mut Freshness,
    own: &BTreeSet<String>,
    mut names: BTreeSet<String>,
) -> Result<(), EngineError> {
    let from = reading::now_nanos(live);
    if freshness.behind > 0 {
        return look(live, freshness, own).map(drop);
    }
    if !adopt(live, freshness, &mut names)? || names.len() + own.len() > CHUNK {
        return look(live, freshness, own).map(drop);
    }
    let mut unread = Vec::new();
    for name in names.iter().chain(own) {
        let seen = live.store.look_at(Place::Files, name);
        freshness.has_links |= matches!(&seen, Some(Ok(entry)) if entry.has_links);
        match seen {
            None => take_in(live, freshness, Read::Gone(name.clone()), own),
            Some(Err(skipped)) => take_in(live, freshness, Read::Skipped(skipped), own),
            Some(Ok(entry)) if freshness.is_known(&entry) => {
                freshness.skipped.remove(name);
                freshness.settled(name);
            }
            Some(Ok(_)) => unread.push(name.as_str()),
        }
    }
    let known = |name: &str| freshness.committed_version(name);
    let all_read = reading::read_all(live, &unread, &known)?;
    let is_touched = |read: &Read| matches!(read, Read::Touched { .. });
    let any_touched = all_read.iter().any(is_touched);
    for read in all_read {
        take_in(live, freshness, read, own);
    }
    names.iter().for_each(|name| live.note_pending(name));
    if live.watch().is_some() {
        freshness.verified = freshness.verified.max(from);
    }
    let is_news = freshness.current.is_none() || !freshness.unsettled.is_empty() || any_touched;
    if is_news && !(names.is_empty() && own.is_empty()) {
        live.wake();
    }
    Ok(())
}

/// Adopts the state that another process or thread committed; adds to `names` the files to
/// check for it: its author may have read the files at another moment, or rebuilt
/// the index. `Ok(false)` if there is no known state to start from.
fn adopt(
    live: &LiveStore,
    freshness: &mut Freshness,
    names: &mut BTreeSet<String>,
) -> Result<bool, EngineError> {
    let Some(known) = freshness.committed.clone() else {
        return Ok(false);
    };
    // Without an overlay, the known state is that of the disk, whatever others commit.
    if freshness.overlay.files.is_empty() {
        return Ok(true);
    }
    let Some(committed) = index_recovery::committed_or_avoided(live, freshness) else {
        return Ok(false);
    };
    if committed.state() == known.state() {
        return Ok(true);
    }
    names.extend(differing(known.as_ref(), committed.as_ref()));
    // That state is as reliable as the last comparison of its author.
    freshness.verified = committed.verified().min(reading::now_nanos(live));
    freshness.forget_committed(committed.as_ref());
    names.extend(freshness.overlay.files.keys().cloned());
    freshness.committed = Some(committed);
    freshness.current = None;
    Ok(true)
}

/// Compares all files with the committed index. Returns the number of differences that were new, and
/// old enough to have been reported by a watch. If it fails, the next operation does it again.
fn look(
    live: &LiveStore,
    freshness: &mut Freshness,
    own: &BTreeSet<String>,
) -> Result<usize, EngineError> {
    let looked = look_once(live, freshness, own);
    if looked.is_err() {
        freshness.look_again();
        if let Some(watch) = live.watch() {
            watch.note_indexed(false);
        }
    }
    looked
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
    let (listing, committed) = if freshness.avoids_index() {
        (list_cleared(live, watch.as_deref())?, None)
    } else {
        list_beside_committed(live, watch.as_deref())?
    };
    let Some(mut committed) = committed else {
        let waiting = listing.entries.len();
        freshness.avoid_index();
        answer_by_scan(live, freshness, &listing, waiting);
        return Ok(0);
    };
    let verified = |known: i64, committed: &dyn Snapshot| {
        // A time in the future is from a wrong clock.
        known.max(committed.verified()).min(from)
    };
    freshness.verified = verified(freshness.verified, committed.as_ref());
    let mut changes = Changes::between(&listing, committed.as_ref(), freshness.verified);
    // A long-running process indexes in the background.
    let at_once = changes.len() >= INDEX_AT_ONCE && !live.has_background();
    if at_once && indexing::index_if_possible(live, &changes, committed.as_ref())? {
        committed = index_recovery::committed(live)?;
        freshness.verified = verified(freshness.verified, committed.as_ref());
        changes = Changes::between(&listing, committed.as_ref(), freshness.verified);
    }
    if changes.len() >= INDEX_AT_ONCE && changes.len() * SCANS > listing.entries.len() {
        answer_by_scan(live, freshness, &listing, changes.len());
        return Ok(0);
    }
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
    freshness.skipped = listing
        .skipped
        .into_iter()
        .map(|skipped| (skipped.name, skipped.reason))
        .collect();
    freshness.unreadable_elsewhere = 0;
    freshness.folders = listing.folders;
    freshness.has_links = listing.entries.iter().any(|entry| entry.has_links);
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
    Ok(news)
}

/// Makes a scan of the files the current view until the index has caught up with them.
fn answer_by_scan(live: &LiveStore, freshness: &mut Freshness, listing: &Listing, waiting: usize) {
    if freshness.behind == 0 {
        tracing::info!("{waiting} files are searched one by one until they are indexed");
    }
    let is_awaited = live.has_background() && !freshness.avoids_index();
    let scan = reading::scan(live, listing, is_awaited);
    freshness.scan(scan, listing, waiting);
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
fn list_cleared(live: &LiveStore, watch: Option<&dyn ChangeFeed>) -> Result<Listing, EngineError> {
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
    for name in changes.removed.iter().chain(&gone) {
        take_in(live, freshness, Read::Gone(name.clone()), own);
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
    for chunk in unread.chunks(CHUNK) {
        let known = |name: &str| freshness.committed_version(name);
        for read in reading::read_all(live, chunk, &known)? {
            take_in(live, freshness, read, own);
        }
    }
    Ok(())
}

/// Puts the result of reading a file into the overlay, unless it is as committed, or the last
/// good text stays valid a little longer.
fn take_in(live: &LiveStore, freshness: &mut Freshness, read: Read, own: &BTreeSet<String>) {
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

fn view(live: &LiveStore, freshness: &mut Freshness) -> Result<Arc<dyn Snapshot>, EngineError> {
    let mut tries = 0;
    while freshness.current.is_none() {
        tries += 1;
        let Some(committed) = freshness.committed.clone() else {
            // The last committed state cannot be used.
            look(live, freshness, &BTreeSet::new())?;
            continue;
        };
        freshness.current = if freshness.overlay.files.is_empty() {
            Some(committed)
        } else {
            let current = match live.index.snapshot(&freshness.overlay) {
                Err(error @ IndexError::Failed { .. }) => {
                    index_recovery::avoid_index(freshness, &error);
                    look(live, freshness, &BTreeSet::new())?;
                    continue;
                }
                current => current?,
            };
            // The overlay holds the differences from one committed state. Over another one, which
            // another process committed meanwhile, it would hide or double files.
            (current.state() == committed.state()).then_some(current)
        };
        if freshness.current.is_none() && tries < MAX_LOOKS {
            look(live, freshness, &BTreeSet::new())?;
        } else if freshness.current.is_none() {
            let listing = list_cleared(live, live.watch().as_deref())?;
            answer_by_scan(live, freshness, &listing, listing.entries.len());
        }
    }
    let current = freshness.current.clone().expect("it was just made");
    live.set_latest(&current);
    Ok(current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::engine::Engine;
    use crate::engine::options::Options;

    const ONE: &str = "20260101_000000_aaaaaaaa.md";
    const TWO: &str = "20260101_000000_bbbbbbbb.md";
    const NEW: &str = "20260101_000000_cccccccc.md";

    fn engine(root: &std::path::Path) -> Engine {
        let options = Options::new(root);
        Engine::open(options, Box::new(SystemClock)).unwrap()
    }

    #[test]
    fn a_commit_by_a_process_that_saw_less_hides_no_file() {
        let root = tempfile::tempdir().unwrap();
        let files = root.path().join("files");
        std::fs::create_dir(&files).unwrap();
        for name in [ONE, TWO] {
            std::fs::write(files.join(name), name).unwrap();
        }
        let one = engine(root.path());
        snapshot(&one.live).unwrap();
        indexing::settle(&one.live, true).unwrap();
        snapshot(&one.live).unwrap();
        // Another process looks while a file is away for a moment.
        std::fs::rename(files.join(ONE), root.path().join("aside")).unwrap();
        indexing::reindex(&engine(root.path()).live, false, &mut |_| {}).unwrap();
        std::fs::rename(root.path().join("aside"), files.join(ONE)).unwrap();
        std::fs::write(files.join(NEW), NEW).unwrap();
        let mut freshness = one.live.freshness();
        let none = BTreeSet::new();
        let new = BTreeSet::from([NEW.to_owned()]);
        refresh(&one.live, &mut freshness, &none, new.clone()).unwrap();
        // Now there is an overlay, and what the other committed is taken over.
        refresh(&one.live, &mut freshness, &none, new).unwrap();
        let view = view(&one.live, &mut freshness).unwrap();
        let names: Vec<&str> = view.files().map(|(name, _)| name).collect();
        assert_eq!(names, [ONE, TWO, NEW]);
    }
}
