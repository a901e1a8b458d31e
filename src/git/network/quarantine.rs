//! A temporary git folder, through which the git program works on somebody's objects.
//!
//! The program obeys the configuration, the hooks and the attributes of its git folder. It therefore
//! gets this one, which has none: the objects are those of the repository, by `GIT_OBJECT_DIRECTORY`;
//! the references are a copy, for the negotiation of what is missing; and libgit2 sets the references of
//! the repository to the fetched commits afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use git2::{Oid, Repository};
use tempfile::TempDir;

use crate::git::network::failure::Failure;
use crate::git::repository::loose_objects::check_loose_objects;

const PREFIX: &str = "memdir-quarantine-";

/// Minimal configuration with which git accepts a folder as a bare repository.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";

/// A git folder that is removed when the value is dropped.
pub(in crate::git) struct Quarantine {
    folder: TempDir,
    objects: PathBuf,
    /// References of the repository when the folder was made.
    references: Vec<(String, Oid)>,
}

impl Quarantine {
    /// Makes the folder for the repository at `git_folder` (its `.git`), with all of its references.
    pub(in crate::git) fn of(git_folder: &Path) -> Result<Quarantine, Failure> {
        let failed = |error: io::Error| {
            Failure::other(format!("cannot prepare {}: {error}", git_folder.display()))
        };
        let repository = Repository::open(git_folder)
            .map_err(|error| Failure::other(error.message().to_owned()))?;
        check_loose_objects(&repository)
            .map_err(|error| Failure::other(error.message().to_owned()))?;
        let common = repository.commondir();
        remove_abandoned(common);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(common);
        let quarantine = Quarantine {
            folder: folder.map_err(failed)?,
            objects: common.join("objects"),
            references: references(&repository),
        };
        let write = |name: &str, text: &str| fs::write(quarantine.folder.path().join(name), text);
        write("HEAD", "ref: refs/heads/main\n")
            .and_then(|()| write("config", CONFIG))
            .and_then(|()| fs::create_dir_all(quarantine.folder.path().join("refs")))
            .and_then(|()| write("packed-refs", &packed(&quarantine.references)))
            .map_err(failed)?;
        match fs::read_to_string(common.join("shallow")) {
            Ok(text) => write("shallow", &text).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(quarantine)
    }

    /// Sets the folder as the working folder of `command`, with the repository's objects.
    pub(in crate::git) fn apply(&self, command: &mut Command) {
        command
            .env("GIT_OBJECT_DIRECTORY", &self.objects)
            .current_dir(self.folder.path());
    }

    /// Returns the path of the folder.
    pub(in crate::git) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the target of the reference `name` in this folder.
    pub(in crate::git) fn reference(&self, name: &str) -> Option<Oid> {
        if let Ok(text) = fs::read_to_string(self.folder.path().join(name)) {
            return Oid::from_str(text.trim()).ok();
        }
        let mut known = self.references.iter();
        known.find(|(known, _)| known == name).map(|(_, id)| *id)
    }
}

/// Removes folders of killed processes, after a day: an operation takes an hour at most.
fn remove_abandoned(common: &Path) {
    for entry in fs::read_dir(common).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_ours && age().is_some_and(|age| age.as_secs() > 24 * 60 * 60) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns the references to commits, sorted by name.
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

/// Returns the text of a `packed-refs` file.
fn packed(references: &[(String, Oid)]) -> String {
    let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for (name, id) in references {
        text.push_str(&format!("{id} {name}\n"));
    }
    text
}
