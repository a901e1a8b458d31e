//! The command that sets clients up.

mod shown;

pub mod setup;
