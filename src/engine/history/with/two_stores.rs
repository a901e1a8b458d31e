//! Synchronizes this store with another one on this machine, or on a stick, without git.
//!
//! Promises: the rules are those of a sync by git (`three_way_merge`): a memory that only one side changed is
//! taken, changes of both are merged by meaning, conflicting ones become two memories, a
//! purged one is not brought back. The common state is recorded (`record`); without that record no file
//! counts as deleted, and deleted memories move to the archive (`keep`). Files are written as any edit
//! writes them; a run that was killed is finished by the next one. Each store has its own settings. The other
//! store is not trusted: no link in it is followed, and files that git would not carry are skipped (`side`).
//!
//! It does not use a bare repository: the two histories often have no commit in common, or one
//! from before the last common state, so that git would bring back forgotten memories; and a store on a
//! stick may have no repository.

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::commits::deletions::{Memories, are_too_many, is_memory, lost};
use crate::engine::history::commits::{commit, dates, journals};
use crate::engine::history::merge_plan::{MergePlan, MergeStep, stem_of_path};
use crate::engine::history::remote::apply;
use crate::engine::history::remote::foreign_files::lies_behind_link;
use crate::engine::history::with::keep::carried_out;
use crate::engine::history::with::record::{Base, PendingText, SyncNotes};
pub use crate::engine::history::with::report::{Direction, Taken, With, WithReport};
use crate::engine::history::with::side::{Files, StoreContents, check_store};
use crate::engine::history::with::sources::{
    FolderSources, TextSources, find_text, is_skipped, repositories,
};
use crate::engine::history::with::{journal_copies, keep, record, report};
use crate::engine::live::leader;
use crate::files::{LinkPolicy, Lock, Place, STATE_FOLDER, Store, tombstone_of};
use crate::git::Id;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Maximum number of attempts while files change.
const ROUNDS: usize = 5;

/// Changes to make in one of the two stores.
struct StoreTask {
    plan: MergePlan,
    journals: Vec<journal_copies::JournalUnion>,
    /// Stems of memories that are forgotten because the other side lacks their files.
    deleted: BTreeSet<String>,
}

/// Synchronizes this store with the one at `with.folder`. `other` is that store opened, and
/// needed if it is written.
///
/// # Errors
///
/// Fails if the folder is no store or this one, if a side that is to be written is read-only,
/// if too many memories would be deleted, or if files change all the time.
pub fn sync_with(
    history: &History,
    with: &With<'_>,
    other: Option<&History>,
) -> Result<WithReport, EngineError> {
    history.live.check_there()?;
    let there = with.folder;
    check_store(there)?;
    let real = |root: &Path| root.canonicalize().ok();
    if real(there) == real(history.live.root()) {
        return Err(EngineError::Invalid(format!(
            "{} is this store itself",
            there.display()
        )));
    }
    if with.dry_run {
        return Ok(look_with(history, with)?.report(with));
    }
    // A read-only store records nothing: the other one does, as in a pull.
    if let (true, Direction::Push, Some(other)) =
        (history.live.is_read_only(), with.direction, other)
    {
        let turned = With {
            folder: history.live.root(),
            direction: Direction::Pull,
            ..*with
        };
        return Ok(sync_with(other, &turned, None)?.turned());
    }
    history.writer.check_writable()?;
    let other = match (with.direction, other) {
        (Direction::Pull, _) => None,
        (_, Some(other)) => {
            other.writer.check_writable()?;
            Some(other)
        }
        (_, None) => return Err(EngineError::ReadOnly(there.to_owned())),
    };
    let _alone = lock_with(history, other)?;
    // Pending changes belong to other commits, and a later merge starts from them.
    for store in [Some(history), other].into_iter().flatten() {
        if !leader::is_led(&store.live) {
            commit::commit_everything(store)?;
        }
    }
    let mut blocked = String::new();
    for _ in 0..ROUNDS {
        let mut look = look_with(history, with)?;
        let report = look.report(with);
        if let Some(path) = carry_out_with(history, with, other, &mut look)? {
            blocked = path;
            continue;
        }
        for store in [Some(history), other].into_iter().flatten() {
            commit_brought(store, &report);
        }
        return Ok(report);
    }
    Err(EngineError::Invalid(format!(
        "`{blocked}` changes all the time, or something else stands there; what was done is done, and a run again goes on"
    )))
}

