//! Moves all memories of a store into a backup, and brings a backup back.
//!
//! Promises: everything is in the backup, complete and synced, before the first file is removed; a file
//! that was changed by then stays. Nothing is overwritten when a backup comes back. The deletions are
//! not sent to the remote before somebody allows it (`deletions`). Settings, journals and tombstones
//! stay in the store; the backup has copies of them.
//!
//! The whole store is copied into `backup/….unfinished`, synced and renamed; then each unchanged
//! file is removed; one commit. The commit before a reset is first stored in
//! the repository's settings: while that entry exists, deletions are not sent.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::engine::error::EngineError;
use crate::engine::history::commits::commit;
use crate::engine::history::commits::compare::Why;
use crate::engine::history::commits::deletions::RESET;
use crate::engine::history::commits::message::Reason;
use crate::engine::history::consent::Remote;
use crate::engine::history::{git_work, past_commits, turn};
use crate::engine::live::pending::Pending;
use crate::engine::live::{current_snapshot, indexing, reading};
use crate::engine::options::SETTINGS;
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::engine::write::journals::put_journal;
use crate::engine::write::tombstones;
use crate::files::{
    Backup, FilesError, Lock, Place, Replaced, Storage, Store, Version, tombstone_of,
};
use crate::format::unite_journals;
use crate::journal::RESTORE;
use crate::model::Stem;

/// Result of a reset or of its dry run.
#[derive(Debug, Default)]
pub struct Reset {
    /// Number of live memories that were removed.
    pub live: usize,
    /// Number of forgotten memories that were removed.
    pub forgotten: usize,
    /// Folder of the backup; `None` if nothing was done.
    pub backup: Option<PathBuf>,
    /// Paths of files that stay, with the reasons.
    pub left: Vec<(String, String)>,
    /// Start of the commit's id.
    pub commit: Option<String>,
    /// Whether other machines have the memories by way of a remote.
    pub has_remote: bool,
}

/// Result of restoring a backup, or of its dry run.
#[derive(Debug, Default)]
pub struct BroughtBack {
    /// Paths of restored files below the store's folder.
    pub brought: Vec<String>,
    /// Number of files that were there already, with the same text.
    pub known: usize,
    /// Paths of files that stay in the backup, with the reasons.
    pub left: Vec<(String, String)>,
}

/// Moves all memories, live and forgotten, into a new backup in the store's folder. With
/// `dry_run` only counts them.
///
/// # Errors
///
/// Fails if a memory cannot be read or the backup cannot be written; then all files are unchanged.
/// Once the backup is complete, an error leaves each memory in the store, in the backup, or in both,
/// and names the backup.
pub fn reset(engine: &Engine, dry_run: bool) -> Result<Reset, EngineError> {
    let mut reset = Reset::default();
    if dry_run {
        for (place, _) in all_names(engine, &mut reset)? {
            reset.count(place);
        }
        reset.has_remote = has_remote(engine)?;
        return Ok(reset);
    }
    engine.writer.check_writable()?;
    let _alone = Lock::take(&engine.live.state().join("reset.lock"), "another reset")?;
    // A leftover of an interrupted change may be the only file that holds a text.
    for place in [Place::Files, Place::Archive] {
        let temps = engine.live.store.list(place)?.temps;
        engine.live.store.remove_leftovers(place, &temps);
    }
    let names = all_names(engine, &mut reset)?;
    if names.is_empty() {
        return Ok(reset);
    }
    let (seen, backup) = back_up(engine, &names, &mut reset)?;
    let place = backup.display().to_string();
    reset.backup = Some(backup);
    take_all_away(engine, seen, &mut reset).map_err(|error| {
        EngineError::Invalid(format!("{error}; all memories are in the backup {place}"))
    })?;
    Ok(reset)
}

