//! Synchronizes this store with a workspace of a team's server, by the plan that two folders are merged by.
//!
//! Promises: the changes of the workspace are taken first, then this store's are sent, each with the hash of the text
//! that it replaces. The state in common is recorded beside the index ([`Note`]), so that a deletion is told
//! from an addition, also weeks later; it counts only for the same workspace, and not if that has fewer changes than
//! then. An exchange that breaks off is finished by the next one. The server is not trusted: names that
//! are no memory's are left out, texts must have the hash of the listing, and settings, journals and talks neither
//! come nor go. Memories that hold credentials stay here unless the setting `secrets` is off.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;

use crate::engine::error::EngineError;
use crate::engine::history::commits::commit;
use crate::engine::history::merge_plan::{MergeStep, stem_of_path};
use crate::engine::history::remote::foreign_files::lies_behind_link;
use crate::engine::history::with::carry_out;
use crate::engine::history::with::exchange::{
    ChangesAnswer, ChangesQuestion, FileChange, MAX_TEXT, WorkspaceState, is_exchanged,
    written_hash,
};
use crate::engine::history::with::plan::{Plans, StoreTask, in_common, new_texts, pending};
use crate::engine::history::with::questions::{
    Listing, ask, batch, distrusted, fetch, listing, workspace_state,
};
use crate::engine::history::with::record::{Base, PendingText, base_of, written};
use crate::engine::history::with::report::{Direction, Taken, WithReport};
use crate::engine::history::with::side::{Files, Found, StoreContents, Texts, refusal, unmerged};
use crate::engine::history::with::sources::{TextSources, find_text, repositories};
use crate::engine::history::with::workspace_note::{
    Note, VERSION, forget_listing, read_note, write_note,
};
use crate::engine::history::{History, git_work};
use crate::engine::live::leader;
use crate::engine::locked::locked;
use crate::engine::texts::stem_of;
use crate::engine::workspace_clients::{WorkspaceClient, WorkspaceError};
use crate::engine::write::screen::not_allowed;
use crate::files::{LinkPolicy, Lock, Place, STATE_FOLDER, Version};
use crate::git::Id;
use crate::model::PrivateRules;
use crate::secrets::Policy;
use chrono::DateTime;

/// Maximum number of attempts while files change on either side.
const ROUNDS: usize = 5;

/// Maximum size of the texts that one round fetches, in bytes; further ones are fetched by the next round.
const MAX_FETCHED: u64 = 256 << 20;

/// Options of a sync with a workspace.
pub struct WithWorkspace<'a> {
    /// The workspace.
    pub client: &'a dyn WorkspaceClient,
    /// Direction of the changes.
    pub direction: Direction,
    /// Whether to only return what would be done.
    pub dry_run: bool,
    /// Whether more than a fifth of the memories, or all, may be deleted from a side.
    pub accept_deletions: bool,
    /// Rules by which memories stay here.
    pub private: &'a PrivateRules,
    /// Identity that the workspace must have; `None` for any.
    pub identity: Option<&'a str>,
}

/// Changes that a sync with a workspace made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkspaceReport {
    /// Changes of both sides. The other store is the workspace.
    pub report: WithReport,
    /// Number of memories that stay here because they are private.
    pub private: usize,
    /// Whether nothing was sent because the token only reads.
    pub only_reads: bool,
    /// State of the workspace as it was listed; what was sent came after it.
    pub state: WorkspaceState,
}

