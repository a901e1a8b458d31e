//! Readers of the formats, one a file: records of a source → sessions.
//!
//! Promises: a reader takes what it knows and passes over what it does not; what is damaged is reported with
//! its place. Where sources lie and which format they have is the work of `source`.

mod block;
pub(in crate::talks) mod chatgpt;
pub(in crate::talks) mod claude_code;
pub(in crate::talks) mod claude_export;
pub(in crate::talks) mod claude_memory;
pub(in crate::talks) mod codex;
pub(in crate::talks) mod cursor;
pub(in crate::talks) mod gemini;
pub(in crate::talks) mod opencode;
pub(in crate::talks) mod opencode_database;
pub(in crate::talks) mod plain;
mod row;
pub(in crate::talks) mod slack;
