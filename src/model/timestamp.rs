//! A moment together with the way it is written.
//!
//! Moments lie in the years 1970 to 9999, in UTC: only these have a file name of the usual form, and the
//! same meaning for every program and system. Whoever is given another one says so.

use chrono::{
    DateTime, Datelike, FixedOffset, Local, MappedLocalTime, NaiveDate, NaiveDateTime,
    SecondsFormat, TimeDelta, TimeZone, Timelike, Utc,
};

/// The years of which moments are read and written, in UTC.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9999;

/// The moments that can be given, in words.
pub const POSSIBLE_TIMES: &str = "of the years 1970 to 9999";

/// Returns whether a moment can be read and written.
pub fn is_possible_time(at: DateTime<Utc>) -> bool {
    YEARS.contains(&at.year())
}

/// A moment as a file states it.
///
/// The text is kept, so that what is shown is what was written; `at` is what it means. A text
/// without an offset is local time, because that is how the programs that leave it out mean it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timestamp {
    text: String,
    at: DateTime<FixedOffset>,
}

impl Timestamp {
    /// Returns the moment `at`, written in ISO 8601 with microseconds and offset. One that cannot be written is
    /// the nearest that can: to tell the user is the business of who takes a moment from outside.
    pub fn from_utc(at: DateTime<Utc>) -> Timestamp {
        let last =
            NaiveDate::from_ymd_opt(9999, 12, 31).and_then(|day| day.and_hms_opt(23, 59, 59));
        let last = last.expect("it is a day").and_utc();
        let at = match is_possible_time(at) {
            true => without_leap_second(at),
            false => at.clamp(DateTime::UNIX_EPOCH, last),
        };
        let at = at.fixed_offset();
        Timestamp {
            text: at.to_rfc3339_opts(SecondsFormat::Micros, false),
            at,
        }
    }

