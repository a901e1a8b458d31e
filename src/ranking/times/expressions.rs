//! Expressions of past times in a query: `yesterday`, `last week`, `3 days ago`, `this morning`,
//! `recently`, `8 May 2026`, `in March`.
//!
//! English words, whole days in the caller's time zone. A week begins on Monday. A day or a month
//! without its year is the last one that has begun.

use std::ops::Range;
use std::sync::LazyLock;

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, TimeDelta, TimeZone, Utc, Weekday};
use regex::{Captures, Regex};

use crate::model::start_of_day;

/// Time span in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedTime {
    /// First moment of it.
    pub since: DateTime<Utc>,
    /// First moment after it.
    pub until: DateTime<Utc>,
    /// Days of the calendar that it touches.
    pub days: Range<NaiveDate>,
    /// Text of the query without the words of the time.
    pub rest: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Day,
    Week,
    Month,
    Year,
}

static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let months = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|\
                  sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";
    let year = "(?:19|20)[0-9]{2}";
    let number = "[0-9]{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve";
    Regex::new(&format!(
        r"(?ix)
        \b (?P<since> since \s+ )?
        (?P<within> (?: in | during | over | within | from | on ) \s+ )?
        (?: the \s+ )?
        (?:
            (?P<before_yesterday> day \s+ before \s+ yesterday )
          | (?P<yesterday> yesterday )
          | (?P<today> today | this \s+ (?: morning | afternoon | evening ) | tonight )
          | (?P<night> last \s+ night )
          | (?P<lately> recently | lately )
          | (?P<iso_year> {year} ) - (?P<iso_month> [0-9]{{2}} ) (?: - (?P<iso_day> [0-9]{{2}} ) )?
          | (?P<day> [0-9]{{1,2}} ) (?: st | nd | rd | th )? \s+ (?: of \s+ )? (?P<of_month> {months} )
            (?: ,? \s+ (?P<of_year> {year} ) )?
          | (?P<month> {months} ) \s+ (?P<month_day> [0-9]{{1,2}} ) (?: st | nd | rd | th )?
            (?: ,? \s+ (?P<day_year> {year} ) )?
          | (?P<named> {months} ) (?: ,? \s+ (?P<named_year> {year} ) )?
          | (?P<year> {year} )
          | (?P<which> this | last | past | previous ) \s+
            (?: (?P<one> week | month | year )
              | (?P<weekday> mon | tues | wednes | thurs | fri | satur | sun ) day )
          | (?: last | past | previous ) \s+ (?P<rolling> {number} ) \s+
            (?P<rolled> hour | day | week | month | year ) s?
          | (?P<ago> {number} ) \s+ (?P<unit> day | week | month | year ) s? \s+ ago
        )
        \b (?: ['’] s \b )?"
    ))
    .expect("it is valid")
});

const NUMBERS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
/// Number of days that "recently" covers.
const LATELY: u32 = 7;

/// Returns the time span in `text`, as of `now`; `None` if there is none. Several are joined: from the
/// beginning of the first to the end of the last.
pub fn asked_time<Tz: TimeZone>(text: &str, now: &DateTime<Tz>) -> Option<AskedTime> {
    let mut spans: Vec<(Range<NaiveDate>, Option<DateTime<Utc>>)> = Vec::new();
    let mut rest = String::new();
    let mut copied = 0;
    for found in WORDS.captures_iter(text) {
        let whole = found.get(0).expect("the whole is always there");
        // `the last week of March` is another time.
        let after = text[whole.end()..].trim_start().as_bytes();
        let is_part = after
            .get(..3)
            .is_some_and(|of| of.eq_ignore_ascii_case(b"of "));
        // A date in a file's name, a version or a clock time is none of these times.
        let is_joined = |character: Option<char>| {
            character.is_some_and(|one| matches!(one, '-' | '_' | '/' | ':' | '.' | '@'))
        };
        let behind = &text[whole.end()..];
        let goes_on = is_joined(behind.chars().next())
            && behind.chars().nth(1).is_some_and(char::is_alphanumeric);
        let is_within = is_joined(text[..whole.start()].chars().next_back()) || goes_on;
        // "before May 2026" excludes the time.
        let before = text[..whole.start()].trim_end().rsplit(' ').next();
        let is_edge = before.is_some_and(|word| {
            ["before", "until", "after", "by"].contains(&word.to_lowercase().as_str())
        });
        let is_time = !is_part && !is_within && !is_edge;
        let Some(span) = is_time.then(|| span(&found, now)).flatten() else {
            continue;
        };
        spans.push(span);
        rest.push_str(&text[copied..whole.start()]);
        copied = whole.end();
    }
    rest.push_str(&text[copied..]);
    let first = spans.iter().map(|(days, _)| days.start).min()?;
    let end = spans.iter().map(|(days, _)| days.end).max()?;
    let exact = spans.iter().map(|(_, exact)| *exact);
    // Only spans of hours begin within a day.
    let exact: Option<Vec<DateTime<Utc>>> = exact.collect();
    let midnight = |day| midnight(&now.timezone(), day);
    Some(AskedTime {
        since: match exact.and_then(|moments| moments.into_iter().min()) {
            Some(moment) => moment,
            None => midnight(first),
        },
        until: midnight(end),
        days: first..end,
        rest,
    })
}

