//! Limits how many threads compute at once, questions before texts.
//!
//! A question is asked by somebody who waits; texts are embedded in the background, thousands in a
//! row. Promises: never more than the given number have a turn; a question gets the next turn that
//! becomes free, however many texts wait. Questions among themselves, and texts, are in no order.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: usize,
    questions_waiting: usize,
}

/// For whom something is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Question,
    Text,
}

/// Given back when it is dropped.
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// At most `at_once` turns at a time; at least one.
    pub fn new(at_once: usize) -> Turns {
        Turns {
            state: Mutex::new(State {
                free: at_once.max(1),
                questions_waiting: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for a turn.
    pub fn take(&self, whom: For) -> Turn<'_> {
        let mut state = self.state();
        if whom == For::Question {
            state.questions_waiting += 1;
        }
        while state.free == 0 || (whom == For::Text && state.questions_waiting > 0) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.free -= 1;
        if whom == For::Question {
            state.questions_waiting -= 1;
            // The texts that let it go first may go on, if there is room.
            self.changed.notify_all();
        }
        Turn(self)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that could panic runs while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().free += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_question_that_waits_goes_before_texts_that_wait_longer() {
        let turns = Turns::new(1);
        let (sender, order) = mpsc::channel();
        let turn = turns.take(For::Text);
        thread::scope(|scope| {
            for _ in 0..3 {
                let (turns, sender) = (&turns, sender.clone());
                scope.spawn(move || {
                    let _turn = turns.take(For::Text);
                    sender.send(For::Text).unwrap();
                });
            }
            let (turns, sender) = (&turns, sender.clone());
            scope.spawn(move || {
                let _turn = turns.take(For::Question);
                sender.send(For::Question).unwrap();
            });
            while turns.state().questions_waiting == 0 {
                thread::yield_now();
            }
            drop(turn);
        });
        drop(sender);
        let order: Vec<For> = order.iter().collect();
        assert_eq!(order, [For::Question, For::Text, For::Text, For::Text]);
    }

    #[test]
    fn no_more_than_the_given_number_have_a_turn() {
        let turns = Turns::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for number in 0..8 {
                let (turns, now, most) = (&turns, &now, &most);
                let whom = [For::Text, For::Question][number % 2];
                scope.spawn(move || {
                    for _ in 0..200 {
                        let _turn = turns.take(whom);
                        let together = now.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(together, Ordering::SeqCst);
                        thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert_eq!(turns.state().free, 2);
        assert_eq!(turns.state().questions_waiting, 0);
    }

    #[test]
    fn a_turn_comes_back_when_its_holder_panics() {
        let turns = Turns::new(1);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _turn = turns.take(For::Text);
            panic!("as a backend might");
        }));
        assert!(ended.is_err());
        drop(turns.take(For::Question));
    }
}
