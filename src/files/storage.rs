//! The contract between the engine and a place that keeps memories.
//!
//! An implementation guarantees: a memory exists whole under its name or not at all; a text is replaced
//! or removed only at the version that the caller read ([`Version`]); a call returns once its change
//! survives a power cut; nothing is overwritten unseen. [`Store`](super::Store) is the
//! implementation for a directory. Features of a directory alone (paths, permissions, folders that are synced
//! once for many files) are no part of the contract. `journal::Journal` is the contract of journals.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use super::FilesError;
use super::folders::Place;
use super::hash::content_hash;
use super::list::{Entry, Listing, Skipped};
use super::swap::copy_name;

/// One version of one file.
#[derive(Debug, Clone)]
pub struct Version {
    /// Name and metadata of the file.
    pub entry: Entry,
    /// Bytes of the file, up to the limit of the call.
    pub bytes: Vec<u8>,
    /// First 16 bytes of the BLAKE3 hash of the whole file.
    pub hash: u128,
}

/// Outcome of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaced {
    Done,
    /// The file is not the version that was read, and is unchanged.
    Stale,
    /// Done; a text that another process wrote in the same moment is kept as a conflict copy.
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
    /// Name of the file.
    pub name: String,
}

/// Changes since the last call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// Names of changed files, as in listings.
    pub names: BTreeSet<String>,
    /// Whether other files may have changed, too.
    pub everything: bool,
    /// Number of events, also about files of no interest.
    pub events: u64,
}

impl Changed {
    /// Adds later changes.
    pub fn add(&mut self, later: Changed) {
        self.names.extend(later.names);
        self.everything |= later.everything;
        self.events += later.events;
    }
}

/// Feed of changed live memories, until dropped. The first change is `everything`: earlier changes are
/// unknown.
pub trait ChangeFeed: Send + Sync {
    /// Takes the changes since the last call.
    fn take(&self) -> Changed;

    /// Notes whether everything that was taken so far is in the index; what is not may be told again.
    fn note_indexed(&self, is_indexed: bool) {
        let _ = is_indexed;
    }

    /// Waits until there are changes, for `patience` at most.
    fn wait(&self, patience: Duration);

    /// Returns whether there are changes.
    fn has_changes(&self) -> bool;

    /// Adds `folder`, as named by a listing, to the feed; to be called before its files are read, so that no
    /// change is missed. Does nothing if it was added before.
    fn include(&self, folder: &str);

    /// Returns the reason if changes may be missing from now on; a new feed is needed then.
    fn lost(&self) -> Option<String>;

    /// Returns whether [`ChangeFeed::take`] reports each change that was complete before the call. Elsewhere
    /// the system reports changes with a delay, and only [`Storage::folders_changed`] detects them before.
    fn tells_at_once(&self) -> bool;
}

/// Changes of memories that were made together, as a storage recorded them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedChange {
    /// Number of the last of them.
    pub number: u64,
    /// Time in nanoseconds since 1970.
    pub at: i64,
    /// Paths of the changed files, such as `archive/x.md`, in order; each with whether it was removed.
    pub files: Vec<(String, bool)>,
    /// Number of the change that they undo, as far as these files were changed by it.
    pub undoes: Option<u64>,
    /// Author of a change that was made elsewhere before.
    pub author: Option<String>,
    /// Tool of such a change.
    pub tool: Option<String>,
}

/// Text of a file before or after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedText {
    /// There was no file.
    None,
    Kept(Vec<u8>),
    /// There was a file, and its text is not kept.
    NotKept,
}

/// A file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    /// Path, such as `archive/x.md`.
    pub path: String,
    pub before: RecordedText,
    pub after: RecordedText,
}

/// New text of one file, as part of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// Path, such as `archive/x.md`.
    pub path: String,
    /// Hash of the present text; `None` if there must be no file.
    pub seen: Option<u128>,
    /// New text; `None` removes the file.
    pub bytes: Option<Vec<u8>>,
    /// Time of the new text in nanoseconds since 1970; `None` is the present.
    pub modified: Option<i64>,
}

