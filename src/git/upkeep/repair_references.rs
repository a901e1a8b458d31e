//! Repairs references after damage: HEAD, packed references, reflogs.
//!
//! Guarantees: every valid line of packed references stays; a damaged file is kept aside. `repair`
//! chooses the commit that a branch continues from.

use std::path::{Path, PathBuf};

use git2::Reference;

use crate::git::repository::locks;
use crate::git::repository::opening::replace;
use crate::git::{GitError, Id, Repository, To};

const BRANCHES: &str = "refs/heads/";
const OWN: &str = "refs/memdir/";

/// Returns whether HEAD names a branch, or a commit.
pub(in crate::git) fn is_head_sound(repository: &Repository) -> bool {
    let text = std::fs::read(repository.inner.path().join("HEAD")).unwrap_or_default();
    let Ok(text) = String::from_utf8(text) else {
        return false;
    };
    match text.strip_prefix("ref:") {
        Some(name) => {
            let name = name.trim();
            name.starts_with(BRANCHES) && Reference::is_valid_name(name)
        }
        None => Id::parse(text.trim_end()).is_some(),
    }
}

/// Returns the paths of HEAD and the packed references, if they are damaged.
pub(in crate::git) fn damaged_references(
    repository: &Repository,
) -> Result<Vec<PathBuf>, GitError> {
    let mut damaged = Vec::new();
    if !is_head_sound(repository) {
        damaged.push(repository.inner.path().join("HEAD"));
    }
    if packed_references(repository)?.is_some_and(|packed| !packed.is_sound) {
        damaged.push(packed_references_path(repository));
    }
    Ok(damaged)
}

/// Rewrites damaged packed references without their invalid lines; returns whether they were damaged.
pub(in crate::git) fn repair_packed_references(repository: &Repository) -> Result<bool, GitError> {
    let Some(packed) = packed_references(repository)?.filter(|packed| !packed.is_sound) else {
        return Ok(false);
    };
    let path = packed_references_path(repository);
    locks::keep_aside(repository, &path)?;
    let written = replace(&path, packed.sound.as_bytes());
    written.to("look at the references")?;
    Ok(true)
}

/// Returns the paths of the reflogs of HEAD and of the store's branch.
fn log_paths(repository: &Repository) -> [PathBuf; 2] {
    let branch = format!("{BRANCHES}{}", repository.branch());
    let logs = repository.inner.commondir().join("logs");
    [repository.inner.path().join("logs/HEAD"), logs.join(branch)]
}

/// Returns the lines of a reflog that name only existing objects; `None` if all of them do.
fn log_without_damage(repository: &Repository, log: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(log).ok()?;
    let odb = repository.inner.odb().ok()?;
    let is_there = |word: &[u8]| {
        let id = std::str::from_utf8(word).ok().and_then(Id::parse);
        id.is_some_and(|id| id.0.is_zero() || odb.exists(id.0))
    };
    let is_sound = |line: &&[u8]| {
        let mut words = line.split(|byte| *byte == b' ');
        let (before, after) = (words.next(), words.next());
        line.ends_with(b"\n") && before.is_some_and(is_there) && after.is_some_and(is_there)
    };
    let sound = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(is_sound);
    let sound: Vec<u8> = sound.flatten().copied().collect();
    (sound != bytes).then_some(sound)
}

/// Removes lines that name missing objects from the reflogs, and keeps the former files aside; returns
/// whether there were any.
pub(in crate::git) fn repair_logs(repository: &Repository) -> Result<bool, GitError> {
    let mut is_changed = false;
    for log in log_paths(repository) {
        if let Some(sound) = log_without_damage(repository, &log) {
            locks::keep_aside(repository, &log)?;
            replace(&log, &sound).to("look at the references")?;
            is_changed = true;
        }
    }
    Ok(is_changed)
}

/// Returns the program's own references among the packed ones, with their ids.
pub(in crate::git) fn packed_own_references(
    repository: &Repository,
) -> Result<Vec<(String, Id)>, GitError> {
    let packed = packed_references(repository)?;
    let lines = packed.map(|packed| packed.sound).unwrap_or_default();
    let reference = |line: &str| {
        let (id, name) = line.split_once(' ')?;
        name.starts_with(OWN)
            .then(|| Some((name.to_owned(), Id::parse(id)?)))?
    };
    Ok(lines.lines().filter_map(reference).collect())
}

