//! Known state of a store in a process: the committed index, the files that differ from it, and
//! those in flux.
//!
//! `current_snapshot` decides when to check the files, and does it.
//!
//! A stamp is not always reliable: a file may change twice within one tick of the clock, and size and times
//! can be set back. So a file whose time of change (ctime, which cannot be set) is later than 2 s before
//! the moment until which it is known to be as indexed is read again and compared by its hash.
//!
//! While a file is in flux, searches use its last parsed version: for at most 2 s where it is empty
//! or its frontmatter has no end, until 100 ms of quiet where it became shorter, for 60 ms where it
//! is gone.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::locked::locked;
use crate::engine::texts::{RACY_NANOS, age, is_half_written};
use crate::files::{Entry, Listing, Place, Storage};
use crate::index::{Document, IndexError, Indexed, Overlay, Snapshot};

/// Known state of the store in this process.
#[derive(Default)]
pub(in crate::engine) struct Freshness {
    /// Whether the view was that of all files once, since it was made anew last.
    pub(in crate::engine) was_current: bool,
    /// The committed index.
    pub(in crate::engine) committed: Option<Arc<dyn Snapshot>>,
    /// Versions of files that differ from the committed index.
    pub(in crate::engine) overlay: Overlay,
    /// [`Entry::changed`] of the texts in the overlay when they were read.
    pub(in crate::engine) read_as: HashMap<String, i64>,
    /// Files with their committed bytes under other stamps, with [`Entry::changed`] when they were read.
    pub(in crate::engine) touched: BTreeMap<String, (Indexed, i64)>,
    /// Committed index with the overlay over it.
    pub(in crate::engine) current: Option<Arc<dyn Snapshot>>,
    /// Folders with their modification times in nanoseconds since 1970.
    pub(in crate::engine) folders: Vec<(String, i64)>,
    /// Last comparison of all files.
    pub(in crate::engine) swept: Option<Sweep>,
    /// Whether the last comparison failed. A watch of a folder does not tell again what it told for that, so all files must
    /// be compared, whatever the leader says.
    pub(in crate::engine) has_failed: bool,
    /// Whether some file has several hard links: changes by another link cause no event.
    pub(in crate::engine) has_links: bool,
    /// Names that are no readable memories, with the reasons.
    pub(in crate::engine) skipped: BTreeMap<String, String>,
    /// Number of them as reported by the leader, which was trusted.
    pub(in crate::engine) unreadable_elsewhere: usize,
    /// Files whose last good text stays valid.
    pub(in crate::engine) unsettled: BTreeMap<String, Unsettled>,
    /// Time until which all files outside of the overlay are known to be as committed, in
    /// nanoseconds since 1970.
    pub(in crate::engine) verified: i64,
    /// Number of unchanged files that the last comparison read because their stamps are not conclusive.
    pub(in crate::engine) in_doubt: usize,
    /// Number of files that wait to be indexed if an overlay of them would cost too much: until
    /// they are indexed, the files themselves are searched.
    pub(in crate::engine) behind: usize,
    /// Time until which the index is not used, because it is damaged and cannot be repaired now.
    pub(in crate::engine) index_avoided: Option<Instant>,
}

/// A file in flux.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Unsettled {
    /// Whether it is worth waiting for.
    pub(in crate::engine) is_brief: bool,
    /// Time when it was first seen in flux.
    pub(in crate::engine) since: Instant,
    /// Time until which its last good text stays valid.
    pub(in crate::engine) until: Instant,
}

/// Time and cost of a comparison of all files.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Sweep {
    /// Time of the comparison.
    pub(in crate::engine) at: Instant,
    /// Duration of the comparison.
    pub(in crate::engine) cost: Duration,
}

/// Minimum interval of sweeps for in-place changes, without a watch.
pub(in crate::engine) const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Interval of full comparisons despite a watch, as watches have died silently.
pub(in crate::engine) const DISTRUST_INTERVAL: Duration = Duration::from_secs(300);

