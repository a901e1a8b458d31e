//! One line of a journal.
//!
//! A JSON object, its moment first, so that lines sort by time as text. What a program of a later
//! version adds is passed over, and so is a line that cannot be read: a journal is never refused.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use super::record::Record;
use crate::model::{Usage, is_possible_time};

/// The content of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// These memories were used.
    Used(DateTime<Utc>, Vec<String>),
    /// These memories were used so often, the last time at the moment. What another line of the same
    /// journal says of the same memory and day was counted at another time: the higher count holds.
    Sums(DateTime<Utc>, BTreeMap<String, Usage>),
    /// The uses that these journals, by id, count up to the moments are in the sums of this journal.
    Summed(BTreeMap<String, DateTime<Utc>>),
    /// Something was changed.
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

/// The uses of one memory: when the last was, and how many on each day.
#[derive(Serialize, Deserialize)]
struct WireUsage {
    last: String,
    days: BTreeMap<NaiveDate, u32>,
}

/// As in a journal: in microseconds, UTC.
fn written(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

fn read(text: &str) -> Option<DateTime<Utc>> {
    let at = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    is_possible_time(at).then_some(at)
}

impl Line {
    /// The line with its newline.
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

    /// Whether anything of it counts for what a memory is.
    pub fn counts(&self) -> bool {
        match self {
            Line::Used(..) | Line::Sums(..) | Line::Summed(_) => true,
            Line::Record(record) => record.note().is_some(),
        }
    }

    /// `None` for what is no line of a journal.
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
