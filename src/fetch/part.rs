//! A file that is not whole yet, beside the name it will have.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest, Sha256};

use super::error::FetchError;

/// The part of a file that has come so far: `NAME.part`, held by one process at a time.
pub(super) struct PartialFile {
    file: File,
    path: PathBuf,
    hasher: Sha256,
    length: u64,
    /// Some of it came earlier, or from another answer.
    is_resumed: bool,
}

impl PartialFile {
    /// Opens what an earlier download left beside `to`, or makes it; waits while another process
    /// has it.
    pub fn open(to: &Path) -> Result<PartialFile, FetchError> {
        let mut name = to.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        let failed = |action, source| FetchError::File {
            action,
            path: path.clone(),
            source,
        };
        let file = open_locked(&path).map_err(|error| failed("open", error))?;
        let mut part = PartialFile {
            file,
            path: path.clone(),
            hasher: Sha256::new(),
            length: 0,
            is_resumed: false,
        };
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = part.file.read(&mut buffer);
            match read.map_err(|error| failed("read", error))? {
                0 => break,
                length => {
                    part.hasher.update(&buffer[..length]);
                    part.length += length as u64;
                }
            }
        }
        part.is_resumed = part.length > 0;
        Ok(part)
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    pub fn resumes(&mut self) {
        self.is_resumed = true;
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| self.failed("write", error))?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Begins at nothing.
    pub fn clear(&mut self) -> Result<(), FetchError> {
        use std::io::Seek;
        if self.length > 0 {
            let cleared = self.file.set_len(0).and_then(|()| self.file.rewind());
            cleared.map_err(|error| self.failed("write", error))?;
        }
        self.hasher = Sha256::new();
        self.length = 0;
        self.is_resumed = false;
        Ok(())
    }

    /// The SHA-256 of what is there.
    pub fn sha256(&self) -> String {
        hex(&self.hasher.clone().finalize())
    }

    /// Gives the file its name; it and the name are on the disk then.
    pub fn finish(self, to: &Path) -> Result<(), FetchError> {
        let synced = self.file.sync_all();
        synced.map_err(|error| self.failed("write", error))?;
        fs::rename(&self.path, to).map_err(|error| self.failed("rename", error))?;
        // Windows syncs names with the file and cannot open directories for it.
        if cfg!(not(windows))
            && let Some(folder) = to.parent()
        {
            let folder = File::open(folder).and_then(|folder| folder.sync_all());
            folder.map_err(|error| self.failed("write", error))?;
        }
        Ok(())
    }

    /// Takes an empty part away; one with bytes is worth keeping.
    pub fn leave(self) {
        if self.length == 0 {
            let _ = fs::remove_file(&self.path);
        }
    }

    fn failed(&self, action: &'static str, source: io::Error) -> FetchError {
        FetchError::File {
            action,
            path: self.path.clone(),
            source,
        }
    }
}

fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
            tracing::warn!(
                "another process downloads {}; waiting for it",
                path.display()
            );
            // A file system without locks costs only the protection from such another process.
            let _ = file.lock();
        }
        // Whoever had it may have taken it away.
        if !is_removed(&file)? {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn is_removed(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() == 0)
}

#[cfg(not(unix))]
fn is_removed(_: &File) -> io::Result<bool> {
    Ok(false) // An open file cannot be removed there.
}

/// Returns the SHA-256 of a file in small hexadecimal letters; `None` if there is no such file.
///
/// # Errors
///
/// Fails if the file cannot be read.
pub fn sha256_of(path: &Path) -> Result<Option<String>, FetchError> {
    let failed = |source| FetchError::File {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(Some(hex(&hasher.finalize()))),
            length => hasher.update(&buffer[..length]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_one_of_the_standard() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("abc");
        fs::write(&file, "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of(&file).unwrap().as_deref(), Some(expected));
        assert_eq!(sha256_of(&folder.path().join("x")).unwrap(), None);
        assert!(sha256_of(folder.path()).is_err());
    }
}