/// Removes packed references, and keeps the former file aside.
pub(in crate::git) fn drop_packed_references(
    repository: &Repository,
    names: &[String],
) -> Result<(), GitError> {
    let Some(packed) = packed_references(repository)?.filter(|_| !names.is_empty()) else {
        return Ok(());
    };
    let is_kept = |line: &&str| {
        let name = line.trim_end().split_once(' ').map(|(_, name)| name);
        !name.is_some_and(|name| names.iter().any(|gone| gone == name))
    };
    let kept: String = packed.sound.split_inclusive('\n').filter(is_kept).collect();
    let path = packed_references_path(repository);
    locks::keep_aside(repository, &path)?;
    replace(&path, kept.as_bytes()).to("look at the references")
}

/// Returns the faults of references and reflogs that name missing objects, a sentence each.
pub(in crate::git) fn references_to_nothing(
    repository: &Repository,
) -> Result<Vec<String>, GitError> {
    let mut found = Vec::new();
    for (path, id) in own_references(repository)? {
        if id.is_none() {
            found.push(format!("{} is damaged", path.display()));
        }
    }
    for log in log_paths(repository) {
        if log_without_damage(repository, &log).is_some() {
            found.push(format!("{} names what is not there", log.display()));
        }
    }
    // An unreadable one does not end the loop.
    let all = repository.inner.references();
    for reference in all.into_iter().flatten().flatten() {
        let Some(id) = reference.target() else {
            continue;
        };
        if !repository.inner.odb().is_ok_and(|odb| odb.exists(id)) {
            let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
            found.push(format!("{name} stands for {id}, which is not there"));
        }
    }
    Ok(found)
}

/// Returns the files of the program's own references, with their ids; `None` of a damaged one.
pub(in crate::git) fn own_references(
    repository: &Repository,
) -> Result<Vec<(PathBuf, Option<Id>)>, GitError> {
    let files = locks::own_reference_files(repository).into_iter();
    let files = files.filter(|path| path.extension().is_none_or(|ending| ending != "lock"));
    let read = |path: PathBuf| {
        let text = std::fs::read(&path).to("look at the repository")?;
        let text = std::str::from_utf8(&text).unwrap_or_default();
        let id = Id::parse(text.trim_end());
        Ok((path, id))
    };
    files.map(read).collect()
}

fn packed_references_path(repository: &Repository) -> PathBuf {
    repository.inner.commondir().join("packed-refs")
}

fn packed_references(repository: &Repository) -> Result<Option<PackedReferences>, GitError> {
    match std::fs::read(packed_references_path(repository)) {
        Ok(bytes) => Ok(Some(PackedReferences::parse(&bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).to("look at the references"),
    }
}

/// Content of the file of packed references.
#[derive(Debug, PartialEq, Eq)]
struct PackedReferences {
    is_sound: bool,
    /// Valid lines of an id and a reference, without the header and the targets of tags, which git
    /// determines itself then.
    sound: String,
}

impl PackedReferences {
    fn parse(bytes: &[u8]) -> PackedReferences {
        let mut is_sound = bytes.is_empty() || bytes.ends_with(b"\n");
        let mut sound = String::new();
        let text = String::from_utf8_lossy(bytes);
        for line in text.split_inclusive('\n') {
            let is_comment = line.starts_with("# pack-refs with:");
            let is_peeled = line
                .strip_prefix('^')
                .is_some_and(|id| Id::parse(id.trim_end()).is_some());
            let reference = line
                .strip_suffix('\n')
                .and_then(|line| line.split_once(' '));
            match reference {
                Some((id, name)) if Id::parse(id).is_some() && Reference::is_valid_name(name) => {
                    sound.push_str(line);
                }
                _ => is_sound &= is_comment || is_peeled,
            }
        }
        PackedReferences { is_sound, sound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789012345678901234567890123456789";

    #[test]
    fn every_line_of_packed_references_that_says_something_stays() {
        let main = format!("{ID} refs/heads/main\n");
        let header = "# pack-refs with: peeled fully-peeled sorted \n";
        let check = |text: &str, is_sound: bool, sound: &str| {
            let parsed = PackedReferences::parse(text.as_bytes());
            let sound = sound.to_owned();
            assert_eq!(parsed, PackedReferences { is_sound, sound }, "{text:?}");
        };
        check("", true, "");
        check(&format!("{header}{main}^{ID}\n"), true, &main);
        // Cut in a name, which would be another one; in an id; in the header.
        check(&format!("{header}{main}{ID} refs/heads/oth"), false, &main);
        check(&format!("{main}01234"), false, &main);
        check("# pack-refs wi", false, "");
        // Changed bytes.
        check(&format!("{header}{main}{ID}_refs/tags/a\n"), false, &main);
        check(
            &format!("{header}{}{main}", main.replace('0', "x")),
            false,
            &main,
        );
        check(
            &format!("{header}{main}{ID} refs/heads/a..b\n"),
            false,
            &main,
        );
    }
}
