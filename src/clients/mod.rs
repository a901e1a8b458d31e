//! Clients of the server for agents: which there are, where each keeps its configuration, and changes of
//! these files that can be taken back.
//!
//! Promises: a file keeps every byte that is not memdir's, with its mode and its link; what cannot be read
//! is not changed; a plan looks and changes nothing, and doing it a second time changes nothing. Files are
//! replaced whole, and only if they still are what the plan read. It knows nothing of stores: names of
//! tools and the command to run are given to it.

mod apply;
mod block;
mod client;
mod error;
mod hooks;
mod instructions;
mod json;
mod look;
mod part;
mod plan;
mod record;
mod server;
mod style;
mod table;
mod toml;

pub use apply::{ApplyError, apply};
pub use client::{Client, Folders, Scope};
pub use error::EditError;
pub use instructions::Words;
pub use look::{ServerEntry, has_hooks, server_entry};
pub use part::{Contents, Part};
pub use plan::{Change, LeftAlone, Plan, Request, Snippet, set_up, snippets, take_out};
pub use record::{Record, Records};
pub use server::{Launch, Program};
pub use table::{CLIENTS, named};