/// An earlier change of one memory, as a history outside of its storage has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierChange {
    /// Time in nanoseconds since 1970.
    pub at: i64,
    /// Name of who made it.
    pub author: String,
    /// Tool by which it was made; empty if unknown.
    pub tool: String,
    /// Paths of its files, such as `archive/x.md`, each with its new text; `None` removes the file.
    pub files: Vec<(String, Option<Vec<u8>>)>,
}

/// A history outside of a storage. What it cannot read, it leaves away.
pub trait EarlierChanges {
    /// Returns the changes of the memory that lies at `path` now, oldest first.
    fn of(&self, path: &str) -> Vec<EarlierChange>;
}

/// A history outside of a storage that is being written.
pub trait ChangeWriter {
    /// Adds a change, which is not earlier than those before.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    fn add(&mut self, change: EarlierChange) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// A change by its number, which is given again where changes were lost, and by a random number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeMark {
    /// Number of the change; 0 before the first one.
    pub number: u64,
    /// Random number of the change; 0 before the first one.
    pub token: i64,
}

/// Files at one moment, by a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedFiles {
    /// Identity of the storage.
    pub identity: String,
    /// Last change that the files contain.
    pub mark: ChangeMark,
    /// The files; fewer than were asked for at the end of the listing.
    pub files: Vec<LoggedFile>,
}

/// A file of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedFile {
    /// Path below the folder of a store.
    pub path: String,
    /// Its text; `None` if it is removed.
    pub text: Option<LoggedText>,
}

/// Properties of a text of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedText {
    /// Hash of the text.
    pub hash: u128,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the text in nanoseconds since 1970.
    pub modified: i64,
}

/// History of a storage that keeps former texts itself.
pub trait ChangeLog {
    /// Returns a text that identifies this storage, and differs for one that is made anew under its name; and the
    /// number of its last change.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read.
    fn state(&self) -> Result<(String, u64), FilesError>;

    /// Returns the first `most` memories and tombstones after the path `after`, in the order of their paths.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read.
    fn listed(&self, after: &str, most: usize) -> Result<LoggedFiles, FilesError>;

    /// As [`ChangeLog::listed`], of those that changed after `mark`, also of removed ones; `None` if there is no such mark:
    /// it is of another storage, or of changes that were lost.
    ///
    /// # Errors
    ///
    /// As for [`ChangeLog::listed`].
    fn listed_since(
        &self,
        mark: ChangeMark,
        after: &str,
        most: usize,
    ) -> Result<Option<LoggedFiles>, FilesError>;

    /// Returns at most `most` changes of memories, newest first; with `files`, of those.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read.
    fn recorded(
        &self,
        files: Option<FilesOf<'_>>,
        most: usize,
    ) -> Result<Vec<RecordedChange>, FilesError>;

    /// Returns the number of the last change of `files` at or before a time in nanoseconds since 1970.
    /// Changes that were made elsewhere before have later numbers than their times say.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    fn number_at(&self, files: FilesOf<'_>, at: i64) -> Result<Option<u64>, FilesError>;

    /// Returns the changes of memories that undo others, newest first.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read.
    fn undos(&self) -> Result<Vec<RecordedChange>, FilesError>;

    /// Returns the change with the number `number`, or that is made together with it, and the files of memories before
    /// and after it; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    fn change(
        &self,
        number: u64,
    ) -> Result<Option<(RecordedChange, Vec<RecordedFile>)>, FilesError>;

    /// Undoes the change `number` by `edits` of different files: all of them, or none if one of the files has another
    /// text by now. Returns the number of the new change, if it was made.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written; no file is changed then.
    fn undo(&self, number: u64, edits: &[FileEdit]) -> Result<Option<u64>, FilesError>;

    /// Returns path and text of `files` after the change `number`, of a live one first; `None` if none was there, or it
    /// is not kept.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    fn text_after(
        &self,
        files: FilesOf<'_>,
        number: u64,
    ) -> Result<Option<(String, Vec<u8>)>, FilesError>;

    /// Returns the names of files that a change had and that, without folders, begin with `beginning`, or whose handle
    /// does. They stand below `files/` or `archive/`.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read.
    fn names_like(&self, beginning: &str) -> Result<Vec<String>, FilesError>;
}

