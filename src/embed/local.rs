//! A model on this machine.
//!
//! Loaded when the first text comes, and let go when it was idle. Promises: at most the given
//! number of threads compute; a question waits for one piece of a text at most, not for a batch;
//! a backend that panics costs the call.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::folder::ModelFolder;
use super::local_settings::LocalSettings;
use super::onnx::Onnx;
use super::pieces::{Cutter, MAX_PIECES, Piece};
use super::turns::{For, Turns};
use super::{EmbedError, Embedder, Vector};

/// A BERT-like model in ONNX with its tokenizer.
pub struct Local {
    settings: LocalSettings,
    folder: ModelFolder,
    // Held while loading, so that two threads do not load it twice; never while computing.
    loaded: Mutex<Option<Arc<Loaded>>>,
}

struct Loaded {
    cutter: Cutter,
    onnx: Onnx,
    turns: Turns,
    used: Mutex<Instant>,
}

impl Local {
    /// Returns the model in a folder; loads nothing yet, but reads its files once for the id.
    ///
    /// # Errors
    ///
    /// Fails if the folder holds no model or no tokenizer, or if they cannot be used as they are;
    /// the error says what is to be done.
    pub fn new(settings: LocalSettings) -> Result<Local, EmbedError> {
        Ok(Local {
            folder: ModelFolder::look(&settings)?,
            settings,
            loaded: Mutex::new(None),
        })
    }

    /// As it was opened.
    pub fn settings(&self) -> &LocalSettings {
        &self.settings
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Loaded>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn loaded(&self) -> Result<Arc<Loaded>, EmbedError> {
        let mut slot = self.slot();
        if let Some(loaded) = &*slot {
            return Ok(Arc::clone(loaded));
        }
        let folder = &self.folder;
        let prefixes = [&*folder.query_prefix, &*folder.passage_prefix];
        let cutter = Cutter::load(&folder.tokenizer, folder.max_tokens, prefixes)?;
        let threads = self.settings.threads.max(1);
        let onnx = Onnx::load(folder, threads, &self.settings.libraries)?;
        let loaded = Arc::new(Loaded {
            cutter,
            turns: Turns::new(onnx.at_once),
            onnx,
            used: Mutex::new(Instant::now()),
        });
        *slot = Some(Arc::clone(&loaded));
        Ok(loaded)
    }
}

impl Loaded {
    /// Returns the vectors of `pieces`, in their order.
    fn vectors(&self, pieces: &[Piece]) -> Result<Vec<Vector>, EmbedError> {
        let threads = self.onnx.at_once.min(pieces.len());
        // Long pieces first: whoever ends last then has little left to do.
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(pieces[at].len()));
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let work = || -> Result<Vec<(usize, Vector)>, EmbedError> {
            let mut done = Vec::new();
            while !failed.load(Ordering::Relaxed) {
                let Some(&at) = order.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                let _turn = self.turns.take(For::Text);
                let vector = self.onnx.vector(&pieces[at]).inspect_err(|_| {
                    failed.store(true, Ordering::Relaxed);
                })?;
                done.push((at, vector));
            }
            Ok(done)
        };
        let parts: Vec<_> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let joined = others
                .into_iter()
                .map(|thread| thread.join().expect("what may panic is guarded"));
            std::iter::once(own)
                .chain(joined.collect::<Vec<_>>())
                .collect()
        });
        let mut vectors = vec![Vector::new(); pieces.len()];
        for part in parts {
            for (at, vector) in part? {
                vectors[at] = vector;
            }
        }
        Ok(vectors)
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn idle(&self) -> Duration {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.elapsed()
    }
}

impl Embedder for Local {
    fn id(&self) -> &str {
        &self.folder.id
    }

    fn dimensions(&self) -> usize {
        self.folder.dimensions
    }

    fn query(&self, text: &str) -> Result<Vector, EmbedError> {
        let loaded = self.loaded()?;
        let pieces = loaded.cutter.cut(&self.folder.query_prefix, text, 1)?;
        let piece = pieces.first().ok_or(EmbedError::NoWords)?;
        let vector = {
            let _turn = loaded.turns.take(For::Question);
            loaded.onnx.vector(piece)
        };
        loaded.touch();
        vector
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
        let loaded = self.loaded()?;
        let prefix = &self.folder.passage_prefix;
        let mut pieces = Vec::new();
        let mut counts = Vec::new();
        for text in texts {
            let of_text = loaded.cutter.cut(prefix, text, MAX_PIECES)?;
            counts.push(of_text.len());
            pieces.extend(of_text);
        }
        let mut vectors = loaded.vectors(&pieces)?.into_iter();
        loaded.touch();
        let per_text = counts
            .iter()
            .map(|&count| vectors.by_ref().take(count).collect());
        Ok(per_text.collect())
    }

    fn rest(&self, idle: Duration) {
        // Whoever holds the slot is loading, and so not idle.
        let Ok(mut slot) = self.loaded.try_lock() else {
            return;
        };
        // A second owner is computing.
        let is_idle =
            |loaded: &Arc<Loaded>| Arc::strong_count(loaded) == 1 && loaded.idle() >= idle;
        if slot.as_ref().is_some_and(is_idle) {
            *slot = None;
            super::memory::give_back_memory();
        }
    }

    fn host(&self) -> Option<String> {
        None
    }

    fn describe(&self) -> String {
        let runtime = match self.loaded.try_lock() {
            Ok(slot) => slot.as_ref().map_or("not loaded".to_owned(), |loaded| {
                loaded.onnx.runtime.clone()
            }),
            Err(_) => "being loaded".to_owned(),
        };
        format!("{} ({runtime})", self.folder.model.display())
    }
}
