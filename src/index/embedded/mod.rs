//! The index in a local folder: Tantivy for postings and columns, our own ranking over them.
//!
//! Everything known of a file version (its stamp and hash too) is part of its document, so that
//! the record of what is indexed cannot differ from what is. An overlay becomes a segment in
//! memory that is searched like the others.

mod batch;
mod filter;
mod keywords;
mod lexicon;
mod schema;
mod snapshot;
mod table;
mod tokenize;

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use tantivy::Index as TantivyIndex;
use tantivy::IndexReader;
use tantivy::ReloadPolicy;
use tantivy::TantivyError;
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::OpenDirectoryError;
use tantivy::directory::error::OpenReadError;
use tantivy::schema::Schema;

use self::schema::Fields;
use self::snapshot::EmbeddedSnapshot;
use super::Batch;
use super::Index;
use super::IndexError;
use super::Overlay;
use super::Snapshot;
use crate::words::Analyzer;
use crate::words::Language;

/// The index in one folder.
pub struct EmbeddedIndex {
    /// `None`: kept in memory.
    folder: Option<PathBuf>,
    languages: Vec<Language>,
    schema: Schema,
    fields: Fields,
    open: Mutex<Option<Opened>>,
    /// The last committed state that was looked at.
    committed: Mutex<Option<Arc<EmbeddedSnapshot>>>,
}

/// The files of the index, opened.
#[derive(Clone)]
struct Opened {
    index: TantivyIndex,
    reader: IndexReader,
}

impl EmbeddedIndex {
    /// The index in `state`, for texts in `languages`. Opens nothing yet.
    ///
    /// Version and languages are part of the folder's name: an index made in another way is
    /// another index, and is never misread.
    pub fn new(state: &Path, languages: &[Language]) -> EmbeddedIndex {
        let names: Vec<&str> = languages.iter().map(|language| language.name()).collect();
        let name = format!("index-v{}-{}", schema::VERSION, names.join("-"));
        EmbeddedIndex::at(Some(state.join(name)), languages)
    }

    /// An index that lives as long as the process: for stores beside which nothing can be kept.
    pub fn in_memory(languages: &[Language]) -> EmbeddedIndex {
        EmbeddedIndex::at(None, languages)
    }

    fn at(folder: Option<PathBuf>, languages: &[Language]) -> EmbeddedIndex {
        let (schema, fields) = schema::schema();
        EmbeddedIndex {
            folder,
            languages: languages.to_vec(),
            schema,
            fields,
            open: Mutex::new(None),
            committed: Mutex::new(None),
        }
    }

    /// A fresh analyzer for the store's languages.
    fn analyzer(&self) -> Analyzer {
        Analyzer::new(&self.languages)
    }

    /// Opens the index, or makes an empty one.
    fn opened(&self) -> Result<Opened, IndexError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = open.as_ref() {
            return Ok(opened.clone());
        }
        let mut index = match &self.folder {
            None => TantivyIndex::create_in_ram(self.schema.clone()),
            Some(folder) => {
                if !folder.is_dir() {
                    create_private(folder).map_err(|error| failed("create", error))?;
                }
                let directory = MmapDirectory::open(folder).map_err(unusable)?;
                TantivyIndex::open_or_create(directory, self.schema.clone()).map_err(unusable)?
            }
        };
        index.set_tokenizers(schema::tokenizers());
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .map_err(unusable)?;
        Ok(open.insert(Opened { index, reader }).clone())
    }

    fn view(&self, overlay: &Overlay) -> Result<Arc<dyn Snapshot>, IndexError> {
        let mut opened = self.opened()?;
        if let Err(error) = opened.reader.reload() {
            // Another process may have begun the index anew below us: look once more.
            tracing::debug!(%error, "the index is opened again");
            self.close();
            opened = self.opened()?;
        }
        let state = opened.index.load_metas().map_err(unusable)?;
        if !overlay.files.is_empty() {
            return Ok(Arc::new(EmbeddedSnapshot::of(
                self, &opened, &state, overlay,
            )?));
        }
        let mut committed = self
            .committed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = committed.as_ref().filter(|known| known.is_of(&state)) {
            return Ok(Arc::clone(known) as _);
        }
        let snapshot = Arc::new(EmbeddedSnapshot::of(self, &opened, &state, overlay)?);
        Ok(Arc::clone(committed.insert(snapshot)) as _)
    }

    fn close(&self) {
        *self
            .open
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }
}

