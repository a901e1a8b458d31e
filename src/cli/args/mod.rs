//! The command line's words. Help texts are the reference documentation of the commands.

pub mod archive;
pub mod change;
mod commands;
pub mod config;
pub mod eval;
pub mod history;
pub mod life;
pub mod maintenance;
pub mod mcp;
pub mod model;
mod overview;
pub mod programs;
pub mod remember;
pub mod search;
pub mod serve;
pub mod sessions;
pub mod setup;
pub mod shared;
pub mod sharing;

pub use commands::{Args, Command};
pub use overview::{command, overview};

#[cfg(test)]
mod shown;
