//! State of the store's commits and its remote, as recorded by the last attempt of any process.

use std::fmt::Write;

use crate::engine::error::{EngineError, Quarantined};
use crate::engine::history::commits::quarantine;
use crate::engine::history::consent::Remote;
use crate::engine::history::remote::exchanged::Exchanged;
use crate::engine::history::{History, consent};
use crate::git;
use crate::git::{Id, Means, Network, Owner, Repository};

/// Result of the last synchronization.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncState {
    /// Time in seconds since 1970.
    pub at: i64,
    /// State: `in-step`, `paused`, `busy` or `failed`.
    pub state: String,
    /// Reason why it is not in step.
    pub reason: Option<String>,
    /// Time in seconds since 1970 when both were in step last.
    pub in_step_at: Option<i64>,
}

/// State of a store's commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitStatus {
    /// Commits are off, for this reason.
    Off(String),
    /// Changes are committed.
    On {
        branch: String,
        /// The newest commit and its time in seconds since 1970; `None` before the first.
        newest: Option<(String, i64)>,
        /// Reason why the next commit cannot be made.
        obstacle: Option<String>,
        remote: Option<Box<RemoteStatus>>,
        /// Reason why the remote that the settings name is not the store's.
        note: Option<String>,
        /// Memories that are held back from commits.
        held_back: Vec<Quarantined>,
    },
}

/// State of a store's remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteStatus {
    /// Address without credentials.
    pub address: String,
    /// Program that reaches it, such as `git 2.47.3`.
    pub means: String,
    /// Number of commits that it does not have, as known here.
    pub unsent: usize,
    /// Result of the last synchronization.
    pub last: Option<SyncState>,
}

const TITLE: &str = "memdir sync 1";

/// Returns the state of this store's commits and of its remote, without contacting the remote.
///
/// # Errors
///
/// Fails if there is a repository that cannot be read.
pub fn git_status(history: &History) -> Result<GitStatus, EngineError> {
    let off = |why: &str| Ok(GitStatus::Off(why.to_owned()));
    if history.git.is_none() {
        return match history.live.is_read_only() {
            true => off("nothing is written here"),
            false => off("the setting `git` is off"),
        };
    }
    let Some(repository) = consent::repository(history)? else {
        let why = failure_to_set_up(history).or_else(|| consent::forgotten_remote(history));
        return Ok(GitStatus::Off(match why {
            Some(why) => format!("begins with the first memory; {why}"),
            None => "begins with the first memory".to_owned(),
        }));
    };
    if repository.owner() == Owner::Other {
        let mut why =
            "the store lies in somebody's repository; `memdir sync --setup` consents".to_owned();
        if let Some(unfollowed) = consent::unfollowed_remote(history, &repository) {
            let _ = write!(why, "; {unfollowed}");
        }
        return off(&why);
    }
    let head = repository.head()?;
    let newest = match head {
        Some(head) => Some((head.short(), git::commit_info(&repository, head)?.at)),
        None => None,
    };
    let mut note = consent::unfollowed_remote(history, &repository);
    let remote = match Remote::of(&repository)? {
        None => {
            let why = || failure_to_set_up(history).or_else(|| consent::forgotten_remote(history));
            note = note.or_else(why);
            None
        }
        Some(remote) => match consent::network_for(history, &remote) {
            Ok(network) => Some(Box::new(remote_status(
                history,
                &repository,
                &remote,
                &network,
                head,
            )?)),
            Err(reason) => {
                note = note.or(Some(reason));
                None
            }
        },
    };
    Ok(GitStatus::On {
        branch: repository.branch(),
        newest,
        obstacle: repository.obstacle().map(|obstacle| obstacle.to_string()),
        remote,
        note,
        held_back: quarantine::held_back(history)?,
    })
}

/// Returns the reason why the remote that the settings name is not set up.
fn failure_to_set_up(history: &History) -> Option<String> {
    history.git.as_ref()?.remote.as_ref()?;
    let reason = sync_state(history)?.reason?;
    Some(format!(
        "the remote that the setting `remote` names is not set up: {reason}"
    ))
}

