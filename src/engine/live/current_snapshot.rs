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

mod comparing;
mod known_names;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use comparing::{answer_by_scan, list_cleared, look, take_in};

use crate::engine::error::EngineError;
use crate::engine::live::freshness::{
    DISTRUST_INTERVAL, FLUX_PATIENCE, Freshness, HALF_WRITTEN_PATIENCE,
};
use crate::engine::live::reading::{CHUNK, Read};
use crate::engine::live::reconcile::differing;
use crate::engine::live::store::LiveStore;
use crate::engine::live::{index_recovery, leader, reading};
use crate::files::{ChangeFeed, Changed, Place};
use crate::index::{IndexError, Snapshot};

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
        let mut freshness = live.freshness();
        let watch = live.watch();
        if watch.is_none() {
            // A watch is lost with the folder.
            live.check_there()?;
        }
        let own = live.take_own_changes();
        let followed = match &watch {
            Some(watch) if freshness.behind == 0 => {
                follow(live, &mut freshness, watch.as_ref(), &own, suspects)
            }
            _ => poll(live, &mut freshness, watch.as_deref(), &own, suspects),
        };
        if let Some(watch) = &watch {
            watch.note_indexed(followed.is_ok());
        }
        if let Err(error) = followed {
            own.iter().for_each(|name| live.note_own_change(name));
            // What a feed of a directory told is not told again.
            freshness.compare_again();
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
    refresh(live, freshness, own, names, suspects)?;
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

/// Finds changes by comparing: all files, if a `watch` tells of a changed one.
fn poll(
    live: &LiveStore,
    freshness: &mut Freshness,
    watch: Option<&dyn ChangeFeed>,
    own: &BTreeSet<String>,
    suspects: &[String],
) -> Result<(), EngineError> {
    let changed = watch.map(ChangeFeed::take).unwrap_or_default();
    if !own.is_empty()
        || changed.everything
        || !changed.names.is_empty()
        || (freshness.must_look(live.store.as_ref()) && !leader::trust(live, freshness)?)
    {
        return look(live, freshness, own).map(drop);
    }
    let mut names: BTreeSet<String> = suspects.iter().cloned().collect();
    names.extend(freshness.due());
    if names.is_empty() {
        return Ok(());
    }
    refresh(live, freshness, own, names, suspects)
}

/// Checks the named files only; `suspects` are those of them of which nobody told.
fn refresh(
    live: &LiveStore,
    freshness: &mut Freshness,
    own: &BTreeSet<String>,
    mut names: BTreeSet<String>,
    suspects: &[String],
) -> Result<(), EngineError> {
    let from = reading::now_nanos(live);
    if freshness.behind > 0 {
        return look(live, freshness, own).map(drop);
    }
    if !adopt(live, freshness, &mut names)? || names.len() + own.len() > CHUNK {
        return look(live, freshness, own).map(drop);
    }
    let mut unread = Vec::new();
    let mut seen_all = Vec::new();
    let all: BTreeSet<&String> = names.iter().chain(own).collect();
    // In a database, changed names are read at once: the answer also says which are gone. Suspects mostly have not changed,
    // and are looked up first.
    let is_read = |name: &&String| live.directory().is_none() && !suspects.contains(name);
    let (unseen, seen): (Vec<&String>, Vec<&String>) = all.into_iter().partition(is_read);
    unread.extend(unseen.into_iter().map(String::as_str));
    for name in seen {
        let seen = live.store.look_at(Place::Files, name);
        freshness.has_links |= matches!(&seen, Some(Ok(entry)) if entry.has_links);
        match seen {
            None => seen_all.push(Read::Gone(name.clone())),
            Some(Err(skipped)) => seen_all.push(Read::Skipped(skipped)),
            Some(Ok(entry)) if freshness.is_known(&entry) => {
                freshness.skipped.remove(name);
                freshness.settled(name);
            }
            Some(Ok(_)) => unread.push(name.as_str()),
        }
    }
    let known = |name: &str| freshness.committed_version(name);
    // Before anything is taken in: of a renamed file, an answer must not lack both names if this fails.
    seen_all.extend(reading::read_all(live, &unread, &known)?);
    let is_touched = |read: &Read| matches!(read, Read::Touched { .. });
    let any_touched = seen_all.iter().any(is_touched);
    for read in seen_all {
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
            let started = Instant::now();
            let listing = list_cleared(live, live.watch().as_deref())?;
            answer_by_scan(live, freshness, &listing, listing.entries.len(), started);
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
    use crate::engine::live::indexing;
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
        refresh(&one.live, &mut freshness, &none, new.clone(), &[]).unwrap();
        // Now there is an overlay, and what the other committed is taken over.
        refresh(&one.live, &mut freshness, &none, new, &[]).unwrap();
        let view = view(&one.live, &mut freshness).unwrap();
        let names: Vec<&str> = view.files().map(|(name, _)| name).collect();
        assert_eq!(names, [ONE, TWO, NEW]);
    }

    #[test]
    fn while_an_index_is_made_a_watch_tells_of_edits_in_place() {
        let root = tempfile::tempdir().unwrap();
        let files = root.path().join("files");
        std::fs::create_dir(&files).unwrap();
        for number in 0..300 {
            let name = format!("20260101_000000_a{number:07x}.md");
            std::fs::write(files.join(name), "heron").unwrap();
        }
        std::fs::write(files.join(ONE), "one").unwrap();
        let one = engine(root.path());
        one.live.start_watching();
        let _held = one.live.try_lock_index().unwrap().unwrap();
        let hash = || snapshot(&one.live).unwrap().indexed(ONE).unwrap().hash;
        let first = hash();
        assert!(one.live.freshness().is_behind());
        let edited = std::fs::OpenOptions::new()
            .append(true)
            .open(files.join(ONE));
        std::io::Write::write_all(&mut edited.unwrap(), b" and two").unwrap();
        let watch = one.live.watch().unwrap();
        while !watch.has_changes() {
            watch.wait(FLUX_PATIENCE);
        }
        assert_ne!(hash(), first);
    }
}
