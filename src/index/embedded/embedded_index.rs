//! The index in one folder, or in memory: its open files, the newest view, and the verified files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Utc};
use tantivy::directory::RamDirectory;

use super::checks::{Checks, Written};
use super::directory::{META, OpenFolder, Unlocked};
use super::failure::{changed_since, failed, guarded, locked};
use super::layers::Layers;
use super::models::Models;
use super::opened::{Committed, Opened};
use super::rows::kept;
use super::rows::mapped_table::MappedTable;
use super::rows::touched::Touched;
use super::schema;
use super::schema::DocumentBuilder;
use super::snapshot::EmbeddedSnapshot;
use crate::beneath::Folder;
use crate::columns;
use crate::index::{Index as _, IndexError, Overlay, Snapshot};
use crate::model::OtherNames;
use crate::words::Language;

/// An index in one folder, or in memory.
pub struct EmbeddedIndex {
    /// Path of the index folder; `None` of an index in memory.
    pub(super) folder: Option<PathBuf>,
    /// Builder of the index's documents.
    pub(super) documents: DocumentBuilder,
    /// Other names of users.
    people: Arc<OtherNames>,
    open: Mutex<Option<Opened>>,
    /// Verified files; `None` before the record was read.
    checks: Mutex<Option<Checks>>,
    newest: Mutex<Newest>,
    /// Touched files of an index in memory; one in a folder keeps them in a file.
    touched: Mutex<Touched>,
    pub(super) layers: Layers,
    /// Vectors of all models.
    pub(super) vectors: Arc<Models>,
    /// Files that this process wrote in its last batch.
    written: Arc<Written>,
}

/// The view of the last committed state that was looked at.
#[derive(Default)]
struct Newest {
    view: Option<Arc<EmbeddedSnapshot>>,
    /// Number of times that the view was dropped. Files that were opened before the last time may have
    /// been changed, so no view of them is stored here.
    forgotten: u64,
}

/// Maximum number of unverified bytes that are verified on opening: a few milliseconds.
const PROVED_AT_ONCE: u64 = 4 << 20;
/// Maximum number of tries to open a state whose files all exist.
const MAX_TRIES: usize = 20;

impl EmbeddedIndex {
    /// Returns the index in `state`, for texts in `languages`, unopened.
    ///
    /// Version and languages are part of the folder's name: an index made in another way is
    /// another index, and is never misread.
    pub fn new(state: &Path, languages: &[Language]) -> EmbeddedIndex {
        let folder = state.join(folder_name("index", languages));
        EmbeddedIndex::at(Some(state), Some(folder), languages)
    }

    /// Returns the index of the turns of talks beside this one of the memories, likewise: in the same folder of
    /// derived files, with the same vectors of models.
    pub fn of_turns(&self, languages: &[Language]) -> EmbeddedIndex {
        let folder = self
            .state()
            .map(|state| state.join(folder_name("turns", languages)));
        EmbeddedIndex {
            people: Arc::clone(&self.people),
            vectors: Arc::clone(&self.vectors),
            ..EmbeddedIndex::at(None, folder, languages)
        }
    }

    /// Returns an index in memory, for stores beside which no files can be kept.
    pub fn in_memory(languages: &[Language]) -> EmbeddedIndex {
        EmbeddedIndex::at(None, None, languages)
    }

    /// Returns the index whose searches know these other names of users.
    pub fn with_people(mut self, people: &OtherNames) -> EmbeddedIndex {
        self.people = Arc::new(people.clone());
        self
    }

    /// Returns whether it was made: in a folder, or opened in memory.
    pub fn exists(&self) -> bool {
        match &self.folder {
            Some(folder) => folder.join(META).exists(),
            None => locked(&self.open).is_some(),
        }
    }

    fn at(state: Option<&Path>, folder: Option<PathBuf>, languages: &[Language]) -> EmbeddedIndex {
        EmbeddedIndex {
            folder,
            documents: DocumentBuilder::new(languages),
            people: Arc::default(),
            open: Mutex::new(None),
            checks: Mutex::new(None),
            newest: Mutex::default(),
            touched: Mutex::default(),
            layers: Layers::default(),
            vectors: Arc::new(Models::new(state.map(Path::to_owned))),
            written: Arc::default(),
        }
    }

