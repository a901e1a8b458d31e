//! Tombstones of purged memories, and the files that they apply to.
//!
//! An id is unique, so its tombstone applies to every file of that name. Other names are used
//! again: there it applies to the texts that were purged, and to their later versions.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::engine::error::EngineError;
use crate::engine::live::reading;
use crate::engine::texts::{FOLDERS, name_of};
use crate::engine::write::writer::Writer;
use crate::files::tombstone_of;
use crate::format::Tombstone;
use crate::git;
use crate::git::{Id, Repository};
use crate::model::Stem;

/// Returns the tombstone of the memory `stem`, from here or another machine.
///
/// # Errors
///
/// Fails if it cannot be read.
pub(in crate::engine) fn tombstone(
    writer: &Writer,
    stem: &Stem,
) -> Result<Option<Tombstone>, EngineError> {
    let bytes = reading::bytes_at(&writer.live, &tombstone_of(stem.as_str()))?;
    Ok(bytes.map(|bytes| Tombstone::read(&bytes)))
}

/// Whether a file of `stem` that holds the text `bytes` was purged.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub(in crate::engine) fn is_purged(
    writer: &Writer,
    stem: &Stem,
    bytes: &[u8],
) -> Result<bool, EngineError> {
    let is_named =
        |stone: Tombstone| stem.is_of_one_memory() || stone.names(&Id::of_text(bytes).to_string());
    let of = stem.replaced_of().map(Stem::from_file_name);
    for stem in [Some(stem), of.as_ref()].into_iter().flatten() {
        if tombstone(writer, stem)?.is_some_and(is_named) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes the tombstone of `stem`, with `texts` if the stem is no id.
///
/// # Errors
///
/// Fails if it cannot be written.
pub(in crate::engine) fn leave_tombstone(
    writer: &Writer,
    stem: &Stem,
    texts: &BTreeSet<Id>,
) -> Result<(), EngineError> {
    let path = tombstone_of(stem.as_str());
    let seen = writer.live.store.version_at(&path)?;
    let mut stone = match &seen {
        Some(seen) => Tombstone::read(&seen.bytes),
        None => {
            let now = writer.live.clock.now().format("%Y-%m-%dT%H:%M:%SZ");
            Tombstone::new(&now.to_string())
        }
    };
    let texts = texts.iter().filter(|_| !stem.is_canonical());
    if stone.add(texts.map(Id::to_string)) || seen.is_none() {
        let written = stone.written();
        writer.put_beside(&path, seen.as_ref(), Some(written.as_bytes()))?;
    }
    Ok(())
}

/// Returns every text that the file at `path`, live or forgotten, has had in the commits reachable from
/// `from` since it was added.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub(in crate::engine) fn texts_since_added(
    repository: &Repository,
    from: Id,
    path: &str,
) -> Result<BTreeSet<Id>, EngineError> {
    let name = name_of(path);
    let file = name.rsplit('/').next().unwrap_or(name).as_bytes();
    let mut texts = all_texts_since_added(repository, from, |found| found == file)?;
    Ok(texts.remove(name).unwrap_or_default())
}

/// As [`texts_since_added`], of all files whose names without folders are wanted, by their names
/// below `files/` or `archive/`: each commit is read once.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub(in crate::engine) fn all_texts_since_added(
    repository: &Repository,
    from: Id,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> Result<HashMap<String, BTreeSet<Id>>, EngineError> {
    let mut places = git::places(repository, &FOLDERS, is_wanted)?;
    let mut texts: HashMap<String, BTreeSet<Id>> = HashMap::new();
    // Files in each parent of the commits made since they were added.
    let mut since: HashMap<Id, HashSet<String>> = HashMap::new();
    for moment in git::commits(repository, from, None)? {
        let moment = moment?;
        let known = since.remove(&moment.id);
        if known.is_none() && moment.id != from {
            if since.is_empty() {
                break;
            }
            continue; // All were added later.
        }
        let mut there = HashSet::new();
        for (path, text) in places.at(moment.id)? {
            let name = name_of(&path);
            if known.as_ref().is_none_or(|known| known.contains(name)) {
                texts.entry(name.to_owned()).or_default().insert(text);
                there.insert(name.to_owned());
            }
        }
        if !there.is_empty() {
            for parent in moment.parents {
                since
                    .entry(parent)
                    .or_default()
                    .extend(there.iter().cloned());
            }
        }
    }
    Ok(texts)
}
