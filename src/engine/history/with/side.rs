//! Contents of a store at one moment, as far as another store takes them.
//!
//! Promises: no link is followed, and files that git would not carry to another machine (names, depth,
//! size, conflict markers) are left out and reported. Nothing is written. What is compared and planned
//! with contents knows no folder: texts are asked for by path ([`Texts`]).

use crate::engine::error::EngineError;
use crate::engine::history::merge_plan::stem_of_path;
use crate::files::{Entry, FilesError, Place, STATE_FOLDER, Storage, Store, Version, tombstone_of};
use crate::format::{first_conflict_marker, is_memory_name};
use crate::git::{Id, path_rejection};
use crate::journal::JournalFolder;
use crate::model::is_talk_name;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// A file, as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct Found {
    /// Text id.
    pub id: Id,
    /// Modification time in seconds since 1970.
    pub at: i64,
}

/// Files by their paths below the store's folder.
pub(in crate::engine) type Files = BTreeMap<String, Found>;

/// Access to the present texts of a store.
pub(in crate::engine) trait Texts {
    /// Returns the text of the file at `path` below the store's folder; `None` if it is gone.
    fn text(&self, path: &str) -> Result<Option<Vec<u8>>, EngineError>;
}

impl Texts for Store {
    fn text(&self, path: &str) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.version_at(path)?.map(|version| version.bytes))
    }
}

/// Contents of one store.
pub(in crate::engine) struct StoreContents {
    /// Source of its texts.
    texts: Box<dyn Texts>,
    /// Memories, live and forgotten, and tombstones.
    pub files: Files,
    /// Paths of each text.
    paths: HashMap<Id, Vec<String>>,
    /// Text of each journal, by path.
    pub journals: BTreeMap<String, Id>,
    /// Paths of the journals that only this store writes.
    pub own_journals: Vec<String>,
    /// Files that are not exchanged, with the reasons.
    pub skipped: Vec<(String, String)>,
}

/// Paths that must be folders; a link would lead elsewhere.
const FOLDERS: [&str; 6] = [
    "files",
    "archive",
    "tombstones",
    "journal",
    STATE_FOLDER,
    WITH,
];

/// Folder with the records of states in common with other stores.
pub(in crate::engine) const WITH: &str = ".memdir/with";

/// Fails unless the folder is a store whose parts are real folders.
pub(in crate::engine) fn check_store(root: &Path) -> Result<(), EngineError> {
    for folder in FOLDERS {
        let path = root.join(folder);
        if std::fs::symlink_metadata(&path).is_ok_and(|data| !data.is_dir()) {
            return Err(EngineError::Invalid(format!(
                "{} is a link, or no folder: such a store is not touched",
                path.display()
            )));
        }
    }
    let files = crate::files::notes_around(root).map_or_else(|| root.join("files"), Path::to_owned);
    match files.is_dir() && root.is_dir() {
        true => Ok(()),
        false => Err(EngineError::NoStore(root.to_owned())),
    }
}

impl StoreContents {
    /// Returns contents without journals: `files`, whose texts `texts` has, and the files that are left out.
    pub fn new(
        texts: Box<dyn Texts>,
        files: Files,
        mut skipped: Vec<(String, String)>,
    ) -> StoreContents {
        skipped.sort_unstable();
        let mut paths: HashMap<Id, Vec<String>> = HashMap::new();
        for (path, found) in &files {
            paths.entry(found.id).or_default().push(path.clone());
        }
        StoreContents {
            texts,
            files,
            paths,
            journals: BTreeMap::new(),
            own_journals: Vec::new(),
            skipped,
        }
    }

    /// Reads the memories and tombstones of `store`, following no link; calls `observe` with path and version of
    /// each memory and tombstone.
    pub fn look(
        store: &Store,
        observe: &(dyn Fn(&str, &Version) + Sync),
    ) -> Result<StoreContents, EngineError> {
        let (mut files, mut skipped) = (Files::new(), Vec::new());
        for place in [Place::Files, Place::Archive] {
            look_at(store, place, observe, &mut files, &mut skipped)?;
        }
        for stem in store.purged()? {
            let (is_name, path) = (is_memory_name(&format!("{stem}.md")), tombstone_of(&stem));
            if is_name && let Some(id) = look_beside(store, &path, observe, &mut skipped)? {
                files.insert(path, Found { id, at: 0 });
            }
        }
        Ok(StoreContents::new(Box::new(store.clone()), files, skipped))
    }

    /// Reads `store` with its journals, following no link.
    pub fn look_with_journals(store: &Store) -> Result<StoreContents, EngineError> {
        let mut side = StoreContents::look(store, &|_, _| ())?;
        side.own_journals = StoreContents::own_journals(store.root(), store.state());
        side.look_at_journals(store)?;
        side.skipped.sort_unstable();
        Ok(side)
    }