/// Removes the files that the backup holds, and commits that.
fn take_all_away(
    engine: &Engine,
    seen: Vec<(Place, Version)>,
    reset: &mut Reset,
) -> Result<(), EngineError> {
    let turn = match &engine.history.git {
        None => None,
        Some(git) => {
            let lock = git_work::lock_repository(&engine.history)?;
            // Pending changes belong to other commits.
            commit::commit_locked(&engine.history, &Pending::Everything, &git.user, Why::Asked)?;
            mark_reset(engine)?;
            Some((lock, git.user.as_str()))
        }
    };
    let gone = take_away(engine, seen, reset);
    if let Some((_lock, user)) = turn {
        let subject = match reset.live + reset.forgotten {
            1 => "Reset the store: take 1 memory away".to_owned(),
            count => format!("Reset the store: take {count} memories away"),
        };
        let reason = Reason {
            subject,
            trailers: Vec::new(),
        };
        reset.commit = turn::commit_as(&engine.history, gone, user, &reason)?;
        reset.has_remote = has_remote(engine)?;
    }
    current_snapshot::snapshot(&engine.live)?;
    indexing::settle(&engine.live, true)?;
    Ok(())
}

/// Returns the names of all memories. Entries with such a name that cannot be read are reported.
fn all_names(engine: &Engine, reset: &mut Reset) -> Result<Vec<(Place, String)>, EngineError> {
    let mut names = Vec::new();
    for place in [Place::Files, Place::Archive] {
        let listing = engine.live.store.list(place)?;
        names.extend(listing.entries.into_iter().map(|entry| (place, entry.name)));
        let skipped = listing.skipped.into_iter();
        reset
            .left
            .extend(skipped.map(|one| (place.path_of(&one.name), one.reason)));
    }
    Ok(names)
}

/// Makes the backup; returns the version of each file that was copied, without its text.
fn back_up(
    engine: &Engine,
    names: &[(Place, String)],
    reset: &mut Reset,
) -> Result<(Vec<(Place, Version)>, PathBuf), EngineError> {
    let stamp = engine.live.clock.now().format("%Y%m%dT%H%M%SZ").to_string();
    let mut backup = Backup::begin(engine.live.need_directory("a backup")?, &stamp)?;
    let mut all_seen = Vec::new();
    for (place, name) in names {
        match engine.live.store.reader(*place).read(name, u64::MAX) {
            Ok(mut seen) => {
                let bytes = std::mem::take(&mut seen.bytes);
                backup.keep(&place.path_of(name), &bytes)?;
                all_seen.push((*place, seen));
            }
            Err(FilesError::Missing { .. }) => {} // Gone meanwhile.
            Err(FilesError::NotRegular { .. }) => reset
                .left
                .push((place.path_of(name), "it is no regular file".to_owned())),
            Err(error) => return Err(error.into()),
        }
    }
    let tombstones = engine.live.store.purged()?;
    let journals = engine
        .live
        .need_directory("a backup")?
        .journals()?
        .unwrap_or_default();
    let beside = std::iter::once(SETTINGS.to_owned())
        .chain(tombstones.iter().map(|stem| tombstone_of(stem)))
        .chain(journals.sizes.into_keys());
    for path in beside {
        if let Some(bytes) = reading::bytes_at(&engine.live, &path)? {
            backup.keep(&path, &bytes)?;
        }
    }
    Ok((all_seen, backup.complete()?))
}

/// Removes the files that the backup holds; returns the names of the removed ones. A file that cannot
/// be removed stays, and does not stop the others.
fn take_away(engine: &Engine, seen: Vec<(Place, Version)>, reset: &mut Reset) -> BTreeSet<String> {
    let _together = engine.writer.collect_records();
    let mut gone = BTreeSet::new();
    for (place, seen) in seen {
        let name = &seen.entry.name;
        match engine.writer.remove((place, name), &seen) {
            Ok(Replaced::Done) => {}
            Ok(Replaced::KeptOther) => {
                let reason = "somebody wrote it in the same moment: kept as a conflict copy";
                reset.left.push((place.path_of(name), reason.to_owned()));
            }
            Ok(Replaced::Stale) => {
                let reason = "it was changed meanwhile, and stays";
                reset.left.push((place.path_of(name), reason.to_owned()));
                continue;
            }
            Err(FilesError::Missing { .. }) => continue,
            Err(error) => {
                reset.left.push((place.path_of(name), error.to_string()));
                continue;
            }
        }
        engine.writer.note_change("reset", name);
        reset.count(place);
        gone.insert(name.clone());
    }
    gone
}

