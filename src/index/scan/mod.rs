//! Answers without an index: every search reads every file.
//!
//! Used while there is no index, because it is being made or cannot be opened. The answers and scores
//! are those of the index: facts, filters, counts and ranking are the same code. A search reads the
//! whole store, on all cores, and holds one row a memory, and the texts of some of the best. Only the listing is kept
//! from one search to the next.

mod ranked;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use chrono::DateTime;
use rayon::prelude::*;

use super::filter::Conditions;
use super::text::{Lowered, look};
use super::{
    AsOf, Coverage, Document, Embedded, IndexError, IndexHit, Indexed, Query, QueryKind,
    SearchModels, SearchResults, Snapshot, Texts, Unembedded, facts,
};
use crate::lifecycle::Stated;
use crate::model::{Filter, Memory, OtherNames, Stamp, Stem, stripped_id};
use crate::ranking::keyword::KeywordSet;
use crate::ranking::{Method, Parts};
use crate::vectors::VectorKey;
use crate::words::{Analyzer, Language};

/// Reads files, from any thread, in the same order; `None` for one that is gone or no memory.
pub type ReadDocuments = dyn Fn(&[&str]) -> Vec<Option<Document>> + Send + Sync;

/// Called before a search reads all files; an error ends the search.
pub type BeforeReading = dyn Fn() -> Result<(), IndexError> + Send + Sync;

/// Number of files that are read together: a distant storage is asked once for them, and all of them are in memory.
const CHUNK: usize = 128;

/// A view of the files themselves.
///
/// Unlike a view of an index it changes with the files: each search reads each file as it is then. A
/// hit has the stamp and the hash of the text that was searched. Files that were made after the
/// listing are not found.
pub struct Scan {
    /// Names and stamps of the files, in the order of the names.
    files: Vec<(String, Stamp)>,
    read: Box<ReadDocuments>,
    before: Box<BeforeReading>,
    languages: Vec<Language>,
    people: OtherNames,
    /// Number of files of each handle, counted at the first use.
    handles: OnceLock<HashMap<String, usize>>,
}

/// Row of a file that passed the filter.
struct Row {
    file: u32,
    /// Microseconds since 1970.
    timestamp: i64,
    indexed: Indexed,
    score: f64,
    matched: Vec<String>,
    parts: Option<Parts>,
}

/// Supersession fields of one file's memory.
#[derive(Default)]
struct Claims {
    /// Ids that it supersedes, lower case.
    older: Vec<String>,
    /// Id that it is superseded by, lower case.
    newer: Option<String>,
}

impl Scan {
    /// Returns a view of `files`, read by `read` whenever a search needs them.
    ///
    /// `read` runs on rayon's threads: the caller of a search must hold no lock that `read` takes.
    pub fn new(
        mut files: Vec<(String, Stamp)>,
        read: Box<ReadDocuments>,
        languages: &[Language],
    ) -> Scan {
        files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Scan {
            files,
            read,
            before: Box::new(|| Ok(())),
            languages: languages.to_vec(),
            people: OtherNames::default(),
            handles: OnceLock::new(),
        }
    }

    /// Returns the view whose searches know these other names of users.
    pub fn with_people(self, people: &OtherNames) -> Scan {
        let people = people.clone();
        Scan { people, ..self }
    }

    /// Returns the view whose searches call `before` first.
    pub fn calling(self, before: Box<BeforeReading>) -> Scan {
        Scan { before, ..self }
    }

    /// Reads all files and collects the results of `look`, in the order of the names.
    fn each_file<T: Send, S>(
        &self,
        state: impl Fn() -> S + Send + Sync,
        look: impl Fn(&mut S, u32, Document) -> Option<T> + Send + Sync,
    ) -> Vec<T> {
        let chunks = self.files.par_chunks(CHUNK).enumerate();
        chunks
            .map_init(state, |state, (number, chunk)| {
                let names: Vec<&str> = chunk.iter().map(|(name, _)| name.as_str()).collect();
                let first = number * CHUNK;
                let documents = (self.read)(&names).into_iter().enumerate();
                documents
                    .filter_map(|(at, document)| look(state, (first + at) as u32, document?))
                    .collect::<Vec<T>>()
            })
            .flatten_iter()
            .collect()
    }

    /// Reads one file; `None` if it is gone or no memory.
    fn read_one(&self, name: &str) -> Option<Document> {
        (self.read)(&[name]).pop()?
    }

