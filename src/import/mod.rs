//! Folders and exports of other programs → memories to be written.
//!
//! Reads only; keeps what each memory was called as `source_id`, so that importing twice adds
//! nothing. One thing that cannot be read never stops the rest.

mod aiaml;
mod block;
mod draft;
mod fields;
mod jsonl;
mod markdown;
mod records;
mod source_file;

use std::path::PathBuf;

pub use aiaml::aiaml;
pub use jsonl::jsonl;
pub use markdown::markdown;

use crate::model::NewMemory;

/// A memory from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    pub memory: NewMemory,
    /// What it was called there.
    pub source_id: Option<String>,
    /// Where it stood, for messages: a file, or a file and a line.
    pub source: String,
}

/// What stands in for fields that a source leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    pub agent: String,
    pub user: String,
    pub namespace: Option<String>,
}

/// Why something was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{source_name}: {what}")]
    Unreadable { source_name: String, what: String },
}

impl ImportError {
    /// Which file or line it was.
    pub fn source_name(&self) -> String {
        match self {
            ImportError::Io { path, .. } => path.display().to_string(),
            ImportError::Unreadable { source_name, .. } => source_name.clone(),
        }
    }
}

/// The memories of a source, one by one.
pub type Memories = Box<dyn Iterator<Item = Result<Foreign, ImportError>>>;