/// Stores the commit before the reset, before there is another one: the deletions are not sent
/// before somebody allows it.
fn mark_reset(engine: &Engine) -> Result<(), EngineError> {
    if let Some(repository) = past_commits::own_repository(&engine.history)?
        && let Some(head) = repository.head()?
    {
        repository.set(RESET, &head.to_string())?;
    }
    Ok(())
}

fn has_remote(engine: &Engine) -> Result<bool, EngineError> {
    match past_commits::own_repository(&engine.history)? {
        Some(repository) => Ok(Remote::of(&repository)?.is_some()),
        None => Ok(false),
    }
}

/// Restores a backup: the one of this name among the store's, or the one in this folder. No file is
/// overwritten; journals are united. Memories that were purged meanwhile are not
/// restored.
///
/// # Errors
///
/// Fails if there is no such backup, or if a file cannot be written. Then it can be done again.
pub fn bring_back(
    engine: &Engine,
    backup: &str,
    dry_run: bool,
) -> Result<BroughtBack, EngineError> {
    let folder = backup_folder(engine, backup)?;
    if !dry_run {
        engine.writer.check_writable()?;
    }
    // Only read; it has no locks and no derived files of its own.
    let backup = Store::at(&folder);
    let mut back = BroughtBack::default();
    let here = names_by_stem(engine)?;
    let together = engine.writer.collect_records();
    let mut names = BTreeSet::new();
    for place in [Place::Files, Place::Archive] {
        let listing = backup.list(place)?;
        for skipped in listing.skipped {
            back.left
                .push((place.path_of(&skipped.name), skipped.reason));
        }
        for entry in listing.entries {
            let path = place.path_of(&entry.name);
            let bytes = match backup.reader(place).read(&entry.name, u64::MAX) {
                Ok(version) => version.bytes,
                Err(error) => {
                    back.left.push((path, error.to_string()));
                    continue;
                }
            };
            match in_the_way(engine, &here, &backup, (place, &entry.name), &bytes)? {
                Way::Known => back.known += 1,
                Way::Blocked(reason) => back.left.push((path, reason)),
                Way::Free => {
                    if !dry_run && !bring_one(engine, place, &entry.name, &bytes)? {
                        let reason = "another file has the name now";
                        back.left.push((path, reason.to_owned()));
                        continue;
                    }
                    names.insert(entry.name);
                    back.brought.push(path);
                }
            }
        }
    }
    bring_settings(engine, &backup, dry_run, &mut back)?;
    bring_journals(engine, &backup, dry_run, &mut back)?;
    drop(together);
    if !dry_run && !names.is_empty() {
        if let Some(git) = &engine.history.git {
            let _lock = git_work::lock_repository(&engine.history)?;
            let reason = Reason {
                subject: match names.len() {
                    1 => "Bring 1 memory back".to_owned(),
                    count => format!("Bring {count} memories back"),
                },
                trailers: Vec::new(),
            };
            turn::commit_as(&engine.history, names, &git.user, &reason)?;
        }
        current_snapshot::snapshot(&engine.live)?;
        indexing::settle(&engine.live, true)?;
    }
    Ok(back)
}