/// Maximum time a file may look half-written before this state counts as its content.
pub(in crate::engine) const HALF_WRITTEN_PATIENCE: Duration = Duration::from_secs(2);

/// Time a text that became shorter must stay the same: programs that write in pieces rarely pause
/// longer.
const QUIET_IN_PLACE: Duration = Duration::from_millis(100);

/// The same for a new file under the name, which was mostly put in place whole.
const QUIET_AS_NEW: Duration = Duration::from_millis(20);

/// Maximum time to wait for files in flux.
pub(in crate::engine) const FLUX_PATIENCE: Duration = Duration::from_millis(400);

/// Time a file must be missing before it counts as deleted: editors remove a file briefly
/// before they put the new one in its place.
const MISSING_PATIENCE: Duration = Duration::from_millis(60);

/// The same if other files of the folder change as well, so that the folder's time does not show
/// when the file was removed.
const LONGEST_MISSING: Duration = Duration::from_millis(500);

/// Time for which a damaged index that cannot be repaired is not used.
const AVOID_INDEX: Duration = Duration::from_secs(5);

/// Coarsest resolution of folder times in nanoseconds: a tick of 100 Hz, doubled.
pub(in crate::engine) const YOUNG_FOLDER_NANOS: i64 = 20_000_000;

/// The index that the background makes, for searches that wait for it.
#[derive(Default)]
pub(in crate::engine) struct AwaitedIndex {
    state: Mutex<AwaitedState>,
    ended: Condvar,
}

#[derive(Default)]
struct AwaitedState {
    /// Numbers of files that are indexed, and of all, while the index is being made or about to be.
    progress: Option<(usize, usize)>,
    /// Number of times an index was made.
    made: u64,
    /// Number of searches that wait.
    waiting: usize,
}

/// Maximum number of searches that wait for one index, and for all indexes of the process; further ones fail at once. A
/// server answers the other calls, also of other stores, by the same threads.
const MAX_WAITING: [usize; 2] = [8, 16];

/// Number of searches of all stores that wait for an index.
static WAITING: AtomicUsize = AtomicUsize::new(0);

impl AwaitedIndex {
    /// Records that the background is about to index `total` files. Returns the number of indexes that were made
    /// before.
    pub(in crate::engine) fn announce(&self, total: usize) -> u64 {
        let mut state = locked(&self.state);
        state.progress.get_or_insert((0, total));
        state.made
    }

    /// Records that `done` of `total` files are indexed.
    pub(in crate::engine) fn note(&self, done: usize, total: usize) {
        locked(&self.state).progress = Some((done, total));
    }

    /// Records that the attempt has ended, and whether it made an index.
    pub(in crate::engine) fn end(&self, is_made: bool) {
        let mut state = locked(&self.state);
        state.progress = None;
        state.made += u64::from(is_made);
        drop(state);
        self.ended.notify_all();
    }

    /// Waits at most `patience` until the attempt has ended. `Ok` if it made no index, so that the files are to be
    /// searched without one.
    ///
    /// # Errors
    ///
    /// [`IndexError::Superseded`] if more than `made` indexes were made, [`IndexError::Building`] if it goes on.
    pub(in crate::engine) fn wait(&self, made: u64, patience: Duration) -> Result<(), IndexError> {
        let mut state = locked(&self.state);
        let taken = |all: usize| (all < MAX_WAITING[1]).then_some(all + 1);
        let is_one_of_few = state.waiting < MAX_WAITING[0]
            && WAITING
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken)
                .is_ok();
        if is_one_of_few {
            state.waiting += 1;
            let goes_on = |state: &mut AwaitedState| state.progress.is_some() && state.made == made;
            let waited = self.ended.wait_timeout_while(state, patience, goes_on);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            WAITING.fetch_sub(1, Ordering::Relaxed);
        }
        match state.progress {
            _ if state.made > made => Err(IndexError::Superseded),
            Some((done, total)) => Err(IndexError::Building { done, total }),
            None => Ok(()),
        }
    }
}

