//! Sources of texts, and of facts about stems, in two folders.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use crate::engine::error::EngineError;
use crate::engine::history::commits::deletions::is_memory;
use crate::engine::history::merge_plan::{Lying, MergePlan, Sources, stem_of_path};
use crate::engine::history::remote::three_way_merge;
use crate::engine::history::with::record::Base;
use crate::engine::history::with::side::{Files, StoreContents};
use crate::engine::write::tombstones::texts_since_added;
use crate::files::tombstone_of;
use crate::git::{Honoured, Id, PathChange, Repository};

/// Sources of texts.
pub(in crate::engine) struct TextSources<'a> {
    /// Contents of this store.
    pub here: &'a StoreContents,
    /// Contents of the other store.
    pub there: &'a StoreContents,
    /// Texts that are still to be written.
    pub new: HashMap<Id, Vec<u8>>,
    /// Repositories that may hold earlier texts.
    pub repositories: &'a [Repository],
}

impl TextSources<'_> {
    /// Returns a text that some commit holds.
    pub fn committed(&self, id: Id) -> Option<Vec<u8>> {
        self.repositories
            .iter()
            .find_map(|repository| repository.text(id).ok())
    }
}

/// Returns the repositories of stores that memdir has made already; writes nothing.
pub(in crate::engine) fn repositories<const N: usize>(roots: [&Path; N]) -> Vec<Repository> {
    roots
        .into_iter()
        .filter(|root| root.join(".git/memdir.config").is_file())
        .filter_map(|root| Repository::find(root, &Honoured::default()).ok().flatten())
        .collect()
}

/// Returns a text by its git id, if a file still holds it.
pub(in crate::engine) fn find_text(
    id: Id,
    sides: [&StoreContents; 2],
    new: &HashMap<Id, Vec<u8>>,
) -> Result<Option<Vec<u8>>, EngineError> {
    if let Some(text) = new.get(&id) {
        return Ok(Some(text.clone()));
    }
    for side in sides {
        for path in side.paths_of(id) {
            if let Some(text) = side.text(path)?
                && Id::of_text(&text) == id
            {
                return Ok(Some(text));
            }
        }
    }
    Ok(None)
}

/// Texts and times of two folders, for planning their merge.
pub(in crate::engine) struct FolderSources<'a> {
    local: &'a Files,
    remote: &'a Files,
    /// Stems of the memories of the first folder.
    memories: HashSet<&'a str>,
    texts: &'a TextSources<'a>,
}

impl<'a> FolderSources<'a> {
    /// Creates the sources of two folders.
    pub fn new([local, remote]: [&'a Files; 2], texts: &'a TextSources<'a>) -> FolderSources<'a> {
        let memories = local.keys().filter(|path| is_memory(path));
        let memories = memories.map(|path| stem_of_path(path)).collect();
        FolderSources {
            local,
            remote,
            memories,
            texts,
        }
    }

    /// Plans how the first folder gets the second one's changes, as a sync by git does.
    pub fn plan(&self, base: &Base, skipped: &BTreeSet<String>) -> Result<MergePlan, EngineError> {
        let changes = |files: &Files| changes(base, files, skipped);
        three_way_merge::plan(&changes(self.local), &changes(self.remote), self)
    }
}

impl Sources for FolderSources<'_> {
    fn text(&self, id: Id) -> Result<Vec<u8>, EngineError> {
        let texts = self.texts;
        let found = find_text(id, [texts.here, texts.there], &texts.new)?;
        found.or_else(|| texts.committed(id)).ok_or_else(|| {
            EngineError::Invalid("a memory changed while it was read; try again".to_owned())
        })
    }

    fn base_text(&self, id: Id) -> Result<Option<Vec<u8>>, EngineError> {
        let texts = self.texts;
        let found = find_text(id, [texts.here, texts.there], &texts.new)?;
        Ok(found.or_else(|| texts.committed(id)))
    }

    fn is_here(&self, stem: &str) -> Result<bool, EngineError> {
        Ok(self.memories.contains(stem))
    }

    fn memory(&self, stem: &str) -> Result<Option<Lying>, EngineError> {
        let path = format!("files/{stem}.md");
        let sides = [self.local, self.remote].into_iter();
        let found = sides.filter_map(|files| files.get(&path)).next();
        Ok(found.map(|found| (path, found.id)))
    }

    fn changed_at(&self, path: &str, is_local: bool) -> Result<i64, EngineError> {
        let files = match is_local {
            true => self.local,
            false => self.remote,
        };
        Ok(files.get(path).map_or(0, |found| found.at.max(0)))
    }

    fn tombstones(&self, stem: &str) -> Vec<Id> {
        let sides = [self.local, self.remote].into_iter();
        let words = sides.filter_map(|files| files.get(&tombstone_of(stem)));
        words.map(|found| found.id).collect()
    }

    fn texts(&self, path: &str, is_local: bool) -> Result<BTreeSet<Id>, EngineError> {
        let files = match is_local {
            true => self.local,
            false => self.remote,
        };
        let mut texts: BTreeSet<Id> = files.get(path).map(|found| found.id).into_iter().collect();
        // An earlier text may be the one that was purged.
        for repository in self.texts.repositories {
            if let Ok(Some(head)) = repository.head() {
                texts.extend(texts_since_added(repository, head, path)?);
            }
        }
        Ok(texts)
    }
}

/// Whether the stem of `path` is left out.
pub(in crate::engine) fn is_skipped(path: &str, skipped: &BTreeSet<String>) -> bool {
    skipped.contains(stem_of_path(path))
}

/// Returns the changes from the common state `base` to `files`.
pub(in crate::engine) fn changes(
    base: &Base,
    files: &Files,
    skipped: &BTreeSet<String>,
) -> Vec<PathChange> {
    let paths: BTreeSet<&String> = base.keys().chain(files.keys()).collect();
    let change = |path: &String| {
        let before = base.get(path).copied();
        let after = files.get(path).map(|found| found.id);
        // A tombstone is never taken back.
        let is_unsaid = after.is_none() && !is_memory(path);
        (before != after && !is_unsaid && !is_skipped(path, skipped)).then(|| PathChange {
            path: path.clone(),
            before,
            after,
        })
    };
    paths.into_iter().filter_map(change).collect()
}
