//! Background loop of a long-running process: detects changes, indexes them, leads.
//!
//! Everything that wakes it is an [`Event`]. It sleeps while nothing happens; only the leader
//! wakes twice a second to write its heartbeat.

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::engine::error::EngineError;
use crate::engine::history::committer::Committer;
use crate::engine::history::remote::exchanger::Exchanger;
use crate::engine::history::with::joined;
use crate::engine::live::leader::{BEAT, Lead};
use crate::engine::live::store::{LiveStore, Work};
use crate::engine::live::{changes, current_snapshot, indexing, leader, usage};
use crate::engine::meaning::embedding::Embedding;
use crate::engine::ops::expiry;
use crate::engine::parts::Engine;
use crate::engine::upkeep::copying::{Copying, Look};
use crate::engine::upkeep::schedule;

/// Event that wakes the loop.
#[derive(Debug)]
enum Event {
    /// Files changed, or an operation found work.
    FilesChanged,
    /// An operation noted uses.
    Used,
    /// A look at the copies of the index has ended.
    CopiesLooked(Look),
    /// This process leads from now on, as long as it holds this lock.
    Lead(Lead),
    Stop,
}

/// Time during which changes are collected before they are committed together: longer than a burst of
/// writes, shorter than the time until a client is closed.
const QUIET: Duration = Duration::from_millis(300);

/// Maximum time until changes are committed although more come.
const MAX_WAITING: Duration = Duration::from_secs(1);

/// The same two times of a store that is no directory, whose index no other process reads: searches find what is not in it
/// yet, and each commit costs as much as many writes. Whoever listens to changes is told as soon as of a directory.
const QUIET_ALONE: Duration = Duration::from_secs(2);
const MAX_WAITING_ALONE: Duration = Duration::from_secs(10);

/// Maximum pause before a failed commit of the index is tried again: a full disk needs few attempts,
/// but the index catches up soon once there is room again.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// Time after which noted uses are written, together with those that were noted meanwhile.
const USES_WAIT: Duration = Duration::from_millis(500);

/// Time for one check of a part of the index: damage is found within minutes, at no noticeable
/// cost.
const CHECK_BUDGET: Duration = Duration::from_millis(20);

/// Pause between two checks of parts.
const CHECK_PAUSE: Duration = Duration::from_secs(2);

/// Pause after a check of the whole index.
const CHECK_AGAIN: Duration = Duration::from_secs(24 * 3600);

/// Interval at which expired memories are archived.
const EXPIRY_PAUSE: Duration = Duration::from_secs(30 * 60);

/// Time without work after which the read cache is emptied and memory given back: a server is mostly
/// idle, and its memory is needed elsewhere.
const REST_AFTER: Duration = Duration::from_secs(45);

