//! Brings this store and another one on this machine, or on a stick, into step, without git.
//!
//! Promises: the rules are those of a sync by git (`three_way_merge`): a memory that only one side changed is
//! taken, what both changed is merged by meaning, what excludes each other becomes two memories, a
//! purged one is not brought back. What was in common is noted (`record`); without that note nothing is
//! taken for deleted, and what is deleted goes to the archive (`keep`). Files are written as any edit writes them; a run that was killed is ended by the
//! next one. Settings are each store's own. The other store is somebody else's: no link in it is
//! followed, and what git would not carry is passed over (`side`).
//!
//! By hand and not through a bare repository: the two histories often have no commit in common, or one
//! from before what was in common last, so that git brings back what was forgotten; and a store on a
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

/// The changes to make in one of the two stores.
struct StoreTask {
    plan: MergePlan,
    journals: Vec<journal_copies::JournalUnion>,
    /// Stems of memories that are forgotten because the other side holds them no more.
    deleted: BTreeSet<String>,
}

/// Brings this store and the one at `with.folder` into step. `other` is that store opened, and
/// needed where it is written.
///
/// # Errors
///
/// Fails if the folder is no store or this one, if a side that is to be written can only be read,
/// if memories would go in mass unasked, or if something changes all the time.
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
    // One that can only be read notes nothing: the other one does, as whoever takes in.
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
    // What waits belongs to other commits, and is what a later merge begins at.
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

/// Commits what came; what cannot be now waits for the next commit.
fn commit_brought(history: &History, report: &WithReport) {
    if report.is_in_step() || leader::is_led(&history.live) {
        return;
    }
    if let Err(error) = commit::commit_everything(history) {
        let root = history.live.root().display();
        tracing::warn!("nothing was committed in {root}: {error}");
    }
}

/// Lets nobody else bring one of the stores into step with another meanwhile. Both orders of
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

/// Looks at both stores and plans what is to be done.
fn look_with<'a>(history: &'a History, with: &With<'a>) -> Result<Look<'a>, EngineError> {
    let own = history
        .live
        .directory
        .clone()
        .with_links(LinkPolicy::Refuse);
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

/// Does what was planned; the path that stands in the way, if there is one.
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

/// Notes why memories are to be forgotten, in the journal that this store writes; the other one
/// takes that along.
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

/// Does a task on this store, whose texts come from it, the other one and `new`; the path that
/// stands in the way, if there is one.
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

/// Both stores at one moment, and what is to be done.
struct Look<'a> {
    here: StoreContents,
    there: StoreContents,
    notes: SyncNotes<'a>,
    base: Base,
    /// Stems of which nothing is said.
    skipped: BTreeSet<String>,
    /// The files of this store once it has taken in the other one's.
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

/// The changes to make in both stores, and the files of this one afterwards.
struct Plans {
    after: Files,
    for_here: Option<StoreTask>,
    for_there: Option<StoreTask>,
}

impl Plans {
    /// Paths that would be written through a link, and whether in this store.
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
            // What was deleted here is forgotten in both, and so comes here from there.
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

/// Plans how the first files take in what the others hold, where `base` was in common; with the
/// stems of memories that are forgotten because the others hold them no more.
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

/// The entries of `base` for memories that this run skips.
fn kept(base: &Base, skipped: &BTreeSet<String>) -> Base {
    let mut kept = base.clone();
    kept.retain(|path, _| is_skipped(path, skipped));
    kept
}

/// The common state with `side` once all it holds was taken in.
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

/// The texts of `plan` that are made of both sides: where they lie, `source` was taken in.
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
        // One that is put aside has a name of its own, and says nothing of the other side's.
        (!of.is_empty()).then(|| PendingText {
            there,
            path: step.path.clone(),
            id: step.after.map(|id| id.to_string()).unwrap_or_default(),
            of: record::written(&of),
        })
    })
    .collect()
}

/// Fails if too many memories go from one of the stores. What was purged here is meant.
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

/// Fails if `task` takes too much from the store with these `files`. What `ours` says was purged is
/// meant.
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
