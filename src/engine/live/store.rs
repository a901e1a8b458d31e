//! Storage of a store's memories, its index, and this process's state of both.
//!
//! Promise: nothing is read from anywhere else, and only this module opens them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::clock::Clock;
use crate::engine::call_scope;
use crate::engine::error::EngineError;
use crate::engine::live::freshness::{AwaitedIndex, Freshness};
use crate::engine::live::listeners::Listeners;
use crate::engine::live::pending::Pending;
use crate::engine::live::read_cache::{ReadCache, SharedTitles};
use crate::engine::live::turns::TurnIndex;
use crate::engine::live::watch_state::Watching;
use crate::engine::locked::locked;
use crate::engine::options::Options;
use crate::files::{
    EndedCall, FilesError, LinkPolicy, Lock, Medium, Place, SequenceError, Storage, Store,
};
use crate::index::embedded::EmbeddedIndex;
use crate::index::{Index, Snapshot};
use crate::journal::{Journal, JournalFolder};
use crate::lifecycle::Life;
use crate::model::{Handle, Layout, NEW_NOTES, OtherNames, Stem, TALKS, is_talk_name, talk_name};
use crate::words::Language;

/// Work for the background loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Work {
    /// Files changed, or may have.
    Files,
    /// Uses were noted, and are not in the journal yet.
    Uses,
}

/// Callback that wakes the background loop for some work.
type Wake = Box<dyn Fn(Work) + Send + Sync>;

/// Storage of a store's memories with its index. Shared between threads.
pub struct LiveStore {
    /// Storage of the memories.
    pub(in crate::engine) store: Arc<dyn Storage>,
    /// Location of the memories.
    place: MemoryPlace,
    root: PathBuf,
    state: PathBuf,
    /// The index.
    pub(in crate::engine) index: Box<dyn Index>,
    /// The index of the turns of talks.
    pub(in crate::engine) turns: TurnIndex,
    /// Clock of this process.
    pub(in crate::engine) clock: Box<dyn Clock>,
    namespace: Option<String>,
    /// Layout of the folders for new memories.
    pub(in crate::engine) layout: Layout,
    /// Languages of the search.
    pub(in crate::engine) languages: Vec<Language>,
    /// Other names of users.
    pub(in crate::engine) people: OtherNames,
    read_only: bool,
    /// Whether the index is this process's own, in memory.
    indexes_alone: bool,
    freshness: Mutex<Freshness>,
    /// The index that the background makes, while searches wait for it.
    pub(in crate::engine) awaited_index: Arc<AwaitedIndex>,
    /// Last view, for callers that do not need the newest.
    latest: Mutex<Latest>,
    /// State of the watch.
    pub(in crate::engine::live) watching: Mutex<Watching>,
    /// Files that this process changed and has not read since.
    pub(in crate::engine) own_changes: Mutex<BTreeSet<String>>,
    /// Callback when there is work for the background.
    wake: Arc<OnceLock<Wake>>,
    /// Files that may differ from the newest commit; `history` takes them.
    pub(in crate::engine::live) pending: Mutex<Pending>,
    /// Journals of uses and changes.
    pub(in crate::engine) journal: Arc<dyn Journal>,
    /// Whether a warning about the journal was logged.
    pub(in crate::engine::live) warned_of_journal: AtomicBool,
    /// Lifetimes of memories.
    pub(in crate::engine) life: Life,
    sync_talks: bool,
    /// Age from which talks are archived.
    pub(in crate::engine) keep_talks: Option<TimeDelta>,
    /// Listeners for changes.
    pub(in crate::engine) listeners: Listeners,
    /// Memories that this process read last, if a file's times show every change.
    pub(in crate::engine) read_cache: Option<ReadCache>,
    /// Cached files that share their titles.
    pub(in crate::engine) titles: SharedTitles,
}

/// Location of the memories of a store.
enum MemoryPlace {
    /// The directory, for operations that no other storage has.
    Directory(Store),
    /// A backend of this name.
    Backend(String),
}

/// Last view, with cached lookups of handles.
#[derive(Default)]
struct Latest {
    snapshot: Option<Arc<dyn Snapshot>>,
    /// Number of the view: each has a higher one, also those of a process that is started later.
    number: u64,
    /// For each looked-up handle, whether several memories of this view have it.
    shared: HashMap<Handle, bool>,
}

/// Maximum number of cached lookups: every shown hit looks up a handle.
const MAX_HANDLES: usize = 8_192;