impl Sweep {
    /// Whether another sweep is due without a watch.
    pub(in crate::engine) fn is_due(self) -> bool {
        self.at.elapsed() >= SWEEP_INTERVAL.max(self.cost * 20)
    }
}

impl Freshness {
    /// Returns the number of files that wait to be indexed, without deleted ones.
    pub(in crate::engine) fn waiting(&self) -> usize {
        self.behind + self.overlay.files.values().flatten().count()
    }

    /// Returns the number of names that are no readable memories.
    pub(in crate::engine) fn unreadable(&self) -> usize {
        self.skipped.len().max(self.unreadable_elsewhere)
    }

    /// Whether everything is committed and nothing is in flux.
    pub(in crate::engine) fn is_settled(&self) -> bool {
        self.swept.is_some()
            && self.behind == 0
            && self.overlay.files.is_empty()
            && self.touched.is_empty()
            && self.unsettled.is_empty()
    }

    /// Whether the files themselves are searched, because the index lacks too many of them.
    pub(in crate::engine) fn is_behind(&self) -> bool {
        self.behind > 0
    }

    /// Makes searches read the files themselves for a while.
    pub(in crate::engine) fn avoid_index(&mut self) {
        let until = match self.index_avoided {
            Some(until) if until > Instant::now() => until,
            _ => Instant::now() + AVOID_INDEX,
        };
        *self = Freshness {
            index_avoided: Some(until),
            has_failed: self.has_failed,
            ..Freshness::default()
        };
    }

    /// Whether the index is not used at present.
    pub(in crate::engine) fn avoids_index(&self) -> bool {
        self.index_avoided
            .is_some_and(|until| until > Instant::now())
    }

    /// Makes the next operation compare all files, unless the leader confirms that the index is complete.
    pub(in crate::engine) fn look_again(&mut self) {
        self.swept = None;
    }

    /// Makes the next operation compare all files, after it could not be done.
    pub(in crate::engine) fn compare_again(&mut self) {
        self.swept = None;
        self.has_failed = true;
    }

    /// Discards the times of folders changed just before, which may change again without a new time.
    pub(in crate::engine) fn distrust_young_folders(&mut self, now: i64) {
        for (_, modified) in &mut self.folders {
            if *modified > now - YOUNG_FOLDER_NANOS {
                *modified = i64::MIN;
            }
        }
    }

    /// Whether the last comparison of all files is so old that another is due.
    pub(in crate::engine) fn is_old(&self) -> bool {
        self.swept
            .is_some_and(|sweep| sweep.at.elapsed() > DISTRUST_INTERVAL)
    }

