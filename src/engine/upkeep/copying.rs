//! Schedule of the copies of the index: they are looked at some seconds after a change, in a thread of its own, and again
//! until nothing waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::live::index_copies;
use crate::engine::live::index_copies::Looked;
use crate::engine::live::store::LiveStore;
use crate::engine::parts::Engine;
use crate::index::IndexCopies;

/// Time after a change until the copies are looked at, which asks the place that keeps them once; and the pause before
/// another look.
const PAUSE: Duration = Duration::from_secs(5);

/// Maximum pause while looks fail: of a database that is back every workspace asks within a minute.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Outcome of a look.
pub(in crate::engine) type Look = Result<Looked, String>;

/// Receiver of outcomes, on the thread of a look.
type Receiver = dyn Fn(Look) + Send + Sync;

/// Copies of the index of one store.
pub(in crate::engine) struct Copying {
    live: Arc<LiveStore>,
    copies: Arc<dyn IndexCopies>,
    ended: Arc<Receiver>,
    /// Number of the last erasure whose words are not in the files of the index.
    cleared: u64,
    is_looking: bool,
    due: Option<Instant>,
    /// Number of looks in a row that failed.
    failures: u32,
}

/// Tells the outcome of a look, also of one that breaks down.
struct Ending {
    ended: Arc<Receiver>,
    look: Look,
}

impl Drop for Ending {
    fn drop(&mut self) {
        (self.ended)(std::mem::replace(&mut self.look, Err(String::new())));
    }
}

impl Copying {
    /// Returns the schedule for `engine`; `None` if its index has no copies. The owner hands what `ended` is called with
    /// to [`Copying::looked`].
    pub fn of(engine: &Engine, ended: impl Fn(Look) + Send + Sync + 'static) -> Option<Copying> {
        Some(Copying {
            live: Arc::clone(&engine.live),
            copies: engine.copies.clone()?,
            ended: Arc::new(ended),
            cleared: 0,
            is_looking: false,
            due: None,
            failures: 0,
        })
    }

    /// Has the copies looked at, after a change.
    pub fn changed(&mut self) {
        self.due.get_or_insert_with(|| Instant::now() + PAUSE);
    }

    /// Returns the time at which they are to be looked at.
    pub fn due(&self) -> Option<Instant> {
        self.due.filter(|_| !self.is_looking)
    }

    /// Looks at them, if it is time.
    pub fn act(&mut self) {
        if self.due().is_none_or(|due| due > Instant::now()) {
            return;
        }
        self.due = None;
        self.is_looking = true;
        let (live, copies) = (Arc::clone(&self.live), Arc::clone(&self.copies));
        let cleared = self.cleared;
        let ending = Ending {
            ended: Arc::clone(&self.ended),
            look: Err("no thread can be started".to_owned()),
        };
        let work = move || {
            let mut ending = ending;
            ending.look = Err("it broke down".to_owned());
            let looked = index_copies::publish_if_due(&live, copies.as_ref(), cleared);
            ending.look = looked.map_err(|error| error.to_string());
        };
        let thread = std::thread::Builder::new().name("index copies".to_owned());
        // Where there is none, `ending` tells it.
        drop(thread.spawn(work));
    }

    /// Takes in the outcome of a look. Returns whether it has to be repeated once the index is up to date.
    pub fn looked(&mut self, look: Look) -> bool {
        self.is_looking = false;
        let looked = match look {
            Ok(looked) => looked,
            Err(why) => {
                if self.failures == 0 {
                    tracing::warn!("no copy of the index is published: {why}");
                }
                let pause = PAUSE * 2_u32.saturating_pow(self.failures);
                self.failures = self.failures.saturating_add(1);
                self.due = Some(Instant::now() + pause.min(LONGEST_PAUSE));
                return false;
            }
        };
        self.failures = 0;
        self.cleared = looked.cleared;
        looked.is_due_again
    }
}
