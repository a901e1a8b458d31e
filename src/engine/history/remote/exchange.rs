//! Synchronizes this repository with its remote: fetches, merges, pushes.
//!
//! An interrupted attempt is continued by the next one: the merge commit is written and recorded before
//! the first file is changed (`unfinished`), and the branch is moved last.
//!
//! Steps: commit; fetch into `refs/memdir/remote/…`; check the fetched commits (`git/reading/inspect`) and
//! whether they follow from the last seen one (`refs/memdir/seen/…`); plan (`three_way_merge`: from
//! commits and texts alone, the same plan on every machine); write the merge commit and a
//! reference to it (`refs/memdir/merging/…`); keep the old state (`refs/memdir/backup/…`); change
//! the files, each only if it is still as planned (`apply`); move the branch;
//! push. If a file changed meanwhile, everything is repeated.
//!
//! Until the branch is moved, no commit includes the merge's changes as edits, so that no `undo`
//! reverts changes of others. The last change of each file, which decides which side is later, is found
//! in one walk through the commits of a side (`git/reading/last_changes`). In a user's repository
//! the ids of its own unsent commits are recorded (`.git/memdir-made/`); a branch with any other
//! unsent commit is not pushed. Deletions are counted from a state that was accepted, or in step a
//! day ago (`commits/deletions`). A rewritten remote is followed on request (`adopt`): one commit
//! on its tip holds the merged files. The exchange does not write to the index: a pulled
//! file is indexed as a changed file.

use std::collections::BTreeMap;

use crate::engine::error::EngineError;
use crate::engine::history::commits::commit::Committed;
use crate::engine::history::commits::compare::stamped;
use crate::engine::history::commits::unfinished::Unfinished;
use crate::engine::history::commits::{commit, dates, deletions, outgoing_secrets, unfinished};
use crate::engine::history::consent::Remote;
use crate::engine::history::merge_plan::MergePlan;
use crate::engine::history::remote::exchanged::{Accept, Exchanged, Transfer};
use crate::engine::history::remote::sources::CommitSources;
use crate::engine::history::remote::{adopt, apply, foreign_files, state, three_way_merge};
use crate::engine::history::{History, consent, git_work, repair, tidy};
use crate::engine::texts::stem_of;
use crate::files::{CrashMarker, Lock, is_journal};
use crate::git;
use crate::git::{Id, LeftOut, Network, NewText, Owner, Pushed, Repository, Staged, Trees};

/// Maximum number of attempts while the remote's branch moves.
const ROUNDS: usize = 5;

/// Maximum number of kept states of the branch before merges.
const BACKUPS: usize = 50;

/// Result of merging the remote's commits.
enum Pulled {
    Done,
    /// A file or the branch changed meanwhile.
    Again,
    /// Path of a file that changed meanwhile, or was never committed.
    Blocked(String),
    Paused(String),
}

/// Commits pending changes, merges the remote's commits, and pushes. Takes as long
/// as the network does; `stop` ends it within a second.
///
/// # Errors
///
/// [`EngineError::Network`] if the remote cannot be reached; nothing is lost then.
pub fn exchange(
    history: &History,
    accept: Accept,
    stop: &dyn Fn() -> bool,
) -> Result<Exchanged, EngineError> {
    if history.git.is_none() {
        return Ok(Exchanged::Off);
    }
    history.live.check_there()?;
    let Some(_lock) = Lock::try_take(&history.live.state().join("exchange.lock"))? else {
        return Ok(Exchanged::Busy);
    };
    let at_work = CrashMarker::begin(&history.live.state().join("exchange-at-work"))?;
    if at_work.was_interrupted && !clear_left_locks(history)? {
        at_work.leave_unfinished();
        return Ok(Exchanged::Busy);
    }
    let exchanged = exchange_locked(history, accept, stop);
    drop(at_work);
    state::note_sync(history, &exchanged);
    if !history.live.has_background() && exchanged.is_ok() {
        tidy::tidy_repository(history)?;
    }
    exchanged
}

