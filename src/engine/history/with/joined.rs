//! The workspace that the user joined this store to: joining, its state, and the exchange of a server.
//!
//! Promises: only the user's record of this very folder names an address, and it is read anew for each attempt, as
//! are the token and the rules of what is private. Nothing in the folder leads to a server. A refused token, and another
//! workspace at the address, end the attempts until the user does something; more deletions than are made unasked are
//! looked at again after pauses.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::merge_plan::stem_of_path;
use crate::engine::history::remote::exchanger::{
    Attempt, Exchanger, FIRST_SILENCE, Partner, QUIET,
};
use crate::engine::history::remote::state;
use crate::engine::history::remote::state::SyncState;
use crate::engine::history::warn_once::WarnOnce;
use crate::engine::history::with::exchange::{MAX_TEXT, WorkspaceState, is_exchanged};
use crate::engine::history::with::questions;
use crate::engine::history::with::report::{Direction, WithReport};
use crate::engine::history::with::workspace;
use crate::engine::history::with::workspace::{WithWorkspace, WorkspaceReport};
use crate::engine::history::with::workspace_note::read_note;
use crate::engine::options::WorkspaceOptions;
use crate::engine::workspace_clients::WorkspaceError;
use crate::files::{FilesError, LinkPolicy, Place, Storage, TOMBSTONES};
use crate::git::Id;
use crate::model::is_talk_name;
use crate::trust::WorkspaceConsent;

/// File of the result of the last exchange, beside the index.
const STATE: &str = "workspace-state";

/// Interval at which a server looks whether the user joined, left, or exchanged by a command.
const LOOK: Duration = Duration::from_secs(2);

/// Maximum time for which changes here are known from notifications alone, which some systems lose.
const LOOK_AT_ALL: Duration = Duration::from_secs(60 * 60);

/// Seconds by which the time of a file may differ from this machine's clock.
const SKEW: i64 = 60;

const ONLY_READS: &str =
    "nothing is sent: the token only reads (`--direction pull` if that is meant)";

/// State of the exchange with the workspace that this store is joined to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceStatus {
    /// Address of the workspace.
    pub address: String,
    /// Direction of the changes.
    pub direction: Direction,
    /// Number of memories here that differ from what the workspace was known to have.
    pub unsent: usize,
    /// Result of the last exchange.
    pub last: Option<SyncState>,
}

/// Returns the workspace that the user joined this store to.
pub fn joined_workspace(history: &History) -> Option<WorkspaceConsent> {
    history.consent.workspace()
}

/// Records that the user joins this store to a workspace, after an exchange; with its report as the state.
///
/// # Errors
///
/// Fails if it cannot be recorded.
pub fn join_workspace(
    history: &History,
    joined: WorkspaceConsent,
    done: Option<&WorkspaceReport>,
) -> Result<(), EngineError> {
    let recorded = history
        .consent
        .change(|record| record.workspace = Some(joined));
    recorded.map_err(|error| EngineError::Invalid(error.to_string()))?;
    if let Some(done) = done {
        note(history, Ok(done));
    }
    Ok(())
}

/// Ends the exchange with the workspace; returns what the user had agreed to. Memories stay where they are.
///
/// # Errors
///
/// Fails if it cannot be recorded.
pub fn leave_workspace(history: &History) -> Result<Option<WorkspaceConsent>, EngineError> {
    let left = history.consent.leave_workspace();
    let left = left.map_err(|error| EngineError::Invalid(error.to_string()))?;
    // Only shown to users, and only of a workspace that is joined.
    let _ = crate::files::remove_derived(&history.live.state().join(STATE));
    Ok(left)
}

/// As [`workspace::exchange`]; the result is recorded if the user joined this store to that workspace.
///
/// # Errors
///
/// As for [`workspace::exchange`].
pub fn sync_with_workspace(
    history: &History,
    with: &WithWorkspace<'_>,
) -> Result<WorkspaceReport, EngineError> {
    let done = workspace::exchange(history, with);
    let is_whole = |joined: &WorkspaceConsent| {
        joined.address == with.client.address()
            && [joined.direction, Direction::Merge].contains(&with.direction)
    };
    if !with.dry_run && joined_workspace(history).is_some_and(|joined| is_whole(&joined)) {
        note(history, done.as_ref());
    }
    done
}

/// Exchanges with the workspace that the user joined this store to; `None` if there is none.
///
/// # Errors
///
/// As for [`workspace::exchange`], and if there is no token for it.
pub fn sync_with_joined(
    history: &History,
    accept_deletions: bool,
) -> Option<(WorkspaceConsent, Result<WorkspaceReport, EngineError>)> {
    let joined = joined_workspace(history)?;
    let options = history.workspace.as_ref()?;
    let done = exchange(history, options, &joined, accept_deletions);
    note(history, done.as_ref());
    Some((joined, done))
}

