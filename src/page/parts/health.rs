//! Health of the store and of all that agents need, as `memdir doctor` says it: examined in a thread of its own,
//! because it takes seconds, and kept until the next examination.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::locked::locked;

/// Time after which a look at the store begins a new examination.
const KEPT: Duration = Duration::from_secs(600);

/// One line of `memdir doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// Name of the part: `store`, `client`, …
    pub name: String,
    /// True if the part is well.
    pub is_well: bool,
    /// State of the part.
    pub what: String,
    /// Remedy; empty where none is needed.
    pub hint: String,
}

/// Makes all checks; it may take as long as it wants.
pub type Examine = Arc<dyn Fn() -> Vec<HealthCheck> + Send + Sync>;

/// Examinations of one server's store.
#[derive(Clone)]
pub struct Health {
    examine: Examine,
    state: Arc<Mutex<Examination>>,
}

/// State of the examinations.
#[derive(Debug, Clone, Default)]
pub(in crate::page) struct Examination {
    pub(in crate::page) is_running: bool,
    /// Checks of the last one that ended.
    pub(in crate::page) checks: Vec<HealthCheck>,
    ended: Option<Instant>,
}

impl Examination {
    /// Returns the age of the checks; `None` before the first examination has ended.
    pub(in crate::page) fn age(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.elapsed())
    }
}

impl Health {
    /// Returns the health that `examine` finds.
    pub fn new(examine: Examine) -> Health {
        Health {
            examine,
            state: Arc::default(),
        }
    }

    /// Returns the state of the examinations.
    pub(in crate::page) fn state(&self) -> Examination {
        locked(&self.state).clone()
    }

    /// Begins an examination if the last one is too old.
    pub(in crate::page) fn refresh(&self) {
        if self.state().age().is_none_or(|age| age > KEPT) {
            self.begin();
        }
    }

    /// Begins an examination, unless one is running.
    pub(in crate::page) fn begin(&self) {
        if std::mem::replace(&mut locked(&self.state).is_running, true) {
            return;
        }
        let health = self.clone();
        std::thread::spawn(move || {
            let checks = (health.examine)();
            *locked(&health.state) = Examination {
                is_running: false,
                checks,
                ended: Some(Instant::now()),
            };
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn one_examination_runs_at_a_time_and_its_checks_stay() {
        let (begun, begins) = mpsc::channel();
        let (go, goes) = mpsc::channel::<()>();
        let goes = Mutex::new(goes);
        let health = Health::new(Arc::new(move || {
            begun.send(()).unwrap();
            locked(&goes).recv().unwrap();
            vec![HealthCheck {
                name: "store".to_owned(),
                is_well: true,
                what: "sound".to_owned(),
                hint: String::new(),
            }]
        }));
        health.refresh();
        begins.recv().unwrap();
        health.begin();
        assert!(health.state().is_running && health.state().age().is_none());
        go.send(()).unwrap();
        while health.state().is_running {
            std::thread::yield_now();
        }
        assert_eq!(health.state().checks[0].what, "sound");
        health.refresh();
        assert!(begins.try_recv().is_err());
    }
}
