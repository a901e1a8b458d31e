//! Memories as single lines, and the fence around them.
//!
//! What is shown to an agent that has not asked for it is marked as data: a fence longer than any run of
//! backticks in it encloses the lines, and no character in a line can end the line or hide a text.

use std::borrow::Cow;

use chrono::SecondsFormat;

use crate::model::Memory;

/// Maximum number of backticks in a row that a line keeps.
const MAX_BACKTICKS: usize = 3;

/// Number of characters that [`fenced`] adds to its lines.
pub const FENCE_CHARACTERS: usize = 2 * (MAX_BACKTICKS + 1) + "memories\n\n".len();

/// Returns the lines between two fences, each line ended.
pub fn fenced(lines: &[String]) -> String {
    let fence = "`".repeat(MAX_BACKTICKS + 1);
    let mut text = format!("{fence}memories\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(&fence);
    text.push('\n');
    text
}

/// Returns a memory as a line of at most `limit` characters: its id, its day, the reason and its text.
pub fn line(id: &str, memory: &Memory, reason: Option<&str>, limit: usize) -> String {
    line_of(id, memory, reason, &plain(memory, limit), limit)
}

/// As [`line`], from the plain text of the memory, of which `limit` characters are needed.
pub(super) fn line_of(
    id: &str,
    memory: &Memory,
    reason: Option<&str>,
    text: &str,
    limit: usize,
) -> String {
    let at = memory
        .timestamp
        .utc()
        .to_rfc3339_opts(SecondsFormat::Secs, true);
    let day = at.get(..10).unwrap_or_default();
    let mut line = format!("- {id} {day}");
    if let Some(reason) = reason {
        line.push_str(&format!(" {reason}"));
    }
    line.push_str(": ");
    let left = limit.saturating_sub(line.chars().count());
    line.push_str(&beginning(text, left));
    line
}

/// Returns the first `limit` characters of a text; one that is cut is cut after a word, and ends with `…`.
pub(super) fn beginning(text: &str, limit: usize) -> Cow<'_, str> {
    if text.chars().nth(limit).is_none() {
        return Cow::Borrowed(text);
    }
    let mut cut: Vec<char> = text.chars().take(limit).collect();
    let last_blank = cut.iter().rposition(|letter| *letter == ' ');
    // A word of more than a third of the line is cut inside.
    let after_word = last_blank.filter(|at| *at * 3 > cut.len() * 2);
    cut.truncate(after_word.unwrap_or(limit.saturating_sub(1)));
    let cut: String = cut.into_iter().collect();
    Cow::Owned(format!("{}…", cut.trim_end_matches([' ', ',', ';', ':'])))
}

/// Returns the first `limit` characters of title and text on one line, without markup of headings, without
/// characters that nobody sees, and without long runs of backticks.
pub(super) fn plain(memory: &Memory, limit: usize) -> String {
    let title = memory.title.as_deref().unwrap_or_default().trim();
    let mut lines = memory.content.lines().map(without_markup);
    let mut lines = std::iter::from_fn(|| lines.find(|line| !line.is_empty())).peekable();
    let begins_with_title = lines.peek().copied().unwrap_or_default().starts_with(title);
    let shown_title =
        Some(without_markup(title)).filter(|_| !title.is_empty() && !begins_with_title);
    let mut plain = Plain::default();
    for (number, text) in shown_title.into_iter().chain(lines).enumerate() {
        if plain.count == limit {
            break;
        }
        let separator = match (plain.count, shown_title.is_some() && number == 1) {
            (0, _) => "",
            (_, true) => ": ",
            (_, false) => " ",
        };
        plain.take(separator, limit);
        plain.take(text, limit);
    }
    plain.text
}

/// A text that is being made plain.
#[derive(Default)]
struct Plain {
    text: String,
    /// Number of its characters.
    count: usize,
    /// Length of the run of backticks at its end.
    ticks: usize,
}

