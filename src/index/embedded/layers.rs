//! The documents of an overlay as parts in memory: a few by themselves, some together, and segments.
//!
//! A search after a write has one more document than the search before it: that one is a part by itself. When many
//! are, one part is made of them, together with those of parts that are hardly larger: of loose documents, and of very
//! many a segment, which takes less memory. So each document is indexed a few times, and there are few parts. A
//! document that has left the overlay stays in its part, without a row, until that part is made again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tantivy::directory::RamDirectory;
use tantivy::{Index as TantivyIndex, SegmentReader, TantivyDocument};

use super::failure::{locked, unusable};
use super::part::Part;
use super::schema;
use super::schema::DocumentBuilder;
use crate::index::{Document, IndexError, Overlay};

/// A part is kept while it has at least this many times the documents that come after it.
const RATIO: usize = 4;

/// Number of documents that may be parts by themselves. Each is asked for each term, and to sort the terms of so many
/// together costs as much as these questions in some ten searches.
const BY_THEMSELVES: usize = 32;

/// Number of loose documents of one part. Their terms take some 30 kB each.
const MOST_LOOSE: usize = 512;

/// Memory for the postings of a segment: a few documents' worth, grown as needed.
const BYTES: usize = 1 << 20;

/// A part in memory, and its documents by number.
pub(super) struct Layer {
    /// The segment, or the loose documents.
    pub part: Arc<Part>,
    documents: Vec<Arc<Document>>,
}

/// Parts of the last overlay: large ones first, and then documents by themselves.
#[derive(Default)]
pub(super) struct Layers(Mutex<Vec<Arc<Layer>>>);

impl Layer {
    /// Returns a loose document with its fields.
    fn filled(&self, number: usize) -> Option<Filled> {
        let fields = self.part.documents()?.filled().get(number)?;
        Some(Filled {
            document: Arc::clone(self.documents.get(number)?),
            fields: Arc::clone(fields),
        })
    }

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
    /// Returns parts that hold every document of `overlay` once, and maybe former ones.
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
        let mut new: Vec<Filled> = new.map(|document| Filled::of(builder, document)).collect();
        let by_themselves = layers.iter().filter(|layer| layer.documents.len() == 1);
        if by_themselves.count() + new.len() <= BY_THEMSELVES {
            layers.extend(new.into_iter().map(|filled| loose(builder, vec![filled])));
        } else if !new.is_empty() {
            let is_small = |layer: &mut Arc<Layer>, than: usize| layer.documents.len() < than;
            while let Some(small) = layers.pop_if(|layer| is_small(layer, RATIO * new.len())) {
                let documents = small.documents.iter().enumerate();
                let current = documents.filter(|(_, one)| is_current(one, overlay));
                new.extend(current.map(|(number, one)| {
                    let known = small.filled(number);
                    known.unwrap_or_else(|| Filled::of(builder, one))
                }));
            }
            layers.push(if new.len() <= MOST_LOOSE {
                loose(builder, new)
            } else {
                Arc::new(segment(builder, new)?)
            });
        }
        Ok(layers.clone())
    }

    /// Returns the fields of `document` if it is a loose one.
    pub fn filled(&self, document: &Document) -> Option<Arc<TantivyDocument>> {
        let is_it = |known: &Arc<Document>| {
            known.name == document.name && known.indexed == document.indexed
        };
        locked(&self.0).iter().find_map(|layer| {
            let number = layer.documents.iter().position(is_it)?;
            Some(layer.filled(number)?.fields)
        })
    }

    /// Drops all parts.
    pub fn clear(&self) {
        locked(&self.0).clear();
    }
}

/// A document with its fields.
struct Filled {
    document: Arc<Document>,
    fields: Arc<TantivyDocument>,
}

impl Filled {
    fn of(builder: &DocumentBuilder, document: &Arc<Document>) -> Filled {
        Filled {
            document: Arc::clone(document),
            fields: Arc::new(builder.build(document)),
        }
    }
}

fn loose(builder: &DocumentBuilder, documents: Vec<Filled>) -> Arc<Layer> {
    let (documents, fields) = documents
        .into_iter()
        .map(|one| (one.document, one.fields))
        .unzip();
    Arc::new(Layer {
        part: Arc::new(Part::loose(builder, fields)),
        documents,
    })
}

