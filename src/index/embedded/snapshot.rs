//! An unchanging view: the committed segments, the overlay's, and one table over both.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};

use tantivy::postings::TermInfo;
use tantivy::schema::{Field, IndexRecordOption};

use super::failure::{failed, locked};
use super::layers::Layer;
use super::lexicon::TermPlace;
use super::meaning::{Keys, Places};
use super::models::Models;
use super::opened::Committed;
use super::part::{Part, RunsOf};
use super::rows::mapped_table::MappedTable;
use super::rows::table::{Documents, RowOf, Table};
use super::rows::touched::Touched;
use super::schema::{Analyzers, DocumentBuilder, Fields};
use super::tokenize;
use crate::index::{Embedded, IndexError, Overlay, facts};
use crate::model::{OtherNames, TALK, Talks};
use crate::ranking::Names;
use crate::ranking::fused::Cosines;
use crate::ranking::keyword;
use crate::ranking::keyword::{Count, Keyword, KeywordSet};

/// An unchanging view of the index.
pub(super) struct EmbeddedSnapshot {
    /// Fields of the index.
    pub(super) fields: Fields,
    /// Rows of the view.
    pub(super) table: Table,
    segments: Vec<Segment>,
    committed: Arc<Committed>,
    /// Analyzers of the store's languages.
    pub(super) analyzers: Arc<Analyzers>,
    names: OnceLock<Names>,
    /// Other names of users.
    people: Arc<OtherNames>,
    vectors: Arc<Models>,
    keys: OnceLock<Arc<Keys>>,
    /// The rows that a live memory supersedes.
    superseded: OnceLock<Vec<u32>>,
    /// Vector locations by model, as they were found last.
    places: Mutex<HashMap<String, Arc<Places>>>,
}

/// A segment of the view.
struct Segment {
    part: Arc<Part>,
    /// Rows of its documents.
    documents: Documents,
}

/// Parts that all views of an index share.
type OfIndex<'a> = (
    Fields,
    &'a Arc<Analyzers>,
    &'a Arc<Models>,
    &'a Arc<OtherNames>,
);

impl EmbeddedSnapshot {
    /// Makes the view of `committed`, from the first of the `former` tables that is similar enough, else
    /// from the segments. The files `touched` have the stamps in there.
    pub fn of(
        (documents, vectors, people): (&DocumentBuilder, &Arc<Models>, &Arc<OtherNames>),
        committed: &Arc<Committed>,
        former: &[Arc<MappedTable>],
        touched: &Touched,
    ) -> Result<EmbeddedSnapshot, IndexError> {
        let view = |table, rows| {
            let parts = committed.parts.clone();
            let analyzers = &documents.analyzers;
            let of_index = (documents.fields, analyzers, vectors, people);
            EmbeddedSnapshot::with(of_index, committed, table, parts, rows)
        };
        for flat in former {
            if let Some((table, rows)) = Table::of(flat, &committed.parts, touched)? {
                return Ok(view(table, rows));
            }
        }
        let flat = MappedTable::read(committed)?;
        let flat = match former.first() {
            Some(former) => flat.with_stamps_of(former),
            None => flat,
        };
        let (table, rows) = Table::whole(&Arc::new(flat), touched);
        Ok(view(table, rows))
    }

    /// Makes the view of `base` with `overlay` over it.
    pub fn over(
        base: &EmbeddedSnapshot,
        layers: &[Arc<Layer>],
        overlay: &Overlay,
    ) -> Result<EmbeddedSnapshot, IndexError> {
        let segments = base.segments.iter();
        let before: Vec<_> = segments.map(|one| (&one.part, &one.documents)).collect();
        let (table, documents) = base.table.over(&before, layers, overlay)?;
        let mut parts = base.committed.parts.clone();
        parts.extend(layers.iter().map(|layer| Arc::clone(&layer.part)));
        let committed = &base.committed;
        let of_index = (base.fields, &base.analyzers, &base.vectors, &base.people);
        let view = EmbeddedSnapshot::with(of_index, committed, table, parts, documents);
        Ok(view)
    }

    fn with(
        (fields, analyzers, vectors, people): OfIndex<'_>,
        committed: &Arc<Committed>,
        table: Table,
        parts: Vec<Arc<Part>>,
        documents: Vec<Documents>,
    ) -> EmbeddedSnapshot {
        let segments = parts.into_iter().zip(documents);
        EmbeddedSnapshot {
            fields,
            table,
            segments: segments
                .map(|(part, documents)| Segment { part, documents })
                .collect(),
            committed: Arc::clone(committed),
            analyzers: Arc::clone(analyzers),
            names: OnceLock::new(),
            people: Arc::clone(people),
            vectors: Arc::clone(vectors),
            keys: OnceLock::new(),
            superseded: OnceLock::new(),
            places: Mutex::default(),
        }
    }

