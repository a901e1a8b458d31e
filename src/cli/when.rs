//! Reads moments as people type them.

use chrono::DateTime;
use chrono::Duration;
use chrono::Local;
use chrono::Utc;

use super::fail::Failure;
use crate::model::POSSIBLE_TIMES;
use crate::model::Timestamp;
use crate::model::is_possible_time;
use crate::model::start_of_day;

/// Which way a bare amount of time points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Past,
    Future,
}

/// Reads `2026-01-31`, `2026-01-31T09:00:00Z`, `today`, `yesterday`, `tomorrow`, or an amount of
/// time such as `90min`, `12h`, `3d`, `2w`, `6mo`, `1y`.
pub(super) fn moment(
    option: &str,
    text: &str,
    now: DateTime<Utc>,
    direction: Direction,
) -> Result<DateTime<Utc>, Failure> {
    let word = text.trim().to_lowercase();
    let today = now.with_timezone(&Local).date_naive();
    let day = |days: i64| {
        let day = today.checked_add_signed(Duration::days(days))?;
        Some(start_of_day(&Local, day)?.to_utc())
    };
    let found = match word.as_str() {
        "now" => Some(now),
        "today" => day(0),
        "yesterday" => day(-1),
        "tomorrow" => day(1),
        _ => amount(&word).and_then(|amount| match direction {
            Direction::Past => now.checked_sub_signed(amount),
            Direction::Future => now.checked_add_signed(amount),
        }),
    };
    let found = found.or_else(|| Timestamp::parse(text).map(|at| at.utc())).ok_or_else(|| {
        Failure::new(format!("cannot read the time `{text}` of {option}"))
            .hint(format!("Write a date (2026-01-31), a time (2026-01-31T09:00:00Z), `yesterday`, or an amount such as 12h, 3d, 2w; {POSSIBLE_TIMES}."))
    })?;
    if !is_possible_time(found) {
        let what = format!("the time `{text}` of {option} is none {POSSIBLE_TIMES}");
        return Err(Failure::new(what));
    }
    Ok(found)
}

fn amount(text: &str) -> Option<Duration> {
    let text = text.strip_suffix(" ago").unwrap_or(text);
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let count: i64 = text[..digits]
        .parse()
        .ok()
        .filter(|count| *count <= 1_000_000)?;
    let unit = text[digits..].trim();
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
    Duration::try_seconds(count * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_typed() {
        let now = DateTime::parse_from_rfc3339("2026-06-15T12:00:00Z")
            .unwrap()
            .to_utc();
        let read = |text: &str| {
            moment("--since", text, now, Direction::Past).map(|at| (now - at).num_hours())
        };
        assert_eq!(read("12h").unwrap(), 12);
        assert_eq!(read("2 weeks").unwrap(), 336);
        assert_eq!(read("3d").unwrap(), 72);
        assert_eq!(read("2026-06-15T00:00:00Z").unwrap(), 12);
        assert!(
            (12..=36).contains(&read("yesterday").unwrap()) || read("yesterday").unwrap() <= 48
        );
        assert!(
            read("soon").is_err()
                && read("").is_err()
                && read("99999999999y").is_err()
                && read("1000000y").is_err()
                && read("60y").is_err()
                && read("999999999999d").is_err()
                && read("1969-12-31T00:00:00Z").is_err()
        );
    }
}
