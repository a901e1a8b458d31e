//! Whether a text has faults that the texts it was made of had not.

use chrono::DateTime;

use crate::format::limits;
use crate::format::limits::MAX_CONTENT_BYTES;
use crate::format::read::parse;
use crate::model::{Memory, Problem, Stem};

/// A text together with the name it has.
pub(super) type Named<'a> = (&'a Stem, &'a [u8]);

/// Returns whether `new` has no problem and breaks no limit but those that one of `old` had or broke.
pub(super) fn has_no_new(new: Named<'_>, old: &[Named<'_>]) -> bool {
    let new = read(new);
    let broken: Vec<&fn(&Memory) -> bool> = LIMITS.iter().filter(|limit| !limit(&new)).collect();
    if new.problems.is_empty() && broken.is_empty() {
        return true;
    }
    let old: Vec<Memory> = old.iter().copied().map(read).collect();
    broken.iter().all(|limit| old.iter().any(|old| !limit(old)))
        && new.problems.iter().all(|problem| {
            let mut known = old.iter().flat_map(|old| &old.problems);
            known.any(|known| is_same(known, problem))
        })
}

/// Limits that reading lets pass and writing does not.
const LIMITS: [fn(&Memory) -> bool; 4] = [
    |memory| limits::check_topics(&memory.topics).is_ok(),
    |memory| limits::check_links(&memory.links).is_ok(),
    |memory| limits::check_metadata(&memory.metadata).is_ok(),
    |memory| memory.content.len() <= MAX_CONTENT_BYTES,
];

fn read((stem, bytes): Named<'_>) -> Memory {
    parse(stem, bytes, DateTime::UNIX_EPOCH)
}

fn is_same(one: &Problem, other: &Problem) -> bool {
    match (one, other) {
        // It may have another number of bytes now.
        (Problem::FrontmatterTooLarge { .. }, Problem::FrontmatterTooLarge { .. }) => true,
        _ => one == other,
    }
}
