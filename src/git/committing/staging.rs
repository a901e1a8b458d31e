//! The repository's index: its stamps show which files are as committed without reading them, and it is
//! updated with each commit, so that `git status` is right. Entries that somebody else staged stay.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use git2::IndexTime;

use crate::git::committing::index_file;
use crate::git::committing::index_file::{Edit, Entry, Unsupported};
use crate::git::repository::locks::set_aside;
use crate::git::repository::opening::replace;
use crate::git::{GitError, Id, Repository, To};

/// Stamp of a file: size, times and inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamped {
    /// Path below the store.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified: i64,
    /// Number of the inode.
    pub inode: u64,
    /// Time of the status change, in nanoseconds since 1970.
    pub changed: i64,
}

/// Change of one entry of the index when the branch moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// Text of the file in the former commit.
    pub before: Option<Id>,
    /// Text of the file in the new commit.
    pub after: Option<Id>,
    /// Stamp of the file that holds `after`.
    pub stamped: Option<Stamped>,
}

/// Files of the index, by their stamps.
pub struct KnownFiles {
    by_path: HashMap<String, (Id, Stamped)>,
    /// Time before which a modification is certainly in the index, in nanoseconds since 1970.
    certain_before: i64,
}

impl KnownFiles {
    /// Returns the id of the file's text, if the file has its stamp in the index.
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

/// Reads the index for the files below the store; none if it cannot be read.
pub fn known_files(repository: &Repository) -> KnownFiles {
    let mut known = KnownFiles {
        by_path: HashMap::new(),
        certain_before: i64::MIN,
    };
    let Ok(mut index) = repository.inner.index() else {
        return known;
    };
    let written = index.path().and_then(|path| modified(path).ok());
    let (Some(written), Ok(())) = (written, index.read(false)) else {
        return known;
    };
    // The coarsest resolution of file systems: two seconds.
    known.certain_before = written.saturating_sub(2_000_000_000);
    for entry in index.iter() {
        let Ok(path) = String::from_utf8(entry.path) else {
            continue;
        };
        let Some(path) = path.strip_prefix(&repository.prefix) else {
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

/// Returns the edit of the index for the change `told` of `path`, below the work folder, in `to`.
pub(super) fn index_edit(repository: &Repository, path: &str, told: &Staged, to: Id) -> Edit {
    let after = told.after.map(|id| {
        let file = repository.work_folder().join(path);
        let mode = match path[repository.prefix.len()..].split_once('/') {
            Some(("files" | "archive" | "tombstones" | "journal", _)) => REGULAR,
            _ => mode_in(repository, to, path).unwrap_or(REGULAR),
        };
        entry(id, mode, &file, told.stamped.as_ref())
    });
    Edit {
        before: told.before.map(|id| id.0),
        after,
    }
}

fn mode_in(repository: &Repository, commit: Id, path: &str) -> Option<u32> {
    let tree = repository.inner.find_commit(commit.0).ok()?.tree().ok()?;
    let entry = tree.get_path(Path::new(path)).ok()?;
    u32::try_from(entry.filemode()).ok()
}

/// Returns the index with `edits`, as bytes; `written` is as for [`index_file::edited`]. A damaged index
/// is kept aside, and made again from the commit `head`.
pub(super) fn edited_index(
    repository: &Repository,
    head: Option<Id>,
    written: Range<u32>,
    edits: &BTreeMap<Vec<u8>, Edit>,
) -> Result<Vec<u8>, GitError> {
    let path = repository.inner.path().join("index");
    let (bytes, is_missing) = match std::fs::read(&path) {
        Ok(bytes) => (bytes, false),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Vec::new(), true),
        Err(error) => return Err(error).to(TELL),
    };
    let edited = match (is_missing, head) {
        (true, None) => index_file::edited(&index_file::empty(), &written, edits),
        (true, Some(_)) => Err(Unsupported::Damaged),
        (false, _) => index_file::edited(&bytes, &written, edits),
    };
    let again = match edited {
        Ok(bytes) => return Ok(bytes),
        Err(Unsupported::Extension) => {
            return Err(GitError::new(
                TELL,
                "it is split or sparse: `git update-index --no-split-index`, `git sparse-checkout disable`",
            ));
        }
        Err(Unsupported::Version) => index_by_library(repository, Some(&bytes), None)?,
        Err(Unsupported::Damaged) => {
            if !is_missing {
                let folder = repository.inner.path().join("memdir-stale");
                let kept = std::fs::create_dir_all(&folder)
                    .and_then(|()| std::fs::write(folder.join("index"), &bytes));
                kept.to(TELL)?;
            }
            index_by_library(repository, None, head)?
        }
    };
    index_file::edited(&again, &written, edits)
        .map_err(|_| GitError::new(TELL, "it is not understood"))
}

/// Returns whether git's index exists and has a wrong checksum.
pub(in crate::git) fn is_index_damaged(repository: &Repository) -> bool {
    let bytes = std::fs::read(repository.inner.path().join("index"));
    bytes.is_ok_and(|bytes| !index_file::has_own_sum(&bytes))
}

/// Sets a damaged index aside, and makes it again from the commit `head`.
pub(in crate::git) fn make_index_anew(repository: &Repository, head: Id) -> Result<(), GitError> {
    let path = repository.inner.path().join("index");
    let bytes = index_by_library(repository, None, Some(head))?;
    set_aside(repository, &path).to(TELL)?;
    replace(&path, &bytes).to(TELL)
}

/// Makes git's index from the commit `head`, in a repository that has none yet.
///
/// # Errors
///
/// Fails if it cannot be written.
pub fn make_index(repository: &Repository, head: Id) -> Result<(), GitError> {
    let bytes = index_by_library(repository, None, Some(head))?;
    replace(&repository.inner.path().join("index"), &bytes).to(TELL)
}

/// Makes an index of version 2 from the index `bytes`, or from the files of `head`.
fn index_by_library(
    repository: &Repository,
    bytes: Option<&[u8]>,
    head: Option<Id>,
) -> Result<Vec<u8>, GitError> {
    let folder = tempfile::tempdir_in(repository.inner.path()).to(TELL)?;
    let path = folder.path().join("index");
    if let Some(bytes) = bytes {
        std::fs::write(&path, bytes).to(TELL)?;
    }
    let mut index = git2::Index::open(&path).to(TELL)?;
    if let Some(head) = head {
        let tree = repository
            .inner
            .find_commit(head.0)
            .to(TELL)?
            .tree()
            .to(TELL)?;
        index.read_tree(&tree).to(TELL)?;
    }
    index.set_version(2).to(TELL)?;
    index.write().to(TELL)?;
    std::fs::read(&path).to(TELL)
}

/// Name of the action in errors.
pub(in crate::git) const TELL: &str = "bring git's index up to date";
const REGULAR: u32 = 0o100_644;

fn nanos(time: IndexTime) -> i64 {
    i64::from(time.seconds()) * 1_000_000_000 + i64::from(time.nanoseconds())
}

/// Returns the modification time of a file, in nanoseconds since 1970.
pub(in crate::git) fn modified(path: &Path) -> std::io::Result<i64> {
    let modified = std::fs::metadata(path)?.modified()?;
    let since = modified
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Ok(since.as_nanos() as i64)
}

/// Returns the index entry of a file. Without a matching stamp, git reads the file when it needs to.
fn entry(id: Id, mode: u32, file: &Path, stamped: Option<&Stamped>) -> Entry {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "stamps are of Unix"))]
    let mut entry = Entry::unstamped(id.0, mode);
    #[cfg(unix)]
    let parts = |nanos: i64| {
        let seconds = nanos.div_euclid(1_000_000_000) as u32;
        (seconds, nanos.rem_euclid(1_000_000_000) as u32)
    };
    // A store of notes in place has its files elsewhere: the stamp is not compared with a file.
    #[cfg(unix)]
    if let (Some(stamped), false) = (stamped, file.exists()) {
        entry.changed = parts(stamped.changed);
        entry.modified = parts(stamped.modified);
        entry.inode = stamped.inode as u32;
        entry.size = stamped.size as u32;
    }
    #[cfg(unix)]
    if let (Some(stamped), Ok(data)) = (stamped, std::fs::symlink_metadata(file)) {
        use std::os::unix::fs::MetadataExt;
        let at = |seconds: i64, nanos: i64| seconds * 1_000_000_000 + nanos;
        let is_same = data.len() == stamped.size
            && data.ino() == stamped.inode
            && at(data.mtime(), data.mtime_nsec()) == stamped.modified
            && at(data.ctime(), data.ctime_nsec()) == stamped.changed;
        if is_same {
            entry.changed = parts(stamped.changed);
            entry.modified = parts(stamped.modified);
            entry.device = data.dev() as u32;
            entry.inode = data.ino() as u32;
            entry.user = data.uid();
            entry.group = data.gid();
            entry.size = data.len() as u32;
        }
    }
    #[cfg(not(unix))]
    let _ = (file, stamped);
    entry
}
