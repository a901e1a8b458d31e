//! The thread that commits and comes into step with the remote, beside the background loop: what
//! it does may take long.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use super::commit::Committed;
use super::exchange::Accept;
use super::exchange::Exchanged;
use crate::engine::Engine;

/// Everything that can wake it.
#[derive(Debug)]
enum Event {
    /// Files changed.
    Changed,
    /// This process leads, or does no more.
    Lead(bool),
    Stop,
}

/// Changes are collected for so long before they are committed together.
const QUIET: Duration = Duration::from_secs(1);
/// They are committed after so long although more come.
const MOST_WAITING: Duration = Duration::from_secs(5);
/// After so long without a commit there is time for tidying.
const IDLE: Duration = Duration::from_secs(10);
/// What cannot be committed is tried again after pauses that grow to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After a commit there may be another one soon.
const SEND_AFTER: Duration = Duration::from_secs(2);
/// A remote that cannot be reached is tried again after pauses that grow to this.
const LONGEST_SILENCE: Duration = Duration::from_secs(15 * 60);
const FIRST_SILENCE: Duration = Duration::from_secs(5);

/// The thread, running until it is dropped.
pub(in crate::engine) struct Committer {
    events: mpsc::Sender<Event>,
    is_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Committer {
    /// Starts the thread; it commits nothing before it is told that this process leads.
    pub fn start(engine: &Arc<Engine>) -> std::io::Result<Committer> {
        let (events, inbox) = mpsc::channel();
        let engine = Arc::clone(engine);
        let is_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_ended);
        let thread = std::thread::Builder::new()
            .name("git".to_owned())
            .spawn(move || Work::new(engine, ended).run(&inbox))?;
        Ok(Committer {
            events,
            is_ended,
            thread: Some(thread),
        })
    }

    /// Says that files changed.
    pub fn changed(&self) {
        let _ = self.events.send(Event::Changed); // Nobody listens at the end.
    }

    /// Says whether this process leads.
    pub fn lead(&self, leads: bool) {
        let _ = self.events.send(Event::Lead(leads));
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
        let _ = self.events.send(Event::Stop);
        // What waits is committed by the next process; nobody waits for it here.
        drop(self.thread.take());
    }
}

struct Work {
    engine: Arc<Engine>,
    leads: bool,
    /// When the first and the last change came that were not committed yet.
    changed: Option<(Instant, Instant)>,
    tidy_at: Option<Instant>,
    /// When the remote is to be looked at, if there is one.
    sync_at: Option<Instant>,
    /// How often in a row that failed.
    silences: u32,
    is_ended: Arc<AtomicBool>,
    /// How often in a row nothing could be committed.
    failures: u32,
    /// What was said last of what stands in the way.
    said: Option<String>,
}

impl Work {
    fn new(engine: Arc<Engine>, is_ended: Arc<AtomicBool>) -> Work {
        Work {
            engine,
            leads: false,
            changed: None,
            tidy_at: None,
            sync_at: None,
            silences: 0,
            is_ended,
            failures: 0,
            said: None,
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
                        // What the last leader left undone is this one's.
                        self.engine.all_is_to_commit();
                        self.note_change(now);
                        self.sync_at = Some(now + SEND_AFTER);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            if !self.leads {
                self.changed = None;
                continue;
            }
            let now = Instant::now();
            if self.commit_at().is_some_and(|at| at <= now) {
                self.commit();
            } else if self.changed.is_none() && self.sync_at.is_some_and(|at| at <= now) {
                self.sync();
            } else if self.tidy_at.is_some_and(|at| at <= now) {
                self.tidy_at = None;
                if let Err(error) = self.engine.tidy_repository() {
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
        Some((last + QUIET).min(first + MOST_WAITING))
    }

    fn next_wake(&self) -> Option<Instant> {
        if !self.leads {
            return None;
        }
        // What waits to be committed goes with the next exchange.
        let sync_at = self.sync_at.filter(|_| self.changed.is_none());
        let all = [self.commit_at(), self.tidy_at, sync_at];
        all.into_iter().flatten().min()
    }

    fn commit(&mut self) {
        self.changed = None;
        match self.engine.commit() {
            Ok(Committed::Nothing | Committed::Off) => self.failures = 0,
            Ok(Committed::Done { id, files }) => {
                tracing::debug!("committed {files} files as {id}");
                self.failures = 0;
                self.said = None;
                let now = Instant::now();
                self.tidy_at = Some(now + IDLE);
                // One that does not answer is not asked more often because something happens here.
                if self.silences == 0 {
                    let soon = now + SEND_AFTER;
                    self.sync_at = Some(self.sync_at.map_or(soon, |at| at.min(soon)));
                }
            }
            Ok(Committed::Busy) => self.try_again(),
            Ok(Committed::Paused(reason)) => {
                self.say(format!("nothing is committed at present: {reason}"));
                self.try_again();
            }
            Err(error) => {
                self.say(format!("cannot commit: {error}"));
                self.try_again();
            }
        }
    }

    fn sync(&mut self) {
        let ended = Arc::clone(&self.is_ended);
        let stop = move || ended.load(Ordering::Relaxed);
        let exchanged = self.engine.come_into_step(Accept::default(), &stop);
        let now = Instant::now();
        let interval = self.engine.git.as_ref().map_or(IDLE, |git| git.interval);
        match exchanged {
            Ok(Exchanged::InStep(moved)) => {
                self.silences = 0;
                self.said = None;
                self.sync_at = Some(now + interval);
                if moved.pulled > 0 {
                    tracing::info!("{} files came from the remote", moved.pulled);
                }
                for stem in moved.conflicts {
                    self.say(format!(
                        "{stem} was changed on two machines, and is two memories now"
                    ));
                }
            }
            // The next commit asks again.
            Ok(Exchanged::NoRemote | Exchanged::Off) => self.sync_at = None,
            Ok(Exchanged::Busy) => self.sync_at = Some(now + SEND_AFTER),
            Ok(Exchanged::Paused(reason)) => {
                self.say(format!("nothing is exchanged at present: {reason}"));
                self.sync_at = Some(now + interval.max(IDLE));
            }
            Err(error) => {
                self.say(error.to_string());
                let pause = FIRST_SILENCE * 2_u32.saturating_pow(self.silences.min(16));
                self.silences = self.silences.saturating_add(1);
                self.sync_at = Some(now + pause.min(LONGEST_SILENCE));
            }
        }
    }

    /// Says the same thing once.
    fn say(&mut self, what: String) {
        if self.said.as_ref() != Some(&what) {
            tracing::warn!("{what}");
            self.said = Some(what);
        }
    }

    fn try_again(&mut self) {
        self.failures = self.failures.saturating_add(1);
        let now = Instant::now();
        self.changed = Some((now, now));
    }
}