/// Returns the names of the backups that hold one of the memories: a purge does not change these.
///
/// # Errors
///
/// Fails if there are backups that cannot be listed.
pub fn backups_holding(engine: &Engine, stems: &[Stem]) -> Result<Vec<String>, EngineError> {
    let mut holding = Vec::new();
    let Some(directory) = engine.live.directory() else {
        return Ok(holding);
    };
    for name in Backup::names(directory)? {
        let folder = engine.live.root().join(crate::files::BACKUPS).join(&name);
        let backup = Store::at(&folder);
        for place in [Place::Files, Place::Archive] {
            let entries = backup.list(place)?.entries;
            if entries
                .iter()
                .any(|entry| stems.contains(&stem_of(&entry.name)))
            {
                holding.push(name.clone());
                break;
            }
        }
    }
    Ok(holding)
}

fn backup_folder(engine: &Engine, backup: &str) -> Result<PathBuf, EngineError> {
    let known = Backup::names(engine.live.need_directory("a backup")?)?;
    if known.iter().any(|name| name == backup) {
        return Ok(engine.live.root().join(crate::files::BACKUPS).join(backup));
    }
    let folder = Path::new(backup);
    let is_here = |one: &Path| one.canonicalize().ok() == engine.live.root().canonicalize().ok();
    let is_one = folder.join("files").is_dir() || folder.join("archive").is_dir();
    if is_one && !is_here(folder) {
        return Ok(folder.to_owned());
    }
    let known = match known.as_slice() {
        [] => "this store has none".to_owned(),
        known => format!("this store has {}", known.join(", ")),
    };
    Err(EngineError::Invalid(format!(
        "`{backup}` is no backup: {known}"
    )))
}

fn names_by_stem(engine: &Engine) -> Result<Names, EngineError> {
    let mut names = Names::new();
    for place in [Place::Files, Place::Archive] {
        for entry in engine.live.store.list(place)?.entries {
            let stem = stem_of(&entry.name);
            names.entry(stem).or_default().push((place, entry.name));
        }
    }
    Ok(names)
}

fn in_the_way(
    engine: &Engine,
    here: &Names,
    backup: &Store,
    (place, name): (Place, &str),
    bytes: &[u8],
) -> Result<Way, EngineError> {
    let stem = stem_of(name);
    if tombstones::is_purged(&engine.writer, &stem, bytes)? {
        return Ok(Way::Blocked("it was purged since".to_owned()));
    }
    let read = |store: &dyn Storage, (at, name): (Place, &str)| {
        let read = store.reader(at).read(name, u64::MAX).ok();
        read.map(|version| version.bytes)
    };
    let mut found = Way::Free;
    for (at, other) in here.get(&stem).into_iter().flatten() {
        let lying = (*at, other.as_str());
        let text = read(engine.live.store.as_ref(), lying);
        if lying == (place, name) {
            return Ok(match text.as_deref() == Some(bytes) {
                true => Way::Known,
                false => Way::Blocked(format!("{} has another text", at.path_of(other))),
            });
        }
        // An id is one memory in every folder; under other names each folder may have one. Where
        // the backup has several files of it, one that was restored does not block another.
        if !stem.is_canonical() || text.is_some() && text == read(backup, lying) {
            continue;
        }
        found = match (text.as_deref() == Some(bytes), found) {
            (true, _) | (false, Way::Known) => Way::Known,
            (false, _) => Way::Blocked(format!("{} has another text", at.path_of(other))),
        };
    }
    Ok(found)
}

/// Restores one file; false if its name was taken meanwhile.
fn bring_one(engine: &Engine, place: Place, name: &str, bytes: &[u8]) -> Result<bool, EngineError> {
    match engine.writer.add((place, name), bytes) {
        Err(FilesError::Taken { .. }) => return Ok(false),
        other => other?,
    }
    match place {
        // It is live again, so its lifetime starts anew.
        Place::Files => engine.writer.note_change(RESTORE, name),
        Place::Archive => engine.writer.leave_note("reset", name),
    }
    Ok(true)
}

