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

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::engine::error::EngineError;
use crate::engine::history::commits::commit;
use crate::engine::history::merge_plan::stem_of_path;
use crate::engine::history::remote::foreign_files::lies_behind_link;
use crate::engine::history::with::plan::{Plans, in_common, new_texts, pending};
use crate::engine::history::with::record::{Base, SyncNotes};
pub use crate::engine::history::with::report::{Direction, With, WithReport};
use crate::engine::history::with::side::{StoreContents, check_store};
use crate::engine::history::with::sources::{TextSources, repositories};
use crate::engine::history::with::{carry_out, journal_copies};
use crate::engine::history::{History, git_work};
use crate::engine::live::leader;
use crate::files::{LinkPolicy, Lock, STATE_FOLDER, Store};

/// Maximum number of attempts while files change.
const ROUNDS: usize = 5;

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
    let check_undisturbed = || {
        let mut stores = [Some(history), other].into_iter().flatten();
        stores.try_for_each(git_work::check_undisturbed)
    };
    let mut blocked = String::new();
    for _ in 0..ROUNDS {
        check_undisturbed()?;
        let mut look = look_with(history, with)?;
        let report = look.report(with);
        check_undisturbed()?;
        if let Some(path) = carry_out_with(history, with, other, &mut look)? {
            blocked = path;
            continue;
        }
        for store in [Some(history), other].into_iter().flatten() {
            carry_out::commit_brought(store, &report);
        }
        return Ok(report);
    }
    Err(carry_out::blocked_by(&blocked))
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
    let stores = [
        own.clone().with_links(LinkPolicy::Refuse),
        Store::at(with.folder),
    ];
    let mut here = StoreContents::look_with_journals(&stores[0])?;
    let mut there = StoreContents::look_with_journals(&stores[1])?;
    let notes = SyncNotes::read(history.live.root(), with.folder)?;
    let base = notes.base(&here, &there);
    let mut skipped = here.skipped_stems(base.keys());
    skipped.extend(there.skipped_stems(base.keys()));
    let repositories = repositories([history.live.root(), with.folder]);
    loop {
        let texts = TextSources {
            here: &here,
            there: &there,
            new: HashMap::new(),
            repositories: &repositories,
        };
        let plans = Plans::new(with.direction, &base, &skipped, texts)?;
        let blocked = behind_links(&plans, [history.live.root(), with.folder]);
        if blocked.is_empty() {
            if !with.accept_deletions {
                let place = with.folder.display().to_string();
                plans.check_deletions(&place, [&here, &there])?;
            }
            return Ok(Look {
                stores,
                here,
                there,
                notes,
                base,
                skipped,
                plans,
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
    if let Some(task) = &look.plans.for_here {
        new = new_texts(&task.plan);
        let pending = pending(&task.plan, &look.there.files, false);
        if !pending.is_empty() {
            look.notes.write_here(&look.base, pending)?;
        }
        if let Some(path) = carry_out::carry_out(history, task, [&look.here, &look.there], &new)? {
            return Ok(Some(path));
        }
        let common = in_common(&look.there, &look.skipped, &look.base);
        if with.direction == Direction::Pull || !task.plan.steps.is_empty() {
            look.notes.write_here(&common, Vec::new())?;
        }
        look.base = common;
    }
    if let (Some(task), Some(other)) = (&look.plans.for_there, other) {
        new.extend(new_texts(&task.plan));
        let pending = pending(&task.plan, &look.plans.after, true);
        if !pending.is_empty() {
            look.notes.write_here(&look.base, pending)?;
        }
        if let Some(path) = carry_out::carry_out(other, task, [&look.there, &look.here], &new)? {
            return Ok(Some(path));
        }
        look.here.look_at_journals(&look.stores[0])?;
        look.here.files.clone_from(&look.plans.after);
        let common = in_common(&look.here, &look.skipped, &look.base);
        look.notes.write_both(&common)?;
    }
    Ok(None)
}

/// Records why memories are to be forgotten, in the journal that this store writes; the other one
/// gets a copy.
fn record_deleted(history: &History, look: &mut Look<'_>) -> Result<(), EngineError> {
    let tasks = [look.plans.for_here.as_ref(), look.plans.for_there.as_ref()];
    if !carry_out::record_deleted(history, tasks) {
        return Ok(());
    }
    look.here.own_journals = StoreContents::own_journals(history.live.root(), history.live.state());
    look.here.look_at_journals(&look.stores[0])?;
    if let Some(task) = &mut look.plans.for_there {
        let texts = TextSources {
            here: &look.here,
            there: &look.there,
            new: HashMap::new(),
            repositories: &repositories([history.live.root(), look.stores[1].root()]),
        };
        task.journals = journal_copies::plan(&look.there, &look.here, &look.base, &texts)?;
    }
    Ok(())
}

/// Both stores at one moment, and the planned changes.
struct Look<'a> {
    /// This store and the other one.
    stores: [Store; 2],
    here: StoreContents,
    there: StoreContents,
    notes: SyncNotes<'a>,
    base: Base,
    /// Stems that are left out of the plan.
    skipped: BTreeSet<String>,
    plans: Plans,
}

impl Look<'_> {
    fn report(&self, with: &With<'_>) -> WithReport {
        self.plans.report(with.dry_run, [&self.here, &self.there])
    }
}

/// Returns the paths that would be written through a link, and whether each is in this store.
fn behind_links(plans: &Plans, [here, there]: [&Path; 2]) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (task, root, is_here) in [
        (&plans.for_here, here, true),
        (&plans.for_there, there, false),
    ] {
        let steps = task.iter().flat_map(|task| &task.plan.steps);
        let paths = steps.map(|step| &step.path);
        let behind = paths.filter(|path| lies_behind_link(root, path));
        found.extend(behind.map(|path| (path.clone(), is_here)));
    }
    found
}

#[cfg(test)]
mod tests;
