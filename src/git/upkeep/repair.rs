//! Repairs a repository of the program's own after a power cut or a failing disk.
//!
//! Guarantees: nothing is deleted. Unreadable files are set aside; the branch goes back to the newest
//! whole commit, and callers commit the present files again.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};

use crate::git::committing::staging;
use crate::git::reading::history;
use crate::git::reading::trees::trees;
use crate::git::repository::locks::keep_aside;
use crate::git::repository::opening::replace;
use crate::git::repository::packs;
use crate::git::upkeep::{repair_packs, repair_references};
use crate::git::{GitError, Id, Repository, To};

/// The outcome of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repaired {
    /// The repository is sound: commits can be made.
    NothingWrong,
    /// The branch now points to this commit, all of whose files exist.
    GoesOnFrom(Id),
    /// There is no whole commit.
    Lost,
}

/// Key of the setting of a new repository that holds the remote's commit which it has to continue.
pub const RESUME: &str = "resume";

/// Settings that are copied from a repository that is set aside.
const KEPT_SETTINGS: [&str; 3] = ["user.name", "user.email", "user.signingkey"];

/// Checks everything that the next commit needs, and repairs it as far as possible. The caller keeps all
/// others from writing.
///
/// # Errors
///
/// Fails if a file could not be read or written for another reason than damage.
pub fn repair(repository: &Repository) -> Result<Repaired, GitError> {
    if repository.inner.is_shallow() {
        return Ok(Repaired::NothingWrong); // What is missing was left away.
    }
    check_readable(repository)?;
    let is_changed = repair_packs::repair_packs(repository)?
        | repair_references::repair_packed_references(repository)?;
    match is_changed {
        true => repair_branch(&repository.reopened()?, true),
        false => repair_branch(repository, false),
    }
}

/// Repairs loose objects, references and git's index, as [`repair`]; `is_changed` means that something
/// was repaired before.
fn repair_branch(repository: &Repository, mut is_changed: bool) -> Result<Repaired, GitError> {
    let action = "look at the repository";
    is_changed |= set_aside_unreadable(repository)?;
    let branch = repository.branch();
    let name = format!("refs/heads/{branch}");
    let target = repository.inner.refname_to_id(&name).ok();
    if target.is_none() && is_on_another_branch(repository, &branch) {
        return Ok(Repaired::NothingWrong); // Somebody renamed it, or merged and deleted it.
    }
    let head = repository.inner.path().join("HEAD");
    if !repair_references::is_head_sound(repository) {
        keep_aside(repository, &head)?;
        replace(&head, format!("ref: {name}\n").as_bytes()).to(action)?;
        is_changed = true;
    }
    let logs = repository.inner.commondir().join("logs");
    let mut abandoned = Vec::new();
    for id in candidates(repository, &branch)? {
        if !is_whole(repository, id)? {
            let digits = id.to_string();
            let (start, rest) = digits.split_at(2);
            let objects = repository.inner.commondir().join("objects");
            abandoned.push(objects.join(start).join(rest));
            continue;
        }
        if (is_changed || !abandoned.is_empty()) && is_sent_history_broken(repository, id)? {
            return Ok(Repaired::Lost);
        }
        if !abandoned.is_empty() {
            // The logs would name the abandoned commits.
            abandoned.extend([logs.join(&name), logs.join("HEAD")]);
        }
        for path in &abandoned {
            keep_aside(repository, path)?;
        }
        is_changed |=
            set_aside_references(repository)? | repair_references::repair_logs(repository)?;
        if staging::is_index_damaged(repository) {
            staging::make_index_anew(repository, Id(id))?;
            is_changed = true;
        }
        if target == Some(id) {
            return Ok(match is_changed {
                true => Repaired::GoesOnFrom(Id(id)),
                false => Repaired::NothingWrong,
            });
        }
        // Without the old file, the new log does not name the former commit.
        keep_aside(repository, &repository.inner.commondir().join(&name))?;
        repair_references::drop_packed_references(repository, std::slice::from_ref(&name))?;
        repository
            .inner
            .reference(&name, id, true, "memdir: repair")
            .to("repair the branch")?;
        return Ok(Repaired::GoesOnFrom(Id(id)));
    }
    let is_empty = target.is_none() && !repository.inner.commondir().join(&name).exists();
    Ok(match is_empty && !is_changed {
        true => Repaired::NothingWrong, // Nothing was ever committed.
        false => Repaired::Lost,
    })
}

