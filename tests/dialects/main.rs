//! The tool sets, each as its clients meet it: `memdir mcp --dialect NAME`, driven over its pipes; and
//! the protocol itself, in [`mcp`].

#![expect(clippy::print_stderr, reason = "tests say what they could not try")]

mod ai_memory;
mod ai_memory_many;
mod ai_memory_model;
mod ai_memory_titles;
#[cfg(unix)]
mod command_lines;
mod core_dialect;
mod core_tools;
mod former_ids;
mod i_am;
mod i_am_entries;
mod i_am_keys;
mod loci;
mod loci_gone;
mod loci_rows;
mod loci_search;
mod loci_tools;
mod mcp;
mod namespaces;
mod plain_metadata;
mod replies;
mod same_text;
mod several_stores;
#[path = "../support/mod.rs"]
mod support;
