//! Tables of numbers, one for each row of a store, that are used for a moment and handed on.
//!
//! A search needs several. Made anew each time, they cost the system a page fault for each of their pages, which was a
//! third of a search among 100,000 memories. Promise: a table begins with zeros, and what is kept for later is bounded.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of tables that are kept, and of their bytes together: two searches among a million rows.
const MAX_KEPT: usize = 32;
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Share of a new table that is room for more rows.
const ROOM: usize = 8;

/// Tables that nobody uses.
static IDLE: Mutex<Vec<Vec<f32>>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<Vec<f32>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A table of numbers.
#[derive(Debug)]
pub struct Scratch(Vec<f32>);

impl Scratch {
    /// Returns a table of `count` zeros.
    pub fn zeros(count: usize) -> Scratch {
        let mut idle = idle();
        // The smallest that is large enough: stores of one process differ in size.
        let fitting = (0..idle.len()).filter(|&place| idle[place].capacity() >= count);
        let place = fitting.min_by_key(|&place| idle[place].capacity());
        let known = place.map(|place| idle.swap_remove(place));
        drop(idle);
        Scratch(match known {
            Some(mut table) => {
                table.clear();
                table.resize(count, 0.0);
                table
            }
            // With room for what is stored meanwhile. The system gives zeros, and only the pages that are used.
            None => {
                let mut table = vec![0.0; count + count / ROOM];
                table.truncate(count);
                table
            }
        })
    }
}

impl Deref for Scratch {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let table = std::mem::take(&mut self.0);
        let mut idle = idle();
        idle.push(table);
        let bytes = |idle: &[Vec<f32>]| -> usize {
            idle.iter()
                .map(|table| table.capacity() * size_of::<f32>())
                .sum()
        };
        // The smallest go first: stores grow.
        while idle.len() > MAX_KEPT || bytes(&idle) > MAX_KEPT_BYTES {
            let smallest = (0..idle.len()).min_by_key(|&place| idle[place].capacity());
            let Some(smallest) = smallest else { break };
            idle.swap_remove(smallest);
        }
    }
}

/// Frees the tables that are kept.
pub fn free_scratch() {
    *idle() = Vec::new();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_begins_with_zeros_whatever_was_in_it() {
        for count in [1_000, 10, 1_000, 2_000] {
            let mut table = Scratch::zeros(count);
            assert_eq!((table.len(), table.iter().sum::<f32>()), (count, 0.0));
            table.fill(7.0);
        }
        free_scratch();
        assert_eq!(Scratch::zeros(3)[..], [0.0; 3]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let tables: Vec<Scratch> = (0..2 * MAX_KEPT).map(|_| Scratch::zeros(16)).collect();
        drop(tables);
        assert!(idle().len() <= MAX_KEPT);
        drop(Scratch::zeros(MAX_KEPT_BYTES));
        assert!(idle().iter().all(|table| table.capacity() < MAX_KEPT_BYTES));
        // A store that grows finds the tables of before.
        free_scratch();
        for count in 10_000..10_200 {
            drop([Scratch::zeros(count), Scratch::zeros(count)]);
        }
        let kept = idle()
            .iter()
            .filter(|table| table.capacity() >= 10_000)
            .count();
        assert!(kept <= 2, "{kept}");
    }
}