/// Commits the changes; what cannot be committed now waits for the next commit.
fn commit_brought(history: &History, report: &WithReport) {
    if report.is_in_step() || leader::is_led(&history.live) {
        return;
    }
    if let Err(error) = commit::commit_everything(history) {
        let root = history.live.root().display();
        tracing::warn!("nothing was committed in {root}: {error}");
    }
}

/// Locks the stores against other syncs with stores. Both orders of
/// calling take the locks in one order.
fn lock_with(history: &History, other: Option<&History>) -> Result<Vec<Lock>, EngineError> {
    let mut folders: Vec<_> = [Some(history), other]
        .into_iter()
        .flatten()
        .map(|engine| engine.live.root().canonicalize())
        .collect::<Result<_, _>>()
        .map_err(|error| EngineError::Invalid(error.to_string()))?;
    folders.sort();
    let lock = |folder: &std::path::PathBuf| {
        let path = folder.join(STATE_FOLDER).join("with.lock");
        Ok(Lock::take(&path, "another sync with a store")?)
    };
    folders.iter().map(lock).collect()
}

/// Reads both stores and plans the changes.
fn look_with<'a>(history: &'a History, with: &With<'a>) -> Result<Look<'a>, EngineError> {
    let own = history.live.need_directory("synchronizing with a folder")?;
    let own = own.clone().with_links(LinkPolicy::Refuse);
    let mut here = StoreContents::look(own)?;
    let mut there = StoreContents::look(Store::at(with.folder))?;
    let notes = SyncNotes::read(history.live.root(), with.folder)?;
    let mut skipped = here.skipped_stems();
    skipped.extend(there.skipped_stems());
    let base = notes.base(&here, &there);
    let repositories = repositories([history.live.root(), with.folder]);
    loop {
        let texts = TextSources {
            here: &here,
            there: &there,
            new: HashMap::new(),
            repositories: &repositories,
        };
        let found = plans(with, &base, &skipped, texts)?;
        let blocked = found.behind_links([history.live.root(), with.folder]);
        if blocked.is_empty() {
            let Plans {
                after,
                for_here,
                for_there,
            } = found;
            check_deletions(with, [&here, &there], [&for_here, &for_there])?;
            return Ok(Look {
                here,
                there,
                notes,
                base,
                skipped,
                after,
                for_here,
                for_there,
            });
        }
        for (path, is_here) in blocked {
            skipped.insert(stem_of_path(&path).to_owned());
            let side = match is_here {
                true => &mut here,
                false => &mut there,
            };
            side.skipped
                .push((path, "a link lies on the way to it".to_owned()));
        }
    }
}

/// Carries out the plan; returns the path that blocks it, if there is one.
fn carry_out_with(
    history: &History,
    with: &With<'_>,
    other: Option<&History>,
    look: &mut Look<'_>,
) -> Result<Option<String>, EngineError> {
    let mut new = HashMap::new();
    record_deleted(history, look)?;
    if let Some(task) = &look.for_here {
        new = new_texts(&task.plan);
        let pending = pending(&task.plan, &look.there.files, false);
        if !pending.is_empty() {
            look.notes.write_here(&look.base, pending)?;
        }
        if let Some(path) = apply_with(history, task, [&look.here, &look.there], &new)? {
            return Ok(Some(path));
        }
        let common = in_common(&look.there, &look.skipped, &look.base);
        if with.direction == Direction::Pull || !task.plan.steps.is_empty() {
            look.notes.write_here(&common, Vec::new())?;
        }
        look.base = common;
    }
    if let (Some(task), Some(other)) = (&look.for_there, other) {
        new.extend(new_texts(&task.plan));
        let pending = pending(&task.plan, &look.after, true);
        if !pending.is_empty() {
            look.notes.write_here(&look.base, pending)?;
        }
        if let Some(path) = apply_with(other, task, [&look.there, &look.here], &new)? {
            return Ok(Some(path));
        }
        look.here.look_at_journals()?;
        look.here.files.clone_from(&look.after);
        let common = in_common(&look.here, &look.skipped, &look.base);
        look.notes.write_both(&common)?;
    }
    Ok(None)
}

