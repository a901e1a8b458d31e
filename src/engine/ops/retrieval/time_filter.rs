//! Filter by a time that a text asks for.

use chrono::{DateTime, Local, NaiveDate, TimeDelta, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, rows};
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::model::{Filter, Stem, Talks, Timestamp, is_possible_time, start_of_day};
use crate::ranking::AskedTime;

/// Metadata key with the day of an event that was written down later.
const EVENT_DATE: &str = "metadata.event_date";

/// Direction of an amount of time without "ago" or "in".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    Past,
    Future,
}

/// Reads the moment that a person or an agent wrote, seen from `now` in this machine's time zone; `None`
/// if it is none, or its year is impossible. All interfaces use this reader: its forms are in the
/// table of `docs/RETRIEVAL.md`.
pub fn read_moment(text: &str, now: DateTime<Utc>, toward: Toward) -> Option<DateTime<Utc>> {
    let word = text.trim().to_lowercase();
    let today = now.with_timezone(&Local).date_naive();
    let day = |days: i64| {
        let day = today.checked_add_signed(TimeDelta::try_days(days)?)?;
        Some(start_of_day(&Local, day)?.to_utc())
    };
    let found = match word.as_str() {
        "now" => Some(now),
        "today" => day(0),
        "yesterday" => day(-1),
        "tomorrow" => day(1),
        _ => from_now(&word, now, toward),
    };
    let coming = || crate::ranking::coming_time(&word, &now.with_timezone(&Local));
    // For ends, `8 May` is the next one; otherwise the last, unless only a future one is possible.
    let is_ahead = toward == Toward::Future
        || ["next ", "tomorrow "]
            .iter()
            .any(|begin| word.starts_with(begin))
        || word.ends_with("after tomorrow");
    found
        .or_else(|| Timestamp::parse(text.trim()).map(|at| at.utc()))
        .or_else(|| is_ahead.then(coming).flatten())
        .or_else(|| begin_of(&word, now))
        .filter(|at| is_possible_time(*at))
}

/// Forms of an end, as listed in error messages.
pub const END_FORMS: &str = "a date (2099-01-31), a time (2099-01-31T09:00:00Z), tomorrow evening, next friday, \
                             next week, end of month, or an amount such as 12h, 30d, 2w";

/// Reason why a text is no end of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadEnd {
    Unreadable,
    /// The time is over: the memory would not be found any more.
    Past(DateTime<Utc>),
}

/// Reads the end of a memory as a person or an agent wrote it; ISO 8601 is kept as it is written. `begin`
/// is the memory's time if stated, else `now`: a memory of a former time may end
/// in the past.
///
/// # Errors
///
/// Fails if it is no time, or if it is over.
pub fn read_end(text: &str, now: DateTime<Utc>, begin: DateTime<Utc>) -> Result<Timestamp, BadEnd> {
    let read = || read_moment(text, now, Toward::Future).map(Timestamp::from_utc);
    let end = Timestamp::parse(text).or_else(read).or_else(|| {
        // A past time gives a better error than an unreadable one.
        read_moment(text, now, Toward::Past).map(Timestamp::from_utc)
    });
    match end {
        None => Err(BadEnd::Unreadable),
        Some(end) if end.utc() <= now.min(begin) => Err(BadEnd::Past(end.utc())),
        Some(end) => Ok(end),
    }
}

/// Reads `3d`, `2 weeks ago`, `in an hour`, `two days from now`.
fn from_now(word: &str, now: DateTime<Utc>, toward: Toward) -> Option<DateTime<Utc>> {
    let ahead = word
        .strip_prefix("in ")
        .or_else(|| word.strip_suffix(" from now"));
    let (rest, toward) = match (word.strip_suffix(" ago"), ahead) {
        (Some(rest), None) => (rest, Toward::Past),
        (None, Some(rest)) => (rest, Toward::Future),
        _ => (word, toward),
    };
    let amount = amount(rest.trim())?;
    match toward {
        Toward::Past => now.checked_sub_signed(amount),
        Toward::Future => now.checked_add_signed(amount),
    }
}

/// Returns the first moment of `last week`, `this morning`, `8 May 2026`: of a text that names a time and
/// nothing else.
fn begin_of(text: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let asked = crate::ranking::asked_time(text, &now.with_timezone(&Local))?;
    asked.rest.trim().is_empty().then_some(asked.since)
}

