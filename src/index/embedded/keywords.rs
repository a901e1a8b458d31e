//! Keyword counts from postings, equal to counting in every text.
//!
//! A keyword without blanks stands inside a run of other characters, so its count in a text is
//! the sum over the text's distinct runs of (how often the run occurs) × (how often the keyword
//! stands in the run). Runs are index terms. Keywords with blanks, and the few texts whose runs
//! are too long to be terms, are counted in the texts themselves.

use std::collections::HashMap;

use super::schema::flag;
use super::snapshot::EmbeddedSnapshot;
use crate::index::IndexError;
use crate::index::Texts;
use crate::index::text::Lowered;
use crate::ranking::RowSet;
use crate::ranking::keyword;
use crate::ranking::keyword::Keyword;

/// A row with its score and the keywords that it holds.
pub(super) struct Counted {
    pub row: u32,
    pub score: u32,
    pub matched: Vec<usize>,
}

/// Counts `keywords` in the rows of `passing`; only rows that hold one are returned. `None` stands
/// in no row.
pub(super) fn count(
    snapshot: &EmbeddedSnapshot,
    keywords: &[Option<&Keyword>],
    passing: &RowSet,
    texts: &Texts<'_>,
) -> Result<Vec<Counted>, IndexError> {
    let mut counted: HashMap<u32, (u32, Vec<usize>)> = HashMap::new();
    let mut read: HashMap<u32, Option<Lowered>> = HashMap::new();
    let uncounted = snapshot.table.with_flag(flag::UNCOUNTED as u8);
    for (number, keyword) in keywords.iter().enumerate() {
        let Some(keyword) = keyword else { continue };
        let mut add = |row: u32, score: u32| {
            let (total, matched) = counted.entry(row).or_default();
            *total += score;
            if matched.last() != Some(&number) {
                matched.push(number);
            }
        };
        let by_reading = if keyword.has_blank() {
            candidates(snapshot, keyword)?
        } else {
            let is_uncounted = |row: u32| snapshot.table.flags(row) & flag::UNCOUNTED as u8 != 0;
            snapshot.each_run(keyword, |row, topics, elsewhere| {
                if passing.contains(row) && !is_uncounted(row) {
                    add(row, keyword::score(topics, elsewhere));
                }
            })?;
            uncounted.clone()
        };
        for row in by_reading.into_iter().filter(|&row| passing.contains(row)) {
            let text = read.entry(row).or_insert_with(|| {
                texts(snapshot.table.name(row)).map(|memory| Lowered::of(&memory))
            });
            let score = text.as_ref().map_or(0, |text| text.score(keyword));
            if score > 0 {
                add(row, score);
            }
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

/// The rows that may hold a keyword with blanks: those with all its trigrams.
fn candidates(snapshot: &EmbeddedSnapshot, keyword: &Keyword) -> Result<Vec<u32>, IndexError> {
    // Blanks are any white space in a text, but a keyword's own are looked for as they are.
    let fragments = [keyword.as_str().to_owned()];
    Ok(match snapshot.rows_with_trigrams(&fragments)? {
        Some(rows) => rows,
        None => (0..snapshot.table.len() as u32).collect(),
    })
}