/// Records why memories are to be forgotten, in the journal that this store writes; the other one
/// gets a copy.
fn record_deleted(history: &History, look: &mut Look<'_>) -> Result<(), EngineError> {
    let tasks = [&look.for_here, &look.for_there];
    let stems = tasks.into_iter().flatten().flat_map(|task| &task.deleted);
    let stems: BTreeSet<&String> = stems.collect();
    if stems.is_empty() {
        return Ok(());
    }
    let together = history.writer.collect_records();
    for stem in stems {
        history
            .writer
            .record("forget", &format!("{stem}.md"), Some(keep::WHY));
    }
    drop(together);
    journals::note_journals_pending(history);
    look.here.own_journals = StoreContents::own_journals(history.live.root(), history.live.state());
    look.here.look_at_journals()?;
    if let Some(task) = &mut look.for_there {
        let texts = TextSources {
            here: &look.here,
            there: &look.there,
            new: HashMap::new(),
            repositories: &repositories([history.live.root(), look.there.store.root()]),
        };
        task.journals = journal_copies::plan(&look.there, &look.here, &look.base, &texts)?;
    }
    Ok(())
}

/// Carries out a task on this store, with texts from it, the other one and `new`; returns the path that
/// blocks it, if there is one.
fn apply_with(
    history: &History,
    task: &StoreTask,
    sides: [&StoreContents; 2],
    new: &HashMap<Id, Vec<u8>>,
) -> Result<Option<String>, EngineError> {
    let (added, others): (Vec<&MergeStep>, Vec<&MergeStep>) = task
        .plan
        .steps
        .iter()
        .partition(|step| step.before.is_none() && step.after.is_some());
    // New files come first, so that a memory that moves is there at every moment.
    for step in added.into_iter().chain(others) {
        if lies_behind_link(history.live.root(), &step.path) {
            return Ok(Some(step.path.clone()));
        }
        let text = match (&step.text, step.after) {
            (Some(text), _) => Some(text.clone()),
            (None, None) => None,
            (None, Some(id)) => match find_text(id, sides, new)? {
                Some(text) => Some(text),
                None => return Ok(Some(step.path.clone())),
            },
        };
        if !apply::apply_to(history, &step.path, step.before, text.as_deref())? {
            return Ok(Some(step.path.clone()));
        }
        let name = step.path.split_once('/').map_or("", |(_, name)| name);
        history.writer.leave_note("sync --with", name);
        let at = Place::of(&step.path);
        if let (Some((Place::Files, name)), None, Some(id)) = (at, &step.text, step.after) {
            let found = sides.iter().filter_map(|side| side.files.get(&step.path));
            let times = found.filter(|found| found.id == id).map(|found| found.at);
            if let Some(at) = times.min() {
                dates::date_file(history, name, id, || Ok(at.saturating_mul(1_000_000_000)))?;
            }
        }
    }
    for unite in &task.journals {
        if !journal_copies::unite_journal(history, unite)? {
            return Ok(Some(unite.path.clone()));
        }
        journals::note_journals_pending(history);
    }
    Ok(None)
}

/// Both stores at one moment, and the planned changes.
struct Look<'a> {
    here: StoreContents,
    there: StoreContents,
    notes: SyncNotes<'a>,
    base: Base,
    /// Stems that are left out of the plan.
    skipped: BTreeSet<String>,
    /// Files of this store once it has the other one's changes.
    after: Files,
    for_here: Option<StoreTask>,
    for_there: Option<StoreTask>,
}

