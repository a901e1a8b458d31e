//! Errors of the page, for people.

use crate::engine::EngineError;

/// Error of a view or of a form.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// Value that a view or a form cannot take.
    #[error("{0}")]
    Bad(String),
    /// Change of what is another one than the visitor was shown.
    #[error("{0}")]
    Changed(&'static str),
    /// Change that the visitor may not make.
    #[error("{0}")]
    Forbidden(&'static str),
    /// View or action of a folder, asked for at another place for memories.
    #[error("this needs a store in a folder, and this is a workspace of a database")]
    NeedsFolder,
}

impl PageError {
    /// Returns the status of HTTP.
    pub fn status(&self) -> u16 {
        match self {
            PageError::Engine(EngineError::NotFound(_)) | PageError::NeedsFolder => 404,
            PageError::Engine(EngineError::ChangedMeanwhile { .. }) | PageError::Changed(_) => 409,
            PageError::Engine(
                EngineError::Invalid(_)
                | EngineError::Ambiguous { .. }
                | EngineError::Format(_)
                | EngineError::Secrets(_),
            )
            | PageError::Bad(_) => 400,
            PageError::Engine(EngineError::ReadOnly(_)) | PageError::Forbidden(_) => 403,
            PageError::Engine(_) => 500,
        }
    }

    /// Returns advice for the visitor, as a sentence.
    pub fn hint(&self) -> Option<String> {
        match self {
            PageError::Engine(error) => error.hint(),
            _ => None,
        }
    }
}
