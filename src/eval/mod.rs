//! Measures how well questions find what answers them.
//!
//! Takes memories with questions whose answers are known, asks them of a real store, and counts.
//! Promises: the figures are those of the searches that everybody runs, by the same code; the
//! measures are the field's (each is defined in [`Measures`]); a question that finds nothing
//! counts as one. How a store is made and asked is left to the caller.

mod bootstrap;
mod dataset;
mod locomo;
mod longmemeval;
mod measures;

pub use bootstrap::Difference;
pub use dataset::{Dataset, DatasetError, EvalQuestion};
pub use locomo::locomo;
pub use longmemeval::longmemeval;
pub use measures::{Measures, Tally};

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::Value;

/// A published set in the form of a [`Dataset`]: the corpus as lines of JSON, and the questions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    pub corpus: String,
    pub questions: Vec<EvalQuestion>,
    ids: HashSet<String>,
}

impl Loaded {
    fn add(&mut self, id: &str, memory: &Value) {
        self.ids.insert(id.to_owned());
        let _ = writeln!(self.corpus, "{memory}");
    }
}
