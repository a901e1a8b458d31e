//! Pauses: nothing is shown to agents unasked until they end.

use std::{fmt, fs, io};

use chrono::{DateTime, Utc};

use super::record::Sessions;
use crate::files;

/// Name of the file in the folder of records.
const FILE: &str = "paused";
/// What the file holds for a pause without an end.
const NO_END: &str = "until resumed";

/// A pause that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Its end; `None` until the user ends it.
    pub until: Option<DateTime<Utc>>,
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => write!(f, "paused until {}", until.format("%Y-%m-%d %H:%M UTC")),
            None => f.write_str("paused until `memdir pause --end`"),
        }
    }
}

impl Sessions {
    /// Begins a pause, in place of the present one.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn pause(&self, pause: Pause) -> io::Result<()> {
        files::create_private_folder(&self.folder)?;
        let text = pause
            .until
            .map_or_else(|| NO_END.to_owned(), |until| until.to_rfc3339());
        files::write_synced(&self.folder.join(FILE), format!("{text}\n").as_bytes())
    }

    /// Returns the pause of this moment. A file that cannot be understood is one without an end: whoever
    /// wrote it wanted nothing to be shown.
    pub fn paused(&self, now: DateTime<Utc>) -> Option<Pause> {
        let text = fs::read_to_string(self.folder.join(FILE)).ok()?;
        let until = DateTime::parse_from_rfc3339(text.trim()).ok();
        let until = until.map(|until| until.to_utc());
        until
            .is_none_or(|until| until > now)
            .then_some(Pause { until })
    }

    /// Ends the pause. Returns whether there was one at `now`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be removed.
    pub fn resume(&self, now: DateTime<Utc>) -> io::Result<bool> {
        let was_paused = self.paused(now).is_some();
        match files::remove_derived(&self.folder.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            other => other.map(|()| was_paused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_at_its_end_or_when_it_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(folder.path());
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let (now, later) = (at("2026-11-25T20:00:00Z"), at("2026-11-25T22:00:00Z"));
        assert_eq!(sessions.paused(now), None);
        assert!(!sessions.resume(now).unwrap());
        let pause = Pause { until: Some(later) };
        sessions.pause(pause).unwrap();
        assert_eq!(sessions.paused(now), Some(pause));
        assert_eq!(sessions.paused(later), None);
        sessions.pause(Pause { until: None }).unwrap();
        assert_eq!(sessions.paused(later), Some(Pause { until: None }));
        assert!(sessions.resume(later).unwrap());
        assert_eq!(sessions.paused(later), None);
    }
}
