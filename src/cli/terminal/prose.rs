//! Texts as a person reads them on a terminal: lines of its width, and what matched in colour.

use std::ops::Range;

use crate::cli::terminal::output::MATCH;
use crate::engine::QueryKind;
use crate::words::is_stop_word;

/// Shorter words say little, and stand everywhere.
const SHORTEST: usize = 3;
/// Minimum number of equal letters at the beginning of two words that are forms of one word.
const STEM: usize = 4;

/// The words of a search, to be highlighted in the texts that are shown.
pub struct HighlightedWords {
    words: Vec<String>,
    /// Parts of words count, as in a search by keywords.
    has_parts: bool,
}

impl HighlightedWords {
    pub fn of(kind: &QueryKind) -> HighlightedWords {
        let (texts, has_parts): (Vec<&str>, bool) = match kind {
            QueryKind::Text(text) => (vec![text], false),
            QueryKind::Keywords(words) => (words.iter().map(String::as_str).collect(), true),
            QueryKind::Everything => (Vec::new(), false),
        };
        let words = match has_parts {
            true => texts.iter().map(|text| text.to_lowercase()).collect(),
            false => texts
                .iter()
                .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()))
                .map(str::to_lowercase)
                .filter(|word| word.chars().count() >= SHORTEST && !is_stop_word(word))
                .collect(),
        };
        HighlightedWords { words, has_parts }
    }

    /// Returns the ranges of the words in `text` that match, from left to right.
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        let mut start = 0;
        for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
            let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric());
            let lower = bare.to_lowercase();
            let is_sought = |sought: &String| match self.has_parts {
                true => !lower.is_empty() && lower.contains(sought.as_str()),
                false => is_form_of(&lower, sought),
            };
            if self.words.iter().any(is_sought) {
                places.push(start..start + bare.len());
            }
            start += word.len();
        }
        places
    }

    /// `text` with what was searched for in colour, where colours are wanted.
    pub fn mark(&self, text: &str) -> String {
        let mut marked = String::with_capacity(text.len());
        let mut end = 0;
        for place in self.places(text) {
            marked.push_str(&text[end..place.start]);
            marked.push_str(&format!("{MATCH}{}{MATCH:#}", &text[place.clone()]));
            end = place.end;
        }
        marked.push_str(&text[end..]);
        marked
    }
}

/// Returns whether two words in lower case are one, or forms of one, such as `deploy` and `deployed`.
fn is_form_of(word: &str, other: &str) -> bool {
    let (short, long) = match word.len() <= other.len() {
        true => (word, other),
        false => (other, word),
    };
    // What a form adds is short.
    word == other
        || short.chars().count() >= STEM && long.starts_with(short) && long.len() - short.len() <= 3
}

/// `text` in lines no wider than `width`, broken between words, each behind `indent`.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let options = textwrap::Options::new(width.max(indent.len() + 20))
        .initial_indent(indent)
        .subsequent_indent(indent)
        .break_words(false);
    textwrap::fill(text, options)
}

/// Returns the columns of the terminal; `None` where there is none.
pub fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: QueryKind, text: &str) -> Vec<&str> {
        let places = HighlightedWords::of(&kind).places(text);
        places.into_iter().map(|place| &text[place]).collect()
    }

    #[test]
    fn what_was_searched_for_is_found_in_its_forms() {
        let text = "Deployed on Tuesday, to the café; deployment was slow. We deploy there.";
        let query = |text: &str| QueryKind::Text(text.to_owned());
        assert_eq!(
            found(query("how do we deploy"), text),
            ["Deployed", "deploy"]
        );
        assert_eq!(found(query("Café on"), text), ["café"]);
        let keywords = QueryKind::Keywords(vec!["ploy".to_owned()]);
        assert_eq!(found(keywords, text), ["Deployed", "deployment", "deploy"]);
        assert!(found(QueryKind::Everything, text).is_empty());
    }

    #[test]
    fn lines_are_broken_between_words_and_keep_their_indent() {
        let text = "one two three four five six seven eight";
        assert_eq!(
            wrapped(text, 24, "    "),
            "    one two three four\n    five six seven eight"
        );
        // Such letters are two columns wide.
        assert_eq!(
            wrapped("東京 ".repeat(9).trim(), 24, ""),
            "東京 東京 東京 東京 東京\n東京 東京 東京 東京"
        );
    }
}