/// Numbers of the changes of a storage that several servers write, and the age of what is read where it is away.
///
/// A call that reads or writes for a client is enclosed by [`Sequence::begin`] and [`Sequence::end`], on one thread.
pub trait Sequence: Send + Sync {
    /// Begins a call whose answer must hold the change `least`. May wait for it, for 50 ms.
    ///
    /// # Errors
    ///
    /// Fails if there is no such change, or nothing that has it can be reached; a call that `writes` also if the place
    /// of writes cannot be reached.
    fn begin(&self, least: Option<u64>, writes: bool) -> Result<BegunCall, SequenceError>;

    /// Ends the call; returns what its answer holds.
    fn end(&self, begun: BegunCall) -> EndedCall;

    /// Has the call on this thread end as one that is answered from what was known before, since the storage is away.
    fn answer_as_known(&self);
}

/// A call between [`Sequence::begin`] and [`Sequence::end`].
#[derive(Debug, Clone, Copy)]
pub struct BegunCall {
    /// Number of a change that the answer must hold; 0 is none.
    pub least: u64,
    /// Number of the last change that was known.
    pub known: u64,
    /// Whether the call writes.
    pub writes: bool,
}

/// Properties of the answer of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndedCall {
    /// Number of a change that the answer holds, with all before it; of a write, its own or a later one.
    pub number: Option<u64>,
    /// Time since everything in the answer was known to be the newest; `None` if it is.
    pub age: Option<Duration>,
    /// Whether the storage was away when the call needed it, so that its answer is none.
    pub is_incomplete: bool,
    /// Whether the call changed a file, or may have.
    pub may_have_written: bool,
}

impl EndedCall {
    /// Returns the message for a call that lacks what the storage did not give.
    pub fn lack(&self, writes: bool) -> &'static str {
        match (self.may_have_written, writes) {
            (true, _) => {
                "the database went away: read whether it was written, before you write it again"
            }
            (false, true) => {
                "the database cannot be reached, and nothing was written: try again later"
            }
            (false, false) => {
                "the database cannot be reached, and what the answer needs was not read before: try again later"
            }
        }
    }
}

/// Error of the beginning of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// The number is of another workspace, or was lost with its database.
    #[error("there is no change {asked} in this workspace, the last one is {last}")]
    Unknown { asked: u64, last: u64 },
    /// The call read and wrote no file.
    #[error("the database cannot be reached, and nothing was {}: try again later", if *.writes { "written" } else { "read" })]
    Away { writes: bool },
}

/// Read access to memories. Names come from its own listings or from a parsed stem.
pub trait Storage: Send + Sync {
    /// Lists the memories of `place`; a folder that does not exist is empty.
    ///
    /// # Errors
    ///
    /// Fails if the folder exists and cannot be read.
    fn list(&self, place: Place) -> Result<Listing, FilesError>;

    /// Lists as [`Storage::list`]; calls `before` with each folder before its names are read.
    ///
    /// # Errors
    ///
    /// As for [`Storage::list`].
    fn list_after(&self, place: Place, before: &dyn Fn(&str)) -> Result<Listing, FilesError>;

    /// Returns the entries of the files called `file` in `place`, in whatever folder below it.
    ///
    /// # Errors
    ///
    /// As for [`Storage::list`].
    fn list_called(&self, place: Place, file: &str) -> Result<Vec<Entry>, FilesError> {
        let mut entries = self.list(place)?.entries;
        entries.retain(|entry| entry.name.rsplit('/').next() == Some(file));
        Ok(entries)
    }