/// Handle of the loop, which runs until it is dropped.
pub struct Background {
    live: Arc<LiveStore>,
    events: mpsc::Sender<Event>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts the loop for `engine`; it checks the files first, so that the
    /// first query finds the index ready.
    ///
    /// # Errors
    ///
    /// Fails if no thread can be started.
    pub fn start(engine: &Arc<Engine>) -> std::io::Result<Background> {
        let (events, inbox) = mpsc::channel();
        let waker = events.clone();
        engine.live.set_wake(Box::new(move |work| {
            let event = match work {
                Work::Files => Event::FilesChanged,
                Work::Uses => Event::Used,
            };
            let _ = waker.send(event); // Nobody listens when the process ends.
        }));
        if let Some(reranker) = engine.reranker.clone() {
            std::thread::Builder::new()
                .name("reranker".to_owned())
                // Until then answers are not re-ranked.
                .spawn(move || reranker.prepare())?;
        }
        let live = Arc::clone(&engine.live);
        let (engine, loop_events) = (Arc::clone(engine), events.clone());
        let thread = std::thread::Builder::new()
            .name("background".to_owned())
            .spawn(move || Loop::new(engine, loop_events).run(&inbox))?;
        Ok(Background {
            live,
            events,
            thread: Some(thread),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Stop);
        usage::write_noted_uses(&self.live);
        // Pending changes are handled by the next process; no caller waits for the thread.
        drop(self.thread.take());
    }
}

struct Loop {
    engine: Arc<Engine>,
    events: mpsc::Sender<Event>,
    /// Thread that commits, if the store is committed.
    committer: Option<Committer>,
    /// Thread that exchanges with a workspace, if the store could be joined to one.
    workspace: Option<Exchanger>,
    /// Thread that makes vectors, if there is a model.
    embedding: Option<Embedding>,
    /// Copies of the index, if there are any.
    copying: Option<Copying>,
    /// Held while this process leads.
    lead: Option<Lead>,
    /// Times of the first and the last change that are not settled yet.
    changed: Option<(Instant, Instant)>,
    next_beat: Instant,
    /// Time at which noted uses are written, while some wait.
    write_uses_at: Option<Instant>,
    /// Time at which memory is given back, while there was work since it was.
    rest_at: Option<Instant>,
    /// Time of the next check of a part of the index, while there is one.
    next_check: Option<Instant>,
    /// Time at which this leader archives expired memories again.
    next_expiry: Instant,
    /// Number of failures in a row to update the index.
    failures: u32,
}

impl Loop {
    fn new(engine: Arc<Engine>, events: mpsc::Sender<Event>) -> Loop {
        let committer = engine
            .history
            .git
            .is_some()
            .then(|| Committer::start(&engine.history));
        let committer = committer.and_then(|started| {
            started
                .inspect_err(|error| tracing::warn!("nothing is committed: {error}"))
                .ok()
        });
        let workspace = joined::start(&engine.history)
            .inspect_err(|error| tracing::warn!("no workspace is exchanged with: {error}"))
            .ok()
            .flatten();
        let embedding = Embedding::start(&engine.meaning);
        let looked = events.clone();
        let copying = Copying::of(&engine, move |look| {
            let _ = looked.send(Event::CopiesLooked(look)); // As for the waker.
        });
        Loop {
            engine,
            events,
            committer,
            workspace,
            embedding,
            copying,
            lead: None,
            changed: None,
            next_beat: Instant::now(),
            write_uses_at: None,
            rest_at: Some(Instant::now() + REST_AFTER),
            next_check: None,
            next_expiry: Instant::now(),
            failures: 0,
        }
    }

