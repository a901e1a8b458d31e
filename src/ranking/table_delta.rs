//! A list of rows as the difference to another list: removed and inserted rows.
//!
//! Nothing is copied: only the origins of rows are stored. The cost is in proportion to the changes, and
//! each access to a row is a binary search among them.

use std::ops::Range;

/// Difference of a new list of rows to an old one.
#[derive(Debug, Default)]
pub struct TableDelta {
    /// Runs of the new list, in its order.
    runs: Vec<Run>,
    /// Row of each inserted row in the new list.
    places: Vec<u32>,
    /// Number of rows of the new list.
    after: u32,
    /// First row that may differ in both lists.
    same: u32,
}

/// Consecutive rows of the old list, or consecutive inserted rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    /// First row of the run in the new list.
    start: u32,
    from: Origin,
    /// End of the run, as a row of the old list.
    old_end: u32,
}

/// Origin of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Row of the old list.
    Old(u32),
    /// Number of an inserted row.
    New(u32),
}

/// Part of the new list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Rows of the old list.
    Old(Range<u32>),
    /// Numbers of inserted rows.
    New(Range<u32>),
}

impl TableDelta {
    /// Returns the difference of a list of `rows` rows to itself.
    pub fn none(rows: u32) -> TableDelta {
        TableDelta::new(rows, &[], &[])
    }

    /// Makes the difference to a list of `before` rows: without the rows `removed`, ascending, and with
    /// inserted rows, number n before the row `inserted[n]` of the old list, ascending.
    pub fn new(before: u32, removed: &[u32], inserted: &[u32]) -> TableDelta {
        let mut splice = TableDelta {
            ..TableDelta::default()
        };
        let (mut at, mut removed) = (0, removed.iter().copied().peekable());
        let mut keep_to = |splice: &mut TableDelta, end: u32| {
            while let Some(gone) = removed.next_if(|gone| *gone < end) {
                splice.keep(at..gone);
                at = gone + 1;
            }
            splice.keep(at..end);
            at = at.max(end);
        };
        for (number, before) in inserted.iter().enumerate() {
            keep_to(&mut splice, *before);
            splice.put_in(number as u32, *before);
        }
        keep_to(&mut splice, before);
        splice.same = match splice.runs.first() {
            Some(Run {
                from: Origin::Old(0),
                old_end,
                ..
            }) => *old_end,
            _ => 0,
        };
        splice
    }

    fn keep(&mut self, rows: Range<u32>) {
        if rows.is_empty() {
            return;
        }
        let start = self.after;
        self.after += rows.len() as u32;
        match self.runs.last_mut() {
            Some(Run {
                from: Origin::Old(_),
                old_end,
                ..
            }) if *old_end == rows.start => *old_end = rows.end,
            _ => self.runs.push(Run {
                start,
                from: Origin::Old(rows.start),
                old_end: rows.end,
            }),
        }
    }

    fn put_in(&mut self, number: u32, before: u32) {
        let start = self.after;
        self.places.push(start);
        self.after += 1;
        let follows = self.runs.last_mut().filter(|run| run.is_new());
        match follows {
            Some(run) => run.old_end = before,
            None => self.runs.push(Run {
                start,
                from: Origin::New(number),
                old_end: before,
            }),
        }
    }

    /// Returns the number of rows of the new list.
    pub fn len(&self) -> usize {
        self.after as usize
    }

    /// Returns whether the new list is empty.
    pub fn is_empty(&self) -> bool {
        self.after == 0
    }

    /// Returns the origin of a row of the new list.
    #[inline]
    pub fn origin(&self, row: u32) -> Origin {
        match row < self.same {
            true => Origin::Old(row),
            false => self.origin_in_runs(row),
        }
    }

    fn origin_in_runs(&self, row: u32) -> Origin {
        let at = self.runs.partition_point(|run| run.start <= row);
        let run = &self.runs[at - 1];
        let ahead = row - run.start;
        match run.from {
            Origin::Old(first) => Origin::Old(first + ahead),
            Origin::New(first) => Origin::New(first + ahead),
        }
    }

    /// Returns the new row of a row of the old list; `None` if it was removed.
    pub fn moved(&self, old: u32) -> Option<u32> {
        if old < self.same {
            return Some(old);
        }
        let at = self.runs.partition_point(|run| run.old_end <= old);
        let run = self.runs.get(at)?;
        match run.from {
            Origin::Old(first) => Some(run.start + old.checked_sub(first)?),
            // No row of the old list is kept between this run and the next one.
            Origin::New(_) => None,
        }
    }

