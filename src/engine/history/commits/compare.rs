//! Compares the files with the newest commit.

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::commits::message::{ChangeKind, MemoryChange, Reason};
use crate::engine::live::reading;
use crate::engine::options::SETTINGS;
use crate::engine::texts::{key_of, name_of};
use crate::files::{
    Entry, FilesError, JOURNALS, Listing, Place, Version, file_of, is_journal, tombstone_of,
};
use crate::format::is_memory_name;
use crate::git;
use crate::git::{Id, Repository, Stamped, Trees};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Returns the changes of memories that the differences amount to: a file that is gone from one place and
/// new in another was moved.
pub(in crate::engine) fn memory_changes(differences: &[Difference]) -> Vec<MemoryChange> {
    let is_archived = |path: &str| path.starts_with("archive/");
    let is_other = |path: &str| Place::of(path).is_none();
    if are_journals(differences) {
        let (kind, path) = (ChangeKind::Use, JOURNALS.to_owned());
        return vec![MemoryChange { kind, path }];
    }
    let moves = moves(differences);
    let mut changes = Vec::new();
    for (at, difference) in differences.iter().enumerate() {
        let path = &difference.path;
        let kind = match (difference.before, difference.after) {
            _ if is_journal(path) => continue,
            (None, Some(_)) if is_other(path) => ChangeKind::AddOther,
            _ if is_other(path) => ChangeKind::ChangeOther,
            (_, None) => continue,
            (Some(_), Some(_)) => ChangeKind::Change,
            (None, Some(_)) => match moves.get(&at) {
                None => ChangeKind::Add,
                Some(from) => match (is_archived(&differences[*from].path), is_archived(path)) {
                    (false, true) => ChangeKind::Forget,
                    (true, false) => ChangeKind::Restore,
                    _ => ChangeKind::Move,
                },
            },
        };
        changes.push(MemoryChange {
            kind,
            path: path.clone(),
        });
    }
    let moved: HashSet<usize> = moves.into_values().collect();
    let deleted = differences.iter().enumerate().filter(|(at, difference)| {
        let is_memory = !is_journal(&difference.path) && !is_other(&difference.path);
        is_memory && difference.after.is_none() && !moved.contains(at)
    });
    changes.extend(deleted.map(|(_, difference)| MemoryChange {
        kind: ChangeKind::Delete,
        path: difference.path.clone(),
    }));
    changes
}

/// Returns which files are new at one path because they are gone from another: places in `differences`, by
/// those of the new ones; see [`pair_moves`].
pub(in crate::engine) fn moves(differences: &[Difference]) -> HashMap<usize, usize> {
    let all = differences.iter().enumerate();
    let memories = all.filter(|(_, one)| Place::of(&one.path).is_some());
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    for (at, one) in memories {
        match (one.before, one.after) {
            (Some(text), None) => gone.push((at, (one.path.as_str(), text))),
            (None, Some(text)) => new.push((at, (one.path.as_str(), text))),
            _ => {}
        }
    }
    let (gone_at, gone): (Vec<usize>, Vec<_>) = gone.into_iter().unzip();
    let (new_at, new): (Vec<usize>, Vec<_>) = new.into_iter().unzip();
    let from = pair_moves(&gone, &new).into_iter();
    let pairs = new_at.into_iter().zip(from);
    pairs
        .filter_map(|(at, from)| Some((at, gone_at[from?])))
        .collect()
}

