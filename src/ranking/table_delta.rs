//! A list of rows that another one becomes by taking some out and putting some in.
//!
//! Nothing is copied: what is kept is where each row comes from. A large list with a few changes
//! costs what the changes cost, and each look at a row a few steps of a search among them.

use std::ops::Range;

/// What becomes of the rows of a list.
#[derive(Debug, Default)]
pub struct TableDelta {
    /// What the new list is made of, in its order.
    runs: Vec<Run>,
    /// Where each new row is in the new list.
    places: Vec<u32>,
    /// Rows of the new list.
    after: u32,
    /// Rows below this one are the same in both lists.
    same: u32,
}

/// Rows that lie together in both lists, or new ones that lie together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    /// The first one in the new list.
    start: u32,
    from: Origin,
    /// Rows of the old list below this one are before the end of the run.
    old_end: u32,
}

/// Where a row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is this row of the old list.
    Old(u32),
    /// It is the new row of this number.
    New(u32),
}

/// A part of the new list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// These rows of the old list.
    Old(Range<u32>),
    /// The new rows of these numbers.
    New(Range<u32>),
}

impl TableDelta {
    /// The delta of a list of `rows` rows to itself: no change.
    pub fn none(rows: u32) -> TableDelta {
        TableDelta::new(rows, &[], &[])
    }

    /// Of a list of `before` rows, without those of `removed`, ascending, and with new rows: the
    /// one of number n before the row `inserted[n]` of the old list, ascending.
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

    /// How many rows the new list has.
    pub fn len(&self) -> usize {
        self.after as usize
    }

    pub fn is_empty(&self) -> bool {
        self.after == 0
    }

    /// Where a row of the new list comes from.
    pub fn origin(&self, row: u32) -> Origin {
        if row < self.same {
            return Origin::Old(row);
        }
        let at = self.runs.partition_point(|run| run.start <= row);
        let run = &self.runs[at - 1];
        let ahead = row - run.start;
        match run.from {
            Origin::Old(first) => Origin::Old(first + ahead),
            Origin::New(first) => Origin::New(first + ahead),
        }
    }

    /// Where a row of the old list is in the new one; `None` if it was taken out.
    pub fn moved(&self, old: u32) -> Option<u32> {
        if old < self.same {
            return Some(old);
        }
        let at = self.runs.partition_point(|run| run.old_end <= old);
        let run = self.runs.get(at)?;
        match run.from {
            Origin::Old(first) => Some(run.start + old.checked_sub(first)?),
            // Behind it comes no row that was kept before the next new one.
            Origin::New(_) => None,
        }
    }

    /// Where each new row is in the new list.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// What the new list is made of, in its order.
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

/// The values of the rows of a new list: those of the old one, and those of the new rows.
#[derive(Debug, Clone, Copy)]
pub struct Spliced<'a, T> {
    pub splice: &'a TableDelta,
    pub old: &'a [T],
    pub new: &'a [T],
}

impl<'a, T: Copy> Spliced<'a, T> {
    pub fn get(&self, row: u32) -> T {
        match self.splice.origin(row) {
            Origin::Old(row) => self.old[row as usize],
            Origin::New(number) => self.new[number as usize],
        }
    }

    /// The values in their order, piece by piece.
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
