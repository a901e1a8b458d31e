//! Memories of the dates that a query names.

use super::lexical::idf;
use super::postings::Postings;
use super::row_set::RowSet;
use super::times::{is_of_day, is_precise};

/// Memories of the dates of a query.
pub(super) struct Dated {
    /// Scores by row; empty if the query has no date.
    pub scores: Vec<f32>,
    /// Memories of a date. A day, or a month of a year, has those of no other one.
    pub rows: RowSet,
    /// Memories of a day, in a month of a year that the query names, if it does.
    pub of_day: RowSet,
}

impl Dated {
    /// Looks for the calendar terms `dates` in a store of `count` memories.
    ///
    /// # Errors
    ///
    /// Fails if the postings do.
    pub fn of<P: Postings>(
        dates: &[String],
        count: usize,
        postings: &P,
    ) -> Result<Dated, P::Error> {
        let has = |is_so: fn(&str) -> bool| dates.iter().any(|term| is_so(term));
        let is_vague = !has(is_precise);
        let mut scores = Vec::new();
        let (mut of_day, mut others) = (RowSet::none(count), RowSet::none(count));
        for term in dates {
            let rows = postings.date(term)?;
            let idf = idf(count, rows.len());
            scores.resize(count, 0.0);
            for row in rows {
                scores[row as usize] += idf;
                if is_of_day(term) {
                    of_day.put_in(row);
                } else if is_vague || is_precise(term) {
                    others.put_in(row);
                }
            }
        }
        let mut rows = of_day.clone();
        rows.put_in_those_of(&others);
        if has(|term| is_precise(term) && !is_of_day(term)) {
            of_day.keep_those_of(&others);
        }
        Ok(Dated {
            scores,
            rows,
            of_day,
        })
    }
}
