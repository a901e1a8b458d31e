//! Vectors of queries and of memories.
//!
//! A memory without a vector is found by its words.
//!
//! `index::passage` defines the embedded texts of a memory (itself, and itself together with the one
//! before it) and the key of their vectors: a hash of just these texts, so that renames,
//! moves, other topics and a new index embed nothing again. A server embeds in a thread of the
//! leader; a command embeds up to 32 passages before it answers. A search embeds its query in the
//! middle of ranking, because only there the names in it are known. Credentials are redacted before
//! a text is sent to a host.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::embed::{self, EmbedError, Priority};
use crate::engine::error::EngineError;
use crate::engine::live::indexing::Progress;
use crate::engine::live::leader;
use crate::engine::meaning::models::{Meaning, Wake};
use crate::engine::meaning::passages::{LOOK_AHEAD, embed_passages, sent};
use crate::engine::meaning::progress_log::ProgressLog;
use crate::engine::meaning::sharing::Division;
use crate::engine::meaning::views::Views;
use crate::engine::meaning::{models, outage, sharing, views};
use crate::index::{Embedded, Snapshot};

/// Maximum number of passages that a command embeds before it answers.
const MAX_AT_ONCE: usize = 32;

/// Time without a query after which a model is unloaded.
const IDLE: Duration = Duration::from_secs(300);

/// Time after which vectors are looked for that another server was making.
const ELSEWHERE: Duration = Duration::from_secs(2);

/// Looking for passages without vectors takes a time that grows with all of them: at most one part in so many of that in
/// which they are embedded.
const LOOK_SHARE: u32 = 20;

/// Time after a failure during which nothing is embedded.
const PAUSE: Duration = Duration::from_secs(60);

/// Thread that makes vectors beside the background loop, which must not wait for a model.
pub(in crate::engine) struct Embedding {
    wake: mpsc::Sender<Wake>,
    leads: Arc<AtomicBool>,
    is_ending: Arc<AtomicBool>,
}

impl Embedding {
    /// Starts the thread; `None` without a model.
    pub fn start(meaning: &Arc<Meaning>) -> Option<Embedding> {
        meaning.models.as_ref()?;
        let (wake, inbox) = mpsc::channel();
        let (leads, is_ending) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let worker = Worker {
            meaning: Arc::clone(meaning),
            leads: Arc::clone(&leads),
            is_ending: Arc::clone(&is_ending),
        };
        set_wake_embedding(meaning, wake.clone());
        std::thread::Builder::new()
            .name("embedding".to_owned())
            .spawn(move || worker.run(&inbox))
            .inspect_err(|error| {
                tracing::warn!("searches are by words and vectors of words: {error}");
            })
            .ok()?;
        Some(Embedding {
            wake,
            leads,
            is_ending,
        })
    }

    /// Notifies it whether this process makes the vectors.
    pub fn lead(&self, leads: bool) {
        self.leads.store(leads, Ordering::Relaxed);
        self.changed();
    }

    /// Notifies it that there may be something to embed.
    pub fn changed(&self) {
        let _ = self.wake.send(Wake::Changed); // Nobody listens when the process ends.
    }
}

impl Drop for Embedding {
    fn drop(&mut self) {
        // The current batch is not awaited; the next process makes it.
        self.is_ending.store(true, Ordering::Relaxed);
        // The thread holds the engine's parts, among which is a sender to itself.
        self.changed();
    }
}

struct Worker {
    meaning: Arc<Meaning>,
    leads: Arc<AtomicBool>,
    is_ending: Arc<AtomicBool>,
}

impl Worker {
    fn run(&self, inbox: &mpsc::Receiver<Wake>) {
        // While there is nothing to do, and nothing loaded, it sleeps.
        let mut wait: Option<Duration> = None;
        let mut tries_again = false;
        let ends = || self.is_ending.load(Ordering::Relaxed);
        loop {
            let woken: Result<Wake, RecvTimeoutError> = match wait {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => inbox.recv_timeout(wait),
            };
            if ends() {
                return;
            }
            match woken {
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) if !tries_again => {
                    models::rest_models(&self.meaning, IDLE);
                    wait = None;
                    continue;
                }
                // A pending retry needs no other trigger.
                Ok(Wake::Used) if !tries_again => {
                    wait = Some(IDLE + Duration::from_secs(1));
                    continue;
                }
                Err(RecvTimeoutError::Timeout) | Ok(_) => {}
            }
            while inbox.try_recv().is_ok() {}
            // The message of the end may have been among these.
            if ends() {
                return;
            }
            // A host in its pause is not called, and afterwards once.
            if !outage::try_host(&self.meaning) {
                if let Some(left) = outage::outage_left(&self.meaning) {
                    (wait, tries_again) = (Some(left + Duration::from_millis(100)), true);
                }
                continue;
            }
            (wait, tries_again) = (Some(IDLE + Duration::from_secs(1)), false);
            if !self.leads.load(Ordering::Relaxed) {
                continue;
            }
            match self.embed() {
                Ok(true) => {}
                Ok(false) => (wait, tries_again) = (Some(ELSEWHERE), true),
                Err(_) if ends() => return,
                Err(error) => {
                    warn_of_model(&self.meaning, &error);
                    let left = outage::outage_left(&self.meaning).unwrap_or(PAUSE);
                    (wait, tries_again) = (Some(left.max(Duration::from_secs(1))), true);
                }
            }
        }
    }

    /// Embeds until nothing is missing. Looks again for what was written and changed meanwhile, after each
    /// look-ahead where that is cheap. Returns false if another server is still making some of the vectors.
    fn embed(&self) -> Result<bool, EngineError> {
        let Some(embedder) = models::embedder(&self.meaning) else {
            return Ok(true);
        };
        let embedder = embedder.as_ref();
        let goes_on = || !self.is_ending.load(Ordering::Relaxed);
        // Vectors that could not be made are tried again after the next change.
        let mut given_up = HashSet::new();
        let mut elsewhere = HashSet::new();
        let mut log = ProgressLog::begin();
        while goes_on() {
            let looked = Instant::now();
            let views = Views::now(&self.meaning)?;
            let mut missing = views.unembedded(embedder.id(), usize::MAX)?;
            let again = LOOK_SHARE * looked.elapsed();
            missing.retain(|one| !given_up.contains(&one.key) && !elsewhere.contains(&one.key));
            if missing.is_empty() {
                views::tidy_vectors(&self.meaning)?;
                return Ok(elsewhere.is_empty());
            }
            let total = given_up.len() + elsewhere.len() + missing.len();
            let mut missing = missing.into_iter();
            while missing.len() > 0 && goes_on() {
                let some = missing.by_ref().take(LOOK_AHEAD).collect();
                let Division { own, there, others } =
                    sharing::divide(&self.meaning, embedder, some)?;
                given_up.extend(there);
                elsewhere.extend(others);
                let before = given_up.len();
                let mut note = |done| {
                    let done = before + done;
                    log.note(Progress { done, total });
                    goes_on()
                };
                embed_passages(&self.meaning, embedder, Priority::Low, &own, &mut note)?;
                given_up.extend(own.iter().map(|one| one.key));
                if looked.elapsed() >= again {
                    break;
                }
            }
        }
        Ok(true)
    }
}