/// Removes the locks and unfinished packs of an exchange that was killed; false while another process is
/// at work.
fn clear_left_locks(history: &History) -> Result<bool, EngineError> {
    let Some(_lock) = git_work::try_lock_repository(history)? else {
        return Ok(false);
    };
    let Some(repository) = consent::repository(history)? else {
        return Ok(true);
    };
    git::finish_branch_move(&repository)?;
    let taken = git::clear_locks(&repository, &repository.branch(), true);
    // The caller has the lock of exchanges, and this function that of commits and packing.
    git::remove_unfinished_packs(&repository, true);
    Ok(taken.in_use.is_empty())
}

fn exchange_locked(
    history: &History,
    accept: Accept,
    stop: &dyn Fn() -> bool,
) -> Result<Exchanged, EngineError> {
    let mut moved = Transfer::default();
    let mut blocked = None;
    // A user who asks for a sync may do so because of a fault.
    if !history.live.has_background() {
        repair::repair_now(history)?;
    }
    repair::resume(history, stop)?;
    for _ in 0..ROUNDS {
        if let Some(exchanged) = exchange_once(history, accept, stop, &mut moved, &mut blocked)? {
            return Ok(exchanged);
        }
    }
    Ok(match blocked {
        Some(path) => Exchanged::Paused(format!(
            "`{path}` stands in the way of what the remote has: it is not as it was committed, or changes all the time; commit it, put it back, or move it away"
        )),
        None => Exchanged::Busy,
    })
}

/// Makes one attempt at [`exchange`]; `None` if something changed meanwhile: the path of a blocking file
/// is stored in `blocked`.
fn exchange_once(
    history: &History,
    accept: Accept,
    stop: &dyn Fn() -> bool,
    moved: &mut Transfer,
    blocked: &mut Option<String>,
) -> Result<Option<Exchanged>, EngineError> {
    // A process with a background loop has records of the changed files.
    let committed = match history.live.has_background() {
        true => commit::commit(history)?,
        false => commit::commit_everything(history)?,
    };
    match committed {
        Committed::Off => return Ok(Some(Exchanged::Off)),
        Committed::Busy => return Ok(Some(Exchanged::Busy)),
        Committed::Paused(reason) => return Ok(Some(Exchanged::Paused(reason))),
        Committed::Nothing | Committed::Done { .. } => {}
    }
    let Some(repository) = consent::repository(history)? else {
        return Ok(Some(Exchanged::Off));
    };
    match finish_merge(history, &repository, moved)? {
        Pulled::Done => {}
        Pulled::Again => return Ok(None),
        Pulled::Blocked(path) => {
            *blocked = Some(path);
            return Ok(None);
        }
        Pulled::Paused(reason) => return Ok(Some(Exchanged::Paused(reason))),
    }
    let Some(remote) = Remote::of(&repository)? else {
        return Ok(Some(Exchanged::NoRemote));
    };
    let network = match consent::network_for(history, &remote) {
        Ok(network) => network,
        Err(reason) => return Ok(Some(Exchanged::Paused(reason))),
    };
    let tip = remote.fetch(&network, &repository, stop)?;
    match pull(history, &repository, &remote, tip, accept, moved)? {
        Pulled::Done => {}
        Pulled::Again => {
            *blocked = None;
            return Ok(None);
        }
        Pulled::Blocked(path) => {
            *blocked = Some(path);
            return Ok(None);
        }
        Pulled::Paused(reason) => return Ok(Some(Exchanged::Paused(reason))),
    }
    let Some(head) = repository.head()? else {
        return Ok(Some(Exchanged::InStep(std::mem::take(moved)))); // Nothing here and nothing there.
    };
    if tip == Some(head) {
        repository.set_reference(&remote.seen_ref(), head)?;
        git::forget_local_commits(&repository, head)?;
    } else {
        if let Some(reason) = not_to_send(history, &repository, tip, head, accept)? {
            return Ok(Some(Exchanged::Paused(reason)));
        }
        if send(&network, &repository, &remote, head, tip, stop)? != Pushed::Done {
            return Ok(None);
        }
        moved.pushed = git::commits(&repository, head, tip)?.count();
    }
    deletions::measure_from(history, &repository, head, accept.deletions)?;
    Ok(Some(Exchanged::InStep(std::mem::take(moved))))
}

