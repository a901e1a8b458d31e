//! The fields of a foreign memory, and functions that read their values.
//!
//! A reader returns `None` for an invalid value, which then stays among the fields and is kept in the
//! metadata, under its own key.

use std::str::FromStr;

use chrono::DateTime;

use crate::format::from_json;
use crate::model::{Link, MetaValue, Timestamp, is_possible_time};

/// Keys with values, in the order of the source; fields that were read are removed.
pub(super) struct ForeignFields(pub Vec<(String, MetaValue)>);

impl ForeignFields {
    /// Returns whether an export of memdir wrote them: no other program calls a memory by its stem.
    pub fn is_of_memdir(&self) -> bool {
        let has = |wanted: &str| self.0.iter().any(|(key, _)| key == wanted);
        has("stem") && has("timestamp")
    }

    /// Takes the first of `names` whose value `read` accepts. Empty values are dropped.
    pub fn take<T>(&mut self, names: &[&str], read: fn(&MetaValue) -> Option<T>) -> Option<T> {
        names.iter().find_map(|name| self.take_one(name, read))
    }

    fn take_one<T>(&mut self, name: &str, read: fn(&MetaValue) -> Option<T>) -> Option<T> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        let value = &self.0[at].1;
        let understood = read(value);
        if understood.is_some() || says_nothing(value) {
            self.0.remove(at);
        }
        understood
    }

    /// Takes the texts of a list; its other items stay.
    pub fn take_items(&mut self, name: &str) -> Option<Vec<String>> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        let MetaValue::List(items) = &mut self.0[at].1 else {
            return None;
        };
        let texts = items.iter().filter_map(any_text).collect();
        items.retain(|item| any_text(item).is_none() && *item != MetaValue::Null);
        if items.is_empty() {
            self.0.remove(at);
        }
        Some(texts)
    }

    /// Takes a list of words, in any form; other items stay.
    pub fn take_words(&mut self, name: &str) -> Vec<String> {
        let words = self.take_items(name);
        words
            .or_else(|| self.take(&[name], list))
            .unwrap_or_default()
    }

    /// Takes the topics: `topics` and `tags` together.
    pub fn take_topics(&mut self) -> Vec<String> {
        let mut topics = self.take_words("topics");
        for tag in self.take_words("tags") {
            if !topics.contains(&tag) {
                topics.push(tag);
            }
        }
        topics
    }

    /// Adds the fields with new keys.
    pub fn add(&mut self, more: ForeignFields) {
        for (key, value) in more.0 {
            if !self.0.iter().any(|(known, _)| *known == key) {
                self.0.push((key, value));
            }
        }
    }

    /// Returns the remaining fields, without null ones.
    pub fn rest(self) -> impl Iterator<Item = (String, MetaValue)> {
        self.0
            .into_iter()
            .filter(|(_, value)| *value != MetaValue::Null)
    }
}