fn exchange(
    history: &History,
    options: &WorkspaceOptions,
    joined: &WorkspaceConsent,
    accept_deletions: bool,
) -> Result<WorkspaceReport, EngineError> {
    let client = options.clients.open(joined)?;
    let private = options.clients.private()?;
    let with = WithWorkspace {
        client: &*client,
        direction: joined.direction,
        dry_run: false,
        accept_deletions,
        private: &private,
        identity: Some(&joined.identity),
    };
    workspace::exchange(history, &with)
}

/// Asks the workspace that this store is joined to for its state; `None` if there is none. Exchanges nothing.
///
/// # Errors
///
/// Fails if the workspace cannot be reached, refuses, or is another one than the user agreed to.
pub fn look_at_workspace(history: &History) -> Result<Option<WorkspaceState>, EngineError> {
    let (Some(joined), Some(options)) = (joined_workspace(history), &history.workspace) else {
        return Ok(None);
    };
    let client = options.clients.open(&joined)?;
    let state = questions::workspace_state(&*client)?;
    workspace::check_identity(&*client, Some(&joined.identity), &state)?;
    Ok(Some(state))
}

/// Returns the state of the exchange with the workspace that this store is joined to, without asking it; `None` if
/// there is none.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub fn workspace_status(history: &History) -> Result<Option<WorkspaceStatus>, EngineError> {
    let Some(joined) = joined_workspace(history) else {
        let other = history.consent.workspace_of_other_folder();
        return Ok(other.map(|address| WorkspaceStatus {
            last: Some(SyncState {
                state: "paused".to_owned(),
                reason: Some(format!(
                    "another folder was joined, which lay here before; `memdir sync --with {address} --join` joins this one"
                )),
                ..SyncState::default()
            }),
            address,
            direction: Direction::default(),
            unsent: 0,
        }));
    };
    let last = state::noted(history, STATE);
    Ok(Some(WorkspaceStatus {
        unsent: unsent(history, &joined, last.as_ref())?,
        address: joined.address,
        direction: joined.direction,
        last,
    }))
}

/// Returns the number of memories that wait to be sent. Only texts that are new, or younger than the last exchange,
/// are read.
fn unsent(
    history: &History,
    joined: &WorkspaceConsent,
    last: Option<&SyncState>,
) -> Result<usize, EngineError> {
    if joined.direction == Direction::Pull {
        return Ok(0);
    }
    let store = history
        .live
        .need_directory("synchronizing with a workspace")?;
    let store = store.clone().with_links(LinkPolicy::Refuse);
    let known = read_note(history, &joined.identity).base;
    let since = last.and_then(|last| last.in_step_at).unwrap_or_default() - SKEW;
    let (mut present, mut stems) = (BTreeSet::new(), BTreeSet::new());
    for place in [Place::Files, Place::Archive] {
        let reader = store.reader(place);
        for entry in store.list(place)?.entries {
            let path = place.path_of(&entry.name);
            let base = known.get(&path);
            let is_old = entry.stamp.modified.div_euclid(1_000_000_000) < since;
            let is_known = base.is_some() && is_old;
            if !is_known && is_exchanged(&path) && !is_talk_name(&entry.name) {
                // One that is gone by now, or too large, is not exchanged.
                let Ok(version) = reader.read(&entry.name, MAX_TEXT) else {
                    continue;
                };
                let is_same = base == Some(&Id::of_text(&version.bytes).to_string());
                let stays = || workspace::staying(history, &history.private, &path, &version.bytes);
                if !is_same && stays().is_none() {
                    stems.insert(stem_of_path(&path).to_owned());
                }
            }
            present.insert(path);
        }
    }
    let gone = known
        .keys()
        .filter(|path| !path.starts_with(TOMBSTONES) && !present.contains(*path));
    stems.extend(gone.map(|path| stem_of_path(path).to_owned()));
    Ok(stems.len())
}

/// Records the result of an exchange; nothing of one that another process hindered.
fn note(history: &History, done: Result<&WorkspaceReport, &EngineError>) {
    let (state, reason) = match done {
        Ok(done) if done.only_reads => ("paused", Some(ONLY_READS.to_owned())),
        Ok(_) => ("in-step", None),
        Err(EngineError::Files(FilesError::Busy { .. })) => return,
        Err(EngineError::Paused(reason)) => ("paused", Some(reason.clone())),
        Err(EngineError::Workspace(error)) if error.is_lasting => ("paused", Some(told(error))),
        Err(error) => ("failed", Some(error.to_string())),
    };
    state::note(history, STATE, state, reason);
}

