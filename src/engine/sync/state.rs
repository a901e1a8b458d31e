//! How the store and its remote stand to each other, as the last attempt found it: written down
//! for whoever asks, by whichever process it was.

use std::fmt::Write;

use super::exchange::Exchanged;
use crate::engine::Engine;
use crate::engine::EngineError;

/// How the last attempt to come into step ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncState {
    /// When, in seconds since 1970.
    pub at: i64,
    /// `in-step`, `paused`, `failed`.
    pub state: String,
    /// Why it is not in step.
    pub reason: Option<String>,
    /// When both were in step last.
    pub in_step_at: Option<i64>,
}

const TITLE: &str = "memdir sync 1";

impl Engine {
    /// How the last attempt to come into step ended; `None` if there was none.
    pub fn sync_state(&self) -> Option<SyncState> {
        let (text, _) = crate::files::said(&self.state().join("sync-state"))?;
        SyncState::read(&text)
    }

    pub(super) fn note_sync(&self, exchanged: &Result<Exchanged, EngineError>) {
        let before = self.sync_state().unwrap_or_default();
        let (state, reason) = match exchanged {
            Ok(Exchanged::InStep(_)) => ("in-step", None),
            Ok(Exchanged::Paused(reason)) => ("paused", Some(reason.clone())),
            Ok(Exchanged::NoRemote | Exchanged::Off | Exchanged::Busy) => return,
            Err(error) => ("failed", Some(error.to_string())),
        };
        let at = self.clock.now().timestamp();
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
        let path = self.state().join("sync-state");
        // It is for people who ask; the next attempt tells them.
        let _ = crate::files::write_derived(&path, now.written().as_bytes());
    }
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
