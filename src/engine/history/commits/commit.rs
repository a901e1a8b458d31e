//! Commits the changes since the newest commit.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::engine::error::EngineError;
use crate::engine::history::commits::compare::{
    COMMITTED, ChangeGroup, Difference, OWN_CHANGE, Why, are_journals, compare, compare_all,
    compare_settings, memory_changes, pass_over_left_out, stamped,
};
use crate::engine::history::commits::message::{Attribution, ChangeKind, MemoryChange, message};
use crate::engine::history::commits::replaced::AfterReplaced;
use crate::engine::history::commits::unfinished::Unfinished;
use crate::engine::history::commits::{
    dates, journals, quarantine, replaced, take_over, unfinished,
};
use crate::engine::history::git_work::{begin_git_work, committed_to};
use crate::engine::history::{History, consent, git_work, repair, tidy};
use crate::engine::live::pending::Pending;
use crate::engine::live::{leader, reading, usage};
use crate::engine::options::SETTINGS;
use crate::engine::texts::{name_of, parse};
use crate::engine::write::change_notes::{BY_HAND, ChangeNotes, FOUND};
use crate::engine::write::{change_notes, replace};
use crate::files::{Place, Version, is_journal};
use crate::format::is_memory_name;
use crate::git;
use crate::git::{Author, Id, NewText, Owner, RESUME, Repository, Staged, Trees};

/// Result of an attempt to commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// Everything was committed before.
    Nothing,
    /// A commit was made: its short id, and the number of its files.
    Done { id: String, files: usize },
    /// Another process or the user's own git is at work: to be tried again.
    Busy,
    /// Commits are off for this store.
    Off,
    /// Reason why nothing is committed at present.
    Paused(String),
}

/// Number of files changed by hand beyond which they count as one operation, such as a copied folder.
const MAX_BY_HAND: usize = 8;

/// Maximum number of files of a commit that are read for its agents and users.
pub(in crate::engine) const READ_FOR_DOERS: usize = 32;

/// Commits the changes known to this process; creates the repository for the first
/// memory. Waits for no lock.
///
/// # Errors
///
/// Fails if files or the repository cannot be read or written. The changes stay pending for
/// the next attempt.
pub fn commit(history: &History) -> Result<Committed, EngineError> {
    commit_pending(history, Why::Changed)
}

fn commit_pending(history: &History, why: Why<'_>) -> Result<Committed, EngineError> {
    let Some(git) = &history.git else {
        return Ok(Committed::Off);
    };
    history.live.check_there()?;
    let Some(_lock) = git_work::try_lock_repository(history)? else {
        return Ok(Committed::Busy);
    };
    let pending = std::mem::take(&mut *history.live.pending());
    let mut done = commit_locked(history, &pending, &git.user, why);
    if let Err(EngineError::Git(error)) = &done
        && !error.is_busy
    {
        // If nothing is damaged, another git was packing at the same moment.
        done = match repair::repair_repository(history) {
            Ok(true) => commit_locked(history, &Pending::Everything, &git.user, why),
            Ok(false) => commit_locked(history, &pending, &git.user, why),
            Err(error) => Err(error),
        };
    }
    if !matches!(done, Ok(Committed::Nothing | Committed::Done { .. })) {
        history.live.pending().add_all(pending);
    }
    done
}

/// As [`commit`], for a process that runs one operation: if a server runs, the server
/// commits.
///
/// # Errors
///
/// As for [`commit`].
pub fn commit_if_alone(history: &History) -> Result<Committed, EngineError> {
    if leader::is_led(&history.live) {
        return Ok(Committed::Busy);
    }
    let done = commit(history)?;
    if let Committed::Done { .. } = done {
        usage::sum_up_journals(&history.live);
    }
    if let Committed::Done { .. } = done
        && let Err(error) = tidy::tidy_if_neglected(history)
    {
        tracing::info!("cannot tidy the repository: {error}");
    }
    Ok(done)
}

/// Commits all differences from the newest commit, whoever made them.
///
/// # Errors
///
/// As for [`commit`].
pub fn commit_everything(history: &History) -> Result<Committed, EngineError> {
    history.live.note_all_pending();
    commit_pending(history, Why::Asked)
}

/// As [`commit_everything`], for a store that was just made: the files that it found
/// are marked, so that no `undo` without a target removes them.
///
/// # Errors
///
/// As for [`commit`].
pub fn commit_what_was_there(history: &History) -> Result<Committed, EngineError> {
    let has_history = match consent::repository(history)? {
        Some(repository) => repository.head()?.is_some(),
        None => false,
    };
    if !has_history {
        history.writer.leave_note(FOUND, SETTINGS);
        for entry in history.live.store.list(Place::Files)?.entries {
            history.writer.leave_note(FOUND, &entry.name);
        }
    }
    commit_everything(history)
}

