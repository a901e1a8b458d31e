//! Memories that are shown to an agent before it asks: what a session begins with, and what fits a prompt.
//!
//! What is chosen, and in which order, is decided by `ranking::brief`; here are the candidates, and what may
//! not be shown unasked.

mod candidates;
pub(in crate::engine) mod prompt;
pub(in crate::engine) mod provenance;
pub(in crate::engine) mod session_start;
mod showable;
