//! Removes earlier texts of memories from the archive if the history holds them as well.
//!
//! Each update of a memory leaves its earlier text in the archive. Promises: a text that no commit of
//! the store's own repository holds, byte for byte, stays; so do forgotten memories, and any text that
//! was archived for another reason. `restore ID@REV` brings back what is removed.

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::history::commits::replaced;
use crate::engine::history::past_commits;
use crate::engine::ops::duplicates::is_earlier_text;
use crate::engine::ops::forget;
use crate::engine::ops::forget::{Forgotten, Moved};
use crate::engine::ops::retrieval::search;
use crate::engine::parts::Engine;
use crate::files::{Place, Replaced};
use crate::git::Id;

/// Name of the operation in the journal and in commits.
const REMOVE: &str = "gc";

/// Reason in the journal.
const WHY: &str = "an earlier text that the history holds";

/// Number of memories that may always be removed at once. Beyond it, one in [`SHARE`] of all may:
/// other machines stop when a fifth is gone within a day.
const FEW: usize = 5;

const SHARE: usize = 10;

/// Removes the earlier texts that are in the archive for longer than the setting and that a commit
/// holds, the oldest first and at most a tenth of all memories; with `dry_run` only returns
/// them.
///
/// # Errors
///
/// Fails if the archive, a journal or the history cannot be read, or a file not be removed.
pub fn remove_replaced(engine: &Engine, dry_run: bool) -> Result<Vec<Moved>, EngineError> {
    let mut removed = Vec::new();
    let Some(keep) = engine.maintenance.keep_replaced else {
        return Ok(removed);
    };
    let Some(repository) = past_commits::own_repository(&engine.history)? else {
        return Ok(removed);
    };
    if !dry_run {
        engine.writer.check_writable()?;
    }
    let Some(head) = repository.head()? else {
        return Ok(removed);
    };
    let archived = forget::archived(engine)?;
    let all = search::counts(engine).files + archived.len();
    let most = FEW.max(all / SHARE);
    let before = engine.live.now() - keep;
    let reader = engine.live.store.reader(Place::Archive);
    let _together = engine.writer.collect_records();
    for name in outlived(archived, before) {
        if removed.len() == most {
            break;
        }
        let Ok(version) = reader.read(&name, u64::MAX) else {
            continue; // Gone since it was listed.
        };
        let path = Place::Archive.path_of(&name);
        let id = Id::of_text(&version.bytes);
        if !replaced::is_in_history(&engine.history, &repository, Some(head), &path, id)? {
            continue;
        }
        if !dry_run {
            match engine.writer.remove((Place::Archive, &name), &version)? {
                Replaced::Done => engine.writer.note_change_because(REMOVE, &name, Some(WHY)),
                // Another process wrote it meanwhile.
                Replaced::Stale | Replaced::KeptOther => continue,
            }
        }
        removed.push(Moved::of(name));
    }
    Ok(removed)
}

/// Returns the files of the earlier texts that were archived before a moment, the oldest first.
fn outlived(archived: Vec<Forgotten>, before: DateTime<Utc>) -> Vec<String> {
    let is_outlived = |one: &Forgotten| {
        let why = one.record.as_ref().and_then(|record| record.why.as_deref());
        one.settled <= before && why.is_some_and(is_earlier_text)
    };
    let mut outlived: Vec<Forgotten> = archived.into_iter().filter(is_outlived).collect();
    outlived.sort_by(|a, b| (a.settled, &a.name).cmp(&(b.settled, &b.name)));
    outlived.into_iter().map(|one| one.name).collect()
}
