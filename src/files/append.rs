//! Append-only files of lines.

use std::fs::File;
use std::io;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::disk;
use crate::beneath::{Access, Folder};

/// Appends `lines`, each ended by a newline, to the file at `path`, which need not exist, in one write.
/// A torn last line is ended first. The caller holds a lock against others who append.
///
/// Nothing is synced: after a loss of power the last lines may be missing, or torn.
///
/// # Errors
///
/// Fails as the system says; lines may then be missing, or the last one torn.
pub fn append_lines(path: &Path, lines: &[u8]) -> io::Result<()> {
    disk::step();
    let mut file = open(path, Access::CreateAppend)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let text = match last {
        [b'\n'] => lines.to_owned(),
        _ => [b"\n", lines].concat(),
    };
    disk::step();
    file.write_all(&text)
}

/// Opens the file at `path` for reading.
///
/// # Errors
///
/// Fails as the system says, and if it is no regular file, or lies in a folder that is a link.
pub fn open_lines(path: &Path) -> io::Result<File> {
    open(path, Access::Read)
}

/// Opens a regular file without following links or waiting for a pipe.
fn open(path: &Path, access: Access) -> io::Result<File> {
    let (folder, name) = folder_of(path)?;
    let file = folder.open_file(name, access)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
    }
}

/// Opens the folder of the file at `path`, which must be no link, and returns the file's name.
fn folder_of(path: &Path) -> io::Result<(Folder, &str)> {
    let text = |name: Option<&'_ std::ffi::OsStr>| -> io::Result<String> {
        let name = name.and_then(|name| name.to_str());
        name.map(str::to_owned)
            .ok_or_else(|| io::ErrorKind::InvalidInput.into())
    };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or(io::ErrorKind::InvalidInput)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    match folder.parent() {
        Some(above) if !above.as_os_str().is_empty() => {
            let folder = Folder::open(above)?.below(&text(folder.file_name())?)?;
            Ok((folder, name))
        }
        _ => Ok((
            Folder::open(Path::new("."))?.below(&folder.to_string_lossy())?,
            name,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_ended_before_another_is_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        append_lines(&path, b"one\n").unwrap();
        append_lines(&path, b"two\nthree\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\nthree\n");
        std::fs::write(&path, "one\ntw").unwrap();
        append_lines(&path, b"three\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntw\nthree\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", folder.path().join("journal")).unwrap();
        assert!(append_lines(&folder.path().join("journal/lines"), b"ours\n").is_err());
        assert!(!folder.path().join("elsewhere/lines").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, "theirs\n").unwrap();
        let path = folder.path().join("lines");
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(append_lines(&path, b"ours\n").is_err());
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"theirs\n");
    }
}
