//! Parsing of files to memories, and names of files.

use std::time::{Duration, SystemTime};

use crate::files::{Entry, FilesOf, file_of};
use crate::model::{Memory, Problem, Stem, plain_id};

/// Time in nanoseconds before a read within which a changed file may change again without a trace: file
/// systems keep times at a resolution of at most this.
pub(in crate::engine) const RACY_NANOS: i64 = 2_000_000_000;

/// Returns the stem of a file name below the memory directory.
pub(in crate::engine) fn stem_of(name: &str) -> Stem {
    let file = file_of(name);
    Stem::from_file_name(file.strip_suffix(".md").unwrap_or(file))
}

/// Returns the files that are the memory `stem`, found as `name`: an id is one memory in every folder, of other names
/// each folder may have one.
pub(in crate::engine) fn files_of<'a>(stem: &'a Stem, name: &'a str) -> FilesOf<'a> {
    match stem.is_canonical() {
        true => FilesOf::Stem(stem.as_str()),
        false => FilesOf::Name(name),
    }
}

/// Returns what tells the memory of the file `name` from others: its name, without folders if that is an id.
pub(in crate::engine) fn key_of(name: &str) -> &str {
    match stem_of(name).is_canonical() {
        true => file_of(name),
        false => name,
    }
}

/// Parses the memory in a file's bytes.
pub(in crate::engine) fn parse(entry: &Entry, bytes: &[u8]) -> Memory {
    let modified = chrono::DateTime::from_timestamp_nanos(entry.stamp.modified);
    crate::format::parse(&stem_of(&entry.name), bytes, modified)
}

/// Whether a file's text looks half-written: empty, or a frontmatter without
/// its end.
pub(in crate::engine) fn is_half_written(memory: &Memory) -> bool {
    let begins_a_fence = |content: &str| !content.is_empty() && "---\n".starts_with(content);
    memory.problems.iter().any(|problem| match problem {
        Problem::Empty | Problem::FrontmatterNotClosed => true,
        Problem::NoFrontmatter => begins_a_fence(&memory.content),
        _ => false,
    })
}

/// Returns the time since a moment of the file system's clock; `None` if it is in the future.
pub(in crate::engine) fn age(nanos: i64) -> Option<Duration> {
    let since = Duration::from_nanos(u64::try_from(nanos).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)?.elapsed().ok()
}

/// Whether a file that was changed at `changed` and is read after `now` may change again without a
/// trace.
pub(in crate::engine) fn is_racy(changed: i64, now: i64) -> bool {
    changed > now.saturating_sub(RACY_NANOS)
}

/// Returns the name below `files/` or `archive/`.
pub(in crate::engine) fn name_of(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, name)| name)
}

/// Folders of memories.
pub(in crate::engine) const FOLDERS: [&str; 2] = ["files", "archive"];

/// Whether `id`, as a link has it, names the memory `stem`.
pub(in crate::engine) fn is_called(stem: &Stem, id: &str) -> bool {
    ids_of(stem).contains(&linked_id(id))
}

/// Returns the ids of the memory `stem`, one of which [`linked_id`] returns for a link to it.
pub(in crate::engine) fn ids_of(stem: &Stem) -> [String; 2] {
    [plain_id(stem.as_str()), stem.short().to_owned()]
}

/// Returns `id`, as a link has it, without its folder, and as ids are compared.
pub(in crate::engine) fn linked_id(id: &str) -> String {
    let id = plain_id(id);
    match id.rsplit_once('/') {
        Some((_, last)) => last.to_owned(),
        None => id,
    }
}
