//! Conversations of people and agents, in transcripts and exports → one stream of sessions.
//!
//! Promises: sources are only read, one record at a time, so that memory does not grow with a source; a
//! damaged record is named and the others are read; credentials, `<private>…</private>`, thinking and the
//! results of tools are in no text; the same source gives the same sessions. How sessions are cut into
//! memories is decided here (`part`), without a store; keeping them is the work of `engine`.

mod archive;
mod clean;
mod discover;
mod format;
mod formats;
mod found;
mod loose;
mod part;
mod records;
mod session;
mod source;
mod turns;

pub use clean::{MAX_CODE_BLOCK_BYTES, MAX_MESSAGE_BYTES};
pub use discover::{Places, discover};
pub use format::Format;
pub use found::{Found, Source};
pub use part::{Grown, MAX_PART_BYTES, Part, cut, fingerprint, handle};
pub use records::MAX_STRING_BYTES;
pub use session::{Message, Session};
pub use source::{Sources, TalkError, read, sources_at};
pub use turns::{Turn, turns};
