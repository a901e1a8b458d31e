//! The state of a store as a process knows it: the committed index, the files that differ from it, and
//! which of them are in flux.
//!
//! Looking at the files, and when, is the business of `current_snapshot`.
//!
//! A stamp can lie: a file may change twice within one tick of the clock, and size and times can be
//! set back. So a file whose time of change (ctime, which nobody can set) is later than 2 s before
//! the moment until which it is known to be as indexed is read again and compared by its hash.
//!
//! While a file is in flux, searches use its last parsed version: for at most 2 s where it is empty
//! or its frontmatter has no end, until 100 ms of quiet where it became shorter, for 60 ms where it
//! is gone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::texts::{RACY_NANOS, age, is_half_written};
use crate::files::{Entry, Place, Storage};
use crate::index::{Document, Indexed, Overlay, Snapshot};

/// The state of the store as this process knows it.
#[derive(Default)]
pub(in crate::engine) struct Freshness {
    pub(in crate::engine) committed: Option<Arc<dyn Snapshot>>,
    /// The versions of files that differ from the committed index.
    pub(in crate::engine) overlay: Overlay,
    /// As [`Entry::changed`], of the texts in the overlay when they were read.
    pub(in crate::engine) read_as: HashMap<String, i64>,
    /// The committed index with the overlay over it.
    pub(in crate::engine) current: Option<Arc<dyn Snapshot>>,
    /// The folders with their modification times.
    pub(in crate::engine) folders: Vec<(String, i64)>,
    pub(in crate::engine) swept: Option<Sweep>,
    /// Some file has another name, maybe elsewhere: what is changed by that name no event tells.
    pub(in crate::engine) has_links: bool,
    /// Names that are no readable memories, with the reason.
    pub(in crate::engine) skipped: BTreeMap<String, String>,
    /// Number of them that another process reported, which was relied on.
    pub(in crate::engine) unreadable_elsewhere: usize,
    /// Files whose last good text stands.
    pub(in crate::engine) unsettled: BTreeMap<String, Unsettled>,
    /// Until when all files that are not in the overlay are known to be as committed, in
    /// nanoseconds since 1970.
    pub(in crate::engine) verified: i64,
    /// Number of unchanged files that the last look read because their stamps do not tell.
    pub(in crate::engine) in_doubt: usize,
    /// Number of files that wait to be indexed where an overlay of them would cost too much: until
    /// they are indexed, the files themselves are searched.
    pub(in crate::engine) behind: usize,
    /// Until when the index is not asked, because it is damaged and cannot be mended now.
    pub(in crate::engine) index_avoided: Option<Instant>,
}

/// A file in flux.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Unsettled {
    /// It is worth waiting for.
    pub(in crate::engine) is_brief: bool,
    pub(in crate::engine) since: Instant,
    pub(in crate::engine) until: Instant,
}

/// When everything was compared, and what that cost.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Sweep {
    pub(in crate::engine) at: Instant,
    pub(in crate::engine) cost: Duration,
}

/// Without a watch, in-place changes are looked for at least so often.
pub(in crate::engine) const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// With a watch, everything is compared so often all the same: watches have died silently.
pub(in crate::engine) const DISTRUST_INTERVAL: Duration = Duration::from_secs(300);

/// Maximum time a file may look half-written before it is taken for what it is.
pub(in crate::engine) const HALF_WRITTEN_PATIENCE: Duration = Duration::from_secs(2);

/// Time a text that became shorter must stay the same: programs that write in pieces rarely pause
/// longer.
const QUIET_IN_PLACE: Duration = Duration::from_millis(100);

/// The same for another file under the name: mostly it was put in place whole.
const QUIET_AS_NEW: Duration = Duration::from_millis(20);

/// Maximum time for which files in flux are waited for.
pub(in crate::engine) const FLUX_PATIENCE: Duration = Duration::from_millis(400);

