//! Vectors of queries and of memories.
//!
//! A model is called without holding any lock; only storing its vectors takes the index's
//! writer lock. A memory without a vector is found by its words.
//!
//! `index::passage` defines the embedded texts of a memory (itself, and itself together with the one
//! before it) and the key of their vectors: a hash of just these texts, so that renames,
//! moves, other topics and a new index embed nothing again. A server embeds in a thread of the
//! leader; a command embeds up to 32 passages before it answers. A search embeds its query in the
//! middle of ranking, because only there the names in it are known. Credentials are redacted before
//! a text is sent to a host.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::embed::{EmbedError, Embedder, Vector};
use crate::engine::error::EngineError;
use crate::engine::live::indexing::Progress;
use crate::engine::live::{current_snapshot, leader};
use crate::engine::meaning::models::{Meaning, Wake};
use crate::engine::meaning::{models, outage};
use crate::engine::texts::parse;
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::index::{Embedded, Snapshot, Unembedded, passage};
use crate::model::Memory;
use crate::secrets;
use crate::vectors::VectorKey;

/// Number of passages in one batch of embedding. A slow model's vectors are saved more often
/// ([`KEPT_EVERY`]): a process that ends loses a few seconds of work at most.
const BATCH: usize = 64;

/// Maximum number of passages that a command embeds before it answers.
const MAX_AT_ONCE: usize = 32;

/// Maximum number of pieces of texts in one call of a local model; one text is always sent whole.
const MAX_PIECES: usize = 16;

/// Interval at which the vectors of a slow model are saved.
const KEPT_EVERY: Duration = Duration::from_secs(2);

/// As [`BATCH`] in the background, where a query may be waiting for the model.
const FEW: usize = 16;

/// Time without a query after which a model is unloaded.
const IDLE: Duration = Duration::from_secs(300);

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
            .inspect_err(|error| tracing::warn!("searches are by words only: {error}"))
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
        loop {
            let woken: Result<Wake, RecvTimeoutError> = match wait {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => inbox.recv_timeout(wait),
            };
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
                Ok(()) => {}
                Err(_) if self.is_ending.load(Ordering::Relaxed) => return,
                Err(error) => {
                    warn_of_model(&self.meaning, &error);
                    let left = outage::outage_left(&self.meaning).unwrap_or(PAUSE);
                    (wait, tries_again) = (Some(left.max(Duration::from_secs(1))), true);
                }
            }
        }
    }

    /// Embeds until nothing is missing.
    fn embed(&self) -> Result<(), EngineError> {
        let Some(embedder) = models::embedder(&self.meaning) else {
            return Ok(());
        };
        let mut given_up = HashSet::new();
        while !self.is_ending.load(Ordering::Relaxed) {
            if !embed_some(&self.meaning, embedder.as_ref(), &mut given_up)? {
                return models::tidy_vectors(&self.meaning);
            }
        }
        Ok(())
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
    // The model is unloaded again after a while.
    if let Some(wake) = meaning.wake_embedding.get() {
        let _ = wake.send(Wake::Used);
    }
    if outage::is_out(meaning, embedder.as_ref()) {
        return None;
    }
    let asked = embedder.query(&sent(embedder.as_ref(), text.to_owned()));
    outage::heard_of(meaning, embedder.as_ref(), asked.as_ref().err());
    match asked {
        Ok(vector) => Some(Embedded {
            model: embedder.id().to_owned(),
            vector,
        }),
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
        tracing::warn!("searches are by words only: {error}");
    }
}

/// Makes the missing vectors of the present memories; returns their number.
/// Does nothing without a model. Vectors are stored batch by batch, so that the next call continues
/// an interrupted one.
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
    let snapshot = current_snapshot::snapshot(&meaning.live)?;
    let missing = snapshot.unembedded(embedder.id(), usize::MAX)?;
    let total = missing.len();
    let mut made = 0;
    for (number, batch) in missing.chunks(BATCH).enumerate() {
        progress(Progress {
            done: number * BATCH,
            total,
        });
        made += embed_batch(meaning, embedder.as_ref(), batch)?;
    }
    models::tidy_vectors(meaning)?;
    Ok(made)
}

/// As [`embed_all`] if few are missing and no server makes them; returns the number of memories
/// that still lack theirs.
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
    let snapshot = current_snapshot::snapshot(&meaning.live)?;
    let missing = snapshot.unembedded(embedder.id(), MAX_AT_ONCE + 1)?;
    let is_possible = missing.is_empty() || !outage::is_out(meaning, embedder.as_ref());
    if missing.len() <= MAX_AT_ONCE && is_possible {
        embed_batch(meaning, embedder.as_ref(), &missing)?;
        models::tidy_vectors(meaning)?;
        return Ok(0);
    }
    let coverage = snapshot.coverage(embedder.id())?;
    Ok(coverage.memories - coverage.complete)
}