/// Returns for each of `new` the one of `gone`, both as paths with texts, that was moved there: one of the same
/// id; of a name that is no id, and that each folder may have, one of the same folders, or the only one of that
/// name and text. No two are moved from one.
pub(in crate::engine) fn pair_moves(gone: &[(&str, Id)], new: &[(&str, Id)]) -> Vec<Option<usize>> {
    let mut from = vec![None; new.len()];
    let mut by_key: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, (path, _)) in gone.iter().enumerate().rev() {
        by_key.entry(key_of(name_of(path))).or_default().push(at);
    }
    for (from, (path, _)) in from.iter_mut().zip(new) {
        let same = by_key.get_mut(key_of(name_of(path)));
        *from = same.and_then(Vec::pop);
    }
    let mut gone_by_text: HashMap<(&str, Id), Vec<usize>> = HashMap::new();
    for at in by_key.into_values().flatten() {
        let (path, text) = gone[at];
        let same = gone_by_text.entry((file_of(path), text));
        same.or_default().push(at);
    }
    let mut new_by_text: HashMap<(&str, Id), Vec<usize>> = HashMap::new();
    for (at, (path, text)) in new.iter().enumerate() {
        if from[at].is_none() {
            let same = new_by_text.entry((file_of(path), *text));
            same.or_default().push(at);
        }
    }
    for (text, new) in new_by_text {
        if let ([new], Some([gone])) = (&new[..], gone_by_text.get(&text).map(Vec::as_slice)) {
            from[*new] = Some(*gone);
        }
    }
    from
}

/// Reflog entry of a commit made on this machine.
pub(in crate::engine) const COMMITTED: &str = "memdir: commit";

/// A file that differs from the newest commit.
pub(in crate::engine) struct Difference {
    /// Path below the store's folder.
    pub path: String,
    /// Text in the newest commit; `None` if it has no such file.
    pub before: Option<Id>,
    /// Text on disk; `None` if the file is gone.
    pub after: Option<Id>,
    /// The file as it was read, if it changes often: this version is committed.
    pub read: Option<Version>,
}

impl Difference {
    /// Returns the difference of a file that was not read.
    pub fn of(path: String, before: Option<Id>, after: Option<Id>) -> Difference {
        Difference {
            path,
            before,
            after,
            read: None,
        }
    }
}

/// Trigger of a commit.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) enum Why<'a> {
    /// A file changed.
    Changed,
    /// A caller asked for it.
    Asked,
    /// An operation with its own subject and trailers.
    For(&'a Reason),
}

/// Whether the program commits a file of this path.
pub(in crate::engine) fn is_ours(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    parts.next().is_some_and(is_memory_name) && parts.all(|folder| !folder.starts_with('.'))
}

/// Returns the stamp of a file for git's index.
pub(in crate::engine) fn stamped(path: &str, entry: &Entry) -> Stamped {
    Stamped {
        path: path.to_owned(),
        size: entry.stamp.size,
        modified: entry.stamp.modified,
        inode: entry.stamp.inode,
        changed: entry.changed,
    }
}

/// Maximum time in nanoseconds between the program's change of a file and of its folder.
pub(in crate::engine) const OWN_CHANGE: i64 = 100_000_000;

/// Changes that were made together.
pub(in crate::engine) struct ChangeGroup {
    /// Time of the last of them in nanoseconds since 1970.
    pub(in crate::engine) at: i64,
    /// Whether a program recorded them.
    pub(in crate::engine) is_told: bool,
    /// Whether one of them is a deletion.
    pub(in crate::engine) is_gone: bool,
    /// Changed files.
    pub(in crate::engine) files: Vec<MemoryChange>,
}

/// Compares single files with the newest commit.
pub(in crate::engine) fn compare(
    history: &History,
    trees: &mut Trees<'_>,
    names: &BTreeSet<String>,
) -> Result<Vec<Difference>, EngineError> {
    let mut differences = Vec::new();
    for name in names.iter().filter(|name| !history.live.is_local(name)) {
        for place in [Place::Files, Place::Archive] {
            let path = place.path_of(name);
            let before = trees.file(&path)?;
            let after = match history.live.store.look_at(place, name) {
                None => None,
                Some(Err(_)) => continue, // No file of ours; what was committed stays.
                Some(Ok(_)) => match history.live.store.reader(place).read(name, u64::MAX) {
                    Ok(version) => Some(Id::of_text(&version.bytes)),
                    Err(FilesError::Missing { .. }) => None,
                    Err(error) => return Err(error.into()),
                },
            };
            if before != after {
                differences.push(Difference::of(path, before, after));
            }
        }
    }
    Ok(differences)
}

