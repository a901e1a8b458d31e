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
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

use tantivy::Index as TantivyIndex;
use tantivy::IndexReader;
use tantivy::ReloadPolicy;
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
    folder: PathBuf,
    analyzer: Analyzer0,
    schema: Schema,
    fields: Fields,
    open: Mutex<Option<Opened>>,
}

/// An analyzer to make others from; each use has its own.
struct Analyzer0(Vec<Language>);

impl Analyzer0 {
    fn fresh(&self) -> Analyzer {
        Analyzer::new(&self.0)
    }
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
        let languages_name: Vec<&str> = languages.iter().map(|language| language.name()).collect();
        let name = format!("index-v{}-{}", schema::VERSION, languages_name.join("-"));
        let (schema, fields) = schema::schema();
        EmbeddedIndex {
            folder: state.join(name),
            analyzer: Analyzer0(languages.to_vec()),
            schema,
            fields,
            open: Mutex::new(None),
        }
    }

    /// Opens the index, or makes an empty one.
    fn opened(&self) -> Result<Opened, IndexError> {
        let mut open = self
            .open
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(opened) = open.as_ref() {
            return Ok(opened.clone());
        }
        if !self.folder.join("meta.json").exists() {
            create_private(&self.folder).map_err(|error| failed("create", error))?;
        }
        let directory = tantivy::directory::MmapDirectory::open(&self.folder).map_err(unusable)?;
        let mut index =
            TantivyIndex::open_or_create(directory, self.schema.clone()).map_err(unusable)?;
        index.set_tokenizers(schema::tokenizers(&self.analyzer.fresh()));
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .map_err(unusable)?;
        Ok(open.insert(Opened { index, reader }).clone())
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
        let opened = self.opened()?;
        if let Err(error) = opened.reader.reload() {
            // Another process may have begun the index anew below us: look once more.
            self.close();
            tracing::debug!(%error, "the index is opened again");
            let opened = self.opened()?;
            return EmbeddedSnapshot::of(self, &opened, overlay).map(|s| Arc::new(s) as _);
        }
        EmbeddedSnapshot::of(self, &opened, overlay).map(|snapshot| Arc::new(snapshot) as _)
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
        // Other processes may have the files open: set aside under a new name, then remove.
        let aside = self
            .folder
            .with_extension(format!("old-{}", std::process::id()));
        match fs::rename(&self.folder, &aside) {
            Ok(()) => fs::remove_dir_all(&aside).map_err(|error| failed("remove", error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("remove", error)),
        }
        self.opened().map(drop)
    }

    fn damaged_parts(&self) -> Result<Vec<String>, IndexError> {
        let damaged = self.opened()?.index.validate_checksum().map_err(unusable)?;
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

fn unusable(error: impl std::fmt::Display) -> IndexError {
    IndexError::Unusable {
        reason: error.to_string(),
    }
}

fn failed(action: &'static str, error: impl std::fmt::Display) -> IndexError {
    IndexError::Failed {
        action,
        reason: error.to_string(),
    }
}
