//! Which journals are this copy's own: the current one, those that it left because they had become
//! long, and their sum.
//!
//! Noted among the derived things of the copy. Where that is lost, a new journal is begun, and the
//! old ones are like those of any other copy: they count, and stay as they are.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::error::{JournalError, failed};
use super::journals::{JournalFolder, LONGEST};
use super::reading::{id_of, is_id};
use crate::files;

/// The journals that this copy has left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// The id of the one that holds their sum, once there is one.
    pub sum: Option<String>,
    /// The ids of those whose uses are not summed up yet.
    pub journals: Vec<String>,
}

/// What no current journal is called: sums come first in every listing, and so reach another
/// machine before that which they are the sums of is taken away there.
const SUM_PREFIX: &str = "00";

impl JournalFolder {
    /// The file that this copy of the store writes, made known if it is the first time, and left for
    /// a new one where it has become long. The caller holds the lock.
    pub(super) fn own(&self) -> Result<PathBuf, JournalError> {
        files::create_private_folder(&self.folder)
            .map_err(|error| failed("make a folder for", &self.folder, error))?;
        if !fs::symlink_metadata(&self.folder).is_ok_and(|data| data.is_dir()) {
            let error = io::Error::new(io::ErrorKind::NotADirectory, "it is no folder");
            return Err(failed("look for", &self.folder, error));
        }
        if let Some(path) = self.known() {
            if fs::metadata(&path).map_or(0, |data| data.len()) < LONGEST {
                return Ok(path);
            }
            // Noted first: who is killed in between has a current journal among those that it left,
            // which is no harm.
            let mut left = self.left();
            left.journals.push(id_of(&path));
            self.note_left(&left)?;
        }
        let id = drawn("f");
        self.write_note(&self.note(), &id)?;
        Ok(self.at(&id))
    }

    /// The file that this copy of the store writes at present.
    pub(super) fn known(&self) -> Option<PathBuf> {
        let id = self.read_note(&self.note())?;
        is_id(&id).then(|| self.at(&id))
    }

    /// The journals that this copy has left and not summed up yet, and their sum.
    pub(super) fn left(&self) -> Left {
        let Some(noted) = self.read_note(&self.note_of_left()) else {
            return Left::default();
        };
        let current = self.known().map(|path| id_of(&path));
        let mut ids = noted.split(',').map(str::to_owned);
        Left {
            sum: ids.next().filter(|id| is_id(id)),
            journals: ids
                .filter(|id| is_id(id) && current.as_ref() != Some(id))
                .collect(),
        }
    }

    pub(super) fn note_left(&self, left: &Left) -> Result<(), JournalError> {
        let mut ids = left.sum.clone().unwrap_or_default();
        for id in &left.journals {
            ids.push(',');
            ids.push_str(id);
        }
        self.write_note(&self.note_of_left(), &ids)
    }

    /// A new id for a sum.
    pub(super) fn drawn_for_sum() -> String {
        drawn(SUM_PREFIX)
    }

    /// The names of the files that only this copy of the store writes.
    pub fn own_names(&self) -> Vec<String> {
        let left = self.left();
        let current = self.known().map(|path| id_of(&path));
        let ids = current.into_iter().chain(left.sum).chain(left.journals);
        ids.map(|id| format!("{id}.jsonl")).collect()
    }

    pub(super) fn at(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }

    fn note(&self) -> PathBuf {
        self.state.join("journal-id")
    }

    fn note_of_left(&self) -> PathBuf {
        self.state.join("journals-left")
    }

    /// The ids in a note; `None` if it is that of another copy: a copy of the whole store has another
    /// folder, and so ids of its own.
    fn read_note(&self, path: &Path) -> Option<String> {
        let noted = String::from_utf8(files::read_derived(path).ok()?).ok()?;
        let (ids, place) = noted.split_once(' ')?;
        let is_own = self.here().is_ok_and(|here| here == place);
        is_own.then(|| ids.to_owned())
    }

    fn write_note(&self, path: &Path, ids: &str) -> Result<(), JournalError> {
        let here = self
            .here()
            .map_err(|error| failed("look at", &self.folder, error))?;
        files::write_derived(path, format!("{ids} {here}").as_bytes())
            .map_err(|error| failed("note the name of", path, error))
    }

    /// Tells the folder from a copy of it.
    fn here(&self) -> io::Result<String> {
        files::place_of(&self.folder)
    }
}

/// A random id. Those of journals begin with any digit but 0.
fn drawn(prefix: &str) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    match prefix {
        SUM_PREFIX => format!("{SUM_PREFIX}{}", &random[..14]),
        _ => random[..16].replacen('0', "f", usize::from(random.starts_with('0'))),
    }
}