/// Compares every file, reading only those that git's index does not cover.
pub(in crate::engine) fn compare_all(
    history: &History,
    repository: &Repository,
    trees: &mut Trees<'_>,
) -> Result<Vec<Difference>, EngineError> {
    let known = git::known_files(repository);
    let mut differences = Vec::new();
    for (place, folder) in [(Place::Files, "files"), (Place::Archive, "archive")] {
        let mut committed: HashMap<String, Id> = trees.files_below(folder)?.into_iter().collect();
        let is_local = |name: &str| history.live.is_local(name);
        let mut listing = history.live.store.list(place)?;
        // A leftover of a killed process may be the only file that holds a text.
        if !history
            .live
            .store
            .remove_leftovers(place, &listing.temps)
            .is_empty()
        {
            listing = history.live.store.list(place)?;
        }
        listing.entries.retain(|entry| !is_local(&entry.name));
        let reader = history.live.store.reader(place);
        let ids: Vec<Option<Id>> = listing
            .entries
            .par_iter()
            .map(|entry| {
                let path = place.path_of(&entry.name);
                known.id_of(&stamped(&path, entry)).or_else(|| {
                    let version = reader.read(&entry.name, u64::MAX).ok()?;
                    Some(Id::of_text(&version.bytes))
                })
            })
            .collect();
        for (entry, after) in listing.entries.iter().zip(ids) {
            let path = place.path_of(&entry.name);
            let before = committed.remove(&path);
            // A file that cannot be read now is compared another time.
            if let Some(after) = after.filter(|after| before != Some(*after)) {
                differences.push(Difference::of(path, before, Some(after)));
            }
        }
        let is_known =
            |path: &str| Place::of(path).is_none_or(|(_, name)| !listing.is_unknown(name));
        let mut gone: Vec<(String, Id)> = committed
            .into_iter()
            .filter(|(path, _)| is_ours(path) && is_known(path))
            .filter(|(path, _)| Place::of(path).is_none_or(|(_, name)| !is_local(name)))
            .collect();
        gone.sort_unstable();
        let gone = gone.into_iter();
        differences.extend(gone.map(|(path, before)| Difference::of(path, Some(before), None)));
    }
    Ok(differences)
}

/// Removes from `differences` files that are only missing because this machine cannot have them: they
/// are not deleted, and other machines have them.
pub(in crate::engine) fn pass_over_left_out(
    history: &History,
    repository: &Repository,
    differences: &mut Vec<Difference>,
) -> Result<(), EngineError> {
    let mut failed = None;
    differences.retain(|difference| match (difference.before, difference.after) {
        (Some(before), None) => match repository.left_out(&difference.path, before) {
            Ok(why) => why.is_none() && !is_case_twin(history, &difference.path),
            Err(error) => {
                failed = Some(error);
                true
            }
        },
        _ => true,
    });
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Whether the system finds a file of another case at `path` that no listing contains.
pub(in crate::engine) fn is_case_twin(history: &History, path: &str) -> bool {
    Place::of(path).is_some_and(|(place, name)| {
        let is_found = matches!(history.live.store.look_at(place, name), Some(Ok(_)));
        let is_listed = |listing: Listing| listing.entries.iter().any(|one| one.name == name);
        is_found
            && history
                .live
                .store
                .list(place)
                .is_ok_and(|listing| !is_listed(listing))
    })
}

/// Compares the settings and tombstones.
pub(in crate::engine) fn compare_settings(
    history: &History,
    repository: &Repository,
    trees: &mut Trees<'_>,
    differences: &mut Vec<Difference>,
) -> Result<(), EngineError> {
    let purged = history.live.store.purged()?;
    // A name that was held back reached no other machine.
    let tombstones = purged
        .iter()
        .map(|stem| tombstone_of(stem))
        .filter(|path| repository.path_rejection(path, 0).is_none());
    for path in std::iter::once(SETTINGS.to_owned()).chain(tombstones) {
        let before = trees.file(&path)?;
        let after = reading::bytes_at(&history.live, &path)?.map(|bytes| Id::of_text(&bytes));
        if before != after && after.is_some() {
            differences.push(Difference::of(path, before, after));
        }
    }
    Ok(())
}

/// Whether only journals differ.
pub(in crate::engine) fn are_journals(differences: &[Difference]) -> bool {
    differences
        .iter()
        .all(|difference| is_journal(&difference.path))
}