/// Returns the days, and the first moment if it is not midnight.
fn span<Tz: TimeZone>(
    found: &Captures<'_>,
    now: &DateTime<Tz>,
) -> Option<(Range<NaiveDate>, Option<DateTime<Utc>>)> {
    let word = |name: &str| found.name(name).map(|found| found.as_str().to_lowercase());
    let today = now.date_naive();
    let tomorrow = today.checked_add_days(Days::new(1))?;
    let (days, exact) = if word("before_yesterday").is_some() {
        (whole(Unit::Day, today, 2)?, None)
    } else if word("yesterday").is_some() {
        (whole(Unit::Day, today, 1)?, None)
    } else if word("today").is_some() {
        (whole(Unit::Day, today, 0)?, None)
    } else if word("night").is_some() {
        (earlier(Unit::Day, today, 1)?..tomorrow, None)
    } else if word("lately").is_some() {
        (earlier(Unit::Day, tomorrow, LATELY)?..tomorrow, None)
    } else if let Some(days) = dated(&word, today) {
        (days?, None)
    } else if let Some(count) = word("rolling") {
        let (count, unit) = (number(&count)?, word("rolled")?);
        if count == 0 {
            return None;
        }
        match unit.as_str() {
            "hour" => {
                let from = now
                    .clone()
                    .checked_sub_signed(TimeDelta::hours(count.into()))?;
                (from.date_naive()..tomorrow, Some(from.to_utc()))
            }
            unit => (
                earlier(unit.parse().ok()?, tomorrow, count)?..tomorrow,
                None,
            ),
        }
    } else if let Some(count) = word("ago") {
        (
            whole(word("unit")?.parse().ok()?, today, number(&count)?)?,
            None,
        )
    } else if let Some(weekday) = word("weekday") {
        if word("which")? == "this" {
            return None; // It may lie ahead.
        }
        let weekday: Weekday = format!("{weekday}day").parse().ok()?;
        let since =
            (7 + today.weekday().num_days_from_monday() - weekday.num_days_from_monday()) % 7;
        let back = if since == 0 { 7 } else { since };
        (whole(Unit::Day, today, back)?, None)
    } else {
        let unit: Unit = word("one")?.parse().ok()?;
        let days = match word("which")?.as_str() {
            "this" => whole(unit, today, 0)?,
            // Today is the last of its days.
            "past" => earlier(unit, tomorrow, 1)?..tomorrow,
            _ => whole(unit, today, 1)?,
        };
        (days, None)
    };
    Some(match word("since") {
        Some(_) => (days.start..tomorrow, exact),
        None => (days, exact),
    })
}

