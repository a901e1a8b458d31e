//! Small notes of processes for each other in the folder of derived files. Losing one costs a detail,
//! never a memory.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{At, FilesError, disk};
use crate::beneath::{Access, Folder, Target};

/// Maximum size of a file of notes, in bytes.
const MOST_LINES_BYTES: u64 = 4 << 20;

/// A marker file that exists during an operation, until dropped; the next process finds that of a killed
/// one.
#[derive(Debug)]
pub struct CrashMarker {
    path: PathBuf,
    /// Whether the last operation was interrupted.
    pub was_interrupted: bool,
    is_unfinished: bool,
}

impl CrashMarker {
    /// Makes the marker at `path`. The caller holds a lock that allows only one operation.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn begin(path: &Path) -> Result<CrashMarker, FilesError> {
        let begin = || {
            let (folder, name) = Folder::parent_of(path)?;
            folder.set_aside(name)?;
            let was_interrupted = folder.facts(name).is_ok();
            folder.open_derived(name, Access::Create)?.set_len(0)?;
            Ok(was_interrupted)
        };
        let was_interrupted = begin().at("write", path)?;
        Ok(CrashMarker {
            path: path.to_owned(),
            was_interrupted,
            is_unfinished: false,
        })
    }

    /// Leaves the marker for the next process: the interrupted operation is not cleared up yet.
    pub fn leave_unfinished(mut self) {
        self.is_unfinished = true;
    }
}

impl Drop for CrashMarker {
    fn drop(&mut self) {
        if self.is_unfinished {
            return;
        }
        let _ = disk::remove_derived(&self.path); // Then the next one is careful for nothing.
    }
}

/// Adds a line to the notes at `path`, in one write.
///
/// # Errors
///
/// Fails as the system says.
pub fn leave_line(path: &Path, line: &str) -> std::io::Result<()> {
    let (folder, name) = Folder::parent_of(path)?;
    let mut file = folder.open_derived(name, Access::CreateAppend)?;
    if file.metadata()?.len() > MOST_LINES_BYTES {
        return Ok(()); // Nobody takes them.
    }
    file.write_all(format!("{line}\n").as_bytes())
}

/// Replaces the notes at `path` with `lines`.
///
/// # Errors
///
/// Fails as the system says.
pub fn begin_lines(path: &Path, lines: &str) -> std::io::Result<()> {
    remove_lines(path)?;
    leave_line(path, lines)
}

/// Returns the lines at `path`, oldest first, without a truncated last one; they stay.
pub fn lines_at(path: &Path) -> Vec<String> {
    let bytes = disk::read_derived(path).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

/// Removes the notes at `path`.
///
/// # Errors
///
/// Fails as the system says.
pub fn remove_lines(path: &Path) -> std::io::Result<()> {
    disk::remove_derived(path)
}

/// Takes the lines at `path`, oldest first.
pub fn take_lines(path: &Path) -> Vec<String> {
    let take = || {
        let (folder, name) = Folder::parent_of(path)?;
        folder.set_aside(name)?;
        let taken = Path::new(name).with_extension("taken");
        let taken = taken.to_string_lossy();
        folder.make_way(&taken)?;
        folder.rename(name, &folder, &taken, Target::Replace)?;
        let bytes = folder.read_derived(&taken);
        let _ = folder.remove(&taken);
        bytes
    };
    let bytes: std::io::Result<Vec<u8>> = take();
    let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
