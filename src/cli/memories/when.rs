//! Reads moments as people type them.

use chrono::{DateTime, Local, Utc};

use crate::cli::terminal::fail::Failure;
pub use crate::engine::Toward as Direction;
use crate::engine::{Revision, read_moment};
use crate::model::POSSIBLE_TIMES;

/// Reads a moment in any of the forms that all interfaces take.
pub fn moment(
    option: &str,
    text: &str,
    now: DateTime<Utc>,
    direction: Direction,
) -> Result<DateTime<Utc>, Failure> {
    read_moment(text, now, direction).ok_or_else(|| {
        Failure::new(format!("cannot read the time `{text}` of {option}"))
            .hint(format!("Write a date (2026-01-31), a time (2026-01-31T09:00:00Z), `yesterday`, `last week`, or an amount such as 12h, 3d, 2w; {POSSIBLE_TIMES}."))
    })
}

/// Reads what somebody calls a moment of the history.
pub fn revision(text: &str, now: DateTime<Utc>) -> Revision {
    Revision {
        text: text.to_owned(),
        at: moment("the revision", text, now, Direction::Past).ok(),
    }
}

pub fn local(at: DateTime<Utc>) -> String {
    at.with_timezone(&Local)
        .format("%Y-%m-%d %H:%M:%S %:z")
        .to_string()
}
