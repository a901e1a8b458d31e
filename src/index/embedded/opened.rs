//! The opened index, and the committed states in it.

use std::path::PathBuf;
use std::sync::Arc;

use tantivy::directory::Directory as _;
use tantivy::index::SegmentComponent;
use tantivy::schema::Schema;
use tantivy::{Index as TantivyIndex, IndexMeta, SegmentMeta, SegmentReader};

use super::directory::{ReadSince, Unlocked};
use super::failure::unusable;
use super::part::Part;
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
        let is_known = |part: &&Arc<Part>| {
            let reader = part.reader();
            reader.is_some_and(|reader| reader.segment_id() == meta.id())
        };
        let known = known.into_iter().find(is_known);
        if let Some(part) = known.filter(|part| part.deleted() == meta.delete_opstamp()) {
            return Ok(Arc::clone(part));
        }
        let segment = self.index.segment(meta.clone());
        let reader = SegmentReader::open(&segment).map_err(|error| unusable(&error))?;
        let known = known.map(|part| &**part);
        Ok(Arc::new(Part::segment(reader, files(meta), known)))
    }
}

impl Committed {
    /// Returns the files of all segments.
    pub fn files(&self) -> Vec<PathBuf> {
        let parts = self.parts.iter();
        parts.flat_map(|part| part.files.iter().cloned()).collect()
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