fn amount(text: &str) -> Option<TimeDelta> {
    let (count, unit) = match text.find(|c: char| !c.is_ascii_digit())? {
        0 => text.split_once(' ')?,
        digits => text.split_at(digits),
    };
    let count = i64::from(crate::ranking::number(count).filter(|count| *count <= 1_000_000)?);
    let unit = unit.trim();
    let seconds = match unit
        .strip_suffix('s')
        .filter(|unit| unit.len() > 1)
        .unwrap_or(unit)
    {
        "min" | "minute" => 60,
        "h" | "hour" => 3_600,
        "d" | "day" => 86_400,
        "w" | "wk" | "week" => 604_800,
        "mo" | "month" => 2_592_000,
        "y" | "yr" | "year" => 31_536_000,
        _ => return None,
    };
    TimeDelta::try_seconds(count * seconds)
}

/// Returns the time that `text` asks for by words such as `last week`, in this machine's time zone.
pub fn asked_time(engine: &Engine, text: &str) -> Option<AskedTime> {
    crate::ranking::asked_time(text, &engine.live.clock.now().with_timezone(&Local))
}

/// Returns the memories that pass `filter` and are of a time: by their timestamps, or by the
/// `event_date` in their metadata.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn of_time(
    engine: &Engine,
    time: &AskedTime,
    filter: &Filter,
) -> Result<Vec<Stem>, EngineError> {
    current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let written_then = Filter {
            since: filter.since.max(Some(time.since)),
            until: Some(
                filter
                    .until
                    .map_or(time.until, |until| until.min(time.until)),
            ),
            talks: Talks::Everywhere,
            ..filter.clone()
        };
        let mut names = rows::names_of(&engine.live, snapshot, &written_then)?;
        let is_then = |date: &str| {
            let day = date.get(..10).and_then(|day| day.parse::<NaiveDate>().ok());
            day.is_some_and(|day| time.days.contains(&day))
        };
        let holders = snapshot.holders(EVENT_DATE)?.into_iter();
        let happened_then = holders.filter(|(date, _)| is_then(date));
        let mut stems: Vec<Stem> = happened_then.map(|(_, name)| stem_of(&name)).collect();
        if let Some(only) = &filter.stems {
            stems.retain(|stem| only.contains(stem));
        }
        let happened_then = Filter {
            stems: Some(stems),
            ..filter.clone()
        };
        names.extend(rows::names_of(&engine.live, snapshot, &happened_then)?);
        names.sort_unstable();
        names.dedup();
        Ok(names.iter().map(|name| stem_of(name)).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        let now: DateTime<Utc> = "2026-06-15T12:00:00Z".parse().unwrap();
        let hours =
            |text: &str, toward| read_moment(text, now, toward).map(|at| (at - now).num_hours());
        let (past, future) = (Toward::Past, Toward::Future);
        for (text, toward, expected) in [
            ("12h", past, -12),
            ("12h", future, 12),
            ("2 weeks", past, -336),
            ("3d", past, -72),
            ("30d", future, 720),
            ("3 days ago", future, -72),
            ("in 3 days", past, 72),
            ("in an hour", past, 1),
            ("a week ago", past, -168),
            ("now", past, 0),
            ("2026-06-15T00:00:00Z", future, -12),
        ] {
            assert_eq!(hours(text, toward), Some(expected), "{text}");
        }
        let local = |text: &str| Some(Timestamp::parse(text).unwrap().utc());
        for (text, day) in [
            ("yesterday", "2026-06-14"),
            ("today", "2026-06-15"),
            ("tomorrow", "2026-06-16"),
            ("this morning", "2026-06-15"),
            ("last month", "2026-05-01"),
            ("8 May 2026", "2026-05-08"),
            ("May 2026", "2026-05-01"),
        ] {
            assert_eq!(read_moment(text, now, past), local(day), "{text}");
        }
        for text in [
            "",
            "soon",
            "99999999999y",
            "1000000y",
            "60y",
            "999999999999d",
            "1969-12-31T00:00:00Z",
            "a",
            "in",
            "last month of all",
        ] {
            assert_eq!(read_moment(text, now, past), None, "{text}");
        }
    }
}