impl Latest {
    fn is(&self, snapshot: &Arc<dyn Snapshot>) -> bool {
        let known = self.snapshot.as_ref();
        known.is_some_and(|known| Arc::ptr_eq(known, snapshot))
    }

    /// Sets the view; returns the former one, which takes a while to end.
    fn set(&mut self, snapshot: &Arc<dyn Snapshot>) -> Option<Arc<dyn Snapshot>> {
        if self.is(snapshot) {
            return None;
        }
        self.shared.clear();
        self.number += 1;
        self.snapshot.replace(Arc::clone(snapshot))
    }
}

/// Lock for writing the index, until dropped; `None` for an index in memory.
pub(in crate::engine) struct WriterLock(
    #[allow(dead_code, reason = "held, not looked at")] Option<Lock>,
);

/// Creates the folder of derived files, private to the user and ignored by git.
fn prepare(state: &Path, root: &Path) -> std::io::Result<()> {
    crate::files::create_private_folder(state)?;
    if !is_writable(state) {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    crate::files::set_strangers_aside(state)?;
    let gitignore = state.join(".gitignore");
    // A process that outlived the folder recreates it without this file.
    if state.starts_with(root) && !gitignore.exists() {
        crate::files::write_derived(&gitignore, b"# Derived from files/; safe to delete.\n*\n")?;
    }
    Ok(())
}

/// Returns the path of one of the store's folders; if links are followed, the target.
fn resolved(root: &Path, folder: &str, links: LinkPolicy) -> PathBuf {
    let path = root.join(folder);
    match links {
        LinkPolicy::Refuse => path,
        LinkPolicy::Follow => path.canonicalize().unwrap_or(path),
    }
}

fn is_writable(folder: &Path) -> bool {
    Store::at(folder).is_writable()
}

/// Returns a unique name for the store's folder in a shared cache.
fn store_key(root: &Path) -> String {
    let path = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let name = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let digest = crate::files::digest(path.as_os_str().as_encoded_bytes());
    format!("{name}-{:016x}", digest as u64)
}

impl LiveStore {
    /// Opens the store. Cheap: reads no file.
    ///
    /// # Errors
    ///
    /// Fails if the folder does not exist.
    pub fn open(options: &Options, clock: Box<dyn Clock>) -> Result<LiveStore, EngineError> {
        let root = &options.root;
        if options.backend.is_some() {
            crate::files::create_private_folder(root).map_err(|source| FilesError::Io {
                action: "create",
                path: root.clone(),
                source,
            })?;
        }
        if !root.is_dir() {
            return Err(EngineError::NoStore(root.clone()));
        }
        let first_number = clock.now().timestamp_micros().unsigned_abs();
        let own_state = resolved(root, crate::files::STATE_FOLDER, options.links);
        let is_writable = is_writable(root);
        let is_local = crate::files::medium(root) == Medium::Local;
        let state = match (&options.state, &options.cache) {
            (Some(state), _) => state.clone(),
            // A writable store has its own, also for a read-only caller; unless
            // other machines would see it change.
            (None, _) if is_writable && is_local => own_state,
            (None, Some(cache)) => cache.join(store_key(root)),
            (None, None) => own_state,
        };
        let (index, indexes_alone) = open_index(&state, options);
        let turns = TurnIndex::beside(&index, &options.languages);
        let directory = Store::new(root, &state)
            .with_links(options.links)
            .noting_written(options.git.is_none());
        let journals = resolved(root, crate::files::JOURNALS, options.links);
        let (store, journal, place): (Arc<dyn Storage>, Arc<dyn Journal>, _) =
            match &options.backend {
                None => (
                    Arc::new(directory.clone()),
                    Arc::new(JournalFolder::new(root, &state).in_folder(journals)),
                    MemoryPlace::Directory(directory),
                ),
                Some(backend) => (
                    Arc::clone(&backend.storage) as Arc<dyn Storage>,
                    Arc::clone(&backend.journal),
                    MemoryPlace::Backend(backend.name.clone()),
                ),
            };
        let cache = match &options.backend {
            None => ReadCache::default,
            Some(_) => ReadCache::growing,
        };
        let is_cacheable = options.backend.is_some() || is_local && cfg!(target_os = "linux");
        Ok(LiveStore {
            store,
            place,
            root: root.clone(),
            state,
            index: Box::new(index),
            turns,
            clock,
            namespace: options.namespace.clone(),
            layout: options.layout,
            languages: options.languages.clone(),
            people: options.people.clone(),
            read_only: options.read_only || !is_writable,
            indexes_alone,
            freshness: Mutex::new(Freshness::default()),
            awaited_index: Arc::default(),
            latest: Mutex::new(Latest {
                number: first_number,
                ..Latest::default()
            }),
            watching: Mutex::default(),
            own_changes: Mutex::default(),
            wake: Arc::default(),
            pending: Mutex::default(),
            journal,
            warned_of_journal: AtomicBool::new(false),
            life: options.life.clone(),
            sync_talks: options.sync_talks,
            keep_talks: options.keep_talks,
            listeners: Listeners::default(),
            read_cache: is_cacheable.then(cache),
            titles: SharedTitles::default(),
        })
    }

    /// Returns the directory that holds the memories; `None` of a store with a backend.
    pub(in crate::engine) fn directory(&self) -> Option<&Store> {
        match &self.place {
            MemoryPlace::Directory(directory) => Some(directory),
            MemoryPlace::Backend(_) => None,
        }
    }

    /// Returns the directory for an operation that no other storage has; `what` names it in the error.
    ///
    /// # Errors
    ///
    /// [`EngineError::NoDirectory`] of a store with a backend.
    pub fn need_directory(&self, what: &'static str) -> Result<&Store, EngineError> {
        match &self.place {
            MemoryPlace::Directory(directory) => Ok(directory),
            MemoryPlace::Backend(name) => Err(EngineError::NoDirectory {
                what,
                place: name.clone(),
            }),
        }
    }

    /// Returns the folder that holds `files/`; with a backend, the folder of what is derived.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of the live memories.
    pub fn files_folder(&self) -> PathBuf {
        match self.directory() {
            Some(directory) => directory.folder(Place::Files),
            None => PathBuf::from("files"),
        }
    }

    /// Returns the path of a memory for messages.
    pub(in crate::engine) fn path(&self, place: Place, name: &str) -> PathBuf {
        match self.directory() {
            Some(directory) => directory.path(place, name),
            None => PathBuf::from(place.path_of(name)),
        }
    }

    /// Returns the path of the live memory in the file `name` below the store's folder, as it is shown.
    pub fn shown_path(&self, name: &str) -> String {
        self.shown_file(&Place::Files.path_of(name))
    }

    /// Returns the path of a file of the store, such as `archive/x.md`, as it is shown.
    pub fn shown_file(&self, path: &str) -> String {
        match self.directory() {
            Some(directory) => directory.shown(path).into_owned(),
            None => path.to_owned(),
        }
    }

    /// Returns the folder of the user's notes that the store opens in place.
    pub fn notes(&self) -> Option<&Path> {
        self.directory().and_then(Store::notes)
    }

    /// Returns the layout of the folders for new memories.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the file of a new memory, in the store's layout.
    pub fn new_name(&self, stem: &Stem) -> String {
        self.placed(self.layout, stem)
    }

    /// Whether the file `name` of a memory is where this program puts it, and not in a folder of
    /// the user's own.
    pub fn is_placed(&self, stem: &Stem, name: &str) -> bool {
        let layouts = [Layout::Flat, Layout::ByMonth];
        stem.is_canonical()
            && layouts
                .iter()
                .any(|layout| self.placed(*layout, stem) == name)
    }

    /// Returns the bytes of the live memory in the file `name`; `None` if there is none.
    pub fn text_of(&self, name: &str) -> Option<Vec<u8>> {
        let read = self.store.reader(Place::Files).read(name, u64::MAX);
        read.ok().map(|version| version.bytes)
    }

    /// Returns the file of a memory that this program writes, in `layout`: in a store of notes, in a folder
    /// of its own.
    pub(in crate::engine) fn placed(&self, layout: Layout, stem: &Stem) -> String {
        let name = layout.name_of(stem);
        match self.notes() {
            Some(_) => format!("{NEW_NOTES}/{name}"),
            None => name,
        }
    }

    /// Returns the file of a new talk.
    pub(in crate::engine) fn talk_name(&self, stem: &Stem) -> String {
        let name = talk_name(stem);
        match self.notes() {
            Some(_) => format!("{NEW_NOTES}/{name}"),
            None => name,
        }
    }

    /// Returns whether there is a folder of talks.
    pub(in crate::engine) fn has_talks(&self) -> bool {
        match self.notes() {
            Some(_) => self.store.has_folder(&format!("{NEW_NOTES}/{TALKS}")),
            None => self.store.has_folder(TALKS),
        }
    }

    /// Whether the file `name`, live or archived, never leaves this machine: a talk, unless the user says
    /// otherwise.
    pub(in crate::engine) fn is_local(&self, name: &str) -> bool {
        !self.sync_talks && is_talk_name(name)
    }

    /// Keeps the user's own git from adding talks, where they never leave this machine.
    pub(in crate::engine) fn keep_talks_out_of_git(&self) -> std::io::Result<()> {
        let Some(directory) = self.directory() else {
            return Ok(());
        };
        let folder = directory.folder(Place::Files).join(TALKS);
        let gitignore = folder.join(".gitignore");
        let is_own = folder.symlink_metadata().is_ok_and(|data| data.is_dir());
        if self.sync_talks || self.notes().is_some() || !is_own || gitignore.exists() {
            return Ok(());
        }
        crate::files::write_derived(
            &gitignore,
            b"# Talks stay on this machine: [talks] sync\n*\n",
        )
    }

    /// Returns the present time of the store's clock.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Returns the namespace of new memories that state none: the project of the caller. `None` is
    /// `global`. A call may have its own.
    pub fn namespace(&self) -> Option<String> {
        call_scope::namespace().unwrap_or_else(|| self.namespace.clone())
    }

    /// Returns the languages of the search.
    pub fn languages(&self) -> &[Language] {
        &self.languages
    }

    /// Returns the folder of index and locks.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Returns the id of a memory as shown to people and agents: its handle, or the whole stem if
    /// the handle alone would be ambiguous.
    pub fn shown_id(&self, stem: &Stem) -> String {
        match stem.handle() {
            Some(handle) if !self.is_shared(handle) => handle.to_string(),
            _ => stem.as_str().to_owned(),
        }
    }

    /// Returns whether several memories of the last view have this handle.
    fn is_shared(&self, handle: Handle) -> bool {
        let latest = locked(&self.latest);
        let Some(snapshot) = latest.snapshot.clone() else {
            return false;
        };
        if let Some(is_shared) = latest.shared.get(&handle) {
            return *is_shared;
        }
        // Whoever registers for changes, on a thread that serves others as well, does not wait for it.
        drop(latest);
        let is_shared = snapshot.handle_count(handle.as_str()) > 1;
        let mut latest = locked(&self.latest);
        if latest.is(&snapshot) {
            if latest.shared.len() >= MAX_HANDLES {
                latest.shared.clear();
            }
            latest.shared.insert(handle, is_shared);
        }
        is_shared
    }

    /// Sets the callback for work in the background.
    pub(in crate::engine) fn set_wake(&self, wake: Wake) {
        let _ = self.wake.set(wake); // A second loop would find nothing to do.
    }

    /// Wakes the background loop, if there is one, to look at files.
    pub(in crate::engine) fn wake(&self) {
        self.wake_to(Work::Files);
    }

    /// Wakes the background loop, if there is one.
    pub(in crate::engine) fn wake_to(&self, work: Work) {
        if let Some(wake) = self.wake.get() {
            wake(work);
        }
    }

    /// Returns the cache of memories that were read. A process without a background loop has none: it ends before it
    /// reads one twice.
    pub(in crate::engine) fn read_cache(&self) -> Option<&ReadCache> {
        self.read_cache.as_ref().filter(|_| self.has_background())
    }

    /// Whether this process has a background loop.
    pub(in crate::engine) fn has_background(&self) -> bool {
        self.wake.get().is_some()
    }

    /// Returns a function that wakes the background from another thread.
    pub(in crate::engine) fn waker(&self) -> Box<dyn Fn() + Send + Sync> {
        let wake = Arc::clone(&self.wake);
        Box::new(move || {
            if let Some(wake) = wake.get() {
                wake(Work::Files);
            }
        })
    }

    /// Whether the store has numbers of changes, which requests may name.
    pub fn has_sequence(&self) -> bool {
        self.store.sequence().is_some()
    }

    /// Does `act` as the call of a client, on this thread. The answer holds the change `least`; it is one of a call that
    /// `writes`, or only reads. Returns what `act` returns, and what the answer holds.
    ///
    /// # Errors
    ///
    /// Fails before `act` if the change, or the place of writes, cannot be reached.
    pub fn call<T>(
        &self,
        least: Option<u64>,
        writes: bool,
        act: impl FnOnce() -> T,
    ) -> Result<(T, EndedCall), SequenceError> {
        let Some(sequence) = self.store.sequence() else {
            return Ok((act(), EndedCall::default()));
        };
        let begun = sequence.begin(least, writes)?;
        let done = act();
        Ok((done, sequence.end(begun)))
    }

    /// Whether the store is read-only.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Checks that the store's folder still exists. A backend reports by itself that it is away.
    pub(in crate::engine) fn check_there(&self) -> Result<(), EngineError> {
        if self.root().is_dir() {
            return Ok(());
        }
        Err(EngineError::NoStore(self.root().to_owned()))
    }

    /// Locks the known state of the files and of the index.
    pub(in crate::engine) fn freshness(&self) -> MutexGuard<'_, Freshness> {
        locked(&self.freshness)
    }

    /// Returns whether a question that is asked now waits for nothing but its own files: nobody compares the files, and the
    /// index has all but a few.
    pub fn answers_at_once(&self) -> bool {
        self.try_freshness().is_some_and(|freshness| {
            let has_index = freshness.committed.is_some() && freshness.index_avoided.is_none();
            freshness.was_current && has_index && freshness.behind == 0
        })
    }

    /// As [`LiveStore::freshness`]; `None` while another thread holds it.
    pub(in crate::engine) fn try_freshness(&self) -> Option<MutexGuard<'_, Freshness>> {
        match self.freshness.try_lock() {
            Ok(freshness) => Some(freshness),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the last view, however old.
    pub(in crate::engine) fn latest(&self) -> Option<Arc<dyn Snapshot>> {
        locked(&self.latest).snapshot.clone()
    }

    /// Returns the number of the last view, however old.
    pub(in crate::engine) fn latest_number(&self) -> u64 {
        locked(&self.latest).number
    }

    /// Sets the last view.
    pub(in crate::engine) fn set_latest(&self, snapshot: &Arc<dyn Snapshot>) {
        let former = locked(&self.latest).set(snapshot);
        drop(former);
        self.listeners.know(snapshot);
    }

    /// Locks the state of the watch.
    pub(in crate::engine) fn watching_state(&self) -> MutexGuard<'_, Watching> {
        locked(&self.watching)
    }

    /// Whether this process has an index of its own in memory, so that no other process writes or leads.
    pub(in crate::engine) fn indexes_alone(&self) -> bool {
        self.indexes_alone
    }

    /// Takes the lock for writing the index; `None` while another process holds it.
    pub(in crate::engine) fn try_lock_index(&self) -> Result<Option<WriterLock>, EngineError> {
        if self.indexes_alone {
            return Ok(Some(WriterLock(None)));
        }
        self.check_there()?;
        Ok(Lock::try_take(&self.writer_lock_path())?.map(|lock| WriterLock(Some(lock))))
    }

    /// As [`LiveStore::try_lock_index`], waiting at most two seconds.
    pub(in crate::engine) fn lock_index(&self) -> Result<WriterLock, EngineError> {
        if self.indexes_alone {
            return Ok(WriterLock(None));
        }
        self.check_there()?;
        Ok(WriterLock(Some(Lock::take(
            &self.writer_lock_path(),
            "the index",
        )?)))
    }

    /// Returns the path of the index's lock.
    pub(in crate::engine) fn writer_lock_path(&self) -> PathBuf {
        self.state().join("writer.lock")
    }

    /// Records that the file `name` may differ from the newest commit.
    pub(in crate::engine) fn note_pending(&self, name: &str) {
        self.pending().add(name);
    }

    /// Records that any file may differ from the newest commit.
    pub(in crate::engine) fn note_all_pending(&self) {
        *self.pending() = Pending::Everything;
    }

    /// Locks the set of files that may differ from the newest commit.
    pub(in crate::engine) fn pending(&self) -> std::sync::MutexGuard<'_, Pending> {
        locked(&self.pending)
    }
}

/// Opens the index below `state`; in memory, for this process alone, if that cannot be written.
fn open_index(state: &Path, options: &Options) -> (EmbeddedIndex, bool) {
    let Err(error) = prepare(state, &options.root) else {
        let index = EmbeddedIndex::new(state, &options.languages);
        return (index.with_people(&options.people), false);
    };
    let why = match crate::files::is_link(&error) {
        true => "it is a symbolic link, which is not followed".to_owned(),
        false => error.to_string(),
    };
    let state = state.display();
    tracing::warn!("cannot write {state} ({why}); the index is kept in memory");
    let index = EmbeddedIndex::in_memory(&options.languages);
    (index.with_people(&options.people), true)
}
