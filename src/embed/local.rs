//! A model on this machine.
//!
//! Loaded when the first text comes, and let go when it was idle. Promises: at most the given
//! number of threads embed the texts of a call; what is asked at the usual priority, such as a
//! question, waits for nothing that is embedded at the low one; a backend that panics costs the call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::folder::ModelFolder;
use super::local_settings::LocalSettings;
use super::onnx::Onnx;
use super::parallel::in_parallel;
use super::pieces::{Cutter, MAX_PIECES, Piece};
use super::{EmbedError, Embedder, Embedding, Vector};

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
            onnx,
            used: Mutex::new(Instant::now()),
        });
        *slot = Some(Arc::clone(&loaded));
        Ok(loaded)
    }
}

impl Loaded {
    /// Returns what `made` makes of the pieces of each of `texts`.
    fn of_pieces<T: Send>(
        &self,
        prefix: &str,
        texts: &[&str],
        made: impl Fn(Embedding) -> T + Sync,
    ) -> Result<Vec<Vec<T>>, EmbedError> {
        let order: Vec<usize> = (0..texts.len()).collect();
        let cut = |at: usize| self.cutter.cut(prefix, texts[at], MAX_PIECES);
        let pieces = in_parallel(self.onnx.at_once(texts.len()), &order, cut)?;
        let counts: Vec<usize> = pieces.iter().map(Vec::len).collect();
        let pieces: Vec<Piece> = pieces.into_iter().flatten().collect();
        // Long pieces first: whoever ends last then has little left to do.
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(pieces[at].len()));
        let threads = self.onnx.at_once(pieces.len());
        let vectors = in_parallel(threads, &order, |at| {
            self.onnx.embedding(&pieces[at]).map(&made)
        })?;
        let mut vectors = vectors.into_iter();
        let of_text = |count: usize| vectors.by_ref().take(count).collect();
        Ok(counts.into_iter().map(of_text).collect())
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
        Ok(self.query_in_tokens(text)?.vector)
    }

    fn query_in_tokens(&self, text: &str) -> Result<Embedding, EmbedError> {
        let loaded = self.loaded()?;
        let pieces = loaded.cutter.cut(&self.folder.query_prefix, text, 1)?;
        let piece = pieces.first().ok_or(EmbedError::NoWords)?;
        let embedding = loaded.onnx.embedding(piece);
        loaded.touch();
        embedding
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
        let loaded = self.loaded()?;
        let prefix = &self.folder.passage_prefix;
        let vectors = loaded.of_pieces(prefix, texts, |embedding| embedding.vector);
        loaded.touch();
        vectors
    }

    fn passages_in_tokens(&self, texts: &[&str]) -> Result<Vec<Vec<Embedding>>, EmbedError> {
        let loaded = self.loaded()?;
        let embedded = loaded.of_pieces(&self.folder.passage_prefix, texts, |embedding| embedding);
        loaded.touch();
        embedded
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
