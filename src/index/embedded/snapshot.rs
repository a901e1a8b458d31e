//! An unchanging view: the committed segments, the overlay's, and one table over both.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::OnceLock;

use tantivy::DocSet;
use tantivy::Index as TantivyIndex;
use tantivy::IndexMeta;
use tantivy::SegmentReader;
use tantivy::TERMINATED;
use tantivy::TantivyDocument;
use tantivy::Term;
use tantivy::directory::RamDirectory;
use tantivy::postings::Postings as _;
use tantivy::schema::Field;
use tantivy::schema::IndexRecordOption;

use super::EmbeddedIndex;
use super::Opened;
use super::filter;
use super::guarded;
use super::keywords;
use super::lexicon::Lexicon;
use super::schema;
use super::schema::Fields;
use super::table::NO_ROW;
use super::table::Table;
use super::tokenize;
use super::unusable;
use crate::index::Ask;
use crate::index::Found;
use crate::index::Hit;
use crate::index::IndexError;
use crate::index::Indexed;
use crate::index::Overlay;
use crate::index::Request;
use crate::index::Snapshot;
use crate::index::Texts;
use crate::index::facts;
use crate::ranking::Names;
use crate::ranking::context;
use crate::ranking::context::Weights;
use crate::ranking::keyword::Count;
use crate::ranking::keyword::Keyword;
use crate::words::Analyzer;

pub(super) struct EmbeddedSnapshot {
    pub(super) fields: Fields,
    pub(super) table: Table,
    segments: Vec<Segment>,
    verified: i64,
    /// Tells one committed state from another.
    state: String,
    /// Lent to one search at a time; its memory of stems is worth more than a fresh one.
    analyzer: Mutex<Analyzer>,
    names: OnceLock<Names>,
}

struct Segment {
    reader: SegmentReader,
    /// The table's row of each document, or [`NO_ROW`].
    rows: Vec<u32>,
    runs: OnceLock<Lexicon>,
    topic_runs: OnceLock<Lexicon>,
}

/// Memory for the overlay's postings: a few documents' worth, grown as needed.
const OVERLAY_BYTES: usize = 4 << 20;

impl EmbeddedSnapshot {
    pub fn of(
        index: &EmbeddedIndex,
        opened: &Opened,
        state: &IndexMeta,
        overlay: &Overlay,
    ) -> Result<EmbeddedSnapshot, IndexError> {
        let searcher = opened.reader.searcher();
        let mut readers = searcher.segment_readers().to_vec();
        let committed = readers.len();
        readers.extend(overlay_segment(index, overlay)?);
        let overlay_at = (readers.len() > committed).then_some(committed);
        let covered = |name: &str| overlay.files.contains_key(name);
        let (table, rows) = Table::read(&readers, overlay_at, covered)?;
        let segments = readers
            .into_iter()
            .zip(rows)
            .map(|(reader, rows)| Segment {
                reader,
                rows,
                runs: OnceLock::new(),
                topic_runs: OnceLock::new(),
            })
            .collect();
        Ok(EmbeddedSnapshot {
            fields: index.fields,
            table,
            segments,
            verified: state
                .payload
                .as_ref()
                .and_then(|text| text.parse().ok())
                .unwrap_or(0),
            state: state_key(state),
            analyzer: Mutex::new(index.analyzer()),
            names: OnceLock::new(),
        })
    }

