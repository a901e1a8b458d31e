//! A merge as steps, and the sources that it is planned from.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::engine::error::EngineError;
use crate::format::Tombstone;
use crate::git::{GitError, Id, NewText, PathChange};
use crate::model::Stem;

/// Changes of the local side that make it hold the merged state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::engine) struct MergePlan {
    /// Steps, in the order of their paths.
    pub steps: Vec<MergeStep>,
    /// Stems of memories that both sides changed in conflicting ways.
    pub conflicts: Vec<String>,
    /// Files of purged memories that the other side holds: no merged commit may hold them.
    pub buried: Vec<String>,
    /// Files that are removed because their memory was purged.
    pub purged: BTreeSet<String>,
    /// Later versions of memories that were put aside; they replace other steps for the same path.
    pub(in crate::engine) moved_on: Vec<MergeStep>,
}

impl MergePlan {
    /// Returns the source of the texts to commit: all but those of this plan are in some commit.
    pub fn text_of(&self) -> impl FnMut(&str, Id) -> Result<NewText, GitError> + '_ {
        let steps = self.steps.iter();
        let texts = steps.filter_map(|step| Some((step.path.as_str(), step.text.as_ref()?)));
        let texts: HashMap<&str, &Vec<u8>> = texts.collect();
        move |path, _| {
            let text = texts.get(path);
            Ok(text.map_or(NewText::Known, |text| NewText::Bytes((*text).clone())))
        }
    }
}

/// A step on one file of the local side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct MergeStep {
    /// Path below the store's folder.
    pub path: String,
    /// Present text of the local side.
    pub before: Option<Id>,
    /// New text.
    pub after: Option<Id>,
    /// Content of `after`, if no commit holds it yet.
    pub text: Option<Vec<u8>>,
}

impl MergeStep {
    /// Returns a step to a text that some commit or file holds.
    pub fn taken(path: &str, before: Option<Id>, after: Option<Id>) -> MergeStep {
        MergeStep {
            path: path.to_owned(),
            before,
            after,
            text: None,
        }
    }

    /// Returns a step to a new text.
    pub fn written(path: String, before: Option<Id>, text: Vec<u8>) -> MergeStep {
        MergeStep {
            path,
            before,
            after: Some(Id::of_text(&text)),
            text: Some(text),
        }
    }
}

impl From<&PathChange> for MergeStep {
    fn from(change: &PathChange) -> MergeStep {
        MergeStep::taken(&change.path, change.before, change.after)
    }
}

/// Source of the texts and times that a merge is planned with.
pub(in crate::engine) trait Sources {
    /// Returns the text of a file.
    fn text(&self, id: Id) -> Result<Vec<u8>, EngineError>;
    /// Returns the text of a common ancestor of a file; `None` if nobody has it any more.
    fn base_text(&self, id: Id) -> Result<Option<Vec<u8>>, EngineError> {
        self.text(id).map(Some)
    }
    /// Whether the local side holds a memory `stem`, live or forgotten.
    fn is_here(&self, stem: &str) -> Result<bool, EngineError>;
    /// Returns path and text of the live memory `stem` on the local side; on the other one if
    /// the local one has none.
    fn memory(&self, stem: &str) -> Result<Option<Lying>, EngineError>;
    /// Returns when the local side, or the other one, last changed the memory whose file lies at `path` there; in
    /// seconds since 1970.
    fn changed_at(&self, path: &str, is_local: bool) -> Result<i64, EngineError>;
    /// Returns the texts of both sides' tombstones for the memory `stem`.
    fn tombstones(&self, stem: &str) -> Vec<Id>;
    /// Returns the united tombstone of both sides for the memory `stem`; for a former text of a memory, that of the memory.
    fn tombstone(&self, stem: &str) -> Result<Option<Tombstone>, EngineError> {
        let mut stones = self.tombstones(stem);
        if let Some(of) = Stem::from_file_name(stem).replaced_of() {
            stones.extend(self.tombstones(of));
        }
        let stones = stones.into_iter();
        let stones = stones.map(|id| Ok(Tombstone::read(&self.text(id)?)));
        let stones: Vec<Tombstone> = stones.collect::<Result<_, EngineError>>()?;
        Ok(stones.into_iter().reduce(Tombstone::and))
    }
    /// Returns every text that the file at `path` of the local side, or of the other one, has had since it
    /// was added.
    fn texts(&self, path: &str, is_local: bool) -> Result<BTreeSet<Id>, EngineError>;
}

/// Path and text of a file.
pub(in crate::engine) type Lying = (String, Id);

/// Returns the file's name without its folders and its ending.
pub(in crate::engine) fn stem_of_path(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.strip_suffix(".md").unwrap_or(file)
}

/// Adds the names of former texts that only the local side changed to those of the other side's changes: the tombstone
/// that such a text goes with has the name of its memory.
pub(in crate::engine) fn add_former_texts<'a>(
    local: &BTreeMap<&'a str, Vec<&'a PathChange>>,
    remote: &mut BTreeMap<&'a str, Vec<&'a PathChange>>,
) {
    for stem in local.keys() {
        if Stem::from_file_name(stem).is_of_replaced_text() {
            remote.entry(stem).or_default();
        }
    }
}
