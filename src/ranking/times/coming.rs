//! Expressions of future times: `next week`, `friday evening`, `the day after tomorrow`, `end of month`.
//!
//! English words, in the caller's time zone. A week begins on Monday; a weekday is the first after today.

use std::sync::LazyLock;

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, TimeZone, Utc, Weekday};
use regex::{Captures, Regex};

use super::expressions::asked_time;
use crate::model::in_zone;

/// Pattern of a day, perhaps with a part of the day or a time of the clock.
static DAY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) ^ (?: on \s+ )? (?:
            (?P<tonight> tonight )
          | (?P<after_tomorrow> (?: the \s+ )? day \s+ after \s+ tomorrow )
          | (?P<tomorrow> tomorrow )
          | (?P<today> today | this )
          | (?: (?P<which> this | next | coming ) \s+ )?
            (?: (?P<weekday> mon | tues | wednes | thurs | fri | satur | sun ) day | (?P<weekend> weekend ) )
        )
        (?: ,? \s+ (?: (?: in \s+ the \s+ )? (?P<part> morning | noon | afternoon | evening | night )
          | (?: at \s+ )? (?P<hour> [0-9]{1,2} ) (?: : (?P<minute> [0-5][0-9] ) )? \s* (?P<half> am | pm )?
        ) )? $",
    )
    .expect("it is valid")
});

/// Pattern of the beginning or end of a day, week, month or year.
static UNIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) ^ (?P<end> (?: the \s+ )? end \s+ of \s+ (?: the \s+ | this \s+ )? )?
        (?P<next> next \s+ )? (?P<unit> today | day | week | month | year ) $",
    )
    .expect("it is valid")
});

/// Parses `text` as a future time, and returns its first moment. A date without a year is the next one.
/// `None` for a text that is no time, or a time that has begun.
pub fn coming_time<Tz: TimeZone>(text: &str, now: &DateTime<Tz>) -> Option<DateTime<Utc>> {
    let text = text.trim();
    let found = match (DAY.captures(text), UNIT.captures(text)) {
        (Some(found), _) => of_day(&found, now),
        (None, Some(found)) => begin(&now.timezone(), of_unit(&found, now.date_naive())?, 0, 0),
        (None, None) => of_date(text, now),
    };
    found.filter(|at| *at > *now)
}

fn of_day<Tz: TimeZone>(found: &Captures<'_>, now: &DateTime<Tz>) -> Option<DateTime<Utc>> {
    let today = now.date_naive();
    let word = |name: &str| found.name(name).map(|found| found.as_str().to_lowercase());
    let number = |name: &str| word(name).and_then(|digits| digits.parse::<u32>().ok());
    let part = match word("tonight") {
        Some(_) => Some("night".to_owned()),
        None => word("part"),
    };
    let (hour, minute) = match (part.as_deref(), number("hour"), word("half")) {
        (Some("morning"), ..) => (6, 0),
        (Some("noon" | "afternoon"), ..) => (12, 0),
        (Some("evening"), ..) => (18, 0),
        (Some(_), ..) => (21, 0),
        // "tomorrow 5" is ambiguous.
        (None, Some(_), None) if word("minute").is_none() => return None,
        (None, Some(hour), None) => (hour, number("minute").unwrap_or(0)),
        (None, Some(hour @ 1..=12), Some(half)) => {
            let noon = if half == "pm" { 12 } else { 0 };
            (hour % 12 + noon, number("minute").unwrap_or(0))
        }
        (None, Some(_), Some(_)) => return None,
        (None, None, _) => (0, 0),
    };
    let weekday = match word("weekday") {
        Some(begin) => Some(format!("{begin}day").parse::<Weekday>().ok()?),
        None => word("weekend").map(|_| Weekday::Sat),
    };
    let ahead = match weekday {
        Some(weekday) => {
            let from_monday = |day: Weekday| day.num_days_from_monday();
            match (7 + from_monday(weekday) - from_monday(today.weekday())) % 7 {
                0 => 7,
                ahead => ahead,
            }
        }
        None if word("after_tomorrow").is_some() => 2,
        None if word("tomorrow").is_some() => 1,
        None => 0,
    };
    let on = |ahead: u32| {
        let day = today.checked_add_days(Days::new(ahead.into()))?;
        begin(&now.timezone(), day, hour, minute)
    };
    match on(ahead)? {
        begun if begun <= *now && word("tonight").is_some() => on(ahead + 1),
        at => Some(at),
    }
}