    /// Returns the files that are superseded by another readable file.
    fn superseded(&self, claims: &[(u32, Claims)], is_there: impl Fn(u32) -> bool) -> HashSet<u32> {
        let of = |claims: &Claims| -> Vec<String> {
            claims.older.iter().chain(&claims.newer).cloned().collect()
        };
        let ids: HashSet<String> = claims.iter().flat_map(|(_, claims)| of(claims)).collect();
        let values: HashSet<String> = ids
            .iter()
            .map(|id| facts::comparable(facts::id_value(id)))
            .collect();
        let mut files_of: HashMap<String, Vec<u32>> = HashMap::new();
        if !values.is_empty() {
            for (file, (name, _)) in self.files.iter().enumerate() {
                let value = id_of(name);
                if values.contains(&value) && is_there(file as u32) {
                    files_of.entry(value).or_default().push(file as u32);
                }
            }
        }
        let called = |id: &str| {
            let files = files_of.get(&facts::comparable(facts::id_value(id)));
            let files = files.into_iter().flatten().copied();
            let id = id.to_owned();
            files.filter(move |&file| facts::is_called(&self.files[file as usize].0, &id))
        };
        let mut superseded = HashSet::new();
        let mut newer_of = HashMap::new();
        for (file, claims) in claims {
            for older in &claims.older {
                superseded.extend(called(older));
            }
            let newer = claims.newer.as_deref();
            if let Some(newer) = newer.and_then(|newer| called(newer).next()) {
                superseded.insert(*file);
                newer_of.insert(*file, newer);
            }
        }
        let rings = facts::rings(&newer_of);
        superseded.retain(|file| !rings.contains(file));
        for (_, claims) in claims.iter().filter(|(file, _)| !rings.contains(file)) {
            let older = claims.older.iter().flat_map(|older| called(older));
            superseded.extend(older.filter(|file| rings.contains(file)));
        }
        superseded
    }

    /// Returns the rows that pass the filter and, if `keywords` are given, hold one of them.
    fn counted(&self, conditions: &Conditions<'_>, keywords: Option<&[String]>) -> Vec<Row> {
        let keywords = keywords.map(KeywordSet::read);
        let looked = self.each_file(
            || Analyzer::new(&self.languages),
            |analyzer, file, document| {
                let memory = &document.memory;
                let claims = conditions
                    .hides_superseded()
                    .then(|| Claims::of(memory))
                    .flatten();
                let mut lowered = None;
                let row = passes(conditions, analyzer, &document, &mut lowered).then(|| Row {
                    file,
                    timestamp: memory.timestamp.utc().timestamp_micros(),
                    indexed: document.indexed,
                    score: 0.0,
                    matched: Vec::new(),
                    parts: None,
                });
                let row = match (row, &keywords) {
                    (Some(row), Some(keywords)) => {
                        let text = lowered.get_or_insert_with(|| Lowered::of(memory));
                        count(row, text, keywords)
                    }
                    (row, _) => row,
                };
                Some((file, row, claims))
            },
        );
        let there: Vec<u32> = looked.iter().map(|(file, _, _)| *file).collect();
        let (mut rows, mut claims) = (Vec::new(), Vec::new());
        for (file, row, claimed) in looked {
            rows.extend(row);
            claims.extend(claimed.map(|claimed| (file, claimed)));
        }
        let superseded = self.superseded(&claims, |file| there.binary_search(&file).is_ok());
        rows.retain(|row| !superseded.contains(&row.file));
        rows
    }

    /// Returns the values of the facts called `key`, each with its file and once a file.
    fn facts_called(&self, key: &str) -> Result<Vec<(String, u32)>, IndexError> {
        (self.before)()?;
        let prefix = format!("{key}\0");
        let looked = self.each_file(
            || (),
            |(), file, document| {
                let mut values: HashSet<String> = HashSet::new();
                facts::each_fact(&document.memory, |key, value| {
                    let fact = facts::fact(key, value);
                    if let Some(value) = fact.strip_prefix(&prefix) {
                        values.insert(value.to_owned());
                    }
                });
                Some(values.into_iter().map(move |value| (value, file)))
            },
        );
        Ok(looked.into_iter().flatten().collect())
    }

    fn name(&self, file: u32) -> &str {
        &self.files[file as usize].0
    }
}

impl Claims {
    /// Returns the supersession fields of a memory; `None` if it has none.
    fn of(memory: &Memory) -> Option<Claims> {
        if memory.supersedes.is_empty() && memory.superseded_by.is_none() {
            return None;
        }
        let comparable = |id: &String| facts::comparable(stripped_id(id));
        Some(Claims {
            older: memory.supersedes.iter().map(comparable).collect(),
            newer: memory.superseded_by.as_ref().map(comparable),
        })
    }
}

/// Returns the value of the `id` fact of the file `name`.
fn id_of(name: &str) -> String {
    facts::comparable(Stem::from_file_name(facts::stem_in(name)).short())
}

