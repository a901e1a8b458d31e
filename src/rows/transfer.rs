//! Copies of whole stores: a folder into a workspace, and a workspace into a folder.
//!
//! Guarantees: bytes and times of memories, live and archived, are the same on both sides, as are those of the
//! settings, tombstones and proposals; nothing is overwritten; a copy that was interrupted can be made again. Journals
//! are copied by what they say: the sum of uses, and all records. Other files of a folder are left there.

use std::path::PathBuf;

use super::error::RowsError;
use super::storage::{SETTINGS, added_files};
use super::workspace::{BESIDE, Rows, path_of, place_name};
use crate::files::{
    Entry, FilesError, PROPOSALS, Place, Reader, Replaced, Skipped, Storage, Store, TOMBSTONES,
    Version, WritableStorage,
};
use crate::journal::{JournalError, JournalFolder, LineJournal, copy_to_folder, copy_to_lines};

/// Maximum number of files, and of their bytes, that are copied together.
const MAX_FILES: usize = 500;
const MAX_BYTES: u64 = 4 << 20;

/// Result of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Copied {
    /// Number of files that were added.
    pub added: usize,
    /// Number of files that were there with the same bytes.
    pub known: usize,
    /// Paths of files that are there with other bytes, and were left as they are.
    pub different: Vec<String>,
    /// Entries of the folder that are no readable memories.
    pub skipped: Vec<Skipped>,
}

/// Error of a copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Rows(#[from] RowsError),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
}

/// A file to be copied: its place, and its name there.
struct File {
    place: &'static str,
    entry: Entry,
}

/// Copies the store in the folder of `from` into the workspace `rows`.
///
/// # Errors
///
/// Fails if a side cannot be read or written; what was copied stays.
pub fn import(rows: &Rows, from: &Store) -> Result<Copied, CopyError> {
    let mut copied = Copied::default();
    for files in batches(files_of(from, &mut copied.skipped)?) {
        let texts = read_all(from, &files)?;
        add_batch(rows, &files, &texts, &mut copied)?;
    }
    let journal = LineJournal::new(rows.clone());
    // Uses of a journal that was copied before would count twice.
    if journal.is_empty()? {
        copy_to_lines(&JournalFolder::new(from.root(), from.state()), &journal)?;
    }
    Ok(copied)
}

fn add_batch(
    rows: &Rows,
    files: &[File],
    texts: &[Version],
    copied: &mut Copied,
) -> Result<(), CopyError> {
    let path = |file: &File| path_of(file.place, &file.entry.name);
    let batch = files.iter().zip(texts).map(|(file, version)| {
        let modified = file.entry.stamp.modified;
        (path(file), version.bytes.clone(), modified)
    });
    let batch: Vec<(String, Vec<u8>, i64)> = batch.collect();
    for (added, (path, bytes, _)) in added_files(rows, &batch)?.into_iter().zip(&batch) {
        match added {
            Ok(()) => copied.added += 1,
            Err(FilesError::Taken { .. }) => {
                let there = rows.version_at(path)?;
                match there.is_some_and(|there| there.bytes == *bytes) {
                    true => copied.known += 1,
                    false => copied.different.push(path.clone()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Copies the workspace `rows` into the folder of `to`, which does not exist, or is empty.
///
/// # Errors
///
/// Fails if there is something in the folder, or if a side cannot be read or written.
pub fn export(rows: &Rows, to: &Store) -> Result<Copied, CopyError> {
    let root = to.root();
    if std::fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(CopyError::NotEmpty(root.to_owned()));
    }
    to.create()?;
    let mut copied = Copied::default();
    for files in batches(files_of(rows, &mut copied.skipped)?) {
        let texts = read_all(rows, &files)?;
        copied.added += put_batch(to, &files, texts)?;
    }
    let journal = LineJournal::new(rows.clone());
    copy_to_folder(&journal, &JournalFolder::new(root, to.state()))?;
    Ok(copied)
}

/// Returns the files of a store, in the order of their paths.
fn files_of(from: &dyn Storage, skipped: &mut Vec<Skipped>) -> Result<Vec<File>, FilesError> {
    let mut files = Vec::new();
    for place in [Place::Files, Place::Archive] {
        let listing = from.list(place)?;
        let file = |entry| File {
            place: place_name(place),
            entry,
        };
        files.extend(listing.entries.into_iter().map(file));
        skipped.extend(listing.skipped);
    }
    let mut paths = vec![SETTINGS.to_owned()];
    for top in [TOMBSTONES, PROPOSALS] {
        let names = from.names_beside(top)?.into_iter();
        paths.extend(names.map(|name| format!("{top}/{name}")));
    }
    paths.sort_unstable();
    let beside = from.beside();
    let entries = paths.iter().filter_map(|path| beside.look(path));
    files.extend(entries.map(|entry| File {
        place: BESIDE,
        entry,
    }));
    Ok(files)
}

/// Splits files into batches.
fn batches(files: Vec<File>) -> Vec<Vec<File>> {
    let (mut batches, mut bytes) = (Vec::<Vec<File>>::new(), MAX_BYTES);
    for file in files {
        bytes += file.entry.stamp.size;
        match batches.last_mut() {
            Some(batch) if bytes <= MAX_BYTES && batch.len() < MAX_FILES => batch.push(file),
            _ => {
                bytes = file.entry.stamp.size;
                batches.push(vec![file]);
            }
        }
    }
    batches
}

/// Reads the texts of `files`, in the same order.
fn read_all(from: &dyn Storage, files: &[File]) -> Result<Vec<Version>, FilesError> {
    let mut texts = Vec::with_capacity(files.len());
    for run in files.chunk_by(|one, other| one.place == other.place) {
        let reader = match Place::of(&path_of(run[0].place, &run[0].entry.name)) {
            Some((place, _)) if run[0].place != BESIDE => from.reader(place),
            _ => from.beside(),
        };
        let names: Vec<&str> = run.iter().map(|file| file.entry.name.as_str()).collect();
        let read = match reader.read_many(&names, u64::MAX) {
            Some(read) => read,
            None => one_by_one(reader.held().as_ref(), &names),
        };
        texts.extend(read.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    Ok(texts)
}

fn one_by_one(reader: &dyn Reader, names: &[&str]) -> Vec<Result<Version, FilesError>> {
    let read = names.iter().map(|name| reader.read(name, u64::MAX));
    read.collect()
}

/// Puts files into the folder of a store, with their times; returns their number.
fn put_batch(to: &Store, files: &[File], texts: Vec<Version>) -> Result<usize, FilesError> {
    let count = files.len();
    for (file, version) in files.iter().zip(texts) {
        let name = &file.entry.name;
        let path = path_of(file.place, name);
        match Place::of(&path).filter(|_| file.place != BESIDE) {
            Some((place, _)) => {
                to.add(place, name, &version.bytes)?;
                to.set_modified(place, &version, version.entry.stamp.modified)?;
            }
            None => match to.put_beside(name, None, Some(&version.bytes))? {
                Replaced::Done => {}
                _ => return Err(FilesError::Taken { path: path.into() }),
            },
        }
    }
    Ok(count)
}