    /// Whether the last good text of one of `names` stays valid.
    pub(in crate::engine) fn holds_one_of(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.unsettled.contains_key(name))
    }

    /// Returns the time when the next file in flux is to be checked again.
    pub(in crate::engine) fn next_due(&self) -> Option<Instant> {
        self.unsettled.values().map(|file| file.until).min()
    }

    /// Returns the time when all files that are in flux only briefly are settled.
    pub(in crate::engine) fn brief_until(&self) -> Option<Instant> {
        // A file that is written all the time is waited for once.
        let is_new = |file: &&Unsettled| file.is_brief && file.since.elapsed() < FLUX_PATIENCE;
        let brief = self.unsettled.values().filter(is_new);
        brief.map(|file| file.until).max()
    }

    /// Adopts a state that the leader compared with the files.
    pub(in crate::engine) fn trust(
        &mut self,
        committed: Arc<dyn Snapshot>,
        folders: Vec<(String, i64)>,
        unreadable: usize,
    ) {
        *self = Freshness {
            unreadable_elsewhere: unreadable,
            verified: committed.verified(),
            current: Some(committed.clone()),
            committed: Some(committed),
            folders,
            swept: Some(Sweep {
                at: Instant::now(),
                cost: Duration::ZERO,
            }),
            ..Freshness::default()
        };
    }

    /// Adopts `scan`, a view of the files of `listing` themselves, of which `waiting` wait to be
    /// indexed; listing them took `cost`.
    pub(in crate::engine) fn scan(
        &mut self,
        scan: Arc<dyn Snapshot>,
        listing: &Listing,
        waiting: usize,
        cost: Duration,
    ) {
        let skipped = listing.skipped.iter();
        *self = Freshness {
            current: Some(scan),
            folders: listing.folders.clone(),
            has_links: listing.entries.iter().any(|entry| entry.has_links),
            skipped: skipped
                .map(|skipped| (skipped.name.clone(), skipped.reason.clone()))
                .collect(),
            swept: Some(Sweep {
                at: Instant::now(),
                cost,
            }),
            behind: waiting.max(1),
            index_avoided: self.index_avoided,
            ..Freshness::default()
        };
    }

    /// Replaces the committed state after a commit of `overlay` by this process.
    pub(in crate::engine) fn committed_now(&mut self, committed: Arc<dyn Snapshot>) {
        self.forget_committed(committed.as_ref());
        self.committed = Some(committed);
        self.current = None;
        self.in_doubt = 0;
    }

    /// Drops overlay entries that `committed` equals, and touched files that it holds with their present
    /// stamps or in another version.
    pub(in crate::engine) fn forget_committed(&mut self, committed: &dyn Snapshot) {
        let says_as_well = |name: &String, document: &Option<Arc<Document>>| {
            let theirs = committed
                .indexed(name)
                .map(|indexed| (indexed.stamp, indexed.hash));
            let ours = document
                .as_ref()
                .map(|document| (document.indexed.stamp, document.indexed.hash));
            theirs == ours
        };
        let read_as = &mut self.read_as;
        self.overlay.files.retain(|name, document| {
            let is_news = !says_as_well(name, document);
            if !is_news {
                read_as.remove(name);
            }
            is_news
        });
        self.touched.retain(|name, (touched, _)| {
            let known = committed.indexed(name);
            known.is_some_and(|known| known.hash == touched.hash && known.stamp != touched.stamp)
        });
    }

    /// Whether all files have to be compared: a sweep is due, or a folder has changed.
    pub(in crate::engine) fn must_look(&self, store: &dyn Storage) -> bool {
        let Some(sweep) = self.swept else { return true };
        sweep.is_due() || store.folders_changed(Place::Files, &self.folders)
    }

    /// Returns the names whose grace period is over, or soon will be.
    pub(in crate::engine) fn due(&self) -> Vec<String> {
        let now = Instant::now();
        let due = self
            .unsettled
            .iter()
            .filter(|(_, file)| file.is_brief || file.until <= now);
        due.map(|(name, _)| name.clone()).collect()
    }

    /// Whether the file of `entry` is known in this version, without reading it.
    pub(in crate::engine) fn is_known(&self, entry: &Entry) -> bool {
        if let Some(document) = self.overlay.files.get(&entry.name) {
            return document.as_ref().is_some_and(|document| {
                document.indexed.stamp == entry.stamp
                    && !document.indexed.racy
                    && self.read_as.get(&entry.name) == Some(&entry.changed)
            });
        }
        let committed = self.committed.as_ref();
        let committed = committed.and_then(|committed| committed.indexed(&entry.name));
        if let Some((touched, changed)) = self.touched.get(&entry.name) {
            return touched.stamp == entry.stamp
                && !touched.racy
                && *changed == entry.changed
                && committed.is_some_and(|committed| committed.hash == touched.hash);
        }
        committed.is_some_and(|indexed| {
            indexed.stamp == entry.stamp
                && entry.changed <= self.verified.saturating_sub(RACY_NANOS)
        })
    }

    /// Whether the committed index has the file.
    pub(in crate::engine) fn is_committed(&self, name: &str) -> bool {
        let committed = self.committed.as_ref();
        committed.is_some_and(|committed| committed.indexed(name).is_some())
    }

    /// Whether the file existed at the last check.
    pub(in crate::engine) fn is_there(&self, name: &str) -> bool {
        match self.overlay.files.get(name) {
            Some(document) => document.is_some(),
            None => self.is_committed(name),
        }
    }

    /// Whether there is an earlier complete text of the file, other than `new`.
    pub(in crate::engine) fn has_good_text_before(&self, new: &Document) -> bool {
        match self.overlay.files.get(&new.name) {
            Some(Some(before)) => !is_half_written(&before.memory),
            Some(None) => false,
            None => {
                let committed = self.committed.as_ref();
                committed
                    .and_then(|committed| committed.indexed(&new.name))
                    .is_some_and(|indexed| indexed.hash != new.indexed.hash)
            }
        }
    }

    /// Whether the last good text of a file stays valid despite the new text `document`.
    ///
    /// A half-written text gets time to be finished. One that became shorter may be incomplete,
    /// too: programs that write in place truncate a file first, and others may write a new
    /// one under its name piece by piece. It is complete once it is unchanged for a moment.
    pub(in crate::engine) fn holds_before(&mut self, document: &Document) -> bool {
        let stamp = document.indexed.stamp;
        let age = age(stamp.modified);
        if is_half_written(&document.memory) && self.has_good_text_before(document) {
            return self.hold(
                &document.name,
                HALF_WRITTEN_PATIENCE,
                HALF_WRITTEN_PATIENCE,
                age,
            );
        }
        let Some(before) = self.known(&document.name) else {
            return false;
        };
        if before.hash == document.indexed.hash {
            return false;
        }
        let is_shorter = stamp.size < before.stamp.size;
        let is_in_place = stamp.inode == before.stamp.inode;
        // After being short, it may be incomplete even if it is longer than before.
        let is_on_its_way = is_in_place && self.unsettled.contains_key(&document.name);
        if !is_shorter && !is_on_its_way {
            return false;
        }
        let quiet = if is_in_place {
            QUIET_IN_PLACE
        } else {
            QUIET_AS_NEW
        };
        self.hold(&document.name, quiet, HALF_WRITTEN_PATIENCE, age)
    }

    /// Returns the version of the file that is searched at present.
    fn known(&self, name: &str) -> Option<Indexed> {
        match self.overlay.files.get(name) {
            Some(document) => document.as_ref().map(|document| document.indexed),
            None => match self.touched.get(name) {
                Some((touched, _)) => Some(*touched),
                None => self.committed.as_ref()?.indexed(name),
            },
        }
    }

    /// Returns the committed version of the file, if it is the one that is searched at present.
    pub(in crate::engine) fn committed_version(&self, name: &str) -> Option<Indexed> {
        match self.overlay.files.contains_key(name) {
            true => None,
            false => self.committed.as_ref()?.indexed(name),
        }
    }

    /// Records that the file `name` has its committed bytes, in the version `indexed`.
    pub(in crate::engine) fn touch(&mut self, name: String, indexed: Indexed, changed: i64) {
        let committed = self.committed_version(&name);
        match committed.is_some_and(|committed| committed.stamp == indexed.stamp) {
            true => drop(self.touched.remove(&name)),
            false => drop(self.touched.insert(name, (indexed, changed))),
        }
    }

    /// Whether a missing file is still searched, as its folder changed only `age` ago.
    pub(in crate::engine) fn holds_missing(&mut self, name: &str, age: Option<Duration>) -> bool {
        self.is_there(name) && self.hold(name, MISSING_PATIENCE, LONGEST_MISSING, age)
    }

    /// Whether the last good text of `name` stays valid: until `patience` after the change, which
    /// was `age` ago, and no longer than `longest` after it was first seen.
    fn hold(
        &mut self,
        name: &str,
        patience: Duration,
        longest: Duration,
        age: Option<Duration>,
    ) -> bool {
        let now = Instant::now();
        let file = self.unsettled.entry(name.to_owned()).or_insert(Unsettled {
            is_brief: true,
            since: now,
            until: now,
        });
        // A change in the future by the clock is as old as it is known here.
        let age = age.unwrap_or_else(|| file.since.elapsed());
        let left = patience.saturating_sub(age);
        file.is_brief = patience <= QUIET_IN_PLACE;
        file.until = (now + left).min(file.since + longest);
        now < file.until
    }

    /// Ends the flux of the file `name`.
    pub(in crate::engine) fn settled(&mut self, name: &str) {
        self.unsettled.remove(name);
    }

    /// Puts a document into the overlay, unless the committed index has the same version.
    pub(in crate::engine) fn put(&mut self, document: Box<Document>, changed: i64) {
        self.touched.remove(&document.name);
        let new = (document.indexed.stamp, document.indexed.hash);
        let committed = self.committed.as_ref();
        let is_as_committed = committed
            .and_then(|committed| committed.indexed(&document.name))
            .is_some_and(|indexed| (indexed.stamp, indexed.hash) == new);
        if is_as_committed {
            return self.drop_from_overlay(&document.name);
        }
        let name = document.name.clone();
        self.read_as.insert(name.clone(), changed);
        let known = self.overlay.files.get(&name).and_then(Option::as_ref);
        let is_known = known.is_some_and(|known| {
            (known.indexed.stamp, known.indexed.hash) == new
                && known.indexed.racy == document.indexed.racy
        });
        if !is_known {
            self.overlay.files.insert(name, Some(Arc::from(document)));
            self.current = None;
        }
    }

    /// Marks the file `name` as deleted.
    pub(in crate::engine) fn take_out(&mut self, name: &str) {
        self.touched.remove(name);
        if !self.is_committed(name) {
            return self.drop_from_overlay(name);
        }
        self.read_as.remove(name);
        if !matches!(self.overlay.files.insert(name.to_owned(), None), Some(None)) {
            self.current = None;
        }
    }

    /// Removes the file `name` from the overlay.
    pub(in crate::engine) fn drop_from_overlay(&mut self, name: &str) {
        self.read_as.remove(name);
        if self.overlay.files.remove(name).is_some() {
            self.current = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn outcome(waited: Result<(), IndexError>) -> String {
        waited.map_or_else(|error| error.to_string(), |()| "searched".to_owned())
    }

    #[test]
    fn a_search_waits_for_the_index_that_is_being_made() {
        let index = Arc::new(AwaitedIndex::default());
        let made = index.announce(50_000);
        let waits = {
            let index = Arc::clone(&index);
            std::thread::spawn(move || outcome(index.wait(made, LONG)))
        };
        while locked(&index.state).waiting == 0 {
            std::thread::yield_now();
        }
        index.note(1_024, 50_000);
        index.end(true);
        assert_eq!(waits.join().unwrap(), "the index was made meanwhile");
        // A view that was made before has the same to say, later ones wait for nothing.
        assert_eq!(
            outcome(index.wait(made, LONG)),
            "the index was made meanwhile"
        );
        assert_eq!(outcome(index.wait(made + 1, LONG)), "searched");
    }

    #[test]
    fn a_search_that_waited_long_enough_says_how_far_the_index_is() {
        let index = AwaitedIndex::default();
        let made = index.announce(50_000);
        index.note(1_024, 50_000);
        assert_eq!(
            index.announce(50_001),
            made,
            "it goes on with what is being done"
        );
        let said = "the index is being made, 1024 of 50000 memories are in it";
        assert_eq!(outcome(index.wait(made, Duration::ZERO)), said);
        locked(&index.state).waiting = MAX_WAITING[0];
        assert_eq!(outcome(index.wait(made, LONG)), said, "too many wait");
    }

    #[test]
    fn files_are_searched_where_the_attempt_to_index_them_failed() {
        let index = AwaitedIndex::default();
        let made = index.announce(50_000);
        index.end(false);
        assert_eq!(outcome(index.wait(made, LONG)), "searched");
    }
}