impl Look<'_> {
    fn report(&self, with: &With<'_>) -> WithReport {
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
            dry_run: with.dry_run,
            here: taken(&self.for_here, &self.here),
            there: taken(&self.for_there, &self.there),
            skipped: [shown(&self.here, true), shown(&self.there, false)].concat(),
        }
    }
}

/// Changes to make in both stores, and the files of this one afterwards.
struct Plans {
    after: Files,
    for_here: Option<StoreTask>,
    for_there: Option<StoreTask>,
}

impl Plans {
    /// Returns the paths that would be written through a link, and whether each is in this store.
    fn behind_links(&self, [here, there]: [&Path; 2]) -> Vec<(String, bool)> {
        let mut found = Vec::new();
        for (task, root, is_here) in [
            (&self.for_here, here, true),
            (&self.for_there, there, false),
        ] {
            let steps = task.iter().flat_map(|task| &task.plan.steps);
            let paths = steps.map(|step| &step.path);
            let behind = paths.filter(|path| lies_behind_link(root, path));
            found.extend(behind.map(|path| (path.clone(), is_here)));
        }
        found
    }
}

fn plans(
    with: &With<'_>,
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
    if with.direction != Direction::Push {
        let files = [&here.files, &there.files];
        let (mut plan, deleted) = planned(files, base, skipped, &texts)?;
        common = in_common(there, skipped, base);
        if with.direction == Direction::Merge {
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
    if with.direction != Direction::Pull {
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
fn in_common(side: &StoreContents, skipped: &BTreeSet<String>, base: &Base) -> Base {
    let mut common = kept(base, skipped);
    let files = side.files.iter();
    let files = files.filter(|(path, _)| !is_skipped(path, skipped));
    common.extend(files.map(|(path, found)| (path.clone(), found.id)));
    common.extend(side.journals.iter().map(|(path, id)| (path.clone(), *id)));
    common
}

fn new_texts(plan: &MergePlan) -> HashMap<Id, Vec<u8>> {
    let steps = plan.steps.iter();
    steps
        .filter_map(|step| Some((step.after?, step.text.clone()?)))
        .collect()
}

/// Returns the texts of `plan` that are merged from both sides: if written, `source` is merged already.
fn pending(plan: &MergePlan, source: &Files, there: bool) -> Vec<PendingText> {
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

/// Fails if too many memories are deleted from one of the stores. Memories purged here do not count.
fn check_deletions(
    with: &With<'_>,
    sides: [&StoreContents; 2],
    [for_here, for_there]: [&Option<StoreTask>; 2],
) -> Result<(), EngineError> {
    if with.accept_deletions {
        return Ok(());
    }
    let [here, there] = sides;
    if let Some(task) = for_here {
        check_deletions_from("this store", &here.files, task, None, sides)?;
    }
    if let Some(task) = for_there {
        let place = with.folder.display().to_string();
        check_deletions_from(&place, &there.files, task, Some(&here.files), sides)?;
    }
    Ok(())
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
        let mut memories = Memories::new();
        for (path, found) in files.iter().filter(|(path, _)| is_memory(path)) {
            let stem = stem_of_path(path).to_owned();
            memories.entry(stem).or_default().insert(found.id);
        }
        memories
    };
    let before = memories(files);
    let mut after = memories(&carried_out(files, &task.plan));
    after.retain(|stem, _| !task.deleted.contains(stem));
    let new = new_texts(&task.plan);
    let mut lost = lost(&before, &after, &|id| find_text(id, sides, &new))?;
    let is_meant = |stem: &String| ours.is_some_and(|ours| ours.contains_key(&tombstone_of(stem)));
    lost.deleted.retain(|stem| !is_meant(stem));
    if !are_too_many(before.len(), lost.count()) {
        return Ok(());
    }
    let what = match lost.emptied {
        0 => "would go from",
        _ => "would go from, or be emptied in,",
    };
    Err(EngineError::Invalid(format!(
        "nothing was done: {} of {} memories {what} {place}; if that is meant, say --accept-deletions",
        lost.count(),
        before.len()
    )))
}

#[cfg(test)]
mod tests;
