//! The index in a local folder: Tantivy for postings and columns, our own ranking over them.
//!
//! Everything known of a file version (its stamp and hash too) is part of its document, so that
//! the record of what is indexed cannot differ from what is. An overlay becomes a segment in
//! memory that is searched like the others.

mod answer;
mod batch;
mod checks;
mod directory;
mod documents;
mod failure;
mod filter;
mod kept;
mod keywords;
mod layers;
mod lexicon;
mod mapped_table;
mod meaning;
mod models;
mod opened;
mod schema;
mod sharing;
mod snapshot;
mod table;
mod tokenize;
mod unused_indexes;

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

use chrono::DateTime;
use chrono::Utc;
use tantivy::directory::Directory;
use tantivy::directory::RamDirectory;
use tantivy::schema::Schema;

use self::checks::Checks;
use self::directory::OpenFolder;
use self::directory::Unlocked;
use self::failure::failed;
use self::failure::guarded;
use self::layers::Layers;
use self::mapped_table::MappedTable;
use self::models::Models;
use self::opened::Committed;
use self::opened::Opened;
use self::schema::Fields;
use self::snapshot::EmbeddedSnapshot;
use super::Batch;
use super::Index;
use super::IndexError;
use super::Overlay;
use super::Snapshot;
use crate::beneath::Folder;
use crate::columns;
use crate::vectors::Key;
use crate::words::Analyzer;
use crate::words::Language;

/// The index in one folder.
pub struct EmbeddedIndex {
    /// `None`: kept in memory.
    folder: Option<PathBuf>,
    schema: Schema,
    fields: Fields,
    open: Mutex<Option<Opened>>,
    /// `None`: nothing was read of it yet.
    checks: Mutex<Option<Checks>>,
    /// The view of the last committed state that was looked at.
    newest: Mutex<Option<Arc<EmbeddedSnapshot>>>,
    layers: Layers,
    analyzers: Arc<Analyzers>,
    vectors: Arc<Models>,
    /// How often it was opened again because files were changed below it.
    reopened: AtomicU64,
}

/// Analyzers that nobody uses at the moment: what they remember of words is worth keeping.
struct Analyzers {
    languages: Vec<Language>,
    idle: Mutex<Vec<Analyzer>>,
}

