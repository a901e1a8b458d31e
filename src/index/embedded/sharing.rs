//! Finds memories that share the rarest of some words, without reading all postings of all words.
//!
//! The score is that of BM25. Postings of the rarest words are read, up to a limit; the best memories
//! in them are looked up in the postings of the other words. So a search costs about the same in a
//! store of any size, and misses memories that share only common words.

use std::collections::HashSet;

use tantivy::schema::IndexRecordOption;

use super::snapshot::EmbeddedSnapshot;
use crate::index::IndexError;
use crate::ranking::{RowSet, Weights, bm25, idf};

/// Maximum number of postings that are read, beside those of the rarest word.
const READ: usize = 3_000;
/// Maximum number of memories that hold the rarest word: a word of more tells nothing, and reading it takes longer than
/// all the rest of a write.
const MOST: usize = 20_000;
/// Number of best candidates that are looked up in the postings of common words.
const LOOKED_FOR: usize = 256;

/// A memory that holds one of the words.
#[derive(Clone)]
struct Candidate {
    row: u32,
    score: f32,
    segment: usize,
    doc: u32,
}

/// A word with its document frequency.
struct Word {
    term: String,
    count: usize,
}

/// Returns the rows of `passing` that share the rarest of `words`, with their scores, unordered.
pub(super) fn rows(
    snapshot: &EmbeddedSnapshot,
    words: &str,
    passing: &RowSet,
) -> Result<Vec<(u32, f32)>, IndexError> {
    let mut words = distinct(snapshot, words)?;
    words.sort_by_key(|word| word.count);
    if words.first().is_none_or(|rarest| rarest.count > MOST) {
        return Ok(Vec::new());
    }
    let mut left = READ;
    let mut found = Vec::new();
    let mut common = Vec::new();
    for word in words {
        if !found.is_empty() && word.count > left {
            common.push(word);
            continue;
        }
        left = left.saturating_sub(word.count);
        add_all(snapshot, &word, passing, &mut found)?;
    }
    let mut found = summed(&found);
    if found.len() > LOOKED_FOR {
        found.select_nth_unstable_by(LOOKED_FOR, |a, b| b.score.total_cmp(&a.score));
        found.truncate(LOOKED_FOR);
    }
    found.sort_unstable_by_key(|candidate| (candidate.segment, candidate.doc));
    for word in common {
        add_to(snapshot, &word, &mut found)?;
    }
    let scored = found.into_iter();
    Ok(scored.map(|one| (one.row, one.score)).collect())
}

/// Returns the distinct terms of a text that some memory holds.
fn distinct(snapshot: &EmbeddedSnapshot, text: &str) -> Result<Vec<Word>, IndexError> {
    let mut terms: Vec<String> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    snapshot.analyzers.lend(|analyzer| {
        analyzer.terms(text, |term, _, _| {
            if !known.contains(term) {
                known.insert(term.to_owned());
                terms.push(term.to_owned());
            }
        });
    });
    let mut words = Vec::new();
    for term in terms {
        let mut count = 0;
        for (part, _) in snapshot.documents() {
            count += part.doc_freq(snapshot.fields.words, &term)? as usize;
        }
        if count > 0 {
            words.push(Word { term, count });
        }
    }
    Ok(words)
}

/// Returns each row once, with the sum of its scores in their order.
fn summed(found: &[Candidate]) -> Vec<Candidate> {
    // Numbers are sorted much faster than candidates.
    let places = found.iter().enumerate();
    let mut order: Vec<u64> = places
        .map(|(place, one)| u64::from(one.row) << 32 | place as u64)
        .collect();
    order.sort_unstable();
    let mut sums: Vec<Candidate> = Vec::new();
    for number in order {
        let one = &found[number as u32 as usize];
        match sums.last_mut() {
            Some(last) if last.row == one.row => last.score += one.score,
            _ => sums.push(one.clone()),
        }
    }
    sums
}

/// Appends every row that holds a word, with the word's BM25 weight.
fn add_all(
    snapshot: &EmbeddedSnapshot,
    word: &Word,
    passing: &RowSet,
    found: &mut Vec<Candidate>,
) -> Result<(), IndexError> {
    let worth = worth_of(snapshot, word);
    for (segment, (part, row_of)) in snapshot.documents().enumerate() {
        let (field, record) = (snapshot.fields.words, IndexRecordOption::WithFreqs);
        part.each_posting(field, &word.term, record, |doc, times| {
            if let Some(row) = row_of.get(doc).filter(|row| passing.contains(*row)) {
                found.push(Candidate {
                    row,
                    score: worth(row, times),
                    segment,
                    doc,
                });
            }
        })?;
    }
    Ok(())
}

/// Adds a word's BM25 weight to those of `found` that hold it; they are in the order of documents.
fn add_to(
    snapshot: &EmbeddedSnapshot,
    word: &Word,
    found: &mut [Candidate],
) -> Result<(), IndexError> {
    let worth = worth_of(snapshot, word);
    let parts: Vec<_> = snapshot.documents().map(|(part, _)| part).collect();
    for candidates in found.chunk_by_mut(|one, next| one.segment == next.segment) {
        let part = parts[candidates[0].segment];
        let docs: Vec<u32> = candidates.iter().map(|candidate| candidate.doc).collect();
        let docs = docs.into_iter();
        part.counts_in(snapshot.fields.words, &word.term, docs, |place, times| {
            let candidate = &mut candidates[place];
            candidate.score += worth(candidate.row, times);
        })?;
    }
    Ok(())
}

/// Returns the weight of a word in a row, from the number of times it stands there.
fn worth_of(snapshot: &EmbeddedSnapshot, word: &Word) -> impl Fn(u32, u32) -> f32 {
    let collection = &snapshot.table.collection;
    let idf = idf(collection.len(), word.count);
    move |row, times| {
        let length = collection.relative_length(row);
        idf * bm25(&Weights::DEFAULT.plain(), times as f32, length)
    }
}