    /// Whether this is the view of the committed `state`, with nothing over it.
    pub fn is_of(&self, state: &IndexMeta) -> bool {
        self.state == state_key(state)
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
            let inverted = segment.reader.inverted_index(field).map_err(unusable)?;
            let Some(mut postings) = inverted.read_postings(&term, record).map_err(unusable)?
            else {
                continue;
            };
            while postings.doc() != TERMINATED {
                let row = segment.rows[postings.doc() as usize];
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
                let lexicon = segment.lexicon(field, in_topics)?;
                let inverted = segment.reader.inverted_index(field).map_err(unusable)?;
                let mut result = Ok(());
                lexicon.containing(keyword.as_str(), |run| {
                    let count = keyword.count(run);
                    let term = Term::from_field_text(field, run);
                    match inverted.read_postings(&term, IndexRecordOption::WithFreqs) {
                        Ok(Some(mut postings)) => {
                            while postings.doc() != TERMINATED {
                                let row = segment.rows[postings.doc() as usize];
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
                        Err(error) => result = Err(unusable(error)),
                    }
                });
                result?;
            }
        }
        Ok(())
    }

    /// The rows of the memories called `id`, a stem or a handle in lower case.
    pub(super) fn rows_called(&self, id: &str) -> Result<Vec<u32>, IndexError> {
        let mut rows = Vec::new();
        let fact = facts::fact("id", facts::id_value(id));
        self.each_posting(
            self.fields.facts,
            &fact,
            IndexRecordOption::Basic,
            |row, _| {
                rows.push(row);
            },
        )?;
        rows.retain(|&row| facts::is_called(self.table.name(row), id));
        Ok(rows)
    }

    /// The rows with a flag, ascending.
    pub(super) fn rows_with_flag(&self, flag: u64) -> Vec<u32> {
        let flagged = |&row: &u32| self.table.flags[row as usize] & flag as u8 != 0;
        (0..self.table.len() as u32).filter(flagged).collect()
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

    fn names(&self) -> Result<&Names, IndexError> {
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

    fn hit(&self, row: u32, score: f64, matched: Vec<usize>) -> Hit {
        let name = self.table.name(row).to_owned();
        Hit {
            name,
            score,
            matched,
            indexed: self.table.indexed(row),
        }
    }

    /// Newest first, then by name: the order among equals.
    fn newer(&self, a: u32, b: u32) -> std::cmp::Ordering {
        let time = |row| self.table.collection.timestamp(row);
        time(b)
            .cmp(&time(a))
            .then_with(|| self.table.name(a).cmp(self.table.name(b)))
    }

    fn answer(&self, request: &Request<'_>, texts: &Texts<'_>) -> Result<Found, IndexError> {
        let passing = filter::passing(self, request.filter, request.now.timestamp_micros(), texts)?;
        let wanted = |total: usize| {
            request.offset.min(total)..request.offset.saturating_add(request.limit).min(total)
        };
        let (total, hits) = match request.ask {
            Ask::Everything => {
                let mut rows: Vec<u32> = (0..self.table.len() as u32)
                    .filter(|&row| passing.contains(row))
                    .collect();
                rows.sort_unstable_by(|&a, &b| self.newer(a, b));
                let range = wanted(rows.len());
                let hits = rows[range]
                    .iter()
                    .map(|&row| self.hit(row, 0.0, Vec::new()))
                    .collect();
                (rows.len(), hits)
            }
            Ask::Keywords(keywords) => {
                let keywords: Vec<Option<Keyword>> =
                    keywords.iter().map(|text| Keyword::new(text)).collect();
                let keywords: Vec<Option<&Keyword>> = keywords.iter().map(Option::as_ref).collect();
                let mut counted = keywords::count(self, &keywords, &passing, texts)?;
                counted.sort_unstable_by(|a, b| {
                    b.score.cmp(&a.score).then_with(|| self.newer(a.row, b.row))
                });
                let (total, range) = (counted.len(), wanted(counted.len()));
                let hits = counted
                    .drain(range)
                    .map(|found| self.hit(found.row, f64::from(found.score), found.matched))
                    .collect();
                (total, hits)
            }
            Ask::Text(text) => {
                let mut scored = self.search_text(text, &passing)?;
                scored.sort_unstable_by(|a, b| {
                    b.1.total_cmp(&a.1).then_with(|| self.newer(a.0, b.0))
                });
                let range = wanted(scored.len());
                let hits = scored[range]
                    .iter()
                    .map(|&(row, score)| self.hit(row, f64::from(score), Vec::new()))
                    .collect();
                (scored.len(), hits)
            }
        };
        Ok(Found { hits, total })
    }

    fn search_text(
        &self,
        text: &str,
        passing: &filter::Rows,
    ) -> Result<Vec<(u32, f32)>, IndexError> {
        let names = self.names()?;
        let mut analyzer = self
            .analyzer
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let passes = |row| passing.contains(row);
        let weights = Weights::default();
        let collection = &self.table.collection;
        context::score(
            text,
            collection,
            names,
            &mut analyzer,
            self,
            passes,
            &weights,
        )
    }
}

impl Segment {
    fn lexicon(&self, field: Field, of_topics: bool) -> Result<&Lexicon, IndexError> {
        let slot = if of_topics {
            &self.topic_runs
        } else {
            &self.runs
        };
        if slot.get().is_none() {
            let _ = slot.set(Lexicon::read(&self.reader, field)?);
        }
        Ok(slot.get().expect("it was just set"))
    }
}

/// The overlay's documents as a segment in memory.
fn overlay_segment(
    index: &EmbeddedIndex,
    overlay: &Overlay,
) -> Result<Vec<SegmentReader>, IndexError> {
    let documents: Vec<_> = overlay.files.values().flatten().collect();
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let mut analyzer = index.analyzer();
    let mut writer = TantivyIndex::builder()
        .schema(index.schema.clone())
        .tokenizers(schema::tokenizers())
        .single_segment_index_writer::<TantivyDocument>(RamDirectory::create(), OVERLAY_BYTES)
        .map_err(unusable)?;
    for document in documents {
        let filled = schema::fill(&index.fields, &mut analyzer, document);
        writer.add_document(filled).map_err(unusable)?;
    }
    let index = writer.finalize().map_err(unusable)?;
    let segments = index.searchable_segments().map_err(unusable)?;
    segments
        .iter()
        .map(|segment| SegmentReader::open(segment).map_err(unusable))
        .collect()
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

impl context::Postings for EmbeddedSnapshot {
    type Error = IndexError;

    fn text(&self, term: &str) -> Result<Vec<(u32, u32)>, IndexError> {
        let mut rows = Vec::new();
        self.each_posting(
            self.fields.words,
            term,
            IndexRecordOption::WithFreqs,
            |row, times| {
                rows.push((row, times));
            },
        )?;
        Ok(rows)
    }

    fn title(&self, term: &str) -> Result<Vec<u32>, IndexError> {
        let mut rows = Vec::new();
        self.each_posting(
            self.fields.title,
            term,
            IndexRecordOption::Basic,
            |row, _| rows.push(row),
        )?;
        Ok(rows)
    }

    fn date(&self, term: &str) -> Result<Vec<u32>, IndexError> {
        let mut rows = Vec::new();
        self.each_posting(
            self.fields.dates,
            term,
            IndexRecordOption::Basic,
            |row, _| rows.push(row),
        )?;
        Ok(rows)
    }
}

impl Snapshot for EmbeddedSnapshot {
    fn search(&self, request: &Request<'_>, texts: &Texts<'_>) -> Result<Found, IndexError> {
        guarded(|| self.answer(request, texts))
    }

    fn containing(&self, fragments: &[Vec<String>]) -> Result<Option<Vec<String>>, IndexError> {
        let mut rows: Vec<u32> = Vec::new();
        for alternative in fragments {
            match guarded(|| self.rows_with_trigrams(alternative))? {
                None => return Ok(None),
                Some(found) => rows.extend(found),
            }
        }
        rows.sort_unstable();
        rows.dedup();
        let mut names: Vec<String> = rows
            .into_iter()
            .map(|row| self.table.name(row).to_owned())
            .collect();
        names.sort_unstable();
        Ok(Some(names))
    }

    fn indexed(&self, name: &str) -> Option<Indexed> {
        self.table.row(name).map(|row| self.table.indexed(row))
    }

    fn for_each(&self, each: &mut dyn FnMut(&str, Indexed)) {
        for &row in self.table.by_name() {
            each(self.table.name(row), self.table.indexed(row));
        }
    }

    fn state(&self) -> &str {
        &self.state
    }

    fn handle_count(&self, handle: &str) -> usize {
        let mut count = 0;
        let fact = facts::fact("id", handle);
        let counted = self.each_posting(
            self.fields.facts,
            &fact,
            IndexRecordOption::Basic,
            |_, _| {
                count += 1;
            },
        );
        // Who cannot look cannot say that it is free.
        if counted.is_ok() { count } else { 1 }
    }

    fn len(&self) -> usize {
        self.table.len()
    }

    fn facet(&self, key: &str) -> Result<Vec<(String, usize)>, IndexError> {
        let prefix = format!("{key}\0");
        let mut counts: HashMap<String, usize> = HashMap::new();
        for segment in &self.segments {
            let inverted = segment
                .reader
                .inverted_index(self.fields.facts)
                .map_err(unusable)?;
            let range = inverted.terms().range().ge(prefix.as_bytes());
            let mut stream = range.into_stream().map_err(unusable)?;
            while stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
                let value = String::from_utf8_lossy(&stream.key()[prefix.len()..]).into_owned();
                counts.entry(value).or_default();
            }
        }
        for (value, count) in &mut counts {
            let term = format!("{prefix}{value}");
            self.each_posting(
                self.fields.facts,
                &term,
                IndexRecordOption::Basic,
                |_, _| *count += 1,
            )?;
        }
        let mut values: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        values.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(values)
    }

    fn holders(&self, key: &str) -> Result<Vec<(String, String)>, IndexError> {
        let mut holders = Vec::new();
        for (value, _) in self.facet(key)? {
            let term = facts::fact(key, &value);
            self.each_posting(
                self.fields.facts,
                &term,
                IndexRecordOption::Basic,
                |row, _| {
                    holders.push((value.clone(), self.table.name(row).to_owned()));
                },
            )?;
        }
        Ok(holders)
    }

    fn with_problems(&self) -> Result<Vec<String>, IndexError> {
        let mut names = Vec::new();
        for (code, _) in self.facet(facts::PROBLEM)? {
            let term = facts::fact(facts::PROBLEM, &code);
            self.each_posting(
                self.fields.facts,
                &term,
                IndexRecordOption::Basic,
                |row, _| {
                    names.push(self.table.name(row).to_owned());
                },
            )?;
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn verified(&self) -> i64 {
        self.verified
    }
}