/// Pushes the commit `head` to the remote, whose branch ends at `tip`, and records that it has it.
fn send(
    network: &Network,
    repository: &Repository,
    remote: &Remote,
    head: Id,
    tip: Option<Id>,
    stop: &dyn Fn() -> bool,
) -> Result<Pushed, EngineError> {
    let address = remote.push_address.as_ref().unwrap_or(&remote.address);
    let path = repository.path();
    let sent = network.push(path, address, &head.to_string(), &remote.branch, stop)?;
    // With another push address, the commits reach the remote some other way.
    let known = match remote.push_address {
        None => Some(head),
        Some(_) => tip,
    };
    if let (Pushed::Done, Some(known)) = (&sent, known) {
        repository.set_reference(&remote.tip_ref(), known)?;
        repository.set_reference(&remote.seen_ref(), known)?;
        git::forget_local_commits(repository, known)?;
    }
    Ok(sent)
}

/// Merges the remote's commit `tip`.
fn pull(
    history: &History,
    repository: &Repository,
    remote: &Remote,
    tip: Option<Id>,
    accept: Accept,
    moved: &mut Transfer,
) -> Result<Pulled, EngineError> {
    let seen = repository.reference(&remote.seen_ref())?;
    let Some(tip) = tip else {
        return Ok(match seen.is_some() && !accept.other_history {
            true => Pulled::Paused(LOST_BRANCH.to_owned()),
            false => Pulled::Done,
        });
    };
    let _turn = match begin_pull(history, repository)? {
        Ok(turn) => turn,
        Err(pulled) => return Ok(pulled),
    };
    let head = repository.head()?;
    let adopted = match adopted(repository, seen, tip, accept)? {
        Ok(adopted) => adopted,
        Err(reason) => return Ok(Pulled::Paused(reason.to_owned())),
    };
    let is_taken =
        head.is_some_and(|head| git::descends_from(repository, head, tip).unwrap_or(false));
    if is_taken && adopted.is_none() {
        return Ok(Pulled::Done);
    }
    let known = seen.filter(|seen| git::descends_from(repository, tip, *seen).unwrap_or(false));
    let inspected = git::inspect(repository, tip, known)?;
    if let Some(reason) = inspected.refused {
        return Ok(Pulled::Paused(format!(
            "what the remote sends is not taken: {reason}"
        )));
    }
    let base = match (head, adopted) {
        (None, _) => None,
        (_, Some(seen)) => Some(seen),
        (Some(head), None) => git::merge_base(repository, head, tip)?,
    };
    // Setting up a remote asks for both histories, also if it was empty then.
    if head.is_some() && base.is_none() && seen.is_some() && !accept.other_history {
        return Ok(Pulled::Paused(OTHER_HISTORY.to_owned()));
    }
    let ends = [base, head];
    let accepted = (adopted, accept);
    let done = merge_in(history, repository, ends, tip, accepted, None, moved)?;
    if let Pulled::Done = done {
        report_left_out(history, inspected.left_out, moved);
        moved.unnamed += inspected.unnamed;
    }
    Ok(done)
}

const LOST_BRANCH: &str =
    "the remote has lost its branch; `memdir sync --accept-history` sends everything again";
const REWRITTEN: &str = "the remote's history was rewritten since it was seen last; look at it. `memdir sync --adopt-remote` follows it, and what was taken out of it stays out; `memdir sync --accept-history` puts both together, which sends it again";
const OWNERS_TO_ADOPT: &str =
    "only the repository's owner lets its branch follow a rewritten one: do it with git";
const OTHER_HISTORY: &str = "the remote has another history than this store; `memdir sync --accept-history` puts both together";

/// Returns the former end `seen` of a remote's history that was rewritten and is to be followed;
/// else `None`, or the reason why the user has to decide first.
fn adopted(
    repository: &Repository,
    seen: Option<Id>,
    tip: Id,
    accept: Accept,
) -> Result<Result<Option<Id>, &'static str>, EngineError> {
    let rewritten = match seen {
        Some(seen) if !git::descends_from(repository, tip, seen)? => Some(seen),
        _ => None,
    };
    if rewritten.is_some() && !accept.other_history && !accept.rewritten {
        return Ok(Err(REWRITTEN));
    }
    let adopted = rewritten.filter(|_| accept.rewritten);
    if adopted.is_some() && repository.owner() == Owner::Asked {
        return Ok(Err(OWNERS_TO_ADOPT));
    }
    Ok(Ok(adopted))
}

