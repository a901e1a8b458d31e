//! Texts and times of two histories, for planning their merge.
//!
//! Promise: commits are walked once for all memories, and only if a memory needs it.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::engine::error::EngineError;
use crate::engine::history::merge_plan::{Lying, Sources, stem_of_path};
use crate::engine::texts::{key_of, name_of};
use crate::engine::write::tombstones::all_texts_since_added;
use crate::files::tombstone_of;
use crate::git;
use crate::git::{Id, LastChanges, Repository};

/// Texts and times for the merge of two histories.
pub(in crate::engine) struct CommitSources<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Merge base of both histories.
    pub base: Option<Id>,
    /// Newest local commit.
    pub head: Option<Id>,
    /// Newest commit of the remote.
    pub tip: Id,
    /// Tombstones of both sides, by path.
    purged: BTreeMap<String, BTreeSet<Id>>,
    local: HistoryWalks<'a>,
    remote: HistoryWalks<'a>,
}

/// Results of walks through the commits of one side, each computed on first use.
#[derive(Default)]
struct HistoryWalks<'a> {
    last_changes: RefCell<Option<LastChanges<'a>>>,
    /// Texts of files that share their name with a purged one, by name.
    texts: OnceCell<HashMap<String, BTreeSet<Id>>>,
    /// Path and text of each stem in the newest commit, live or forgotten.
    memories: OnceCell<HashMap<String, Lying>>,
}

impl<'a> CommitSources<'a> {
    /// Creates the sources of the histories that end at `head` and `tip`, with the merge base `base`.
    ///
    /// # Errors
    ///
    /// Fails if the repository is damaged.
    pub fn new(
        repository: &'a Repository,
        [base, head]: [Option<Id>; 2],
        tip: Id,
    ) -> Result<CommitSources<'a>, EngineError> {
        let mut purged: BTreeMap<String, BTreeSet<Id>> = BTreeMap::new();
        for side in [head, Some(tip)] {
            for (path, id) in git::trees(repository, side)?.files_below("tombstones")? {
                purged.entry(path).or_default().insert(id);
            }
        }
        Ok(CommitSources {
            repository,
            base,
            head,
            tip,
            purged,
            local: HistoryWalks::default(),
            remote: HistoryWalks::default(),
        })
    }

    /// Returns the newest commit of a side, and the results of its walks.
    fn side(&self, is_local: bool) -> (Id, &HistoryWalks<'a>) {
        match self.head.filter(|_| is_local) {
            Some(head) => (head, &self.local),
            None => (self.tip, &self.remote),
        }
    }

    fn memories(&self, is_local: bool) -> Result<&HashMap<String, Lying>, EngineError> {
        let walks = match is_local {
            true => &self.local,
            false => &self.remote,
        };
        if let Some(memories) = walks.memories.get() {
            return Ok(memories);
        }
        let side = if is_local { self.head } else { Some(self.tip) };
        let mut trees = git::trees(self.repository, side)?;
        let mut memories = HashMap::new();
        // Of two with one stem, the live one counts.
        for folder in ["archive", "files"] {
            let all = trees.files_below(folder)?.into_iter();
            let all = all.filter(|(path, _)| path.ends_with(".md"));
            memories.extend(all.map(|(path, id)| (stem_of_path(&path).to_owned(), (path, id))));
        }
        Ok(walks.memories.get_or_init(|| memories))
    }
}

impl Sources for CommitSources<'_> {
    fn text(&self, id: Id) -> Result<Vec<u8>, EngineError> {
        Ok(self.repository.text(id)?)
    }

    fn tombstones(&self, stem: &str) -> Vec<Id> {
        let words = self.purged.get(&tombstone_of(stem));
        words.into_iter().flatten().copied().collect()
    }

    fn texts(&self, path: &str, is_local: bool) -> Result<BTreeSet<Id>, EngineError> {
        let (newest, walks) = self.side(is_local);
        if walks.texts.get().is_none() {
            let stems = self.purged.keys().map(|path| stem_of_path(path).as_bytes());
            let stems: HashSet<&[u8]> = stems.collect();
            let is_wanted = |file: &[u8]| stems.contains(file.strip_suffix(b".md").unwrap_or(file));
            let texts = all_texts_since_added(self.repository, newest, is_wanted)?;
            walks.texts.get_or_init(|| texts);
        }
        let texts = walks.texts.get().and_then(|texts| texts.get(name_of(path)));
        Ok(texts.cloned().unwrap_or_default())
    }

    fn is_here(&self, stem: &str) -> Result<bool, EngineError> {
        Ok(self.memories(true)?.contains_key(stem))
    }

    fn memory(&self, stem: &str) -> Result<Option<Lying>, EngineError> {
        let found = match self.memories(true)?.get(stem) {
            Some(found) => Some(found),
            None => self.memories(false)?.get(stem),
        };
        Ok(found
            .filter(|(path, _)| path.starts_with("files/"))
            .cloned())
    }

    fn changed_at(&self, path: &str, is_local: bool) -> Result<i64, EngineError> {
        let (newest, walks) = self.side(is_local);
        let mut last_changes = walks.last_changes.borrow_mut();
        if last_changes.is_none() {
            let changes = git::last_changes(self.repository, newest, self.base, key_at)?;
            *last_changes = Some(changes);
        }
        let last_changes = last_changes.as_mut().expect("it was made above");
        Ok(last_changes.of(key_at(path))?)
    }
}

/// Returns what tells the memory of the file at `path` from others.
fn key_at(path: &str) -> &str {
    key_of(name_of(path))
}
