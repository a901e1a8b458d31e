//! The index in one folder, or in memory: its open files, the newest view, and how far it is proved.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

use chrono::DateTime;
use chrono::Utc;
use tantivy::directory::Directory;
use tantivy::directory::RamDirectory;

use super::checks::Checks;
use super::directory::OpenFolder;
use super::directory::Unlocked;
use super::failure::failed;
use super::failure::guarded;
use super::failure::locked;
use super::layers::Layers;
use super::models::Models;
use super::opened::Committed;
use super::opened::Opened;
use super::rows::kept;
use super::rows::mapped_table::MappedTable;
use super::schema;
use super::schema::DocumentBuilder;
use super::snapshot::EmbeddedSnapshot;
use crate::beneath::Folder;
use crate::columns;
use crate::index::IndexError;
use crate::index::Overlay;
use crate::index::Snapshot;
use crate::words::Language;

/// The index in one folder.
pub struct EmbeddedIndex {
    /// `None`: kept in memory.
    pub(super) folder: Option<PathBuf>,
    pub(super) documents: DocumentBuilder,
    open: Mutex<Option<Opened>>,
    /// `None`: nothing was read of it yet.
    checks: Mutex<Option<Checks>>,
    /// The view of the last committed state that was looked at.
    pub(super) newest: Mutex<Option<Arc<EmbeddedSnapshot>>>,
    layers: Layers,
    pub(super) vectors: Arc<Models>,
    /// How often it was opened again because files were changed below it.
    pub(super) reopened: AtomicU64,
}

/// Maximum number of unverified bytes that are verified on opening: a few milliseconds.
const PROVED_AT_ONCE: u64 = 4 << 20;
/// How often a state is looked for whose files are there.
const MAX_TRIES: usize = 20;

impl EmbeddedIndex {
    /// The index in `state`, for texts in `languages`. Opens nothing yet.
    ///
    /// Version and languages are part of the folder's name: an index made in another way is
    /// another index, and is never misread.
    pub fn new(state: &Path, languages: &[Language]) -> EmbeddedIndex {
        let names: Vec<&str> = languages.iter().map(|language| language.name()).collect();
        let name = format!("index-v{}-{}", schema::VERSION, names.join("-"));
        EmbeddedIndex::at(Some(state), Some(state.join(name)), languages)
    }

    /// An index that lives as long as the process: for stores beside which nothing can be kept.
    pub fn in_memory(languages: &[Language]) -> EmbeddedIndex {
        EmbeddedIndex::at(None, None, languages)
    }

    fn at(state: Option<&Path>, folder: Option<PathBuf>, languages: &[Language]) -> EmbeddedIndex {
        EmbeddedIndex {
            folder,
            documents: DocumentBuilder::new(languages),
            open: Mutex::new(None),
            checks: Mutex::new(None),
            newest: Mutex::new(None),
            layers: Layers::default(),
            vectors: Arc::new(Models::new(state.map(Path::to_owned))),
            reopened: AtomicU64::new(0),
        }
    }

    /// Does `work` with the index, opened, or made if there is none.
    pub(super) fn with_open<T>(
        &self,
        work: impl FnOnce(&mut Opened) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let mut open = locked(&self.open);
        let mut opened = match open.take() {
            Some(opened) => opened,
            None => {
                let directory: Box<dyn Directory> = match &self.folder {
                    None => Box::new(Unlocked(RamDirectory::create())),
                    Some(folder) => {
                        let folder = Folder::create_of_state(folder);
                        let folder = folder.map_err(|error| failed("create", error))?;
                        Box::new(Unlocked(OpenFolder(Arc::new(folder))))
                    }
                };
                Opened::open_or_create(directory, &self.documents.schema)?
            }
        };
        let done = work(&mut opened);
        // After a panic in `work` it is opened again.
        *open = Some(opened);
        done
    }

    /// The newest committed state, as far proved as that is quickly done.
    pub(super) fn committed(&self) -> Result<Arc<Committed>, IndexError> {
        self.proved_at_once(self.opened()?)
    }

