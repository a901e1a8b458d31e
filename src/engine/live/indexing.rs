//! Brings the index up to date with the files.
//!
//! The writer of the index holds the index's lock meanwhile and no other lock: searches go on over
//! the overlay.
//!
//! `reindex` and the catching up of a server are the same code, against the committed index or
//! an empty one. Files are read and parsed on all cores, 1,024 at a time. An index that cannot
//! be opened is set aside and rebuilt under the writer lock, with one line of warning.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::error::EngineError;
use crate::engine::live::freshness::Freshness;
use crate::engine::live::reading::{CHUNK, Read, side_by_side};
use crate::engine::live::reconcile::Changes;
use crate::engine::live::store::{LiveStore, WriterLock};
use crate::engine::live::turns::TALKS_IN_BATCH;
use crate::engine::live::{index_recovery, leader, reading};
use crate::files::Place;
use crate::index::{Document, IndexError, Overlay, Snapshot};
use crate::model::is_talk_name;

/// Progress of indexing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of items that are done.
    pub done: usize,
    /// Number of all items.
    pub total: usize,
}

/// Result of indexing, and the state of the store afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reindexed {
    /// Number of files that were read.
    pub read: usize,
    /// Number of memory files.
    pub files: usize,
    /// Number of memories in the index.
    pub indexed: usize,
}

/// Number of other files whose size a talk has, of those that are read together.
const TALK_WEIGHT: usize = 16;

/// Minimum number of waiting files that a command indexes after it has answered.
const INDEX_AFTERWARDS: usize = 32;

/// Indexes `changes` to `committed` now; `Ok(false)` if another process is indexing, or if the index cannot be
/// written: that costs speed only.
pub(in crate::engine) fn index_if_possible(
    live: &LiveStore,
    changes: &Changes,
    committed: &dyn Snapshot,
) -> Result<bool, EngineError> {
    let indexed = match live.try_lock_index() {
        Ok(None) => return Ok(false),
        Ok(Some(lock)) => {
            let unread = changes.unread();
            let removed = &changes.removed;
            index_now(live, &lock, committed, (removed, unread), &mut |_| {})
        }
        Err(error) => Err(error),
    };
    match indexed {
        Err(error @ (EngineError::Index(IndexError::Failed { .. }) | EngineError::Files(_))) => {
            tracing::warn!(
                "cannot index {} files, they are searched one by one: {error}",
                changes.len()
            );
            Ok(false)
        }
        other => other.map(|()| true),
    }
}

/// Indexes all pending files if they are too many for an overlay; searches read
/// the files meanwhile. `Ok(false)` if there was nothing to do, or another process does it.
pub(in crate::engine) fn catch_up(live: &LiveStore) -> Result<bool, EngineError> {
    if !live.freshness().is_behind() {
        return Ok(false);
    }
    index_recovery::mending(live, || {
        let committed = index_recovery::committed(live)?;
        let listing = live.store.list(Place::Files)?;
        let verified = committed.verified().min(reading::now_nanos(live));
        let changes = Changes::from_listing(listing, committed.as_ref(), verified);
        let Some(lock) = live.try_lock_index()? else {
            return Ok(false);
        };
        let is_newest = live.index.snapshot(&Overlay::default())?.state() == committed.state();
        if is_newest && !changes.is_empty() {
            let (removed, unread) = changes.into_names();
            let known = committed.as_ref();
            let note = |progress: Progress| live.awaited_index.note(progress.done, progress.total);
            index_now(live, &lock, known, (&removed, unread), &mut { note })?;
        }
        drop(lock);
        // The new state is loaded before a query waits for it.
        index_recovery::committed(live)?;
        live.freshness().look_again();
        Ok(true)
    })
}

/// Checks a part of the index that was not checked for long; true once all of it is checked.
pub(in crate::engine) fn check_index(
    live: &LiveStore,
    budget: Duration,
) -> Result<bool, EngineError> {
    live.check_there()?;
    let now = live.clock.now();
    let is_done = index_recovery::mending(live, || Ok(live.index.check_some(budget, now)?))?;
    let turns = live
        .turns
        .existing()
        .map(|turns| turns.check_some(budget, now));
    match turns.transpose() {
        Ok(are_done) => Ok(is_done && are_done.unwrap_or(true)),
        Err(error) => {
            reset_turns(live, &error);
            Ok(false)
        }
    }
}

/// Removes indexes of other versions or languages that seem to be unused.
pub(in crate::engine) fn remove_unused_indexes(live: &LiveStore) -> Result<(), EngineError> {
    if let Some(_lock) = live.try_lock_index()? {
        let removed = live.index.remove_unused(live.clock.now())?;
        if removed > 0 {
            tracing::info!("{removed} unused indexes were removed");
        }
    }
    Ok(())
}