    fn run(mut self, inbox: &mpsc::Receiver<Event>) {
        self.engine.live.start_watching();
        if !self.engine.live.indexes_alone() {
            self.wait_to_lead();
        }
        self.bring_up_to_date();
        loop {
            let event = match self.next_wake() {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            if event.is_ok() {
                self.rest_at = Some(Instant::now() + REST_AFTER);
            }
            match event {
                Ok(Event::FilesChanged) => self.note_change(),
                Ok(Event::CopiesLooked(look)) => {
                    let copying = self.copying.as_mut();
                    // What it waits for may be left to index, without a further change.
                    if copying.is_some_and(|copying| copying.looked(look)) {
                        self.bring_up_to_date();
                    }
                }
                Ok(Event::Used) => self.write_uses_at = Some(Instant::now() + USES_WAIT),
                Ok(Event::Lead(lead)) => {
                    self.lead = Some(lead);
                    leader::beat(&self.engine.live, false);
                    self.tell_leading(true);
                    // Work that the last leader left undone.
                    self.bring_up_to_date();
                    if let Err(error) = indexing::remove_unused_indexes(&self.engine.live) {
                        tracing::info!("unused indexes stay: {error}");
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = Instant::now();
            if self.write_uses_at.is_some_and(|at| at <= now) {
                let is_done = usage::write_noted_uses(&self.engine.live);
                self.write_uses_at = (!is_done).then(|| now + LONGEST_PAUSE);
            }
            if self.settle_at().is_some_and(|at| at <= now) {
                self.bring_up_to_date();
            }
            if self.rest_at.is_some_and(|at| at <= now) {
                self.rest();
            }
            if let Some(copying) = &mut self.copying {
                copying.act();
            }
            if self.lead.is_some() {
                if self.next_beat <= Instant::now() {
                    self.beat();
                }
                if self.changed.is_none() && self.next_check.is_some_and(|at| at <= now) {
                    self.check();
                }
                if self.next_expiry <= now {
                    self.expire();
                }
            }
        }
    }

    fn tell_leading(&self, leads: bool) {
        if let Some(committer) = &self.committer {
            committer.lead(leads);
        }
        if let Some(workspace) = &self.workspace {
            workspace.lead(leads);
        }
        if let Some(embedding) = &self.embedding {
            embedding.lead(leads);
        }
    }

    fn wait_to_lead(&self) {
        let events = self.events.clone();
        let lead = move |lead| {
            let _ = events.send(Event::Lead(lead)); // Sent to nobody, the locks are free again.
        };
        if let Err(error) = leader::wait_to_lead(&self.engine.live, lead) {
            tracing::info!("this process never leads: {error}");
        }
    }

    fn note_change(&mut self) {
        if let Some(committer) = &self.committer {
            committer.changed();
        }
        if let Some(workspace) = &self.workspace {
            workspace.changed();
        }
        let now = Instant::now();
        let first = self.changed.map_or(now, |(first, _)| first);
        if self.changed.is_none() && self.lead.is_some() {
            // From now on no process may rely on the index alone.
            leader::beat(&self.engine.live, false);
            self.next_beat = now + BEAT;
        }
        self.changed = Some((first, now));
    }

    fn settle_at(&self) -> Option<Instant> {
        let (first, last) = self.changed?;
        if self.failures > 0 {
            let pause = QUIET * 2_u32.saturating_pow(self.failures);
            return Some(first + pause.min(LONGEST_PAUSE));
        }
        let live = &self.engine.live;
        let waits = live.directory().is_none() && !live.listeners.has_any();
        let (quiet, max_waiting) = match waits {
            true => (QUIET_ALONE, MAX_WAITING_ALONE),
            false => (QUIET, MAX_WAITING),
        };
        Some((last + quiet).min(first + max_waiting))
    }

    fn next_wake(&self) -> Option<Instant> {
        let leads = self.lead.is_some();
        let beat = leads.then_some(self.next_beat);
        let check = self.next_check.filter(|_| leads && self.changed.is_none());
        let expiry = leads.then_some(self.next_expiry);
        let uses = self.write_uses_at;
        let copies = self.copying.as_ref().and_then(Copying::due);
        let wakes = [
            self.settle_at(),
            uses,
            self.rest_at,
            beat,
            check,
            expiry,
            copies,
        ];
        wakes.into_iter().flatten().min()
    }

    /// Reads the changed files and indexes them, unless another process does.
    fn bring_up_to_date(&mut self) {
        self.changed = None;
        match self.try_to_bring_up_to_date() {
            Ok(()) => self.failures = 0,
            Err(error) => {
                self.engine.live.awaited_index.end(false);
                if self.failures == 0 {
                    tracing::warn!("cannot bring the index up to date: {error}");
                }
                self.failures = self.failures.saturating_add(1);
                let now = Instant::now();
                self.changed = Some((now, now));
            }
        }
        self.next_beat = Instant::now();
        if let Some(embedding) = &self.embedding {
            embedding.changed();
        }
        if let Some(copying) = &mut self.copying {
            copying.changed();
        }
    }

    fn try_to_bring_up_to_date(&mut self) -> Result<(), EngineError> {
        // A store that was moved away is not recreated.
        self.engine.live.check_there()?;
        self.engine.live.watch_again();
        if self.engine.live.freshness().is_old() && self.engine.live.watch().is_some() {
            current_snapshot::check_watch(&self.engine.live)?;
        }
        let found = current_snapshot::snapshot(&self.engine.live)?;
        if self.failures > 0 || self.engine.live.freshness().is_behind() {
            // Indexing may take long now, or fail as it did the last time.
            changes::tell_changes(&self.engine.live, &found);
        }
        let indexes = self.lead.is_some() || !leader::is_led(&self.engine.live);
        let has_caught_up = indexes && indexing::catch_up(&self.engine.live)?;
        self.engine.live.awaited_index.end(has_caught_up);
        if has_caught_up {
            current_snapshot::snapshot(&self.engine.live)?;
        }
        if indexes {
            indexing::settle(&self.engine.live, true)?;
            // A view of the old state keeps deleted files open.
            let current = current_snapshot::snapshot(&self.engine.live)?;
            indexing::settle_turns(&self.engine.live, current.as_ref())?;
            self.next_check = Some(Instant::now() + CHECK_PAUSE);
        }
        changes::tell_changes(
            &self.engine.live,
            &current_snapshot::snapshot(&self.engine.live)?,
        );
        if self.engine.live.freshness().next_due().is_some() {
            // Until the last good texts are replaced, there is work.
            let now = Instant::now();
            self.changed = Some((now, now));
        }
        Ok(())
    }

    /// Checks a part of the index, while there is no other work.
    fn check(&mut self) {
        self.next_check = match indexing::check_index(&self.engine.live, CHECK_BUDGET) {
            Ok(false) => Some(Instant::now() + CHECK_PAUSE),
            Ok(true) => Some(Instant::now() + CHECK_AGAIN),
            Err(error) => {
                tracing::warn!("cannot check the index: {error}");
                None
            }
        };
    }

    /// Archives expired memories, sums up old journals, and starts maintenance.
    fn expire(&mut self) {
        self.next_expiry = Instant::now() + EXPIRY_PAUSE;
        if self.engine.live.is_read_only() {
            return;
        }
        if let Err(error) = schedule::start_maintenance(&self.engine) {
            tracing::warn!("nothing is maintained: {error}");
        }
        usage::sum_up_journals(&self.engine.live);
        match expiry::expire_unasked(&self.engine) {
            Ok(expired) => {
                if !expired.moved.is_empty() {
                    tracing::info!("{} memories were archived: expired", expired.moved.len());
                }
                for (name, error) in expired.failed {
                    tracing::warn!("{name} has expired and stays: {error}");
                }
            }
            Err(error @ EngineError::TooManyExpired(_)) => {
                tracing::warn!("{error}: `memdir gc --dry-run` shows them");
            }
            Err(error) => tracing::warn!("cannot look for what has expired: {error}"),
        }
    }

    fn beat(&mut self) {
        self.next_beat = Instant::now() + BEAT;
        let Some(lead) = &self.lead else { return };
        if !leader::leads_with(&self.engine.live, lead) {
            // Somebody deleted the folder of derived files, and the lock with it.
            self.lead = None;
            self.tell_leading(false);
            self.wait_to_lead();
            return;
        }
        let cache = self.engine.live.read_cache.as_ref();
        if cache.is_some_and(|cache| cache.forget_after(REST_AFTER)) {
            self.rest();
        }
        let may_be_complete = self.changed.is_none();
        leader::beat(&self.engine.live, may_be_complete);
    }

    /// Gives back memory that only work needs.
    fn rest(&mut self) {
        let cache = self.engine.live.read_cache.as_ref();
        // Of searches nothing is told here.
        if cache.is_some_and(|cache| !cache.forget_after(REST_AFTER) && !cache.is_empty()) {
            self.rest_at = Some(Instant::now() + REST_AFTER);
            return;
        }
        self.rest_at = None;
        crate::index::free_scratch();
        crate::embed::give_back_memory();
        crate::embed::give_back_program();
        crate::index::give_back_pages();
    }
}