/// Returns whether a branch other than `branch` is checked out, and can be read.
fn is_on_another_branch(repository: &Repository, branch: &str) -> bool {
    repository.checked_out().is_some_and(|out| {
        let name = format!("refs/heads/{out}");
        out != branch && repository.inner.refname_to_id(&name).is_ok()
    })
}

/// Moves the repository to the folder `to`, and makes a new one in its place, with the same branch and
/// remote, and the last known commit of the remote as [`RESUME`].
///
/// # Errors
///
/// Fails if it cannot be moved, or the new one cannot be made.
pub fn replace_repository(
    repository: Repository,
    root: &Path,
    to: &Path,
) -> Result<Repository, GitError> {
    let branch = repository.branch();
    let noted: Vec<(&str, String)> = ["remote", "local"]
        .into_iter()
        .filter_map(|key| Some((key, repository.get(key)?)))
        .collect();
    let address = repository
        .get("remote")
        .and_then(|name| repository.remote(&name));
    let old = repository.local_config()?;
    let settings: Vec<(&str, String)> = KEPT_SETTINGS
        .into_iter()
        .filter_map(|key| Some((key, old.get_string(key).ok()?)))
        .collect();
    let resume = repository.raw_target(&format!("refs/memdir/seen/{branch}"));
    let from = repository.inner.path().to_owned();
    drop((repository, old));
    let action = "set the damaged repository aside";
    let moved = std::fs::create_dir_all(to.parent().unwrap_or(to))
        .and_then(|()| std::fs::rename(&from, to));
    moved.to(action)?;
    let new = Repository::create(root, &branch)?;
    let mut config = new.local_config()?;
    for (key, value) in settings {
        config.set_str(key, &value).to("set up the repository")?;
    }
    if let Some(address) = address {
        new.set_remote("origin", &address)?;
        for (key, value) in noted {
            new.set(key, &value)?;
        }
        if let Some(resume) = resume {
            new.set(RESUME, &resume.to_string())?;
        }
    }
    Ok(new)
}

/// Returns the commits that the branch may continue from, the likeliest first.
fn candidates(repository: &Repository, branch: &str) -> Result<Vec<Oid>, GitError> {
    let name = format!("refs/heads/{branch}");
    let mut found: Vec<Oid> = repository.inner.refname_to_id(&name).into_iter().collect();
    let log = repository.inner.commondir().join("logs").join(&name);
    let lines = std::fs::read(log).unwrap_or_default();
    let lines = String::from_utf8_lossy(&lines);
    // Each line has the former id, and the new one.
    let after = |line: &str| Id::parse(line.split(' ').nth(1)?);
    found.extend(lines.lines().rev().filter_map(after).map(|id| id.0));
    for kind in ["seen", "remote"] {
        found.extend(repository.raw_target(&format!("refs/memdir/{kind}/{branch}")));
    }
    let mut known = HashSet::new();
    found.retain(|id| known.insert(*id));
    Ok(found)
}

