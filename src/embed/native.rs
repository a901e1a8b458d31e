//! Models on an ONNX Runtime that is installed on this machine.
//!
//! The library is loaded when the first model is, and stays: a process runs one ONNX Runtime.
//! Promises: a library that is missing, too old or something else is passed over, is told in the
//! log, and spoils no later try; nothing is reported to its makers.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ort::environment::Environment;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{OutputSelector, RunOptions, Session};
use ort::value::Tensor;

use super::answer::ModelOutput;
use super::folder::ModelFolder;
use super::guard::guarded;
use super::pieces::Piece;
use super::priority::Priority;

/// Bytes of files up to which a model is loaded more than once.
const MAX_BYTES: u64 = 256 << 20;

/// Number of pieces for which another session is made: it takes as long as twenty short ones.
const WORTH_A_SESSION: usize = 16;

/// The runtime of this process.
#[derive(Clone)]
pub(super) struct Native {
    environment: Environment,
    library: String,
}

/// A model, loaded.
///
/// A session computes one piece at a time, see `ort::session::Session`. Threads of low priority have
/// sessions of their own, so that a question waits for none of them, and the threads of a session
/// have the priority of the thread that made it.
pub(super) struct NativeModel {
    native: Native,
    file: PathBuf,
    output: String,
    has_token_types: bool,
    /// Shared by all threads of usual priority.
    shared: Mutex<Option<Session>>,
    /// Those that no thread of low priority is using.
    free: Mutex<Vec<Session>>,
    sizes: Sizes,
}

/// Numbers of sessions and of their threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    /// Number of sessions that compute at once at low priority.
    sessions: usize,
    /// Number of threads of each of them.
    threads: usize,
    /// Number of threads of the shared session.
    shared_threads: usize,
}

enum State {
    Untried,
    Ready(Native),
    /// A library was loaded and cannot be used; no other can take its place in this process.
    Spoilt(String),
}

static STATE: Mutex<State> = Mutex::new(State::Untried);

impl Native {
    /// Returns the runtime of the first of `libraries` that is one; once one is chosen, always that.
    /// None, with the reasons, if there is none.
    pub fn start(libraries: &[PathBuf]) -> Result<Native, String> {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Ready(native) => return Ok(native.clone()),
            State::Spoilt(why) => return Err(why.clone()),
            State::Untried => {}
        }
        for library in libraries {
            // Without a folder, it is for the system's loader to find.
            let is_bare = library.components().count() == 1;
            if !is_bare && !library.is_file() {
                tracing::warn!(library = %library.display(), "there is no ONNX Runtime library");
                continue;
            }
            let begun = guarded(|| ort::init_from(library))
                .and_then(|begun| begun.map_err(|error| error.to_string()));
            let builder = match begun {
                Ok(builder) => builder,
                Err(why) if is_bare => {
                    tracing::debug!(library = %library.display(), "not installed: {why}");
                    continue;
                }
                Err(why) => {
                    let library = library.display();
                    tracing::warn!(%library, "no ONNX Runtime that can be used: {why}");
                    continue;
                }
            };
            let built = guarded(|| builder.with_name("memdir").with_telemetry(false).build())
                .and_then(|built| built.map_err(|error| error.to_string()));
            let library = library.display().to_string();
            return match built {
                Ok(environment) => {
                    tracing::info!(library, "models are run with the ONNX Runtime");
                    let native = Native {
                        environment,
                        library,
                    };
                    *state = State::Ready(native.clone());
                    Ok(native)
                }
                Err(why) => {
                    tracing::warn!(library, "the ONNX Runtime cannot be used: {why}");
                    let why = format!("the ONNX Runtime {library} cannot be used: {why}");
                    *state = State::Spoilt(why.clone());
                    Err(why)
                }
            };
        }
        Err("no ONNX Runtime is installed".to_owned())
    }

    /// Returns the library's path.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Loads the model of `folder`, to compute on at most `threads` threads.
    pub fn load(self, folder: &ModelFolder, threads: usize) -> Result<NativeModel, String> {
        let model = NativeModel {
            native: self,
            file: folder.model.clone(),
            output: folder.output.clone(),
            has_token_types: folder.has_token_types,
            shared: Mutex::new(None),
            free: Mutex::default(),
            sizes: Sizes::of(folder.bytes, threads),
        };
        let session = model.session()?;
        match Priority::of_this_thread() {
            Priority::Usual => *model.shared() = Some(session),
            Priority::Low => model.free().push(session),
        }
        Ok(model)
    }
}