/// Returns an error with what to do about it, in one line.
fn told(error: &WorkspaceError) -> String {
    match &error.hint {
        Some(hint) => format!("{error}. {}", hint.trim_end_matches('.')),
        None => error.to_string(),
    }
}

/// Starts the exchange of a server with the workspace that the user joined the store to, or will join it to; `None` if
/// nothing can be exchanged.
pub(in crate::engine) fn start(history: &Arc<History>) -> std::io::Result<Option<Exchanger>> {
    let is_able = history.live.directory().is_some() && !history.live.is_read_only();
    let Some(options) = history.workspace.clone().filter(|_| is_able) else {
        return Ok(None);
    };
    let partner = JoinedWorkspace {
        history: Arc::clone(history),
        options,
        seen: (None, None),
        is_halted: false,
        in_step: None,
        warn_once: WarnOnce::default(),
    };
    Exchanger::start("workspace", Box::new(partner)).map(Some)
}

struct JoinedWorkspace {
    history: Arc<History>,
    options: WorkspaceOptions,
    /// Agreement of the user at the last attempt, and its recorded result.
    seen: (Option<WorkspaceConsent>, Option<SyncState>),
    /// Whether the user has to do something first.
    is_halted: bool,
    /// The workspace when both were in step, and the time until which that is believed.
    in_step: Option<(WorkspaceReport, Instant)>,
    warn_once: WarnOnce,
}

impl JoinedWorkspace {
    fn attempt(
        &mut self,
        joined: &WorkspaceConsent,
        has_changes: bool,
    ) -> Result<WorkspaceReport, EngineError> {
        let known = self.in_step.as_ref().filter(|_| !has_changes);
        if let Some((known, until)) = known
            && Instant::now() < *until
        {
            let client = self.options.clients.open(joined)?;
            if questions::workspace_state(&*client)? == known.state {
                return Ok(known.clone());
            }
        }
        self.in_step = None;
        let done = exchange(&self.history, &self.options, joined, false)?;
        let known = WorkspaceReport {
            report: WithReport::default(),
            ..done.clone()
        };
        self.in_step = Some((known, Instant::now() + LOOK_AT_ALL));
        Ok(done)
    }

    fn tell(&mut self, joined: &WorkspaceConsent, done: &WorkspaceReport) {
        let here = &done.report.here;
        if done.only_reads {
            self.warn_once
                .say(format!("{}: {ONLY_READS}", joined.address));
        } else {
            self.warn_once.forget();
        }
        if !here.came.is_empty() {
            let count = here.came.len();
            tracing::info!("{count} memories came from {}", joined.address);
        }
        for stem in &here.conflicts {
            tracing::warn!(
                "{stem} was changed here and at {}, and is two memories now",
                joined.address
            );
        }
    }

    /// Takes in what the user agreed to and did since the last time; returns whether that changed.
    fn look(&mut self) -> bool {
        let now = (
            joined_workspace(&self.history),
            state::noted(&self.history, STATE),
        );
        if now == self.seen {
            return false;
        }
        self.seen = now;
        self.is_halted = false;
        self.in_step = None;
        true
    }
}

impl Partner for JoinedWorkspace {
    fn exchange(&mut self, has_changes: bool, _: &dyn Fn() -> bool) -> Attempt {
        self.look();
        let Some(joined) = self.seen.0.clone().filter(|_| !self.is_halted) else {
            return Attempt::Idle;
        };
        let done = self.attempt(&joined, has_changes);
        note(&self.history, done.as_ref());
        self.seen.1 = state::noted(&self.history, STATE);
        match done {
            Ok(done) => {
                self.tell(&joined, &done);
                Attempt::InStep(self.options.interval)
            }
            Err(EngineError::Files(FilesError::Busy { .. })) => Attempt::Failed(QUIET),
            Err(error) => {
                self.is_halted =
                    matches!(&error, EngineError::Workspace(error) if error.is_lasting);
                self.warn_once.say(format!(
                    "nothing is exchanged with {} at present: {error}",
                    joined.address
                ));
                match self.is_halted {
                    true => Attempt::Idle,
                    false => Attempt::Failed(FIRST_SILENCE),
                }
            }
        }
    }

    fn look_interval(&self) -> Option<Duration> {
        Some(LOOK)
    }

    fn is_called_for(&mut self) -> bool {
        self.look() && self.seen.0.is_some()
    }
}
