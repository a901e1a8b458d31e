//! An unchanging view: the committed segments, the overlay's, and one table over both.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;

use tantivy::DocSet;
use tantivy::SegmentReader;
use tantivy::TERMINATED;
use tantivy::Term;
use tantivy::postings::Postings as _;
use tantivy::schema::Field;
use tantivy::schema::IndexRecordOption;

use super::Analyzers;
use super::EmbeddedIndex;
use super::locked;
use super::meaning::Keys;
use super::meaning::Places;
use super::models::Models;
use super::opened::Committed;
use super::opened::Part;
use super::schema::Fields;
use super::table::NO_ROW;
use super::table::RowsOf;
use super::table::Table;
use super::tokenize;
use super::trouble::failed;
use super::trouble::unusable;
use crate::columns::Column;
use crate::index::Embedded;
use crate::index::IndexError;
use crate::index::Overlay;
use crate::index::Snapshot as _;
use crate::index::facts;
use crate::ranking::Names;
use crate::ranking::fused::Cosines;
use crate::ranking::keyword::Count;
use crate::ranking::keyword::Keyword;

pub(super) struct EmbeddedSnapshot {
    pub(super) fields: Fields,
    pub(super) table: Table,
    segments: Vec<Segment>,
    committed: Arc<Committed>,
    pub(super) analyzers: Arc<Analyzers>,
    names: OnceLock<Names>,
    vectors: Arc<Models>,
    keys: OnceLock<Arc<Keys>>,
    /// As they were found last.
    places: Mutex<HashMap<String, Arc<Places>>>,
}

/// A segment as this view sees it.
struct Segment {
    part: Arc<Part>,
    /// The table's row of each document, or [`NO_ROW`].
    rows: Arc<Column<u32>>,
}

impl EmbeddedSnapshot {
    /// The view of `committed`, made from a view of a former state if there is one.
    pub fn of(
        index: &EmbeddedIndex,
        committed: &Arc<Committed>,
        former: Option<&EmbeddedSnapshot>,
    ) -> Result<EmbeddedSnapshot, IndexError> {
        let parts = committed.parts.clone();
        let renewed = || match former {
            Some(former) => Table::renewed(&former.table, &former.parts(), &parts),
            None => Ok(None),
        };
        let (table, rows) = match index.kept_table(committed) {
            Some(kept) => kept,
            None => match renewed()? {
                Some(renewed) => renewed,
                None => Table::read(&parts)?,
            },
        };
        Ok(EmbeddedSnapshot::with(index, committed, table, parts, rows))
    }

    /// The same with `overlay` over it.
    pub fn over(
        base: &EmbeddedSnapshot,
        index: &EmbeddedIndex,
        overlay: &Overlay,
    ) -> Result<EmbeddedSnapshot, IndexError> {
        let layers = index.layers.of(index, overlay)?;
        let rows = base.segments.iter().map(|segment| &segment.rows);
        let (table, rows) = Table::over(&base.table, rows, &layers, overlay)?;
        let mut parts = base.committed.parts.clone();
        parts.extend(layers.iter().map(|layer| Arc::clone(&layer.part)));
        let committed = &base.committed;
        Ok(EmbeddedSnapshot::with(index, committed, table, parts, rows))
    }

    fn with(
        index: &EmbeddedIndex,
        committed: &Arc<Committed>,
        table: Table,
        parts: Vec<Arc<Part>>,
        rows: RowsOf,
    ) -> EmbeddedSnapshot {
        let segments = parts.into_iter().zip(rows);
        EmbeddedSnapshot {
            fields: index.fields,
            table,
            segments: segments
                .map(|(part, rows)| Segment { part, rows })
                .collect(),
            committed: Arc::clone(committed),
            analyzers: Arc::clone(&index.analyzers),
            names: OnceLock::new(),
            vectors: Arc::clone(&index.vectors),
            keys: OnceLock::new(),
            places: Mutex::default(),
        }
    }

    /// Its segments, each with the row of each of its documents.
    fn parts(&self) -> Vec<(Arc<Part>, Arc<Column<u32>>)> {
        let segments = self.segments.iter();
        let part = |segment: &Segment| (Arc::clone(&segment.part), Arc::clone(&segment.rows));
        segments.map(part).collect()
    }

    /// Whether this is the view of `committed`, with nothing over it.
    pub fn is_of(&self, committed: &Committed) -> bool {
        self.committed.state == committed.state
    }

    pub fn committed(&self) -> &Committed {
        &self.committed
    }

    /// The segments, opened.
    pub fn readers(&self) -> impl Iterator<Item = &SegmentReader> {
        self.segments.iter().map(|segment| &segment.part.reader)
    }

    /// Calls `each` with every live row that holds the term `text` in `field`, and how often.
    pub(super) fn each_posting(
        &self,
        field: Field,
        text: &str,
        record: IndexRecordOption,
        mut each: impl FnMut(u32, u32),
    ) -> Result<(), IndexError> {
        let term = Term::from_field_text(field, text);
        for segment in &self.segments {
            let inverted = segment
                .part
                .reader
                .inverted_index(field)
                .map_err(|error| unusable(&error))?;
            let Some(mut postings) = inverted
                .read_postings(&term, record)
                .map_err(|error| unusable(&error))?
            else {
                continue;
            };
            let rows = &**segment.rows;
            while postings.doc() != TERMINATED {
                let row = rows[postings.doc() as usize];
                if row != NO_ROW {
                    each(row, postings.term_freq());
                }
                postings.advance();
            }
        }
        Ok(())
    }

