//! The commands as people and scripts use them: the real binary, one process a command.

mod answers;
mod completions;
#[cfg(unix)]
mod editing;
mod searching;
mod stores;
#[cfg(target_os = "linux")]
mod terminal;
mod upkeep;
mod writing;
