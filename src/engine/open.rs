//! A store, opened.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::TryLockError;
use std::sync::atomic::AtomicBool;

use chrono::DateTime;
use chrono::Utc;

use super::EngineError;
use super::hints::Recent;
use super::models::Models;
use super::models::Opened;
use super::sync::GitOptions;
use super::sync::Pending;
use super::sync::Quarantined;
use super::uses::Waiting;
use crate::clock::Clock;
use crate::engine::live::changes::Listeners;
use crate::engine::live::freshness::Freshness;
use crate::engine::live::read_cache::ReadCache;
use crate::engine::live::watching::Watching;
use crate::engine::relations::titles::SharedTitles;
use crate::files::LinkPolicy;
use crate::files::Lock;
use crate::files::Medium;
use crate::files::Place;
use crate::files::Store;
use crate::git::Id;
use crate::index::Index;
use crate::index::Snapshot;
use crate::index::embedded::EmbeddedIndex;
use crate::journal::Journal;
use crate::lifecycle::Life;
use crate::lifecycle::Maintenance;
use crate::lifecycle::WritePolicy;
use crate::model::Handle;
use crate::model::Layout;
use crate::model::Stem;
use crate::model::is_possible_time;
use crate::secrets::Policy;
use crate::trust::Consent;
use crate::trust::Naming;
use crate::words::Language;

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// The folder that holds `files/`.
    pub root: PathBuf,
    /// Where index and locks lie, if not in `.memdir/` below the root.
    pub state: Option<PathBuf>,
    /// Where they lie if the store cannot be written or is shared with other machines, and no
    /// place was named.
    pub cache: Option<PathBuf>,
    /// Languages whose words are stemmed.
    pub languages: Vec<Language>,
    /// The namespace of memories that state none; `None` is `global`.
    pub namespace: Option<String>,
    /// In which folder new memories are put.
    pub layout: Layout,
    /// How many hits a search returns unless asked otherwise.
    pub limit: usize,
    /// Refuse every change.
    pub read_only: bool,
    /// How changes are committed; `None`: not at all.
    pub git: Option<GitOptions>,
    /// What becomes of credentials in what is written and committed.
    pub secrets: Policy,
    /// How long memories live, and what a use does.
    pub life: Life,
    /// What a server does unasked, and how.
    pub maintenance: Maintenance,
    /// What is done, beside writing it, about a new memory that resembles others.
    pub writes: WritePolicy,
    /// What finds memories by their meaning; `None`: words alone.
    pub models: Option<Arc<dyn Models>>,
    /// What the user has agreed to for this store, beyond its folder.
    pub consent: Consent,
    /// What becomes of a folder of the store that is a symbolic link. Only the user's own record may
    /// say that it is followed, never the store.
    pub links: LinkPolicy,
}

/// A store with everything that can be done to it. Shared between threads.
pub struct Engine {
    pub(super) store: Store,
    pub(super) index: Box<dyn Index>,
    pub(super) clock: Box<dyn Clock>,
    pub(super) namespace: Option<String>,
    pub(super) layout: Layout,
    pub(super) languages: Vec<Language>,
    limit: usize,
    read_only: bool,
    /// The index is this process's own, in memory.
    indexes_alone: bool,
    freshness: Mutex<Freshness>,
    /// The last view that was made, for who need not have the newest.
    latest: Mutex<Latest>,
    watching: Mutex<Watching>,
    /// Files that this process changed and did not look at since.
    pub(super) own_changes: Mutex<BTreeSet<String>>,
    /// Called when there is something to do in the background.
    wake: Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>,
    pub(super) git: Option<GitOptions>,
    pub(super) consent: Consent,
    /// What may differ from the newest commit.
    pub(super) pending: Mutex<Pending>,
    /// The commit that a server made or saw last.
    pub(super) committed_to: Mutex<Option<Id>>,
    pub(super) secrets: Policy,
    /// Memories that are not committed because of what they hold, as the last commit found them.
    pub(super) held: Mutex<BTreeSet<Quarantined>>,
    pub(super) client: Mutex<String>,
    pub(super) journal: Journal,
    /// What is to be written to it.
    pub(super) records: Mutex<Waiting>,
    pub(super) warned_of_journal: AtomicBool,
    pub(super) life: Life,
    pub(super) maintenance: Maintenance,
    writes: WritePolicy,
    pub(super) listeners: Listeners,
    /// What this process read last, where a file's times tell of every change.
    pub(super) known: Option<ReadCache>,
    pub(super) titles: SharedTitles,
    /// What this process wrote last, for hints.
    pub(super) recent: Mutex<Recent>,
    pub(super) models: Option<Opened>,
    pub(super) warned_of_model: AtomicBool,
    /// Wakes the thread that embeds, in a process that has one.
    pub(super) wake_embedding: OnceLock<std::sync::mpsc::Sender<super::meaning::Wake>>,
}

