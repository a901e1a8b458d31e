//! A cross-encoder on this machine: scores how well texts answer a question.
//!
//! Reads the question and a text together, one pair a run. Promises: the texts of a call are all
//! scored, or none of them; a call scores no pair after its budget has ended;
//! nothing is loaded before it is asked for; equal calls in a row are computed once; a model that
//! cannot be used is told once in the log, and not tried again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::EmbedError;
use super::folder::ModelFolder;
use super::onnx::Onnx;
use super::parallel::in_parallel;
use super::pieces::{Cutter, Piece};

/// Settings of a cross-encoder.
#[derive(Debug, Clone)]
pub struct CrossEncoderSettings {
    /// Holds the model in ONNX and `tokenizer.json`.
    pub folder: PathBuf,
    /// Maximum number of threads that compute; at least one.
    pub threads: usize,
    /// ONNX Runtime libraries to try, in this order: [`super::runtime_libraries`].
    pub libraries: Vec<PathBuf>,
    /// Maximum time for the texts of one question.
    pub budget: Duration,
}

/// Reason why texts were not scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unranked {
    /// It is being loaded, or nobody has begun to.
    #[error("the model is not loaded yet")]
    NotLoaded,
    /// Time would pass the budget, by what the model took before.
    #[error("{texts} texts would take {} ms, and the budget is {} ms", needed.as_millis(), budget.as_millis())]
    OverBudget {
        texts: usize,
        needed: Duration,
        budget: Duration,
    },
    /// The model cannot be used.
    #[error("{0}")]
    Unusable(String),
}

impl From<EmbedError> for Unranked {
    fn from(error: EmbedError) -> Unranked {
        Unranked::Unusable(error.to_string())
    }
}

/// A model that gives one number for a question and a text. Shared between threads.
pub struct CrossEncoder {
    settings: CrossEncoderSettings,
    loaded: OnceLock<Result<Loaded, EmbedError>>,
    /// The first error, once it was logged.
    failed: OnceLock<String>,
    /// Hash of the last question and its texts, with their scores: a search may be repeated, and pages
    /// of one result are.
    last: Mutex<Option<(blake3::Hash, Vec<f32>)>>,
}

struct Loaded {
    cutter: Cutter,
    onnx: Onnx,
    pace: Pace,
}

/// Nanoseconds that a token takes on the clock, all threads at work; 0 before the first pair.
#[derive(Default)]
struct Pace(AtomicU64);

/// Share of the tokens after which the time of all of them is estimated from theirs.
const ESTIMATED_FROM: usize = 8;

impl CrossEncoder {
    /// Returns the model in a folder; reads nothing yet.
    pub fn new(settings: CrossEncoderSettings) -> CrossEncoder {
        CrossEncoder {
            settings,
            loaded: OnceLock::new(),
            failed: OnceLock::new(),
            last: Mutex::default(),
        }
    }

    /// Returns whether a folder holds a cross-encoder. Loads nothing.
    pub fn is_in(folder: &Path) -> bool {
        ModelFolder::look_at_cross_encoder(folder).is_ok()
    }

    /// Loads the model, if that was not tried before, and scores a pair for trial; waits for whoever is
    /// loading it.
    ///
    /// # Errors
    ///
    /// Fails if the folder holds no cross-encoder, or if it cannot be run.
    pub fn load(&self) -> Result<(), EmbedError> {
        let loaded = self.loaded.get_or_init(|| Loaded::load(&self.settings));
        loaded.as_ref().map(drop).map_err(Clone::clone)
    }

    /// As [`CrossEncoder::load`]; an error is logged once, and comes back from [`CrossEncoder::scores`].
    pub fn prepare(&self) {
        if let Err(error) = self.load() {
            self.fail(&error.to_string());
        }
    }

    /// Returns a number for each of `texts`, in their order: the greater, the better it answers
    /// `question`. Numbers of different questions cannot be compared. Waits for no loading; reading the
    /// texts counts as a part of the time.
    ///
    /// # Errors
    ///
    /// Says why none of them is scored.
    pub fn scores(
        &self,
        question: &str,
        texts: &mut dyn FnMut() -> Vec<String>,
    ) -> Result<Vec<f32>, Unranked> {
        let begun = Instant::now();
        if let Some(why) = self.failed.get() {
            return Err(Unranked::Unusable(why.clone()));
        }
        let loaded = self.loaded.get().ok_or(Unranked::NotLoaded)?;
        let loaded = loaded.as_ref().map_err(Clone::clone)?;
        let texts = &texts();
        let hash = hash(question, texts);
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, scores)) = last().as_ref().filter(|(of, _)| *of == hash) {
            return Ok(scores.clone());
        }
        let scores = loaded.scores(question, texts, begun, self.settings.budget);
        match &scores {
            Ok(scores) => *last() = Some((hash, scores.clone())),
            Err(Unranked::Unusable(why)) => self.fail(why),
            Err(_) => {}
        }
        scores
    }

    /// Returns whether no error was found yet.
    pub fn is_usable(&self) -> bool {
        self.failed.get().is_none()
    }

    /// Returns the folder's name.
    pub fn name(&self) -> String {
        let folder = &self.settings.folder;
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// Describes for people what scores texts: the model's file and the runtime.
    pub fn describe(&self) -> String {
        let runtime = match self.loaded.get() {
            None => "not loaded",
            Some(Ok(loaded)) => &loaded.onnx.runtime,
            Some(Err(_)) => "unusable",
        };
        format!("{} ({runtime})", self.settings.folder.display())
    }

    fn fail(&self, why: &str) {
        if self.failed.set(why.to_owned()).is_ok() {
            tracing::warn!("results are not re-ranked: {why}");
        }
    }
}