    /// Returns the row of each inserted row in the new list.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Returns the parts of the new list, in its order.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> {
        let ends = self.runs.iter().skip(1).map(|run| run.start);
        let ends = ends.chain([self.after]);
        self.runs.iter().zip(ends).map(|(run, end)| {
            let count = end - run.start;
            match run.from {
                Origin::Old(first) => Piece::Old(first..first + count),
                Origin::New(first) => Piece::New(first..first + count),
            }
        })
    }
}

impl Run {
    fn is_new(&self) -> bool {
        matches!(self.from, Origin::New(_))
    }
}

/// Values of the rows of a new list: those of the old list, and those of inserted rows.
#[derive(Debug, Clone, Copy)]
pub struct Spliced<'a, T> {
    /// Difference of the lists.
    pub splice: &'a TableDelta,
    /// Values of the old list.
    pub old: &'a [T],
    /// Values of inserted rows.
    pub new: &'a [T],
}

impl<'a, T: Copy> Spliced<'a, T> {
    /// Returns the value of a row of the new list.
    #[inline]
    pub fn get(&self, row: u32) -> T {
        match self.splice.origin(row) {
            Origin::Old(row) => self.old[row as usize],
            Origin::New(number) => self.new[number as usize],
        }
    }

    /// Returns the values in the order of the new list, piece by piece.
    pub fn slices(self) -> impl Iterator<Item = &'a [T]> {
        let part = |range: Range<u32>| range.start as usize..range.end as usize;
        self.splice.pieces().map(move |piece| match piece {
            Piece::Old(rows) => &self.old[part(rows)],
            Piece::New(numbers) => &self.new[part(numbers)],
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spliced<'a>(splice: &'a TableDelta, old: &'a [char], new: &'a [char]) -> Spliced<'a, char> {
        Spliced { splice, old, new }
    }

    #[test]
    fn rows_are_kept_taken_out_and_put_in() {
        let old = ['a', 'b', 'c', 'd'];
        for (removed, inserted, wanted) in [
            (&[][..], &[][..], "abcd"),
            (&[0], &[0], "Xbcd"),
            (&[1, 2], &[2], "aXd"),
            (&[0, 1, 2, 3], &[], ""),
            (&[3], &[4, 4], "abcXY"),
            (&[1], &[1, 2], "aXYcd"),
            (&[], &[0, 2, 4], "XabYcdZ"),
        ] {
            let splice = TableDelta::new(4, removed, inserted);
            let new: String = spliced(&splice, &old, &['X', 'Y', 'Z'])
                .slices()
                .flatten()
                .collect();
            assert_eq!(new, wanted);
        }
    }

    proptest! {
        #[test]
        fn each_row_is_found_from_either_side(
            gone in prop::collection::vec(any::<bool>(), 0..20),
            mut inserted in prop::collection::vec(0..20_u32, 0..10),
        ) {
            let before = gone.len() as u32;
            inserted.iter_mut().for_each(|row| *row = (*row).min(before));
            inserted.sort_unstable();
            let removed: Vec<u32> = (0..before).filter(|row| gone[*row as usize]).collect();
            let splice = TableDelta::new(before, &removed, &inserted);
            // The list as it is made row by row.
            let mut wanted = Vec::new();
            for row in 0..=before {
                let new = (0_u32..).zip(&inserted).filter(|(_, before)| **before == row);
                wanted.extend(new.map(|(number, _)| Origin::New(number)));
                if row < before && !gone[row as usize] {
                    wanted.push(Origin::Old(row));
                }
            }
            prop_assert_eq!(splice.len(), wanted.len());
            for (row, origin) in (0_u32..).zip(&wanted) {
                prop_assert_eq!(splice.origin(row), *origin);
                match origin {
                    Origin::Old(old) => prop_assert_eq!(splice.moved(*old), Some(row)),
                    Origin::New(number) => prop_assert_eq!(splice.places()[*number as usize], row),
                }
            }
            for old in removed {
                prop_assert_eq!(splice.moved(old), None);
            }
            let pieces = splice.pieces().flat_map(|piece| match piece {
                Piece::Old(rows) => rows.map(Origin::Old).collect::<Vec<_>>(),
                Piece::New(numbers) => numbers.map(Origin::New).collect(),
            });
            prop_assert_eq!(pieces.collect::<Vec<_>>(), wanted);
        }
    }
}