fn says_nothing(value: &MetaValue) -> bool {
    match value {
        MetaValue::Null => true,
        MetaValue::Text(text) => text.trim().is_empty(),
        MetaValue::List(items) => items.is_empty(),
        MetaValue::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

/// Reads a text that is not blank; a number or a boolean as it is written.
pub(super) fn text(value: &MetaValue) -> Option<String> {
    any_text(value).filter(|text| !text.trim().is_empty())
}

/// Reads a text, even an empty one.
pub(super) fn any_text(value: &MetaValue) -> Option<String> {
    match value {
        MetaValue::Text(text) => Some(text.clone()),
        MetaValue::Int(int) => Some(int.to_string()),
        MetaValue::Float(float) => Some(format!("{float:?}")),
        MetaValue::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Reads a list of words: an array, its JSON as a text, or words separated by commas.
pub(super) fn list(value: &MetaValue) -> Option<Vec<String>> {
    match value {
        MetaValue::List(items) => items.iter().map(any_text).collect(),
        MetaValue::Text(words) => Some(listed(words.trim())),
        MetaValue::Int(_) | MetaValue::Float(_) => any_text(value).map(|word| vec![word]),
        _ => None,
    }
}

fn listed(words: &str) -> Vec<String> {
    if let Ok(items) = serde_json::from_str(words)
        && let MetaValue::List(items) = from_json(items)
        && let Some(items) = items.iter().map(any_text).collect()
    {
        return items;
    }
    words
        .strip_prefix('[')
        .and_then(|inside| inside.strip_suffix(']'))
        .unwrap_or(words)
        .split(',')
        .map(|word| word.trim().trim_matches(['"', '\'']).to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Reads a word of a closed vocabulary.
pub(super) fn word<T: FromStr>(value: &MetaValue) -> Option<T> {
    match value {
        MetaValue::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// Reads a whole number from 1 to 10.
pub(super) fn importance(value: &MetaValue) -> Option<u8> {
    let number = number(value)?;
    (number.fract() == 0.0 && (1.0..=10.0).contains(&number)).then_some(number as u8)
}

/// Reads a number from 0 to 1.
pub(super) fn confidence(value: &MetaValue) -> Option<f64> {
    number(value).filter(|number| (0.0..=1.0).contains(number))
}

fn number(value: &MetaValue) -> Option<f64> {
    match value {
        MetaValue::Int(int) => Some(*int as f64),
        MetaValue::Float(float) => Some(*float),
        MetaValue::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Reads a whole number from 0.
pub(super) fn count(value: &MetaValue) -> Option<i64> {
    let number = number(value)?;
    let is_whole = number.fract() == 0.0 && (0.0..=1e15).contains(&number);
    is_whole.then_some(number as i64)
}

/// Reads a moment in ISO 8601.
pub(super) fn written_moment(value: &MetaValue) -> Option<Timestamp> {
    match value {
        MetaValue::Text(text) => Timestamp::parse(text),
        _ => None,
    }
}

/// Number from which a time is in milliseconds: as seconds it would be beyond the year 5000.
const LEAST_MILLIS: i64 = 100_000_000_000;

/// Reads a moment in ISO 8601, or as seconds or milliseconds since 1970.
pub(super) fn moment(value: &MetaValue) -> Option<Timestamp> {
    let at = match value {
        MetaValue::Int(millis) if millis.checked_abs()? >= LEAST_MILLIS => {
            DateTime::from_timestamp_millis(*millis)?
        }
        MetaValue::Int(seconds) => DateTime::from_timestamp(*seconds, 0)?,
        // Microseconds are what a timestamp is written with; the cast saturates.
        MetaValue::Float(since) => {
            let is_millis = since.abs() >= LEAST_MILLIS as f64;
            let micros = since * if is_millis { 1e3 } else { 1e6 };
            DateTime::from_timestamp_micros(micros.round() as i64)?
        }
        _ => return written_moment(value),
    };
    is_possible_time(at).then(|| Timestamp::from_utc(at))
}

/// Reads relations to other memories: targets, or targets with a type.
pub(super) fn links(value: &MetaValue) -> Option<Vec<Link>> {
    match value {
        MetaValue::List(items) => items.iter().map(link).collect(),
        one => link(one).map(|link| vec![link]),
    }
}

/// Default relation.
const RELATED: &str = "related-to";

fn link(value: &MetaValue) -> Option<Link> {
    let MetaValue::Map(entries) = value else {
        return Some(Link {
            to: text(value)?,
            relation: RELATED.to_owned(),
        });
    };
    let named = |names: &[&str]| {
        entries
            .iter()
            .find(|(key, _)| names.contains(&key.as_str()))
            .and_then(|(_, value)| text(value))
    };
    Some(Link {
        to: named(&["to", "target"])?,
        relation: named(&["type", "relation"]).unwrap_or_else(|| RELATED.to_owned()),
    })
}

/// Reads the entries of a mapping.
pub(super) fn map(value: &MetaValue) -> Option<Vec<(String, MetaValue)>> {
    match value {
        MetaValue::Map(entries) => Some(entries.clone()),
        _ => None,
    }
}

/// Reads the entries of a mapping, or of one as JSON in a text.
pub(super) fn map_or_json(value: &MetaValue) -> Option<Vec<(String, MetaValue)>> {
    match value {
        MetaValue::Text(json) => map(&from_json(serde_json::from_str(json).ok()?)),
        other => map(other),
    }
}

/// Returns memdir's word for a relation. Unknown words stay as they are.
pub(super) fn relation_word(word: &str) -> String {
    let word = word.replace(char::is_control, " ");
    match word.trim() {
        "" | "related_to" | "relates_to" | "relates to" | "related to" => RELATED.to_owned(),
        "derived_from" => "derived-from".to_owned(),
        "depends_on" => "depends-on".to_owned(),
        "conflicts_with" => "conflicts-with".to_owned(),
        word => cut(word).to_owned(),
    }
}

/// Cuts a word to the maximum length in a link.
fn cut(word: &str) -> &str {
    const MAX_BYTES: usize = 1024;
    &word[..word.floor_char_boundary(MAX_BYTES)]
}

/// Converts a value to JSON.
pub(super) fn to_json(value: &MetaValue) -> serde_json::Value {
    match value {
        MetaValue::Null => serde_json::Value::Null,
        MetaValue::Bool(value) => (*value).into(),
        MetaValue::Int(int) => (*int).into(),
        MetaValue::Float(float) => (*float).into(),
        MetaValue::Text(text) => text.as_str().into(),
        MetaValue::List(items) => items.iter().map(to_json).collect(),
        MetaValue::Map(entries) => entries
            .iter()
            .map(|(key, value)| (key.clone(), to_json(value)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_may_be_an_array_its_json_or_words_between_commas() {
        check_list(r#"["rust", 2024, true]"#, Some(&["rust", "2024", "true"]));
        check_list(r#""[\"a, b\", \"c\"]""#, Some(&["a, b", "c"]));
        check_list(r#""[a, 'b']""#, Some(&["a", "b"]));
        check_list(r#""rust, git,, ""#, Some(&["rust", "git"]));
        check_list("7", Some(&["7"]));
        check_list(r#"[["deep"]]"#, None);
        check_list(r#"{"a": 1}"#, None);
    }

    #[test]
    fn relations_are_called_as_memdir_calls_them() {
        let long = "é".repeat(600);
        for (word, expected) in [
            ("related_to", "related-to"),
            ("depends_on", "depends-on"),
            ("derived_from", "derived-from"),
            ("works_at", "works_at"),
            (" is\tfrom ", "is from"),
            ("", "related-to"),
            (&long, &long[..1024]),
        ] {
            assert_eq!(relation_word(word), expected);
        }
    }

    #[track_caller]
    fn check_list(json: &str, expected: Option<&[&str]>) {
        let found = list(&from_json(serde_json::from_str(json).unwrap()));
        let expected: Option<Vec<String>> =
            expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn a_moment_is_iso_text_or_unix_seconds_or_milliseconds() {
        check_moment("\"2026-01-14T09:15:00Z\"", Some("2026-01-14T09:15:00Z"));
        check_moment("1768382100", Some("2026-01-14T09:15:00.000000+00:00"));
        check_moment("1768382100.25", Some("2026-01-14T09:15:00.250000+00:00"));
        check_moment("0", Some("1970-01-01T00:00:00.000000+00:00"));
        check_moment("-1", None);
        check_moment("99999999999", Some("5138-11-16T09:46:39.000000+00:00"));
        check_moment("253402300800000", None);
        check_moment("1768382100250", Some("2026-01-14T09:15:00.250000+00:00"));
        check_moment("1768382100250.0", Some("2026-01-14T09:15:00.250000+00:00"));
        check_moment("1768382100250000000", None);
        check_moment("1e300", None);
        check_moment("9223372036854775807", None);
        check_moment("\"yesterday\"", None);
        check_moment("true", None);
    }

    #[track_caller]
    fn check_moment(json: &str, expected: Option<&str>) {
        let found = moment(&from_json(serde_json::from_str(json).unwrap()));
        assert_eq!(found.as_ref().map(Timestamp::as_str), expected, "{json}");
    }
}
