//! Events of sessions: what happened, and what was shown.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::files;

/// Below the user's folder for state.
pub(super) const FOLDER: &str = "sessions";
/// Number of sessions whose records are kept.
const MOST_SESSIONS: usize = 500;
/// The largest record that is read, in bytes; a session of a day has a few thousand.
const MAX_BYTES: u64 = 4 << 20;

/// Name of the event at the beginning of a session.
const SESSION_START: &str = "session-start";

/// A memory that was not shown, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutNote {
    /// Id of the memory.
    pub id: String,
    /// Reason.
    pub why: String,
}

/// One event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Moment of the event.
    pub at: DateTime<Utc>,
    /// Name of the event, such as `session-start`.
    pub event: String,
    /// How the session began, as the client says: `startup`, `resume`, `clear`, `compact`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Name of the client.
    pub client: String,
    /// Id of the session, as the client says.
    pub session: String,
    /// Working folder of the session.
    pub folder: String,
    /// Folder of the store.
    pub store: String,
    /// File in which the client writes the session down, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// Stems of the memories that were shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
    /// Number of characters that were given to the client.
    #[serde(default)]
    pub characters: usize,
    /// Memories that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutNote>,
    /// Sentence for people about what was done.
    pub did: String,
}

/// The records of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sessions {
    pub(super) folder: PathBuf,
}

impl Sessions {
    /// Returns the records below the user's folder for state. Nothing is read or made yet.
    pub fn new(state_folder: &Path) -> Sessions {
        Sessions {
            folder: state_folder.join(FOLDER),
        }
    }

    /// Adds an event to the record of its session.
    ///
    /// # Errors
    ///
    /// Fails as the system says.
    pub fn add(&self, event: &SessionEvent) -> io::Result<()> {
        files::create_private_folder(&self.folder)?;
        let path = self.path_of(&event.client, &event.session);
        let is_new = !path.exists();
        let line = serde_json::to_string(event).map_err(io::Error::other)?;
        files::append_lines(&path, format!("{line}\n").as_bytes())?;
        if is_new {
            self.remove_oldest();
        }
        Ok(())
    }

    /// Returns the events of a session, oldest first.
    pub fn events_of(&self, client: &str, session: &str) -> Vec<SessionEvent> {
        read(&self.path_of(client, session))
    }

    /// Returns the newest `limit` events of all sessions, newest first.
    pub fn newest(&self, limit: usize) -> Vec<SessionEvent> {
        let records = self.records().into_iter();
        let mut events: Vec<SessionEvent> = records.flat_map(|(_, path)| read(&path)).collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.at));
        events.truncate(limit);
        events
    }

    /// Returns the files of records with the times of their last changes.
    fn records(&self) -> Vec<(SystemTime, PathBuf)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let record = |entry: fs::DirEntry| {
            let path = entry.path();
            let is_record = path
                .extension()
                .is_some_and(|extension| extension == "jsonl");
            let changed = entry.metadata().ok()?.modified().ok()?;
            is_record.then_some((changed, path))
        };
        entries.filter_map(record).collect()
    }

    fn remove_oldest(&self) {
        let mut records = self.records();
        records.sort_by_key(|(changed, _)| std::cmp::Reverse(*changed));
        for (_, path) in records.into_iter().skip(MOST_SESSIONS) {
            let _ = files::remove_derived(&path); // It is tried again with the next session.
        }
    }

    /// Ids of sessions are texts of clients, which name no files.
    fn path_of(&self, client: &str, session: &str) -> PathBuf {
        let digest = files::digest(format!("{client}\0{session}").as_bytes());
        self.folder.join(format!("{digest:032x}.jsonl"))
    }
}

/// Returns the stems that a session has been shown since its context was begun anew.
pub fn known_to(events: &[SessionEvent]) -> HashSet<String> {
    // A session without an id is called by its folder, as is each that begins there.
    let begins_anew = |event: &SessionEvent| {
        let is_named = event.session != event.folder;
        let is_start = event.event == SESSION_START && !is_named;
        event.source.as_deref() == Some("clear") || is_start
    };
    let from = events.iter().rposition(begins_anew).unwrap_or(0);
    let shown = events[from..].iter().flat_map(|event| &event.shown);
    shown.cloned().collect()
}

fn read(path: &Path) -> Vec<SessionEvent> {
    let Ok(file) = files::open_lines(path) else {
        return Vec::new();
    };
    let mut text = String::new();
    if let Err(error) = file.take(MAX_BYTES).read_to_string(&mut text) {
        tracing::info!("{}: {error}; it is ignored", path.display());
    }
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(session: &str, shown: &[&str], source: Option<&str>) -> SessionEvent {
        SessionEvent {
            at: "2026-11-25T20:00:00Z".parse().unwrap(),
            event: "session-start".to_owned(),
            source: source.map(str::to_owned),
            client: "claude-code".to_owned(),
            session: session.to_owned(),
            folder: "/home/mira/atlas".to_owned(),
            store: "/home/mira/memories".to_owned(),
            transcript: None,
            shown: shown.iter().map(|stem| (*stem).to_owned()).collect(),
            characters: 0,
            left_out: Vec::new(),
            did: "1 memory".to_owned(),
        }
    }

    #[test]
    fn events_are_kept_by_session() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(folder.path());
        assert!(sessions.newest(10).is_empty());
        sessions.add(&event("../a", &["one"], None)).unwrap();
        sessions.add(&event("../a", &["two"], None)).unwrap();
        sessions.add(&event("b", &["three"], None)).unwrap();
        let events = sessions.events_of("claude-code", "../a");
        assert_eq!(events.len(), 2);
        assert_eq!(known_to(&events).len(), 2);
        assert_eq!(sessions.newest(10).len(), 3);
        assert_eq!(sessions.newest(1).len(), 1);
        assert!(sessions.events_of("codex", "b").is_empty());
    }

    #[test]
    fn a_torn_line_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(folder.path());
        sessions.add(&event("a", &["one"], None)).unwrap();
        let (_, path) = sessions.records().remove(0);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{}", &text[..20])).unwrap();
        sessions.add(&event("a", &["two"], None)).unwrap();
        assert_eq!(sessions.events_of("claude-code", "a").len(), 2);
    }

    #[test]
    fn a_cleared_context_knows_nothing_of_before() {
        let events = [
            event("a", &["one"], Some("startup")),
            event("a", &["two"], Some("clear")),
            event("a", &["three"], None),
        ];
        let known = known_to(&events);
        assert!(!known.contains("one") && known.contains("two") && known.contains("three"));
    }
}
