//! A moment together with the way it is written.

use chrono::DateTime;
use chrono::Datelike;
use chrono::FixedOffset;
use chrono::Local;
use chrono::NaiveDate;
use chrono::NaiveDateTime;
use chrono::SecondsFormat;
use chrono::TimeZone;
use chrono::Utc;

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
    /// The moment `at`, written in ISO 8601 with microseconds and offset.
    pub fn from_utc(at: DateTime<Utc>) -> Timestamp {
        let at = at.fixed_offset();
        Timestamp {
            text: at.to_rfc3339_opts(SecondsFormat::Micros, false),
            at,
        }
    }

    /// Reads ISO 8601: a date and a time with or without offset, or a date alone (its midnight).
    pub fn parse(text: &str) -> Option<Timestamp> {
        let text = text.trim();
        let at = parse_moment(text)?;
        // Beyond these years chrono's text and our fast fields no longer agree with each other.
        (0..=9999).contains(&at.to_utc().year()).then(|| Timestamp {
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
            return Some(local(naive));
        }
    }
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(local(date.and_hms_opt(0, 0, 0)?))
}

/// Local time; an hour that a clock change skips or repeats is read as the earlier reading.
fn local(naive: NaiveDateTime) -> DateTime<FixedOffset> {
    match Local.from_local_datetime(&naive).earliest() {
        Some(at) => at.fixed_offset(),
        None => naive.and_utc().fixed_offset(),
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
}
