//! Thread that commits, beside the background loop, as a commit may take long.

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::engine::history::commits::commit::Committed;
use crate::engine::history::commits::journals::ALONE_AFTER;
use crate::engine::history::commits::{commit, journals};
use crate::engine::history::remote::background;
use crate::engine::history::remote::exchanger::Exchanger;
use crate::engine::history::warn_once::WarnOnce;
use crate::engine::history::{History, tidy};
use crate::engine::live::usage;

/// Event that wakes the thread.
#[derive(Debug)]
enum Event {
    /// Files changed.
    Changed,
    /// Whether this process leads.
    Lead(bool),
    Stop,
}

/// Time during which changes are collected before they are committed together.
const QUIET: Duration = Duration::from_secs(1);

/// Maximum time until changes are committed although more come.
const MAX_WAITING: Duration = Duration::from_secs(5);

/// Time without a commit after which the repository is tidied.
const IDLE: Duration = Duration::from_secs(10);

/// Maximum time until the repository is tidied although commits go on: each of many memories adds a
/// list of them, a third of a megabyte for ten thousand, until they are packed.
const MAX_UNTIDY: Duration = Duration::from_secs(5 * 60);

/// Longest pause before a failed commit is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Handle of the thread, which runs until it is dropped.
pub(in crate::engine) struct Committer {
    events: mpsc::Sender<Event>,
    thread: Option<JoinHandle<()>>,
}

impl Committer {
    /// Starts the thread; it commits nothing before [`Committer::lead`] tells that this process leads.
    pub fn start(history: &Arc<History>) -> std::io::Result<Committer> {
        let (events, inbox) = mpsc::channel();
        let work = Work::new(Arc::clone(history), background::start(history)?);
        let thread = std::thread::Builder::new()
            .name("git".to_owned())
            .spawn(move || work.run(&inbox))?;
        Ok(Committer {
            events,
            thread: Some(thread),
        })
    }

    /// Notifies it that files changed.
    pub fn changed(&self) {
        let _ = self.events.send(Event::Changed); // Nobody listens at the end.
    }

    /// Notifies it whether this process leads.
    pub fn lead(&self, leads: bool) {
        let _ = self.events.send(Event::Lead(leads));
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Stop);
        // Pending changes are committed by the next process; no caller waits for the thread.
        drop(self.thread.take());
    }
}

struct Work {
    history: Arc<History>,
    exchanger: Exchanger,
    leads: bool,
    /// Times of the first and the last change that were not committed yet.
    changed: Option<(Instant, Instant)>,
    /// Times of the first and the last commit since the last tidying.
    committed: Option<(Instant, Instant)>,
    /// Time at which the journals are compared, if nothing else is committed.
    journals_at: Instant,
    /// Number of failures in a row.
    failures: u32,
    /// Warnings about obstacles.
    warn_once: WarnOnce,
}

impl Work {
    fn new(history: Arc<History>, exchanger: Exchanger) -> Work {
        Work {
            history,
            exchanger,
            leads: false,
            changed: None,
            committed: None,
            journals_at: Instant::now() + ALONE_AFTER,
            failures: 0,
            warn_once: WarnOnce::default(),
        }
    }

    fn run(mut self, inbox: &mpsc::Receiver<Event>) {
        loop {
            let event = match self.next_wake() {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            let now = Instant::now();
            match event {
                Ok(Event::Changed) => self.note_change(now),
                Ok(Event::Lead(leads)) => {
                    self.leads = leads;
                    if leads {
                        // Work that the last leader left undone.
                        self.history.live.note_all_pending();
                        self.note_change(now);
                    }
                    self.exchanger.lead(leads);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if !self.leads {
                self.changed = None;
                continue;
            }
            let now = Instant::now();
            if self.journals_at <= now {
                journals::note_journals_pending(&self.history);
                self.note_change(now);
                self.journals_at = now + ALONE_AFTER;
            }
            if self.commit_at().is_some_and(|at| at <= now) {
                self.commit();
            } else if self.tidy_at().is_some_and(|at| at <= now) {
                self.committed = None;
                usage::sum_up_journals(&self.history.live);
                if let Err(error) = tidy::tidy_repository(&self.history) {
                    tracing::info!("cannot tidy the repository: {error}");
                }
            }
        }
    }

    fn note_change(&mut self, now: Instant) {
        let first = self.changed.map_or(now, |(first, _)| first);
        self.changed = Some((first, now));
    }

    fn commit_at(&self) -> Option<Instant> {
        let (first, last) = self.changed?;
        if self.failures > 0 {
            let pause = QUIET * 2_u32.saturating_pow(self.failures.min(16));
            return Some(first + pause.min(LONGEST_PAUSE));
        }
        Some((last + QUIET).min(first + MAX_WAITING))
    }

    fn tidy_at(&self) -> Option<Instant> {
        let (first, last) = self.committed?;
        Some((last + IDLE).min(first + MAX_UNTIDY))
    }

    fn next_wake(&self) -> Option<Instant> {
        if !self.leads {
            return None;
        }
        let at = [self.commit_at(), self.tidy_at(), Some(self.journals_at)];
        at.into_iter().flatten().min()
    }

    fn commit(&mut self) {
        self.changed = None;
        match commit::commit(&self.history) {
            Ok(Committed::Nothing | Committed::Off) => self.failures = 0,
            Ok(Committed::Done { id, files }) => {
                tracing::debug!("committed {files} files as {id}");
                self.failures = 0;
                self.warn_once.forget();
                let now = Instant::now();
                let first = self.committed.map_or(now, |(first, _)| first);
                self.committed = Some((first, now));
                self.exchanger.changed();
            }
            Ok(Committed::Busy) => self.try_again(),
            Ok(Committed::Paused(reason)) => {
                let what = format!("nothing is committed at present: {reason}");
                self.warn_once.say(what);
                self.try_again();
            }
            Err(error) => {
                self.warn_once.say(format!("cannot commit: {error}"));
                self.try_again();
            }
        }
    }

    fn try_again(&mut self) {
        self.failures = self.failures.saturating_add(1);
        let now = Instant::now();
        self.changed = Some((now, now));
    }
}