/// As [`commit`], of `pending`, for a caller that holds the lock.
pub(in crate::engine) fn commit_locked(
    history: &History,
    pending: &Pending,
    user: &str,
    why: Why<'_>,
) -> Result<Committed, EngineError> {
    let known = *committed_to(history);
    if *pending == Pending::none() && known.is_none() {
        return Ok(Committed::Nothing);
    }
    let repository = match consent::repository(history)? {
        Some(repository) if take_over::take_over_own(history, &repository)? => {
            consent::repository(history)?.unwrap_or(repository)
        }
        Some(repository) => repository,
        None if *pending == Pending::none() || is_blank(history)? => {
            return Ok(Committed::Nothing);
        }
        None => {
            if let Some(forgotten) = consent::forgotten_remote(history) {
                tracing::warn!("{forgotten}");
            }
            Repository::create(history.live.root(), "main")?
        }
    };
    if repository.owner() == Owner::Other {
        replace::archive_replaced(&history.writer);
        return Ok(Committed::Off);
    }
    let head = repository.head()?;
    // The new branch may lack files that were committed here.
    let is_moved = known.is_some() && known != head;
    if is_moved && let Err(error) = dates::date_what_git_wrote(history) {
        tracing::info!("cannot date what git wrote: {error}");
    }
    let everything = Pending::Everything;
    let pending = if is_moved { &everything } else { pending };
    if *pending == Pending::none() {
        return Ok(Committed::Nothing);
    }
    if let Some(obstacle) = repository.obstacle() {
        return Ok(Committed::Paused(obstacle.to_string()));
    }
    if head.is_none() && repository.get(RESUME).is_some() {
        return Ok(Committed::Paused(
            "the history is damaged, and is to be had from the remote first".to_owned(),
        ));
    }
    // A commit of the user's git would fail otherwise.
    if git::is_git_committing(&repository) {
        return Ok(Committed::Busy);
    }
    match begin_git_work(history, &repository)? {
        Some(_at_work) => {
            let mut notes = change_notes::change_notes(history.live.state());
            let done = commit_in(history, &repository, pending, user, why, &mut notes);
            notes.put_back();
            done
        }
        None => Ok(Committed::Busy),
    }
}

/// Whether the store has nothing to commit yet.
fn is_blank(history: &History) -> Result<bool, EngineError> {
    let has_settings = reading::bytes_at(&history.live, SETTINGS)?.is_some();
    Ok(!has_settings && history.live.store.list(Place::Files)?.entries.is_empty())
}

fn commit_in(
    history: &History,
    repository: &Repository,
    pending: &Pending,
    user: &str,
    why: Why<'_>,
    notes: &mut ChangeNotes,
) -> Result<Committed, EngineError> {
    let head = repository.head()?;
    let Some(AfterReplaced {
        mut head,
        names: replaced,
    }) = replaced::commit_replaced(history, repository, head, user, notes)?
    else {
        return Ok(Committed::Busy);
    };
    let mut pending = pending.clone();
    if let Pending::Names(names) = &mut pending {
        names.extend(replaced);
    }
    let mut trees = git::trees(repository, head)?;
    let mut since = git::index_version(repository);
    let Some(Waiting {
        mut differences,
        unfinished,
    }) = waiting(history, repository, &mut trees, head, &pending)?
    else {
        return Ok(Committed::Busy); // A file changed meanwhile.
    };
    if !is_wanted(history, repository, &differences, why)? {
        if history.live.has_background() {
            *committed_to(history) = head;
        }
        return Ok(Committed::Nothing);
    }
    if unfinished.is_none() && !matches!(why, Why::For(_)) {
        let before = head;
        match replaced::commit_before_moves(
            history,
            repository,
            head,
            user,
            &mut differences,
            notes,
        )? {
            Some(commit) => head = commit,
            None => return Ok(Committed::Busy),
        }
        if head != before {
            trees = git::trees(repository, head)?;
            since = git::index_version(repository);
        }
    }
    let message = message_of(history, &differences, why, notes);
    let author = repository.author(user, history.live.clock.now().timestamp());
    let files = differences.len();
    let Some(NewCommit { id: commit, staged }) = write_commit(
        history,
        repository,
        &mut trees,
        head,
        differences,
        &message,
        &author,
    )?
    else {
        return Ok(Committed::Busy); // A file changed meanwhile.
    };
    if !git::move_branch(repository, head, commit, COMMITTED, &staged, since)? {
        return Ok(Committed::Busy);
    }
    if let Some(unfinished) = unfinished {
        unfinished::merge_goes_on(history, &unfinished, commit);
    }
    if history.live.has_background() {
        *committed_to(history) = Some(commit);
    }
    // What was changed meanwhile, or is held back, is told by a later commit.
    let mut trees = git::trees(repository, Some(commit))?;
    let committed: HashSet<&str> = staged.keys().map(|path| name_of(path)).collect();
    notes.retain(|name| {
        let is_other = !committed.contains(name) && !history.live.is_local(name);
        is_other && is_waiting(history, &mut trees, name)
    });
    Ok(Committed::Done {
        id: commit.short(),
        files,
    })
}