    /// Returns the mapped table that its rows were made from.
    pub fn flat(&self) -> &Arc<MappedTable> {
        self.table.flat()
    }

    /// Returns its segments, each with the rows of its documents.
    pub fn documents(&self) -> impl Iterator<Item = (&Part, RowOf<'_>)> + Clone {
        let segments = self.segments.iter();
        segments.map(|segment| (&*segment.part, self.table.row_of(&segment.documents)))
    }

    /// Returns whether this is a view of `committed`.
    pub fn is_of(&self, committed: &Arc<Committed>) -> bool {
        Arc::ptr_eq(&self.committed, committed)
    }

    /// Returns the committed state below the overlay.
    pub fn committed(&self) -> &Committed {
        &self.committed
    }

    /// Calls `each` with every live row that holds the term `text` in `field`, and how often.
    pub(super) fn each_posting(
        &self,
        field: Field,
        text: &str,
        record: IndexRecordOption,
        mut each: impl FnMut(u32, u32),
    ) -> Result<(), IndexError> {
        for (part, row_of) in self.documents() {
            part.each_posting(field, text, record, |doc, times| {
                if let Some(row) = row_of.get(doc) {
                    each(row, times);
                }
            })?;
        }
        Ok(())
    }

    /// Returns the runs of every segment and field that hold one of `keywords`.
    pub(super) fn runs_with(
        &self,
        keywords: &KeywordSet,
        talks: Talks,
    ) -> Result<RunsOfKeywords, IndexError> {
        let mut lists = Vec::new();
        for (field, of) in self.run_fields(talks) {
            for (part, _) in self.documents() {
                lists.push(part.lexicon(field, of)?.containing_each(keywords));
            }
        }
        Ok(RunsOfKeywords { lists })
    }

    /// Returns the fields that hold runs, those of talks unless they are left out.
    fn run_fields(&self, talks: Talks) -> impl Iterator<Item = (Field, RunsOf)> + use<> {
        let fields = [
            (self.fields.runs, RunsOf::Memories),
            (self.fields.topic_runs, RunsOf::Topics),
            (self.fields.talk_runs, RunsOf::Talks),
        ];
        let is_asked = move |of| of != RunsOf::Talks || talks != Talks::Nowhere;
        fields.into_iter().filter(move |(_, of)| is_asked(*of))
    }

    /// Calls `each` with a row and the score in it of a keyword without blanks, run by run. A row may come
    /// several times. `runs` are known runs and the keyword's number in them, made for the same `talks`.
    pub(super) fn each_run(
        &self,
        keyword: &Keyword,
        talks: Talks,
        runs: Option<(&RunsOfKeywords, usize)>,
        mut each: impl FnMut(u32, u32),
    ) -> Result<(), IndexError> {
        let mut lists = runs.map(|(runs, number)| runs.of(number));
        for (field, of) in self.run_fields(talks) {
            for (part, row_of) in self.documents() {
                let known = lists.as_mut().and_then(Iterator::next);
                if known.is_some_and(<[_]>::is_empty) {
                    continue;
                }
                let lexicon = part.lexicon(field, of)?;
                let mut result = Ok(());
                let mut postings = part.postings_in(field)?;
                let mut count_in = |run: &str, known: Option<TermInfo>| {
                    let (count, none) = (keyword.count(run), Count::default());
                    let score = match of {
                        RunsOf::Topics => keyword::score(count, none),
                        RunsOf::Memories | RunsOf::Talks => keyword::score(none, count),
                    };
                    let read = postings.each(run, known, |doc, times| {
                        if let Some(row) = row_of.get(doc) {
                            each(row, score * times);
                        }
                    });
                    if read.is_err() {
                        result = read;
                    }
                };
                match known {
                    Some(places) => places
                        .iter()
                        .filter_map(|(_, place)| lexicon.term(*place))
                        .for_each(|run| count_in(run, None)),
                    None => lexicon.containing(keyword.as_str(), &mut count_in),
                }
                result?;
            }
        }
        Ok(())
    }

    /// Returns the rows that have a fact.
    pub(super) fn rows_with_fact(&self, fact: &str) -> Result<Vec<u32>, IndexError> {
        let mut rows = Vec::new();
        self.each_with_fact(fact, |row| rows.push(row))?;
        Ok(rows)
    }

    /// Calls `each` with every row that has a fact.
    pub(super) fn each_with_fact(
        &self,
        fact: &str,
        mut each: impl FnMut(u32),
    ) -> Result<(), IndexError> {
        let (facts, record) = (self.fields.facts, IndexRecordOption::Basic);
        self.each_posting(facts, fact, record, |row, _| each(row))
    }