/// Time a file must be gone before it is taken for deleted: editors take a file away for a moment
/// before they put the new one in its place.
const MISSING_PATIENCE: Duration = Duration::from_millis(60);

/// The same where other files of the folder change as well, so that the folder's time does not tell
/// when it went away.
const LONGEST_MISSING: Duration = Duration::from_millis(500);

/// Time for which a damaged index that cannot be mended is not asked.
const AVOID_INDEX: Duration = Duration::from_secs(5);

/// The coarsest step in which systems keep the times of folders: a tick of 100 Hz, doubled.
pub(in crate::engine) const YOUNG_FOLDER_NANOS: i64 = 20_000_000;

impl Sweep {
    /// Whether another one is due where nothing tells of changes.
    pub(in crate::engine) fn is_due(self) -> bool {
        self.at.elapsed() >= SWEEP_INTERVAL.max(self.cost * 20)
    }
}

impl Freshness {
    /// Number of files that wait to be indexed, without those that are gone.
    pub(in crate::engine) fn waiting(&self) -> usize {
        self.behind + self.overlay.files.values().flatten().count()
    }

    /// Number of names that are no readable memories.
    pub(in crate::engine) fn unreadable(&self) -> usize {
        self.skipped.len().max(self.unreadable_elsewhere)
    }

    /// Whether everything is committed and nothing is in flux.
    pub(in crate::engine) fn is_settled(&self) -> bool {
        self.swept.is_some()
            && self.behind == 0
            && self.overlay.files.is_empty()
            && self.unsettled.is_empty()
    }

    /// Whether the files themselves are searched, because the index says too little of them.
    pub(in crate::engine) fn is_behind(&self) -> bool {
        self.behind > 0
    }

    /// Has the files themselves searched for a while.
    pub(in crate::engine) fn avoid_index(&mut self) {
        let until = match self.index_avoided {
            Some(until) if until > Instant::now() => until,
            _ => Instant::now() + AVOID_INDEX,
        };
        *self = Freshness {
            index_avoided: Some(until),
            ..Freshness::default()
        };
    }

    pub(in crate::engine) fn avoids_index(&self) -> bool {
        self.index_avoided
            .is_some_and(|until| until > Instant::now())
    }

    /// Has the next operation look at everything.
    pub(in crate::engine) fn look_again(&mut self) {
        self.swept = None;
    }

    /// A folder that was changed a moment ago may change again without its time changing.
    pub(in crate::engine) fn distrust_young_folders(&mut self, now: i64) {
        for (_, modified) in &mut self.folders {
            if *modified > now - YOUNG_FOLDER_NANOS {
                *modified = i64::MIN;
            }
        }
    }

    /// Whether everything was compared so long ago that it should be done again.
    pub(in crate::engine) fn is_old(&self) -> bool {
        self.swept
            .is_some_and(|sweep| sweep.at.elapsed() > DISTRUST_INTERVAL)
    }