/// Synchronizes this store with a workspace.
///
/// # Errors
///
/// Fails if the workspace cannot be reached or refuses, if this store cannot be written, if too many memories would be
/// deleted, or if files change all the time. What was done is done, and a run again goes on.
pub fn exchange(
    history: &History,
    with: &WithWorkspace<'_>,
) -> Result<WorkspaceReport, EngineError> {
    history.live.check_there()?;
    let known = with.private.check();
    known.map_err(|why| EngineError::Paused(format!("nothing was exchanged: {why}")))?;
    let state = workspace_state(with.client)?;
    let only_reads = !state.may_write && with.direction != Direction::Pull;
    if only_reads && with.direction == Direction::Push {
        return Err(EngineError::Paused(format!(
            "nothing was sent: the token for {} only reads",
            with.client.address()
        )));
    }
    let with = WithWorkspace {
        direction: if only_reads {
            Direction::Pull
        } else {
            with.direction
        },
        ..*with
    };
    let mut done = WorkspaceReport {
        only_reads,
        state,
        ..WorkspaceReport::default()
    };
    if with.dry_run {
        let look = look(history, &with, &done.state.workspace, true)?;
        done.private = look.private;
        done.report = look.report(true);
        return Ok(done);
    }
    history.writer.check_writable()?;
    let lock = history.live.root().join(STATE_FOLDER).join("with.lock");
    let _alone = Lock::take(&lock, "another sync with a store")?;
    // Pending changes belong to other commits, and a later merge starts from them.
    if !leader::is_led(&history.live) {
        commit::commit_everything(history)?;
    }
    let (mut blocked, mut attempts) = (String::new(), 0);
    while attempts < ROUNDS {
        git_work::check_undisturbed(history)?;
        let mut look = look(history, &with, &done.state.workspace, true)?;
        git_work::check_undisturbed(history)?;
        if let Some(path) = carry_out(history, &with, &mut look)? {
            // The text is not the one that was listed.
            forget_listing(history, &look.note.workspace);
            blocked = path;
            attempts += 1;
            continue;
        }
        done.private = look.private;
        done.state.workspace.clone_from(&look.note.workspace);
        done.state.number = look.note.number;
        let report = look.report(false);
        // A server whose texts never are what it lists is not asked for ever.
        let is_done = !look.has_more || report.here == Taken::default();
        done.report.add(report);
        if is_done {
            carry_out::commit_brought(history, &done.report);
            return Ok(done);
        }
    }
    Err(carry_out::blocked_by(&blocked))
}

/// Both sides at one moment, and the planned changes.
struct Look {
    here: StoreContents,
    there: StoreContents,
    /// Hashes of the workspace's texts, by path.
    hashes: HashMap<String, String>,
    note: Note,
    base: Base,
    skipped: BTreeSet<String>,
    plans: Plans,
    private: usize,
    /// Whether texts are left for another round.
    has_more: bool,
}

impl Look {
    fn report(&self, dry_run: bool) -> WithReport {
        self.plans.report(dry_run, [&self.here, &self.there])
    }

    /// Records the state in common.
    fn write(&self, history: &History, pending: Vec<PendingText>) -> Result<(), EngineError> {
        let note = Note {
            base: written(&self.base),
            pending,
            ..self.note.clone()
        };
        write_note(history, &note)
    }
}

/// Texts of a workspace that were fetched.
struct Fetched(HashMap<String, Vec<u8>>);

impl Texts for Fetched {
    fn text(&self, path: &str) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.0.get(path).cloned())
    }
}

/// Contents of this store, as far as a workspace gets them.
struct Own {
    contents: StoreContents,
    /// Text of each hash.
    ids: HashMap<String, Id>,
    /// Stems of private memories.
    private: BTreeSet<String>,
}

