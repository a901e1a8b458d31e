//! Options and report of a sync between two stores.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use crate::engine::history::commits::deletions::is_memory;
use crate::engine::history::merge_plan::{MergePlan, MergeStep, stem_of_path};
use crate::engine::history::with::side::Files;
pub use crate::trust::Direction;

/// Options of a sync between two stores.
#[derive(Debug, Clone, Copy)]
pub struct With<'a> {
    /// Folder of the other store.
    pub folder: &'a Path,
    /// Direction of the changes.
    pub direction: Direction,
    /// Whether to only return what would be done.
    pub dry_run: bool,
    /// Whether more than a fifth of the memories, or all, may be deleted from a store.
    pub accept_deletions: bool,
}

/// Changes that a sync made in two stores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WithReport {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Changes of this store.
    pub here: Taken,
    /// Changes of the other store.
    pub there: Taken,
    /// Files that were not exchanged.
    pub skipped: Vec<Skipped>,
}

/// Changes of one store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    /// Paths of memories that are new, restored, or updated from the other store.
    pub came: Vec<String>,
    /// Stems of memories that both changed, and that were merged.
    pub united: Vec<String>,
    /// Stems of memories that were forgotten, or whose files were gone.
    pub forgotten: Vec<String>,
    /// Stems of memories that were purged.
    pub removed: Vec<String>,
    /// Stems of memories that both changed in conflicting ways: each is two now.
    pub conflicts: Vec<String>,
    /// Number of journals that got more lines.
    pub journals: usize,
}

/// A file that is not exchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Whether it is in this store.
    pub is_here: bool,
    /// Path below the store's folder.
    pub path: String,
    /// Reason why it was skipped.
    pub reason: String,
}

impl WithReport {
    /// Returns the report as seen from the other store.
    pub(in crate::engine) fn turned(mut self) -> WithReport {
        std::mem::swap(&mut self.here, &mut self.there);
        for skipped in &mut self.skipped {
            skipped.is_here = !skipped.is_here;
        }
        self
    }

    /// Adds the changes of a later round.
    pub(in crate::engine) fn add(&mut self, later: WithReport) {
        self.here.add(later.here);
        self.there.add(later.there);
        self.skipped = later.skipped;
    }

    /// Whether there was nothing to do.
    pub fn is_in_step(&self) -> bool {
        self.here == Taken::default() && self.there == Taken::default()
    }
}

impl Taken {
    fn add(&mut self, later: Taken) {
        self.came.extend(later.came);
        self.united.extend(later.united);
        self.forgotten.extend(later.forgotten);
        self.removed.extend(later.removed);
        self.conflicts.extend(later.conflicts);
        self.journals += later.journals;
    }

    /// Returns the changes that `plan` makes in `files`.
    pub(in crate::engine) fn of(plan: &MergePlan, files: &Files, journals: usize) -> Taken {
        let mut taken = Taken {
            conflicts: plan.conflicts.clone(),
            journals,
            ..Taken::default()
        };
        let mut by_stem: BTreeMap<&str, Vec<&MergeStep>> = BTreeMap::new();
        for step in plan.steps.iter().filter(|step| is_memory(&step.path)) {
            by_stem
                .entry(stem_of_path(&step.path))
                .or_default()
                .push(step);
        }
        let is_archived = |path: &str| path.starts_with("archive/");
        let paths = files.keys();
        let known: HashSet<&str> = paths.clone().map(|path| stem_of_path(path)).collect();
        let live = paths.filter(|path| !is_archived(path));
        let live: HashSet<&str> = live.map(|path| stem_of_path(path)).collect();
        let conflicts: HashSet<&str> = plan.conflicts.iter().map(String::as_str).collect();
        for (stem, steps) in by_stem {
            let was_live = live.contains(stem);
            let after = steps.iter().find(|step| step.after.is_some());
            let path = after.map(|step| step.path.clone());
            match path {
                _ if conflicts.contains(stem) => {}
                None => taken.removed.push(stem.to_owned()),
                Some(path) if is_archived(&path) && was_live => {
                    taken.forgotten.push(stem.to_owned());
                }
                // One that is put aside is reported with the memory that it contradicts.
                Some(_) if after.is_some_and(|step| step.text.is_some()) => {
                    taken
                        .united
                        .extend(known.contains(stem).then(|| stem.to_owned()));
                }
                Some(path) => taken.came.push(path),
            }
        }
        taken
    }
}
