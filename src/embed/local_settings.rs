//! Settings of a model on this machine.

use std::path::PathBuf;

/// The folder of a model and how it is to be used. What is `None` is read from what
/// sentence-transformers puts in the folder; `docs/MODELS.md` says from where, and what counts if
/// nothing is there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LocalSettings {
    /// Holds the model in ONNX and `tokenizer.json`.
    pub folder: PathBuf,
    /// Maximum number of threads that compute; at least one.
    pub threads: usize,
    /// ONNX Runtime libraries to try, in this order: [`super::runtime_libraries`].
    pub libraries: Vec<PathBuf>,
    /// The model's file, from the folder on.
    pub model_file: Option<String>,
    /// Prefix of a question, such as `query: `.
    pub query_prefix: Option<String>,
    /// Prefix of each piece of a text, such as `passage: `.
    pub passage_prefix: Option<String>,
    /// Number of dimensions of a vector: the first ones, if the model gives more.
    pub dimensions: Option<usize>,
    /// Maximum number of tokens of a piece, at least 16.
    pub max_tokens: Option<usize>,
    /// The way from the model's states to one vector.
    pub pooling: Option<Pooling>,
}

/// The way from a model's states, one for each token, to the vector of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean: `mean`.
    Mean,
    /// The first one, which stands for the text: `cls`.
    First,
    /// Not at all: the model has an output of this name that is the vector.
    Output(String),
}

impl From<&str> for Pooling {
    /// `mean`, `cls`, or the name of an output.
    fn from(text: &str) -> Pooling {
        match text {
            "mean" => Pooling::Mean,
            "cls" => Pooling::First,
            name => Pooling::Output(name.to_owned()),
        }
    }
}

impl Pooling {
    /// Returns the text from which [`Pooling::from`] makes this.
    pub fn as_str(&self) -> &str {
        match self {
            Pooling::Mean => "mean",
            Pooling::First => "cls",
            Pooling::Output(name) => name,
        }
    }
}