/// So many unproved bytes are proved when they are opened: a few milliseconds.
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
        let (schema, fields) = schema::schema();
        EmbeddedIndex {
            folder,
            schema,
            fields,
            open: Mutex::new(None),
            checks: Mutex::new(None),
            newest: Mutex::new(None),
            layers: Layers::default(),
            analyzers: Arc::new(Analyzers {
                languages: languages.to_vec(),
                idle: Mutex::new(Vec::new()),
            }),
            vectors: Arc::new(Models::new(state.map(Path::to_owned))),
            reopened: AtomicU64::new(0),
        }
    }

    /// Does `work` with the index, opened, or made if there is none.
    fn with_open<T>(
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
                Opened::open_or_create(directory, &self.schema)?
            }
        };
        let done = work(&mut opened);
        // After a panic in `work` it is opened again.
        *open = Some(opened);
        done
    }

    /// The newest committed state, as far proved as that is quickly done.
    fn committed(&self) -> Result<Arc<Committed>, IndexError> {
        self.proved_at_once(self.opened()?)
    }

    /// The newest committed state. Nobody keeps its files from being removed while they are
    /// opened, so it is looked for again as long as there is another each time.
    fn opened(&self) -> Result<Arc<Committed>, IndexError> {
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

    /// Proves what nobody has proved, unless it is much: that is left to [`Index::check_some`].
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
    fn with_checks<T>(&self, folder: &Path, work: impl FnOnce(&mut Checks) -> T) -> T {
        work(locked(&self.checks).get_or_insert_with(|| Checks::of(folder)))
    }

    /// Notes that what is committed was written by this process a moment ago.
    fn trust_committed(&self, now: i64) -> Result<(), IndexError> {
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
    fn keep_rows(&self, folder: &Path, now: i64) -> Result<(), IndexError> {
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
    fn is_settled(&self, folder: &Path, committed: &Committed, now: DateTime<Utc>) -> bool {
        let rows = committed.parts.iter().map(|part| part.reader.max_doc());
        let wait = Duration::from_secs(u64::from(rows.sum::<u32>()) / 10_000);
        let modified = || Some(Folder::of_state(folder).ok()?.facts(META).ok()?.modified);
        let moment = |nanos: i64| UNIX_EPOCH + Duration::from_nanos(nanos.max(0).unsigned_abs());
        modified().is_some_and(|nanos| moment(nanos) + wait <= SystemTime::from(now))
    }

    fn write_checks(&self, folder: &Path) {
        self.with_checks(folder, |checks| checks.write(folder));
    }

    fn view(&self, overlay: &Overlay) -> Result<Arc<dyn Snapshot>, IndexError> {
        let base = self.bare_view()?;
        match overlay.files.is_empty() {
            true => Ok(base),
            false => Ok(Arc::new(EmbeddedSnapshot::over(&base, self, overlay)?)),
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
        let snapshot = EmbeddedSnapshot::of(self, &committed, former.as_deref())?;
        let snapshot = Arc::new(snapshot);
        Ok(Arc::clone(newest.insert(snapshot)))
    }

    /// The name of the first of its files that was cut or written since this process opened it.
    fn changed_file(&self) -> Option<String> {
        let state = self.folder.as_ref()?.parent()?;
        let path = columns::changed_in(state)?;
        let name = path.file_name().unwrap_or_default();
        Some(name.to_string_lossy().into_owned())
    }

    /// An error if a file was cut or written since this process opened it: what was made of it may
    /// be wrong.
    fn check_files(&self) -> Result<(), IndexError> {
        match self.changed_file() {
            None => Ok(()),
            Some(name) => Err(changed(&name)),
        }
    }

    fn close(&self) {
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

impl Index for EmbeddedIndex {
    fn snapshot(&self, overlay: &Overlay) -> Result<Arc<dyn Snapshot>, IndexError> {
        guarded(|| self.view(overlay))
    }

    fn batch(&self, expected: usize) -> Result<Box<dyn Batch + '_>, IndexError> {
        guarded(|| {
            // Deleting in a damaged segment, or merging it, could end the whole process.
            let committed = self.committed()?;
            if let Some(folder) = &self.folder {
                let files = committed.files();
                self.with_checks(folder, |checks| {
                    checks.learn(folder);
                    checks.prove(folder, &files, 0, None)
                })?;
            }
            let tantivy = self.with_open(|opened| opened.for_writing())?;
            let batch = batch::EmbeddedBatch::begin(self, &tantivy, expected)?;
            Ok(Box::new(batch) as Box<dyn Batch + '_>)
        })
    }

    fn reset(&self) -> Result<(), IndexError> {
        self.close();
        if let Some(folder) = &self.folder {
            // Other processes may have the files open.
            match unused_indexes::remove(folder) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("remove", error)),
            }
        }
        let removed = self.vectors.remove_unsound();
        removed.map_err(|error| failed("remove damaged vectors beside", error))?;
        guarded(|| self.with_open(|_| Ok(())))
    }

    fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(Key, Vec<Vec<f32>>)>,
    ) -> Result<(), IndexError> {
        let kept = self.vectors.keep(model, vectors);
        kept.map_err(|error| failed("write vectors beside", error))
    }

    fn tidy_vectors(&self, models: &[&str], wanted: &HashSet<Key>) -> Result<(), IndexError> {
        let tidied = self.vectors.tidy(models, wanted);
        tidied.map_err(|error| failed("put in order the vectors beside", error))
    }

    fn models(&self) -> Vec<String> {
        self.vectors.names()
    }

    fn mark(&self) -> u64 {
        self.reopened.load(Ordering::Acquire)
    }

    fn changed_since(&self, mark: u64) -> Option<IndexError> {
        match self.changed_file() {
            Some(name) => Some(changed(&name)),
            None if self.mark() != mark => Some(changed("the index")),
            None => None,
        }
    }

    fn is_sound_when_reopened(&self) -> Result<bool, IndexError> {
        self.close();
        let proved = guarded(|| {
            let committed = self.opened()?;
            let Some(folder) = &self.folder else {
                return Ok(());
            };
            let files = with_table(committed.files());
            self.with_checks(folder, |checks| checks.prove(folder, &files, 0, None))?;
            let vectors = self.vectors.unsound();
            let vectors = vectors.map_err(|error| failed("read vectors beside", error))?;
            match vectors.first() {
                None => Ok(()),
                Some(name) => Err(changed(name)),
            }
        });
        match proved {
            Ok(()) => Ok(true),
            Err(IndexError::Unusable { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn damaged_parts(&self) -> Result<Vec<String>, IndexError> {
        let committed = self.opened()?;
        let Some(folder) = &self.folder else {
            return Ok(Vec::new());
        };
        let mut files = committed.files();
        if kept::state_in(folder).is_some() {
            files = with_table(files);
        }
        let mut damaged = checks::damaged_files(folder, &files)?;
        let vectors = self.vectors.unsound();
        damaged.extend(vectors.map_err(|error| failed("read vectors beside", error))?);
        Ok(damaged)
    }

    fn check_some(&self, budget: Duration, moment: DateTime<Utc>) -> Result<bool, IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(true);
        };
        let deadline = Instant::now() + budget;
        let committed = self.committed()?;
        let files = committed.files();
        let table = [PathBuf::from(kept::NAME)];
        let now = moment.timestamp_nanos_opt().unwrap_or(0);
        let kept = kept::state_in(folder);
        let (is_done, is_table_whole) = self.with_checks(folder, |checks| {
            checks.learn(folder);
            let is_done = checks.prove(folder, &files, now, Some(deadline))?;
            let is_table_whole = match is_done && kept.is_some() {
                true => checks.prove(folder, &table, now, Some(deadline)).ok(),
                false => None,
            };
            checks.keep_only(&with_table(files));
            Ok((is_done, is_table_whole))
        })?;
        let is_current = kept.as_ref() == Some(&committed.state);
        let is_all = match is_table_whole {
            _ if !is_done => false,
            Some(true) if is_current => true,
            Some(false) => false,
            is_whole => {
                if is_whole.is_none() && kept.is_some() {
                    // It is damaged: what was made from it, too.
                    let _ = columns::remove(&folder.join(kept::NAME));
                    *locked(&self.newest) = None;
                }
                // Without any, each process reads all segments.
                let is_settled = kept.is_none() || self.is_settled(folder, &committed, moment);
                if is_settled {
                    self.keep_rows(folder, now)?;
                }
                is_settled
            }
        };
        self.write_checks(folder);
        unused_indexes::touch(folder, moment.into());
        Ok(is_all)
    }

    fn remove_unused(&self, now: DateTime<Utc>) -> Result<usize, IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(0);
        };
        unused_indexes::touch(folder, now.into());
        unused_indexes::remove_unused(folder, schema::VERSION, now.into())
            .map_err(|error| failed("clean up beside", error))
    }
}

impl Analyzers {
    /// Does `work` with an analyzer of its own.
    fn lend<T>(&self, work: impl FnOnce(&mut Analyzer) -> T) -> T {
        let idle = locked(&self.idle).pop();
        let mut analyzer = idle.unwrap_or_else(|| Analyzer::new(&self.languages));
        let done = work(&mut analyzer);
        locked(&self.idle).push(analyzer);
        done
    }
}

fn changed(name: &str) -> IndexError {
    IndexError::Unusable {
        reason: format!("{name} was changed while it was read"),
    }
}

/// Some files of an index, and that of the rows.
fn with_table(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.push(PathBuf::from(kept::NAME));
    files
}

/// What a panic left half done is thrown away by whoever caught it; the lock is as good as before.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file that names the segments of the newest state.
const META: &str = "meta.json";

fn read_meta(folder: &Path) -> std::io::Result<Vec<u8>> {
    Folder::of_state(folder)?.read_derived(META)
}
