//! Values of more than one scalar: lists in their three spellings, links, metadata.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{danger, scalar};
use crate::model::{Link, MetaValue};

/// Reads a list as JSON, as a flow list, as a block list, as commas, or as one word.
///
/// `value` is what follows the colon, `below` the key's further lines.
pub(super) fn read_list(value: &str, below: &str) -> Vec<String> {
    let first = scalar::trim_blank(value);
    if first.is_empty() || first.starts_with('#') {
        return block_items(below);
    }
    if let Some(whole) = flow_list(first, below) {
        return json_list(&whole).unwrap_or_else(|| flow_items(&whole).0);
    }
    if let Some((text, _)) = scalar::unquote(first) {
        return vec![text.into_owned()];
    }
    let text = &first[..scalar::comment_start(first)];
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns whether every quoted item of a flow list could be read; other spellings have no such fault.
pub(super) fn is_sound_list(value: &str, below: &str) -> bool {
    let is_quoted = |whole: &str| whole.contains(['"', '\'']);
    flow_list(scalar::trim_blank(value), below)
        .is_none_or(|whole| !is_quoted(&whole) || flow_items(&whole).1)
}

/// Returns the whole text of a list in brackets, which may go on below its first line.
fn flow_list<'a>(first: &'a str, below: &str) -> Option<Cow<'a, str>> {
    first.starts_with('[').then(|| match below {
        "" => Cow::Borrowed(first),
        below => Cow::Owned(format!("{first}\n{below}")),
    })
}

fn json_list(text: &str) -> Option<Vec<String>> {
    // Most lists are of plain words, and to make an error of JSON takes longer than to read them.
    if !text[1..].trim_start().starts_with(['"', ']']) {
        return None;
    }
    let items: Vec<serde_json::Value> = serde_json::from_str(text).ok()?;
    items
        .into_iter()
        .map(|item| match item {
            serde_json::Value::String(text) => Some(text),
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => None,
            // `[2024, true]`: the words as they stand. A number's spelling could be lost here,
            // so those lists are read by the flow reader below.
            _ => None,
        })
        .collect()
}

/// Splits a flow list at its commas, outside of quotes; what follows the `]` is a comment. Says
/// also whether every item that begins with a quote is a quoted text.
fn flow_items(text: &str) -> (Vec<String>, bool) {
    let mut items = Vec::new();
    let mut is_sound = true;
    let mut rest = &text[1..];
    loop {
        rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with(']') {
            return (items, is_sound);
        }
        if let Some((item, after)) = scalar::unquote(rest)
            && after.trim_start().starts_with([',', ']'])
        {
            items.push(item.into_owned());
            rest = after.trim_start();
        } else {
            is_sound &= !rest.starts_with(['"', '\'']);
            let end = rest.find([',', ']', '\n']).unwrap_or(rest.len());
            let item = rest[..end].trim().trim_matches(['"', '\'']);
            if !item.is_empty() {
                items.push(item.to_owned());
            }
            rest = &rest[end..];
        }
        rest = rest.strip_prefix([',', '\n']).unwrap_or(rest);
    }
}

/// Returns the texts between the commas of the flow list or mapping that `text` begins with, and what follows
/// it; `None` if it has no end.
pub(super) fn split_flow(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut depth, mut quote, mut begins_item) = (0_usize, None, true);
    let mut texts = Vec::new();
    let mut start = 1;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some('"'), '\\') => drop(characters.next()),
            // Two single quotes are one of the text.
            (Some('\''), '\'') if characters.next_if(|&(_, next)| next == '\'').is_some() => {}
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            // A quotation mark within a word is a letter.
            (None, '"' | '\'') if begins_item => quote = Some(character),
            (None, '[' | '{') => depth += 1,
            (None, ',') if depth == 1 => {
                texts.push(&text[start..at]);
                start = at + 1;
            }
            (None, ']' | '}') => {
                depth -= 1;
                if depth == 0 {
                    texts.push(&text[start..at]);
                    return Some((texts, &text[at + 1..]));
                }
            }
            _ => {}
        }
        begins_item = matches!(character, '[' | '{' | ',' | ':')
            || (begins_item && character.is_whitespace());
    }
    None
}