/// Returns whether a commit, its parents and all its files can be read. A missing text that the work
/// folder has is written again.
///
/// With a remote, all ancestors must exist, and the files of those that the remote may not have: else a
/// new history continues the remote's. Without one, a gap in the history is accepted for the sake of
/// the commits after it.
fn is_whole(repository: &Repository, id: Oid) -> Result<bool, GitError> {
    let Ok(commit) = repository.inner.find_commit(id) else {
        return Ok(false);
    };
    if commit.parents().count() != commit.parent_count() {
        return Ok(false);
    }
    let mut known = HashSet::new();
    if !has_files(repository, &commit, &mut known)? {
        return Ok(false);
    }
    if repository.get("remote").is_none() {
        return Ok(true);
    }
    let seen = repository.raw_target(&format!("refs/memdir/seen/{}", repository.branch()));
    let Ok(all) = commits_before(repository, id, None) else {
        return Ok(false);
    };
    let unsent = match seen {
        Some(seen) if all.contains(&seen) => commits_before(repository, id, Some(seen)),
        _ => Ok(all),
    };
    for id in unsent.to("look at the repository")? {
        let Ok(commit) = repository.inner.find_commit(id) else {
            return Ok(false);
        };
        if !has_files(repository, &commit, &mut known)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether an object is missing that the remote has too, so that it is better fetched, or
/// whether `id`, which the branch would continue from, is older than the remote's commit: memories that
/// were forgotten since would come back.
fn is_sent_history_broken(repository: &Repository, id: Oid) -> Result<bool, GitError> {
    if repository.get("remote").is_none() {
        return Ok(false);
    }
    let branch = repository.branch();
    let seen = repository.raw_target(&format!("refs/memdir/seen/{branch}"));
    let fetched = repository.raw_target(&format!("refs/memdir/remote/{branch}"));
    let is_there = |id: &Oid| repository.inner.find_commit(*id).is_ok();
    let Some(sent) = seen.filter(is_there).or(fetched) else {
        return Ok(false); // Nothing was sent yet.
    };
    if !is_there(&sent) {
        return Ok(true);
    }
    // An error is a gap between them.
    if seen == Some(sent) && !history::descends_from(repository, Id(id), Id(sent)).unwrap_or(false)
    {
        return Ok(true);
    }
    let Ok(all) = commits_before(repository, sent, None) else {
        return Ok(true);
    };
    let mut known = HashSet::new();
    for id in all {
        let commit = repository.inner.find_commit(id);
        if !commit.map_or(Ok(false), |commit| {
            has_files(repository, &commit, &mut known)
        })? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `id` and its ancestors, without `without` and its ancestors.
fn commits_before(
    repository: &Repository,
    id: Oid,
    without: Option<Oid>,
) -> Result<Vec<Oid>, git2::Error> {
    let mut walk = repository.inner.revwalk()?;
    walk.push(id)?;
    if let Some(without) = without {
        walk.hide(without)?;
    }
    walk.collect()
}

/// Returns whether all files of a commit exist; objects in `known` are not checked again. A missing text
/// that the work folder has is written again.
fn has_files(
    repository: &Repository,
    commit: &git2::Commit<'_>,
    known: &mut HashSet<Oid>,
) -> Result<bool, GitError> {
    let odb = repository.inner.odb().to("look at the repository")?;
    let mut folders = match known.insert(commit.tree_id()) {
        true => vec![(PathBuf::new(), commit.tree_id())],
        false => Vec::new(),
    };
    while let Some((path, id)) = folders.pop() {
        let Ok(tree) = repository.inner.find_tree(id) else {
            return Ok(false);
        };
        for entry in &tree {
            let Ok(name) = entry.name() else { continue };
            match entry.kind() {
                Some(ObjectType::Tree) if known.insert(entry.id()) => {
                    folders.push((path.join(name), entry.id()));
                }
                Some(ObjectType::Blob) if known.insert(entry.id()) && !odb.exists(entry.id()) => {
                    let file = repository.work_folder().join(path.join(name));
                    let text = std::fs::read(file).unwrap_or_default();
                    if Id::of_text(&text).0 != entry.id() {
                        return Ok(false);
                    }
                    repository.inner.blob(&text).to("repair the repository")?;
                }
                _ => {}
            }
        }
    }
    Ok(true)
}

/// Returns the faults of the history, and of everything that the next commit needs, a sentence each.
///
/// # Errors
///
/// Fails if a file could not be read for another reason than damage.
pub fn repository_faults(repository: &Repository) -> Result<Vec<String>, GitError> {
    let mut damaged = unreadable(repository)?;
    damaged.extend(repair_packs::packs_with_wrong_sum(repository)?);
    damaged.extend(repair_references::damaged_references(repository)?);
    if staging::is_index_damaged(repository) {
        damaged.push(repository.inner.path().join("index"));
    }
    let mut faults: Vec<String> = damaged
        .iter()
        .map(|path| format!("{} is damaged", path.display()))
        .collect();
    faults.extend(repair_references::references_to_nothing(repository)?);
    match repository.head() {
        Err(error) => faults.push(error.to_string()),
        // Nothing was committed to the branch that is checked out, which may be the wrong one.
        Ok(None) => faults.extend(repository.obstacle().map(|obstacle| obstacle.to_string())),
        Ok(Some(head)) => {
            if let Some(Err(error)) = history::commits(repository, head, None)?.find(Result::is_err)
            {
                faults.push(error.to_string());
            }
            let trees = trees(repository, Some(head)).and_then(|mut trees| {
                let odb = repository.inner.odb().to("look at the repository")?;
                let mut files = trees.files_below("files")?;
                files.extend(trees.files_below("archive")?);
                files.extend(trees.files_below("journal")?);
                files.retain(|(_, id)| !odb.exists(id.0));
                Ok(files)
            });
            match trees {
                Err(error) => faults.push(error.to_string()),
                Ok(missing) => faults.extend(missing.iter().map(|(path, id)| {
                    format!("the committed text of {path} is missing: {}", id.short())
                })),
            }
        }
    }
    Ok(faults)
}

/// Sets damaged objects aside; returns whether there were any.
fn set_aside_unreadable(repository: &Repository) -> Result<bool, GitError> {
    let unreadable = unreadable(repository)?;
    for path in &unreadable {
        keep_aside(repository, path)?;
    }
    if !unreadable.is_empty() {
        let odb = repository.inner.odb().to("look at the repository")?;
        odb.refresh().to("look at the repository")?;
    }
    Ok(!unreadable.is_empty())
}

/// Sets own references aside that point to no whole commit; returns whether there were any.
fn set_aside_references(repository: &Repository) -> Result<bool, GitError> {
    let mut is_changed = false;
    for (path, id) in repair_references::own_references(repository)? {
        if !id.map_or(Ok(false), |id| is_whole(repository, id.0))? {
            keep_aside(repository, &path)?;
            is_changed = true;
        }
    }
    let mut gone = Vec::new();
    for (name, id) in repair_references::packed_own_references(repository)? {
        if !is_whole(repository, id.0)? {
            gone.push(name);
        }
    }
    is_changed |= !gone.is_empty();
    repair_references::drop_packed_references(repository, &gone)?;
    Ok(is_changed)
}

/// Returns the files of damaged loose objects.
fn unreadable(repository: &Repository) -> Result<Vec<PathBuf>, GitError> {
    let action = "look at the repository";
    let odb = repository.inner.odb().to(action)?;
    let mut unreadable = Vec::new();
    for (id, path, _) in packs::loose_objects(repository) {
        // A file that cannot be read is not damaged.
        std::fs::read(&path).to(action)?;
        if !packs::is_sound(&odb, id) {
            unreadable.push(path);
        }
    }
    let packs = std::fs::read_dir(packs::pack_folder(repository));
    for file in packs.into_iter().flatten().flatten() {
        std::fs::File::open(file.path()).to(action)?;
    }
    Ok(unreadable)
}

/// Checks that all files of objects and references can be read: unreadable is not damaged.
fn check_readable(repository: &Repository) -> Result<(), GitError> {
    let action = "look at the repository";
    let common = repository.inner.commondir();
    let mut folders = vec![common.join("objects"), common.join("refs")];
    let listed = std::fs::read_to_string(common.join("objects/info/alternates"));
    for line in listed.unwrap_or_default().lines() {
        folders.push(common.join("objects").join(line));
    }
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            // A missing folder is damage, but not that of another repository.
            Err(error) if error.kind() == ErrorKind::NotFound && folder.starts_with(common) => {
                continue;
            }
            other => other.to(action)?,
        };
        for entry in entries {
            let entry = entry.to(action)?;
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.starts_with(common.join("refs")) {
                std::fs::File::open(&path).to(action)?;
            }
        }
    }
    Ok(())
}
