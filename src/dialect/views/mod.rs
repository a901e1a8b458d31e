//! Replies as types: what the dialects, the HTTP interface and `--json` of the command line show.
//!
//! A view borrows what it shows. Its JSON has the fields in the order in which they are declared,
//! and its JSON schema follows from the same declaration ([`schema`]). Where a member may be
//! missing, the type says so with `skip_serializing_if`; a member that is `None` without it is
//! null. A member that is `schemars(skip)` is sent and not announced: each announced member costs
//! every conversation of an agent.

mod history;
mod memory;
mod schema;
mod store;

pub use history::{ChangeView, DiffView, HistoryView, TextView};
pub use memory::MemoryView;
pub use schema::{list_schema, object_schema, reply_schema, schema_of};
pub use store::{FindingView, StatusView, TopicCount, TopicsView, VerificationView, findings};