impl Loaded {
    fn load(settings: &CrossEncoderSettings) -> Result<Loaded, EmbedError> {
        let folder = ModelFolder::look_at_cross_encoder(&settings.folder)?;
        let loaded = Loaded {
            cutter: Cutter::for_pairs(&folder.tokenizer, folder.max_tokens)?,
            onnx: Onnx::load(&folder, settings.threads.max(1), &settings.libraries)?,
            pace: Pace::default(),
        };
        let pair = loaded.cutter.pair("Who asks?", "Somebody asks.")?;
        loaded.onnx.logit(&pair)?;
        Ok(loaded)
    }

    fn scores(
        &self,
        question: &str,
        texts: &[String],
        begun: Instant,
        budget: Duration,
    ) -> Result<Vec<f32>, Unranked> {
        let threads = self.onnx.at_once(texts.len());
        let mut order: Vec<usize> = (0..texts.len()).collect();
        let pairs = in_parallel(threads, &order, |at| self.cutter.pair(question, &texts[at]))?;
        let total: usize = pairs.iter().map(Piece::len).sum();
        let needed = self.pace.time(total);
        let over = |needed| Unranked::OverBudget {
            texts: texts.len(),
            needed,
            budget,
        };
        if begun.elapsed() + needed > budget {
            self.pace.doubt();
            return Err(over(needed));
        }
        // Long pairs first: whoever ends last then has little left to do.
        order.sort_by_key(|&at| std::cmp::Reverse(pairs[at].len()));
        let (computing, done) = (Instant::now(), AtomicUsize::new(0));
        let scores = in_parallel(threads, &order, |at| {
            let expected = expected(computing.elapsed(), done.load(Ordering::Relaxed), total);
            if begun.elapsed().max(expected) >= budget {
                return Ok(None);
            }
            let logit = self.onnx.logit(&pairs[at])?;
            done.fetch_add(pairs[at].len(), Ordering::Relaxed);
            Ok(Some(logit))
        })?;
        let (taken, done) = (computing.elapsed(), done.into_inner());
        tracing::debug!("a cross-encoder took {taken:?} for {done} of {total} tokens");
        self.pace.note(taken, done);
        let scores: Option<Vec<f32>> = scores.into_iter().collect();
        scores.ok_or_else(|| over(self.pace.time(total)))
    }
}

impl Pace {
    /// Returns the time that `tokens` tokens will take.
    fn time(&self, tokens: usize) -> Duration {
        let nanos = self.0.load(Ordering::Relaxed);
        Duration::from_nanos(nanos.saturating_mul(tokens as u64))
    }

    fn note(&self, taken: Duration, tokens: usize) {
        if let Some(nanos) = taken.as_nanos().checked_div(tokens as u128) {
            let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
            self.0.store(nanos, Ordering::Relaxed);
        }
    }

    /// Lowers the estimate by a tenth: the machine may have been busy when it was made, so after some
    /// questions without scores one is tried again.
    fn doubt(&self) {
        let nanos = self.0.load(Ordering::Relaxed);
        self.0.store(nanos - nanos.div_ceil(10), Ordering::Relaxed);
    }
}

/// Returns the time that all of `total` tokens will take, if `done` of them took `taken`; zero while they
/// are too few to tell.
fn expected(taken: Duration, done: usize, total: usize) -> Duration {
    match done >= total.div_ceil(ESTIMATED_FROM) {
        true => taken.mul_f64(total as f64 / done.max(1) as f64),
        false => Duration::ZERO,
    }
}

fn hash(question: &str, texts: &[String]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for text in std::iter::once(question).chain(texts.iter().map(String::as_str)) {
        hasher.update(&text.len().to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_last_pairs_and_is_doubted_when_it_keeps_from_trying() {
        let pace = Pace::default();
        assert_eq!(pace.time(1000), Duration::ZERO);
        pace.note(Duration::from_micros(500), 50);
        assert_eq!(pace.time(1000), Duration::from_millis(10));
        pace.note(Duration::from_secs(1), 0);
        assert_eq!(pace.time(1000), Duration::from_millis(10));
        pace.doubt();
        assert_eq!(pace.time(1000), Duration::from_millis(9));
    }

    #[test]
    fn an_eighth_of_the_tokens_tells_the_time_of_all() {
        let taken = Duration::from_millis(10);
        assert_eq!(expected(taken, 99, 800), Duration::ZERO);
        assert_eq!(expected(taken, 100, 800), Duration::from_millis(80));
        assert_eq!(expected(taken, 0, 0), Duration::ZERO);
    }
}