fn block_items(below: &str) -> Vec<String> {
    below
        .lines()
        .filter_map(|line| scalar::trim_blank(line).strip_prefix('-'))
        .filter(|item| item.is_empty() || item.starts_with([' ', '\t']))
        .map(|item| scalar::read(item).into_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

/// Reads a `metadata` mapping.
pub(super) fn read_metadata(value: &str, below: &str) -> Result<Vec<(String, MetaValue)>, String> {
    match parse_yaml("metadata", value, below)? {
        MetaValue::Map(entries) => Ok(entries),
        MetaValue::Null => Ok(Vec::new()),
        _ => Err("it is no mapping".to_owned()),
    }
}

/// Reads `links`: mappings of a target and a type, or bare targets.
pub(super) fn read_links(value: &str, below: &str) -> Result<Vec<Link>, String> {
    let items = match parse_yaml("links", value, below)? {
        MetaValue::List(items) => items,
        MetaValue::Null => return Ok(Vec::new()),
        one @ (MetaValue::Text(_) | MetaValue::Map(_)) => vec![one],
        _ => return Err("it is no list".to_owned()),
    };
    items.into_iter().map(read_link).collect()
}

fn read_link(item: MetaValue) -> Result<Link, String> {
    const RELATED: &str = "related-to";
    match item {
        MetaValue::Text(to) => Ok(Link {
            to,
            relation: RELATED.to_owned(),
        }),
        MetaValue::Map(entries) => {
            let text = |names: [&str; 2]| {
                entries
                    .iter()
                    .find(|(key, _)| names.contains(&key.as_str()))
                    .and_then(|(_, value)| match value {
                        MetaValue::Text(text) => Some(text.clone()),
                        _ => None,
                    })
            };
            let to = text(["to", "target"]).ok_or("a link names no target: write `to: <stem>`")?;
            let relation = text(["type", "relation"]).unwrap_or_else(|| RELATED.to_owned());
            Ok(Link { to, relation })
        }
        _ => Err("a link is neither a stem nor `{to: …, type: …}`".to_owned()),
    }
}

fn parse_yaml(key: &str, value: &str, below: &str) -> Result<MetaValue, String> {
    let text = format!("{value}\n{below}");
    if let Some(what) = danger::find(&text) {
        return Err(format!("it is refused, because it holds {what}"));
    }
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(&text) {
        return Ok(from_json(json));
    }
    let document = format!("{key}:{text}");
    Ok(match parsed(&document)? {
        MetaValue::Map(entries) => entries.into_iter().next().map(|(_, value)| value),
        _ => None,
    }
    .unwrap_or(MetaValue::Null))
}

/// Reads a block of YAML from elsewhere, after the check for [`danger`].
///
/// # Errors
///
/// Fails if the block is dangerous or no YAML, or has a key that is no text.
pub fn from_yaml_block(block: &str) -> Result<MetaValue, String> {
    match danger::find(block) {
        Some(what) => Err(format!("it holds {what}")),
        None => parsed(block),
    }
}

fn parsed(document: &str) -> Result<MetaValue, String> {
    let parsed = serde_yaml::from_str(document).map_err(|error| error.to_string());
    parsed.map(|Yaml(value)| value)
}

/// Returns a JSON value as a metadata value. A number that neither kind of ours holds keeps its digits,
/// as a text.
pub fn from_json(value: serde_json::Value) -> MetaValue {
    match value {
        serde_json::Value::Null => MetaValue::Null,
        serde_json::Value::Bool(value) => MetaValue::Bool(value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => MetaValue::Int(int),
            (None, Some(float)) if number.is_f64() => MetaValue::Float(float),
            _ => MetaValue::Text(number.to_string()),
        },
        serde_json::Value::String(text) => MetaValue::Text(text),
        serde_json::Value::Array(items) => {
            MetaValue::List(items.into_iter().map(from_json).collect())
        }
        serde_json::Value::Object(map) => MetaValue::Map(
            map.into_iter()
                .map(|(key, value)| (key, from_json(value)))
                .collect(),
        ),
    }
}

/// A value of YAML as a metadata value. A number that neither kind of ours holds keeps its digits,
/// as a text.
struct Yaml(MetaValue);

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Yaml, D::Error> {
        deserializer.deserialize_any(YamlVisitor).map(Yaml)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = MetaValue;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("a value without a tag")
    }

    fn visit_unit<E>(self) -> Result<MetaValue, E> {
        Ok(MetaValue::Null)
    }

    fn visit_none<E>(self) -> Result<MetaValue, E> {
        Ok(MetaValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<MetaValue, E> {
        Ok(MetaValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<MetaValue, E> {
        Ok(MetaValue::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<MetaValue, E> {
        Ok(match i64::try_from(value) {
            Ok(int) => MetaValue::Int(int),
            Err(_) => MetaValue::Text(value.to_string()),
        })
    }

    fn visit_i128<E>(self, value: i128) -> Result<MetaValue, E> {
        Ok(MetaValue::Text(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<MetaValue, E> {
        Ok(MetaValue::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<MetaValue, E> {
        Ok(MetaValue::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<MetaValue, E> {
        Ok(MetaValue::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<MetaValue, A::Error> {
        let mut list = Vec::new();
        while let Some(Yaml(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(MetaValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<MetaValue, A::Error> {
        let mut map: Vec<(String, MetaValue)> = Vec::new();
        let mut keys = HashSet::new();
        while let Some((key, Yaml(value))) = entries.next_entry::<String, Yaml>()? {
            if !keys.insert(key.clone()) {
                return Err(A::Error::custom(format!("the key `{key}` stands twice")));
            }
            map.push((key, value));
        }
        Ok(MetaValue::Map(map))
    }
}

/// Writes metadata as JSON on one line: a line-based reader then sees one key and not many, and
/// changing it changes one line.
pub(super) fn write_metadata(entries: &[(String, MetaValue)]) -> String {
    let mut out = String::new();
    write_map(&mut out, entries);
    out
}

fn write_map(out: &mut String, entries: &[(String, MetaValue)]) {
    out.push('{');
    for (at, (key, value)) in entries.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        out.push_str(&scalar::quoted(key));
        out.push_str(": ");
        write_value(out, value);
    }
    out.push('}');
}

pub(super) fn write_value(out: &mut String, value: &MetaValue) {
    match value {
        MetaValue::Null => out.push_str("null"),
        MetaValue::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        MetaValue::Int(int) => out.push_str(&int.to_string()),
        // JSON knows no infinities; the largest number is what their readers make of them.
        MetaValue::Float(float) => {
            out.push_str(&serde_json::Value::from(float.clamp(f64::MIN, f64::MAX)).to_string());
        }
        MetaValue::Text(text) => out.push_str(&scalar::quoted(text)),
        MetaValue::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_value(out, item);
            }
            out.push(']');
        }
        MetaValue::Map(entries) => write_map(out, entries),
    }
}

/// Writes links one a line, so that two machines that each add one do not touch the same line.
pub(super) fn write_links(links: &[Link], newline: &str) -> String {
    links.iter().fold(String::new(), |mut out, link| {
        let flow = |text: &str| {
            let list = scalar::write_list(&[text.to_owned()]);
            list[1..list.len() - 1].to_owned()
        };
        out.push_str(newline);
        out.push_str(&format!(
            "  - {{to: {}, type: {}}}",
            flow(&link.to),
            flow(&link.relation)
        ));
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_may_be_written_in_every_style() {
        check(" [rust, git]", "", &["rust", "git"]);
        check(
            " [\"rust\", \"a, b\", \"\\ud83d\\ude00\"]",
            "",
            &["rust", "a, b", "😀"],
        );
        check("", "  - rust\n  - 'git hub'\n", &["rust", "git hub"]);
        check("", "- rust\n- git # why\n", &["rust", "git"]);
        check(" []", "", &[]);
        check("", "", &[]);
        check(" rust", "", &["rust"]);
        check(" rust, git", "", &["rust", "git"]);
        check(" [2024, yes, 1e5]", "", &["2024", "yes", "1e5"]);
        check(" [a,", "  b,\n  'c, d']\n", &["a", "b", "c, d"]);
        check(" [\"half, x]", "", &["half", "x"]);
        check(" [a, b] # two", "", &["a", "b"]);
    }

    #[track_caller]
    fn check(value: &str, below: &str, expected: &[&str]) {
        assert_eq!(read_list(value, below), expected);
    }

    #[test]
    fn metadata_survives_writing_and_reading() {
        let entries = vec![
            (
                "source_id".to_owned(),
                MetaValue::Text("conv-26/S1:\u{2028}\"x\"".to_owned()),
            ),
            ("n".to_owned(), MetaValue::Int(-3)),
            ("f".to_owned(), MetaValue::Float(0.1)),
            ("none".to_owned(), MetaValue::Null),
            (
                "deep".to_owned(),
                MetaValue::Map(vec![(
                    "list".to_owned(),
                    MetaValue::List(vec![
                        MetaValue::Bool(true),
                        MetaValue::Text("&a".to_owned()),
                    ]),
                )]),
            ),
        ];
        assert_eq!(
            read_metadata(&write_metadata(&entries), "").unwrap(),
            entries
        );
    }

    #[test]
    fn metadata_by_hand_is_read_as_yaml() {
        let read = read_metadata("", "  project: atlas\n  runs: 3\n").unwrap();
        assert_eq!(
            read[0],
            ("project".to_owned(), MetaValue::Text("atlas".to_owned()))
        );
        assert_eq!(read[1], ("runs".to_owned(), MetaValue::Int(3)));
        assert!(read_metadata(" &a {b: *a}", "").is_err());
        assert!(read_metadata(" {a: 1, a: 2}", "").is_err());
    }

    #[test]
    fn links_survive_writing_and_reading() {
        let link = |to: &str, relation: &str| Link {
            to: to.to_owned(),
            relation: relation.to_owned(),
        };
        let links = [
            link("20260114_091500_1f3a9c02", "related-to"),
            link("12345678", "is: odd, {x}"),
        ];
        assert_eq!(
            read_links("", &write_links(&links, "\n")[1..]).unwrap(),
            links
        );
        assert_eq!(
            read_links(" [abc]", "").unwrap(),
            [link("abc", "related-to")]
        );
    }
}
