//! Leader election among the processes on a store, and the heartbeat on which the others rely.
//!
//! One process that runs for long holds the leader's lock as long as it lives; the others wait
//! for it in a sleeping thread. The leader watches for changes, indexes them, and
//! writes a heartbeat into another file that it has locked: that the index is complete, in which state, under
//! which folder times; or that it is not, as soon as it detects a change. A heartbeat older than
//! a second does not count.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::error::EngineError;
use crate::engine::live::freshness::{Freshness, YOUNG_FOLDER_NANOS};
use crate::engine::live::store::LiveStore;
use crate::engine::live::{index_recovery, reading};
use crate::files::{FilesError, Lock, Place};

/// Interval at which the leader writes its heartbeat.
pub(in crate::engine) const BEAT: Duration = Duration::from_millis(400);

/// Time for which a heartbeat counts.
const BEAT_COUNTS: Duration = Duration::from_secs(1);

/// Time without a heartbeat after which others index although a leader exists: it may be stopped.
const LEADER_IS_STUCK: Duration = Duration::from_secs(3);

/// Maximum number of folders of a store whose leader is relied on: each of them would have to
/// be checked, and written twice a second.
const MAX_FOLDERS: usize = 64;

/// Maximum pause before another attempt to lead; pauses grow up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

const TITLE: &str = "memdir heartbeat 1";

/// Locks of the leader, until dropped.
#[derive(Debug)]
pub(in crate::engine) struct Lead {
    leading: Lock,
    heartbeat: Lock,
}

/// Leading process, as its heartbeat describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    /// Process id.
    pub process: u32,
    /// Description of how it detects changes.
    pub watching: String,
    /// Whether its heartbeat is at most a second old.
    pub is_alive: bool,
    complete: Option<Complete>,
}

/// Statement that everything is indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Complete {
    /// Hash of the index's state.
    state: u128,
    folders: Vec<(String, i64)>,
    unreadable: usize,
}

/// Returns the path of the leader's lock.
pub(in crate::engine) fn leader_path(live: &LiveStore) -> PathBuf {
    live.state().join("leader.lock")
}

fn heartbeat_path(live: &LiveStore) -> PathBuf {
    live.state().join("heartbeat")
}

/// Returns the leading process, as its heartbeat describes it.
pub(in crate::engine) fn leader(live: &LiveStore) -> Option<Leader> {
    let path = heartbeat_path(live);
    let said = || {
        let (text, age) = crate::files::said(&path)?;
        Some((Leader::read(&text)?, age))
    };
    // A heartbeat that is being written is complete at the second read.
    let (mut leader, age) = said().or_else(said)?;
    leader.is_alive = age <= BEAT_COUNTS;
    // The last heartbeat outlives its process.
    (age <= LEADER_IS_STUCK && crate::files::is_held(&path)).then_some(leader)
}

/// Whether another process leads and indexes pending files.
pub(in crate::engine) fn is_led(live: &LiveStore) -> bool {
    let own = std::process::id();
    self::leader(live).is_some_and(|leader| leader.process != own)
}

/// Adopts from the leader that the index is complete, if its heartbeat states so and no check
/// contradicts it.
pub(in crate::engine) fn trust(
    live: &LiveStore,
    freshness: &mut Freshness,
) -> Result<bool, EngineError> {
    let Some(complete) = self::leader(live)
        .filter(|leader| leader.is_alive && !freshness.has_failed)
        .and_then(|leader| leader.complete)
    else {
        return Ok(false);
    };
    if let Some(watch) = live.watch() {
        // Before they are compared: later changes in them are reported.
        let folders = complete.folders.iter();
        folders.for_each(|(folder, _)| watch.include(folder));
    }
    if live.store.folders_changed(Place::Files, &complete.folders) {
        return Ok(false);
    }
    let Some(committed) = index_recovery::committed_or_avoided(live, freshness) else {
        return Ok(false);
    };
    if digest(committed.state()) != complete.state {
        return Ok(false);
    }
    freshness.trust(committed, complete.folders, complete.unreadable);
    Ok(true)
}

/// Writes the heartbeat, with the statement that the index is complete if it is.
pub(in crate::engine) fn beat(live: &LiveStore, may_be_complete: bool) {
    let complete = may_be_complete.then(|| self::complete(live)).flatten();
    let leader = Leader {
        process: std::process::id(),
        watching: live.watching(),
        is_alive: true,
        complete,
    };
    // A heartbeat that cannot be written counts as none: the others compare themselves.
    let _ = Lock::say(&heartbeat_path(live), &leader.written());
}

fn complete(live: &LiveStore) -> Option<Complete> {
    let watch = live.watch()?;
    // The holder of the lock is about to change it.
    let freshness = live.try_freshness()?;
    if watch.has_changes()
        || freshness.has_links
        || !freshness.is_settled()
        || freshness.folders.len() > MAX_FOLDERS
    {
        return None;
    }
    let now = reading::now_nanos(live);
    let is_young = |(_, modified): &(String, i64)| *modified > now - YOUNG_FOLDER_NANOS;
    if freshness.folders.iter().any(is_young) {
        return None;
    }
    Some(Complete {
        state: digest(freshness.committed.as_ref()?.state()),
        folders: freshness.folders.clone(),
        unreadable: freshness.unreadable(),
    })
}

