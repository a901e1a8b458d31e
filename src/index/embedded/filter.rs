//! Which rows may be in an answer. The filter is part of the search, never applied to a cut list.

use std::collections::HashSet;
use std::ops::Range;

use super::keywords;
use super::snapshot::EmbeddedSnapshot;
use crate::index::IndexError;
use crate::index::Moment;
use crate::index::Texts;
use crate::index::facts::fact;
use crate::index::filter::Conditions;
use crate::model::Filter;
use crate::ranking::Postings as _;

/// A set of rows, a bit each.
pub(super) struct Rows {
    words: Vec<u64>,
    /// How many rows there are, in the set or not.
    count: usize,
}

impl Rows {
    /// All rows of a table of so many.
    fn all(count: usize) -> Rows {
        Rows {
            words: vec![u64::MAX; count.div_ceil(64)],
            count,
        }
    }

    fn none(count: usize) -> Rows {
        Rows {
            words: vec![0; count.div_ceil(64)],
            count,
        }
    }

    pub fn contains(&self, row: u32) -> bool {
        self.words[row as usize / 64] >> (row % 64) & 1 == 1
    }

    fn put_in(&mut self, row: u32) {
        self.words[row as usize / 64] |= 1 << (row % 64);
    }

    /// Puts these in.
    fn put_in_all(&mut self, rows: Range<u32>) {
        if rows.is_empty() {
            return;
        }
        let (first, last) = (rows.start as usize / 64, rows.end as usize / 64);
        let (from, to) = (
            u64::MAX << (rows.start % 64),
            !(u64::MAX << (rows.end % 64)),
        );
        if first == last {
            self.words[first] |= from & to;
            return;
        }
        self.words[first] |= from;
        self.words[first + 1..last].fill(u64::MAX);
        if let Some(word) = self.words.get_mut(last) {
            *word |= to;
        }
    }

    fn take_out(&mut self, row: u32) {
        self.words[row as usize / 64] &= !(1 << (row % 64));
    }

    /// Takes out the rows for which `keeps` is false.
    fn keep(&mut self, keeps: impl Fn(u32) -> bool) {
        for row in 0..self.count as u32 {
            if self.contains(row) && !keeps(row) {
                self.take_out(row);
            }
        }
    }

    /// Takes out the rows that are not in `other`.
    fn keep_those_of(&mut self, other: &Rows) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }
}

/// The rows that pass `filter` at a moment.
pub(super) fn passing(
    snapshot: &EmbeddedSnapshot,
    filter: &Filter,
    moment: Moment<'_>,
    texts: &Texts<'_>,
) -> Result<Rows, IndexError> {
    let table = &snapshot.table;
    let conditions = Conditions::of(filter, moment);
    let mut rows = Rows::all(table.len());
    let admits = |row: u32| {
        let name = table.name(row);
        conditions.names(name) && conditions.admits(name, &table.stated(row))
    };
    if conditions.admits_the_permanent() {
        // Most memories have no end: only the others are looked at.
        let may_end = table.impermanent();
        may_end
            .filter(|row| !admits(*row))
            .for_each(|row| rows.take_out(row));
    } else {
        rows.keep(admits);
    }
    if conditions.asks_for_namespaces() {
        let mut lies_in_one = Rows::none(table.len());
        for namespace in table.namespaces() {
            if conditions.admits_namespace(namespace) {
                lies_in_one.put_in_all(table.rows_in(namespace));
            }
        }
        rows.keep_those_of(&lies_in_one);
    }
    if conditions.hides_superseded() {
        for row in snapshot.superseded()? {
            rows.take_out(*row);
        }
    }
    for facts in &conditions.facts {
        let mut has_any = Rows::none(table.len());
        for fact in facts {
            snapshot.each_with_fact(fact, |row| has_any.put_in(row))?;
        }
        rows.keep_those_of(&has_any);
    }
    if conditions.asks_for_words() {
        let words = snapshot
            .analyzers
            .lend(|analyzer| conditions.words(analyzer));
        for terms in words {
            let mut has_any = Rows::none(table.len());
            for term in terms {
                for (row, _) in snapshot.text(&term)? {
                    has_any.put_in(row);
                }
            }
            rows.keep_those_of(&has_any);
        }
    }
    for fact in &conditions.unwanted {
        snapshot.each_with_fact(fact, |row| rows.take_out(row))?;
    }
    for (phrase, wanted) in &conditions.phrases {
        let counted = keywords::count(snapshot, &[phrase.as_ref()], &rows, texts)?;
        let holding: HashSet<u32> = counted.iter().map(|found| found.row).collect();
        rows.keep(|row| holding.contains(&row) == *wanted);
    }
    Ok(rows)
}

/// The rows that a live memory supersedes: those it names in `supersedes`, and those that name it
/// in `superseded_by`. Where the newer memory was forgotten, the older one counts again.
pub(super) fn superseded(snapshot: &EmbeddedSnapshot) -> Result<Vec<u32>, IndexError> {
    let mut superseded = Vec::new();
    for older in snapshot.values_of("supersedes")? {
        superseded.extend(snapshot.rows_called(&older)?);
    }
    for newer in snapshot.values_of("superseded_by")? {
        if !snapshot.rows_called(&newer)?.is_empty() {
            superseded.extend(snapshot.rows_with_fact(&fact("superseded_by", &newer))?);
        }
    }
    Ok(superseded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Rows;

    proptest! {
        #[test]
        fn a_range_of_rows_is_put_in_and_no_other(start in 0..300_u32, length in 0..300_u32, more in 0..70) {
            let end = start + length;
            let mut rows = Rows::none((end as usize) + more as usize);
            rows.put_in_all(start..end);
            for row in 0..rows.count as u32 {
                prop_assert_eq!(rows.contains(row), (start..end).contains(&row), "{}", row);
            }
        }
    }
}
