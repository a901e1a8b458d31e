//! Locks for titles: one title in one namespace is written by one process at a time.

use std::collections::BTreeMap;

use crate::engine::error::EngineError;
use crate::engine::write::writer::Writer;
use crate::files::Lock;

/// Lock of a title that other processes cannot give to a memory meanwhile.
pub struct TitleLock {
    _lock: Lock,
}

/// As [`hold_title`], for all of `titles`.
pub(in crate::engine) fn hold_titles<'a>(
    writer: &Writer,
    titles: impl Iterator<Item = &'a str>,
) -> Result<Vec<Lock>, EngineError> {
    // In one order, so that there is no deadlock.
    let titles = titles.map(|title| title.trim().to_lowercase());
    let by_shard: BTreeMap<u128, String> = titles.map(|title| (shard_of(&title), title)).collect();
    let titles = by_shard.values();
    titles
        .map(|title| lock_shard(writer, "title", title, "the title"))
        .collect()
}

/// Keeps others from giving `title` to a memory with
/// [`DuplicatePolicy::SameTitle`](crate::lifecycle::DuplicatePolicy::SameTitle), until the result is dropped: for callers that check first whether it is free.
///
/// # Errors
///
/// Fails if another process holds it for long.
pub fn hold_title(writer: &Writer, title: &str) -> Result<TitleLock, EngineError> {
    let title = title.trim().to_lowercase();
    Ok(TitleLock {
        _lock: lock_shard(writer, "title", &title, "the title")?,
    })
}

/// Takes the lock of the shard of `name`.
pub(in crate::engine) fn lock_shard(
    writer: &Writer,
    kind: &str,
    name: &str,
    what: &'static str,
) -> Result<Lock, EngineError> {
    let shard = shard_of(name);
    let locks = writer.live.state().join("locks");
    Ok(Lock::take(
        &locks.join(format!("{kind}-{shard:x}.lock")),
        what,
    )?)
}

/// Returns the shard of a name among the locks of a kind.
pub(in crate::engine) fn shard_of(name: &str) -> u128 {
    crate::files::digest(name.as_bytes()) % 16
}