/// Reports the files of the remote that this machine does not take.
fn report_left_out(history: &History, left_out: Vec<LeftOut>, moved: &mut Transfer) {
    if history.live.has_background() {
        for LeftOut { path, reason } in &left_out {
            tracing::warn!("{path} of the remote is left out: {reason}");
        }
    }
    moved.left_out.extend(left_out);
}

/// Takes the locks for moving the branch, or returns why they are not available.
fn begin_pull(
    history: &History,
    repository: &Repository,
) -> Result<Result<(Lock, CrashMarker), Pulled>, EngineError> {
    let Some(lock) = git_work::try_lock_repository(history)? else {
        return Ok(Err(Pulled::Again));
    };
    if let Some(obstacle) = repository.obstacle() {
        return Ok(Err(Pulled::Paused(obstacle.to_string())));
    }
    if git::is_git_committing(repository) {
        return Ok(Err(Pulled::Again));
    }
    let at_work = git_work::begin_git_work(history, repository)?;
    Ok(at_work.map_or(Err(Pulled::Again), |at_work| Ok((lock, at_work))))
}

/// Finishes a merge whose process was killed or that a file blocked.
fn finish_merge(
    history: &History,
    repository: &Repository,
    moved: &mut Transfer,
) -> Result<Pulled, EngineError> {
    if !is_merge_unfinished(history, repository)? {
        return Ok(Pulled::Done);
    }
    match begin_pull(history, repository)? {
        Ok(_turn) => finish_merge_locked(history, repository, moved),
        Err(pulled) => Ok(pulled),
    }
}

/// As [`finish_merge`], for a caller that may move the branch.
fn finish_merge_locked(
    history: &History,
    repository: &Repository,
    moved: &mut Transfer,
) -> Result<Pulled, EngineError> {
    let Some(head) = repository.head()? else {
        return Ok(Pulled::Done);
    };
    let Some(unfinished) = unfinished::unfinished_merge(history, repository, head)? else {
        return Ok(Pulled::Done);
    };
    // Deletions were accepted when it was decided.
    let accept = Accept {
        deletions: true,
        ..Accept::default()
    };
    merge_in(
        history,
        repository,
        [Some(unfinished.base), Some(head)],
        unfinished.commit,
        (None, accept),
        Some(unfinished),
        moved,
    )
}

fn is_merge_unfinished(history: &History, repository: &Repository) -> Result<bool, EngineError> {
    Ok(match repository.head()? {
        Some(head) => unfinished::unfinished_merge(history, repository, head)?.is_some(),
        None => false,
    })
}

/// Finishes an unfinished merge, for a caller that holds the lock and has committed all else;
/// returns whether there was one, so that there may be more to commit.
pub(in crate::engine) fn finish_merge_first(history: &History) -> Result<bool, EngineError> {
    let Some(repository) = consent::repository(history)? else {
        return Ok(false);
    };
    if !is_merge_unfinished(history, &repository)? {
        return Ok(false);
    }
    if let Some(_at_work) = git_work::begin_git_work(history, &repository)? {
        finish_merge_locked(history, &repository, &mut Transfer::default())?;
    }
    Ok(true)
}

