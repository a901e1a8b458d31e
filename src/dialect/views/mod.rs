//! Replies as types, for the dialects, the HTTP interface and `--json` of the command line.
//!
//! A view borrows its data. Its JSON has the fields in the order of their declaration, and its JSON
//! schema is made from the same declaration ([`schema`]). A member with `skip_serializing_if` may be
//! missing; one that is `None` without it is null. A member with `schemars(skip)` is sent but not in the
//! schema, which takes tokens of every conversation of an agent.

mod history;
mod memory;
mod schema;
mod store;

pub use history::{ChangeView, DiffView, HistoryView, RestoredView, TextView, UndoneView};
pub use memory::MemoryView;
pub use schema::{list_schema, object_schema, reply_schema, schema_of};
pub use store::{FindingView, StatusView, TopicCount, TopicsView, VerificationView, findings};