/// Reads both sides and plans the changes; `workspace` is the identity of the other one, whose listing may be kept since an
/// earlier exchange with `may_be_kept`.
fn look(
    history: &History,
    with: &WithWorkspace<'_>,
    workspace: &str,
    may_be_kept: bool,
) -> Result<Look, EngineError> {
    let mut own = look_here(history, with.private)?;
    let kept = (may_be_kept, !with.dry_run);
    let Listing {
        state,
        files: listed,
        is_kept,
    } = listing(history, with.client, workspace, kept)?;
    check_identity(with.client, with.identity, &state)?;
    let mut hashes = HashMap::new();
    let (mut files, mut skipped_there) = (Files::new(), Vec::new());
    let (mut unknown, mut left) = (Vec::new(), BTreeSet::new());
    let mut fetched_bytes = 0;
    for file in listed.into_values() {
        let stem = stem_of_path(&file.path).to_owned();
        if own.private.contains(&stem) {
            continue;
        }
        if let Some(reason) = refused(&file.path, file.bytes) {
            skipped_there.push((file.path, reason));
            continue;
        }
        hashes.insert(file.path.clone(), file.hash.clone());
        match own.ids.get(&file.hash) {
            Some(id) => drop(files.insert(
                file.path,
                Found {
                    id: *id,
                    at: file.modified,
                },
            )),
            None if fetched_bytes < MAX_FETCHED => {
                fetched_bytes += file.bytes;
                unknown.push(file);
            }
            None => drop(left.insert(stem)),
        }
    }
    let has_more = !left.is_empty();
    let (texts, are_others) = fetch(with.client, &unknown)?;
    if are_others && !with.dry_run {
        forget_listing(history, &state.workspace);
    }
    for file in unknown {
        let Some(text) = texts.get(&file.path) else {
            // Another one by now: the next exchange takes it.
            left.insert(stem_of_path(&file.path).to_owned());
            continue;
        };
        match unmerged(text) {
            Some(reason) => skipped_there.push((file.path, reason)),
            None => {
                let found = Found {
                    id: Id::of_text(text),
                    at: file.modified,
                };
                files.insert(file.path, found);
            }
        }
    }
    let there = StoreContents::new(Box::new(Fetched(texts)), files, skipped_there);
    let note = read_note(history, &state.workspace);
    let is_of = note.workspace == state.workspace && note.number <= state.number;
    let (known, written_then) = match is_of {
        true => (note.base, note.pending),
        false => (BTreeMap::new(), Vec::new()),
    };
    // A tombstone says nothing to who never had the memory, and may be of a private one.
    let met: BTreeSet<&str> = known
        .keys()
        .chain(there.files.keys())
        .map(|path| stem_of_path(path))
        .collect();
    let is_new =
        |path: &String| path.starts_with("tombstones/") && !met.contains(stem_of_path(path));
    let unmet: Vec<String> = own
        .contents
        .files
        .keys()
        .filter(|path| is_new(path))
        .cloned()
        .collect();
    for path in unmet {
        own.contents.files.remove(&path);
    }
    let here = own.contents;
    let base = base_of(&known, &written_then, &here, &there);
    let mut skipped = here.skipped_stems(base.keys());
    skipped.extend(there.skipped_stems(base.keys()));
    skipped.extend(own.private.iter().cloned());
    skipped.extend(left);
    let mut look = Look {
        plans: Plans::new(
            with.direction,
            &base,
            &skipped,
            TextSources {
                here: &here,
                there: &there,
                new: HashMap::new(),
                repositories: &repositories([history.live.root()]),
            },
        )?,
        here,
        there,
        hashes,
        note: Note {
            version: VERSION,
            workspace: state.workspace,
            number: state.number,
            ..Note::default()
        },
        base,
        skipped,
        private: own.private.len(),
        has_more,
    };
    pass_over_links(history, with, &mut look)?;
    let deletes = |task: &StoreTask| !task.deleted.is_empty();
    if is_kept && look.plans.for_here.as_ref().is_some_and(deletes) {
        // Nothing is deleted for what is missing from a listing that was kept: everything is listed first.
        return self::look(history, with, workspace, false);
    }
    if !with.accept_deletions {
        let sides = [&look.here, &look.there];
        look.plans.check_deletions(with.client.address(), sides)?;
    }
    Ok(look)
}

/// Plans again without what would be written through a link.
fn pass_over_links(
    history: &History,
    with: &WithWorkspace<'_>,
    look: &mut Look,
) -> Result<(), EngineError> {
    let steps = look.plans.for_here.iter().flat_map(|task| &task.plan.steps);
    let behind = steps.filter(|step| lies_behind_link(history.live.root(), &step.path));
    let behind: Vec<String> = behind.map(|step| step.path.clone()).collect();
    if behind.is_empty() {
        return Ok(());
    }
    for path in behind {
        look.skipped.insert(stem_of_path(&path).to_owned());
        look.here
            .skipped
            .push((path, "a link lies on the way to it".to_owned()));
    }
    let texts = TextSources {
        here: &look.here,
        there: &look.there,
        new: HashMap::new(),
        repositories: &repositories([history.live.root()]),
    };
    look.plans = Plans::new(with.direction, &look.base, &look.skipped, texts)?;
    Ok(())
}