    /// Whether the last good text of one of `names` stands.
    pub(in crate::engine) fn holds_one_of(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.unsettled.contains_key(name))
    }

    /// When the next file that is in flux is to be looked at again.
    pub(in crate::engine) fn next_due(&self) -> Option<Instant> {
        self.unsettled.values().map(|file| file.until).min()
    }

    /// When it will be clear of all files that are in flux for a moment only what they are.
    pub(in crate::engine) fn brief_until(&self) -> Option<Instant> {
        // Whoever writes all the time is waited for once.
        let is_new = |file: &&Unsettled| file.is_brief && file.since.elapsed() < FLUX_PATIENCE;
        let brief = self.unsettled.values().filter(is_new);
        brief.map(|file| file.until).max()
    }

    /// Takes over a state that somebody else compared with the files.
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

    /// Replaces the committed state after a commit of `overlay` by this process.
    pub(in crate::engine) fn committed_now(&mut self, committed: Arc<dyn Snapshot>) {
        self.forget_committed(committed.as_ref());
        self.committed = Some(committed);
        self.current = None;
        self.in_doubt = 0;
    }

    /// Drops from the overlay what `committed` says as well.
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
    }

    pub(in crate::engine) fn must_look(&self, store: &dyn Storage) -> bool {
        let Some(sweep) = self.swept else { return true };
        sweep.is_due() || store.folders_changed(Place::Files, &self.folders)
    }

    /// Names whose time of grace is over, or soon will be.
    pub(in crate::engine) fn due(&self) -> Vec<String> {
        let now = Instant::now();
        let due = self
            .unsettled
            .iter()
            .filter(|(_, file)| file.is_brief || file.until <= now);
        due.map(|(name, _)| name.clone()).collect()
    }

    /// Whether the file that `entry` shows is known as it is, without reading it.
    pub(in crate::engine) fn is_known(&self, entry: &Entry) -> bool {
        if let Some(document) = self.overlay.files.get(&entry.name) {
            return document.as_ref().is_some_and(|document| {
                document.indexed.stamp == entry.stamp
                    && !document.indexed.racy
                    && self.read_as.get(&entry.name) == Some(&entry.changed)
            });
        }
        let committed = self.committed.as_ref();
        committed
            .and_then(|committed| committed.indexed(&entry.name))
            .is_some_and(|indexed| {
                indexed.stamp == entry.stamp
                    && entry.changed <= self.verified.saturating_sub(RACY_NANOS)
            })
    }

    pub(in crate::engine) fn is_committed(&self, name: &str) -> bool {
        let committed = self.committed.as_ref();
        committed.is_some_and(|committed| committed.indexed(name).is_some())
    }

    /// Whether the file was there when it was looked at last.
    pub(in crate::engine) fn is_there(&self, name: &str) -> bool {
        match self.overlay.files.get(name) {
            Some(document) => document.is_some(),
            None => self.is_committed(name),
        }
    }

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

    /// Whether the last good text of a file stands although there is the new text `document`.
    ///
    /// A text that has only begun is given time to be finished. One that became shorter may be on
    /// its way, too: programs that write in place cut a file first, and others may write a new
    /// one under its name piece by piece. It is complete once it stays as it is for a moment.
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
        // Once it was short, it may be on its way also when it has grown longer than before.
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

    /// As what the file is searched at present.
    fn known(&self, name: &str) -> Option<Indexed> {
        match self.overlay.files.get(name) {
            Some(document) => document.as_ref().map(|document| document.indexed),
            None => self.committed.as_ref()?.indexed(name),
        }
    }

    /// Whether a file that is gone is searched all the same, because it went away so long ago.
    pub(in crate::engine) fn holds_missing(&mut self, name: &str, age: Option<Duration>) -> bool {
        self.is_there(name) && self.hold(name, MISSING_PATIENCE, LONGEST_MISSING, age)
    }

    /// Whether the last good text of `name` is to stand: until `patience` after the change that
    /// was made so long ago, and no longer than `longest` after it was seen first.
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
        // A change that lies ahead by the clock is as old as it is known here.
        let age = age.unwrap_or_else(|| file.since.elapsed());
        let left = patience.saturating_sub(age);
        file.is_brief = patience <= QUIET_IN_PLACE;
        file.until = (now + left).min(file.since + longest);
        now < file.until
    }

    pub(in crate::engine) fn settled(&mut self, name: &str) {
        self.unsettled.remove(name);
    }

    pub(in crate::engine) fn put(&mut self, document: Box<Document>, changed: i64) {
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

    pub(in crate::engine) fn take_out(&mut self, name: &str) {
        if !self.is_committed(name) {
            return self.drop_from_overlay(name);
        }
        self.read_as.remove(name);
        if !matches!(self.overlay.files.insert(name.to_owned(), None), Some(None)) {
            self.current = None;
        }
    }

    pub(in crate::engine) fn drop_from_overlay(&mut self, name: &str) {
        self.read_as.remove(name);
        if self.overlay.files.remove(name).is_some() {
            self.current = None;
        }
    }
}
