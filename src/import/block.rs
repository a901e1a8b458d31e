//! The metadata at the head of a foreign note: YAML, TOML or JSON, found and read.
//!
//! `format` checks and parses YAML, as that of a memory. `gray_matter` only parses TOML and JSON: it does
//! not preserve the text's bytes or the order of the keys, and its YAML parser has no limits. So the
//! block is cut out here, and the keys of TOML and JSON are sorted afterwards.

use std::collections::HashMap;

use gray_matter::engine::{Engine, JSON, TOML};
use gray_matter::{Matter, Pod};
use serde::de::IgnoredAny;

use super::fields::ForeignFields;
use crate::format;
use crate::model::MetaValue;

const MAX_BLOCK_BYTES: usize = 16 * 1024;

/// The metadata at the head of a note, without its fences.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// Language of the metadata.
    pub language: BlockLanguage,
    text: &'a str,
}

/// Language of a block of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockLanguage {
    Yaml,
    Toml,
    Json,
}

/// Result of the search for a block.
pub(super) enum NoteParts<'a> {
    /// The block, and the text after its fence and one blank line.
    Whole(Block<'a>, &'a str),
    NotClosed,
    NoBlock,
}

impl<'a> Block<'a> {
    /// Finds the block by its first and last line.
    pub fn find(text: &'a str) -> NoteParts<'a> {
        let (opening, rest) = text.split_once('\n').unwrap_or((text, ""));
        let (fence, language) = match opening.trim_end() {
            "---" => ("---", None),
            "---yaml" => ("---", Some(BlockLanguage::Yaml)),
            "---toml" => ("---", Some(BlockLanguage::Toml)),
            "---json" => ("---", Some(BlockLanguage::Json)),
            "+++" => ("+++", Some(BlockLanguage::Toml)),
            ";;;" => (";;;", Some(BlockLanguage::Json)),
            _ => return Block::find_json(text),
        };
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == fence {
                let text = &rest[..at];
                let language = language.unwrap_or_else(|| Block::language_of(text));
                let content = without_blank_line(&rest[at + line.len()..]);
                return NoteParts::Whole(Block { language, text }, content);
            }
            at += line.len();
        }
        NoteParts::NotClosed
    }

    /// Finds a JSON object that begins the text, on lines of its own, as some site builders write it.
    fn find_json(text: &'a str) -> NoteParts<'a> {
        if !text.starts_with('{') {
            return NoteParts::NoBlock;
        }
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
        let Some(Ok(_)) = values.next() else {
            return NoteParts::NoBlock;
        };
        let (block, rest) = text.split_at(values.byte_offset());
        match rest.split_once('\n') {
            Some((blank, content)) if blank.trim().is_empty() && !content.trim().is_empty() => {
                let block = Block {
                    language: BlockLanguage::Json,
                    text: block,
                };
                NoteParts::Whole(block, without_blank_line(content))
            }
            _ => NoteParts::NoBlock,
        }
    }

    fn language_of(text: &str) -> BlockLanguage {
        let is_json =
            text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
        if is_json {
            BlockLanguage::Json
        } else {
            BlockLanguage::Yaml
        }
    }

    /// Parses the keys in their order; the error is the reason why the block is left in the text.
    pub fn read(&self) -> Result<ForeignFields, String> {
        let bytes = self.text.len();
        if bytes > MAX_BLOCK_BYTES {
            return Err(format!("it has {bytes} bytes, more than {MAX_BLOCK_BYTES}"));
        }
        let parsed = match self.language {
            BlockLanguage::Yaml => {
                format::from_yaml_block(self.text).map_err(|what| shortened(&what))
            }
            BlockLanguage::Toml => self.parsed::<TOML>(),
            BlockLanguage::Json => self.parsed::<JSON>(),
        };
        match parsed? {
            MetaValue::Map(entries) => Ok(ForeignFields(entries)),
            MetaValue::Null => Ok(ForeignFields(Vec::new())),
            _ => Err("it holds no `key: value` lines".to_owned()),
        }
    }

    /// Parses the block with a fence that no line of it can be.
    fn parsed<E: Engine>(&self) -> Result<MetaValue, String> {
        const FENCE: &str = "\u{1}memdir\u{1}";
        let mut matter: Matter<E> = Matter::new();
        matter.delimiter = FENCE.to_owned();
        let parsed = matter.parse::<Pod>(&format!("{FENCE}\n{}\n{FENCE}\n", self.text));
        let pod = parsed.map_err(|error| shortened(&error.to_string()))?;
        Ok(match pod.data.unwrap_or(Pod::Null) {
            Pod::Hash(entries) => MetaValue::Map(self.in_order(entries)),
            other => meta_value(other),
        })
    }

    /// Restores the order of the keys, which the parser loses, from the lines that they begin.
    fn in_order(&self, entries: HashMap<String, Pod>) -> Vec<(String, MetaValue)> {
        let line_of = |key: &str| {
            self.text.lines().position(|line| {
                let line = line.trim_start_matches(['{', '[', '"', '\'', ' ', '\t']);
                line.strip_prefix(key)
                    .is_some_and(|rest| rest.starts_with(['"', '\'', ' ', ':', '=', '.', ']']))
            })
        };
        let mut entries: Vec<_> = entries
            .into_iter()
            .map(|(key, pod)| ((line_of(&key).unwrap_or(usize::MAX), key), meta_value(pod)))
            .collect();
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        entries
            .into_iter()
            .map(|((_, key), value)| (key, value))
            .collect()
    }
}

fn without_blank_line(text: &str) -> &str {
    text.strip_prefix("\r\n")
        .or_else(|| text.strip_prefix('\n'))
        .unwrap_or(text)
}

/// Returns the first 200 characters of an error's first line; some parsers quote many lines.
fn shortened(what: &str) -> String {
    let line = what.lines().next().unwrap_or_default();
    line.chars().take(200).collect()
}

fn meta_value(pod: Pod) -> MetaValue {
    match pod {
        Pod::Null => MetaValue::Null,
        Pod::String(text) => MetaValue::Text(text),
        Pod::Integer(int) => MetaValue::Int(int),
        Pod::Float(float) if float.is_finite() => MetaValue::Float(float),
        Pod::Float(float) => MetaValue::Text(float.to_string()),
        Pod::Boolean(value) => MetaValue::Bool(value),
        Pod::Array(items) => MetaValue::List(items.into_iter().map(meta_value).collect()),
        Pod::Hash(entries) => {
            let mut entries: Vec<_> = entries
                .into_iter()
                .map(|(key, pod)| (key, meta_value(pod)))
                .collect();
            entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            MetaValue::Map(entries)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn no_block_makes_the_parser_panic(block in "[-?:,&*!|>'\"%@#{}\\[\\] \\n\\ta-c0-9.~=+]{0,120}") {
            let languages = [BlockLanguage::Yaml, BlockLanguage::Toml, BlockLanguage::Json];
            let _ = languages.map(|language| Block { language, text: &block }.read().is_ok());
        }
    }
}