/// Reads this store without what stays here.
fn look_here(history: &History, rules: &PrivateRules) -> Result<Own, EngineError> {
    let store = history
        .live
        .need_directory("synchronizing with a workspace")?;
    let store = store.clone().with_links(LinkPolicy::Refuse);
    let ids = Mutex::new(HashMap::new());
    let private = Mutex::new(BTreeSet::new());
    let held = Mutex::new(Vec::new());
    let observe = |path: &str, version: &Version| {
        let id = Id::of_text(&version.bytes);
        locked(&ids).insert(written_hash(version.hash), id);
        match staying(history, rules, path, &version.bytes) {
            Some(Staying::Private) => {
                locked(&private).insert(stem_of_path(path).to_owned());
            }
            Some(Staying::Held(why)) => locked(&held).push((path.to_owned(), why)),
            None => {}
        }
    };
    let mut contents = StoreContents::look(&store, &observe)?;
    let private: BTreeSet<String> = private.into_inner().unwrap_or_default();
    for (path, why) in held.into_inner().unwrap_or_default() {
        if contents.files.remove(&path).is_some() {
            contents.skipped.push((path, why));
        }
    }
    let is_private = |path: &str| private.contains(stem_of_path(path));
    contents.files.retain(|path, _| !is_private(path));
    contents.skipped.retain(|(path, _)| !is_private(path));
    contents.skipped.sort_unstable();
    Ok(Own {
        contents,
        ids: ids.into_inner().unwrap_or_default(),
        private,
    })
}

/// Reason why a file of this store stays here.
pub(in crate::engine) enum Staying {
    /// It is private, and so are the other files of its memory.
    Private,
    /// It cannot be exchanged, for this reason.
    Held(String),
}

/// Returns the reason why the file at `path` with this text stays here, if there is one.
pub(in crate::engine) fn staying(
    history: &History,
    rules: &PrivateRules,
    path: &str,
    text: &[u8],
) -> Option<Staying> {
    let memory = crate::format::parse(&stem_of(path), text, DateTime::UNIX_EPOCH);
    if Place::of(path).is_some() && rules.matches(&memory) {
        return Some(Staying::Private);
    }
    let screens = history.writer.secrets != Policy::Off;
    let why = match refused(path, text.len() as u64) {
        Some(why) => why,
        None if std::str::from_utf8(text).is_err() => "it is no UTF-8".to_owned(),
        None if screens && !not_allowed(text).is_empty() => {
            "it holds a credential: `memdir allow` or `memdir redact`".to_owned()
        }
        None => return None,
    };
    Some(Staying::Held(why))
}

/// Returns the reason why the file at `path` is not exchanged, if there is one.
fn refused(path: &str, bytes: u64) -> Option<String> {
    if !is_exchanged(path) {
        return Some("it has no name of a memory that is exchanged".to_owned());
    }
    if bytes > MAX_TEXT {
        return Some(format!("it has more than {MAX_TEXT} bytes"));
    }
    refusal(path, bytes)
}

/// Fails if the workspace is another one than the user agreed to.
pub(in crate::engine) fn check_identity(
    client: &dyn WorkspaceClient,
    identity: Option<&str>,
    state: &WorkspaceState,
) -> Result<(), EngineError> {
    if identity.is_none_or(|identity| identity == state.workspace) {
        return Ok(());
    }
    let address = client.address();
    Err(EngineError::Workspace(WorkspaceError {
        message: format!("{address} is another workspace now than the one that was joined"),
        hint: Some(format!(
            "If that is meant, `memdir sync --with {address} --join` joins it."
        )),
        is_lasting: true,
    }))
}