impl Options {
    /// The store at `root` by itself: English, flat, nothing committed, nothing looked for in what
    /// is written, searched by words alone; everything else as where no setting says otherwise.
    pub fn new(root: impl Into<PathBuf>) -> Options {
        let root = root.into();
        Options {
            consent: Consent::new(None, &root, Naming::Process),
            root,
            state: None,
            cache: None,
            languages: vec![Language::default()],
            namespace: None,
            layout: Layout::Flat,
            limit: 25,
            read_only: false,
            git: None,
            secrets: Policy::Off,
            life: Life::default(),
            maintenance: Maintenance::default(),
            writes: WritePolicy::default(),
            models: None,
            links: LinkPolicy::Refuse,
        }
    }
}

/// Where new memories lie among somebody's notes.
const NEW_NOTES: &str = "memories";

impl Engine {
    /// Opens the store. Cheap: nothing is read before the first operation needs it, but notes that
    /// git wrote since the last time.
    ///
    /// # Errors
    ///
    /// Fails if the store's folder does not exist.
    pub fn open(options: Options, clock: Box<dyn Clock>) -> Result<Engine, EngineError> {
        if !options.root.is_dir() {
            return Err(EngineError::NoStore(options.root));
        }
        let own_state = resolved(&options.root, crate::files::STATE_FOLDER, options.links);
        let plain = Store::new(&options.root, &own_state);
        let has_history = options.git.is_some();
        let read_only = options.read_only || !plain.is_writable();
        let is_local = crate::files::medium(&options.root) == Medium::Local;
        let state = match (options.state, options.cache) {
            (Some(state), _) => state,
            // A writable store keeps its own, also when this caller only wants to read; unless
            // other machines would see it change below them.
            (None, _) if plain.is_writable() && is_local => own_state,
            (None, Some(cache)) => cache.join(store_key(&options.root)),
            (None, None) => own_state,
        };
        let mut indexes_alone = false;
        let index: Box<dyn Index> = match prepare(&state, &options.root) {
            Ok(()) => Box::new(EmbeddedIndex::new(&state, &options.languages)),
            Err(error) => {
                let why = match crate::files::is_link(&error) {
                    true => "it is a symbolic link, which is not followed".to_owned(),
                    false => error.to_string(),
                };
                let state = state.display();
                tracing::warn!("cannot write {state} ({why}); the index is kept in memory");
                indexes_alone = true;
                Box::new(EmbeddedIndex::in_memory(&options.languages))
            }
        };
        let engine = Engine {
            store: Store::new(&options.root, &state)
                .with_links(options.links)
                .noting_written(!has_history),
            index,
            clock,
            namespace: options.namespace,
            layout: options.layout,
            languages: options.languages,
            limit: options.limit,
            read_only,
            indexes_alone,
            freshness: Mutex::new(Freshness::default()),
            latest: Mutex::default(),
            watching: Mutex::default(),
            own_changes: Mutex::default(),
            wake: Arc::default(),
            git: options.git.filter(|_| !read_only),
            consent: options.consent,
            pending: Mutex::default(),
            secrets: options.secrets,
            committed_to: Mutex::default(),
            held: Mutex::default(),
            client: Mutex::default(),
            journal: Journal::new(&options.root, &state).in_folder(resolved(
                &options.root,
                crate::files::JOURNALS,
                options.links,
            )),
            records: Mutex::default(),
            warned_of_journal: AtomicBool::new(false),
            life: options.life,
            maintenance: options.maintenance,
            writes: options.writes,
            listeners: Listeners::default(),
            known: (is_local && cfg!(target_os = "linux")).then(ReadCache::default),
            recent: Mutex::default(),
            models: options.models.map(Opened::new),
            titles: SharedTitles::default(),
            warned_of_model: AtomicBool::new(false),
            wake_embedding: OnceLock::new(),
        };
        // Before anything is indexed with the times of a checkout.
        if let Err(error) = engine.date_what_git_wrote() {
            tracing::info!("cannot date what git wrote: {error}");
        }
        Ok(engine)
    }

    /// The folder that holds `files/`.
    pub fn root(&self) -> &Path {
        self.store.root()
    }

