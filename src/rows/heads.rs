//! Numbers of the last changes of workspaces, read for all of them with one question.
//!
//! A server asks at most as often as calls need a newer answer, however many workspaces they are about. Promises: a
//! number is as of the returned time or later.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Selects the numbers of the workspaces `$1`.
pub(super) const HEADS: &str = "SELECT workspace, head, journal, erased FROM memdir_heads($1)";

/// Time for which a workspace is asked about together with others after a call was about it.
const LATELY: Duration = Duration::from_secs(1);

/// Maximum time that a call waits for the question of another one.
const PATIENCE: Duration = Duration::from_secs(1);

/// Numbers of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Number of the last change.
    pub(super) change: i64,
    /// Number of the last line of the journal.
    pub(super) journal: i64,
    /// Number of the last change when texts were erased last.
    pub(super) erased: i64,
}

/// Numbers of workspaces by name.
pub(super) type HeadOf = HashMap<Arc<str>, Head>;

/// Latest known numbers of the workspaces that calls are about.
#[derive(Default)]
pub(super) struct Heads {
    state: Mutex<State>,
    /// Notified when a question was answered, or failed.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    calls: HashMap<Arc<str>, Calls>,
    /// Whether a question is being asked.
    is_asking: bool,
    /// Time at which the last question began that was answered.
    as_of: Option<Instant>,
    /// Its answer about each workspace that it was about; `None` of one that is not there, or not shown.
    heads: HashMap<Arc<str>, Option<Head>>,
    /// Number of questions that failed.
    failures: u64,
}

/// Calls about one workspace.
struct Calls {
    /// Time of the last one.
    at: Instant,
    /// Number of those that wait for the question of another one.
    waiting: usize,
}

impl State {
    fn calls(&mut self, workspace: &Arc<str>) -> &mut Calls {
        let calls = self.calls.entry(Arc::clone(workspace));
        calls.or_insert_with(|| Calls {
            at: Instant::now(),
            waiting: 0,
        })
    }
}