/// Carries out the plans; returns the path that blocks them, if there is one.
fn carry_out(
    history: &History,
    with: &WithWorkspace<'_>,
    look: &mut Look,
) -> Result<Option<String>, EngineError> {
    let tasks = [look.plans.for_here.as_ref(), look.plans.for_there.as_ref()];
    carry_out::record_deleted(history, tasks);
    let mut new = HashMap::new();
    if let Some(task) = look.plans.for_here.take() {
        new = new_texts(&task.plan);
        let pending = pending(&task.plan, &look.there.files, false);
        if !pending.is_empty() {
            look.write(history, pending)?;
        }
        let sides = [&look.here, &look.there];
        let blocked = carry_out::carry_out(history, &task, sides, &new)?;
        look.plans.for_here = Some(task);
        if blocked.is_some() {
            return Ok(blocked);
        }
        look.base = in_common(&look.there, &look.skipped, &look.base);
        look.write(history, Vec::new())?;
    }
    if let Some(task) = look.plans.for_there.take() {
        new.extend(new_texts(&task.plan));
        let pending = pending(&task.plan, &look.plans.after, true);
        if !pending.is_empty() {
            look.write(history, pending.clone())?;
        }
        let changes = changes(look, &task.plan.steps, &new);
        let blocked = match changes? {
            Ok(changes) => send(history, with.client, look, &changes, &pending)?,
            Err(path) => Some(path),
        };
        look.plans.for_there = Some(task);
        if blocked.is_some() {
            return Ok(blocked);
        }
        let before = std::mem::replace(&mut look.here.files, look.plans.after.clone());
        look.base = in_common(&look.here, &look.skipped, &look.base);
        look.here.files = before;
        look.write(history, Vec::new())?;
    }
    Ok(None)
}

/// Returns `steps` as changes of the workspace, or the path of one whose text is gone here.
fn changes(
    look: &Look,
    steps: &[MergeStep],
    new: &HashMap<Id, Vec<u8>>,
) -> Result<Result<Vec<FileChange>, String>, EngineError> {
    // New files come first, so that a memory that moves is there at every moment.
    let is_new = |step: &&MergeStep| step.before.is_none() && step.after.is_some();
    let (added, others): (Vec<&MergeStep>, Vec<&MergeStep>) = steps.iter().partition(is_new);
    let mut changes = Vec::new();
    for step in added.into_iter().chain(others) {
        let text = match (&step.text, step.after) {
            (Some(text), _) => Some(text.clone()),
            (None, None) => None,
            (None, Some(id)) => match find_text(id, [&look.here, &look.there], new)? {
                Some(text) => Some(text),
                None => return Ok(Err(step.path.clone())),
            },
        };
        let text = text.map(String::from_utf8).transpose();
        let Ok(text) = text else {
            return Ok(Err(step.path.clone()));
        };
        changes.push(FileChange {
            path: step.path.clone(),
            before: look.hashes.get(&step.path).cloned(),
            text,
        });
    }
    Ok(Ok(changes))
}

/// Sends changes to the workspace, and records what was sent; returns the path of one that is not made, because its
/// file differs there.
fn send(
    history: &History,
    client: &dyn WorkspaceClient,
    look: &mut Look,
    changes: &[FileChange],
    pending: &[PendingText],
) -> Result<Option<String>, EngineError> {
    let mut left = changes;
    while !left.is_empty() {
        let size = |change: &FileChange| change.text.as_ref().map_or(0, String::len) as u64;
        let (batch, rest) = left.split_at(batch(left, size));
        let question = ChangesQuestion {
            changes: batch.to_vec(),
        };
        let answer: ChangesAnswer = ask(client, "changes", &question)?;
        if answer.done.len() != batch.len() {
            return Err(distrusted(
                client,
                "it does not say what became of each change",
            ));
        }
        let stale = batch.iter().zip(answer.done).find(|(_, done)| !done);
        if let Some((change, _)) = stale {
            return Ok(Some(change.path.clone()));
        }
        // A run after a kill knows what was sent.
        for change in batch {
            match &change.text {
                Some(text) => {
                    let id = Id::of_text(text.as_bytes());
                    look.base.insert(change.path.clone(), id);
                }
                None => drop(look.base.remove(&change.path)),
            }
        }
        look.write(history, pending.to_vec())?;
        left = rest;
    }
    Ok(None)
}