fn segment(builder: &DocumentBuilder, documents: Vec<Filled>) -> Result<Layer, IndexError> {
    let written = || -> tantivy::Result<SegmentReader> {
        let mut writer = TantivyIndex::builder()
            .schema(builder.schema.clone())
            .tokenizers(schema::tokenizers())
            .single_segment_index_writer::<TantivyDocument>(RamDirectory::create(), BYTES)?;
        for filled in &documents {
            writer.add_document(TantivyDocument::clone(&filled.fields))?;
        }
        let segments = writer.finalize()?.searchable_segments()?;
        // One writer makes one segment, which holds the documents in their order.
        SegmentReader::open(&segments[0])
    };
    Ok(Layer {
        part: Arc::new(Part::in_memory(
            written().map_err(|error| unusable(&error))?,
        )),
        documents: documents.into_iter().map(|one| one.document).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use chrono::{DateTime, Utc};
    use proptest::prelude::*;
    use tantivy::schema::IndexRecordOption;

    use super::*;
    use crate::index::Indexed;
    use crate::index::embedded::rows::documents::newcomers_of;
    use crate::model::{MetaValue, NewMemory, Stamp, Stem, Tier, Timestamp};
    use crate::words::Language;

    fn document(content: &str, title: Option<&str>, topics: &[String], number: u32) -> Document {
        let name = format!("20260114_091500_c{number:07x}.md");
        let new = NewMemory {
            content: content.to_owned(),
            title: title.map(str::to_owned),
            topics: topics.to_vec(),
            user: "mira".to_owned(),
            namespace: number.is_multiple_of(2).then(|| "atlas".to_owned()),
            tier: number.is_multiple_of(3).then_some(Tier::Short),
            importance: number.is_multiple_of(5).then_some(7),
            confidence: number.is_multiple_of(7).then_some(0.5),
            metadata: vec![("weight".to_owned(), MetaValue::Text(format!("{number}")))],
            ..NewMemory::default()
        };
        let at = DateTime::<Utc>::from_timestamp(i64::from(number) * 1_000, 0).unwrap();
        let memory = new.into_memory(Stem::from_file_name(&name[..24]), Timestamp::from_utc(at));
        Document {
            indexed: Indexed {
                stamp: Stamp {
                    size: content.len() as u64,
                    modified: i64::from(number),
                    inode: 7,
                },
                hash: u128::MAX - u128::from(number),
                racy: number.is_multiple_of(11),
            },
            bytes: content.as_bytes().to_vec(),
            memory,
            name,
        }
    }

    /// Everything that a view asks of a part.
    fn told(part: &Part, builder: &DocumentBuilder) -> String {
        let docs = || 0..part.max_doc();
        let mut told = String::new();
        let fields = builder.fields;
        let all = [
            fields.name,
            fields.words,
            fields.title,
            fields.runs,
            fields.topic_runs,
            fields.talk_runs,
            fields.trigrams,
            fields.facts,
            fields.dates,
        ];
        for field in all {
            let mut terms = Vec::new();
            part.each_term(field, "", |term, count| {
                terms.push((String::from_utf8(term.to_vec()).unwrap(), count));
            })
            .unwrap();
            for (term, count) in &terms {
                assert_eq!(part.doc_freq(field, term).unwrap(), *count);
                let record = IndexRecordOption::WithFreqs;
                let mut add = |doc, times| told += &format!("{term} {count} {doc} {times}\n");
                part.each_posting(field, term, record, &mut add).unwrap();
                part.counts_in(field, term, docs(), |place, times| {
                    add(place as u32, times);
                })
                .unwrap();
            }
            assert_eq!(part.doc_freq(field, "no such term").unwrap(), 0);
        }
        let mut values = HashSet::new();
        let is_live = |doc| doc % 2 == 0;
        part.add_values(fields.facts, "topic\0", is_live, &mut values)
            .unwrap();
        let mut values: Vec<String> = values.into_iter().collect();
        values.sort_unstable();
        let mut rows = Vec::new();
        newcomers_of(part, 3, |_| true, &mut rows).unwrap();
        part.each_vector_key(docs(), |doc, key| {
            told += &format!("{doc} {key:x}");
        })
        .unwrap();
        format!("{told}\n{values:?}\n{rows:?} {}", part.max_doc())
    }

    prop_compose! {
        fn any_document()(
            content in "(\\PC{0,40}|[a-zäß]{1,9}|[ \n.-]){0,30}",
            title in proptest::option::of("[a-zA-Z äé]{0,20}"),
            topics in proptest::collection::vec("[a-z ]{1,9}", 0..3),
            number in 0_u32..1_000,
        ) -> Document {
            document(&content, title.as_deref(), &topics, number)
        }
    }

    proptest! {
        #[test]
        fn loose_documents_answer_as_a_segment_of_them(
            documents in proptest::collection::vec(any_document(), 1..6),
        ) {
            let builder = DocumentBuilder::new(&[Language::default()]);
            let documents: Vec<_> = documents.into_iter().map(Arc::new).collect();
            let filled = || documents.iter().map(|one| Filled::of(&builder, one)).collect();
            let loose = loose(&builder, filled());
            let segment = segment(&builder, filled()).unwrap();
            prop_assert_eq!(told(&loose.part, &builder), told(&segment.part, &builder));
        }
    }

    #[test]
    fn many_documents_by_themselves_become_one_part_and_very_many_a_segment() {
        let builder = DocumentBuilder::new(&[Language::default()]);
        let (layers, mut overlay) = (Layers::default(), Overlay::default());
        let mut most = 0;
        for number in 0..700 {
            let document = Arc::new(document("words of it", None, &[], number));
            overlay.files.insert(document.name.clone(), Some(document));
            let now = layers.of(&builder, &overlay).unwrap();
            let documents: usize = now.iter().map(|layer| layer.documents.len()).sum();
            assert_eq!(documents, overlay.files.len());
            most = most.max(now.len());
        }
        assert!(most <= BY_THEMSELVES + 4, "{most}");
        let last = layers.of(&builder, &overlay).unwrap();
        assert!(last[0].part.documents().is_none() && last[0].documents.len() > MOST_LOOSE);
    }
}
