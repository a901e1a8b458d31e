//! Thread that exchanges with a remote or a workspace in the background: that may not answer for minutes, and changes
//! are committed meanwhile.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Event that wakes the thread.
#[derive(Debug)]
enum Event {
    /// Whether this process leads.
    Lead(bool),
    /// There is something new to send.
    Changed,
    Stop,
}

/// Time during which changes are collected before they are sent together.
pub(in crate::engine) const QUIET: Duration = Duration::from_secs(2);

/// Maximum time until changes are sent although more come.
const MAX_WAITING: Duration = Duration::from_secs(10);

/// Maximum pause before another attempt at a partner that cannot be reached or synchronized with; pauses
/// grow up to this.
pub(in crate::engine) const LONGEST_SILENCE: Duration = Duration::from_secs(15 * 60);

/// First pause after a failure.
pub(in crate::engine) const FIRST_SILENCE: Duration = Duration::from_secs(5);

/// Other side of exchanges in the background.
pub(in crate::engine) trait Partner: Send {
    /// Makes one attempt, which `stop` ends early. `has_changes` tells whether something may have changed here since the
    /// last one that succeeded.
    fn exchange(&mut self, has_changes: bool, stop: &dyn Fn() -> bool) -> Attempt;

    /// Returns the interval at which [`Partner::is_called_for`] is asked; `None` for never.
    fn look_interval(&self) -> Option<Duration> {
        None
    }

    /// Returns whether the user did something that calls for an attempt now.
    fn is_called_for(&mut self) -> bool {
        false
    }
}

/// Outcome of an attempt, which tells when the next one follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Attempt {
    /// Both are in step: the next one follows after this time, or after a change.
    InStep(Duration),
    /// It failed: the next one follows after a pause, which grows from this one with each failure.
    Failed(Duration),
    /// There is nobody to exchange with: the next one follows after a change.
    Idle,
}

/// Handle of the thread, which runs until it is dropped.
pub(in crate::engine) struct Exchanger {
    events: mpsc::Sender<Event>,
    is_ended: Arc<AtomicBool>,
}

impl Exchanger {
    /// Starts the thread `name`; it makes no attempt before [`Exchanger::lead`] tells that this process leads.
    pub fn start(name: &str, partner: Box<dyn Partner>) -> std::io::Result<Exchanger> {
        let (events, inbox) = mpsc::channel();
        let is_ended = Arc::new(AtomicBool::new(false));
        let work = Work {
            partner,
            leads: false,
            next_at: None,
            look_at: None,
            changed: None,
            failures: 0,
            is_ended: Arc::clone(&is_ended),
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work.run(&inbox))?;
        Ok(Exchanger { events, is_ended })
    }

    /// Notifies it that there is something to send.
    pub fn changed(&self) {
        let _ = self.events.send(Event::Changed); // Nobody listens at the end.
    }

    /// Notifies it whether this process leads.
    pub fn lead(&self, leads: bool) {
        let _ = self.events.send(Event::Lead(leads));
    }
}

impl Drop for Exchanger {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
        let _ = self.events.send(Event::Stop);
    }
}

struct Work {
    partner: Box<dyn Partner>,
    leads: bool,
    /// Time of the next attempt, without a change.
    next_at: Option<Instant>,
    /// Time of the next look at what the user did.
    look_at: Option<Instant>,
    /// Times of the first and the last change that were not exchanged yet.
    changed: Option<(Instant, Instant)>,
    /// Number of failures in a row.
    failures: u32,
    is_ended: Arc<AtomicBool>,
}

impl Work {
    fn run(mut self, inbox: &mpsc::Receiver<Event>) {
        loop {
            let wake = [self.due_at(), self.look_at].into_iter().flatten().min();
            let event = match wake.filter(|_| self.leads) {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            let now = Instant::now();
            match event {
                Ok(Event::Lead(leads)) => {
                    self.leads = leads;
                    // Work that the last leader left undone.
                    self.note_change(now);
                    self.next_at = Some(now + QUIET);
                    self.look_at = self.partner.look_interval().map(|interval| now + interval);
                }
                Ok(Event::Changed) => self.note_change(now),
                Err(RecvTimeoutError::Timeout) => self.wake(now),
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn note_change(&mut self, now: Instant) {
        let first = self.changed.map_or(now, |(first, _)| first);
        self.changed = Some((first, now));
    }

    fn due_at(&self) -> Option<Instant> {
        // Changes here do not shorten the pause of a partner that does not answer.
        let changed = self.changed.filter(|_| self.failures == 0);
        let quiet_at = changed.map(|(first, last)| (last + QUIET).min(first + MAX_WAITING));
        [self.next_at, quiet_at].into_iter().flatten().min()
    }

    fn wake(&mut self, now: Instant) {
        if self.look_at.is_some_and(|at| at <= now) {
            self.look_at = self.partner.look_interval().map(|interval| now + interval);
            if self.partner.is_called_for() {
                self.failures = 0;
                self.note_change(now);
                self.next_at = Some(now);
            }
        }
        if self.due_at().is_some_and(|at| at <= now) {
            self.exchange();
        }
    }

    fn exchange(&mut self) {
        let ended = Arc::clone(&self.is_ended);
        let stop = move || ended.load(Ordering::Relaxed);
        let changed = self.changed.take();
        let attempt = self.partner.exchange(changed.is_some(), &stop);
        let now = Instant::now();
        self.next_at = match attempt {
            Attempt::InStep(interval) => {
                self.failures = 0;
                Some(now + interval)
            }
            Attempt::Failed(first) => {
                self.changed = changed;
                let pause = first * 2_u32.saturating_pow(self.failures.min(16));
                self.failures = self.failures.saturating_add(1);
                Some(now + spread(pause.min(LONGEST_SILENCE)))
            }
            Attempt::Idle => None,
        };
    }
}

/// Returns between half of a pause and all of it, so that many machines do not come back at once.
fn spread(pause: Duration) -> Duration {
    // The only source of chance in the standard library.
    let chance = RandomState::new().build_hasher().finish() % 1_024;
    pause / 2 + pause / 2 * u32::try_from(chance).expect("it is below 1,024") / 1_024
}