/// Merges the changes of `tip` since `base` with those of `head`, and carries the merge out. If
/// the remote's history was rewritten and is to be followed, `adopted` is its former end; if a
/// merge is continued, that is `unfinished`.
fn merge_in(
    history: &History,
    repository: &Repository,
    [base, head]: [Option<Id>; 2],
    tip: Id,
    (adopted, accept): (Option<Id>, Accept),
    unfinished: Option<Unfinished>,
    moved: &mut Transfer,
) -> Result<Pulled, EngineError> {
    let paused = |reason: &str| Ok(Pulled::Paused(reason.to_owned()));
    let theirs = repository.followed(git::diff(repository, base, tip)?)?;
    let ours = match head {
        None => Vec::new(),
        Some(head) => git::diff(repository, base, head)?,
    };
    if repository.owner() == Owner::Asked && git::foreign_files_differ(repository, base, tip)? {
        return paused(
            "the remote has commits about other files of this repository; pull them with git, then memories are exchanged again",
        );
    }
    let sources = CommitSources::new(repository, [base, head], tip)?;
    let plan = three_way_merge::plan(&ours, &theirs, &sources)?;
    if !accept.deletions
        && let Some(reason) = deletions::deleted_there(repository, head, &plan)?
    {
        return Ok(Pulled::Paused(format!("on the remote {reason}")));
    }
    let mut kept = Vec::new();
    let commit = match (head, adopted) {
        (Some(head), Some(_)) => adopt::adopting_commit(history, repository, head, tip, &plan)?,
        // Nothing changed here since: the remote's files become the files here.
        (None, _) => without_buried(history, repository, tip, &plan)?,
        (Some(head), None) if base == Some(head) => {
            without_buried(history, repository, tip, &plan)?
        }
        (Some(head), None) => {
            let (trees, both) = git::merge_foreign_files(repository, base, head, tip)?;
            kept = both;
            merge_commit(history, repository, trees, [head, tip], &plan)?
        }
    };
    let Some(commit) = commit else {
        return Ok(Pulled::Again);
    };
    carry_out(history, &sources, plan, commit, (kept, unfinished), moved)
}

/// Changes the files as planned, then moves the branch to `commit`.
fn carry_out(
    history: &History,
    &CommitSources {
        repository,
        head,
        tip,
        ..
    }: &CommitSources<'_>,
    plan: MergePlan,
    commit: Id,
    (kept, unfinished): (Vec<String>, Option<Unfinished>),
    moved: &mut Transfer,
) -> Result<Pulled, EngineError> {
    if let Some(head) = head {
        back_up(history, repository, head)?;
    }
    let unfinished = match head {
        Some(head) if git::descends_from(repository, commit, head)? => Some(
            unfinished::begin_merge(history, repository, head, commit, unfinished)?,
        ),
        _ => None,
    };
    // A `git merge` that is refused resets files, and restores what it knew to be uncommitted.
    let since = git::index_version(repository);
    if git::is_git_committing(repository) {
        return Ok(Pulled::Again);
    }
    if let Some(path) = apply::apply(history, repository, &plan.steps, unfinished.as_ref())? {
        return Ok(Pulled::Blocked(path));
    }
    if let Err(error) = dates::date_brought(history, repository, &plan.steps, tip) {
        tracing::info!("cannot date what came: {error}");
    }
    foreign_files::take_over_others(history, repository, head, commit)?;
    let staged = staged(history, repository, head, commit)?;
    if !git::move_branch(repository, head, commit, "memdir: sync", &staged, since)? {
        return Ok(Pulled::Again);
    }
    if unfinished.is_some() {
        unfinished::end_merge(history, repository)?;
    }
    if history.live.has_background() {
        *git_work::committed_to(history) = Some(commit);
    }
    moved.pulled += plan.steps.len();
    moved.conflicts.extend(plan.conflicts);
    if history.live.has_background() {
        for path in &kept {
            tracing::warn!(
                "{path} is no memory and was changed on two sides: it stays as it is here, and the other text in commit {}",
                tip.short()
            );
        }
    }
    moved.kept.extend(kept);
    Ok(Pulled::Done)
}

/// Keeps the branch's state before a merge under a reference.
fn back_up(history: &History, repository: &Repository, head: Id) -> Result<(), EngineError> {
    if !repository.is_kept("refs/memdir/backup/", head)? {
        let at = history.live.clock.now().format("%Y%m%dT%H%M%S%3f");
        repository.set_reference(&format!("refs/memdir/backup/{at}"), head)?;
        repository.keep_newest("refs/memdir/backup/", BACKUPS)?;
    }
    Ok(())
}

