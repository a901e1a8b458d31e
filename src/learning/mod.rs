//! Talks → candidates for lasting memories, by rules over sentences; English.
//!
//! Promises: only what people said is a candidate, never what an assistant, a tool or a quotation says; the
//! same talk gives the same candidates; each names its lines. Precision and coverage on labelled talks are
//! kept by a test (`tests.rs`). What becomes of candidates is decided by `engine`.

mod candidates;
mod ending;
mod judge;
mod kind;
mod patterns;
mod quoted;
mod sentences;
#[cfg(test)]
mod tests;
mod turns;

pub use candidates::{Candidate, MOST_OF_A_TALK, candidates};
pub use ending::ending;
pub use kind::CandidateKind;
pub use quoted::lines_of_quote;
pub use turns::Company;
