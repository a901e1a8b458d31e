//! A model in ONNX, loaded on whichever runtime this machine has: pieces to vectors.
//!
//! Prefers an ONNX Runtime that is installed; the one built in serves where there is none, and
//! where that one cannot load the model.
//!
//! # One piece a run
//!
//! Promises that a piece gives the same vector whatever else is embedded. A quantised model
//! measures the range of its activations over everything that goes through it at once, so in a
//! batch the vector of a text would depend on its neighbours, and on their padding. Nothing is
//! lost by it: batches bring nothing on a processor (the figures are in `docs/MODELS.md`). So the
//! order of texts is of no consequence either, and none waits for others of its length.

use std::path::{Path, PathBuf};

#[cfg(feature = "tract")]
use super::built_in::BuiltInModel;
use super::folder::{ModelFolder, Pooled};
use super::native::{Native, NativeModel};
use super::pieces::Piece;

use super::{EmbedError, Embedding, Token, Vector};

/// A model, loaded.
pub(super) struct Onnx {
    file: PathBuf,
    running: Running,
    pooling: Pooled,
    width: usize,
    dimensions: usize,
    /// The runtime's description, for people.
    pub runtime: String,
    #[cfg(feature = "tract")]
    threads: usize,
}

enum Running {
    Native(NativeModel),
    #[cfg(feature = "tract")]
    BuiltIn(BuiltInModel),
}

impl Onnx {
    /// Loads the model of `folder`, to compute on at most `threads` threads.
    ///
    /// # Errors
    ///
    /// Fails if no runtime can load it.
    pub fn load(
        folder: &ModelFolder,
        threads: usize,
        libraries: &[PathBuf],
    ) -> Result<Onnx, EmbedError> {
        let native = Native::start(libraries).and_then(|native| {
            let library = native.library().to_owned();
            let model = native.load(folder, threads)?;
            Ok((Running::Native(model), library))
        });
        let (running, runtime) = match native {
            Ok(loaded) => loaded,
            Err(why) => {
                let running = built_in(&folder.model, &folder.output, &why)?;
                (running, "built in".to_owned())
            }
        };
        Ok(Onnx {
            file: folder.model.clone(),
            running,
            pooling: folder.pooling,
            width: folder.width,
            dimensions: folder.dimensions,
            runtime,
            #[cfg(feature = "tract")]
            threads,
        })
    }

    /// Returns the number of threads of this one's priority that call [`Onnx::embedding`] for `pieces`
    /// pieces.
    pub fn at_once(&self, pieces: usize) -> usize {
        match &self.running {
            Running::Native(model) => model.at_once(pieces),
            #[cfg(feature = "tract")]
            Running::BuiltIn(_) => self.threads,
        }
    }

    /// Returns the vector of a piece, with the tokens of a model whose vectors are the mean of theirs.
    ///
    /// # Errors
    ///
    /// Fails if the model cannot be run, or gives what is no vector.
    pub fn embedding(&self, piece: &Piece) -> Result<Embedding, EmbedError> {
        let shape = match self.pooling {
            Pooled::Already => vec![1, self.width],
            Pooled::Mean | Pooled::First => vec![1, piece.len(), self.width],
        };
        let values = self.run(piece, &shape)?;
        let pooled = match self.pooling {
            Pooled::Mean => sum(&values, self.width),
            Pooled::First | Pooled::Already => values[..self.width].to_vec(),
        };
        let vector = unit(&pooled[..self.dimensions]);
        let vector = vector.ok_or_else(|| self.unusable("it gives no numbers, or zeros"))?;
        let mut tokens = Vec::new();
        if let Pooled::Mean = self.pooling {
            let states = values.chunks_exact(self.width).zip(&piece.places);
            let states = states.filter(|(_, place)| !place.is_empty());
            tokens.extend(states.filter_map(|(state, place)| {
                let state = unit(&state[..self.dimensions])?;
                let place = place.clone();
                Some(Token { place, state })
            }));
        }
        Ok(Embedding { vector, tokens })
    }

    /// Returns the number that a cross-encoder gives for a pair.
    ///
    /// # Errors
    ///
    /// Fails if the model cannot be run, or gives anything else.
    pub fn logit(&self, pair: &Piece) -> Result<f32, EmbedError> {
        let logit = self.run(pair, &[1, 1])?[0];
        let is_number = logit.is_finite().then_some(logit);
        is_number.ok_or_else(|| self.unusable("it gives no number"))
    }

    /// Returns the model's output of a piece, which must be of this shape.
    fn run(&self, piece: &Piece, shape: &[usize]) -> Result<Vec<f32>, EmbedError> {
        let ran = match &self.running {
            Running::Native(model) => model.run(piece),
            #[cfg(feature = "tract")]
            Running::BuiltIn(model) => model.run(piece),
        };
        let answer = ran.map_err(|why| {
            EmbedError::Failed(format!(
                "the model {} cannot be run: {why}",
                self.file.display()
            ))
        })?;
        if answer.shape != shape {
            return Err(self.unusable(&format!(
                "it gives numbers in the shape {:?}, and {shape:?} was expected",
                answer.shape
            )));
        }
        Ok(answer.values)
    }

    fn unusable(&self, why: &str) -> EmbedError {
        EmbedError::Unusable(format!(
            "the model {} cannot be used: {why}",
            self.file.display()
        ))
    }
}

#[cfg(feature = "tract")]
fn built_in(file: &Path, output: &str, native: &str) -> Result<Running, EmbedError> {
    tracing::info!("models are run by the runtime built in: {native}");
    match BuiltInModel::load(file, output) {
        Ok(model) => Ok(Running::BuiltIn(model)),
        Err(why) => Err(EmbedError::Unusable(format!(
            "the model {} cannot be loaded: {why} ({native})",
            file.display()
        ))),
    }
}

#[cfg(not(feature = "tract"))]
fn built_in(file: &Path, _: &str, native: &str) -> Result<Running, EmbedError> {
    Err(EmbedError::Unusable(format!(
        "the model {} cannot be run: {}",
        file.display(),
        without_runtime(native)
    )))
}

/// Checks that this machine can run models: with the first of `libraries` that is an ONNX Runtime, or with the
/// runtime built in.
///
/// # Errors
///
/// Fails if there is neither, with what can be done.
pub fn check_runtime(libraries: &[PathBuf]) -> Result<(), EmbedError> {
    match Native::start(libraries) {
        Err(why) if !cfg!(feature = "tract") => Err(EmbedError::Unusable(without_runtime(&why))),
        _ => Ok(()),
    }
}

/// Returns why no model can be run, and what can be done.
fn without_runtime(why: &str) -> String {
    format!(
        "{why}. Install an ONNX Runtime, version 1.17 or newer (`brew install onnxruntime`, `apt install \
         libonnxruntime-dev`), or name the library of one in ORT_DYLIB_PATH, such as that of the Python package \
         onnxruntime"
    )
}

/// Returns the sum of rows of `width` numbers: their mean at another length, which does not count.
fn sum(rows: &[f32], width: usize) -> Vector {
    let mut sum = vec![0.0; width];
    for row in rows.chunks_exact(width) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += value;
        }
    }
    sum
}

/// Returns the vector of length 1 in the same direction, if it has one.
fn unit(vector: &[f32]) -> Option<Vector> {
    let squares: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    let length = squares.sqrt();
    let is_direction = length.is_finite() && length > f64::from(f32::MIN_POSITIVE);
    is_direction.then(|| {
        let scaled = vector.iter().map(|&x| (f64::from(x) / length) as f32);
        scaled.collect()
    })
}
