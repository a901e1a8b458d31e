//! All changes of files by the engine.
//!
//! Promises: no other module of the engine changes a file of the store, and `live` is notified of each
//! changed memory here. The caller records the tool and the reason
//! ([`Writer::note_change`]). [`crate::files::WritableStorage`] documents the errors.

use crate::engine::error::EngineError;
use crate::engine::write::writer::Writer;
use crate::files::{
    ChangeLog, FileEdit, FilesError, FilesOf, Place, Replaced, ReplacedText, Version,
};

/// Place and name of a memory.
pub(in crate::engine) type At<'a> = (Place, &'a str);

impl Writer {
    /// Makes `live` read the file `name` again if it was changed, or found in another version.
    fn tell_live<T>(&self, name: &str, done: Result<T, FilesError>) -> Result<T, FilesError> {
        done.inspect(|_| self.live.note_own_change(name))
    }

    /// Creates the folders for memories, if they are missing.
    pub(in crate::engine) fn create(&self) -> Result<(), FilesError> {
        self.storage.create()
    }

    /// Writes a new memory.
    pub(in crate::engine) fn add(&self, at: At<'_>, bytes: &[u8]) -> Result<(), FilesError> {
        self.tell_live(at.1, self.storage.add(at.0, at.1, bytes))
    }

    /// Writes a live memory, which survives a power cut once its folder is synced.
    pub(in crate::engine) fn add_unsynced(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), FilesError> {
        let added = match self.live.directory() {
            Some(directory) => directory.add_unsynced(Place::Files, name, bytes).map(drop),
            None => self.storage.add(Place::Files, name, bytes),
        };
        self.tell_live(name, added)
    }

    /// Writes new memories, given by names and bytes.
    pub(in crate::engine) fn add_many(
        &self,
        place: Place,
        files: &[(String, Vec<u8>)],
    ) -> Vec<Result<(), FilesError>> {
        let added = self.storage.add_many(place, files).into_iter();
        let added = added.zip(files);
        added
            .map(|(added, (name, _))| self.tell_live(name, added))
            .collect()
    }

    /// Writes `bytes` beside the memory `name` as a conflict copy; returns the copy's name.
    pub(in crate::engine) fn add_copy(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<String, FilesError> {
        let copy = self.storage.add_copy(name, bytes)?;
        self.live.note_own_change(&copy);
        Ok(copy)
    }

    /// Replaces a text that needs no copy, such as one with a credential or one that a commit
    /// holds. Others are replaced by [`replace_text`](super::replace::replace_text).
    pub(in crate::engine) fn replace(
        &self,
        at: At<'_>,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Replaced, FilesError> {
        self.tell_live(at.1, self.storage.replace(at.0, at.1, seen, bytes))
    }

    /// Replaces a text and keeps it aside for the history.
    pub(in crate::engine) fn replace_and_keep(
        &self,
        at: At<'_>,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Replaced, FilesError> {
        let replaced = self.storage.replace_and_keep(at.0, at.1, seen, bytes);
        self.tell_live(at.1, replaced)
    }

    /// As [`Writer::replace`] for each of `files`, live memories: names with the seen versions and the new
    /// bytes.
    pub(in crate::engine) fn replace_many(
        &self,
        files: &[(String, Version, Vec<u8>)],
    ) -> Vec<Result<Replaced, FilesError>> {
        let replaced = self.storage.replace_many(Place::Files, files).into_iter();
        let replaced = replaced.zip(files);
        replaced
            .map(|(replaced, (name, ..))| self.tell_live(name, replaced))
            .collect()
    }

    /// Removes a memory that is kept elsewhere, such as in the history.
    pub(in crate::engine) fn remove(
        &self,
        at: At<'_>,
        seen: &Version,
    ) -> Result<Replaced, FilesError> {
        self.tell_live(at.1, self.storage.remove(at.0, at.1, seen))
    }

    /// Erases the former texts of memories that the storage keeps.
    pub(in crate::engine) fn erase_former(&self, names: FilesOf<'_>) -> Result<(), FilesError> {
        self.storage.erase_former(names)
    }

    /// Moves a memory to the other folder, under the same name.
    pub(in crate::engine) fn relocate(
        &self,
        name: &str,
        from: Place,
        to: Place,
    ) -> Result<(), FilesError> {
        self.tell_live(name, self.storage.relocate(name, from, to))
    }

    /// Renames or moves a memory; it survives a power cut once both folders are synced.
    pub(in crate::engine) fn rename(&self, from: At<'_>, to: At<'_>) -> Result<(), FilesError> {
        let renamed = match self.live.directory() {
            Some(directory) => directory.rename_unsynced(from, to),
            None => self.storage.rename(from, to),
        };
        self.tell_live(from.1, renamed)?;
        self.live.note_own_change(to.1);
        Ok(())
    }

    /// Syncs `folder`, below the place's own, so that its names survive a power cut. Other storages than a
    /// directory have synced them before.
    pub(in crate::engine) fn sync_folder(
        &self,
        place: Place,
        folder: &str,
    ) -> Result<(), FilesError> {
        match self.live.directory() {
            Some(directory) => directory.sync_folder(place, folder),
            None => Ok(()),
        }
    }

    /// Removes an empty folder, below the place's own, of a directory.
    pub(in crate::engine) fn remove_if_empty(&self, place: Place, folder: &str) {
        if let Some(directory) = self.live.directory() {
            directory.remove_if_empty(place, folder);
        }
    }

    /// Copies the permissions of one memory's file to another's, in a directory.
    pub(in crate::engine) fn copy_mode(&self, from: At<'_>, to: At<'_>) -> Result<(), FilesError> {
        match self.live.directory() {
            Some(directory) => directory.copy_mode(from, to),
            None => Ok(()),
        }
    }

    /// Undoes the change `number` of a storage that keeps its history, by `edits` of different files: all of them, or
    /// none. Returns the number of the new change, if it was made.
    pub(in crate::engine) fn undo_change(
        &self,
        history: &dyn ChangeLog,
        number: u64,
        edits: &[FileEdit],
    ) -> Result<Option<u64>, FilesError> {
        let made = history.undo(number, edits)?;
        for (_, name) in edits.iter().filter_map(|edit| Place::of(&edit.path)) {
            self.live.note_own_change(name);
        }
        Ok(made)
    }

    /// Sets the modification time of a live memory's file, in nanoseconds since 1970.
    pub(in crate::engine) fn set_modified(
        &self,
        seen: &Version,
        at: i64,
    ) -> Result<(), EngineError> {
        let directory = self.live.need_directory("the time of a file")?;
        let set = directory.set_modified(Place::Files, seen, at);
        Ok(self.tell_live(&seen.entry.name, set)?)
    }

    /// Writes, replaces or removes a file beside the folders of memories, such as the settings.
    pub(in crate::engine) fn put_beside(
        &self,
        path: &str,
        seen: Option<&Version>,
        bytes: Option<&[u8]>,
    ) -> Result<Replaced, FilesError> {
        self.storage.put_beside(path, seen, bytes)
    }

    /// Removes a replaced text that was kept aside.
    pub(in crate::engine) fn release_replaced(&self, text: &ReplacedText) {
        if let Some(directory) = self.live.directory() {
            directory.release_replaced(text);
        }
    }
}