impl Plain {
    /// Adds what is to be seen of `text`, up to `limit` characters in all.
    fn take(&mut self, text: &str, limit: usize) {
        let mut rest = text;
        let mut was_blank = self.text.ends_with(' ');
        while self.count < limit && !rest.is_empty() {
            // Most of a text: a byte a character, and none of them special.
            let is_usual = |byte: &u8| byte.is_ascii_graphic() && *byte != b'`';
            let bytes = rest.bytes().take(limit - self.count);
            let run = bytes.take_while(is_usual).count();
            if run > 0 {
                self.text.push_str(&rest[..run]);
                self.count += run;
                (self.ticks, was_blank) = (0, false);
                rest = &rest[run..];
                continue;
            }
            let mut letters = rest.chars();
            let Some(letter) = letters.next() else {
                return;
            };
            rest = letters.as_str();
            if is_unseen(letter) {
                continue;
            }
            let is_blank = letter.is_whitespace();
            self.ticks = if letter == '`' { self.ticks + 1 } else { 0 };
            if (is_blank && was_blank) || self.ticks > MAX_BACKTICKS {
                continue;
            }
            self.text.push(if is_blank { ' ' } else { letter });
            was_blank = is_blank;
            self.count += 1;
        }
    }
}

fn without_markup(line: &str) -> &str {
    line.trim().trim_start_matches('#').trim()
}

/// Returns whether a character is a control character, or changes or hides a text without being seen.
fn is_unseen(letter: char) -> bool {
    (letter.is_control() && !letter.is_whitespace())
        || matches!(
            letter,
            '\u{ad}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NewMemory, Stem, Timestamp};

    /// Title and text of a memory on one line of at most `limit` characters.
    fn excerpt(memory: &Memory, limit: usize) -> String {
        beginning(&plain(memory, limit + 1), limit).into_owned()
    }

    fn memory(title: Option<&str>, content: &str) -> Memory {
        let new = NewMemory {
            title: title.map(str::to_owned),
            content: content.to_owned(),
            ..NewMemory::default()
        };
        let stem = Stem::from_file_name("20260114_091500_1f3a9c02");
        new.into_memory(stem, Timestamp::parse("2026-01-14T09:15:00Z").unwrap())
    }

    #[test]
    fn a_memory_becomes_one_line() {
        let memory = memory(
            Some("How we deploy"),
            "# Steps\n\nWith a tag,\non  Tuesdays.\n",
        );
        assert_eq!(
            line("1f3a9c02", &memory, Some("decision"), 300),
            "- 1f3a9c02 2026-01-14 decision: How we deploy: Steps With a tag, on Tuesdays."
        );
    }

    #[test]
    fn a_title_that_begins_the_text_is_not_said_twice() {
        let memory = memory(Some("How we deploy"), "# How we deploy\nWith a tag.");
        assert_eq!(excerpt(&memory, 300), "How we deploy With a tag.");
    }

    #[test]
    fn a_long_text_is_cut_after_a_word() {
        let words = memory(None, "seven words of text that are cut");
        assert_eq!(excerpt(&words, 20), "seven words of text…");
        assert_eq!(excerpt(&words, 32), "seven words of text that are cut");
        let letters = memory(None, &"x".repeat(400));
        assert_eq!(excerpt(&letters, 300).chars().count(), 300);
    }

    #[test]
    fn no_text_ends_the_fence_or_hides_a_word() {
        let memory = memory(
            None,
            "a ``````` b\n``````\u{202e}c\u{200b}d\u{e0041}\u{1b}[2J",
        );
        let line = excerpt(&memory, 300);
        assert_eq!(line, "a ``` b ```cd[2J");
        let text = fenced(std::slice::from_ref(&line));
        assert_eq!(text, format!("````memories\n{line}\n````\n"));
        assert_eq!(
            text.chars().count(),
            line.chars().count() + 1 + FENCE_CHARACTERS
        );
    }
}
