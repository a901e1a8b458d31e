//! Plans the merge of two stores, whichever they are: from what each has by path and text, the tombstones of both,
//! and the state that they had in common last.
//!
//! It reads texts, and reaches neither store: a folder, a stick and a workspace of a server are planned alike.

use std::collections::{BTreeSet, HashMap};

use crate::engine::error::EngineError;
use crate::engine::history::commits::deletions::{are_too_many, by_key, is_memory, lost};
use crate::engine::history::merge_plan::{MergePlan, MergeStep, stem_of_path};
use crate::engine::history::with::keep::carried_out;
use crate::engine::history::with::record::{Base, PendingText};
use crate::engine::history::with::report::{Direction, Taken, WithReport};
use crate::engine::history::with::side::{Files, StoreContents};
use crate::engine::history::with::sources::{FolderSources, TextSources, find_text, is_skipped};
use crate::engine::history::with::{journal_copies, keep, record, report};
use crate::files::tombstone_of;
use crate::git::Id;

/// Changes to make in one of the two stores.
pub(in crate::engine) struct StoreTask {
    /// Changes of memories and tombstones.
    pub plan: MergePlan,
    /// Journals to extend.
    pub journals: Vec<journal_copies::JournalUnion>,
    /// Stems of memories that are forgotten because the other side lacks their files.
    pub deleted: BTreeSet<String>,
}

/// Changes to make in both stores.
pub(in crate::engine) struct Plans {
    /// Files of this store once it has the other one's changes.
    pub after: Files,
    /// Changes of this store; `None` if it takes none.
    pub for_here: Option<StoreTask>,
    /// Changes of the other one; `None` if it takes none.
    pub for_there: Option<StoreTask>,
}

impl Plans {
    /// Plans the changes of both stores from their common state `base`, without the memories of the stems
    /// `skipped`.
    pub fn new(
        direction: Direction,
        base: &Base,
        skipped: &BTreeSet<String>,
        texts: TextSources<'_>,
    ) -> Result<Plans, EngineError> {
        plans(direction, base, skipped, texts)
    }

    /// Returns the changes that the plans make.
    pub fn report(&self, dry_run: bool, [here, there]: [&StoreContents; 2]) -> WithReport {
        let taken = |task: &Option<StoreTask>, side: &StoreContents| match task {
            Some(task) => Taken::of(&task.plan, &side.files, task.journals.len()),
            None => Taken::default(),
        };
        let shown = |side: &StoreContents, is_here: bool| {
            let skipped = side.skipped.iter().cloned();
            skipped
                .map(|(path, reason)| report::Skipped {
                    is_here,
                    path,
                    reason,
                })
                .collect::<Vec<_>>()
        };
        WithReport {
            dry_run,
            here: taken(&self.for_here, here),
            there: taken(&self.for_there, there),
            skipped: [shown(here, true), shown(there, false)].concat(),
        }
    }

    /// Fails if too many memories are deleted from one of the stores, which `place` is the other one of. Memories
    /// purged here do not count.
    pub fn check_deletions(
        &self,
        place: &str,
        sides: [&StoreContents; 2],
    ) -> Result<(), EngineError> {
        let [here, there] = sides;
        if let Some(task) = &self.for_here {
            check_deletions_from("this store", &here.files, task, None, sides)?;
        }
        if let Some(task) = &self.for_there {
            check_deletions_from(place, &there.files, task, Some(&here.files), sides)?;
        }
        Ok(())
    }
}

fn plans(
    direction: Direction,
    base: &Base,
    skipped: &BTreeSet<String>,
    mut texts: TextSources<'_>,
) -> Result<Plans, EngineError> {
    let (here, there) = (texts.here, texts.there);
    let mut plans = Plans {
        after: here.files.clone(),
        for_here: None,
        for_there: None,
    };
    let mut common = base.clone();
    // Stems of memories that were deleted here, and are forgotten there.
    let mut sent_away = BTreeSet::new();
    if direction != Direction::Push {
        let files = [&here.files, &there.files];
        let (mut plan, deleted) = planned(files, base, skipped, &texts)?;
        common = in_common(there, skipped, base);
        if direction == Direction::Merge {
            // Memories deleted here are forgotten in both, and so come here from there.
            let after = carried_out(&here.files, &plan);
            let both = FolderSources::new([&there.files, &after], &texts);
            let sent = both.plan(&common, skipped)?;
            for (path, id) in keep::lost(&sent, &there.files, &both)? {
                let is_free = |path: &String| {
                    !after.contains_key(path) && [here, there].iter().all(|side| !side.holds(path))
                };
                match keep::archived(&path).filter(is_free) {
                    Some(archived) => {
                        sent_away.insert(stem_of_path(&path).to_owned());
                        keep::archive(&mut plan, archived, id);
                    }
                    // It stays there, and so it comes back.
                    None if !after.contains_key(&path) => keep::archive(&mut plan, path, id),
                    None => {}
                }
            }
            plan.steps.sort_by(|a, b| a.path.cmp(&b.path));
        }
        plans.after = carried_out(&here.files, &plan);
        texts.new = new_texts(&plan);
        let journals = journal_copies::plan(here, there, base, &texts)?;
        plans.for_here = Some(StoreTask {
            plan,
            journals,
            deleted,
        });
    }
    if direction != Direction::Pull {
        // After a pull the other side has nothing that is not here.
        let files = [&there.files, &plans.after];
        let (plan, mut deleted) = planned(files, &common, skipped, &texts)?;
        deleted.append(&mut sent_away);
        let journals = journal_copies::plan(there, here, base, &texts)?;
        plans.for_there = Some(StoreTask {
            plan,
            journals,
            deleted,
        });
    }
    Ok(plans)
}

