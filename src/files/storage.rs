//! The contract between the engine and a place that keeps memories.
//!
//! An implementation promises: a memory is there whole under its name or not at all; a text is
//! replaced or removed only at the version that the caller read ([`Version`]); a call returns once its
//! change survives a power cut; nothing is overwritten unseen. [`Store`](super::Store), a directory,
//! is the only implementation. Whatever only a directory has (paths, permissions, folders that are
//! synced once for many files) is no part of the contract. Its part about journals is
//! `journal::Journal`.

use std::collections::BTreeSet;
use std::time::Duration;

use super::FilesError;
use super::folders::Place;
use super::list::{Entry, Listing, Skipped};

/// One version of one file.
#[derive(Debug, Clone)]
pub struct Version {
    pub entry: Entry,
    /// The file's bytes, at most as many as were asked for.
    pub bytes: Vec<u8>,
    /// The first 16 bytes of the BLAKE3 hash of the whole file.
    pub hash: u128,
}

/// Outcome of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaced {
    Done,
    /// The file is not the version that was seen, and stays as it is.
    Stale,
    /// Done; a text that somebody else wrote in the same moment is kept as a conflict copy.
    KeptOther,
}

impl Replaced {
    /// Whether the new text is in place.
    pub fn is_written(&self) -> bool {
        *self != Replaced::Stale
    }
}

/// A temporary file whose writer is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub name: String,
}

/// Changes since the last time they were taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// Names, as listings have them.
    pub names: BTreeSet<String>,
    /// More changed than the names say: look at everything.
    pub everything: bool,
    /// Number of events, also about files of no interest.
    pub events: u64,
}

impl Changed {
    /// Takes in what changed after this.
    pub fn add(&mut self, later: Changed) {
        self.names.extend(later.names);
        self.everything |= later.everything;
        self.events += later.events;
    }
}

/// Tells which live memories change, until dropped. The first thing to take is to look at
/// everything: nobody knows what happened before.
pub trait ChangeFeed: Send + Sync {
    /// Takes the changes since the last call.
    fn take(&self) -> Changed;

    /// Waits until there is something to take, for `patience` at most.
    fn wait(&self, patience: Duration);

    /// Whether there is something to take.
    fn has_changes(&self) -> bool;

    /// Has changes in `folder`, which a listing names, told too, before its files are looked at, so
    /// that no change falls in between. Costs nothing if that is so already.
    fn include(&self, folder: &str);

    /// Why changes may be missing from now on; another feed is to be asked for then.
    fn lost(&self) -> Option<String>;

    /// Whether each change that was complete before [`ChangeFeed::take`] is told by it. Elsewhere
    /// changes are told when it pleases the system, and only [`Storage::folders_changed`] tells in
    /// between.
    fn tells_at_once(&self) -> bool;
}

/// A place for memories, as it is read. Names come from its own listings or from a parsed stem.
pub trait Storage: Send + Sync {
    /// Lists the memories of `place`; a folder that does not exist is empty.
    ///
    /// # Errors
    ///
    /// Fails if the folder exists and cannot be read.
    fn list(&self, place: Place) -> Result<Listing, FilesError>;

    /// As [`Storage::list`]; `before` is called with each folder before its names are read.
    ///
    /// # Errors
    ///
    /// As for [`Storage::list`].
    fn list_after(&self, place: Place, before: &dyn Fn(&str)) -> Result<Listing, FilesError>;

    /// Looks at the one memory `name` without reading it: its size and times, or why it is no
    /// readable memory; `None` if there is none.
    fn look_at(&self, place: Place, name: &str) -> Option<Result<Entry, Skipped>>;

    /// A reader of many files of `place`.
    fn reader(&self, place: Place) -> Box<dyn Reader>;

    /// A reader of what lies beside the folders of memories.
    fn beside(&self) -> Box<dyn Reader>;