fn bring_settings(
    engine: &Engine,
    backup: &Store,
    dry_run: bool,
    back: &mut BroughtBack,
) -> Result<(), EngineError> {
    let kept = match backup.beside().read(SETTINGS, u64::MAX) {
        Err(FilesError::Missing { .. } | FilesError::NotRegular { .. }) => return Ok(()),
        other => other?.bytes,
    };
    match reading::bytes_at(&engine.live, SETTINGS)? {
        Some(bytes) if bytes == kept => back.known += 1,
        Some(_) => back.left.push((
            SETTINGS.to_owned(),
            "the store's settings are others now".to_owned(),
        )),
        None => {
            if !dry_run {
                engine.writer.put_beside(SETTINGS, None, Some(&kept))?;
            }
            back.brought.push(SETTINGS.to_owned());
        }
    }
    Ok(())
}

fn bring_journals(
    engine: &Engine,
    backup: &Store,
    dry_run: bool,
    back: &mut BroughtBack,
) -> Result<(), EngineError> {
    for path in backup.journals()?.unwrap_or_default().sizes.into_keys() {
        let kept = match backup.beside().read(&path, u64::MAX) {
            Ok(version) => version.bytes,
            Err(error) => {
                back.left.push((path, error.to_string()));
                continue;
            }
        };
        let both = |now: Option<&[u8]>| Some(unite_journals(b"", now.unwrap_or_default(), &kept));
        let now = reading::bytes_at(&engine.live, &path)?;
        if now == both(now.as_deref()) {
            back.known += 1;
        } else if dry_run || put_journal(&engine.writer, &path, both)? {
            back.brought.push(path);
        }
    }
    Ok(())
}

/// Files of each stem.
type Names = HashMap<Stem, Vec<(Place, String)>>;

/// State of the store for a file of a backup.
enum Way {
    Free,
    /// The same text is in the store.
    Known,
    Blocked(String),
}

impl Reset {
    fn count(&mut self, place: Place) {
        match place {
            Place::Files => self.live += 1,
            Place::Archive => self.forgotten += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::clock::FixedClock;
    use crate::engine::options::Options;
    use crate::files::dying_at;

    fn engine(root: &Path) -> Engine {
        let options = Options::new(root);
        let now = chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        Engine::open(options, Box::new(FixedClock(now))).unwrap()
    }

    fn texts() -> BTreeMap<String, Vec<u8>> {
        [
            ("files/20260101_000000_aaaaaaaa.md", "one\r\n"),
            ("files/2026-01/20260102_000000_bbbbbbbb.md", "\u{feff}two"),
            ("archive/20260103_000000_cccccccc.md", "three"),
        ]
        .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
        .into()
    }

    /// Returns the memories below `root` that have the path of one of `texts`.
    fn found(root: &Path) -> BTreeMap<String, Vec<u8>> {
        let read = |path: String| Some((path.clone(), fs::read(root.join(path)).ok()?));
        texts().into_keys().filter_map(read).collect()
    }

    #[test]
    fn killed_at_any_file_call_nothing_is_lost_and_a_run_again_completes() {
        for last in 0.. {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in texts() {
                let path = root.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let is_done = dying_at(last, || reset(&engine(root.path()), false).unwrap()).is_some();
            let store = Store::new(root.path(), &root.path().join(".memdir"));
            let mut safe = found(root.path());
            for name in Backup::names(&store).unwrap() {
                let folder = root.path().join("backup").join(name);
                assert_eq!(found(&folder), texts(), "call {last}");
                safe.extend(found(&folder));
            }
            assert_eq!(safe, texts(), "call {last}");
            let again = reset(&engine(root.path()), false).unwrap();
            assert!(!is_done || again.backup.is_none());
            assert_eq!(found(root.path()), BTreeMap::new());
            // Coming back is ended anywhere, too.
            for name in Backup::names(&store).unwrap() {
                dying_at(last, || {
                    bring_back(&engine(root.path()), &name, false).unwrap()
                });
                bring_back(&engine(root.path()), &name, false).unwrap();
            }
            assert_eq!(found(root.path()), texts(), "call {last}");
            if is_done {
                assert!(last > 10, "there were calls to die at");
                return;
            }
        }
    }
}
