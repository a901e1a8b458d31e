//! What the whole store promises, tried on real folders.
//!
//! The modules share one program, so that it is linked once. [`support`] is the only one that
//! knows how an engine is opened, [`program`] how the real binary is run, [`session`] how a client
//! talks to it.

#![expect(clippy::print_stderr, reason = "tests say what they could not try")]

mod archive;
mod archive_keep;
mod cli;
mod cli_import;
mod contradictions;
mod copies;
mod core_dialect;
mod dialects;
#[cfg(unix)]
mod documentation;
mod drafts;
mod duplicates;
#[cfg(feature = "tract")]
mod embedding;
mod files_safety;
mod fixtures;
mod format_edits;
mod format_properties;
mod formats;
mod former_ids;
mod freshness;
mod git_network;
mod http;
mod identity;
mod imports;
mod index_files;
mod keyword_properties;
mod life;
#[cfg(unix)]
mod links;
mod maintenance;
mod mcp;
#[cfg(feature = "tract")]
mod meaning;
mod merging;
mod models;
mod moments;
mod namespaces;
mod plain_notes;
mod program;
mod rankings;
mod reset;
mod running;
mod scan;
mod secrets;
mod security;
mod session;
mod succession;
mod summaries;
mod support;
mod sync;
mod sync_services;
mod tiers;
mod times;
mod trust;
mod verify;
mod vocabulary;
mod with;