/// Makes the next missing vectors, except those in `given_up`; false once there are
/// none left.
fn embed_some(
    meaning: &Meaning,
    embedder: &dyn Embedder,
    given_up: &mut HashSet<VectorKey>,
) -> Result<bool, EngineError> {
    let snapshot = current_snapshot::snapshot(&meaning.live)?;
    let missing = snapshot.unembedded(embedder.id(), FEW + given_up.len())?;
    let fresh = missing
        .into_iter()
        .filter(|one| !given_up.contains(&one.key));
    let few: Vec<Unembedded> = fresh.take(FEW).collect();
    if few.is_empty() {
        return Ok(false);
    }
    embed_batch(meaning, embedder, &few)?;
    // Vectors that could not be made are tried again after the next change.
    given_up.extend(few.iter().map(|one| one.key));
    Ok(true)
}

/// Embeds some passages and stores their vectors; returns the number of those whose files still
/// hold the text.
fn embed_batch(
    meaning: &Meaning,
    embedder: &dyn Embedder,
    missing: &[Unembedded],
) -> Result<usize, EngineError> {
    if missing.is_empty() {
        return Ok(0);
    }
    let passages: Vec<(VectorKey, String)> = self::passages(meaning, missing)
        .into_iter()
        .map(|(key, text)| (key, sent(embedder, text)))
        .collect();
    let pieces: Vec<Vec<&str>> = passages
        .iter()
        .map(|(_, text)| passage::pieces(text))
        .collect();
    let mut made = Vec::new();
    let mut count = 0;
    let mut kept_at = Instant::now();
    let mut next = 0;
    while next < passages.len() {
        let end = end_of_group(&pieces, next, embedder.host().is_some());
        let texts: Vec<&str> = pieces[next..end].iter().flatten().copied().collect();
        let vectors = embedder.passages(&texts);
        outage::heard_of(meaning, embedder, vectors.as_ref().err());
        let vectors = match vectors {
            Ok(vectors) => vectors,
            Err(error) => {
                keep_made(meaning, embedder, made)?;
                return Err(EngineError::Embed(error));
            }
        };
        let mut vectors = vectors.into_iter();
        for ((key, _), pieces) in passages[next..end].iter().zip(&pieces[next..end]) {
            let of_pieces = vectors.by_ref().take(pieces.len());
            made.push((*key, of_pieces.flatten().collect()));
            count += 1;
        }
        next = end;
        if kept_at.elapsed() > KEPT_EVERY {
            keep_made(meaning, embedder, std::mem::take(&mut made))?;
            kept_at = Instant::now();
        }
    }
    keep_made(meaning, embedder, made)?;
    Ok(count)
}

/// Stores vectors, so that they are not lost if the process ends.
fn keep_made(
    meaning: &Meaning,
    embedder: &dyn Embedder,
    made: Vec<(VectorKey, Vec<Vector>)>,
) -> Result<(), EngineError> {
    if made.is_empty() {
        return Ok(());
    }
    let _lock = meaning.live.lock_index()?;
    meaning.live.index.keep_vectors(embedder.id(), made)?;
    Ok(())
}

/// Returns the text as it is embedded: credentials are redacted for a host.
pub(in crate::engine) fn sent(embedder: &dyn Embedder, text: String) -> String {
    match embedder.host() {
        Some(_) => secrets::redact(&text),
        None => text,
    }
}

/// Returns the texts to embed with the keys of their vectors. A text that was changed since is
/// left out; it has another key.
fn passages(meaning: &Meaning, missing: &[Unembedded]) -> Vec<(VectorKey, String)> {
    let reader = meaning.live.store.reader(Place::Files);
    let mut memories: HashMap<&str, Option<(Memory, VectorKey)>> = HashMap::new();
    let names = missing
        .iter()
        .flat_map(|one| one.previous.iter().chain([&one.name]));
    for name in names {
        memories.entry(name.as_str()).or_insert_with(|| {
            let version = reader.read(name, MAX_INDEXED_BYTES as u64).ok()?;
            let memory = parse(&version.entry, &version.bytes);
            let key = passage::own_key(&passage::own(&memory));
            Some((memory, key))
        });
    }
    let mut known = HashSet::new();
    let text = |one: &Unembedded| {
        let (memory, own) = memories[one.name.as_str()].as_ref()?;
        let (key, text) = match &one.previous {
            None => (*own, passage::own(memory)),
            Some(previous) => {
                let (previous, before) = memories[previous.as_str()].as_ref()?;
                let key = passage::window_key(*before, *own);
                (key, passage::window(previous, memory))
            }
        };
        (key == one.key).then_some((key, text))
    };
    missing
        .iter()
        .filter_map(text)
        .filter(|(key, _)| known.insert(*key))
        .collect()
}

/// Returns the end of the group of texts that are embedded together with the one at `start`. A host is
/// called as rarely as possible.
fn end_of_group(pieces: &[Vec<&str>], start: usize, is_hosted: bool) -> usize {
    if is_hosted {
        return pieces.len();
    }
    let mut count = 0;
    let fits = |pieces: &&Vec<&str>| {
        count += pieces.len();
        count <= MAX_PIECES
    };
    let fitting = pieces[start..].iter().take_while(fits).count();
    start + fitting.max(1)
}