    /// The newest committed state. Nobody keeps its files from being removed while they are
    /// opened, so it is looked for again as long as there is another each time.
    pub(super) fn opened(&self) -> Result<Arc<Committed>, IndexError> {
        let mut missed: Option<Option<Vec<u8>>> = None;
        let mut tries = 0;
        loop {
            let error = match guarded(|| self.with_open(Opened::committed)) {
                Ok(committed) => return Ok(committed),
                Err(error) => error,
            };
            // Another process may have begun the index anew below us.
            tracing::debug!(%error, "the index is opened again");
            self.close();
            let found = self
                .folder
                .as_ref()
                .map(|folder| read_meta(folder).unwrap_or_default());
            tries += 1;
            if missed.as_ref() == Some(&found) || tries == MAX_TRIES {
                return Err(error);
            }
            missed = Some(found);
        }
    }

    /// Proves what nobody has proved, unless it is much: that is left to [`crate::index::Index::check_some`].
    fn proved_at_once(&self, committed: Arc<Committed>) -> Result<Arc<Committed>, IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(committed);
        };
        let mut bytes = 0;
        for part in committed.parts.iter().filter(|part| !part.is_looked_at()) {
            self.with_checks(folder, |checks| {
                bytes += checks.unproved_bytes(folder, &part.files);
                if bytes > PROVED_AT_ONCE {
                    return Ok(false);
                }
                checks.prove(folder, &part.files, 0, None)
            })
            .inspect_err(|_| self.close())?;
            part.set_looked_at();
        }
        Ok(committed)
    }

    /// Does `work` with what is known of the files in `folder`.
    pub(super) fn with_checks<T>(&self, folder: &Path, work: impl FnOnce(&mut Checks) -> T) -> T {
        work(locked(&self.checks).get_or_insert_with(|| Checks::of(folder)))
    }

    /// Notes that what is committed was written by this process a moment ago.
    pub(super) fn trust_committed(&self, now: i64) -> Result<(), IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let committed = guarded(|| self.with_open(Opened::committed))?;
        let files = committed.files();
        self.with_checks(folder, |checks| {
            checks.trust(folder, &files, now);
            checks.keep_only(&with_table(files));
        });
        committed.parts.iter().for_each(|part| part.set_looked_at());
        if kept::is_due(folder, &committed.parts) {
            self.keep_rows(folder, now)?;
        }
        self.write_checks(folder);
        Ok(())
    }

    /// The rows that are kept in a file, if there is one, and it is whole as far as that is quickly
    /// proved; those that are known already if it is of the same state.
    fn kept_rows(&self, known: Option<&Arc<MappedTable>>) -> Option<Arc<MappedTable>> {
        let folder = self.folder.as_ref()?;
        let kept = kept::open(folder)?;
        if let Some(known) = known.filter(|known| known.state == kept.state) {
            return Some(Arc::clone(known));
        }
        let file = [PathBuf::from(kept::NAME)];
        let is_whole = self.with_checks(folder, |checks| {
            checks.unproved_bytes(folder, &file) > PROVED_AT_ONCE
                || checks.prove(folder, &file, 0, None).is_ok()
        });
        is_whole.then(|| Arc::new(kept))
    }

    /// Writes the rows of the newest committed state into a file, for whoever opens the index.
    pub(super) fn keep_rows(&self, folder: &Path, now: i64) -> Result<(), IndexError> {
        let view = self.bare_view()?;
        let state = &view.committed().state;
        let written = kept::write(folder, state, &view.table, view.documents());
        if let Err(error) = self.check_files() {
            let _ = columns::remove(&folder.join(kept::NAME));
            return Err(error);
        }
        match written {
            Ok(()) => {
                let file = [PathBuf::from(kept::NAME)];
                self.with_checks(folder, |checks| checks.trust(folder, &file, now));
                // The next view is made of what all processes share.
                *locked(&self.newest) = None;
            }
            // Without it, the rows are read from the segments.
            Err(error) => tracing::debug!("the rows are not kept: {error}"),
        }
        Ok(())
    }

    /// Whether the committed state has been the newest for as long as it takes to be worth a file
    /// of its table: a second for 10,000 rows.
    pub(super) fn is_settled(
        &self,
        folder: &Path,
        committed: &Committed,
        now: DateTime<Utc>,
    ) -> bool {
        let rows = committed.parts.iter().map(|part| part.reader.max_doc());
        let wait = Duration::from_secs(u64::from(rows.sum::<u32>()) / 10_000);
        let modified = || Some(Folder::of_state(folder).ok()?.facts(META).ok()?.modified);
        let moment = |nanos: i64| UNIX_EPOCH + Duration::from_nanos(nanos.max(0).unsigned_abs());
        modified().is_some_and(|nanos| moment(nanos) + wait <= SystemTime::from(now))
    }

    pub(super) fn write_checks(&self, folder: &Path) {
        self.with_checks(folder, |checks| checks.write(folder));
    }

    pub(super) fn view(&self, overlay: &Overlay) -> Result<Arc<dyn Snapshot>, IndexError> {
        let base = self.bare_view()?;
        match overlay.files.is_empty() {
            true => Ok(base),
            false => {
                let layers = self.layers.of(&self.documents, overlay)?;
                let view = EmbeddedSnapshot::over(&base, &layers, overlay)?;
                Ok(Arc::new(view))
            }
        }
    }

    /// The view of what is committed.
    fn bare_view(&self) -> Result<Arc<EmbeddedSnapshot>, IndexError> {
        let committed = self.committed()?;
        let mut newest = locked(&self.newest);
        if let Some(known) = newest.as_ref().filter(|known| known.is_of(&committed)) {
            return Ok(Arc::clone(known));
        }
        let former = newest.take();
        let former = former.as_deref().map(EmbeddedSnapshot::flat);
        let kept = self.kept_rows(former);
        let tables = kept.iter().chain(former);
        let of_index = (&self.documents, &self.vectors);
        let snapshot = Arc::new(EmbeddedSnapshot::of(of_index, &committed, tables)?);
        Ok(Arc::clone(newest.insert(snapshot)))
    }

    /// The name of the first of its files that was cut or written since this process opened it.
    pub(super) fn changed_file(&self) -> Option<String> {
        let state = self.folder.as_ref()?.parent()?;
        let path = columns::changed_in(state)?;
        let name = path.file_name().unwrap_or_default();
        Some(name.to_string_lossy().into_owned())
    }

    /// An error if a file was cut or written since this process opened it: what was made of it may
    /// be wrong.
    pub(super) fn check_files(&self) -> Result<(), IndexError> {
        match self.changed_file() {
            None => Ok(()),
            Some(name) => Err(changed(&name)),
        }
    }

    pub(super) fn close(&self) {
        // Nobody asks after these maps any more, and other threads may have read them. A close for
        // another reason, as for an index that is to be made anew, spoils no answer.
        if self.changed_file().is_some() {
            self.reopened.fetch_add(1, Ordering::AcqRel);
        }
        if let Some(state) = self.folder.as_ref().and_then(|folder| folder.parent()) {
            columns::forget_in(state);
        }
        *locked(&self.open) = None;
        *locked(&self.newest) = None;
        self.layers.clear();
        *locked(&self.checks) = None;
    }
}

pub(super) fn changed(name: &str) -> IndexError {
    IndexError::Unusable {
        reason: format!("{name} was changed while it was read"),
    }
}

/// Some files of an index, and that of the rows.
pub(super) fn with_table(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.push(PathBuf::from(kept::NAME));
    files
}

/// The file that names the segments of the newest state.
const META: &str = "meta.json";

fn read_meta(folder: &Path) -> std::io::Result<Vec<u8>> {
    Folder::of_state(folder)?.read_derived(META)
}
