//! Sets of rows.

use std::ops::Range;

/// A set of rows, as a bit set.
#[derive(Debug, Clone, Default)]
pub struct RowSet {
    words: Vec<u64>,
    /// Number of rows of the store.
    count: usize,
}

impl RowSet {
    /// Returns the set of all of `count` rows.
    pub fn all(count: usize) -> RowSet {
        RowSet {
            words: vec![u64::MAX; count.div_ceil(64)],
            count,
        }
    }

    /// Returns the empty set of `count` rows.
    pub fn none(count: usize) -> RowSet {
        RowSet {
            words: vec![0; count.div_ceil(64)],
            count,
        }
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Returns whether a row is in the set.
    #[inline]
    pub fn contains(&self, row: u32) -> bool {
        self.words[row as usize / 64] >> (row % 64) & 1 == 1
    }

    /// Returns the rows in the set, ascending; 64 absent rows are skipped at once.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let count = self.count as u32;
        let words = self.words.iter().zip((0_u32..).step_by(64));
        words
            .filter(|(word, _)| **word != 0)
            .flat_map(|(&word, first)| Bits(word).map(move |bit| first + bit))
            .take_while(move |row| *row < count)
    }

    /// Adds a row.
    #[inline]
    pub fn put_in(&mut self, row: u32) {
        self.words[row as usize / 64] |= 1 << (row % 64);
    }

    /// Adds a range of rows.
    pub fn put_in_all(&mut self, rows: Range<u32>) {
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

    /// Removes a row, if it is in the set.
    pub fn take_out(&mut self, row: u32) {
        self.words[row as usize / 64] &= !(1 << (row % 64));
    }

    /// Removes the rows for which `keeps` is false.
    pub fn keep(&mut self, keeps: impl Fn(u32) -> bool) {
        for row in 0..self.count as u32 {
            if self.contains(row) && !keeps(row) {
                self.take_out(row);
            }
        }
    }

    /// Adds the rows of `other`.
    pub fn put_in_those_of(&mut self, other: &RowSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Removes the rows that are not in `other`.
    pub fn keep_those_of(&mut self, other: &RowSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }
}

/// Iterator over the positions of set bits, ascending.
struct Bits(u64);

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::RowSet;

    proptest! {
        #[test]
        fn a_range_of_rows_is_put_in_and_no_other(start in 0..300_u32, length in 0..300_u32, more in 0..70) {
            let end = start + length;
            let mut rows = RowSet::none((end as usize) + more as usize);
            rows.put_in_all(start..end);
            for row in 0..rows.count as u32 {
                prop_assert_eq!(rows.contains(row), (start..end).contains(&row), "{}", row);
            }
            prop_assert!(rows.iter().eq(start..end));
        }

        #[test]
        fn the_rows_of_a_set_are_those_that_were_put_in(
            put in prop::collection::btree_set(0..200_u32, 0..40),
            count in 200..330_usize,
        ) {
            let mut rows = RowSet::none(count);
            put.iter().for_each(|&row| rows.put_in(row));
            prop_assert!(rows.iter().eq(put.iter().copied()));
            let mut others = RowSet::all(count);
            prop_assert_eq!(others.iter().count(), count);
            put.iter().for_each(|&row| others.take_out(row));
            prop_assert!(others.iter().all(|row| !put.contains(&row)));
            prop_assert_eq!(others.iter().count(), count - put.len());
            let mut both = RowSet::none(count);
            both.put_in_those_of(&rows);
            both.put_in_those_of(&others);
            prop_assert_eq!(both.iter().count(), count);
            rows.keep_those_of(&others);
            prop_assert_eq!(rows.iter().next(), None);
        }
    }
}
