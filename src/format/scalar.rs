//! One-line values: how they are quoted, and how they are read back.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Writes `text` as it is where every YAML reader gives the same string back, else quoted.
pub(super) fn write(text: &str) -> Cow<'_, str> {
    if plain_is_safe(text) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(quoted(text))
    }
}

/// Writes a list: `[a, b]`, with the items in quotes that may not stand plain, and only these:
/// readers that split the line at its commas take quotes for a part of the word.
pub(super) fn write_list(items: &[String]) -> String {
    let is_plain = |item: &str| {
        plain_is_safe(item) && !item.contains([',', '[', ']', '{', '}', ':', '?', '"', '\''])
    };
    let items: Vec<Cow<'_, str>> = items
        .iter()
        .map(|item| {
            if is_plain(item) {
                Cow::Borrowed(item.as_str())
            } else {
                Cow::Owned(quoted(item))
            }
        })
        .collect();
    format!("[{}]", items.join(", "))
}

/// Returns a double-quoted scalar that is valid YAML and valid JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}").expect("writing to a string cannot fail");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters that YAML does not count as printable, or reads as a line break.
fn needs_escape(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// Returns whether an unquoted `text` is read back as the same string by YAML 1.1 and 1.2 readers.
pub(super) fn plain_is_safe(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let last = text.chars().next_back().expect("it has a first character");
    !"-?:,[]{}#&*!|>'\"%@`=<~.".contains(first)
        && !first.is_whitespace()
        && !last.is_whitespace()
        && last != ':'
        && !text.contains(": ")
        && !text.contains(" #")
        && !text
            .chars()
            .any(|c| needs_escape(c) || (c.is_whitespace() && c != ' '))
        && !text
            .chars()
            .any(|c| (c as u32) >= 0x1_0000 && (c as u32) & 0xfffe == 0xfffe)
        && !looks_typed(text)
}

/// Returns whether some YAML reader takes the plain text for something else than a string.
fn looks_typed(text: &str) -> bool {
    const WORDS: [&str; 10] = [
        "null",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "undefined",
    ];
    if WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return true;
    }
    // Numbers, dates, sexagesimals: whatever begins like a number and holds no other letters
    // than decimal numbers may hold. Quoting one text too many costs two characters.
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    let radix = ["0x", "0X", "0o", "0O", "0b", "0B"];
    let numeric = |c: char| c.is_ascii_digit() || "+-_.:, eETtZz".contains(c);
    unsigned.starts_with(|c: char| c.is_ascii_digit())
        && (radix.iter().any(|mark| unsigned.starts_with(mark)) || unsigned.chars().all(numeric))
}

/// Reads the raw text after a key's colon, to the end of the line: quotes around the whole value
/// are taken off, nothing else is interpreted. For keys that other programs write unquoted.
pub(super) fn read_raw(value: &str) -> Cow<'_, str> {
    let value = trim_blank(value);
    match unquote(value) {
        Some((text, "")) => text,
        _ => Cow::Borrowed(value),
    }
}

/// Reads a value as YAML reads a one-line scalar: a comment after it does not count.
pub(super) fn read(value: &str) -> Cow<'_, str> {
    let value = trim_blank(value);
    if let Some((text, rest)) = unquote(value)
        && is_comment_or_blank(rest)
    {
        return text;
    }
    Cow::Borrowed(trim_blank(&value[..comment_start(value)]))
}

/// Returns the place at which the blanks before a trailing comment begin, or the end of the text.
pub(super) fn comment_start(value: &str) -> usize {
    if value.starts_with('#') {
        return 0;
    }
    let after_quotes = unquote(value).map_or(0, |(_, rest)| value.len() - rest.len());
    let hash = [" #", "\t#"]
        .iter()
        .filter_map(|mark| value[after_quotes..].find(mark))
        .min();
    hash.map_or(value.len(), |at| {
        value[..after_quotes + at]
            .trim_end_matches([' ', '\t'])
            .len()
    })
}

fn is_comment_or_blank(rest: &str) -> bool {
    let text = trim_blank(rest);
    text.is_empty() || (text.starts_with('#') && rest.starts_with([' ', '\t']))
}

