//! Copies of an index between folders of different machines.
//!
//! Promises: a copy has the files of one committed state, the table and the touched files beside it; it is in its place
//! whole, or not at all. The caller holds the writer lock, so that no file goes meanwhile.

use std::fs::File;
use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::beneath::{Access, Folder, Target};
use crate::index::IncomingIndex;
use crate::index::embedded::directory::META;
use crate::index::embedded::folder::unused::NEW;
use crate::index::embedded::rows::{kept, touched};

/// Tantivy's list of the files that it removes once they are unused.
const MANAGED: &str = ".managed.json";

/// Opens the files `segments` in `folder`, and those beside them that a copy has, too. The one that names the state is
/// the last.
pub(in crate::index::embedded) fn open_files(
    folder: &Path,
    segments: &[PathBuf],
) -> io::Result<Vec<(String, File)>> {
    let folder = Folder::of_state(folder)?;
    let open = |name: &str| Ok((name.to_owned(), folder.open_file(name, Access::Read)?));
    let names = segments.iter().filter_map(|path| path.to_str());
    let mut files = names.map(open).collect::<io::Result<Vec<_>>>()?;
    for name in [kept::NAME, touched::NAME] {
        match open(name) {
            // Without them, more is read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => files.push(opened?),
        }
    }
    for name in [MANAGED, META] {
        files.push(open(name)?);
    }
    Ok(files)
}

/// An index that is being put into its folder.
pub(in crate::index::embedded) struct Incoming {
    /// Folder that holds the folders of indexes.
    state: Folder,
    /// Name of the index's folder.
    name: String,
    /// Its name until it is whole.
    part: String,
    /// `None` once it is in its place.
    folder: Option<Folder>,
    /// File that is being written.
    file: Option<(String, File)>,
}

impl Incoming {
    /// Begins to fill `folder`, which does not exist.
    pub fn begin(folder: &Path) -> io::Result<Incoming> {
        let (state, name) = Folder::parent_of(folder)?;
        let part = format!("{name}{NEW}{}", std::process::id());
        if state.facts(&part).is_ok() {
            // Left by a process that had the same number and was ended here.
            state.remove_all(&part)?;
        }
        let folder = state.create_below(&part)?;
        Ok(Incoming {
            name: name.to_owned(),
            state,
            part,
            folder: Some(folder),
            file: None,
        })
    }

    /// Has the last file on the disk.
    fn end_file(&mut self) -> io::Result<()> {
        match self.file.take() {
            Some((_, file)) => file.sync_data(),
            None => Ok(()),
        }
    }
}

impl IncomingIndex for Incoming {
    fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let folder = self.folder.as_ref().ok_or(io::ErrorKind::NotFound)?;
        if let Some((_, file)) = self.file.as_mut().filter(|(begun, _)| begun == name) {
            return file.write_all(bytes);
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if !name.bytes().all(is_plain) || matches!(name, "" | "." | "..") {
            let reason = format!("`{}` is no name of a file of an index", name.escape_debug());
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let mut file = folder.open_file(name, Access::CreateNew)?;
        file.write_all(bytes)?;
        self.end_file()?;
        self.file = Some((name.to_owned(), file));
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.end_file()?;
        if let Some(folder) = &self.folder {
            folder.facts(META)?;
            folder.sync()?;
        }
        let state = &self.state;
        state.rename(&self.part, state, &self.name, Target::Keep)?;
        self.folder = None;
        self.state.sync()
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.file = None;
        if self.folder.take().is_some() {
            // The next clean-up finds it otherwise.
            let _ = self.state.remove_all(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_is_not_whole_is_not_in_its_place() {
        let state = tempfile::tempdir().unwrap();
        let place = state.path().join("index-v1-english");
        let mut given_up = Incoming::begin(&place).unwrap();
        given_up.add("a.idx", b"one").unwrap();
        for name in ["", "..", "../a", "a/b", "a\0"] {
            assert!(given_up.add(name, b"x").is_err(), "{name:?}");
        }
        drop(given_up);
        // Without the file that names the state, nothing is one.
        let mut without_state = Box::new(Incoming::begin(&place).unwrap());
        without_state.add("a.idx", b"one").unwrap();
        assert!(without_state.finish().is_err());
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 0);

        let mut whole = Box::new(Incoming::begin(&place).unwrap());
        for (name, bytes) in [
            ("a.idx", &b"one"[..]),
            ("a.idx", b"two"),
            ("empty", b""),
            (META, b"{}"),
        ] {
            whole.add(name, bytes).unwrap();
        }
        whole.finish().unwrap();
        assert_eq!(std::fs::read(place.join("a.idx")).unwrap(), b"onetwo");
        assert_eq!(std::fs::read(place.join("empty")).unwrap(), b"");
    }
}
