//! Models on an ONNX Runtime that is installed on this machine.
//!
//! The library is loaded when the first model is, and stays: a process runs one ONNX Runtime.
//! Promises: a library that is missing, too old or something else is passed over, is told in the
//! log, and spoils no later try; nothing is reported to its makers.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{OutputSelector, RunOptions, Session};
use ort::value::Tensor;

use super::answer::ModelOutput;
use super::guard::guarded;
use super::pieces::Piece;

/// The runtime of this process.
#[derive(Clone)]
pub(super) struct Native {
    environment: Environment,
    library: String,
}

/// A model, loaded.
pub(super) struct NativeModel {
    // One call at a time; see `ort::session::Session`.
    session: Mutex<Session>,
    output: String,
    has_token_types: bool,
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

    /// Loads the model in `file`, to compute on at most `threads` threads.
    pub fn load(
        &self,
        file: &Path,
        threads: usize,
        output: &str,
        has_token_types: bool,
    ) -> Result<NativeModel, String> {
        let build = || -> ort::Result<Session> {
            Session::builder(&self.environment)?
                .with_optimization_level(GraphOptimizationLevel::All)?
                .with_intra_threads(threads)?
                .with_inter_threads(1)?
                // Waiting threads sleep: they would burn a core after every text.
                .with_intra_op_spinning(false)?
                // Texts differ in length, so a plan made for one serves no other.
                .with_memory_pattern(false)?
                .commit_from_file(file)
        };
        let session = guarded(build)?.map_err(|error| error.to_string())?;
        Ok(NativeModel {
            session: Mutex::new(session),
            output: output.to_owned(),
            has_token_types,
        })
    }
}

impl NativeModel {
    /// Returns the output for one piece.
    pub fn run(&self, piece: &Piece) -> Result<ModelOutput, String> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
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
}
