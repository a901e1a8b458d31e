//! Other programs' memories and people's notes: taken in, used in place, and written out.

mod cli_import;
mod imports;
mod plain_notes;
#[path = "../support/mod.rs"]
mod support;
mod talks;
