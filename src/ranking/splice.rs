//! A list of rows that another one becomes by taking some out and putting some in: what is between
//! is copied in one piece.

use std::ops::Range;

/// What becomes of the rows of a list.
#[derive(Debug, Default)]
pub struct Splice {
    runs: Vec<Run>,
    /// Rows before and after.
    before: u32,
    after: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Run {
    /// These rows as they are.
    Kept(Range<u32>),
    /// The new row of this number.
    New(u32),
}

impl Splice {
    /// Of a list of `before` rows, without those of `removed`, ascending, and with new rows: the
    /// one of number n before the row `inserted[n]` of the old list, ascending.
    pub fn new(before: u32, removed: &[u32], inserted: &[u32]) -> Splice {
        let mut splice = Splice {
            before,
            ..Splice::default()
        };
        let (mut at, mut removed) = (0, removed.iter().copied().peekable());
        let mut keep_to = |splice: &mut Splice, end: u32| {
            while let Some(gone) = removed.next_if(|gone| *gone < end) {
                splice.keep(at..gone);
                at = gone + 1;
            }
            splice.keep(at..end);
            at = at.max(end);
        };
        for (number, before) in inserted.iter().enumerate() {
            keep_to(&mut splice, *before);
            splice.runs.push(Run::New(number as u32));
            splice.after += 1;
        }
        keep_to(&mut splice, before);
        splice
    }

    fn keep(&mut self, rows: Range<u32>) {
        if !rows.is_empty() {
            self.after += rows.len() as u32;
            self.runs.push(Run::Kept(rows));
        }
    }

    /// How many rows the new list has.
    pub fn len(&self) -> usize {
        self.after as usize
    }

    pub fn is_empty(&self) -> bool {
        self.after == 0
    }

    /// The values of all rows of the new list, from those of the old one and of the new rows.
    pub fn apply<T: Clone>(&self, old: &[T], new: impl Fn(usize) -> T) -> Vec<T> {
        let mut values = Vec::with_capacity(self.len());
        for run in &self.runs {
            match run {
                Run::Kept(rows) => {
                    values.extend_from_slice(&old[rows.start as usize..rows.end as usize]);
                }
                Run::New(number) => values.push(new(*number as usize)),
            }
        }
        values
    }

    /// Where each row of the old list is in the new one; `gone` for those that are not.
    pub fn moved(&self, gone: u32) -> Vec<u32> {
        let mut moved = vec![gone; self.before as usize];
        let mut at = 0;
        for run in &self.runs {
            match run {
                Run::Kept(rows) => {
                    let kept = &mut moved[rows.start as usize..rows.end as usize];
                    kept.iter_mut().zip(at..).for_each(|(row, to)| *row = to);
                    at += rows.len() as u32;
                }
                Run::New(_) => at += 1,
            }
        }
        moved
    }

    /// Where each new row is in the new list.
    pub fn places(&self) -> Vec<u32> {
        let (mut places, mut at) = (Vec::new(), 0);
        for run in &self.runs {
            match run {
                Run::Kept(rows) => at += rows.len() as u32,
                Run::New(_) => {
                    places.push(at);
                    at += 1;
                }
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_taken_out_and_put_in() {
        let old = ["a", "b", "c", "d"];
        for (removed, inserted, wanted) in [
            (&[][..], &[][..], "a b c d"),
            (&[0], &[0], "X b c d"),
            (&[1, 2], &[2], "a X d"),
            (&[0, 1, 2, 3], &[], ""),
            (&[3], &[4, 4], "a b c X Y"),
            (&[1], &[1, 2], "a X Y c d"),
            (&[], &[0, 2, 4], "X a b Y c d Z"),
        ] {
            let splice = Splice::new(4, removed, inserted);
            let new = splice.apply(&old, |number| ["X", "Y", "Z"][number]);
            assert_eq!(new.join(" "), wanted);
            assert_eq!(new.len(), splice.len());
            let moved = splice.moved(u32::MAX);
            for (row, to) in moved.iter().enumerate() {
                match removed.contains(&(row as u32)) {
                    true => assert_eq!(*to, u32::MAX),
                    false => assert_eq!(new[*to as usize], old[row]),
                }
            }
            for (number, at) in splice.places().into_iter().enumerate() {
                assert_eq!(new[at as usize], ["X", "Y", "Z"][number]);
            }
        }
    }
}
