//! Bytes ↔ [`Memory`]: file names, the frontmatter block, limits. `docs/FORMAT.md` is the contract.
//!
//! Promises: reading never fails and never hides a file, it returns what could be read together
//! with the file's problems; writing yields bytes that read back as the same memory; editing
//! touches the lines of the changed keys and no other byte; merging loses no line that
//! either side wrote. YAML is handed to a parser only after [`danger`] let it pass. Leaves to
//! others: which files exist, and putting them in place.
//!
//! [`Memory`]: crate::model::Memory

mod comment;
mod danger;
mod edit;
mod file_name;
mod layout;
mod limits;
mod lists;
mod mapping;
mod markers;
mod merge;
mod read;
mod relink;
mod render;
mod scalar;
mod settings;
mod tombstone;
mod value;

pub use crate::model::MAX_INDEXED_BYTES;
pub use edit::{
    adopted, allow_secrets, allowed_secrets, called, content_start, edit, with_frontmatter,
};
pub use file_name::{FileNameKind, classify, is_memory_name};
pub use limits::MAX_CONTENT_BYTES;
pub use markers::{Sides, conflict_sides, first_conflict_marker, has_conflict_markers};
pub use merge::{MergeSide, Merged, aside_as, is_aside_of, merge, unite_journals};
pub use read::parse;
pub use relink::{NoteLink, path_from, relinked};
pub use render::render;
pub use settings::{are_settings, merge_settings};
pub use tombstone::Tombstone;
pub use value::{from_json, from_yaml_block};

/// Reason why a memory cannot be written as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("{field} holds the control character U+{code:04X}")]
    ControlCharacter { field: String, code: u32 },
    #[error("{field} is empty")]
    Empty { field: &'static str },
    #[error("{field} has {bytes} bytes, more than {limit}")]
    TooLong {
        field: String,
        bytes: usize,
        limit: usize,
    },
    #[error("there are {count} {field}, more than {limit}")]
    TooMany {
        field: &'static str,
        count: usize,
        limit: usize,
    },
    #[error("{field} is {value}, which is not between {low} and {high}")]
    OutOfRange {
        field: &'static str,
        value: String,
        low: u8,
        high: u8,
    },
    #[error("metadata key `{key}` stands twice")]
    DuplicateMetadata { key: String },
    #[error("metadata is nested more than {limit} deep")]
    TooDeep { limit: usize },
    #[error("the frontmatter would have {bytes} bytes, more than {limit}")]
    FrontmatterTooLarge { bytes: usize, limit: usize },
    #[error("the file has no frontmatter block to change")]
    NoFrontmatter,
    #[error("its frontmatter has no closing `---` line; add one after its last key")]
    FrontmatterNotClosed,
    #[error("the file is not UTF-8; save it as UTF-8 first")]
    NotUtf8,
}
