//! The repository's index: it tells which files are as committed without reading them, and is
//! told of what was committed, so that `git status` shows the truth. What somebody else staged in
//! it stays as it is.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::path::Path;

use git2::IndexEntry;
use git2::IndexTime;

use super::GitError;
use super::Id;
use super::Repository;
use super::To;

/// What the system says of a file, and what it held then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamped {
    /// Below the store.
    pub path: String,
    pub size: u64,
    /// As `changed`, in nanoseconds since 1970.
    pub modified: i64,
    pub inode: u64,
    pub changed: i64,
}

/// What the index is told of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// What the branch held when the index was told last.
    pub before: Vec<Option<Id>>,
    /// What it holds now.
    pub after: Option<Id>,
    /// Of the file that holds `after`.
    pub stamped: Option<Stamped>,
}

/// What the index says of files by their stamps.
pub struct KnownFiles {
    by_path: HashMap<String, (Id, Stamped)>,
    /// A file that was modified later may be another one by now.
    certain_before: i64,
}

impl KnownFiles {
    /// What the file holds, if it is the one that the index knows.
    pub fn id_of(&self, file: &Stamped) -> Option<Id> {
        let (id, known) = self.by_path.get(&file.path)?;
        let cut = |inode: u64| inode as u32;
        let is_same = known.size == u64::from(file.size as u32)
            && known.modified == file.modified
            && known.changed == file.changed
            && known.inode == u64::from(cut(file.inode))
            && file.changed.max(file.modified) < self.certain_before;
        is_same.then_some(*id)
    }
}

impl Repository {
    /// What the index knows of the files below the store; nothing if it cannot be read.
    pub fn known_files(&self) -> KnownFiles {
        let mut known = KnownFiles {
            by_path: HashMap::new(),
            certain_before: i64::MIN,
        };
        let Ok(mut index) = self.inner.index() else {
            return known;
        };
        let written = index.path().and_then(|path| modified(path).ok());
        let (Some(written), Ok(())) = (written, index.read(false)) else {
            return known;
        };
        // The coarsest clock that file systems keep: two seconds.
        known.certain_before = written.saturating_sub(2_000_000_000);
        for entry in index.iter() {
            let Ok(path) = String::from_utf8(entry.path) else {
                continue;
            };
            let Some(path) = path.strip_prefix(&self.prefix) else {
                continue;
            };
            let stamped = Stamped {
                path: path.to_owned(),
                size: u64::from(entry.file_size),
                modified: nanos(entry.mtime),
                inode: u64::from(entry.ino),
                changed: nanos(entry.ctime),
            };
            let known_as = (Id(entry.id), stamped);
            known.by_path.insert(path.to_owned(), known_as);
        }
        known
    }

    /// Tells the index of what was committed. `Ok(false)` if somebody else has it locked.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be written.
    pub fn refresh_index(&self, changes: &BTreeMap<String, Told>) -> Result<bool, GitError> {
        let action = "bring git's index up to date";
        let mut index = self.readable_index()?;
        let mut is_changed = false;
        for (path, told) in changes {
            let full = format!("{}{path}", self.prefix);
            let known = index.get_path(Path::new(&full), 0);
            let staged = known.as_ref().map(|entry| Id(entry.id));
            // Another text than the branch held is what somebody staged.
            if !told.before.contains(&staged) && staged != told.after {
                continue;
            }
            match told.after {
                None => {
                    if known.is_some() {
                        index.remove(Path::new(&full), 0).to(action)?;
                        is_changed = true;
                    }
                }
                Some(id) => {
                    let file = self.work_folder().join(&full);
                    let entry = entry(full, id, &file, told.stamped.as_ref());
                    index.add(&entry).to(action)?;
                    is_changed = true;
                }
            }
        }
        if !is_changed {
            return Ok(true);
        }
        match index.write() {
            Ok(()) => Ok(true),
            Err(error) if error.code() == git2::ErrorCode::Locked => Ok(false),
            Err(error) => Err(error).to(action),
        }
    }
}

impl Repository {
    /// The index; one that is damaged is set aside, and made anew of the newest commit.
    fn readable_index(&self) -> Result<git2::Index, GitError> {
        let action = "bring git's index up to date";
        let read = self.inner.index().and_then(|mut index| {
            index.read(false)?;
            Ok(index)
        });
        let path = self.inner.path().join("index");
        match read {
            Err(_) if std::fs::read(&path).is_ok() => {
                let moved = self.set_aside(&path);
                moved.map_err(|error| GitError::new(action, error.to_string()))?;
                let again = git2::Repository::open(self.inner.path()).to(action)?;
                let mut index = again.index().to(action)?;
                if let Ok(head) = again.head() {
                    index
                        .read_tree(&head.peel_to_tree().to(action)?)
                        .to(action)?;
                }
                Ok(index)
            }
            other => other.to(action),
        }
    }
}

fn nanos(time: IndexTime) -> i64 {
    i64::from(time.seconds()) * 1_000_000_000 + i64::from(time.nanoseconds())
}

fn time(nanos: i64) -> IndexTime {
    let seconds = nanos.div_euclid(1_000_000_000);
    IndexTime::new(seconds as i32, nanos.rem_euclid(1_000_000_000) as u32)
}

fn modified(path: &Path) -> std::io::Result<i64> {
    let modified = std::fs::metadata(path)?.modified()?;
    let since = modified
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Ok(since.as_nanos() as i64)
}

/// What the index says of a file. Without a stamp that fits, git reads the file when it needs to.
fn entry(path: String, id: Id, file: &Path, stamped: Option<&Stamped>) -> IndexEntry {
    let mut entry = IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: id.0,
        flags: 0,
        flags_extended: 0,
        path: path.into_bytes(),
    };
    #[cfg(unix)]
    if let (Some(stamped), Ok(data)) = (stamped, std::fs::symlink_metadata(file)) {
        use std::os::unix::fs::MetadataExt;
        let at = |seconds: i64, nanos: i64| seconds * 1_000_000_000 + nanos;
        let is_same = data.len() == stamped.size
            && data.ino() == stamped.inode
            && at(data.mtime(), data.mtime_nsec()) == stamped.modified
            && at(data.ctime(), data.ctime_nsec()) == stamped.changed;
        if is_same {
            entry.ctime = time(stamped.changed);
            entry.mtime = time(stamped.modified);
            entry.dev = data.dev() as u32;
            entry.ino = data.ino() as u32;
            entry.uid = data.uid();
            entry.gid = data.gid();
            entry.file_size = data.len() as u32;
        }
    }
    #[cfg(not(unix))]
    let _ = (file, stamped);
    entry
}