/// Waits, in a thread of its own, until this process may lead, and then calls `lead`.
pub(in crate::engine) fn wait_to_lead(
    live: &Arc<LiveStore>,
    lead: impl FnOnce(Lead) + Send + 'static,
) -> std::io::Result<()> {
    let engine = Arc::clone(live);
    std::thread::Builder::new()
        .name("lead".to_owned())
        .stack_size(256 << 10)
        .spawn(move || lead(take_lead(&engine)))
        .map(drop)
}

/// Waits until no other process leads and the locks can be taken.
fn take_lead(live: &LiveStore) -> Lead {
    let path = leader_path(live);
    let mut pause = BEAT_COUNTS;
    loop {
        let taken = match live.check_there() {
            Ok(()) => Lock::wait(&path)
                .and_then(|leading| take_heartbeat(live, leading))
                .map_err(EngineError::from),
            Err(error) => Err(error),
        };
        match taken {
            Ok(lead) => return lead,
            // Meanwhile all processes compare themselves.
            Err(error) => tracing::debug!("no process leads: {error}"),
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Takes the lock of the heartbeat. The last leader's heartbeat must not count for the next one: the
/// file is emptied first.
fn take_heartbeat(live: &LiveStore, leading: Lock) -> Result<Lead, FilesError> {
    let path = heartbeat_path(live);
    let _ = Lock::say(&path, ""); // There may be none yet.
    let heartbeat = Lock::take(&path, "the heartbeat")?;
    Ok(Lead { leading, heartbeat })
}

/// Whether `lead` still excludes others: not if its files were deleted.
pub(in crate::engine) fn leads_with(live: &LiveStore, lead: &Lead) -> bool {
    lead.leading.is_at(&leader_path(live)) && lead.heartbeat.is_at(&heartbeat_path(live))
}

impl Leader {
    fn written(&self) -> String {
        let mut text = format!(
            "{TITLE}\nprocess {}\nwatching {}\n",
            self.process, self.watching
        );
        if let Some(complete) = &self.complete {
            text += &format!(
                "state {:032x}\nunreadable {}\n",
                complete.state, complete.unreadable
            );
            for (folder, modified) in &complete.folders {
                text += &format!("folder {modified} {}\n", folder.escape_default());
            }
        }
        let end = digest(&text);
        text + &format!("end {end:032x}\n")
    }

    /// Parses a heartbeat; `None` if it is invalid or incomplete.
    fn read(text: &str) -> Option<Leader> {
        // Rest of a longer one may follow until the file is truncated.
        let (body, end) = text.split_at(text.find("\nend ")? + 1);
        if !end.starts_with(&format!("end {:032x}\n", digest(body))) {
            return None;
        }
        let mut lines = body.lines();
        if lines.next() != Some(TITLE) {
            return None;
        }
        let process = lines.next()?.strip_prefix("process ")?.parse().ok()?;
        let watching = lines.next()?.strip_prefix("watching ")?.to_owned();
        let complete = match lines.next() {
            None => None,
            Some(line) => Some(Complete {
                state: u128::from_str_radix(line.strip_prefix("state ")?, 16).ok()?,
                unreadable: lines.next()?.strip_prefix("unreadable ")?.parse().ok()?,
                folders: lines.map(folder).collect::<Option<_>>()?,
            }),
        };
        Some(Leader {
            process,
            watching,
            is_alive: false,
            complete,
        })
    }
}

/// Parses one `folder` line; escaped names are not relied on.
fn folder(line: &str) -> Option<(String, i64)> {
    let (modified, name) = line.strip_prefix("folder ")?.split_once(' ')?;
    let is_plain = !name.contains('\\');
    Some((is_plain.then(|| name.to_owned())?, modified.parse().ok()?))
}

/// Returns the hash by which a state of the index is named.
pub(in crate::engine) fn digest(text: &str) -> u128 {
    crate::files::digest(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leader(complete: Option<Complete>) -> Leader {
        Leader {
            process: 7,
            watching: "events".to_owned(),
            is_alive: false,
            complete,
        }
    }

    #[test]
    fn a_heartbeat_is_read_as_it_was_written() {
        let complete = Complete {
            state: 0x1234_5678,
            folders: vec![(String::new(), 1), ("sub folder".to_owned(), -2)],
            unreadable: 3,
        };
        for leader in [leader(None), leader(Some(complete))] {
            assert_eq!(Leader::read(&leader.written()), Some(leader));
        }
    }

    #[test]
    fn what_is_left_below_of_a_longer_one_does_not_count() {
        let text = leader(None).written() + "folder 1 \nend 00\n";
        assert_eq!(Leader::read(&text), Some(leader(None)));
    }

    #[test]
    fn half_a_heartbeat_is_none() {
        let text = leader(None).written();
        for end in 0..text.len() {
            assert_eq!(Leader::read(&text[..end]), None, "{end}");
        }
        assert_eq!(Leader::read("4711"), None);
    }
}
