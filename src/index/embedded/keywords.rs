//! Keyword counts from postings, equal to counting in every text.
//!
//! A keyword without blanks stands inside a run of other characters, so its count in a text is
//! the sum over the text's distinct runs of (how often the run occurs) × (how often the keyword
//! stands in the run). Runs are index terms. Keywords with blanks, and the few texts whose runs
//! are too long to be terms, are counted in the texts themselves. Many keywords are looked for in one
//! pass over the distinct runs.

use std::collections::HashMap;

use super::schema::flag;
use super::snapshot::EmbeddedSnapshot;
use crate::index::text::Lowered;
use crate::index::{IndexError, Texts};
use crate::model::Talks;
use crate::ranking::keyword::{Keyword, KeywordSet};
use crate::ranking::{RowSet, keyword};

/// A row with its score and the keywords that it holds.
pub(super) struct Counted {
    /// Number of the row.
    pub row: u32,
    /// Sum of the keywords' scores.
    pub score: u32,
    /// Numbers of the keywords that it holds, ascending.
    pub matched: Vec<usize>,
}

/// Counts `keywords` in the rows of `passing`; only rows that hold one are returned. Where the filter left
/// `talks` out, none is among them.
pub(super) fn count(
    snapshot: &EmbeddedSnapshot,
    keywords: &KeywordSet,
    (passing, talks): (&RowSet, Talks),
    texts: &Texts<'_>,
) -> Result<Vec<Counted>, IndexError> {
    let mut counted: HashMap<u32, (u32, Vec<usize>)> = HashMap::new();
    let mut read: HashMap<u32, Option<Lowered>> = HashMap::new();
    let is_uncounted = |row: u32| snapshot.table.flags(row) & flag::UNCOUNTED as u8 != 0;
    let runs = keywords
        .are_many()
        .then(|| snapshot.runs_with(keywords, talks))
        .transpose()?;
    let mut add = |row: u32, number: usize, score: u32| {
        let (total, matched) = counted.entry(row).or_default();
        *total += score;
        if matched.last() != Some(&number) {
            matched.push(number);
        }
    };
    let lowered = |row: u32| texts(snapshot.table.name(row)).map(|memory| Lowered::of(&memory));
    for (number, keyword) in keywords.iter() {
        if !keyword.has_blank() {
            let runs = runs.as_ref().map(|runs| (runs, number));
            snapshot.each_run(keyword, talks, runs, |row, topics, elsewhere| {
                if passing.contains(row) && !is_uncounted(row) {
                    add(row, number, keyword::score(topics, elsewhere));
                }
            })?;
            continue;
        }
        for row in candidates(snapshot, keyword)? {
            if !passing.contains(row) || is_uncounted(row) {
                continue;
            }
            let text = read.entry(row).or_insert_with(|| lowered(row)).as_ref();
            let score = text.map_or(0, |text| text.score(keyword));
            if score > 0 {
                add(row, number, score);
            }
        }
    }
    for row in snapshot.table.with_flag(flag::UNCOUNTED as u8) {
        let text = passing.contains(row).then(|| lowered(row)).flatten();
        let scores = text.map(|text| text.scores(keywords));
        for (number, score) in scores.into_iter().flatten() {
            add(row, number, score);
        }
    }
    Ok(counted
        .into_iter()
        .map(|(row, (score, matched))| Counted {
            row,
            score,
            matched,
        })
        .collect())
}

/// Returns the rows that may hold a keyword with blanks: those with all its trigrams.
fn candidates(snapshot: &EmbeddedSnapshot, keyword: &Keyword) -> Result<Vec<u32>, IndexError> {
    // Blanks are any white space in a text, but a keyword's own are looked for as they are.
    let fragments = [keyword.as_str().to_owned()];
    Ok(match snapshot.rows_with_trigrams(&fragments)? {
        Some(rows) => rows,
        None => (0..snapshot.table.len() as u32).collect(),
    })
}
