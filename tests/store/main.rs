//! The folder of a store: the format of its files, what is read while others write, and what is kept
//! through damage.

#![expect(clippy::print_stderr, reason = "tests say what they could not try")]

mod archive;
mod archive_keep;
mod copies;
mod drafts;
mod files_safety;
mod fixtures;
mod format_edits;
mod format_properties;
mod formats;
mod freshness;
mod identity;
mod index_files;
#[cfg(unix)]
mod links;
mod merging;
mod reset;
mod running;
#[path = "../support/mod.rs"]
mod support;
mod sync_services;
mod touched;
mod verify;
