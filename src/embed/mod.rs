//! Texts to vectors, and to scores of a question and a text: what a model makes of their meaning.
//!
//! Knows nothing of memories. Promises: the same text and model give the same vectors; equal ids
//! mean equal models; nothing is loaded, and no other host is spoken to, before the first text is
//! embedded; a model that cannot be used is an error that says what to do, never wrong vectors or
//! scores.
//! Keeping vectors and comparing them is left to others.

mod answer;
#[cfg(feature = "tract")]
mod built_in;
pub mod catalog;
mod cross_encoder;
mod cut;
mod folder;
mod guard;
mod hosted;
mod libraries;
mod local;
mod local_settings;
mod memory;
mod native;
mod onnx;
mod onnx_file;
mod parallel;
mod pieces;
mod priority;
#[cfg(feature = "tract")]
mod quantize;

pub use cross_encoder::{CrossEncoder, CrossEncoderSettings, Unranked};
pub use hosted::{EmbeddingProtocol, HOSTED_MAX_TOKENS, Hosted, HostedSettings};
pub use libraries::runtime_libraries;
pub use local::Local;
pub use local_settings::{LocalSettings, Pooling};
pub use memory::{give_back_memory, give_back_program, limit_kept_memory};
pub use onnx::check_runtime;
pub use priority::Priority;

use std::ops::Range;

/// Error of embedding a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The model cannot be used as it is; trying again does not help.
    #[error("{0}")]
    Unusable(String),
    /// It may be better later: a host did not answer, memory was short.
    #[error("{0}")]
    Failed(String),
    /// A question without a word that the model knows has no meaning, so it has no vector.
    #[error("the question holds no word that the model knows")]
    NoWords,
}

/// The vector of one text, or of one piece of it: of length 1, so that the scalar product of two
/// is their cosine.
pub type Vector = Vec<f32>;

/// A token of a text as a model reads it in its context.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Place in the text, in bytes: a word or a part of one.
    pub place: Range<usize>,
    /// Hidden state of the model, of length 1.
    pub state: Vector,
}

/// The vector of one text, or of one piece of it, with its tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// Vector of the whole.
    pub vector: Vector,
    /// Tokens that hold a letter or a digit, in their order; none if the model does not give them.
    pub tokens: Vec<Token>,
}

impl From<Vector> for Embedding {
    fn from(vector: Vector) -> Embedding {
        Embedding {
            vector,
            tokens: Vec::new(),
        }
    }
}

/// A model, from texts to vectors. Shared between threads.
pub trait Embedder: Send + Sync {
    /// Names the model and everything else that its vectors depend on: equal for equal vectors
    /// only. Letters, digits, `-`, `_` and `.`, as for a folder's name.
    fn id(&self) -> &str;

    /// Returns the number of dimensions of a vector. Known before anything is loaded; a model that gives others
    /// is an error, never another length.
    fn dimensions(&self) -> usize;

    /// The vector of what is asked. Of a text that is too long for the model, the beginning
    /// counts. Does not wait for texts that are being embedded at [`Priority::Low`].
    ///
    /// # Errors
    ///
    /// Fails if the model cannot be loaded or asked; with [`EmbedError::NoWords`] if nothing is
    /// asked.
    fn query(&self, text: &str) -> Result<Vector, EmbedError>;

    /// For each of `texts`, in their order, the vectors of its pieces: one for a text that the
    /// model takes whole, none for a text without words. A text has 64 pieces at most; what comes
    /// after is left out. The vectors of a text do not depend on the other texts.
    ///
    /// # Errors
    ///
    /// Fails if the model cannot be loaded or asked; then none of them is embedded.
    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError>;

    /// As [`Embedder::query`], with the tokens, whose places are those in `text`.
    ///
    /// # Errors
    ///
    /// As for [`Embedder::query`].
    fn query_in_tokens(&self, text: &str) -> Result<Embedding, EmbedError> {
        self.query(text).map(Embedding::from)
    }

    /// As [`Embedder::passages`], with the tokens of each piece.
    ///
    /// # Errors
    ///
    /// As for [`Embedder::passages`].
    fn passages_in_tokens(&self, texts: &[&str]) -> Result<Vec<Vec<Embedding>>, EmbedError> {
        let vectors = self.passages(texts)?.into_iter();
        Ok(vectors
            .map(|pieces| pieces.into_iter().map(Embedding::from).collect())
            .collect())
    }

    /// Lets go of what was loaded, if nothing was asked for `idle`; it is loaded again when it is
    /// needed.
    fn rest(&self, idle: std::time::Duration);

    /// Returns the host that texts are sent to, if they leave this machine.
    fn host(&self) -> Option<String>;

    /// Describes for people how texts become vectors at the moment: the backend and where it comes
    /// from.
    fn describe(&self) -> String;
}
