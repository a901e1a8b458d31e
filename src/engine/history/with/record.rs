//! Records in both stores their last common state, so that a later run can tell which side
//! changed a memory.
//!
//! Promises: a record counts only if it is certainly about these two stores. Deletions are
//! derived from it, so a copy of a store, or another stick in the same place, must not pass for
//! the recorded one. Without a record no file counts as deleted. Losing one costs no memory.
//!
//! A record in both stores has a token, drawn anew each time. If the other
//! store has the same token, or had it just before, the record counts. A store that was only read from
//! has no record: then it must be the same folder, by path, inode and creation time; on
//! Windows by path, and index on its volume.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::engine::error::EngineError;
use crate::engine::history::merge_plan::stem_of_path;
use crate::engine::history::with::side::{StoreContents, WITH};
use crate::files::{FilesError, STATE_FOLDER, Storage, Store};
use crate::git::Id;

/// Texts in common, by path below the store's folder.
pub(in crate::engine) type Base = BTreeMap<String, Id>;

/// A record, as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct SyncNote {
    version: u32,
    token: String,
    /// Token of the record before this one.
    before: String,
    base: BTreeMap<String, String>,
    /// Texts that a run merged, which may have been killed after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pending: Vec<PendingText>,
}

/// A text merged from both sides: if its file exists, the other side is merged already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct PendingText {
    /// Whether it is written to the other store.
    pub there: bool,
    /// Path below the store's folder.
    pub path: String,
    /// Text id.
    pub id: String,
    /// Files of this memory on the side that it was taken from.
    pub of: BTreeMap<String, String>,
}

/// Records of two stores about each other.
pub(in crate::engine) struct SyncNotes<'a> {
    here: &'a Path,
    there: &'a Path,
    /// Id of each store in the other's records; `None` if nothing was recorded yet.
    ids: [Option<String>; 2],
    /// Path of the record that only this store has.
    one_way: PathBuf,
    one_way_note: Option<SyncNote>,
    ours: Option<SyncNote>,
    theirs: Option<SyncNote>,
}

const VERSION: u32 = 1;

/// Maximum size of a record in bytes: more than one of a million memories.
const LONGEST: u64 = 256 << 20;

impl<'a> SyncNotes<'a> {
    /// Reads the records of both stores.
    pub fn read(here: &'a Path, there: &'a Path) -> Result<SyncNotes<'a>, EngineError> {
        let ids = [own_id(here)?, own_id(there)?];
        let note = |root: &Path, id: &Option<String>| match id {
            Some(id) => note_at(root, &format!("{WITH}/{id}.json")),
            None => Ok(None),
        };
        let one_way = PathBuf::from(format!("{WITH}/from-{:032x}.json", identity(there)));
        Ok(SyncNotes {
            ours: note(here, &ids[1])?,
            theirs: note(there, &ids[0])?,
            one_way_note: note_at(here, &one_way.to_string_lossy())?,
            one_way,
            here,
            there,
            ids,
        })
    }

    /// Returns the token of the other store's record about this one.
    fn their_token(&self) -> String {
        let token = self.theirs.as_ref().map(|note| note.token.clone());
        token.unwrap_or_default()
    }

    /// Returns the record that counts, if one does.
    fn counting(&self) -> Option<&SyncNote> {
        if let Some(note) = &self.one_way_note
            && note.token == self.their_token()
        {
            return Some(note);
        }
        let (ours, theirs) = (self.ours.as_ref()?, self.theirs.as_ref()?);
        if ours.token == theirs.token || theirs.before == ours.token {
            return Some(ours);
        }
        (ours.before == theirs.token).then_some(theirs)
    }

    /// Returns the common state, limited to names of which one of the two still has a file: other entries
    /// of a record that came with a store are useless.
    pub fn base(&self, here: &StoreContents, there: &StoreContents) -> Base {
        let Some(note) = self.counting() else {
            return Base::new();
        };
        base_of(&note.base, &note.pending, here, there)
    }

    /// Records `pending` texts before they are written, or `base` afterwards, where nothing is
    /// written to the other store, or not yet.
    pub fn write_here(
        &mut self,
        base: &Base,
        pending: Vec<PendingText>,
    ) -> Result<(), EngineError> {
        let note = SyncNote {
            version: VERSION,
            token: self.their_token(),
            before: String::new(),
            base: written(base),
            pending,
        };
        if self.one_way_note.as_ref() != Some(&note) {
            write(self.here, &self.one_way, &note)?;
            self.one_way_note = Some(note);
        }
        Ok(())
    }

    /// Records the common state in both stores.
    pub fn write_both(&mut self, base: &Base) -> Result<(), EngineError> {
        let is_noted = self.ours.is_some()
            && self.ours == self.theirs
            && self.one_way_note.is_none()
            && self
                .ours
                .as_ref()
                .is_some_and(|note| note.base == written(base));
        if is_noted {
            return Ok(());
        }
        let ids = [
            make_id(self.here, &self.ids[0])?,
            make_id(self.there, &self.ids[1])?,
        ];
        let note = SyncNote {
            version: VERSION,
            token: uuid::Uuid::new_v4().simple().to_string(),
            before: self.counting_token(),
            base: written(base),
            pending: Vec::new(),
        };
        let path = |id: &str| PathBuf::from(format!("{WITH}/{id}.json"));
        // Theirs first: a run that is killed in between leaves ours as the one before it.
        write(self.there, &path(&ids[0]), &note)?;
        write(self.here, &path(&ids[1]), &note)?;
        let one_way = self.here.join(&self.one_way);
        crate::files::remove_derived(&one_way).map_err(|source| FilesError::Io {
            action: "remove",
            path: one_way,
            source,
        })?;
        Ok(())
    }

    /// Returns the token that both have, for a run that is killed before both have the next one.
    fn counting_token(&self) -> String {
        match (&self.ours, &self.theirs) {
            (Some(ours), Some(theirs)) if ours.token == theirs.token => ours.token.clone(),
            (Some(ours), Some(theirs)) if theirs.before == ours.token => ours.token.clone(),
            _ => String::new(),
        }
    }
}