    /// Returns the rows that a live memory supersedes.
    pub(super) fn superseded(&self) -> Result<&[u32], IndexError> {
        if self.superseded.get().is_none() {
            let _ = self.superseded.set(self.find_superseded()?);
        }
        Ok(self.superseded.get().expect("it was just set"))
    }

    /// Finds the rows that a live memory supersedes: those it names in `supersedes`, and those that name
    /// it in `superseded_by`. Where the newer memory was forgotten, the older one is current again.
    fn find_superseded(&self) -> Result<Vec<u32>, IndexError> {
        let mut superseded = Vec::new();
        for older in self.values_of("supersedes")? {
            superseded.extend(self.rows_called(&older)?);
        }
        let mut newer_of = HashMap::new();
        for newer in self.values_of("superseded_by")? {
            let called = self.rows_called(&newer)?.into_iter();
            if let Some(first) = called.min_by_key(|&row| self.table.name(row)) {
                let older = self.rows_with_fact(&facts::fact("superseded_by", &newer))?;
                newer_of.extend(older.iter().map(|&older| (older, first)));
                superseded.extend(older);
            }
        }
        // None of them would be found.
        let rings = facts::rings(&newer_of);
        if rings.is_empty() {
            return Ok(superseded);
        }
        superseded.retain(|row| !rings.contains(row));
        for older in self.values_of("supersedes")? {
            let mut members = self.rows_called(&older)?;
            members.retain(|row| rings.contains(row));
            if !members.is_empty() {
                let newer = self.rows_with_fact(&facts::fact("supersedes", &older))?;
                let is_outside = newer.iter().any(|row| !rings.contains(row));
                superseded.extend(members.into_iter().filter(|_| is_outside));
            }
        }
        Ok(superseded)
    }

    /// Returns the values of a fact that some row has.
    pub(super) fn values_of(&self, key: &str) -> Result<HashSet<String>, IndexError> {
        let prefix = format!("{key}\0");
        let mut values = HashSet::new();
        for (part, row_of) in self.documents() {
            let is_live = |doc| row_of.get(doc).is_some();
            part.add_values(self.fields.facts, &prefix, is_live, &mut values)?;
        }
        Ok(values)
    }

    /// Returns the rows of the memories called `id`, a stem or a handle in lower case.
    pub(super) fn rows_called(&self, id: &str) -> Result<Vec<u32>, IndexError> {
        let mut rows = self.rows_with_fact(&facts::fact("id", facts::id_value(id)))?;
        rows.retain(|&row| facts::is_called(self.table.name(row), id));
        Ok(rows)
    }

    /// Returns the rows that hold all trigrams of all `fragments`; `None` if these have none.
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
            let rows = match common {
                None => rows,
                Some(common) => intersection(&common, &rows),
            };
            let is_empty = rows.is_empty();
            common = Some(rows);
            if is_empty {
                break;
            }
        }
        Ok(common)
    }

    /// Returns the vector keys of the rows.
    pub(super) fn keys(&self) -> Result<&Arc<Keys>, IndexError> {
        if self.keys.get().is_none() {
            let talks = self.rows_with_fact(&facts::fact(&format!("metadata.{TALK}"), "true"))?;
            let keys = Keys::read(&self.table, self.documents(), &talks)?;
            let _ = self.keys.set(Arc::new(keys));
        }
        Ok(self.keys.get().expect("it was just set"))
    }

    /// Returns the current locations of the vectors of `model`; `None` where none can be kept.
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

    /// Returns the cosines of a vector with each row's; `None` where no vectors of its model can be read.
    pub(super) fn cosines(&self, embedded: Embedded) -> Option<Cosines> {
        let places = self.places(&embedded.model).ok()??;
        Some(places.cosines(self.keys().ok()?, embedded))
    }

    /// Returns the names of the users and agents.
    pub(super) fn names(&self) -> Result<&Names, IndexError> {
        if self.names.get().is_none() {
            let agents = self.values_of("agent")?;
            let users = self.table.collection.user_names();
            let _ = self.names.set(Names::of(users, &agents, &self.people));
        }
        Ok(self.names.get().expect("it was just set"))
    }
}

/// Runs that hold each of many keywords.
pub(super) struct RunsOfKeywords {
    /// A list for each field and segment, in that order; each sorted by the keywords' numbers.
    lists: Vec<Vec<(usize, TermPlace)>>,
}

impl RunsOfKeywords {
    /// Returns the runs of one keyword, a list for each field and segment.
    fn of(&self, number: usize) -> impl Iterator<Item = &[(usize, TermPlace)]> {
        self.lists.iter().map(move |list| {
            let start = list.partition_point(|(known, _)| *known < number);
            let length = list[start..].partition_point(|(known, _)| *known == number);
            &list[start..start + length]
        })
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
