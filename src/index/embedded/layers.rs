//! The documents of an overlay as segments in memory.
//!
//! A search after a write has one more document than the search before it: only that one is indexed,
//! together with those of segments that are hardly larger. So each document is indexed a few times,
//! and there are few segments. A document that has left the overlay stays in its segment, without a
//! row, until that segment is made again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tantivy::directory::RamDirectory;
use tantivy::{Index as TantivyIndex, SegmentReader, TantivyDocument};

use super::failure::{locked, unusable};
use super::opened::Part;
use super::schema;
use super::schema::DocumentBuilder;
use crate::index::{Document, IndexError, Overlay};

/// A segment is kept while it has at least this many times the documents that come after it.
const RATIO: usize = 4;

/// Memory for the postings of a segment: a few documents' worth, grown as needed.
const BYTES: usize = 1 << 20;

/// A segment in memory, and its documents by number.
pub(super) struct Layer {
    /// The segment.
    pub part: Arc<Part>,
    documents: Vec<Arc<Document>>,
}

/// Segments of the last overlay.
#[derive(Default)]
pub(super) struct Layers(Mutex<Vec<Arc<Layer>>>);

impl Layer {
    /// Returns whether `overlay` still holds the document of this number.
    pub fn is_current(&self, doc: u32, overlay: &Overlay) -> bool {
        let document = self.documents.get(doc as usize);
        document.is_some_and(|document| is_current(document, overlay))
    }
}

fn is_current(document: &Arc<Document>, overlay: &Overlay) -> bool {
    let now = overlay.files.get(&document.name);
    let now = now.and_then(Option::as_ref);
    now.is_some_and(|now| Arc::ptr_eq(now, document))
}

impl Layers {
    /// Returns segments that hold every document of `overlay` once, and maybe former ones.
    pub fn of(
        &self,
        builder: &DocumentBuilder,
        overlay: &Overlay,
    ) -> Result<Vec<Arc<Layer>>, IndexError> {
        let mut layers = locked(&self.0);
        let is_of_use =
            |layer: &Arc<Layer>| layer.documents.iter().any(|one| is_current(one, overlay));
        layers.retain(is_of_use);
        let known = layers.iter().flat_map(|layer| &layer.documents);
        let known: HashSet<*const Document> = known.map(Arc::as_ptr).collect();
        let documents = overlay.files.values().flatten();
        let new = documents.filter(|document| !known.contains(&Arc::as_ptr(document)));
        let mut new: Vec<Arc<Document>> = new.cloned().collect();
        if !new.is_empty() {
            let is_small = |layer: &mut Arc<Layer>, than: usize| layer.documents.len() < than;
            while let Some(small) = layers.pop_if(|layer| is_small(layer, RATIO * new.len())) {
                let documents = small.documents.iter();
                new.extend(documents.filter(|one| is_current(one, overlay)).cloned());
            }
            layers.push(Arc::new(layer(builder, new)?));
        }
        Ok(layers.clone())
    }

    /// Drops all segments.
    pub fn clear(&self) {
        locked(&self.0).clear();
    }
}

fn layer(builder: &DocumentBuilder, documents: Vec<Arc<Document>>) -> Result<Layer, IndexError> {
    let written = || -> tantivy::Result<SegmentReader> {
        let mut writer = TantivyIndex::builder()
            .schema(builder.schema.clone())
            .tokenizers(schema::tokenizers())
            .single_segment_index_writer::<TantivyDocument>(RamDirectory::create(), BYTES)?;
        let mut add = |document: &Arc<Document>| writer.add_document(builder.build(document));
        documents.iter().try_for_each(&mut add)?;
        let segments = writer.finalize()?.searchable_segments()?;
        // One writer makes one segment, which holds the documents in their order.
        SegmentReader::open(&segments[0])
    };
    Ok(Layer {
        part: Arc::new(Part::in_memory(
            written().map_err(|error| unusable(&error))?,
        )),
        documents,
    })
}
