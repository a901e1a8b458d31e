//! memdir: what Maildir is to mail, for the memories of AI agents.
//!
//! One memory is one markdown file; the folder is the database. `docs/ARCHITECTURE.md` says what
//! the parts are and which may use which; `docs/FORMAT.md` is the on-disk contract. The public
//! promise is that format and the tools, not this library's interface.

#![deny(unsafe_code)]

pub mod beneath;
pub mod cli;
pub mod clients;
pub mod clock;
pub mod columns;
pub mod config;
pub mod dialect;
pub mod embed;
pub mod engine;
pub mod eval;
pub mod fetch;
pub mod files;
pub mod format;
pub mod git;
pub mod http;
pub mod import;
pub mod index;
pub mod injection;
pub mod journal;
pub mod learning;
pub mod lifecycle;
pub mod literals;
pub mod llm;
pub mod mcp;
pub mod model;
#[cfg(feature = "team")]
pub mod openid;
pub mod page;
pub mod ranking;
#[cfg(unix)]
pub mod relay;
#[cfg(feature = "team")]
pub mod rows;
pub mod secrets;
pub mod service;
pub mod sessions;
pub mod simd;
pub mod sqlite;
pub mod talks;
pub mod tls;
pub mod trust;
pub mod vectors;
pub mod words;