fn remote_status(
    history: &History,
    repository: &Repository,
    remote: &Remote,
    network: &Network,
    head: Option<Id>,
) -> Result<RemoteStatus, EngineError> {
    let seen = repository.reference(&remote.seen_ref())?;
    let unsent = match head {
        None => 0,
        Some(head) => git::commits(repository, head, seen)?.count(),
    };
    Ok(RemoteStatus {
        address: remote.address.to_string(),
        means: match network.means() {
            Means::Program(version) => version,
            Means::Library => "libgit2, as there is no git program".to_owned(),
        },
        unsent,
        last: sync_state(history),
    })
}

/// A remote as it was just seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteLook {
    /// Whether its branch has commits that are not here.
    pub has_news: bool,
}

/// Asks the store's remote for its branches; fetches and changes nothing.
///
/// # Errors
///
/// Fails if the store has no remote that the user agreed to, or if it cannot be reached.
pub fn look_at_remote(history: &History) -> Result<RemoteLook, EngineError> {
    let none = || EngineError::Invalid("there is no remote".to_owned());
    let repository = consent::repository(history)?.ok_or_else(none)?;
    let remote = Remote::of(&repository)?.ok_or_else(none)?;
    let network = consent::network_for(history, &remote).map_err(EngineError::Invalid)?;
    let seen = network.look(&remote.address, Some(repository.path()), &|| false)?;
    let mut branches = seen.branches.into_iter();
    let tip = branches.find_map(|(name, id)| (name == repository.branch()).then_some(id));
    let tip = tip.as_deref().and_then(Id::parse);
    let is_here = |tip: Id| match repository.head() {
        Ok(Some(head)) => git::descends_from(&repository, head, tip).unwrap_or(false),
        _ => false,
    };
    Ok(RemoteLook {
        has_news: tip.is_some_and(|tip| !is_here(tip)),
    })
}

/// Returns the result of the last synchronization with the remote; `None` if there was none.
pub fn sync_state(history: &History) -> Option<SyncState> {
    noted(history, STATE)
}

/// File of the result of the last synchronization with the remote.
const STATE: &str = "sync-state";

/// Returns the result of the last attempt that is recorded in the file `name`.
pub(in crate::engine) fn noted(history: &History, name: &str) -> Option<SyncState> {
    let (text, _) = crate::files::said(&history.live.state().join(name))?;
    SyncState::read(&text)
}

/// Records the result of a synchronization.
pub(in crate::engine) fn note_sync(history: &History, exchanged: &Result<Exchanged, EngineError>) {
    let (state, reason) = match exchanged {
        Ok(Exchanged::InStep(_)) => ("in-step", None),
        Ok(Exchanged::Paused(reason)) => ("paused", Some(reason.clone())),
        Ok(Exchanged::Busy) => (
            "busy",
            Some("something changed all the time, or git is at work here".to_owned()),
        ),
        Ok(Exchanged::NoRemote | Exchanged::Off) => return,
        Err(error) => ("failed", Some(error.to_string())),
    };
    note(history, STATE, state, reason);
}

/// Records the result of an attempt in the file `name`.
pub(in crate::engine) fn note(history: &History, name: &str, state: &str, reason: Option<String>) {
    let before = noted(history, name).unwrap_or_default();
    let at = history.live.clock.now().timestamp();
    let in_step_at = match state {
        "in-step" => Some(at),
        _ => before.in_step_at,
    };
    let now = SyncState {
        at,
        state: state.to_owned(),
        reason,
        in_step_at,
    };
    let path = history.live.state().join(name);
    // Only shown to users; the next attempt writes it again.
    let _ = crate::files::write_derived(&path, now.written().as_bytes());
}

impl SyncState {
    fn written(&self) -> String {
        let mut text = format!("{TITLE}\nat {}\nstate {}\n", self.at, self.state);
        if let Some(at) = self.in_step_at {
            let _ = writeln!(text, "in-step-at {at}");
        }
        if let Some(reason) = &self.reason {
            let _ = writeln!(text, "reason {}", reason.replace('\n', " "));
        }
        text
    }

    fn read(text: &str) -> Option<SyncState> {
        let mut lines = text.lines();
        (lines.next()? == TITLE).then_some(())?;
        let mut state = SyncState::default();
        for line in lines {
            let (key, value) = line.split_once(' ')?;
            match key {
                "at" => state.at = value.parse().ok()?,
                "state" => value.clone_into(&mut state.state),
                "in-step-at" => state.in_step_at = Some(value.parse().ok()?),
                "reason" => state.reason = Some(value.to_owned()),
                _ => {}
            }
        }
        Some(state)
    }
}