/// Removes the files `removed` from the index, whose state is `committed`, and reads and indexes the
/// `unread` ones, whose names are freed one by one. Of a file with the committed bytes only the stamp is
/// recorded.
fn index_now<N: AsRef<str>>(
    live: &LiveStore,
    lock: &WriterLock,
    committed: &dyn Snapshot,
    (removed, unread): (&[String], Vec<N>),
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EngineError> {
    // Every file in doubt is read after this moment, so none is in doubt any more.
    let verified = reading::now_nanos(live);
    // A batch of talks is ended soon: one thread with little memory writes it.
    let talks = unread.iter().filter(|name| is_talk_name(name.as_ref()));
    let expected = removed.len() + unread.len() - talks.count();
    let mut batch = live.index.batch(expected)?;
    removed.iter().for_each(|name| batch.delete(name));
    let total = unread.len();
    let mut done = 0;
    let mut unread = unread.into_iter().peekable();
    let mut waiting = 0;
    while unread.peek().is_some() {
        if waiting > TALKS_IN_BATCH {
            // A batch that is not the last says nothing of files in doubt that were not read yet.
            let known = live.index.snapshot(&Overlay::default())?.verified();
            batch.commit(known)?;
            batch = live.index.batch(expected)?;
            waiting = 0;
        }
        let mut weight = 0;
        let mut fits = |name: &N| {
            weight += match is_talk_name(name.as_ref()) {
                true => TALK_WEIGHT,
                false => 1,
            };
            weight <= CHUNK
        };
        let chunk: Vec<N> = std::iter::from_fn(|| unread.next_if(&mut fits)).collect();
        let names: Vec<&str> = chunk.iter().map(AsRef::as_ref).collect();
        let mut documents = Vec::with_capacity(chunk.len());
        for read in reading::read_all(live, &names, &|name| committed.indexed(name))? {
            match read {
                Read::Document { document, .. } => documents.push(*document),
                Read::Touched { name, indexed, .. } => batch.touch(&name, indexed),
                Read::Gone(name) => batch.delete(&name),
                Read::Skipped(skipped) => batch.delete(&skipped.name),
            }
        }
        let talks = documents
            .iter()
            .filter(|document| is_talk_name(&document.name));
        waiting += talks.map(|talk| talk.bytes.len()).sum::<usize>();
        batch.upsert_all(documents)?;
        done += chunk.len();
        progress(Progress { done, total });
    }
    drop(unread);
    batch.commit(verified)?;
    write_turns(
        live,
        lock,
        live.index.snapshot(&Overlay::default())?.as_ref(),
    );
    Ok(())
}

/// Commits the turns of the talks in `memories`. A failure costs speed only.
fn write_turns(live: &LiveStore, _lock: &WriterLock, memories: &dyn Snapshot) {
    if !live.has_talks() && live.turns.existing().is_none() {
        return;
    }
    let written = live
        .turns
        .write(memories, &|names| reading::documents(live, names));
    let written = match written {
        Err(IndexError::Unusable { reason }) => {
            tracing::warn!("the index of turns is unusable ({reason}); it is made anew");
            live.turns.reset()
        }
        other => other,
    };
    if let Err(error) = written {
        tracing::warn!("cannot index the turns of talks: {error}");
    }
}

/// Returns the view of the turns of the talks in `memories`; `None` without talks, while too many of them wait to
/// be indexed, or if it cannot be read.
pub(in crate::engine) fn turns(
    live: &LiveStore,
    memories: &Arc<dyn Snapshot>,
) -> Option<Arc<dyn Snapshot>> {
    let view = || {
        live.turns
            .view(memories, &|names| reading::documents(live, names))
    };
    let is_waiting = match view() {
        Ok(Some(view)) => return Some(view),
        Ok(None) => true,
        Err(error) => {
            tracing::warn!("{error}; talks are shown whole");
            false
        }
    };
    if is_waiting && live.has_background() {
        live.wake();
        return None;
    }
    let lock = live.try_lock_index().ok().flatten()?;
    write_turns(live, &lock, memories.as_ref());
    drop(lock);
    view().ok().flatten()
}

/// Commits turns of talks that were indexed without them, as by a program of another version. Does nothing while
/// another process is indexing.
///
/// # Errors
///
/// Fails if the store or its lock cannot be used.
pub(in crate::engine) fn settle_turns(
    live: &LiveStore,
    memories: &dyn Snapshot,
) -> Result<(), EngineError> {
    if let Some(lock) = live.try_lock_index()? {
        write_turns(live, &lock, memories);
    }
    Ok(())
}

/// Begins the index of turns anew, because its files are damaged.
pub(in crate::engine) fn reset_turns(live: &LiveStore, error: &dyn std::error::Error) {
    tracing::warn!("{error}; the index of turns is made anew");
    if let Ok(Some(_lock)) = live.try_lock_index() {
        let _ = live.turns.reset(); // It is tried again by the next question.
    }
    live.wake();
}

/// Brings the index up to date; with `full`, rebuilds it from nothing.
///
/// # Errors
///
/// Fails if another process is indexing, or if directory or index cannot be used.
pub fn reindex(
    live: &LiveStore,
    full: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Reindexed, EngineError> {
    let progress = std::cell::RefCell::new(progress);
    index_recovery::mending(live, || reindex_once(live, full, *progress.borrow_mut()))
}

/// As [`reindex`] without `full`, unless a server does it; `None` then.
///
/// # Errors
///
/// As for [`reindex`].
pub fn reindex_unless_led(
    live: &LiveStore,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Reindexed>, EngineError> {
    match leader::is_led(live) {
        true => Ok(None),
        false => reindex(live, false, progress).map(Some),
    }
}

fn reindex_once(
    live: &LiveStore,
    full: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Reindexed, EngineError> {
    let mut freshness = live.freshness();
    let lock = live.lock_index()?;
    if full {
        live.index.reset()?;
        live.turns.reset()?;
    }
    // No other process indexes meanwhile.
    let (listing, committed) = side_by_side(
        || live.store.list(Place::Files),
        || live.index.snapshot(&Overlay::default()),
    );
    let (listing, mut committed) = (listing?, committed?);
    let files = listing.entries.len();
    let verified = committed.verified().min(reading::now_nanos(live));
    let changes = Changes::from_listing(listing, committed.as_ref(), verified);
    let read = changes.unread().len();
    if !changes.is_empty() {
        let (removed, unread) = changes.into_names();
        let known = committed.as_ref();
        index_now(live, &lock, known, (&removed, unread), progress)?;
        committed = live.index.snapshot(&Overlay::default())?;
    }
    drop(lock);
    *freshness = Freshness::default();
    Ok(Reindexed {
        read,
        files,
        indexed: committed.len(),
    })
}

/// Removes the words of deleted texts from the files of the index, and not only from its
/// results. Costs as much as rewriting the segments that held them.
///
/// # Errors
///
/// As for [`reindex`].
pub fn clear_remains(live: &LiveStore) -> Result<(), EngineError> {
    index_recovery::mending(live, || {
        let mut freshness = live.freshness();
        let lock = live.lock_index()?;
        let listing = live.store.list(Place::Files)?;
        let committed = live.index.snapshot(&Overlay::default())?;
        let verified = committed.verified().min(reading::now_nanos(live));
        let changes = Changes::from_listing(listing, committed.as_ref(), verified);
        if !changes.is_empty() {
            let (removed, unread) = changes.into_names();
            let known = committed.as_ref();
            index_now(live, &lock, known, (&removed, unread), &mut |_| {})?;
        }
        let current = live.index.snapshot(&Overlay::default())?;
        live.index
            .batch(0)?
            .commit_without_remains(current.verified())?;
        write_turns(live, &lock, current.as_ref());
        // An index of turns that cannot be cleared is removed, with the words in it.
        let cleared = live.turns.clear_remains();
        cleared.or_else(|_| live.turns.reset())?;
        drop(lock);
        *freshness = Freshness::default();
        Ok(())
    })
}

/// As [`clear_remains`], of what is committed, while searches go on. Returns whether it was done: not while another
/// process is indexing.
///
/// # Errors
///
/// Fails if the index cannot be written.
pub(in crate::engine) fn clear_remains_beside_searches(
    live: &LiveStore,
) -> Result<bool, EngineError> {
    index_recovery::mending(live, || {
        let Some(lock) = live.try_lock_index()? else {
            return Ok(false);
        };
        let base = live.index.snapshot(&Overlay::default())?;
        let batch = live.index.batch(0)?;
        let state = batch.commit_without_remains(base.verified())?;
        let cleared = live.turns.clear_remains();
        cleared.or_else(|_| live.turns.reset())?;
        let committed = live.index.snapshot(&Overlay::default())?;
        drop(lock);
        let none = Overlay::default();
        settled_as(
            &mut live.freshness(),
            base.as_ref(),
            &none,
            committed,
            &state,
        );
        Ok(true)
    })
}

/// Indexes the overlay, if it is large enough to be worth a commit, or if
/// `all`. Does nothing while another process is indexing.
///
/// # Errors
///
/// Fails if the index cannot be written.
pub fn settle(live: &LiveStore, all: bool) -> Result<(), EngineError> {
    if !all && leader::is_led(live) {
        return Ok(());
    }
    index_recovery::mending(live, || settle_once(live, all))
}

fn settle_once(live: &LiveStore, all: bool) -> Result<(), EngineError> {
    let (overlay, touched, base, verified) = {
        let freshness = live.freshness();
        let Some(base) = freshness.committed.clone() else {
            return Ok(());
        };
        // Files in doubt are read again by every comparison until their state is committed.
        let changed = freshness.overlay.files.len() + freshness.touched.len();
        let waiting = changed + freshness.in_doubt;
        let least = if all || base.is_empty() {
            1
        } else {
            INDEX_AFTERWARDS
        };
        if waiting < least {
            return Ok(());
        }
        let (overlay, touched) = (freshness.overlay.clone(), freshness.touched.clone());
        (overlay, touched, base, freshness.verified)
    };
    let Some(lock) = live.try_lock_index()? else {
        return Ok(());
    };
    let mut batch = live.index.batch(overlay.files.len())?;
    if batch.base() != base.state() {
        // Another process was faster; the next comparison finds what still differs.
        drop(batch);
        drop(lock);
        live.freshness().committed = None;
        return Ok(());
    }
    for (name, document) in &overlay.files {
        match document {
            Some(document) => batch.upsert(Document::clone(document))?,
            None => batch.delete(name),
        }
    }
    for (name, (indexed, _)) in &touched {
        batch.touch(name, *indexed);
    }
    let state = batch.commit(verified)?;
    let committed = live.index.snapshot(&Overlay::default())?;
    write_turns(live, &lock, committed.as_ref());
    drop(lock);
    let mut freshness = live.freshness();
    settled_as(&mut freshness, base.as_ref(), &overlay, committed, &state);
    Ok(())
}

/// Adopts the state `committed`, which was found after `overlay` was committed over `base`, if
/// it is the `state` of that commit, and if everything that was committed still differs from `base`.
fn settled_as(
    freshness: &mut Freshness,
    base: &dyn Snapshot,
    overlay: &Overlay,
    committed: Arc<dyn Snapshot>,
    state: &str,
) {
    let known = freshness.committed.as_ref();
    if known.is_none_or(|known| known.state() != base.state()) {
        return;
    }
    // If the index was deleted meanwhile, a new one is found, which lacks what was in
    // `base`. A file that left the overlay is as in `base` again, and not as it was committed.
    let is_covered = |name: &String| freshness.overlay.files.contains_key(name);
    match committed.state() == state && overlay.files.keys().all(is_covered) {
        true => freshness.committed_now(committed),
        false => freshness.committed = None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::engine::Engine;
    use crate::engine::live::current_snapshot::snapshot;
    use crate::engine::options::Options;

    #[test]
    fn an_index_that_is_deleted_while_it_is_written_hides_no_file() {
        const ONE: &str = "20260101_000000_aaaaaaaa.md";
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("files")).unwrap();
        std::fs::write(root.path().join("files").join(ONE), "a heron").unwrap();
        let engine = Engine::open(Options::new(root.path()), Box::new(SystemClock)).unwrap();
        let live = &engine.live;
        snapshot(live).unwrap();
        settle(live, true).unwrap();
        let base = snapshot(live).unwrap();
        assert!(live.freshness().overlay.files.is_empty());
        // As if this came between the commit and the look at it.
        std::fs::remove_dir_all(live.state()).unwrap();
        let found = live.index.snapshot(&Overlay::default()).unwrap();
        assert!(found.is_empty());
        let none = Overlay::default();
        let state = base.state().to_owned() + "and more";
        settled_as(&mut live.freshness(), base.as_ref(), &none, found, &state);
        assert_eq!(names(live), [ONE]);
    }

    /// Returns the files that a search finds.
    fn names(live: &LiveStore) -> Vec<String> {
        let view = snapshot(live).unwrap();
        view.files().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn a_file_that_comes_back_while_its_absence_is_committed_is_not_missed() {
        const ONE: &str = "20260101_000000_aaaaaaaa.md";
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("files").join(ONE);
        std::fs::create_dir(root.path().join("files")).unwrap();
        std::fs::write(&file, "a heron").unwrap();
        let engine = Engine::open(Options::new(root.path()), Box::new(SystemClock)).unwrap();
        let live = &engine.live;
        snapshot(live).unwrap();
        settle(live, true).unwrap();
        let base = snapshot(live).unwrap();
        let overlay = Overlay {
            files: [(ONE.to_owned(), None)].into(),
        };
        let mut batch = live.index.batch(1).unwrap();
        batch.delete(ONE);
        let state = batch.commit(0).unwrap();
        // It was found gone when that was begun, and is there again.
        let committed = live.index.snapshot(&Overlay::default()).unwrap();
        settled_as(
            &mut live.freshness(),
            base.as_ref(),
            &overlay,
            committed,
            &state,
        );
        assert_eq!(names(live), [ONE]);
    }
}