/// Returns whether the file `name` is another one than in a commit, whose files are `trees`, or unknown.
fn is_waiting(history: &History, trees: &mut Trees<'_>, name: &str) -> bool {
    [Place::Files, Place::Archive].into_iter().any(|place| {
        let path = place.path_of(name);
        let present = reading::bytes_at(&history.live, &path);
        match (trees.file(&path), present) {
            (Ok(committed), Ok(present)) => committed != present.map(|text| Id::of_text(&text)),
            _ => true,
        }
    })
}

/// Differences to commit.
struct Waiting {
    differences: Vec<Difference>,
    /// Unfinished merge that this commit precedes.
    unfinished: Option<Unfinished>,
}

/// Returns the differences from the commit `head`, whose files are `trees`, that may be committed; `None`
/// if a file changed meanwhile.
fn waiting(
    history: &History,
    repository: &Repository,
    trees: &mut Trees<'_>,
    head: Option<Id>,
    pending: &Pending,
) -> Result<Option<Waiting>, EngineError> {
    let (mut differences, names) = match pending {
        Pending::Everything => (compare_all(history, repository, trees)?, None),
        Pending::Names(names) => (compare(history, trees, names)?, Some(names)),
    };
    compare_settings(history, repository, trees, &mut differences)?;
    if let Err(error) = dates::record_dates(history, repository, &differences) {
        tracing::info!("cannot record how old notes are: {error}");
    }
    let is_thorough = names.is_none();
    journals::compare_journals(history, repository, trees, is_thorough, &mut differences)?;
    pass_over_left_out(history, repository, &mut differences)?;
    let unfinished = unfinished::leave_to_merge(history, repository, head, &mut differences)?;
    let is_known = quarantine::hold_back(history, repository, names, &mut differences)?;
    Ok(is_known.then_some(Waiting {
        differences,
        unfinished,
    }))
}

/// Whether to commit `differences`: journals alone wait an hour.
fn is_wanted(
    history: &History,
    repository: &Repository,
    differences: &[Difference],
    why: Why<'_>,
) -> Result<bool, EngineError> {
    Ok(match why {
        _ if !are_journals(differences) => true,
        Why::Changed => !differences.is_empty() && journals::are_journals_due(history, repository)?,
        Why::Asked => !differences.is_empty(),
        Why::For(_) => false,
    })
}

fn message_of(
    history: &History,
    differences: &[Difference],
    why: Why<'_>,
    notes: &mut ChangeNotes,
) -> String {
    let changes = memory_changes(differences);
    let attribution = attribution(history, differences, notes);
    match why {
        Why::For(reason) => message(&[changes], &attribution, Some(reason)),
        Why::Changed | Why::Asked => {
            message(&in_deeds(history, changes, notes), &attribution, None)
        }
    }
}

/// A commit to which the branch was not moved yet.
struct NewCommit {
    id: Id,
    /// New entries of git's index.
    staged: BTreeMap<String, Staged>,
}

/// Writes the commit of `differences` on top of `head`; `None` if a file changed meanwhile.
fn write_commit(
    history: &History,
    repository: &Repository,
    trees: &mut Trees<'_>,
    head: Option<Id>,
    mut differences: Vec<Difference>,
    message: &str,
    author: &Author,
) -> Result<Option<NewCommit>, EngineError> {
    let changes: Vec<(String, Option<Id>)> = differences
        .iter()
        .map(|difference| (difference.path.clone(), difference.after))
        .collect();
    let read = differences.iter_mut().filter_map(|difference| {
        let version = difference.read.take()?;
        Some((difference.path.clone(), version))
    });
    let mut read: HashMap<String, Version> = read.collect();
    let mut failed = None;
    let mut stamps = HashMap::new();
    let mut text_of = |path: &str, _: Id| {
        let version = match read.remove(path) {
            Some(version) => Some(version),
            None => history.live.store.version_at(path).unwrap_or_else(|error| {
                failed = Some(error);
                None
            }),
        };
        Ok(version.map_or(NewText::Gone, |version| {
            stamps.insert(path.to_owned(), stamped(path, &version.entry));
            NewText::Bytes(version.bytes)
        }))
    };
    let parents: Vec<Id> = head.into_iter().collect();
    let commit = git::write_commit(
        repository,
        trees,
        &parents,
        &changes,
        &mut text_of,
        message,
        author,
    )?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    // An editor may have had its file away for a moment.
    let is_back = |difference: &Difference| {
        let at = Place::of(&difference.path).filter(|_| difference.after.is_none());
        at.is_some_and(|(place, name)| history.live.store.look_at(place, name).is_some())
    };
    let Some(commit) = commit.filter(|_| !differences.iter().any(is_back)) else {
        return Ok(None);
    };
    let staged = differences
        .into_iter()
        .map(|difference| {
            let staged = Staged {
                before: difference.before,
                after: difference.after,
                stamped: stamps.remove(&difference.path),
            };
            (difference.path, staged)
        })
        .collect();
    Ok(Some(NewCommit { id: commit, staged }))
}

