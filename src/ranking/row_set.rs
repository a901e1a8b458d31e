//! Some of the rows of a store.

use std::ops::Range;

/// A set of rows, a bit each.
pub struct RowSet {
    words: Vec<u64>,
    /// How many rows there are, in the set or not.
    count: usize,
}

impl RowSet {
    /// All of `count` rows.
    pub fn all(count: usize) -> RowSet {
        RowSet {
            words: vec![u64::MAX; count.div_ceil(64)],
            count,
        }
    }

    /// None of `count` rows.
    pub fn none(count: usize) -> RowSet {
        RowSet {
            words: vec![0; count.div_ceil(64)],
            count,
        }
    }

    /// Whether no row is in it.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Whether this row of the store is in it.
    pub fn contains(&self, row: u32) -> bool {
        self.words[row as usize / 64] >> (row % 64) & 1 == 1
    }

    /// Those that are in it, ascending. What is not costs next to nothing.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let count = self.count as u32;
        let words = self.words.iter().zip((0_u32..).step_by(64));
        words
            .filter(|(word, _)| **word != 0)
            .flat_map(|(&word, first)| Bits(word).map(move |bit| first + bit))
            .take_while(move |row| *row < count)
    }

    /// Puts one of the store's rows in.
    pub fn put_in(&mut self, row: u32) {
        self.words[row as usize / 64] |= 1 << (row % 64);
    }

    /// Puts these in.
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

    /// Takes a row out, if it is in.
    pub fn take_out(&mut self, row: u32) {
        self.words[row as usize / 64] &= !(1 << (row % 64));
    }

    /// Takes out the rows for which `keeps` is false.
    pub fn keep(&mut self, keeps: impl Fn(u32) -> bool) {
        for row in 0..self.count as u32 {
            if self.contains(row) && !keeps(row) {
                self.take_out(row);
            }
        }
    }

    /// Takes out the rows that are not in `other`.
    pub fn keep_those_of(&mut self, other: &RowSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }
}

/// The places of the bits that are set, ascending.
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
            rows.keep_those_of(&others);
            prop_assert_eq!(rows.iter().next(), None);
        }
    }
}