    /// Returns size and times of the memory `name` without reading it, or the reason why it is no readable
    /// memory; `None` if there is none.
    fn look_at(&self, place: Place, name: &str) -> Option<Result<Entry, Skipped>>;

    /// Returns a reader of many files of `place`.
    fn reader(&self, place: Place) -> Box<dyn Reader>;

    /// Returns a reader of what lies beside the folders of memories.
    fn beside(&self) -> Box<dyn Reader>;

    /// Reads the file at `path` below the store's folder, such as `archive/x.md`; `None` if there is no
    /// regular file.
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

    /// Returns whether the id of a memory ends with the eight hex digits `handle`. Checks a limited number of
    /// names, so a collision is unlikely but possible.
    fn has_handle(&self, handle: &str) -> bool;

    /// Returns the names of the files in `top`, a folder beside the memories; none if there is no such folder.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be listed.
    fn names_beside(&self, top: &'static str) -> Result<Vec<String>, FilesError>;

    /// Returns whether live memories lie in `folder`, as named by a listing, or may: an empty folder counts.
    fn has_folder(&self, folder: &str) -> bool;

    /// Returns whether nobody can see a text before it is complete. In a directory, other programs write files
    /// piece by piece.
    fn shows_whole_texts(&self) -> bool {
        false
    }

    /// Returns the history that this storage keeps itself; `None` of a directory, whose history is git's.
    fn change_log(&self) -> Option<&dyn ChangeLog> {
        None
    }

    /// Returns the numbers of changes; `None` of a directory, where every answer is from the files as they are.
    fn sequence(&self) -> Option<&dyn Sequence> {
        None
    }

    /// Returns the stems of the purged memories.
    ///
    /// # Errors
    ///
    /// Fails if they exist and cannot be read.
    fn purged(&self) -> Result<BTreeSet<String>, FilesError>;

    /// Returns `folders`, as in [`Listing::folders`], with their present modification times, in nanoseconds
    /// since 1970; `None` if one of them is gone.
    fn folder_times(&self, place: Place, folders: &[(String, i64)]) -> Option<Vec<(String, i64)>>;

    /// Returns whether a folder of an earlier listing changed: a name was added, removed or replaced.
    fn folders_changed(&self, place: Place, folders: &[(String, i64)]) -> bool;

    /// Returns those of `folders` that changed: a name was added, removed or replaced.
    fn changed_folders<'a>(&self, place: Place, folders: &'a [(String, i64)]) -> Vec<&'a str>;

    /// Returns a feed of the live memories that change from now on; `wake` is called from another thread when
    /// there are changes.
    ///
    /// # Errors
    ///
    /// Fails with the reason where changes cannot be reported.
    fn changes(&self, wake: Box<dyn Fn() + Send + Sync>) -> Result<Box<dyn ChangeFeed>, String>;

    /// Removes the temporary files whose writer is gone, and returns them. One with an unseen text becomes a
    /// conflict copy.
    fn remove_leftovers(&self, place: Place, temps: &[String]) -> Vec<Leftover>;
}

/// Files of one memory, live and in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesOf<'a> {
    /// The file of this name below `files/` or `archive/`.
    Name(&'a str),
    /// The file of this stem, in whatever folder.
    Stem(&'a str),
}

impl<'a> FilesOf<'a> {
    /// Returns whether the file `name`, below `files/` or `archive/`, is one of them.
    pub fn has(&self, name: &str) -> bool {
        match self {
            FilesOf::Name(own) => name == *own,
            FilesOf::Stem(stem) => file_of(name).strip_suffix(".md") == Some(*stem),
        }
    }

    /// Returns the name without folders that each of them has.
    pub fn file(&self) -> Cow<'a, str> {
        match self {
            FilesOf::Name(name) => Cow::Borrowed(file_of(name)),
            FilesOf::Stem(stem) => Cow::Owned(format!("{stem}.md")),
        }
    }
}