/// YAML's blanks only: a no-break space belongs to the value.
pub(super) fn trim_blank(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

/// Reads a quoted scalar at the start of `value`; returns its text and what follows it.
pub(super) fn unquote(value: &str) -> Option<(Cow<'_, str>, &str)> {
    match value.as_bytes().first()? {
        b'"' => unquote_double(value),
        b'\'' => unquote_single(value),
        _ => None,
    }
}

fn unquote_single(value: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut end = 1;
    loop {
        end += value[end..].find('\'')?;
        if value[end + 1..].starts_with('\'') {
            end += 2;
        } else {
            return Some((
                Cow::Owned(value[1..end].replace("''", "'")),
                &value[end + 1..],
            ));
        }
    }
}

fn unquote_double(value: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut text = String::new();
    let mut chars = value[1..].char_indices();
    while let Some((at, character)) = chars.next() {
        match character {
            '"' => return Some((Cow::Owned(text), &value[1 + at + 1..])),
            '\\' => {
                let (_, escape) = chars.next()?;
                let digits = match escape {
                    'x' => 2,
                    'u' => 4,
                    'U' => 8,
                    other => {
                        text.push(simple_escape(other)?);
                        continue;
                    }
                };
                text.push(hex_escape(&mut chars, digits)?);
            }
            other => text.push(other),
        }
    }
    None
}

fn simple_escape(letter: char) -> Option<char> {
    Some(match letter {
        '0' => '\0',
        'a' => '\x07',
        'b' => '\x08',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\x0b',
        'f' => '\x0c',
        'r' => '\r',
        'e' => '\x1b',
        ' ' | '"' | '/' | '\\' | '\'' => letter,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return None,
    })
}

/// Reads the digits of an escape; two escapes that form a surrogate pair are one character.
fn hex_escape(chars: &mut std::str::CharIndices<'_>, digits: usize) -> Option<char> {
    let mut number = |count: usize| {
        (0..count).try_fold(0_u32, |sum, _| {
            Some(sum * 16 + chars.next()?.1.to_digit(16)?)
        })
    };
    let first = number(digits)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    if chars.next()?.1 != '\\' || chars.next()?.1 != 'u' {
        return None;
    }
    let second = (0..4).try_fold(0_u32, |sum, _| {
        Some(sum * 16 + chars.next()?.1.to_digit(16)?)
    })?;
    if !(0xdc00..0xe000).contains(&second) {
        return None;
    }
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_yaml_reads_back_stands_plain() {
        for text in [
            "claude",
            "std::path",
            "2026 plan",
            "v1.2.3",
            "a-b_c/d",
            "日本語",
            "it's",
            "1f3a9c02x",
        ] {
            assert_eq!(write(text), text);
        }
        for text in [
            "yes",
            "No",
            "null",
            "~",
            "12345678",
            "1e3",
            "0x1f",
            "1_000",
            "12:30",
            "2026-01-14",
            "@claude",
            "a: b",
            "C # dev",
            "*x",
            "&x",
            "!x",
            "[x]",
            "{x}",
            "",
            " x",
            "x ",
            "x:",
            "- x",
            "? x",
            "=",
            "<<",
            ".5",
            ".inf",
            "+1",
            "---",
            "\u{85}",
            "a\u{2028}b",
            "\u{feff}x",
            "`x",
            "%x",
            "#x",
            "'x'",
            "\"x\"",
        ] {
            assert!(write(text).starts_with('"'), "{text:?}");
            assert_eq!(read_raw(&write(text)), text);
            assert_eq!(read(&write(text)), text);
        }
    }

    #[test]
    fn only_the_items_that_can_be_misread_are_quoted() {
        let list = |items: &[&str]| {
            let items: Vec<String> = items.iter().map(|item| (*item).to_owned()).collect();
            write_list(&items)
        };
        assert_eq!(list(&["rust", "my notes"]), "[rust, my notes]");
        // Python's reader ends a plain item of a flow list at a question mark, and fails.
        assert_eq!(list(&["why?"]), "[\"why?\"]");
        assert_eq!(list(&["a, b", "c"]), "[\"a, b\", c]");
        let mixed = list(&["python", "2026", "3.11", "it's", "yes", "deploy"]);
        let read = "[python, \"2026\", \"3.11\", \"it's\", \"yes\", deploy]";
        assert_eq!(mixed, read);
    }

    #[test]
    fn a_raw_value_keeps_what_looks_like_yaml() {
        for text in ["a: b: c", "@claude", "C # dev", "[x", "*star", "\"half"] {
            assert_eq!(read_raw(&format!(" {text}")), text);
        }
        assert_eq!(read_raw(" 'it''s'"), "it's");
        assert_eq!(read_raw(" \"\\ud83d\\ude00\""), "😀");
    }

    #[test]
    fn a_comment_after_a_value_does_not_count() {
        assert_eq!(read(" semantic # for now"), "semantic");
        assert_eq!(read(" \"a # b\" # c"), "a # b");
        assert_eq!(read(" # nothing"), "");
        assert_eq!(read(" a#b"), "a#b");
    }
}
