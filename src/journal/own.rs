//! This copy's own journals: the current one, those that it left because they had become long, and their
//! sum.
//!
//! Their ids are among the derived files of the copy. If these are lost, a new journal is begun, and the
//! old ones are treated as those of another copy: they count, and stay as they are.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::error::{JournalError, failed};
use super::journals::{JournalFolder, LONGEST};
use super::reading::{id_of, is_id};
use crate::files;

/// Journals that this copy has left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Id of the journal that holds their sum, if there is one.
    pub sum: Option<String>,
    /// Ids of those whose uses are not summed up yet.
    pub journals: Vec<String>,
}

/// Prefix of the ids of sums, which no current journal has: sums come first in every listing, and so reach
/// another machine before the summed lines are removed there.
const SUM_PREFIX: &str = "00";

impl JournalFolder {
    /// Returns the current journal of this copy; chooses a new one at the first time, and when the current
    /// one has become long. The caller holds the lock.
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

    /// Returns the current journal of this copy, if there is one.
    pub(super) fn known(&self) -> Option<PathBuf> {
        let id = self.read_note(&self.note())?;
        is_id(&id).then(|| self.at(&id))
    }

    /// Returns the journals that this copy has left and not summed up yet, and their sum.
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

    /// Records the journals that this copy has left.
    pub(super) fn note_left(&self, left: &Left) -> Result<(), JournalError> {
        let mut ids = left.sum.clone().unwrap_or_default();
        for id in &left.journals {
            ids.push(',');
            ids.push_str(id);
        }
        self.write_note(&self.note_of_left(), &ids)
    }

    /// Returns a new id for a sum.
    pub(super) fn drawn_for_sum() -> String {
        drawn(SUM_PREFIX)
    }

    /// Returns the names of the files that only this copy of the store writes.
    pub fn own_names(&self) -> Vec<String> {
        let left = self.left();
        let current = self.known().map(|path| id_of(&path));
        let ids = current.into_iter().chain(left.sum).chain(left.journals);
        ids.map(|id| format!("{id}.jsonl")).collect()
    }

    /// Returns the path of the journal with an id.
    pub(super) fn at(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }

    fn note(&self) -> PathBuf {
        self.state.join("journal-id")
    }

    fn note_of_left(&self) -> PathBuf {
        self.state.join("journals-left")
    }

    /// Reads the ids in a note; `None` if it is that of another copy: a copy of the whole store is another
    /// folder, and has its own ids.
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

    /// Returns a text that identifies the folder, and differs for a copy of it.
    fn here(&self) -> io::Result<String> {
        files::place_of(&self.folder)
    }
}

/// Returns a random id. Those of journals begin with any digit but 0.
fn drawn(prefix: &str) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    match prefix {
        SUM_PREFIX => format!("{SUM_PREFIX}{}", &random[..14]),
        _ => random[..16].replacen('0', "f", usize::from(random.starts_with('0'))),
    }
}
