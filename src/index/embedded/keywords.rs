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
use crate::ranking::RowSet;
use crate::ranking::keyword::{Keyword, KeywordSet};

/// A row with its score and the keywords that it holds.
pub(super) struct Counted {
    /// Number of the row.
    pub row: u32,
    /// Sum of the keywords' scores.
    pub score: u32,
    /// Number of the first keyword that it holds.
    first: usize,
    /// Numbers of the others, ascending. Most rows hold one keyword, which takes no allocation.
    others: Vec<usize>,
}

impl Counted {
    /// Returns the numbers of the keywords that the row holds, ascending.
    pub fn matched(&self) -> Vec<usize> {
        let mut numbers = vec![self.first];
        numbers.extend(&self.others);
        numbers
    }
}

/// Scores of one keyword, in a table of all rows: a short one stands in most rows, in many runs of each.
struct OneKeyword {
    /// 0 of a row that does not hold it.
    scores: Vec<u32>,
    /// Rows that hold it, each once.
    rows: Vec<u32>,
}

impl OneKeyword {
    fn of(rows: usize) -> OneKeyword {
        OneKeyword {
            // Pages of zeros cost nothing until they are used.
            scores: vec![0; rows],
            rows: Vec::new(),
        }
    }

    /// Adds a score, which is not 0, to that of a row.
    fn add(&mut self, row: u32, score: u32) {
        let of_row = &mut self.scores[row as usize];
        if *of_row == 0 {
            self.rows.push(row);
        }
        *of_row += score;
    }

    /// Takes the rows with their scores.
    fn take(&mut self) -> impl Iterator<Item = (u32, u32)> {
        let scores = &mut self.scores;
        let rows = self.rows.drain(..);
        rows.map(|row| (row, std::mem::take(&mut scores[row as usize])))
    }
}

/// Rows with their scores for all keywords.
struct Scores {
    /// For each row its place in `counted`, counted from 1; 0 of a row that holds no keyword.
    places: Vec<u32>,
    counted: Vec<Counted>,
}

impl Scores {
    fn of(rows: usize) -> Scores {
        Scores {
            places: vec![0; rows],
            counted: Vec::new(),
        }
    }

    /// Adds the score of the keyword of this number to a row. Keywords come in the order of their numbers.
    fn add(&mut self, row: u32, number: usize, score: u32) {
        let place = &mut self.places[row as usize];
        if *place == 0 {
            self.counted.push(Counted {
                row,
                score,
                first: number,
                others: Vec::new(),
            });
            *place = self.counted.len() as u32;
            return;
        }
        let counted = &mut self.counted[*place as usize - 1];
        counted.score += score;
        if *counted.others.last().unwrap_or(&counted.first) != number {
            counted.others.push(number);
        }
    }
}

/// Counts `keywords` in the rows of `passing`; only rows that hold one are returned. Where the filter left
/// `talks` out, none is among them.
pub(super) fn count(
    snapshot: &EmbeddedSnapshot,
    keywords: &KeywordSet,
    (passing, talks): (&RowSet, Talks),
    texts: &Texts<'_>,
) -> Result<Vec<Counted>, IndexError> {
    let mut scores = Scores::of(snapshot.table.len());
    let mut one = OneKeyword::of(snapshot.table.len());
    let mut read: HashMap<u32, Option<Lowered>> = HashMap::new();
    let mut uncounted = RowSet::none(snapshot.table.len());
    let by_text = snapshot.table.with_flag(flag::UNCOUNTED as u8);
    by_text.iter().for_each(|row| uncounted.put_in(*row));
    let counts = |row: u32| passing.contains(row) && !uncounted.contains(row);
    let runs = keywords
        .are_many()
        .then(|| snapshot.runs_with(keywords, talks))
        .transpose()?;
    let lowered = |row: u32| texts(snapshot.table.name(row)).map(|memory| Lowered::of(&memory));
    for (number, keyword) in keywords.iter() {
        if !keyword.has_blank() {
            let runs = runs.as_ref().map(|runs| (runs, number));
            snapshot.each_run(keyword, talks, runs, |row, score| one.add(row, score))?;
            for (row, score) in one.take().filter(|(row, _)| counts(*row)) {
                scores.add(row, number, score);
            }
            continue;
        }
        for row in candidates(snapshot, keyword)? {
            if !counts(row) {
                continue;
            }
            let text = read.entry(row).or_insert_with(|| lowered(row)).as_ref();
            let score = text.map_or(0, |text| text.score(keyword));
            if score > 0 {
                scores.add(row, number, score);
            }
        }
    }
    for row in by_text {
        let text = passing.contains(row).then(|| lowered(row)).flatten();
        let in_text = text.map(|text| text.scores(keywords));
        for (number, score) in in_text.into_iter().flatten() {
            scores.add(row, number, score);
        }
    }
    Ok(scores.counted)
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