fn set_wake_embedding(meaning: &Meaning, wake: mpsc::Sender<Wake>) {
    let _ = meaning.wake_embedding.set(wake); // A second loop wakes the first one's.
}

/// Returns the vector of a query to `snapshot`; `None` without a model, or if it cannot be used
/// now: words are searched nevertheless.
pub(in crate::engine) fn embed_query(
    meaning: &Meaning,
    snapshot: &dyn Snapshot,
    text: &str,
) -> Option<Embedded> {
    let embedder = models::answering(meaning, snapshot)?;
    if let Some(known) = meaning.questions.get(embedder.id(), text) {
        return Some(known);
    }
    // The model is unloaded again after a while.
    if let Some(wake) = meaning.wake_embedding.get() {
        let _ = wake.send(Wake::Used);
    }
    if outage::is_out(meaning, embedder.as_ref()) {
        return None;
    }
    let asked = embedder.query_in_tokens(&sent(embedder.as_ref(), text.to_owned()));
    outage::heard_of(meaning, embedder.as_ref(), asked.as_ref().err());
    match asked {
        Ok(embed::Embedding { vector, tokens }) => {
            let tokens = tokens.into_iter().map(|one| (one.place, one.state));
            let embedded = Embedded {
                model: embedder.id().to_owned(),
                vector,
                tokens: tokens.collect(),
            };
            meaning.questions.put(text, &embedded);
            Some(embedded)
        }
        // A text without words has no vector.
        Err(EmbedError::NoWords) => None,
        Err(error) => {
            warn_of_model(meaning, &error);
            None
        }
    }
}

/// Logs once that the model cannot be used.
pub(in crate::engine) fn warn_of_model(meaning: &Meaning, error: &dyn std::fmt::Display) {
    if !meaning.warned_of_model.swap(true, Ordering::Relaxed) {
        tracing::warn!("searches are by words and vectors of words: {error}");
    }
}

/// Makes the missing vectors of the present memories, at low priority; returns their number.
/// Does nothing without a model. Vectors are stored every few seconds, so that the next call
/// continues an interrupted one.
///
/// # Errors
///
/// Fails if the model cannot be used, or if the vectors cannot be stored.
pub fn embed_all(
    meaning: &Meaning,
    progress: &mut dyn FnMut(Progress),
) -> Result<usize, EngineError> {
    let Some(embedder) = models::embedder(meaning) else {
        return Ok(0);
    };
    let missing = Views::now(meaning)?.unembedded(embedder.id(), usize::MAX)?;
    let total = missing.len();
    let mut log = ProgressLog::begin();
    let mut note = |done| {
        progress(Progress { done, total });
        log.note(Progress { done, total });
        true
    };
    note(0);
    let embedder = embedder.as_ref();
    let made = embed_passages(meaning, embedder, Priority::Low, &missing, &mut note)?;
    views::tidy_vectors(meaning)?;
    Ok(made)
}

/// As [`embed_all`], at the usual priority, if few are missing and no server makes them; returns
/// the number of memories that still lack theirs.
///
/// # Errors
///
/// As for [`embed_all`].
pub fn embed_few(meaning: &Meaning) -> Result<usize, EngineError> {
    let Some(embedder) = models::embedder(meaning) else {
        return Ok(0);
    };
    if leader::is_led(&meaning.live) || meaning.live.is_read_only() {
        return Ok(0);
    }
    let embedder = embedder.as_ref();
    let views = Views::now(meaning)?;
    let missing = views.unembedded(embedder.id(), MAX_AT_ONCE + 1)?;
    let is_possible = missing.is_empty() || !outage::is_out(meaning, embedder);
    if missing.len() <= MAX_AT_ONCE && is_possible {
        let usual = Priority::Usual;
        embed_passages(meaning, embedder, usual, &missing, &mut |_| true)?;
        views::tidy_vectors(meaning)?;
        return Ok(0);
    }
    let coverage = views.coverage(embedder.id())?;
    Ok(coverage.memories - coverage.complete)
}