    /// The folder in which live memories lie.
    pub fn files_folder(&self) -> PathBuf {
        self.store.folder(Place::Files)
    }

    /// The path of the live memory in the file `name` below the store's folder, as it is shown.
    pub fn shown_path(&self, name: &str) -> String {
        self.store.shown(&Place::Files.path_of(name)).into_owned()
    }

    /// The path of a file of the store, such as `archive/x.md`, as it is shown.
    pub fn shown_file(&self, path: &str) -> String {
        self.store.shown(path).into_owned()
    }

    /// The folder of somebody's notes that the store opens in place.
    pub fn notes(&self) -> Option<&Path> {
        self.store.notes()
    }

    /// The file of a new memory, in the store's layout.
    pub fn new_name(&self, stem: &Stem) -> String {
        self.placed(self.layout, stem)
    }

    /// Whether the file `name` of a memory lies where this program puts it, and in no folder of
    /// somebody's own.
    pub fn is_placed(&self, stem: &Stem, name: &str) -> bool {
        let layouts = [Layout::Flat, Layout::ByMonth];
        stem.is_canonical()
            && layouts
                .iter()
                .any(|layout| self.placed(*layout, stem) == name)
    }

    /// The bytes of the live memory in the file `name`; `None` if there is none.
    pub fn text_of(&self, name: &str) -> Option<Vec<u8>> {
        let read = self.store.reader(Place::Files).read(name, u64::MAX);
        read.ok().map(|version| version.bytes)
    }

    /// The file of a memory of this program's making, in `layout`: among somebody's notes in a folder
    /// of its own.
    pub(super) fn placed(&self, layout: Layout, stem: &Stem) -> String {
        let name = layout.name_of(stem);
        match self.notes() {
            Some(_) => format!("{NEW_NOTES}/{name}"),
            None => name,
        }
    }

    /// This moment, as everything here takes it.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The namespace of new memories that state none: the project of whoever asks. `None` is
    /// `global`.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// So many characters a memory has that is made of several, unless asked otherwise.
    pub fn summary_length(&self) -> usize {
        self.maintenance.compaction.budget
    }

    /// Where index and locks lie.
    pub fn state(&self) -> &Path {
        self.store.state()
    }

    /// How many hits a search returns unless asked otherwise.
    pub fn default_limit(&self) -> usize {
        self.limit
    }

    /// What people and agents are shown as a memory's id: its handle, or the whole stem where
    /// the handle alone would be ambiguous.
    pub fn shown_id(&self, stem: &Stem) -> String {
        let latest = self.latest.lock();
        let latest = &mut *latest.unwrap_or_else(PoisonError::into_inner);
        match stem.handle() {
            Some(handle) if !latest.is_shared(handle) => handle.to_string(),
            _ => stem.as_str().to_owned(),
        }
    }

    /// Has `wake` called whenever there is something to do in the background.
    pub(super) fn set_wake(&self, wake: Box<dyn Fn() + Send + Sync>) {
        let _ = self.wake.set(wake); // A second loop would find nothing to do.
    }

    pub(super) fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// Whether this process runs for long and does things in the background.
    pub(super) fn has_background(&self) -> bool {
        self.wake.get().is_some()
    }

    /// What wakes the background from another thread.
    pub(super) fn waker(&self) -> Box<dyn Fn() + Send + Sync> {
        let wake = Arc::clone(&self.wake);
        Box::new(move || {
            if let Some(wake) = wake.get() {
                wake();
            }
        })
    }

