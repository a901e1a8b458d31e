//! One finding of `status` or `verify`.

use crate::files::Place;
use crate::model::Problem;

/// Something to know or to mend about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file's path below the store's folder.
    pub file: String,
    pub problem: Problem,
}

pub(in crate::engine) fn finding(name: &str, problem: Problem) -> Finding {
    Finding {
        file: Place::Files.path_of(name),
        problem,
    }
}
