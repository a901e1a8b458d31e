//! Memories in a text for people and models: one line each, or fenced as data.

use crate::dialect::preview;
use crate::dialect::preview::PreviewWords;
use crate::engine::Engine;
use crate::model::Memory;

/// Maximum number of characters of a headline in a line.
const HEADLINE: usize = 120;

/// Returns a memory as an item of a list: its address, day, headline and topics.
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

/// Returns a text without line breaks, as one item of a list.
pub(super) fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// Returns `text` between two fences that nothing in it can end, which mark it as data, not
/// instructions.
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