    /// Returns the paths of the journals that only the store at `root` writes.
    pub fn own_journals(root: &Path, state: &Path) -> Vec<String> {
        let names = JournalFolder::new(root, state).own_names().into_iter();
        names
            .map(|name| format!("{}/{name}", crate::files::JOURNALS))
            .collect()
    }

    /// Returns the paths of a text.
    pub fn paths_of(&self, text: Id) -> &[String] {
        self.paths.get(&text).map_or(&[], Vec::as_slice)
    }

    /// Reads the journals again, as they grow.
    pub fn look_at_journals(&mut self, store: &Store) -> Result<(), EngineError> {
        self.journals.clear();
        let journals = store.journals()?.unwrap_or_default();
        for path in journals.sizes.into_keys() {
            if let Some(id) = look_beside(store, &path, &|_, _| (), &mut self.skipped)? {
                self.journals.insert(path, id);
            }
        }
        Ok(())
    }

    /// Whether it has a file at `path`.
    pub fn holds(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.journals.contains_key(path)
    }

    /// Returns the text of the file at `path`; `None` if it is gone.
    pub fn text(&self, path: &str) -> Result<Option<Vec<u8>>, EngineError> {
        self.texts.text(path)
    }

    /// Returns the stems of files that are not exchanged, which are left out of the plan. Among them are those of the
    /// common paths `known` whose folder could not be read: they are not gone.
    pub fn skipped_stems<'a>(&self, known: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
        let skipped: BTreeSet<&str> = self.skipped.iter().map(|(path, _)| path.as_str()).collect();
        let is_below = |path: &&String| {
            let mut folders = path.match_indices('/').map(|(at, _)| &path[..at]);
            !skipped.is_empty() && folders.any(|folder| skipped.contains(folder))
        };
        let stem = |path: &str| stem_of_path(path).to_owned();
        let mut stems: BTreeSet<String> = skipped.iter().map(|path| stem(path)).collect();
        stems.extend(known.filter(is_below).map(|path| stem(path)));
        stems
    }
}

/// Adds the memories in `place` to `files`, or to `skipped` with the reason.
fn look_at(
    store: &Store,
    place: Place,
    observe: &(dyn Fn(&str, &Version) + Sync),
    files: &mut Files,
    skipped: &mut Vec<(String, String)>,
) -> Result<(), EngineError> {
    let mut listing = store.list(place)?;
    // The other store may lie in a folder of a sync service, which is a remote by another name.
    listing.entries.retain(|entry| !is_talk_name(&entry.name));
    let unread = listing.skipped.into_iter();
    skipped.extend(unread.map(|one| (place.path_of(&one.name), one.reason)));
    let reader = store.reader(place);
    let look = |entry: &Entry| {
        let path = place.path_of(&entry.name);
        if let Some(reason) = refusal(&path, entry.stamp.size) {
            return Ok(Err(reason));
        }
        let version = match reader.read(&entry.name, u64::MAX) {
            Err(FilesError::Missing { .. }) => return Ok(Err(String::new())),
            Err(FilesError::NotRegular { .. }) => {
                return Ok(Err("it is no regular file".to_owned()));
            }
            other => other?,
        };
        observe(&path, &version);
        if let Some(reason) = unmerged(&version.bytes) {
            return Ok(Err(reason));
        }
        Ok(Ok(Found {
            id: Id::of_text(&version.bytes),
            at: version.entry.stamp.modified.div_euclid(1_000_000_000),
        }))
    };
    let found: Vec<Result<Result<Found, String>, EngineError>> =
        listing.entries.par_iter().map(look).collect();
    for (entry, found) in listing.entries.iter().zip(found) {
        let path = place.path_of(&entry.name);
        match found? {
            Ok(found) => drop(files.insert(path, found)),
            Err(gone) if gone.is_empty() => {}
            Err(reason) => skipped.push((path, reason)),
        }
    }
    Ok(())
}

/// Returns the text of a file beside the memories; `None` if it is not exchanged.
fn look_beside(
    store: &Store,
    path: &str,
    observe: &dyn Fn(&str, &Version),
    skipped: &mut Vec<(String, String)>,
) -> Result<Option<Id>, EngineError> {
    let Some(version) = store.version_at(path)? else {
        return Ok(None);
    };
    if let Some(reason) = refusal(path, version.entry.stamp.size) {
        skipped.push((path.to_owned(), reason));
        return Ok(None);
    }
    observe(path, &version);
    Ok(Some(Id::of_text(&version.bytes)))
}

/// Returns the reason why the file at `path`, of `bytes` bytes, is not exchanged, if there is one.
pub(in crate::engine) fn refusal(path: &str, bytes: u64) -> Option<String> {
    Some(path_rejection(path, bytes)?.reason().to_owned())
}

/// Returns the reason why a memory with this text is not exchanged, if there is one.
pub(in crate::engine) fn unmerged(text: &[u8]) -> Option<String> {
    let line = first_conflict_marker(text)?;
    Some(format!("git's conflict markers stand in it, line {line}"))
}