/// Returns the first day of a `next` unit, or the day after the last one of a unit.
fn of_unit(found: &Captures<'_>, today: NaiveDate) -> Option<NaiveDate> {
    let is_end = found.name("end").is_some();
    let is_next = found.name("next").is_some();
    let count = u32::from(is_end) + u32::from(is_next);
    let unit = found["unit"].to_lowercase();
    if count == 0 || (is_next && unit == "today") {
        return None;
    }
    match unit.as_str() {
        "week" => {
            let since_monday = today.weekday().num_days_from_monday();
            today.checked_add_days(Days::new(u64::from(7 * count - since_monday)))
        }
        "month" => today.with_day(1)?.checked_add_months(Months::new(count)),
        "year" => NaiveDate::from_ymd_opt(today.year() + count as i32, 1, 1),
        _ => today.checked_add_days(Days::new(count.into())),
    }
}

/// Returns the first moment of the next `8 May`, `in March` or `next March`.
fn of_date<Tz: TimeZone>(text: &str, now: &DateTime<Tz>) -> Option<DateTime<Utc>> {
    let date = match text.get(..5) {
        Some(next) if next.eq_ignore_ascii_case("next ") => &text[5..],
        _ => text,
    };
    let this_year = now.date_naive().year();
    // Eight years may pass without a 29 February.
    (this_year..=this_year + 8).find_map(|year| {
        let asked = asked_time(&format!("{date} {year}"), now)?;
        let is_date = asked.rest.trim().is_empty() && asked.since > *now;
        is_date.then_some(asked.since)
    })
}

fn begin<Tz: TimeZone>(zone: &Tz, day: NaiveDate, hour: u32, minute: u32) -> Option<DateTime<Utc>> {
    Some(in_zone(zone, day.and_hms_opt(hour, minute, 0)?)?.to_utc())
}

#[cfg(test)]
mod tests {
    use chrono::FixedOffset;

    use super::*;

    #[test]
    fn times_ahead_are_read() {
        // A Wednesday.
        let now = DateTime::<FixedOffset>::parse_from_rfc3339("2026-03-04T15:30:00+02:00").unwrap();
        for (text, expected) in [
            ("tomorrow", "2026-03-05T00:00"),
            ("Tomorrow evening", "2026-03-05T18:00"),
            ("tomorrow at 9:15", "2026-03-05T09:15"),
            ("tomorrow 5pm", "2026-03-05T17:00"),
            ("tomorrow at 12 am", "2026-03-05T00:00"),
            ("the day after tomorrow", "2026-03-06T00:00"),
            ("this evening", "2026-03-04T18:00"),
            ("today 18:00", "2026-03-04T18:00"),
            ("tonight", "2026-03-04T21:00"),
            ("friday", "2026-03-06T00:00"),
            ("next Friday", "2026-03-06T00:00"),
            ("on Friday in the morning", "2026-03-06T06:00"),
            ("next wednesday", "2026-03-11T00:00"),
            ("this weekend", "2026-03-07T00:00"),
            ("next week", "2026-03-09T00:00"),
            ("next month", "2026-04-01T00:00"),
            ("next year", "2027-01-01T00:00"),
            ("end of day", "2026-03-05T00:00"),
            ("end of the week", "2026-03-09T00:00"),
            ("the end of this month", "2026-04-01T00:00"),
            ("end of next month", "2026-05-01T00:00"),
            ("end of year", "2027-01-01T00:00"),
            ("8 May", "2026-05-08T00:00"),
            ("March 3rd", "2027-03-03T00:00"),
            ("29 February", "2028-02-29T00:00"),
            ("in May", "2026-05-01T00:00"),
            ("next March", "2027-03-01T00:00"),
        ] {
            let found = coming_time(text, &now).unwrap_or_else(|| panic!("{text}"));
            let local = found.with_timezone(&now.timezone());
            assert_eq!(
                local.format("%Y-%m-%dT%H:%M").to_string(),
                expected,
                "{text}"
            );
        }
        let late =
            DateTime::<FixedOffset>::parse_from_rfc3339("2026-03-04T22:03:00+02:00").unwrap();
        let found = coming_time("tonight", &late).map(|at| at.to_rfc3339());
        assert_eq!(
            found.as_deref(),
            Some("2026-03-05T19:00:00+00:00"),
            "the next one"
        );
        for text in [
            "",
            "next",
            "week",
            "this",
            "this week",
            "this morning",
            "today",
            "today 9:00",
            "yesterday",
            "last week",
            "tomorrow 5",
            "tomorrow 25:00",
            "tomorrow 13pm",
            "next today",
            "8 May 2026 or so",
            "next friday of all",
            "30 February",
            "end of",
        ] {
            assert_eq!(coming_time(text, &now), None, "{text}");
        }
    }
}
