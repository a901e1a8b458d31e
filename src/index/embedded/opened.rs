//! The opened index, and the committed states in it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tantivy::directory::Directory as _;
use tantivy::index::SegmentComponent;
use tantivy::schema::{Field, Schema};
use tantivy::{Index as TantivyIndex, IndexMeta, SegmentMeta, SegmentReader};

use super::directory::{ReadSince, Unlocked};
use super::failure::unusable;
use super::lexicon::Lexicon;
use super::schema;
use crate::index::IndexError;

/// The index in one directory.
pub(super) struct Opened {
    directory: Unlocked,
    index: TantivyIndex,
    newest: Option<Arc<Committed>>,
}

/// A committed state of the index.
pub(super) struct Committed {
    /// Its segments.
    pub parts: Vec<Arc<Part>>,
    /// Name of the state: equal for equal states only.
    pub state: String,
    /// Moment until which racy files are known to be as indexed, in nanoseconds since 1970.
    pub verified: i64,
}

/// One segment, opened; shared by all snapshots that hold it.
pub(super) struct Part {
    /// Tantivy's reader of the segment.
    pub reader: SegmentReader,
    /// Its files, by their names in the directory.
    pub files: Vec<PathBuf>,
    lexicons: Arc<Lexicons>,
    is_looked_at: AtomicBool,
}

/// Lexicons of a segment, for keyword counts, in the order of [`RunsOf`]; deletions do not change them.
type Lexicons = [OnceLock<Lexicon>; 3];

/// Owner of the runs in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunsOf {
    /// Content, user and agent of memories that are no talks.
    Memories,
    /// Topics.
    Topics,
    /// Content, user and agent of talks.
    Talks,
}

impl Opened {
    /// Opens the index in `directory`, or makes an empty one.
    pub fn open_or_create(directory: Unlocked, schema: &Schema) -> Result<Opened, IndexError> {
        let mut index = TantivyIndex::open_or_create(directory.clone(), schema.clone())
            .map_err(|error| unusable(&error))?;
        index.set_tokenizers(schema::tokenizers());
        Ok(Opened {
            directory,
            index,
            newest: None,
        })
    }

    /// Opens the index again for one batch, so that files which others wrote and removed since are known
    /// to it. It publishes no state once a file that was `read` has changed.
    pub fn for_writing(&self, read: Option<ReadSince>) -> Result<TantivyIndex, IndexError> {
        let directory = self.directory.publishing_what_is(read);
        let mut index = TantivyIndex::open(directory).map_err(|error| unusable(&error))?;
        index.set_tokenizers(schema::tokenizers());
        Ok(index)
    }

    /// Returns the newest committed state; segments that are open already are not opened again.
    pub fn committed(&mut self) -> Result<Arc<Committed>, IndexError> {
        let meta = self.index.load_metas().map_err(|error| unusable(&error))?;
        let state = state_key(&meta);
        if let Some(newest) = self.newest.as_ref().filter(|known| known.state == state) {
            return Ok(Arc::clone(newest));
        }
        let parts = meta
            .segments
            .iter()
            .map(|segment| self.part(segment))
            .collect::<Result<Vec<_>, _>>()?;
        // A segment whose positions file is gone opens without error, and fails when it is searched.
        // Files are removed only after a newer state was published.
        let is_whole = |part: &Arc<Part>| {
            let is_there = |path: &PathBuf| self.directory.exists(path).unwrap_or(false);
            part.files.iter().all(is_there)
        };
        if !parts.iter().all(is_whole) {
            let now = self.index.load_metas().map_err(|error| unusable(&error))?;
            if state_key(&now) != state {
                return Err(IndexError::Unusable {
                    reason: "it was replaced while it was opened".to_owned(),
                });
            }
        }
        let verified = meta.payload.as_ref().and_then(|text| text.parse().ok());
        let committed = Committed {
            parts,
            state,
            verified: verified.unwrap_or(0),
        };
        Ok(Arc::clone(self.newest.insert(Arc::new(committed))))
    }

    fn part(&self, meta: &SegmentMeta) -> Result<Arc<Part>, IndexError> {
        let known = self.newest.iter().flat_map(|newest| &newest.parts);
        let known = known
            .into_iter()
            .find(|part| part.reader.segment_id() == meta.id());
        if let Some(part) =
            known.filter(|part| part.reader.delete_opstamp() == meta.delete_opstamp())
        {
            return Ok(Arc::clone(part));
        }
        let segment = self.index.segment(meta.clone());
        Ok(Arc::new(Part {
            reader: SegmentReader::open(&segment).map_err(|error| unusable(&error))?,
            files: files(meta),
            lexicons: known.map_or_else(Arc::default, |part| Arc::clone(&part.lexicons)),
            is_looked_at: AtomicBool::new(false),
        }))
    }
}

impl Committed {
    /// Returns the files of all segments.
    pub fn files(&self) -> Vec<PathBuf> {
        let parts = self.parts.iter();
        parts.flat_map(|part| part.files.iter().cloned()).collect()
    }
}

impl Part {
    /// Returns a segment without files, as verified.
    pub fn in_memory(reader: SegmentReader) -> Part {
        Part {
            reader,
            files: Vec::new(),
            lexicons: Arc::default(),
            is_looked_at: AtomicBool::new(true),
        }
    }

    /// Returns Tantivy's id of the segment.
    pub fn id(&self) -> String {
        self.reader.segment_id().uuid_string()
    }

    /// Returns the number of the operation that last deleted in it.
    pub fn deleted(&self) -> Option<u64> {
        self.reader.delete_opstamp()
    }

    /// Returns whether it was checked that its files are verified.
    pub fn is_looked_at(&self) -> bool {
        self.is_looked_at.load(Ordering::Relaxed)
    }

    /// Marks the segment as checked.
    pub fn set_looked_at(&self) {
        self.is_looked_at.store(true, Ordering::Relaxed);
    }

    /// Returns the distinct terms of `field`, which holds these runs.
    pub fn lexicon(&self, field: Field, of: RunsOf) -> Result<&Lexicon, IndexError> {
        let slot = &self.lexicons[of as usize];
        if slot.get().is_none() {
            let _ = slot.set(Lexicon::read(&self.reader, field)?);
        }
        Ok(slot.get().expect("it was just set"))
    }
}

/// Returns the names of a segment's files; positions exist only if a field has some.
fn files(meta: &SegmentMeta) -> Vec<PathBuf> {
    let mut components = vec![
        SegmentComponent::Postings,
        SegmentComponent::Positions,
        SegmentComponent::FastFields,
        SegmentComponent::FieldNorms,
        SegmentComponent::Terms,
        SegmentComponent::Store,
    ];
    if meta.has_deletes() {
        components.push(SegmentComponent::Delete);
    }
    let paths = components.into_iter();
    paths.map(|part| meta.relative_path(part)).collect()
}

/// Returns the name of the state that was committed last.
pub(super) fn state_of(index: &TantivyIndex) -> Result<String, IndexError> {
    let meta = index.load_metas().map_err(|error| unusable(&error))?;
    Ok(state_key(&meta))
}

/// Returns a text that differs between any two committed states.
fn state_key(state: &IndexMeta) -> String {
    let segments: Vec<String> = state
        .segments
        .iter()
        .map(|segment| {
            format!(
                "{}:{:?}",
                segment.id().uuid_string(),
                segment.delete_opstamp()
            )
        })
        .collect();
    format!(
        "{} {:?} {}",
        state.opstamp,
        state.payload,
        segments.join(" ")
    )
}