impl Sizes {
    /// Two sessions of one thread compute more than one of two threads: 7.7 and 5.9 ms for a piece of
    /// 128 tokens. But each holds the weights.
    fn of(bytes: u64, threads: usize) -> Sizes {
        let fitting = usize::try_from(MAX_BYTES / bytes.max(1)).unwrap_or(usize::MAX);
        let sessions = fitting.clamp(1, threads);
        Sizes {
            sessions,
            threads: threads / sessions,
            // More gain nothing for one short text.
            shared_threads: threads.min(4),
        }
    }
}

impl NativeModel {
    /// Returns the number of threads of this one's priority that `pieces` pieces are worth.
    pub fn at_once(&self, pieces: usize) -> usize {
        match Priority::of_this_thread() {
            Priority::Usual => 1,
            Priority::Low => self.sizes.sessions.min(pieces.div_ceil(WORTH_A_SESSION)),
        }
    }

    /// Returns the output for one piece.
    pub fn run(&self, piece: &Piece) -> Result<ModelOutput, String> {
        if Priority::of_this_thread() == Priority::Low {
            let free = self.free().pop();
            let mut session = free.map_or_else(|| self.session(), Ok)?;
            let output = self.run_on(&mut session, piece);
            self.free().push(session);
            return output;
        }
        let mut shared = self.shared();
        if shared.is_none() {
            *shared = Some(self.session()?);
        }
        let session = shared.as_mut().expect("it was just made");
        self.run_on(session, piece)
    }

    fn run_on(&self, session: &mut Session, piece: &Piece) -> Result<ModelOutput, String> {
        let shape = [1, piece.len()];
        let mut run = || -> ort::Result<ModelOutput> {
            let mask = vec![1_i64; piece.len()];
            let mut inputs = ort::inputs![
                "input_ids" => Tensor::from_array((shape, piece.ids.clone()))?,
                "attention_mask" => Tensor::from_array((shape, mask))?,
            ];
            if self.has_token_types {
                let types = Tensor::from_array((shape, piece.types.clone()))?;
                inputs.push(("token_type_ids".into(), types.into()));
            }
            // Not what other outputs would cost.
            let wanted = OutputSelector::no_default().with(&self.output);
            let options = RunOptions::new()?.with_outputs(wanted);
            let outputs = session.run_with_options(inputs, &options)?;
            let (shape, values) = outputs[self.output.as_str()].try_extract_tensor::<f32>()?;
            Ok(ModelOutput {
                shape: shape
                    .iter()
                    .map(|&size| size.unsigned_abs() as usize)
                    .collect(),
                values: values.to_vec(),
            })
        };
        guarded(&mut run)?.map_err(|error| error.to_string())
    }

    /// Makes a session for threads of this one's priority.
    fn session(&self) -> Result<Session, String> {
        let threads = match Priority::of_this_thread() {
            Priority::Usual => self.sizes.shared_threads,
            Priority::Low => self.sizes.threads,
        };
        let build = || -> ort::Result<Session> {
            Session::builder(&self.native.environment)?
                .with_optimization_level(GraphOptimizationLevel::All)?
                // The operator that it makes of two is slower than they are: a fifth of the time
                // of a piece of 128 tokens.
                .with_disabled_optimizers("SkipLayerNormFusion")?
                .with_intra_threads(threads)?
                .with_inter_threads(1)?
                // Waiting threads sleep: they would burn a core after every text.
                .with_intra_op_spinning(false)?
                // Texts differ in length, so a plan made for one serves no other.
                .with_memory_pattern(false)?
                .commit_from_file(&self.file)
        };
        guarded(build)?.map_err(|error| error.to_string())
    }

    fn shared(&self) -> MutexGuard<'_, Option<Session>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self) -> MutexGuard<'_, Vec<Session>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_models_are_loaded_once_for_all_threads() {
        let sizes = |sessions, threads, shared_threads| Sizes {
            sessions,
            threads,
            shared_threads,
        };
        assert_eq!(Sizes::of(23 << 20, 2), sizes(2, 1, 2));
        assert_eq!(Sizes::of(23 << 20, 32), sizes(11, 2, 4));
        assert_eq!(Sizes::of(135 << 20, 8), sizes(1, 8, 4));
        assert_eq!(Sizes::of(0, 1), sizes(1, 1, 1));
    }
}