/// Plans how the first files get the changes of the second ones, with the common state `base`; returns
/// with it the stems of memories that are forgotten because the others lack their files.
fn planned(
    files: [&Files; 2],
    base: &Base,
    skipped: &BTreeSet<String>,
    texts: &TextSources<'_>,
) -> Result<(MergePlan, BTreeSet<String>), EngineError> {
    let both = FolderSources::new(files, texts);
    let mut plan = both.plan(base, skipped)?;
    let deleted = keep::keep(&mut plan, files[0], &both)?;
    Ok((plan, deleted))
}

/// Returns the entries of `base` for memories that this run skips.
fn kept(base: &Base, skipped: &BTreeSet<String>) -> Base {
    let mut kept = base.clone();
    kept.retain(|path, _| is_skipped(path, skipped));
    kept
}

/// Returns the common state with `side` once all its files were taken.
pub(in crate::engine) fn in_common(
    side: &StoreContents,
    skipped: &BTreeSet<String>,
    base: &Base,
) -> Base {
    let mut common = kept(base, skipped);
    let files = side.files.iter();
    let files = files.filter(|(path, _)| !is_skipped(path, skipped));
    common.extend(files.map(|(path, found)| (path.clone(), found.id)));
    common.extend(side.journals.iter().map(|(path, id)| (path.clone(), *id)));
    common
}

/// Returns the texts that `plan` makes.
pub(in crate::engine) fn new_texts(plan: &MergePlan) -> HashMap<Id, Vec<u8>> {
    let steps = plan.steps.iter();
    steps
        .filter_map(|step| Some((step.after?, step.text.clone()?)))
        .collect()
}

/// Returns the texts of `plan` that are merged from both sides: if written, `source` is merged already.
pub(in crate::engine) fn pending(
    plan: &MergePlan,
    source: &Files,
    there: bool,
) -> Vec<PendingText> {
    let made = plan.steps.iter().filter(|step| step.text.is_some());
    let made: Vec<&MergeStep> = made.collect();
    let stems: BTreeSet<&str> = made.iter().map(|step| stem_of_path(&step.path)).collect();
    let mut files: HashMap<&str, Base> = HashMap::new();
    for (path, found) in source {
        let stem = stem_of_path(path);
        if stems.contains(stem) {
            let of = files.entry(stem).or_default();
            of.insert(path.clone(), found.id);
        }
    }
    let made = made.into_iter();
    made.filter_map(|step| {
        let of = files.get(stem_of_path(&step.path));
        let of = of.cloned().unwrap_or_default();
        // One that is put aside has a name of its own, and does not stand for the other side's.
        (!of.is_empty()).then(|| PendingText {
            there,
            path: step.path.clone(),
            id: step.after.map(|id| id.to_string()).unwrap_or_default(),
            of: record::written(&of),
        })
    })
    .collect()
}

/// Fails if `task` deletes too many memories of the store with these `files`. Memories with a tombstone
/// in `ours` do not count.
fn check_deletions_from(
    place: &str,
    files: &Files,
    task: &StoreTask,
    ours: Option<&Files>,
    sides: [&StoreContents; 2],
) -> Result<(), EngineError> {
    let memories = |files: &Files| {
        let memories = files.iter().filter(|(path, _)| is_memory(path));
        by_key(memories.map(|(path, found)| (path.clone(), found.id)))
    };
    let before = memories(files);
    let mut after = memories(&carried_out(files, &task.plan));
    after.retain(|key, _| !task.deleted.contains(stem_of_path(key)));
    let new = new_texts(&task.plan);
    let mut lost = lost(&before, &after, &|id| find_text(id, sides, &new))?;
    let is_meant =
        |key: &String| ours.is_some_and(|ours| ours.contains_key(&tombstone_of(stem_of_path(key))));
    lost.deleted.retain(|key| !is_meant(key));
    let all = before.len() - lost.moved;
    if !are_too_many(all, lost.count()) {
        return Ok(());
    }
    let what = match lost.emptied {
        0 => "would go from",
        _ => "would go from, or be emptied in,",
    };
    Err(EngineError::Paused(format!(
        "nothing was done: {} of {} memories {what} {place}; if that is meant, say --accept-deletions",
        lost.count(),
        all
    )))
}