/// Returns the days of a date, if there is one; `Some(None)` for an invalid date.
fn dated(
    word: &impl Fn(&str) -> Option<String>,
    today: NaiveDate,
) -> Option<Option<Range<NaiveDate>>> {
    let number = |name: &str| word(name).and_then(|digits| digits.parse::<u32>().ok());
    let year = |name: &str| word(name).and_then(|digits| digits.parse::<i32>().ok());
    let month = |name: &str| {
        let begins = word(name)?.get(..3)?.to_owned();
        let at = MONTHS.iter().position(|month| *month == begins)?;
        Some(at as u32 + 1)
    };
    // Without its year it is the last that has begun.
    let of_year = |given: Option<i32>, month: u32, day: u32| {
        let date = |year: i32| NaiveDate::from_ymd_opt(year, month, day);
        match given {
            Some(year) => date(year),
            None => (0..=4)
                .filter_map(|back| date(today.year() - back))
                .find(|date| *date <= today),
        }
    };
    let days = |from: Option<NaiveDate>, unit: Unit| whole(unit, from?, 0);
    if let Some(given) = year("iso_year") {
        let month = number("iso_month")?;
        return Some(match number("iso_day") {
            Some(day) => days(of_year(Some(given), month, day), Unit::Day),
            None => days(of_year(Some(given), month, 1), Unit::Month),
        });
    }
    if let Some(month) = month("of_month") {
        let date = of_year(year("of_year"), month, number("day")?);
        return Some(days(date, Unit::Day));
    }
    if let Some(month) = month("month") {
        let date = of_year(year("day_year"), month, number("month_day")?);
        return Some(days(date, Unit::Day));
    }
    let is_within = word("within").is_some() || word("since").is_some();
    if let Some(month) = month("named") {
        let given = year("named_year");
        // "may", "march" and a lone "2026" are other words as well.
        let is_meant = given.is_some() || is_within;
        return Some(days(
            of_year(given, month, 1).filter(|_| is_meant),
            Unit::Month,
        ));
    }
    let given = year("year")?;
    Some(days(
        of_year(Some(given), 1, 1).filter(|_| is_within),
        Unit::Year,
    ))
}

/// Returns the whole unit `count` units before the one of `today`.
fn whole(unit: Unit, today: NaiveDate, count: u32) -> Option<Range<NaiveDate>> {
    let begin = |date: NaiveDate| match unit {
        Unit::Day => Some(date),
        Unit::Week => {
            let since = date.weekday().num_days_from_monday();
            date.checked_sub_days(Days::new(since.into()))
        }
        Unit::Month => date.with_day(1),
        Unit::Year => date.with_day(1)?.with_month(1),
    };
    let start = earlier(unit, begin(today)?, count)?;
    let end = match unit {
        Unit::Day => start.checked_add_days(Days::new(1)),
        Unit::Week => start.checked_add_days(Days::new(7)),
        Unit::Month => start.checked_add_months(Months::new(1)),
        Unit::Year => start.checked_add_months(Months::new(12)),
    };
    Some(start..end?)
}

/// Returns the day `count` units before `date`.
fn earlier(unit: Unit, date: NaiveDate, count: u32) -> Option<NaiveDate> {
    match unit {
        Unit::Day => date.checked_sub_days(Days::new(count.into())),
        Unit::Week => date.checked_sub_days(Days::new(u64::from(count) * 7)),
        Unit::Month => date.checked_sub_months(Months::new(count)),
        Unit::Year => date.checked_sub_months(Months::new(count.checked_mul(12)?)),
    }
}

/// Parses a number: digits, `a`, or `one` to `twelve`.
pub fn number(word: &str) -> Option<u32> {
    match word {
        "a" | "an" => Some(1),
        digits if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok(),
        word => {
            let at = NUMBERS.iter().position(|known| *known == word)?;
            Some(at as u32 + 1)
        }
    }
}

/// Returns the first moment of a day.
fn midnight<Tz: TimeZone>(zone: &Tz, day: NaiveDate) -> DateTime<Utc> {
    match start_of_day(zone, day) {
        Some(moment) => moment.to_utc(),
        // A year outside the supported range.
        None => day.and_time(chrono::NaiveTime::MIN).and_utc(),
    }
}

impl std::str::FromStr for Unit {
    type Err = ();

