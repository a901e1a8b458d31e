//! Errors as a person reads them: what, why, and what to do.

use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::eval::DatasetError;
use crate::import::ImportError;

/// An error on its way to the terminal.
#[derive(Debug)]
pub struct Failure {
    pub what: String,
    pub causes: Vec<String>,
    pub hint: Option<String>,
}

impl Failure {
    pub fn new(what: impl Into<String>) -> Failure {
        Failure {
            what: what.into(),
            causes: Vec::new(),
            hint: None,
        }
    }

    pub fn because(mut self, cause: impl std::error::Error) -> Failure {
        self.causes.push(cause.to_string());
        let mut next = cause.source();
        while let Some(cause) = next {
            self.causes.push(cause.to_string());
            next = cause.source();
        }
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    fn of(error: &dyn std::error::Error) -> Failure {
        let mut failure = Failure::new(error.to_string());
        let mut next = error.source();
        while let Some(cause) = next {
            failure.causes.push(cause.to_string());
            next = cause.source();
        }
        failure
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        Failure {
            hint: error.hint(),
            ..Failure::of(&error)
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        Failure::of(&error)
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Failure {
        Failure::of(&error)
    }
}

impl From<DatasetError> for Failure {
    fn from(error: DatasetError) -> Failure {
        Failure::of(&error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::new("cannot write the answer").because(error)
    }
}