/// Returns the entries of git's index that differ after the branch moves from `head` to `commit`.
fn staged(
    history: &History,
    repository: &Repository,
    head: Option<Id>,
    commit: Id,
) -> Result<BTreeMap<String, Staged>, EngineError> {
    let mut staged = match repository.owner() {
        Owner::Store => git::stage_foreign_changes(repository, head, commit)?,
        _ => BTreeMap::new(),
    };
    for change in git::diff(repository, head, commit)? {
        let version = match change.after {
            Some(after) if repository.left_out(&change.path, after)?.is_none() => {
                history.live.store.version_at(&change.path)?
            }
            _ => None,
        };
        // The index may hold a stamp only of a file with exactly this content.
        let version = version.filter(|version| Some(Id::of_text(&version.bytes)) == change.after);
        let one = Staged {
            before: change.before,
            after: change.after,
            stamped: version.map(|version| stamped(&change.path, &version.entry)),
        };
        staged.insert(change.path, one);
    }
    Ok(staged)
}

/// Returns the remote's commit, or one on top of it without the files of purged memories.
fn without_buried(
    history: &History,
    repository: &Repository,
    tip: Id,
    plan: &MergePlan,
) -> Result<Option<Id>, EngineError> {
    let (Some(git), false) = (&history.git, plan.buried.is_empty()) else {
        return Ok(Some(tip));
    };
    let changes: Vec<(String, Option<Id>)> = plan
        .buried
        .iter()
        .map(|path| (path.clone(), None))
        .collect();
    let message = "Take away memories that were purged\n\nTool: sync\n";
    let author = repository.author(&git.user, history.live.clock.now().timestamp());
    Ok(git::write_commit(
        repository,
        &mut git::trees(repository, Some(tip))?,
        &[tip],
        &changes,
        &mut |_, _| Ok(NewText::Gone),
        message,
        &author,
    )?)
}

fn merge_commit(
    history: &History,
    repository: &Repository,
    mut trees: Trees<'_>,
    parents: [Id; 2],
    plan: &MergePlan,
) -> Result<Option<Id>, EngineError> {
    let Some(git) = &history.git else {
        return Ok(None);
    };
    let changes: Vec<(String, Option<Id>)> = plan
        .steps
        .iter()
        .map(|step| (step.path.clone(), step.after))
        .collect();
    let mut text_of = plan.text_of();
    let conflicts = match plan.conflicts.len() {
        0 => String::new(),
        1 => "; one is two now".to_owned(),
        count => format!("; {count} are two now"),
    };
    let message = format!(
        "Merge memories of other machines\n\n{} files{conflicts}\n\nTool: sync\n",
        plan.steps.len()
    );
    let author = repository.author(&git.user, history.live.clock.now().timestamp());
    Ok(git::write_commit(
        repository,
        &mut trees,
        &parents,
        &changes,
        &mut text_of,
        &message,
        &author,
    )?)
}

/// Returns the reason why the commits between `tip` and `head` are not sent, if there is one.
fn not_to_send(
    history: &History,
    repository: &Repository,
    tip: Option<Id>,
    head: Id,
    accept: Accept,
) -> Result<Option<String>, EngineError> {
    if let (Some(tip), false) = (tip, accept.deletions)
        && let Some(reason) = deletions::deleted_here(repository, tip, head)?
    {
        return Ok(Some(format!("here {reason}")));
    }
    if let Some(leak) = outgoing_secrets::leak_to_send(history, repository, tip, head)? {
        let allowing = match is_journal(&leak.held.file) {
            true => String::new(),
            false => format!(", or `memdir allow {}`", stem_of(&leak.held.file).short()),
        };
        return Ok(Some(format!(
            "{leak}, which somebody made with git, and is not sent: take it out of the history with git{allowing}"
        )));
    }
    if repository.owner() == Owner::Asked {
        for moment in git::commits(repository, head, tip)? {
            let moment = moment?;
            if !git::is_local_commit(repository, moment.id) {
                let subject = moment.message.lines().next().unwrap_or_default();
                return Ok(Some(format!(
                    "the branch holds a commit that somebody made or changed and that is not pushed yet ({} {subject}); push the branch with git, then memories are exchanged again",
                    moment.id.short()
                )));
            }
        }
    }
    Ok(None)
}