/// Returns the common state `base`, with `pending` texts that are written counted as merged, limited to names
/// of which one of the two stores still has a file.
pub(in crate::engine) fn base_of(
    base: &BTreeMap<String, String>,
    pending: &[PendingText],
    here: &StoreContents,
    there: &StoreContents,
) -> Base {
    let mut base = parsed(base);
    for pending in pending {
        let target = match pending.there {
            true => there,
            false => here,
        };
        let is_done = target
            .files
            .get(&pending.path)
            .is_some_and(|found| found.id.to_string() == pending.id);
        if is_done {
            let stem = stem_of_path(&pending.path);
            base.retain(|path, _| stem_of_path(path) != stem);
            base.extend(parsed(&pending.of));
        }
    }
    base.retain(|path, _| here.holds(path) || there.holds(path));
    base
}

/// Returns the id of a store in the records of others.
fn own_id(root: &Path) -> Result<Option<String>, EngineError> {
    let Some(bytes) = bytes_at(root, &format!("{WITH}/id"))? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok(is_id.then_some(text))
}

fn make_id(root: &Path, known: &Option<String>) -> Result<String, EngineError> {
    if let Some(id) = known {
        return Ok(id.clone());
    }
    let id = uuid::Uuid::new_v4().simple().to_string();
    write_bytes(root, Path::new(&format!("{WITH}/id")), id.as_bytes())?;
    Ok(id)
}

/// Returns a hash that identifies the folder of a store, as far as the system can.
fn identity(root: &Path) -> u128 {
    let path = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let folder =
        crate::files::notes_around(root).map_or_else(|| root.join("files"), Path::to_owned);
    let files = fs::metadata(&folder);
    let born = files.as_ref().ok().and_then(crate::files::birth);
    let number = files.and_then(|data| crate::files::folder_number(&folder, &data));
    let number = number.unwrap_or(0);
    let text = format!("{number} {:?} {}", born, path.display());
    crate::files::digest(text.as_bytes())
}

fn note_at(root: &Path, path: &str) -> Result<Option<SyncNote>, EngineError> {
    let Some(bytes) = bytes_at(root, path)? else {
        return Ok(None);
    };
    // A torn record, or one of a later version, is ignored.
    let note: Option<SyncNote> = serde_json::from_slice(&bytes).ok();
    Ok(note.filter(|note| note.version == VERSION))
}

fn bytes_at(root: &Path, path: &str) -> Result<Option<Vec<u8>>, EngineError> {
    match Store::at(root).beside().read(path, LONGEST) {
        Ok(version) => Ok(Some(version.bytes)),
        Err(FilesError::Missing { .. } | FilesError::NotRegular { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn write(root: &Path, path: &Path, note: &SyncNote) -> Result<(), EngineError> {
    let text = serde_json::to_vec(note).expect("texts and numbers are JSON");
    write_bytes(root, path, &text)
}

fn write_bytes(root: &Path, path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let path = root.join(path);
    let failed = |source| FilesError::Io {
        action: "write",
        path: path.clone(),
        source,
    };
    let folder = root.join(WITH);
    crate::files::create_private_folder(&folder).map_err(failed)?;
    let gitignore = root.join(STATE_FOLDER).join(".gitignore");
    if !gitignore.exists() {
        crate::files::write_synced(&gitignore, b"*\n").map_err(failed)?;
    }
    crate::files::write_synced(&path, bytes).map_err(failed)?;
    Ok(())
}

fn parsed(base: &BTreeMap<String, String>) -> Base {
    let one = |(path, id): (&String, &String)| Some((path.clone(), Id::parse(id)?));
    base.iter().filter_map(one).collect()
}

/// Returns the state with its text ids written out.
pub(in crate::engine) fn written(base: &Base) -> BTreeMap<String, String> {
    let one = |(path, id): (&String, &Id)| (path.clone(), id.to_string());
    base.iter().map(one).collect()
}
