//! Runs a model in ONNX: with the ONNX Runtime where one is installed, else in pure Rust.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::Tensor;

use super::EmbedError;

/// A model, loaded.
pub(super) struct Onnx {
    session: Session,
    has_token_types: bool,
    output: String,
}

/// Token ids of several texts, padded to one length.
pub(super) struct Batch {
    pub ids: Vec<i64>,
    pub mask: Vec<i64>,
    pub types: Vec<i64>,
    pub rows: usize,
    pub tokens: usize,
}

/// What the process runs models with, once it is chosen: the libraries know one at a time.
static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

#[derive(Clone)]
struct Runtime {
    environment: Environment,
    name: String,
}

impl Onnx {
    /// Loads the model in `file`, to run on at most `threads` threads.
    pub fn load(file: &Path, threads: usize, libraries: &[PathBuf]) -> Result<Onnx, EmbedError> {
        let runtime = runtime(libraries)?;
        let unusable = |error: &dyn std::fmt::Display| {
            EmbedError::Unusable(format!(
                "the model {} cannot be loaded: {error}",
                file.display()
            ))
        };
        let built = || -> ort::Result<Session> {
            Session::builder(&runtime.environment)?
                // Without it the pure-Rust backend runs the graph as it is written, four times
                // slower, and cannot run all of them.
                .with_optimization_level(GraphOptimizationLevel::Level3)
                .unwrap_or_else(|error| error.recover())
                .with_intra_threads(threads)
                .unwrap_or_else(|error| error.recover())
                .commit_from_file(file)
        };
        let session = built().map_err(|error| unusable(&error))?;
        let has_token_types = session
            .inputs()
            .iter()
            .any(|input| input.name() == "token_type_ids");
        let output = session
            .outputs()
            .iter()
            .map(|output| output.name().to_owned())
            .find(|name| name == "last_hidden_state")
            .or_else(|| {
                session
                    .outputs()
                    .first()
                    .map(|first| first.name().to_owned())
            })
            .ok_or_else(|| unusable(&"it has no output"))?;
        Ok(Onnx {
            session,
            has_token_types,
            output,
        })
    }

    /// The hidden states of each token: rows × tokens × width numbers, and the width.
    pub fn run(&mut self, batch: Batch) -> Result<(Vec<f32>, usize), EmbedError> {
        let shape = [batch.rows, batch.tokens];
        let mut ran = || -> ort::Result<(Vec<f32>, usize)> {
            let mut inputs = ort::inputs![
                "input_ids" => Tensor::from_array((shape, batch.ids.clone()))?,
                "attention_mask" => Tensor::from_array((shape, batch.mask.clone()))?,
            ];
            if self.has_token_types {
                let types = Tensor::from_array((shape, batch.types.clone()))?;
                inputs.push(("token_type_ids".into(), types.into()));
            }
            let outputs = self.session.run(inputs)?;
            let (shape, values) = outputs[self.output.as_str()].try_extract_tensor::<f32>()?;
            Ok((values.to_vec(), *shape.last().unwrap_or(&0) as usize))
        };
        ran().map_err(|error| EmbedError::Failed(format!("the model cannot be run: {error}")))
    }
}

/// The first of `libraries` that is an ONNX Runtime, else the backend in the program.
fn runtime(libraries: &[PathBuf]) -> Result<Runtime, EmbedError> {
    let mut chosen = RUNTIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(runtime) = chosen.as_ref() {
        return Ok(runtime.clone());
    }
    let (builder, name) = libraries
        .iter()
        .find_map(|library| {
            let builder = ort::init_from(library).ok()?;
            Some((builder, library.display().to_string()))
        })
        .unwrap_or_else(|| {
            ort::set_api(ort_tract::api());
            (ort::init(), "built in".to_owned())
        });
    let environment = builder
        .build()
        .map_err(|error| EmbedError::Unusable(format!("no model can be run: {error}")))?;
    Ok(chosen.insert(Runtime { environment, name }).clone())
}

/// What models are run with, if one was loaded.
pub(super) fn runtime_name() -> Option<String> {
    let chosen = RUNTIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    chosen.as_ref().map(|runtime| runtime.name.clone())
}
