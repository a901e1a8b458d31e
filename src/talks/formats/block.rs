//! Blocks of messages: texts, and calls of tools in one line.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess};

use crate::talks::loose::{FromAny, List, Text, read_from_any};

/// Maximum number of characters of a call.
const MAX_INPUT: usize = 160;

/// Arguments that say best what a call does, best first.
const TELLING: [&str; 15] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
    "skill",
    "code",
    "name",
    "title",
    "text",
];

/// Input of a tool in few words: its most telling argument.
#[derive(Debug, Default, Clone)]
pub(super) struct Input(pub String);

impl FromAny for Input {
    fn text(text: &str) -> Input {
        // Some programs write the arguments as JSON in a text.
        match text.trim_start().starts_with(['{', '[']) {
            true => serde_json::from_str(text).unwrap_or_else(|_| Input(short(text))),
            false => Input(short(text)),
        }
    }
    fn number(number: f64) -> Input {
        Input(number.to_string())
    }
    fn list<'de, A: SeqAccess<'de>>(mut items: A) -> Result<Input, A::Error> {
        let mut words = String::new();
        while let Some(Text(item)) = items.next_element()? {
            if words.len() <= 4 * MAX_INPUT {
                words.push_str(&item.unwrap_or_default());
                words.push(' ');
            }
        }
        Ok(Input(short(&words)))
    }
    fn map<'de, A: MapAccess<'de>>(mut entries: A) -> Result<Input, A::Error> {
        let mut best: Option<(usize, Input)> = None;
        while let Some(key) = entries.next_key::<String>()? {
            let rank = TELLING.iter().position(|telling| *telling == key);
            let rank = rank.unwrap_or(TELLING.len());
            if best.as_ref().is_some_and(|(known, _)| *known <= rank) {
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
            let input: Input = entries.next_value()?;
            if !input.0.is_empty() {
                best = Some((rank, input));
            }
        }
        Ok(best.map(|(_, input)| input).unwrap_or_default())
    }
}

read_from_any!(Input);

/// Returns the line about a call of the tool `name`.
pub(super) fn line(name: &str, input: &Input) -> String {
    match input.0.as_str() {
        "" => name.to_owned(),
        input => format!("{name}: {input}"),
    }
}

fn short(text: &str) -> String {
    let mut line = text.split_whitespace();
    let mut words = String::new();
    let mut count = 0;
    for word in line.by_ref() {
        count += word.chars().count() + 1;
        if count > MAX_INPUT {
            let room = (MAX_INPUT + word.chars().count() + 1).saturating_sub(count);
            words.extend(word.chars().take(room));
            words.push('…');
            break;
        }
        words.push_str(word);
        words.push(' ');
    }
    words.trim_end().to_owned()
}

/// Part of a message's content: a text alone, or an object with a type.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Type of the block; that of a text alone is `text`.
    pub kind: String,
    /// Text of the block.
    pub text: String,
    /// Name of a tool or a file.
    pub name: Option<String>,
    /// Call of a tool in few words.
    pub input: Input,
}

impl FromAny for Block {
    fn text(text: &str) -> Block {
        Block {
            kind: "text".to_owned(),
            text: text.to_owned(),
            ..Block::default()
        }
    }
    fn map<'de, A: MapAccess<'de>>(mut entries: A) -> Result<Block, A::Error> {
        let mut block = Block::default();
        while let Some(key) = entries.next_key::<String>()? {
            match key.as_str() {
                "type" | "content_type" => {
                    block.kind = entries.next_value::<Text>()?.0.unwrap_or_default();
                }
                "text" => block.text = entries.next_value::<Text>()?.0.unwrap_or_default(),
                "name" => block.name = entries.next_value::<Text>()?.0,
                "input" | "args" | "arguments" => block.input = entries.next_value()?,
                _ => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        if block.kind.is_empty() && !block.text.is_empty() {
            block.kind = "text".to_owned();
        }
        Ok(block)
    }
}

read_from_any!(Block, Blocks);

/// Content of a message: a text, a block, or a list of them.
#[derive(Debug, Default)]
pub(super) struct Blocks(pub Vec<Block>);

impl FromAny for Blocks {
    fn text(text: &str) -> Blocks {
        Blocks(vec![<Block as FromAny>::text(text)])
    }
    fn list<'de, A: SeqAccess<'de>>(items: A) -> Result<Blocks, A::Error> {
        Ok(Blocks(List::list(items)?.0))
    }
    fn map<'de, A: MapAccess<'de>>(entries: A) -> Result<Blocks, A::Error> {
        Ok(Blocks(vec![Block::map(entries)?]))
    }
}
