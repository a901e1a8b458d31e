//! The commands as people and scripts use them: the real binary, one process a command.

#![expect(clippy::print_stderr, reason = "tests say what they could not try")]

mod answers;
mod client_files;
mod clients;
mod completions;
#[cfg(unix)]
mod documentation;
#[cfg(unix)]
mod editing;
mod searching;
mod sessions;
mod shell;
mod stores;
#[path = "../support/mod.rs"]
mod support;
#[cfg(target_os = "linux")]
mod terminal;
mod upkeep;
mod version;
mod writing;