    /// What the settings say about new memories that resemble others.
    pub fn write_policy(&self) -> &WritePolicy {
        &self.writes
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(super) fn check_writable(&self) -> Result<(), EngineError> {
        if self.read_only {
            return Err(EngineError::ReadOnly(self.root().to_owned()));
        }
        let now = self.clock.now();
        if !is_possible_time(now) {
            return Err(EngineError::ClockIsWrong(now));
        }
        self.check_there()
    }

    /// Whether the store's folder is where it was when it was opened.
    pub(super) fn check_there(&self) -> Result<(), EngineError> {
        if self.root().is_dir() {
            return Ok(());
        }
        Err(EngineError::NoStore(self.root().to_owned()))
    }

    /// What is known of the files' and the index's state. A panic elsewhere does not spoil it:
    /// it is only a memory of what was looked at.
    pub(super) fn freshness(&self) -> MutexGuard<'_, Freshness> {
        self.freshness
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Engine::freshness`]; `None` while somebody else has it.
    pub(super) fn try_freshness(&self) -> Option<MutexGuard<'_, Freshness>> {
        match self.freshness.try_lock() {
            Ok(freshness) => Some(freshness),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The last view, however old.
    pub(super) fn latest(&self) -> Option<Arc<dyn Snapshot>> {
        let latest = self.latest.lock();
        let latest = latest.unwrap_or_else(PoisonError::into_inner);
        latest.snapshot.clone()
    }

    pub(super) fn set_latest(&self, snapshot: &Arc<dyn Snapshot>) {
        let latest = self.latest.lock();
        latest.unwrap_or_else(PoisonError::into_inner).set(snapshot);
        self.listeners.know(snapshot);
    }

    /// Says by whom the store is used from now on: a client's name.
    pub fn serve(&self, client: &str) {
        let mut known = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != client {
            client.clone_into(&mut known);
        }
    }

    /// By whom the store is used: a client's name.
    pub(super) fn client(&self) -> String {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone()
    }

    pub(super) fn watching_state(&self) -> MutexGuard<'_, Watching> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process keeps its index to itself, where nobody else writes or leads.
    pub(super) fn indexes_alone(&self) -> bool {
        self.indexes_alone
    }

    /// The right to write the index; `None` while another process has it.
    pub(super) fn try_lock_index(&self) -> Result<Option<WriterLock>, EngineError> {
        if self.indexes_alone {
            return Ok(Some(WriterLock(None)));
        }
        self.check_there()?;
        Ok(Lock::try_take(&self.writer_lock_path())?.map(|lock| WriterLock(Some(lock))))
    }

    /// As [`Engine::try_lock_index`], waiting at most two seconds.
    pub(super) fn lock_index(&self) -> Result<WriterLock, EngineError> {
        if self.indexes_alone {
            return Ok(WriterLock(None));
        }
        self.check_there()?;
        Ok(WriterLock(Some(Lock::take(
            &self.writer_lock_path(),
            "the index",
        )?)))
    }

    pub(super) fn writer_lock_path(&self) -> PathBuf {
        self.state().join("writer.lock")
    }
}

/// The last view, with what was asked of it about handles.
#[derive(Default)]
struct Latest {
    snapshot: Option<Arc<dyn Snapshot>>,
    /// Whether several memories of this view have the handle.
    shared: HashMap<Handle, bool>,
}

/// So many answers are remembered at most: a handle is asked for with every hit that is shown.
const MOST_HANDLES: usize = 8_192;

impl Latest {
    fn set(&mut self, snapshot: &Arc<dyn Snapshot>) {
        let known = self.snapshot.as_ref();
        if known.is_none_or(|known| !Arc::ptr_eq(known, snapshot)) {
            self.snapshot = Some(Arc::clone(snapshot));
            self.shared.clear();
        }
    }

    fn is_shared(&mut self, handle: Handle) -> bool {
        let Some(snapshot) = &self.snapshot else {
            return false;
        };
        if self.shared.len() >= MOST_HANDLES {
            self.shared.clear();
        }
        let count = || snapshot.handle_count(handle.as_str());
        *self.shared.entry(handle).or_insert_with(|| count() > 1)
    }
}

/// The right to write the index, until dropped. Nobody else can write one in memory.
pub(super) struct WriterLock(#[allow(dead_code, reason = "held, not looked at")] Option<Lock>);

/// Makes the folder of derived things, for the user alone and unseen by git.
fn prepare(state: &Path, root: &Path) -> std::io::Result<()> {
    crate::files::create_private_folder(state)?;
    if !is_writable(state) {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    crate::files::set_strangers_aside(state)?;
    let gitignore = state.join(".gitignore");
    // A process that outlived the folder makes it again without this file.
    if state.starts_with(root) && !gitignore.exists() {
        crate::files::write_derived(&gitignore, b"# Derived from files/; safe to delete.\n*\n")?;
    }
    Ok(())
}

/// The path of one of the store's folders; where links are followed, that which it leads to.
fn resolved(root: &Path, folder: &str, links: LinkPolicy) -> PathBuf {
    let path = root.join(folder);
    match links {
        LinkPolicy::Refuse => path,
        LinkPolicy::Follow => path.canonicalize().unwrap_or(path),
    }
}

fn is_writable(folder: &Path) -> bool {
    Store::new(folder, folder).is_writable()
}

/// A name for the store's folder among others in one cache.
fn store_key(root: &Path) -> String {
    let path = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let name = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let digest = crate::files::digest(path.as_os_str().as_encoded_bytes());
    format!("{name}-{:016x}", digest as u64)
}
