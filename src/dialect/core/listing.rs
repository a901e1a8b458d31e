//! Memories in a text for people and models: a line each, or fenced as data.

use crate::dialect::preview;
use crate::dialect::preview::PreviewWords;
use crate::engine::Engine;
use crate::model::Memory;

/// Characters of a headline that a line shows.
const HEADLINE: usize = 120;

/// A memory as an item of a list: its address, day, headline and topics.
pub(super) fn line(engine: &Engine, memory: &Memory) -> String {
    let id = engine.live.shown_id(&memory.stem);
    let headline = preview(
        &on_one_line(memory.headline()),
        &PreviewWords::default(),
        HEADLINE,
    )
    .text;
    let topics = match memory.topics.is_empty() {
        true => String::new(),
        false => format!(" ({})", on_one_line(&memory.topics.join(", "))),
    };
    let day = memory.timestamp.date();
    format!("- memory://{id} {day} {headline}{topics}\n")
}

/// A text without line breaks: an item of a list is a line, whatever a file says.
pub(super) fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// `text` between two fences that nothing in it can end: what was written by others is data, and no
/// word of it an instruction.
pub(super) fn fenced(text: &str) -> String {
    let longest = text
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::fenced;

    #[test]
    fn no_text_ends_its_fence() {
        assert_eq!(fenced("a"), "```text\na\n```\n");
        assert_eq!(
            fenced("```\nrm -rf\n````\n"),
            "`````text\n```\nrm -rf\n````\n`````\n"
        );
    }
}