/// Returns a name without its folders.
pub fn file_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Write access to memories.
pub trait WritableStorage: Storage {
    /// Creates the store, if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be created.
    fn create(&self) -> Result<(), FilesError>;

    /// Adds a new memory.
    ///
    /// # Errors
    ///
    /// [`FilesError::Taken`] if the name exists; any failed step fails the whole.
    fn add(&self, place: Place, name: &str, bytes: &[u8]) -> Result<(), FilesError>;

    /// Adds each of `files`, names with their bytes, as [`WritableStorage::add`]; results are in the same
    /// order.
    fn add_many(&self, place: Place, files: &[(String, Vec<u8>)]) -> Vec<Result<(), FilesError>>;

    /// Replaces the text of a memory that was read as `seen`, and that needs no copy; its permissions stay.
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

    /// Replaces as [`WritableStorage::replace`]; the former text is kept aside, for the history.
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

    /// Replaces each of `files`, names with the read version and the new bytes, as
    /// [`WritableStorage::replace`]; results are in the same order.
    fn replace_many(
        &self,
        place: Place,
        files: &[(String, Version, Vec<u8>)],
    ) -> Vec<Result<Replaced, FilesError>>;

    /// Removes a memory that was read as `seen` and is kept elsewhere, as in a history.
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
    fn relocate(&self, name: &str, from: Place, to: Place) -> Result<(), FilesError> {
        self.rename((from, name), (to, name))
    }

    /// Moves or renames a memory.
    ///
    /// # Errors
    ///
    /// As for [`WritableStorage::relocate`].
    fn rename(&self, from: (Place, &str), to: (Place, &str)) -> Result<(), FilesError>;

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

    /// Erases the former texts of memories, live and archived, that this storage keeps, and copies of indexes that may
    /// hold words of them. A directory keeps none: they are in the history, or in the archive.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be erased.
    fn erase_former(&self, names: FilesOf<'_>) -> Result<(), FilesError> {
        let _ = names;
        Ok(())
    }

    /// Writes `bytes` beside the memory `name` as a conflict copy; returns the copy's name.
    ///
    /// # Errors
    ///
    /// As for [`WritableStorage::add`].
    fn add_copy(&self, name: &str, bytes: &[u8]) -> Result<String, FilesError> {
        let stem = name.strip_suffix(".md").unwrap_or(name);
        let mut number = content_hash(bytes) as u64;
        loop {
            let copy = copy_name(stem, number);
            match self.add(Place::Files, &copy, bytes) {
                Err(FilesError::Taken { .. }) => {
                    // The same text was kept before, unless somebody has changed the copy since.
                    let kept = self.reader(Place::Files).read(&copy, u64::MAX);
                    if kept.is_ok_and(|kept| kept.bytes == bytes) {
                        return Ok(copy);
                    }
                    number = number.wrapping_add(1);
                }
                other => return other.map(|()| copy),
            }
        }
    }
}

/// Reader of many files of one place.
pub trait Reader: Send + Sync {
    /// Reads the file `name`: at most `limit` bytes of text, and the hash of all of it.
    ///
    /// # Errors
    ///
    /// [`FilesError::Missing`], [`FilesError::NotRegular`], or what the system said.
    fn read(&self, name: &str, limit: u64) -> Result<Version, FilesError>;

    /// Reads each of `names`, as [`Reader::read`], with one question to a distant storage. `None` where the files
    /// are near, so that callers read them one by one, in several threads.
    fn read_many(&self, names: &[&str], limit: u64) -> Option<Vec<Result<Version, FilesError>>> {
        let _ = (names, limit);
        None
    }

    /// Returns size and times of the regular file `name` without reading it; `None` if there is none.
    fn look(&self, name: &str) -> Option<Entry>;

    /// Returns a reader that opens the folder once, for many files. It reads the present files of that folder,
    /// and does not see another folder that replaces it.
    fn held(self: Box<Self>) -> Box<dyn Reader>;
}