    /// Calls `each` with the counts of a keyword without blanks, run by run: row, counts in
    /// topics, counts elsewhere. A row may come several times.
    pub(super) fn each_run(
        &self,
        keyword: &Keyword,
        mut each: impl FnMut(u32, Count, Count),
    ) -> Result<(), IndexError> {
        for (field, in_topics) in [(self.fields.runs, false), (self.fields.topic_runs, true)] {
            for segment in &self.segments {
                let lexicon = segment.part.lexicon(field, in_topics)?;
                let inverted = segment
                    .part
                    .reader
                    .inverted_index(field)
                    .map_err(|error| unusable(&error))?;
                let mut result = Ok(());
                let rows = &**segment.rows;
                lexicon.containing(keyword.as_str(), |run| {
                    let count = keyword.count(run);
                    let term = Term::from_field_text(field, run);
                    match inverted.read_postings(&term, IndexRecordOption::WithFreqs) {
                        Ok(Some(mut postings)) => {
                            while postings.doc() != TERMINATED {
                                let row = rows[postings.doc() as usize];
                                let times = postings.term_freq();
                                if row != NO_ROW {
                                    let all = Count {
                                        anywhere: count.anywhere * times,
                                        as_word: count.as_word * times,
                                    };
                                    let none = Count::default();
                                    if in_topics {
                                        each(row, all, none);
                                    } else {
                                        each(row, none, all);
                                    }
                                }
                                postings.advance();
                            }
                        }
                        Ok(None) => {}
                        Err(error) => result = Err(unusable(&error)),
                    }
                });
                result?;
            }
        }
        Ok(())
    }

    /// The rows that have a fact.
    pub(super) fn rows_with_fact(&self, fact: &str) -> Result<Vec<u32>, IndexError> {
        let mut rows = Vec::new();
        let facts = self.fields.facts;
        self.each_posting(facts, fact, IndexRecordOption::Basic, |row, _| {
            rows.push(row);
        })?;
        Ok(rows)
    }

    /// The rows of the memories called `id`, a stem or a handle in lower case.
    pub(super) fn rows_called(&self, id: &str) -> Result<Vec<u32>, IndexError> {
        let mut rows = self.rows_with_fact(&facts::fact("id", facts::id_value(id)))?;
        rows.retain(|&row| facts::is_called(self.table.name(row), id));
        Ok(rows)
    }

    /// The rows with a flag, ascending.
    pub(super) fn rows_with_flag(&self, flag: u64) -> Vec<u32> {
        let rows = (0..).zip(self.table.flags.iter());
        let flagged = rows.filter(|(_, flags)| **flags & flag as u8 != 0);
        flagged.map(|(row, _)| row).collect()
    }

    /// The rows that hold all trigrams of all `fragments`; `None` if these are too short to tell.
    pub(super) fn rows_with_trigrams(
        &self,
        fragments: &[String],
    ) -> Result<Option<Vec<u32>>, IndexError> {
        let mut trigrams: HashSet<String> = HashSet::new();
        for fragment in fragments {
            tokenize::trigrams(fragment, |_, trigram| {
                trigrams.insert(trigram.iter().collect());
            });
        }
        let mut common: Option<Vec<u32>> = None;
        for trigram in trigrams {
            let mut rows = Vec::new();
            self.each_posting(
                self.fields.trigrams,
                &trigram,
                IndexRecordOption::Basic,
                |row, _| {
                    rows.push(row);
                },
            )?;
            rows.sort_unstable();
            common = Some(match common {
                None => rows,
                Some(common) => intersection(&common, &rows),
            });
        }
        Ok(common)
    }

    /// Each segment with the row of each of its documents.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&SegmentReader, &[u32])> {
        let segments = self.segments.iter();
        segments.map(|segment| (&segment.part.reader, &**segment.rows))
    }

    pub(super) fn keys(&self) -> Result<&Arc<Keys>, IndexError> {
        if self.keys.get().is_none() {
            let _ = self.keys.set(Arc::new(Keys::of(self)?));
        }
        Ok(self.keys.get().expect("it was just set"))
    }

    /// Where the vectors of `model` lie now; `None` if there are none.
    pub(super) fn places(&self, model: &str) -> Result<Option<Arc<Places>>, IndexError> {
        let Some(vectors) = self.vectors.of(model) else {
            return Ok(None);
        };
        let view = vectors.view().map_err(|error| failed("read", error))?;
        let mut known = locked(&self.places);
        if let Some(places) = known.get(model).filter(|places| places.are_in(&view)) {
            return Ok(Some(Arc::clone(places)));
        }
        let places = Arc::new(Places::of(self.keys()?, view));
        known.insert(model.to_owned(), Arc::clone(&places));
        Ok(Some(places))
    }

    /// How near a vector is to each row's; `None` where no vectors of its model are kept.
    pub(super) fn cosines(&self, embedded: Embedded) -> Option<Cosines> {
        let places = self.places(&embedded.model).ok()??;
        Some(places.cosines(self.keys().ok()?, embedded.vector))
    }

    pub(super) fn names(&self) -> Result<&Names, IndexError> {
        if self.names.get().is_none() {
            let agents = self
                .facet("agent")?
                .into_iter()
                .map(|(agent, _)| agent)
                .collect();
            let _ = self
                .names
                .set(Names::of(self.table.collection.user_names(), &agents));
        }
        Ok(self.names.get().expect("it was just set"))
    }
}

fn intersection(one: &[u32], other: &[u32]) -> Vec<u32> {
    let (mut here, mut there) = (one.iter().peekable(), other.iter().peekable());
    let mut common = Vec::new();
    while let (Some(&&a), Some(&&b)) = (here.peek(), there.peek()) {
        match a.cmp(&b) {
            std::cmp::Ordering::Less => drop(here.next()),
            std::cmp::Ordering::Greater => drop(there.next()),
            std::cmp::Ordering::Equal => {
                common.push(a);
                here.next();
                there.next();
            }
        }
    }
    common
}