    /// The file at `path` below the store's folder, such as `archive/x.md`, as it is now; `None` if
    /// there is no regular file.
    ///
    /// # Errors
    ///
    /// Fails if there is one that cannot be read.
    fn version_at(&self, path: &str) -> Result<Option<Version>, FilesError> {
        let read = match Place::of(path) {
            Some((place, name)) => self.reader(place).read(name, u64::MAX),
            None => self.beside().read(path, u64::MAX),
        };
        match read {
            Ok(version) => Ok(Some(version)),
            Err(FilesError::Missing { .. } | FilesError::NotRegular { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a file of the memory folder ends with the eight hex digits `handle`. Looks at a
    /// limited number of names: this avoids confusion, it does not exclude it.
    fn has_handle(&self, handle: &str) -> bool;

    /// The stems of the memories that were purged.
    ///
    /// # Errors
    ///
    /// Fails if they exist and cannot be read.
    fn purged(&self) -> Result<BTreeSet<String>, FilesError>;

    /// `folders`, as [`Listing::folders`] has them, with their present modification times, in
    /// nanoseconds since 1970; `None` if one of them is gone.
    fn folder_times(&self, place: Place, folders: &[(String, i64)]) -> Option<Vec<(String, i64)>>;

    /// Whether a folder of an earlier listing changed: a name came, went or was replaced.
    fn folders_changed(&self, place: Place, folders: &[(String, i64)]) -> bool;

    /// Those of `folders` that changed: a name came, went or was replaced.
    fn changed_folders<'a>(&self, place: Place, folders: &'a [(String, i64)]) -> Vec<&'a str>;

    /// Tells which live memories change from now on; `wake` is called from another thread when there is
    /// something to take.
    ///
    /// # Errors
    ///
    /// Says why, where changes cannot be told.
    fn changes(&self, wake: Box<dyn Fn() + Send + Sync>) -> Result<Box<dyn ChangeFeed>, String>;

    /// Clears the temporary files whose writer is gone; returns what was cleared. One that holds
    /// a text nobody has seen becomes a conflict copy.
    fn remove_leftovers(&self, place: Place, temps: &[String]) -> Vec<Leftover>;
}

/// The half of the contract that changes files.
pub trait WritableStorage: Storage {
    /// Makes the place ready for memories, if it is not.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be made ready.
    fn create(&self) -> Result<(), FilesError>;

    /// Puts a new memory in place.
    ///
    /// # Errors
    ///
    /// [`FilesError::Taken`] if the name exists; any failed step fails the whole.
    fn add(&self, place: Place, name: &str, bytes: &[u8]) -> Result<(), FilesError>;

    /// As [`WritableStorage::add`] for each of `files`, names with their bytes, in the same order;
    /// cheaper than one after another.
    fn add_many(&self, place: Place, files: &[(String, Vec<u8>)]) -> Vec<Result<(), FilesError>>;

    /// Replaces the text of a memory that was read as `seen`; its permissions stay.
    ///
    /// # Errors
    ///
    /// Fails if the file is gone, or if its lock cannot be had within two seconds.
    fn replace(
        &self,
        place: Place,
        name: &str,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Replaced, FilesError>;

    /// As [`WritableStorage::replace`]; the text that was seen is kept aside, for the history.
    ///
    /// # Errors
    ///
    /// As for [`WritableStorage::replace`].
    fn replace_and_keep(
        &self,
        place: Place,
        name: &str,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Replaced, FilesError>;

    /// As [`WritableStorage::replace`] for each of `files`, names with what was seen and the new bytes,
    /// in the same order; cheaper than one after another.
    fn replace_many(
        &self,
        place: Place,
        files: &[(String, Version, Vec<u8>)],
    ) -> Vec<Result<Replaced, FilesError>>;

    /// Takes a memory away that was read as `seen` and is kept elsewhere, as in a history.
    ///
    /// # Errors
    ///
    /// As for [`WritableStorage::replace`].
    fn remove(&self, place: Place, name: &str, seen: &Version) -> Result<Replaced, FilesError>;

    /// Moves a memory to the other folder, under the same name.
    ///
    /// # Errors
    ///
    /// [`FilesError::Missing`] or [`FilesError::Taken`]; nothing is ever replaced.
    fn relocate(&self, name: &str, from: Place, to: Place) -> Result<(), FilesError>;

    /// Writes, replaces or removes a file beside the folders of memories, such as the settings,
    /// that was read as `seen`. A text that somebody writes in the same moment may be lost: such
    /// files are small, and in the history.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    fn put_beside(
        &self,
        path: &str,
        seen: Option<&Version>,
        bytes: Option<&[u8]>,
    ) -> Result<Replaced, FilesError>;

    /// Writes `bytes` beside the memory `name` as a conflict copy; returns the copy's name.
    ///
    /// # Errors
    ///
    /// As for [`WritableStorage::add`].
    fn add_copy(&self, name: &str, bytes: &[u8]) -> Result<String, FilesError>;
}

/// Reads many files of one place.
pub trait Reader: Send + Sync {
    /// Reads the file `name`: at most `limit` bytes of text, and the hash of all of it.
    ///
    /// # Errors
    ///
    /// [`FilesError::Missing`], [`FilesError::NotRegular`], or what the system said.
    fn read(&self, name: &str, limit: u64) -> Result<Version, FilesError>;

    /// Size and times of the regular file `name`, which is not read; `None` if there is none.
    fn look(&self, name: &str) -> Option<Entry>;

    /// A reader that opens the folder once, for many files. It looks names up in the folder as it is at
    /// each reading, and does not see another folder that is put in its place.
    fn held(self: Box<Self>) -> Box<dyn Reader>;
}