impl Index for EmbeddedIndex {
    fn snapshot(&self, overlay: &Overlay) -> Result<Arc<dyn Snapshot>, IndexError> {
        guarded(|| self.view(overlay))
    }

    fn batch(&self, expected: usize) -> Result<Box<dyn Batch + '_>, IndexError> {
        Ok(Box::new(batch::EmbeddedBatch::begin(
            self,
            &self.opened()?.index,
            expected,
        )?))
    }

    fn reset(&self) -> Result<(), IndexError> {
        self.close();
        if let Some(folder) = &self.folder {
            // Other processes may have the files open: set aside under a new name, then remove.
            let aside = folder.with_extension(format!("old-{}", std::process::id()));
            match fs::rename(folder, &aside) {
                Ok(()) => fs::remove_dir_all(&aside).map_err(|error| failed("remove", error))?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("remove", error)),
            }
        }
        self.opened().map(drop)
    }

    fn damaged_parts(&self) -> Result<Vec<String>, IndexError> {
        let damaged = guarded(|| self.opened()?.index.validate_checksum().map_err(unusable))?;
        let mut names: Vec<String> = damaged
            .into_iter()
            .map(|path| path.display().to_string())
            .collect();
        names.sort();
        Ok(names)
    }
}

/// Makes `folder` for the user alone, whatever the umask.
fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Does `work` that reads the index's files; damaged ones can make Tantivy panic, which is one
/// more way to be unusable.
fn guarded<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    // What a panic leaves half done is dropped with the index: nothing else is shared.
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(unusable("reading it made the program panic")))
}

/// An error while reading the index.
trait Trouble: std::fmt::Display {
    /// The cause lies with the machine and will pass; the index is no worse for it.
    fn will_pass(&self) -> bool;
}

impl Trouble for &str {
    fn will_pass(&self) -> bool {
        false
    }
}

impl Trouble for io::Error {
    fn will_pass(&self) -> bool {
        #[cfg(unix)]
        {
            use rustix::io::Errno;
            let passing = [
                Errno::MFILE,
                Errno::NFILE,
                Errno::NOMEM,
                Errno::NOSPC,
                Errno::DQUOT,
                Errno::FBIG,
                Errno::ACCESS,
                Errno::PERM,
                Errno::ROFS,
                Errno::INTR,
                Errno::AGAIN,
            ];
            passing
                .iter()
                .any(|errno| Some(*errno) == Errno::from_io_error(self))
        }
        #[cfg(not(unix))]
        {
            matches!(
                self.kind(),
                io::ErrorKind::OutOfMemory
                    | io::ErrorKind::StorageFull
                    | io::ErrorKind::PermissionDenied
            )
        }
    }
}

impl Trouble for OpenDirectoryError {
    fn will_pass(&self) -> bool {
        matches!(self, OpenDirectoryError::IoError { io_error, .. } if io_error.will_pass())
    }
}

impl Trouble for TantivyError {
    fn will_pass(&self) -> bool {
        match self {
            TantivyError::IoError(error) => error.will_pass(),
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => {
                io_error.will_pass()
            }
            TantivyError::OpenDirectoryError(error) => error.will_pass(),
            TantivyError::OpenWriteError(_) | TantivyError::LockFailure(..) => true,
            _ => false,
        }
    }
}

/// What an error while reading says of the index: that it is damaged, unless the machine is short
/// of something. An index is not thrown away for want of a descriptor.
fn unusable(error: impl Trouble) -> IndexError {
    if error.will_pass() {
        failed("read", error)
    } else {
        IndexError::Unusable {
            reason: error.to_string(),
        }
    }
}

fn failed(action: &'static str, error: impl std::fmt::Display) -> IndexError {
    IndexError::Failed {
        action,
        reason: error.to_string(),
    }
}
