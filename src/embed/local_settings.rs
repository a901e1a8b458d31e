//! How a model of this machine is found and read.

use std::path::PathBuf;

/// Where a model lies and how it is to be used. What is `None` is read from what
/// sentence-transformers puts in the folder; `docs/MODELS.md` says from where, and what counts if
/// nothing is there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LocalSettings {
    /// Holds the model in ONNX and `tokenizer.json`.
    pub folder: PathBuf,
    /// At most so many threads compute; at least one.
    pub threads: usize,
    /// ONNX Runtime libraries to try, in this order: [`super::runtime_libraries`].
    pub libraries: Vec<PathBuf>,
    /// The model's file, from the folder on.
    pub model_file: Option<String>,
    /// What is put before a question, such as `query: `.
    pub query_prefix: Option<String>,
    /// What is put before each piece of a text, such as `passage: `.
    pub passage_prefix: Option<String>,
    /// How many numbers a vector has: the first ones, if the model gives more.
    pub dimensions: Option<usize>,
    /// How many tokens a piece of a text has at most, from 16 on.
    pub max_tokens: Option<usize>,
    /// How the model's states become one vector.
    pub pooling: Option<Pooling>,
}

/// How a model's states, one for each token, become the vector of a text.
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
    /// What [`Pooling::from`] makes this of.
    pub fn as_str(&self) -> &str {
        match self {
            Pooling::Mean => "mean",
            Pooling::First => "cls",
            Pooling::Output(name) => name,
        }
    }
}