/// Returns the agents, users and tools of the differences, as far as they are known.
fn attribution(
    history: &History,
    differences: &[Difference],
    notes: &mut ChangeNotes,
) -> Attribution {
    let mut attribution = Attribution::default();
    if are_journals(differences) {
        return attribution; // What is noted of others' doings waits for their commit.
    }
    for difference in differences.iter().take(READ_FOR_DOERS) {
        let name = difference.path.rsplit('/').next().unwrap_or_default();
        if !is_memory_name(name) {
            continue;
        }
        let Ok(Some(version)) = history.live.store.version_at(&difference.path) else {
            continue;
        };
        let memory = parse(&version.entry, &version.bytes);
        attribution.add(memory.agent, memory.user);
    }
    for difference in differences {
        let path = &difference.path;
        if is_journal(path) {
            continue;
        }
        let tool = notes.last(name_of(path)).map(|note| note.tool.clone());
        attribution
            .tools
            .insert(tool.unwrap_or_else(|| BY_HAND.to_owned()));
    }
    attribution
}

/// Groups the changes by operation, in the order of their times. Each file changed by hand is
/// an operation, unless they are so many that they count as one, such as a copied folder.
fn in_deeds(
    history: &History,
    changes: Vec<MemoryChange>,
    notes: &mut ChangeNotes,
) -> Vec<Vec<MemoryChange>> {
    let count = changes.len();
    let is_by_hand = |one: &MemoryChange, notes: &mut ChangeNotes| {
        !one.kind.is_other() && notes.last(name_of(&one.path)).is_none()
    };
    let by_hand = changes.iter().filter(|one| is_by_hand(one, notes)).count();
    if count < 2 {
        return vec![changes];
    }
    let mut deeds: BTreeMap<String, ChangeGroup> = BTreeMap::new();
    let mut others = Vec::new();
    for one in changes {
        if one.kind.is_other() {
            others.push(one);
            continue;
        }
        let note = notes.last(name_of(&one.path));
        let deed = match note {
            Some(note) => note.deed.clone().unwrap_or_default(),
            None if by_hand > MAX_BY_HAND => BY_HAND.to_owned(),
            None => format!("{BY_HAND} {}", one.path),
        };
        let done = deeds.entry(deed).or_insert_with(|| ChangeGroup {
            at: i64::MIN,
            is_told: note.is_some(),
            is_gone: false,
            files: Vec::new(),
        });
        done.at = done.at.max(done_at(history, &one.path));
        done.is_gone |= one.kind == ChangeKind::Delete;
        done.files.push(one);
    }
    let mut deeds: Vec<ChangeGroup> = deeds.into_values().collect();
    let told_at = deeds.iter().filter(|done| done.is_told);
    let told_at: Vec<i64> = told_at.map(|done| done.at).collect();
    for done in deeds
        .iter_mut()
        .filter(|done| done.is_gone && !done.is_told)
    {
        // The folder's time may be of the program, shortly after it has changed a file.
        let before = done.at.saturating_sub(OWN_CHANGE);
        if told_at.iter().any(|at| (before..=done.at).contains(at)) {
            done.at = before;
        }
    }
    deeds.sort_by_key(|done| (done.at, done.is_gone));
    let mut deeds: Vec<Vec<MemoryChange>> = deeds.into_iter().map(|done| done.files).collect();
    match deeds.last_mut() {
        Some(last) => last.extend(others),
        None => deeds.push(others),
    }
    deeds
}

/// Returns when the file at `path` was changed, as far as the system records it, in nanoseconds since
/// 1970.
pub(in crate::engine) fn done_at(history: &History, path: &str) -> i64 {
    let Some((place, name)) = Place::of(path) else {
        // Journals and tombstones change with memories.
        let version = (path == SETTINGS).then(|| history.live.store.version_at(path).ok());
        let version = version.flatten().flatten();
        return version.map_or(i64::MIN, |version| version.entry.changed);
    };
    if let Some(Ok(entry)) = history.live.store.look_at(place, name) {
        return entry.changed;
    }
    // For a deleted file, the folder's time is the only trace.
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folders = [(folder.to_owned(), 0)];
    let times = history.live.store.folder_times(place, &folders);
    let time = times.and_then(|times| times.first().map(|(_, time)| *time));
    time.unwrap_or(i64::MIN)
}
