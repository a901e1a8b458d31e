//! Files that only grow, a line at a time.

use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::path::Path;

use super::disk;

/// Adds `lines`, each ended by a newline, to the file at `path`, which need not exist, in one
/// write. A last line that was torn is ended first, so that nothing is glued to it. The caller
/// holds a lock against others who append.
///
/// Nothing is synced: after a loss of power the last lines may be missing, or torn.
///
/// # Errors
///
/// Fails as the system says; lines may then be missing, or the last one torn.
pub fn append_lines(path: &Path, lines: &[u8]) -> io::Result<()> {
    disk::step();
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
        // Nobody is led elsewhere by a link that came with a store.
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    }
    let mut file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
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
