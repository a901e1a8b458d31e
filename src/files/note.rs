//! Small things that processes leave for each other in the folder of derived things. Losing one
//! costs a detail, never a memory.

use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use super::At;
use super::FilesError;

/// Nobody reads more than this of what was left.
const MOST_LINES_BYTES: u64 = 4 << 20;

/// Says that its maker is in the middle of something, until dropped. What a killed process left is
/// found by the next one.
#[derive(Debug)]
pub struct AtWork {
    path: PathBuf,
    /// The last one who was at work here did not come to an end.
    pub was_interrupted: bool,
    is_unfinished: bool,
}

impl AtWork {
    /// Leaves the note at `path`. The caller holds a lock that lets only one be at work.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn begin(path: &Path) -> Result<AtWork, FilesError> {
        let was_interrupted = path.exists();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).at("write", path)?;
        Ok(AtWork {
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

impl Drop for AtWork {
    fn drop(&mut self) {
        if self.is_unfinished {
            return;
        }
        let _ = fs::remove_file(&self.path); // Then the next one is careful for nothing.
    }
}

/// Adds a line to the notes at `path`, in one write.
///
/// # Errors
///
/// Fails as the system says.
pub fn leave_line(path: &Path, line: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
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
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

/// Removes the notes at `path`.
///
/// # Errors
///
/// Fails as the system says.
pub fn remove_lines(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Takes the lines that were left at `path`, oldest first.
pub fn take_lines(path: &Path) -> Vec<String> {
    let taken = path.with_extension("taken");
    if fs::rename(path, &taken).is_err() {
        return Vec::new();
    }
    let text = fs::read_to_string(&taken).unwrap_or_default();
    let _ = fs::remove_file(&taken);
    text.lines().map(str::to_owned).collect()
}
