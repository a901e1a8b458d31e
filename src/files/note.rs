//! Small things that processes leave for each other in the folder of derived things. Losing one
//! costs a detail, never a memory.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{At, FilesError, disk};
use crate::beneath::{Access, Folder, Target};

/// Nobody reads more than this of what was left.
const MOST_LINES_BYTES: u64 = 4 << 20;

/// Says that its maker is in the middle of something, until dropped. What a killed process left is
/// found by the next one.
#[derive(Debug)]
pub struct CrashMarker {
    path: PathBuf,
    /// The last one who was at work here did not come to an end.
    pub was_interrupted: bool,
    is_unfinished: bool,
}

impl CrashMarker {
    /// Leaves the note at `path`. The caller holds a lock that lets only one be at work.
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

    /// Leaves the note where it is, for the next one: what was interrupted is not cleared up yet.
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

/// Begins the notes at `path` anew, with `lines`.
///
/// # Errors
///
/// Fails as the system says.
pub fn begin_lines(path: &Path, lines: &str) -> std::io::Result<()> {
    remove_lines(path)?;
    leave_line(path, lines)
}

/// The lines that were left at `path`, oldest first; they stay. None of one that was cut off.
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

/// Takes the lines that were left at `path`, oldest first.
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
