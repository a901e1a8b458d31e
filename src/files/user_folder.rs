//! Writing of files into a folder of the user's.

use std::io;
use std::path::Path;

use super::folders::split;
use super::{At, FilesError, disk};
use crate::beneath::{Access, Folder, Target};

/// Outcome of writing a file into a folder of the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePlaced {
    New,
    /// It exists with the same bytes.
    Known,
    /// Another file exists, and stays.
    Taken,
}

/// Writes a file at the path `name` below `root`, whole, and makes its folders. Replaces nothing and
/// follows no link below `root`.
///
/// # Errors
///
/// Fails as the system says.
pub fn give(root: &Path, name: &str, bytes: &[u8]) -> Result<FilePlaced, FilesError> {
    let (below, file) = split(name);
    let put = || {
        let folder = Folder::open(root)?.create_below(below)?;
        let mut temp = disk::write_temp(&folder, bytes)?;
        match temp.rename(file, Target::Keep) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => {
                other?;
                folder.sync()?;
                return Ok(FilePlaced::New);
            }
        }
        let mut there = Vec::new();
        let is_same = folder.open_file(file, Access::Read).is_ok_and(|mut open| {
            io::Read::read_to_end(&mut open, &mut there).is_ok() && there == bytes
        });
        Ok(if is_same {
            FilePlaced::Known
        } else {
            FilePlaced::Taken
        })
    };
    put().at("write", &root.join(name))
}
