//! Spreads work over threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{EmbedError, Priority};

/// Returns the results of `work` for the numbers in `order`, which are those below its length: that
/// of number 0 first. The calling thread and others of its priority, at most `threads` together,
/// each take the next number of `order`.
///
/// # Errors
///
/// Fails if `work` does for one of them; then those that are not begun are left out.
pub(super) fn in_parallel<T: Send>(
    threads: usize,
    order: &[usize],
    work: impl Fn(usize) -> Result<T, EmbedError> + Sync,
) -> Result<Vec<T>, EmbedError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let take = || -> Result<Vec<(usize, T)>, EmbedError> {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let Some(&number) = order.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let result = work(number).inspect_err(|_| failed.store(true, Ordering::Relaxed));
            done.push((number, result?));
        }
        Ok(done)
    };
    let priority = Priority::of_this_thread();
    let take_beside = || {
        priority.begin();
        take()
    };
    let mut results = std::thread::scope(|scope| {
        let beside = 1..threads.min(order.len());
        let beside: Vec<_> = beside.map(|_| scope.spawn(take_beside)).collect();
        let mut results = take()?;
        for thread in beside {
            results.extend(thread.join().expect("what may panic is guarded")?);
        }
        Ok(results)
    })?;
    results.sort_unstable_by_key(|(number, _)| *number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_numbers() {
        let order = [2, 0, 3, 1];
        for threads in [1, 2, 8] {
            let found = in_parallel(threads, &order, |number| Ok(number * 10)).unwrap();
            assert_eq!(found, [0, 10, 20, 30]);
        }
        assert!(in_parallel(2, &[], Ok).unwrap().is_empty());
    }

    #[test]
    fn as_many_threads_as_allowed_work_at_once_with_the_priority_of_the_caller() {
        let together = Barrier::new(3);
        let priority = |_| {
            // Fewer than three threads would wait for ever.
            together.wait();
            Ok(Priority::of_this_thread())
        };
        let all = || in_parallel(3, &[0, 1, 2], priority).unwrap();
        assert_eq!(all(), [Priority::Usual; 3]);
        assert_eq!(Priority::Low.run(all), [Priority::Low; 3]);
    }

    #[test]
    fn a_failure_ends_it() {
        let begun = AtomicUsize::new(0);
        let found = in_parallel(1, &[0, 1, 2], |number| {
            begun.fetch_add(1, Ordering::Relaxed);
            match number {
                1 => Err(EmbedError::NoWords),
                _ => Ok(number),
            }
        });
        assert_eq!(found, Err(EmbedError::NoWords));
        assert_eq!(begun.into_inner(), 2);
    }
}
