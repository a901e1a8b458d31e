//! Memories of teams as rows of PostgreSQL, for any number of servers.
//!
//! A second implementation of the contracts of a place for memories (`files::WritableStorage`) and of journals
//! (`journal::Journal`): exact bytes of the files, every replaced text, and a feed of changes whose numbers have no
//! gaps. Guarantees: a write is one transaction, and acknowledged once it is committed; a reader sees all that was
//! committed before it asked; no statement sees two workspaces ([`Database`] and the row-level security of the
//! schema each see to that). The search stays with the index of the engine, which is derived from the rows as it
//! is from files. Serving, and how a
//! request shows its token, are left to others.

pub mod access;
mod calls;
mod catalog;
mod check;
mod copies;
mod database;
mod encryption;
mod error;
mod feed;
mod heads;
mod history;
mod journal;
mod known;
mod notices;
mod presence;
mod reader;
mod schema;
mod sequence;
mod server;
mod storage;
mod transfer;
mod workspace;
mod writing;

pub use catalog::Workspace;
pub use check::{Checked, check};
pub use database::{Database, is_workspace_name};
pub use error::RowsError;
pub use journal::journal;
pub use presence::Presence;
pub use transfer::{Copied, CopyError, export, import};
pub use workspace::Rows;