    /// Reads ISO 8601: a date and a time with or without offset, or a date alone (its midnight). `None`
    /// for what is neither, and for a moment that is not [possible](is_possible_time).
    ///
    /// A leap second, `23:59:60`, is the last moment of the second before it: clocks do not have it.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let text = text.trim();
        let at = without_leap_second(parse_moment(text)?);
        is_possible_time(at.to_utc()).then(|| Timestamp {
            text: text.to_owned(),
            at,
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn utc(&self) -> DateTime<Utc> {
        self.at.to_utc()
    }

    /// The calendar date in the offset it was written with.
    pub fn date(&self) -> NaiveDate {
        self.at.date_naive()
    }
}

fn parse_moment(text: &str) -> Option<DateTime<FixedOffset>> {
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Some(at);
    }
    for format in [
        "%Y-%m-%dT%H:%M:%S%.f%#z",
        "%Y-%m-%d %H:%M:%S%.f%#z",
        "%Y-%m-%d %H:%M:%S%.f %#z",
    ] {
        if let Ok(at) = DateTime::parse_from_str(text, format) {
            return Some(at);
        }
    }
    for format in [
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y-%m-%dT%H:%M",
        "%Y-%m-%d %H:%M",
    ] {
        if let Ok(naive) = NaiveDateTime::parse_from_str(text, format) {
            return local(naive);
        }
    }
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    local(date.and_hms_opt(0, 0, 0)?)
}

fn local(naive: NaiveDateTime) -> Option<DateTime<FixedOffset>> {
    Some(in_zone(&Local, naive)?.fixed_offset())
}

/// Returns the moment that the clocks of a zone show as `naive`: the earlier one where they show it
/// twice. Where they skip it, as if they had not been set forward yet, so that 02:30 is half an
/// hour after the change.
///
/// `None` outside of the years of moments, and the days around them.
pub fn in_zone<Tz: TimeZone>(zone: &Tz, naive: NaiveDateTime) -> Option<DateTime<Tz>> {
    // Far years are beyond what the library computes with.
    if !(YEARS.start() - 1..=YEARS.end() + 1).contains(&naive.year()) {
        return None;
    }
    let first = |naive: NaiveDateTime| match zone.from_local_datetime(&naive) {
        MappedLocalTime::Single(at) => Some(at),
        // The library says which of them is the standard time's, not which is the earlier one.
        MappedLocalTime::Ambiguous(one, other) => Some(one.min(other)),
        MappedLocalTime::None => None,
    };
    // Clocks skip whole half hours, and islands that change sides of the date line a day.
    let skipped = || {
        (1..=50).find_map(|half_hours| {
            let step = TimeDelta::minutes(30 * half_hours);
            first(naive - step)?.checked_add_signed(step)
        })
    };
    first(naive).or_else(skipped)
}

/// Returns the first moment of a day in a zone; where its clocks skip midnight, the moment at which they do.
pub fn start_of_day<Tz: TimeZone>(zone: &Tz, day: NaiveDate) -> Option<DateTime<Tz>> {
    in_zone(zone, day.and_time(chrono::NaiveTime::MIN))
}

/// Returns the moment, where a leap second is the last moment of the second before it.
fn without_leap_second<Tz: TimeZone>(at: DateTime<Tz>) -> DateTime<Tz> {
    const LAST: u32 = 999_999_999;
    match at.nanosecond() > LAST {
        true => at.with_nanosecond(LAST).unwrap_or(at),
        false => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_way_to_write_a_moment_is_read() {
        for text in [
            "2026-01-14T09:15:00+00:00",
            "2026-01-14T09:15:00Z",
            "2026-01-14 09:15:00Z",
            "2026-01-14T10:15:00.000000+01:00",
            "2026-01-14T10:15:00+0100",
            "2026-01-14 10:15:00 +01:00",
        ] {
            let at = Timestamp::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(at.utc().to_rfc3339(), "2026-01-14T09:15:00+00:00", "{text}");
            assert_eq!(at.as_str(), text);
        }
        assert!(Timestamp::parse("2026-01-14T09:15:00.123456").is_some());
        assert!(Timestamp::parse("2026-01-14").is_some());
    }

    #[test]
    fn nonsense_is_no_moment() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-01-14T25:00:00Z",
            "99999-01-01",
            "-1",
        ] {
            assert!(Timestamp::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn moments_lie_in_the_years_1970_to_9999() {
        for text in [
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:30:00+01:00",
            "0001-01-01",
            "9999-12-31T23:30:00-01:00",
            "+10000-01-01T00:00:00Z",
            "+262142-12-31",
            "-262143-01-01T00:00:00",
            "262142-12-31T23:59:59-23:59",
            "2026-01-14T09:15:00+24:00",
            "2026-01-14T09:15:00-24:00",
        ] {
            assert!(Timestamp::parse(text).is_none(), "{text}");
        }
        for text in [
            "1970-01-01T00:00:00Z",
            "1969-12-31T23:30:00-01:00",
            "9999-12-31T23:59:59.999999Z",
            "2026-01-14T09:15:00+23:59",
            "2026-01-14T09:15:00-23:59",
        ] {
            assert!(Timestamp::parse(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        for at in [
            DateTime::<Utc>::MIN_UTC,
            DateTime::<Utc>::MAX_UTC,
            DateTime::UNIX_EPOCH - TimeDelta::seconds(1),
        ] {
            let written = Timestamp::from_utc(at);
            assert_eq!(Timestamp::parse(written.as_str()), Some(written));
        }
    }

    #[test]
    fn a_leap_second_is_the_end_of_the_second_before() {
        for text in ["2016-12-31T23:59:60Z", "2017-01-01T00:59:60.5+01:00"] {
            let at = Timestamp::parse(text).unwrap();
            assert_eq!(at.as_str(), text);
            assert_eq!(at.utc().to_rfc3339(), "2016-12-31T23:59:59.999999999+00:00");
        }
        // Of the very last one, too.
        assert!(Timestamp::parse("9999-12-31T23:59:60Z").is_some());
    }

    /// Clocks that are set forward by an hour at 02:00 of 29 March 2026, and back at 03:00 of 25 October.
    #[derive(Clone, Copy, Debug)]
    struct Berlin;

    impl chrono::TimeZone for Berlin {
        type Offset = FixedOffset;

        fn from_offset(_: &FixedOffset) -> Berlin {
            Berlin
        }

        fn offset_from_local_date(&self, _: &NaiveDate) -> MappedLocalTime<FixedOffset> {
            MappedLocalTime::None
        }

        fn offset_from_local_datetime(
            &self,
            local: &NaiveDateTime,
        ) -> MappedLocalTime<FixedOffset> {
            let at = |text: &str| text.parse::<NaiveDateTime>().unwrap();
            let hours = |hours: i32| FixedOffset::east_opt(hours * 3600).unwrap();
            if *local < at("2026-03-29T02:00:00") || *local >= at("2026-10-25T03:00:00") {
                MappedLocalTime::Single(hours(1))
            } else if *local < at("2026-03-29T03:00:00") {
                MappedLocalTime::None
            } else if *local >= at("2026-10-25T02:00:00") {
                MappedLocalTime::Ambiguous(hours(1), hours(2))
            } else {
                MappedLocalTime::Single(hours(2))
            }
        }

        fn offset_from_utc_date(&self, _: &NaiveDate) -> FixedOffset {
            FixedOffset::east_opt(0).unwrap()
        }

        fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> FixedOffset {
            let at = |text: &str| text.parse::<NaiveDateTime>().unwrap();
            let is_summer = (at("2026-03-29T01:00:00")..at("2026-10-25T01:00:00")).contains(utc);
            FixedOffset::east_opt(if is_summer { 7200 } else { 3600 }).unwrap()
        }
    }

    #[test]
    fn what_clocks_skip_comes_after_the_change_and_what_they_repeat_is_the_first() {
        for (local, utc) in [
            ("2026-03-29T01:30:00", "2026-03-29T00:30:00+00:00"),
            ("2026-03-29T02:30:00", "2026-03-29T01:30:00+00:00"),
            ("2026-03-29T03:30:00", "2026-03-29T01:30:00+00:00"),
            ("2026-10-25T02:30:00", "2026-10-25T00:30:00+00:00"),
            ("2026-10-25T03:30:00", "2026-10-25T02:30:00+00:00"),
        ] {
            let at = in_zone(&Berlin, local.parse().unwrap()).unwrap();
            assert_eq!(at.to_utc().to_rfc3339(), utc, "{local}");
        }
    }
}
