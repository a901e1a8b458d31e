//! A finding of `status` or `verify`.

use crate::files::Place;
use crate::model::Problem;

/// A note or problem about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Path of the file below the store's folder.
    pub file: String,
    /// The problem.
    pub problem: Problem,
}

/// Returns the finding of a problem in the live file `name`.
pub(in crate::engine) fn finding(name: &str, problem: Problem) -> Finding {
    Finding {
        file: Place::Files.path_of(name),
        problem,
    }
}
