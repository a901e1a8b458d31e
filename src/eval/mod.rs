//! How well questions find what answers them.
//!
//! Takes memories with questions whose answers are known, asks them of a real store, and counts.
//! Promises: the figures are those of the searches that everybody runs, by the same code; the
//! measures are the field's (each is defined in [`Measures`]); a question that finds nothing
//! counts as one. How a store is made and asked is left to the caller.

mod dataset;
mod measures;

pub use dataset::Dataset;
pub use dataset::DatasetError;
pub use dataset::Question;
pub use measures::Measures;
pub use measures::Tally;