    fn from_str(word: &str) -> Result<Unit, ()> {
        match word {
            "day" => Ok(Unit::Day),
            "week" => Ok(Unit::Week),
            "month" => Ok(Unit::Month),
            "year" => Ok(Unit::Year),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::FixedOffset;

    use super::*;

    /// A Wednesday.
    const NOW: &str = "2026-03-04T15:30:00+02:00";

    fn asked(text: &str) -> Option<AskedTime> {
        asked_time(
            text,
            &DateTime::<FixedOffset>::parse_from_rfc3339(NOW).unwrap(),
        )
    }

    #[track_caller]
    fn check(text: &str, days: &str, rest: &str) {
        let asked = asked(text).unwrap_or_else(|| panic!("{text}"));
        let shown = format!("{}..{}", asked.days.start, asked.days.end);
        assert_eq!((shown.as_str(), asked.rest.trim()), (days, rest), "{text}");
    }

    #[test]
    fn words_for_times_are_read_as_days_of_the_calendar() {
        check(
            "what did we discuss last week?",
            "2026-02-23..2026-03-02",
            "what did we discuss ?",
        );
        check("today's plan", "2026-03-04..2026-03-05", "plan");
        check("Yesterday", "2026-03-03..2026-03-04", "");
        check("the day before yesterday", "2026-03-02..2026-03-03", "");
        check("this week", "2026-03-02..2026-03-09", "");
        check("this month", "2026-03-01..2026-04-01", "");
        check("deploys last month", "2026-02-01..2026-03-01", "deploys");
        check("last year", "2025-01-01..2026-01-01", "");
        check("the previous year", "2025-01-01..2026-01-01", "");
        check("over the past week", "2026-02-26..2026-03-05", "");
        check("in the last 3 days", "2026-03-02..2026-03-05", "");
        check("last 1 day", "2026-03-04..2026-03-05", "");
        check("past two months", "2026-01-05..2026-03-05", "");
        check("3 days ago", "2026-03-01..2026-03-02", "");
        check("a week ago", "2026-02-23..2026-03-02", "");
        check("two months ago", "2026-01-01..2026-02-01", "");
        check("last monday", "2026-03-02..2026-03-03", "");
        check("last Wednesday", "2026-02-25..2026-02-26", "");
        check("since yesterday: news", "2026-03-03..2026-03-05", ": news");
        check("yesterday or today", "2026-03-03..2026-03-05", "or");
        check(
            "what broke this morning?",
            "2026-03-04..2026-03-05",
            "what broke ?",
        );
        check("last night", "2026-03-03..2026-03-05", "");
        check("recently added", "2026-02-26..2026-03-05", "added");
    }

    #[test]
    fn dates_that_are_named_are_days_months_and_years() {
        check(
            "what happened on 8 May 2025?",
            "2025-05-08..2025-05-09",
            "what happened ?",
        );
        check("May 8th, 2025", "2025-05-08..2025-05-09", "");
        check("the 3rd of March", "2026-03-03..2026-03-04", "");
        check("8 May", "2025-05-08..2025-05-09", "");
        check("2025-12-24", "2025-12-24..2025-12-25", "");
        check("in 2025-12", "2025-12-01..2026-01-01", "");
        check("in May 2025", "2025-05-01..2025-06-01", "");
        check("deploys in February", "2026-02-01..2026-03-01", "deploys");
        check("in 2024", "2024-01-01..2025-01-01", "");
        check("since 2 March", "2026-03-02..2026-03-05", "");
    }

    #[test]
    fn a_day_begins_at_the_askers_midnight() {
        let asked = asked("yesterday").unwrap();
        assert_eq!(asked.since.to_rfc3339(), "2026-03-02T22:00:00+00:00");
        assert_eq!(asked.until.to_rfc3339(), "2026-03-03T22:00:00+00:00");
    }

    #[test]
    fn hours_begin_within_a_day() {
        let asked = asked("last 24 hours").unwrap();
        assert_eq!(asked.since.to_rfc3339(), "2026-03-03T13:30:00+00:00");
        assert_eq!(asked.until.to_rfc3339(), "2026-03-04T22:00:00+00:00");
        assert_eq!(asked.days.start.to_string(), "2026-03-03");
    }

    #[test]
    fn what_asks_for_no_time_is_left_alone() {
        for text in [
            "",
            "the last deploy",
            "this monday",
            "the last week of March",
            "yesterdays",
            "the last 0 days",
            "past 0 hours",
            "weekly report",
            "last",
            "999 years from now",
            "may I march on",
            "the 2026 budget",
            "report-2026-05-08.md",
            "2026-05-08T10:00:00Z",
            "before May 2026",
            "2026-13-40",
            "version 2026.05",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_before_all_calendars_is_none() {
        assert!(asked("999 years ago").is_some());
        let early = DateTime::<Utc>::MIN_UTC;
        assert_eq!(asked_time("999 years ago", &early), None);
    }
}