    /// Calls `work` with the opened index, which is made if there is none.
    pub(super) fn with_open<T>(
        &self,
        work: impl FnOnce(&mut Opened) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let mut open = locked(&self.open);
        let mut opened = match open.take() {
            Some(opened) => opened,
            None => {
                let directory = match &self.folder {
                    None => Unlocked::new(RamDirectory::create()),
                    Some(folder) => {
                        let folder = Folder::create_of_state(folder);
                        let folder = folder.map_err(|error| failed("create", error))?;
                        Unlocked::new(OpenFolder {
                            folder: Arc::new(folder),
                            written: Arc::clone(&self.written),
                        })
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

    /// Returns the newest committed state, verified unless that would take long.
    pub(super) fn committed(&self) -> Result<Arc<Committed>, IndexError> {
        self.proved_at_once(self.opened()?)
    }

    /// Returns the newest committed state. Its files may be removed while they are opened; opening is
    /// tried again as long as there is a newer state each time.
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

    /// Verifies unverified files, unless they are large: those are left to [`crate::index::Index::check_some`].
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

    /// Calls `work` with the record of verified files in `folder`.
    pub(super) fn with_checks<T>(&self, folder: &Path, work: impl FnOnce(&mut Checks) -> T) -> T {
        work(locked(&self.checks).get_or_insert_with(|| Checks::of(folder)))
    }

    /// Records as verified the files that this process wrote for the state that it has just committed.
    pub(super) fn trust_committed(&self, now: i64) -> Result<(), IndexError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let committed = guarded(|| self.with_open(Opened::committed))?;
        let files = committed.files();
        self.with_checks(folder, |checks| {
            checks.trust(self.written.take(), now);
            checks.keep_only(&with_table(files));
        });
        let touched = Touched::read(folder).len();
        if kept::is_due(folder, &committed.parts, touched, kept::WITH_A_COMMIT) {
            self.keep_rows(folder, now)?;
        }
        self.write_checks(folder);
        Ok(())
    }

    /// Returns the rows in the table file, if there is one and it is not found damaged (a large file is
    /// not verified here); `known` if that is of the same state.
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

    /// Writes the rows of the newest committed state into the table file.
    pub(super) fn keep_rows(&self, folder: &Path, now: i64) -> Result<(), IndexError> {
        let mark = self.mark();
        let view = self.bare_view()?;
        let state = &view.committed().state;
        let written = kept::write(folder, state, &view.table, view.documents());
        // Rows that were read from a file which was changed meanwhile are not published.
        self.check_files(mark)?;
        match written.and_then(columns::ColumnWriter::finish) {
            Ok(()) => {
                let file = [PathBuf::from(kept::NAME)];
                // It may have been cut before its head was written.
                let proved =
                    self.with_checks(folder, |checks| checks.prove(folder, &file, now, None));
                match proved {
                    // Its rows have the stamps of touched files.
                    Ok(_) => Touched::remove(folder),
                    Err(_) => drop(columns::remove(&folder.join(kept::NAME))),
                }
                // The next view maps the file, whose pages all processes share.
                self.forget_view();
            }
            // Without it, the rows are read from the segments.
            Err(error) => tracing::debug!("the rows are not kept: {error}"),
        }
        Ok(())
    }

    /// Adds to the touched files that are kept beside the table.
    pub(super) fn keep_touched(&self, new: Touched) {
        if new.is_empty() {
            return;
        }
        match &self.folder {
            None => locked(&self.touched).extend(new),
            Some(folder) => {
                let mut touched = Touched::read(folder);
                touched.extend(new);
                // Without them, these files are read again.
                if let Err(error) = touched.write(folder) {
                    tracing::debug!("the stamps of touched files are not kept: {error}");
                }
            }
        }
    }

    /// Returns the touched files that are kept beside the table.
    pub(super) fn touched(&self) -> Touched {
        match &self.folder {
            None => locked(&self.touched).clone(),
            Some(folder) => Touched::read(folder),
        }
    }

    /// Returns whether the committed state is old enough for a table file to pay: a second for 10,000 rows.
    pub(super) fn is_settled(
        &self,
        folder: &Path,
        committed: &Committed,
        now: DateTime<Utc>,
    ) -> bool {
        let rows = committed.parts.iter().map(|part| part.max_doc());
        let wait = Duration::from_secs(u64::from(rows.sum::<u32>()) / 10_000);
        let modified = || Some(Folder::of_state(folder).ok()?.facts(META).ok()?.modified);
        let moment = |nanos: i64| UNIX_EPOCH + Duration::from_nanos(nanos.max(0).unsigned_abs());
        modified().is_some_and(|nanos| moment(nanos) + wait <= SystemTime::from(now))
    }

    /// Writes the record of verified files into `folder`.
    pub(super) fn write_checks(&self, folder: &Path) {
        self.with_checks(folder, |checks| checks.write(folder));
    }

    /// Returns the view of the newest committed state with `overlay` over it.
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

    /// Returns the view of the newest committed state, without an overlay.
    fn bare_view(&self) -> Result<Arc<EmbeddedSnapshot>, IndexError> {
        let mut tries = 0;
        loop {
            let forgotten = locked(&self.newest).forgotten;
            let committed = self.committed()?;
            let mut newest = locked(&self.newest);
            tries += 1;
            if newest.forgotten != forgotten && tries < MAX_TRIES {
                continue;
            }
            if let Some(known) = newest.view.as_ref().filter(|known| known.is_of(&committed)) {
                return Ok(Arc::clone(known));
            }
            let former = newest.view.take();
            // Before the table, which takes them over.
            let touched = self.touched();
            let tables = self.tables_beside(former.as_deref());
            let of_index = (&self.documents, &self.vectors, &self.people);
            let snapshot = EmbeddedSnapshot::of(of_index, &committed, &tables, &touched)?;
            let snapshot = Arc::new(snapshot);
            return Ok(Arc::clone(newest.view.insert(snapshot)));
        }
    }

    /// Returns the tables of which the next view is made, if it can be: that of the file, and that of the newest view.
    pub(super) fn tables(&self) -> Vec<Arc<MappedTable>> {
        let newest = locked(&self.newest).view.clone();
        self.tables_beside(newest.as_deref())
    }

    fn tables_beside(&self, newest: Option<&EmbeddedSnapshot>) -> Vec<Arc<MappedTable>> {
        let former = newest.map(EmbeddedSnapshot::flat);
        let kept = self.kept_rows(former);
        kept.into_iter().chain(former.cloned()).collect()
    }

    /// Returns the folder of derived files that holds the index folder; `None` of an index in memory.
    pub(super) fn state(&self) -> Option<&Path> {
        self.folder.as_ref()?.parent()
    }

    /// Returns an error if a file that was read since `mark` was cut or written: results may be wrong.
    pub(super) fn check_files(&self, mark: u64) -> Result<(), IndexError> {
        let error = self.state().and_then(|state| changed_since(state, mark));
        error.map_or(Ok(()), Err)
    }

    /// Drops everything that is open; the next use opens it again. Existing views stay valid.
    pub(super) fn close(&self) {
        *locked(&self.open) = None;
        self.forget_view();
        self.layers.clear();
        *locked(&self.checks) = None;
    }

    /// Drops the newest view, so that the next one is made again.
    pub(super) fn forget_view(&self) {
        let mut newest = locked(&self.newest);
        newest.view = None;
        newest.forgotten += 1;
    }
}

/// Returns the name of the folder of an index: what it holds, its version, and the languages of its texts.
fn folder_name(of: &str, languages: &[Language]) -> String {
    let names: Vec<&str> = languages.iter().map(|language| language.name()).collect();
    format!("{of}-v{}-{}", schema::VERSION, names.join("-"))
}

/// Adds the table file to files of an index.
pub(super) fn with_table(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.push(PathBuf::from(kept::NAME));
    files
}

fn read_meta(folder: &Path) -> std::io::Result<Vec<u8>> {
    Folder::of_state(folder)?.read_derived(META)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::unix::fs::FileExt as _;

    use super::*;
    use crate::index::{Document, Indexed};
    use crate::model::{Memory, NewMemory, Stamp, Stem, Timestamp};

    fn document(number: u32) -> Document {
        let name = format!("20260114_091500_c{number:07x}.md");
        // Words that make a dictionary of more than is read at once.
        let words: String = (0..40)
            .map(|word| format!("{:x} ", (number * 40 + word).wrapping_mul(2_654_435_761)))
            .collect();
        Document {
            indexed: Indexed {
                stamp: Stamp::default(),
                hash: u128::from(number),
                racy: false,
            },
            memory: memory(&name, &words),
            bytes: words.into_bytes(),
            name,
        }
    }

    fn memory(name: &str, content: &str) -> Memory {
        let new = NewMemory {
            content: content.to_owned(),
            ..NewMemory::default()
        };
        let epoch = Timestamp::from_utc(DateTime::UNIX_EPOCH);
        new.into_memory(Stem::from_file_name(&name[..24]), epoch)
    }

    /// Returns an index of 300 documents in a folder of derived things.
    fn committed() -> (tempfile::TempDir, EmbeddedIndex) {
        let state = tempfile::tempdir().unwrap();
        let index = EmbeddedIndex::new(state.path(), &[Language::default()]);
        let mut batch = index.batch(300).unwrap();
        batch.upsert_all((0..300).map(document).collect()).unwrap();
        batch.commit(1).unwrap();
        (state, index)
    }

    /// Returns a file of the index that is mapped, and not read.
    fn large_file(index: &EmbeddedIndex) -> PathBuf {
        let files = index.opened().unwrap().files().into_iter();
        let mut paths = files.map(|name| index.folder.as_ref().unwrap().join(name));
        let is_large = |path: &PathBuf| path.metadata().is_ok_and(|file| file.len() > 64 << 10);
        paths.find(is_large).expect("one file is large")
    }

    fn cut(path: &Path) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    }

    #[test]
    fn a_file_that_is_cut_after_others_opened_everything_anew_is_noticed() {
        let (_state, index) = committed();
        let mark = index.mark();
        let view = index.snapshot(&Overlay::default()).unwrap();
        let path = large_file(&index);
        index.close();
        index.reopen();
        assert!(index.changed_since(mark).is_none());
        cut(&path);
        assert!(index.changed_since(mark).is_some());
        drop(view);
        assert!(index.changed_since(mark).is_some());
    }

    #[test]
    fn a_view_of_files_that_were_opened_before_is_not_the_newest() {
        let (_state, index) = committed();
        let before = index.bare_view().unwrap();
        let again = index.bare_view().unwrap();
        assert!(Arc::ptr_eq(&before, &again));
        // As a thread does that opened the files before they were opened anew.
        index.close();
        locked(&index.newest).view = Some(Arc::clone(&before));
        let view = index.bare_view().unwrap();
        assert!(!Arc::ptr_eq(&before, &view));
        assert_eq!(before.committed().state, view.committed().state);
    }

    #[test]
    fn what_was_cut_since_it_was_written_is_not_taken_for_whole() {
        let (state, index) = committed();
        let files = index.opened().unwrap().files();
        drop(index);
        let folder = state.path().join("other");
        let folder = Folder::create_of_state(&folder).unwrap();
        let written = Written::default();
        for (number, path) in files.iter().enumerate() {
            let name = path.to_str().unwrap();
            let whole = std::fs::read(state.path().join(folder_of(&state)).join(name)).unwrap();
            let mut file = folder
                .open_file(name, crate::beneath::Access::CreateNew)
                .unwrap();
            file.write_all(&whole).unwrap();
            written.note(name, &file, whole.len() as u64).unwrap();
            if number < 2 {
                cut(&folder.path().join(name));
            }
        }
        let mut checks = Checks::default();
        checks.trust(written.take(), 0);
        for (number, path) in files.iter().enumerate() {
            let file = std::slice::from_ref(path);
            let proved = checks.prove(folder.path(), file, 0, None);
            assert_eq!(proved.is_err(), number < 2, "{path:?}: {proved:?}");
        }
    }

    fn folder_of(state: &tempfile::TempDir) -> PathBuf {
        let mut folders = std::fs::read_dir(state.path()).unwrap();
        let is_index = |path: &PathBuf| path.join(META).exists();
        let found = folders.find_map(|entry| Some(entry.ok()?.path()).filter(is_index));
        found.expect("there is an index")
    }

    #[test]
    fn no_state_is_published_that_was_made_of_a_file_that_was_cut() {
        let (_state, index) = committed();
        let view = index.snapshot(&Overlay::default()).unwrap();
        let path = large_file(&index);
        let meta = index.folder.as_ref().unwrap().join(META);
        let before = std::fs::read(&meta).unwrap();
        let mut batch = index.batch(1).unwrap();
        batch.upsert(document(300)).unwrap();
        let last = File::options().write(true).open(&path).unwrap();
        let length = last.metadata().unwrap().len();
        last.write_at(&[0; 100], length - 100).unwrap();
        assert!(matches!(batch.commit(2), Err(IndexError::Unusable { .. })));
        assert_eq!(std::fs::read(&meta).unwrap(), before);
        drop(view);
    }
}