/// Returns whether the memory passes the filter, supersession aside. Fills in `lowered` if its texts
/// had to be searched.
fn passes(
    conditions: &Conditions<'_>,
    analyzer: &mut Analyzer,
    document: &Document,
    lowered: &mut Option<Lowered>,
) -> bool {
    let memory = &document.memory;
    let name = &document.name;
    if !conditions.names(name)
        || !conditions.admits_namespace(memory.namespace_or_global())
        || !conditions.admits(name, &Stated::of(memory))
    {
        return false;
    }
    if !conditions.facts.is_empty() || !conditions.unwanted.is_empty() {
        let mut has_any = vec![false; conditions.facts.len()];
        let mut has_unwanted = false;
        facts::each_fact(memory, |key, value| {
            let fact = facts::fact(key, value);
            has_unwanted |= conditions.unwanted.contains(&fact);
            for (has_any, wanted) in has_any.iter_mut().zip(&conditions.facts) {
                *has_any |= wanted.contains(&fact);
            }
        });
        if has_unwanted || has_any.contains(&false) {
            return false;
        }
    }
    if conditions.asks_for_words() {
        let words = conditions.words(analyzer);
        if !words.stand_in(analyzer, memory) {
            return false;
        }
    }
    if conditions.asks_for_phrases() {
        for (phrase, wanted) in conditions.phrases(analyzer) {
            let may_have = match phrase.words() {
                Some(words) => words.stand_in(analyzer, memory),
                None => phrase.signs().is_some_and(|signs| {
                    let lowered = lowered.get_or_insert_with(|| Lowered::of(memory));
                    lowered.score(&signs) > 0
                }),
            };
            let has = may_have && (phrase.is_word() || phrase.stands_in(memory));
            if has != *wanted {
                return false;
            }
        }
    }
    conditions.contains.iter().all(|text| {
        let lowered = lowered.get_or_insert_with(|| Lowered::of(memory));
        text.as_ref().is_some_and(|text| lowered.score(text) > 0)
    })
}

/// Returns the row with its counts; `None` if it holds no keyword.
fn count(mut row: Row, text: &Lowered, keywords: &KeywordSet) -> Option<Row> {
    let (numbers, scores): (Vec<usize>, Vec<u32>) = text.scores(keywords).into_iter().unzip();
    let total: u32 = scores.into_iter().sum();
    row.matched = keywords.texts(&numbers);
    row.score = f64::from(total);
    (total > 0).then_some(row)
}

