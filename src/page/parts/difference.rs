//! Two texts line by line, with the words marked that differ.

use maud::{Markup, html};

use super::error::PageError;
use super::texts;
use crate::engine::EngineError;
use crate::git::{LineKind, compare_texts, mark_words};

/// Number of equal lines around a difference.
const AROUND: u32 = 3;
/// Number of lines that are shown.
const MOST_LINES: usize = 2_000;
/// Maximum number of characters of a line.
const MOST_WIDTH: usize = 4_000;

/// Returns the difference of two texts. A long one is cut, and says so.
pub(in crate::page) fn difference(before: &[u8], after: &[u8]) -> Result<Markup, PageError> {
    let lines = compare_texts(before, after, AROUND).map_err(EngineError::Git)?;
    if lines.is_empty() {
        return Ok(html! { p.nothing { (texts::NO_DIFFERENCE) } });
    }
    let (shown, rest) = lines.split_at(lines.len().min(MOST_LINES));
    let shown = mark_words(shown);
    Ok(html! {
        pre.difference tabindex="0" {
            @for line in &shown {
                @let words = cut(&line.words);
                @match line.kind {
                    LineKind::Place => { span.place { (plain(&words)) "\n" } }
                    LineKind::Same => { span { "  " (plain(&words)) "\n" } }
                    LineKind::Added => { ins { "+ " (in_words(&words)) "\n" } }
                    LineKind::Removed => { del { "- " (in_words(&words)) "\n" } }
                    LineKind::NoEnd => {}
                }
            }
            @if !rest.is_empty() { span.place { "… " (rest.len()) " " (texts::MORE_DIFFERENCE) "\n" } }
        }
    })
}

fn plain(words: &[(String, bool)]) -> String {
    words.iter().map(|(word, _)| word.as_str()).collect()
}

fn in_words(words: &[(String, bool)]) -> Markup {
    html! {
        @for (word, differs) in words {
            @if *differs { mark { (word) } } @else { (word) }
        }
    }
}

fn cut(words: &[(String, bool)]) -> Vec<(String, bool)> {
    let mut left = MOST_WIDTH;
    let mut cut = Vec::new();
    for (word, differs) in words {
        let shown: String = word.chars().take(left).collect();
        left -= shown.chars().count();
        let is_whole = shown.len() == word.len();
        cut.push((shown, *differs));
        if !is_whole {
            cut.push(("…".to_owned(), false));
            break;
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_says_where_it_is_cut() {
        let long = "x".repeat(MOST_WIDTH);
        let shown = |after: &str| {
            let shown = difference(b"", after.as_bytes()).unwrap();
            shown.into_string()
        };
        assert!(!shown(&format!("{long}\n")).contains('…'));
        assert!(shown(&format!("{long}y\n")).contains("x…\n</ins>"));
        let lines = "a\n".repeat(MOST_LINES + 10);
        // One line more: that of the place.
        assert!(
            shown(&lines).contains("… 11 more lines"),
            "{}",
            shown(&lines).len()
        );
    }
}
