//! The index's files, opened, and each committed state as it is found in them.

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

/// What was committed at one moment.
pub(super) struct Committed {
    pub parts: Vec<Arc<Part>>,
    /// Equal for equal states only.
    pub state: String,
    /// Until when racy files are known to be as indexed, in nanoseconds since 1970.
    pub verified: i64,
}

/// One segment, opened; shared by all snapshots that hold it.
pub(super) struct Part {
    pub reader: SegmentReader,
    /// Its files, by their names in the directory.
    pub files: Vec<PathBuf>,
    lexicons: Arc<Lexicons>,
    is_looked_at: AtomicBool,
}

/// What was read of a segment for keyword counts; deletions change nothing about it.
#[derive(Default)]
struct Lexicons {
    runs: OnceLock<Lexicon>,
    topic_runs: OnceLock<Lexicon>,
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

    /// The index for one batch. What others wrote and removed since is known to it, so that it
    /// leaves nothing behind. It publishes nothing once a file was changed that was `read`.
    pub fn for_writing(&self, read: Option<ReadSince>) -> Result<TantivyIndex, IndexError> {
        let directory = self.directory.publishing_what_is(read);
        let mut index = TantivyIndex::open(directory).map_err(|error| unusable(&error))?;
        index.set_tokenizers(schema::tokenizers());
        Ok(index)
    }

    /// The newest committed state; segments that were there before are not opened again.
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
        // A segment whose positions are gone opens as one that has none, and fails when it is
        // searched: files go only after another state was put in the place of this one.
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
    /// The files of all segments.
    pub fn files(&self) -> Vec<PathBuf> {
        let parts = self.parts.iter();
        parts.flat_map(|part| part.files.iter().cloned()).collect()
    }
}

impl Part {
    /// A segment that lies in no directory of ours.
    pub fn in_memory(reader: SegmentReader) -> Part {
        Part {
            reader,
            files: Vec::new(),
            lexicons: Arc::default(),
            is_looked_at: AtomicBool::new(true),
        }
    }

    /// What Tantivy calls it.
    pub fn id(&self) -> String {
        self.reader.segment_id().uuid_string()
    }

    /// The number of what was deleted in it last.
    pub fn deleted(&self) -> Option<u64> {
        self.reader.delete_opstamp()
    }

    /// Somebody has looked whether its files are proved.
    pub fn is_looked_at(&self) -> bool {
        self.is_looked_at.load(Ordering::Relaxed)
    }

    pub fn set_looked_at(&self) {
        self.is_looked_at.store(true, Ordering::Relaxed);
    }

    /// The distinct terms of `field`, which holds the runs of topics or of everything else.
    pub fn lexicon(&self, field: Field, of_topics: bool) -> Result<&Lexicon, IndexError> {
        let slot = if of_topics {
            &self.lexicons.topic_runs
        } else {
            &self.lexicons.runs
        };
        if slot.get().is_none() {
            let _ = slot.set(Lexicon::read(&self.reader, field)?);
        }
        Ok(slot.get().expect("it was just set"))
    }
}

/// The files of a segment; the positions are there only if a field has some.
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

/// The name of the state that was committed last.
pub(super) fn state_of(index: &TantivyIndex) -> Result<String, IndexError> {
    let meta = index.load_metas().map_err(|error| unusable(&error))?;
    Ok(state_key(&meta))
}

/// A text that differs between any two committed states.
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