impl Snapshot for Scan {
    fn search(
        &self,
        query: &Query,
        moment: AsOf<'_>,
        models: SearchModels<'_>,
        _: &Texts<'_>,
    ) -> Result<SearchResults<IndexHit>, IndexError> {
        (self.before)()?;
        let conditions = Conditions::of(&query.filter, moment);
        let (mut rows, unranked, people) = match &query.kind {
            QueryKind::Everything => (self.counted(&conditions, None), 0, Vec::new()),
            QueryKind::Keywords(words) => (self.counted(&conditions, Some(words)), 0, Vec::new()),
            QueryKind::Text(text) => self.ranked(&conditions, text, &query.ranking, models.rerank),
        };
        // Among equals the newest first, then by name, which is the order of the files.
        rows.sort_unstable_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| b.timestamp.cmp(&a.timestamp))
                .then_with(|| a.file.cmp(&b.file))
        });
        let total = rows.len();
        let wanted = rows.into_iter().skip(query.offset).take(query.limit);
        let hits = wanted
            .map(|row| IndexHit {
                name: self.name(row.file).to_owned(),
                score: row.score,
                matched: row.matched,
                parts: row.parts,
                indexed: row.indexed,
            })
            .collect();
        Ok(SearchResults {
            hits,
            total,
            unranked,
            not_reranked: None,
            people,
        })
    }

    fn cut(&self) -> Vec<String> {
        let files = self.files();
        let files = files.filter(|(_, indexed)| indexed.stamp.is_cut());
        files.map(|(name, _)| name.to_owned()).collect()
    }

    fn passing(
        &self,
        mut names: Vec<String>,
        filter: &Filter,
        moment: AsOf<'_>,
        _: &Texts<'_>,
    ) -> Result<Vec<String>, IndexError> {
        (self.before)()?;
        let rows = self.counted(&Conditions::of(filter, moment), None);
        let passing: HashSet<&str> = rows.iter().map(|row| self.name(row.file)).collect();
        names.retain(|name| passing.contains(name.as_str()));
        Ok(names)
    }

    fn sharing_rare(
        &self,
        words: &str,
        filter: &Filter,
        moment: AsOf<'_>,
        limit: usize,
        texts: &Texts<'_>,
    ) -> Result<Vec<String>, IndexError> {
        let mut query = Query::text(words, filter.clone(), limit);
        query.ranking.method = Method::Bm25;
        let hits = self
            .search(&query, moment, SearchModels::default(), texts)?
            .hits;
        Ok(hits.into_iter().map(|hit| hit.name).collect())
    }

    /// Vectors are kept beside an index, and there is none.
    fn nearest(
        &self,
        _: &[Embedded],
        _: &Filter,
        _: AsOf<'_>,
        _: usize,
        _: &Texts<'_>,
    ) -> Result<Vec<(String, f32)>, IndexError> {
        Ok(Vec::new())
    }

    fn containing(&self, _: &[Vec<String>]) -> Result<Option<Vec<String>>, IndexError> {
        Ok(None)
    }

    /// Reads the file `name`, and returns its present version.
    fn indexed(&self, name: &str) -> Option<Indexed> {
        let known = |file: &(String, Stamp)| file.0.as_str().cmp(name);
        self.files.binary_search_by(known).ok()?;
        self.read_one(name).map(|document| document.indexed)
    }

    /// Returns every listed name with its stamp. No file is read: the hash is 0, and every file racy.
    fn files(&self) -> Box<dyn Iterator<Item = (&str, Indexed)> + '_> {
        let files = self.files.iter();
        Box::new(files.map(|(name, stamp)| (name.as_str(), Indexed::unread(*stamp))))
    }

    /// Returns a name that no committed state has.
    fn state(&self) -> &str {
        "scan"
    }

    fn maybe_called(&self, _: &str) -> Option<Vec<String>> {
        None
    }

    fn handle_count(&self, handle: &str) -> usize {
        let counted = self.handles.get_or_init(|| {
            let mut counts = HashMap::new();
            for (name, _) in &self.files {
                *counts.entry(id_of(name)).or_default() += 1;
            }
            counts
        });
        let handle = facts::comparable(handle);
        counted.get(&handle).copied().unwrap_or(0)
    }

    fn len(&self) -> usize {
        self.files.len()
    }

    fn facet(&self, key: &str) -> Result<Vec<(String, usize)>, IndexError> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (value, _) in self.facts_called(key)? {
            *counts.entry(value).or_default() += 1;
        }
        let mut values: Vec<_> = counts.into_iter().collect();
        values.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(values)
    }

    fn completions(&self, beginning: &str, limit: usize) -> Result<Vec<String>, IndexError> {
        (self.before)()?;
        let terms_of = |analyzer: &mut Analyzer, _: u32, document: Document| {
            let mut terms = HashSet::new();
            look(analyzer, &document.memory, |_, term| {
                if term.starts_with(beginning) && !terms.contains(term) {
                    terms.insert(term.to_owned());
                }
            });
            Some(terms)
        };
        let mut counts: HashMap<String, usize> = HashMap::new();
        let all = self.each_file(|| Analyzer::new(&self.languages), terms_of);
        for term in all.into_iter().flatten() {
            *counts.entry(term).or_default() += 1;
        }
        let mut terms: Vec<(String, usize)> = counts.into_iter().collect();
        terms.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        terms.truncate(limit);
        Ok(terms.into_iter().map(|(term, _)| term).collect())
    }

    fn holders(&self, key: &str) -> Result<Vec<(String, String)>, IndexError> {
        let holders = self.facts_called(key)?.into_iter();
        Ok(holders
            .map(|(value, file)| (value, self.name(file).to_owned()))
            .collect())
    }

    fn with_problems(&self) -> Result<Vec<String>, IndexError> {
        (self.before)()?;
        let files = self.each_file(
            || (),
            |(), file, document| (!document.memory.problems.is_empty()).then_some(file),
        );
        Ok(files
            .into_iter()
            .map(|file| self.name(file).to_owned())
            .collect())
    }

    /// Vectors are kept beside an index, and there is none.
    fn unembedded(&self, _: &str, _: usize) -> Result<Vec<Unembedded>, IndexError> {
        Ok(Vec::new())
    }

    fn vector_keys(&self) -> Result<HashSet<VectorKey>, IndexError> {
        Ok(HashSet::new())
    }

    fn coverage(&self, _: &str) -> Result<Coverage, IndexError> {
        Ok(Coverage {
            memories: self.files.len(),
            ..Coverage::default()
        })
    }

    /// Returns 1970: nothing was verified.
    fn verified(&self) -> i64 {
        DateTime::UNIX_EPOCH.timestamp_nanos_opt().unwrap_or(0)
    }
}
