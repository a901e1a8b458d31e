//! One line of a journal.
//!
//! A line is a JSON object, its moment first, so that lines sort by time as text. Additions of later
//! versions and unreadable lines are skipped: a journal is never refused.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use super::record::Record;
use crate::model::{Usage, is_possible_time};

/// Content of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Uses of these memories.
    Used(DateTime<Utc>, Vec<String>),
    /// Sums of uses of these memories, with the moment of the last one. Of two lines of one journal for the
    /// same memory and day, the higher count holds.
    Sums(DateTime<Utc>, BTreeMap<String, Usage>),
    /// Moments up to which the uses of other journals, by id, are in the sums of this journal.
    Summed(BTreeMap<String, DateTime<Utc>>),
    /// Record of a change.
    Record(Record),
}

#[derive(Serialize, Deserialize)]
struct Wire {
    t: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    month: Option<BTreeMap<String, WireUsage>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summed: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    did: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Uses of one memory: moment of the last, and number on each day.
#[derive(Serialize, Deserialize)]
struct WireUsage {
    last: String,
    days: BTreeMap<NaiveDate, u32>,
}

/// Returns a moment in the form of a journal: in microseconds, UTC.
fn written(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

fn read(text: &str) -> Option<DateTime<Utc>> {
    let at = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    is_possible_time(at).then_some(at)
}

impl Line {
    /// Returns the line with its newline.
    pub fn render(&self) -> String {
        let blank = |at: DateTime<Utc>| Wire {
            t: written(at),
            used: None,
            month: None,
            summed: None,
            did: None,
            of: None,
            client: None,
            why: None,
        };
        let wire = match self {
            Line::Used(at, stems) => Wire {
                used: Some(stems.clone()),
                ..blank(*at)
            },
            Line::Sums(last, uses) => {
                let usage = |usage: &Usage| WireUsage {
                    last: written(usage.last().unwrap_or_default()),
                    days: usage.days().collect(),
                };
                let uses = uses.iter().map(|(stem, uses)| (stem.clone(), usage(uses)));
                Wire {
                    month: Some(uses.collect()),
                    ..blank(*last)
                }
            }
            Line::Summed(until) => {
                let last = until.values().max().copied().unwrap_or_default();
                let until = until.iter().map(|(id, at)| (id.clone(), written(*at)));
                Wire {
                    summed: Some(until.collect()),
                    ..blank(last)
                }
            }
            Line::Record(record) => Wire {
                did: Some(record.did.clone()),
                of: Some(record.of.clone()),
                client: Some(record.client.clone()).filter(|client| !client.is_empty()),
                why: record.why.clone(),
                ..blank(record.at)
            },
        };
        // Texts, numbers and maps of texts are always JSON.
        let mut line = serde_json::to_string(&wire).unwrap_or_default();
        line.push('\n');
        line
    }

    /// Returns whether the line has an effect on a memory's usage.
    pub fn counts(&self) -> bool {
        match self {
            Line::Used(..) | Line::Sums(..) | Line::Summed(_) => true,
            Line::Record(record) => record.note().is_some(),
        }
    }

    /// Parses a line; `None` for an invalid one.
    pub fn parse(text: &[u8]) -> Option<Line> {
        let wire: Wire = serde_json::from_slice(text).ok()?;
        let at = read(&wire.t)?;
        if let Some(stems) = wire.used {
            return Some(Line::Used(at, stems));
        }
        if let Some(sums) = wire.month {
            let usage = |wire: WireUsage| {
                let mut usage = Usage::default();
                wire.days
                    .into_iter()
                    .for_each(|(day, count)| usage.add_day(day, count));
                usage.at_last(read(&wire.last)?);
                Some(usage)
            };
            let uses = sums.into_iter();
            let uses = uses.filter_map(|(stem, wire)| Some((stem, usage(wire)?)));
            return Some(Line::Sums(at, uses.collect()));
        }
        if let Some(until) = wire.summed {
            let until = until.into_iter();
            let until = until.filter_map(|(id, at)| Some((id, read(&at)?)));
            return Some(Line::Summed(until.collect()));
        }
        Some(Line::Record(Record {
            at,
            did: wire.did?,
            of: wire.of.unwrap_or_default(),
            client: wire.client.unwrap_or_default(),
            why: wire.why,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn lines_read_as_they_were_written() {
        let now = at("2026-03-01T12:00:00.25Z");
        let mut usage = Usage::default();
        usage.add(now);
        usage.add(at("2026-03-04T12:00:00Z"));
        let record = Record {
            at: now,
            did: "forget".to_owned(),
            of: vec!["20260101_000000_aaaaaaaa".to_owned()],
            client: "claude-code".to_owned(),
            why: Some("it is \"wrong\"\nand old".to_owned()),
        };
        for line in [
            Line::Used(now, vec!["a".to_owned(), "b".to_owned()]),
            Line::Sums(
                usage.last().unwrap(),
                [("a".to_owned(), usage.clone())].into(),
            ),
            Line::Summed([("0123456789abcdef".to_owned(), now)].into()),
            Line::Record(record),
        ] {
            let text = line.render();
            assert!(text.starts_with("{\"t\":\"2026-03-0"), "{text}");
            assert_eq!(text.matches('\n').count(), 1, "{text}");
            assert_eq!(Line::parse(text.trim().as_bytes()), Some(line));
        }
        let used = Line::Used(now, vec!["a".to_owned()]).render();
        assert_eq!(
            used,
            "{\"t\":\"2026-03-01T12:00:00.250000Z\",\"used\":[\"a\"]}\n"
        );
    }

    #[test]
    fn what_is_no_line_is_none() {
        for text in [
            "",
            "{",
            "[]",
            "{\"t\":1}",
            "{\"t\":\"now\",\"used\":[]}",
            "{\"t\":\"2026-03-01T12:00:00Z\"}",
        ] {
            assert_eq!(Line::parse(text.as_bytes()), None, "{text}");
        }
        let newer = "{\"t\":\"2026-03-01T12:00:00Z\",\"used\":[\"a\"],\"more\":1}";
        assert!(Line::parse(newer.as_bytes()).is_some());
    }
}
