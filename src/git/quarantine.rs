//! A git folder of our own, through which the git program works on somebody's objects.
//!
//! The program obeys the configuration, the hooks and the attributes of the folder that it is given.
//! It is therefore given this one, which says nothing: the objects are those of the repository, by
//! `GIT_OBJECT_DIRECTORY`; the references are a copy, which tells the other side what is here; and
//! what was fetched is named in the repository by the library afterwards.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

use git2::Oid;
use git2::Repository;

use super::failure::Failure;

const PREFIX: &str = "memdir-quarantine-";

/// What makes it a repository of the format that the library reads, and nothing else.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";

/// A git folder that is removed when the value is dropped.
pub(super) struct Quarantine {
    folder: PathBuf,
    objects: PathBuf,
    /// As they were when it was made.
    references: Vec<(String, Oid)>,
}

impl Quarantine {
    /// Makes one for the repository at `git_folder` (its `.git`), with all of its references.
    pub(super) fn of(git_folder: &Path) -> Result<Quarantine, Failure> {
        let failed = |error: io::Error| {
            Failure::other(format!("cannot prepare {}: {error}", git_folder.display()))
        };
        let repository = Repository::open(git_folder)
            .map_err(|error| Failure::other(error.message().to_owned()))?;
        let common = repository.commondir();
        remove_abandoned(common);
        let quarantine = Quarantine {
            folder: new_folder(common).map_err(failed)?,
            objects: common.join("objects"),
            references: references(&repository),
        };
        let write = |name: &str, text: &str| fs::write(quarantine.folder.join(name), text);
        write("HEAD", "ref: refs/heads/main\n")
            .and_then(|()| write("config", CONFIG))
            .and_then(|()| fs::create_dir(quarantine.folder.join("refs")))
            .and_then(|()| write("packed-refs", &packed(&quarantine.references)))
            .map_err(failed)?;
        match fs::copy(common.join("shallow"), quarantine.folder.join("shallow")) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(quarantine)
    }

    /// Has `command` work here.
    pub(super) fn apply(&self, command: &mut Command) {
        command
            .env("GIT_OBJECT_DIRECTORY", &self.objects)
            .current_dir(&self.folder);
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The object that `name` stands for here.
    pub(super) fn reference(&self, name: &str) -> Option<Oid> {
        if let Ok(text) = fs::read_to_string(self.folder.join(name)) {
            return Oid::from_str(text.trim()).ok();
        }
        let mut known = self.references.iter();
        known.find(|(known, _)| known == name).map(|(_, id)| *id)
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder); // The next one removes it.
    }
}

/// A new folder in `common`, named for this process.
fn new_folder(common: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = common.join(format!("{PREFIX}{process}-{number}"));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|()| folder),
        }
    }
}

/// Removes what killed processes left. One that is in use is as old as its operation, which has a
/// limit of an hour.
fn remove_abandoned(common: &Path) {
    for entry in fs::read_dir(common).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_ours && age().is_some_and(|age| age.as_secs() > 24 * 60 * 60) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Every reference that stands for a commit, by name.
fn references(repository: &Repository) -> Vec<(String, Oid)> {
    let mut found: Vec<(String, Oid)> = Vec::new();
    for reference in repository.references().into_iter().flatten().flatten() {
        let commit = reference.peel_to_commit();
        if let (Ok(name), Ok(commit)) = (reference.name(), commit) {
            found.push((name.to_owned(), commit.id()));
        }
    }
    found.sort();
    found
}

/// The text of a `packed-refs`.
fn packed(references: &[(String, Oid)]) -> String {
    let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for (name, id) in references {
        text.push_str(&format!("{id} {name}\n"));
    }
    text
}
