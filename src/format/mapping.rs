//! The entries of `metadata`, each with the text that it was written as.
//!
//! Promises: an entry that is kept keeps the spelling of its value, its comment and the lines above it; what is written
//! reads back as the entries that were asked for, or is not written.

use super::comment::comment_of;
use super::{scalar, value};
use crate::model::MetaValue;

/// A mapping as it stands in a file.
pub(super) struct Mapping<'a> {
    form: MappingForm<'a>,
    entries: Vec<MappingEntry>,
}

enum MappingForm<'a> {
    /// `{a: 1, b: 2}`, with the comment after it.
    Line { comment: String },
    /// `a: 1`, one below the other; the rest of the key's own line is blank, or a comment.
    Block { indent: &'a str, value: &'a str },
}

/// An entry of a mapping, and how it is written.
struct MappingEntry {
    key: String,
    /// Equal for values that say the same.
    meaning: String,
    /// Text between the commas of a line; in a block all lines, with the comments above.
    text: String,
}

impl<'a> Mapping<'a> {
    /// Reads the mapping that follows a key's colon, with the lines below; `None` if it is none, or one that cannot be
    /// taken apart.
    pub fn read(value: &'a str, below: &'a str) -> Option<Mapping<'a>> {
        let first = scalar::trim_blank(value);
        if first.is_empty() || first.starts_with('#') {
            let (indent, texts) = chunks(below)?;
            let read = |text: String| MappingEntry::read(text, true);
            return Some(Mapping {
                form: MappingForm::Block { indent, value },
                entries: texts.into_iter().map(read).collect::<Option<_>>()?,
            });
        }
        if !first.starts_with('{') || !below.is_empty() {
            return None;
        }
        let (texts, _) = value::split_flow(first)?;
        let texts = texts.into_iter().map(str::trim);
        // `{}`, or a comma before the brace.
        let texts = texts.filter(|text| !text.is_empty());
        let read = |text: &str| MappingEntry::read(text.to_owned(), false);
        Some(Mapping {
            form: MappingForm::Line {
                comment: comment_of("metadata", value),
            },
            entries: texts.map(read).collect::<Option<_>>()?,
        })
    }

    /// Writes `entries` in the form of this mapping, after `head`: the key and its colon. Each that is in it, or in one of
    /// `others`, is as it stands there. `None` if that would not be read as these entries, or none of them stays.
    pub fn write(
        &self,
        others: &[Mapping<'_>],
        entries: &[(String, MetaValue)],
        head: &str,
        newline: &str,
    ) -> Option<String> {
        let mut keeps_any = false;
        let texts = entries.iter().map(|(key, value)| {
            let meaning = meaning_of(value);
            let written = |mapping: &Mapping<'_>| {
                let is_it = |entry: &&MappingEntry| entry.key == *key && entry.meaning == meaning;
                let entry = mapping.entries.iter().find(is_it)?;
                // A text of one form has no place in the other.
                (mapping.is_block() == self.is_block()).then(|| entry.text.clone())
            };
            let kept = written(self).or_else(|| others.iter().find_map(written));
            keeps_any |= kept.is_some();
            kept.unwrap_or_else(|| match self.is_block() {
                true => format!("{}: {meaning}{newline}", scalar::write(key)),
                false => format!("{}: {meaning}", scalar::quoted(key)),
            })
        });
        let texts: Vec<String> = texts.collect();
        let written = match &self.form {
            MappingForm::Line { comment } => {
                format!("{head} {{{}}}{comment}{newline}", texts.join(", "))
            }
            MappingForm::Block { indent, value } => {
                let lines: String = texts.iter().map(|text| indented(text, indent)).collect();
                format!("{head}{value}{newline}{lines}")
            }
        };
        let (value, below) = written[head.len()..].split_once('\n')?;
        let read = value::read_metadata(value, below).ok()?;
        let says_the_same = |(one, other): (&(String, MetaValue), &(String, MetaValue))| {
            one.0 == other.0 && meaning_of(&one.1) == meaning_of(&other.1)
        };
        let is_same = read.len() == entries.len() && read.iter().zip(entries).all(says_the_same);
        (is_same && keeps_any).then_some(written)
    }

    fn is_block(&self) -> bool {
        matches!(self.form, MappingForm::Block { .. })
    }
}

impl MappingEntry {
    /// Reads the one entry of a text of a block or of a line; `None` if there is not exactly one.
    fn read(text: String, is_block: bool) -> Option<MappingEntry> {
        let read = match is_block {
            true => value::read_metadata("", &indented(&text, " ")),
            false => value::read_metadata(&format!(" {{{text}}}"), ""),
        };
        let (key, value) = <[_; 1]>::try_from(read.ok()?).ok().map(|[one]| one)?;
        Some(MappingEntry {
            key,
            meaning: meaning_of(&value),
            text,
        })
    }
}

fn meaning_of(value: &MetaValue) -> String {
    let mut text = String::new();
    value::write_value(&mut text, value);
    text
}

/// Returns lines with `indent` before each that is not blank.
fn indented(lines: &str, indent: &str) -> String {
    let lines = lines.split_inclusive('\n');
    let lines = lines.map(|line| match line.trim() {
        "" => line.to_owned(),
        _ => format!("{indent}{line}"),
    });
    lines.collect()
}

/// Splits the lines of a block mapping into those of its entries, without their indentation, which is returned, too.
/// Blank lines and comments belong to the entry after them, or to the one they stand within.
fn chunks(below: &str) -> Option<(&str, Vec<String>)> {
    let mut chunks: Vec<String> = Vec::new();
    let mut indent: Option<&str> = None;
    let mut pending = String::new();
    for line in below.split_inclusive('\n') {
        let text = line.trim_start_matches(' ');
        let lead = &line[..line.len() - text.len()];
        let own = line.strip_prefix(indent.unwrap_or(lead)).unwrap_or(text);
        let is_deeper = indent.is_some_and(|indent| lead.len() > indent.len());
        if text.trim().is_empty() || (text.starts_with('#') && !is_deeper) {
            pending.push_str(own);
            continue;
        }
        match indent {
            Some(_) if is_deeper => {
                let chunk = chunks.last_mut()?;
                chunk.push_str(&std::mem::take(&mut pending));
                chunk.push_str(own);
            }
            Some(indent) if lead.len() < indent.len() => return None,
            _ => {
                indent = Some(lead);
                chunks.push(std::mem::take(&mut pending) + text);
            }
        }
    }
    let indent = indent.filter(|indent| !indent.is_empty() && pending.is_empty())?;
    Some((indent, chunks))
}