impl Heads {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the numbers of `workspace` as of `moment` or later, and the time they are of; `None` if they are not to be
    /// had, or not soon. `ask` asks for those of some workspaces. Of calls at the same time one asks, for all.
    pub(super) fn newest(
        &self,
        workspace: &Arc<str>,
        moment: Instant,
        ask: impl FnOnce(Vec<Arc<str>>) -> Option<HeadOf>,
    ) -> Option<(Head, Instant)> {
        let mut state = self.lock();
        let failures = state.failures;
        state.calls(workspace).at = Instant::now();
        loop {
            if state.as_of >= Some(moment)
                && let Some(head) = state.heads.get(workspace)
            {
                return Some(((*head)?, state.as_of?));
            }
            if state.failures != failures {
                return None;
            }
            if !state.is_asking {
                break;
            }
            state.calls(workspace).waiting += 1;
            let waited = self.ended.wait_timeout(state, PATIENCE);
            let (again, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = again;
            state.calls(workspace).waiting -= 1;
            if timeout.timed_out() {
                return None;
            }
        }
        let begun = Instant::now();
        state.is_asking = true;
        state.calls(workspace).at = begun;
        state.calls.retain(|_, calls| {
            calls.waiting > 0 || begun.saturating_duration_since(calls.at) < LATELY
        });
        let names: Vec<Arc<str>> = state.calls.keys().cloned().collect();
        drop(state);
        let answer = ask(names.clone());
        let mut state = self.lock();
        state.is_asking = false;
        let head = match answer {
            None => {
                state.failures += 1;
                None
            }
            Some(heads) => {
                let of = |name: Arc<str>| (Arc::clone(&name), heads.get(&name).copied());
                state.heads = names.into_iter().map(of).collect();
                state.as_of = Some(begun);
                heads.get(workspace).copied()
            }
        };
        drop(state);
        self.ended.notify_all();
        head.map(|head| (head, begun))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn heads_of(names: Vec<Arc<str>>, change: i64) -> HeadOf {
        let head = Head {
            change,
            journal: 0,
            erased: 0,
        };
        names.into_iter().map(|name| (name, head)).collect()
    }

    #[test]
    fn one_question_answers_for_all_workspaces_of_late() {
        let heads = Heads::default();
        let (one, two): (Arc<str>, Arc<str>) = (Arc::from("one"), Arc::from("two"));
        let begun = Instant::now();
        heads.newest(&one, begun, |names| Some(heads_of(names, 1)));
        heads.newest(&two, begun, |names| Some(heads_of(names, 2)));
        let asked = || panic!("both were asked about");
        let (head, of_two) = heads.newest(&two, begun, |_| asked()).unwrap();
        assert_eq!(head.change, 2);
        assert!(of_two >= begun);
        let (head, of_one) = heads.newest(&one, begun, |_| asked()).unwrap();
        assert_eq!((head.change, of_one), (2, of_two));
        // Later than the answer.
        let later = Instant::now();
        let (head, as_of) = heads
            .newest(&one, later, |names| Some(heads_of(names, 3)))
            .unwrap();
        assert!(head.change == 3 && as_of >= later);
    }

    #[test]
    fn a_workspace_that_is_not_shown_and_a_failed_question_have_no_numbers() {
        let heads = Heads::default();
        let one: Arc<str> = Arc::from("one");
        let begun = Instant::now();
        assert!(heads.newest(&one, begun, |_| Some(HeadOf::new())).is_none());
        // It is not asked about again for that moment.
        assert!(heads.newest(&one, begun, |_| panic!()).is_none());
        let later = Instant::now();
        assert!(heads.newest(&one, later, |_| None).is_none());
        let again = heads.newest(&one, later, |names| Some(heads_of(names, 1)));
        assert!(again.is_some());
    }

    #[test]
    fn who_waits_for_a_question_that_fails_asks_no_other() {
        let heads = Heads::default();
        let begun = Instant::now();
        let (begin, began) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                heads.newest(&Arc::from("one"), begun, |_| {
                    begin.send(()).unwrap();
                    while heads.lock().calls.values().all(|calls| calls.waiting == 0) {
                        std::thread::yield_now();
                    }
                    None
                })
            });
            began.recv().unwrap();
            let other = heads.newest(&Arc::from("two"), begun, |_| panic!("it is away"));
            assert!(other.is_none());
            assert!(first.join().unwrap().is_none());
        });
    }

    #[test]
    fn who_waits_long_is_asked_for_still() {
        let heads = Heads::default();
        let (one, two): (Arc<str>, Arc<str>) = (Arc::from("one"), Arc::from("two"));
        let now = Instant::now();
        {
            let mut state = heads.lock();
            let long_ago = now.checked_sub(LATELY).unwrap_or(now);
            state.calls(&one).at = long_ago;
            state.calls(&one).waiting = 1;
            state.calls(&two).at = long_ago;
        }
        let three = Arc::from("three");
        heads.newest(&three, now, |mut names| {
            names.sort();
            assert_eq!(names, [Arc::clone(&one), Arc::clone(&three)]);
            Some(heads_of(names, 1))
        });
    }

    #[test]
    fn of_calls_at_the_same_time_one_asks() {
        let heads = Heads::default();
        let questions = AtomicUsize::new(0);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for number in 0..16 {
                let (heads, questions) = (&heads, &questions);
                scope.spawn(move || {
                    let name: Arc<str> = Arc::from(format!("w{}", number % 2));
                    let head = heads.newest(&name, begun, |names| {
                        questions.fetch_add(1, Ordering::Relaxed);
                        Some(heads_of(names, 7))
                    });
                    assert_eq!(head.map(|(head, _)| head.change), Some(7));
                });
            }
        });
        // The first question may be about one of the two.
        assert!(questions.into_inner() <= 2);
    }
}
