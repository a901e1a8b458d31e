//! Previews: the part of a text that matches a search.

use std::collections::HashSet;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem::Finder;
use unicode_segmentation::GraphemeCursor;

use crate::engine::QueryKind;

/// Words of a search that a preview shows.
pub struct PreviewWords(Words);

enum Words {
    Few(Vec<Finder<'static>>),
    Many(ManyWords),
}

/// Words that are searched for together: a question may have a hundred thousand.
struct ManyWords {
    words: Vec<String>,
    /// Automata, made at the first use.
    automata: OnceLock<Vec<AhoCorasick>>,
}

/// Maximum number of words that are searched for one by one: automata cost more to make.
const FEW: usize = 64;
/// Maximum number of words of one automaton: the time to make one grows with the square of it.
const AUTOMATON_WORDS: usize = 1_000;

impl ManyWords {
    /// Returns the byte offset of the first match of a word in `text`.
    fn first_in(&self, text: &str) -> Option<usize> {
        let automata = self.automata.get_or_init(|| {
            let automata = self.words.chunks(AUTOMATON_WORDS).map(|words| {
                let mut builder = AhoCorasick::builder();
                builder.match_kind(MatchKind::LeftmostFirst).build(words)
            });
            // Words longer than an automaton can hold are not looked for.
            automata.filter_map(Result::ok).collect()
        });
        let found = automata.iter().filter_map(|automaton| automaton.find(text));
        found.map(|found| found.start()).min()
    }
}

impl Default for PreviewWords {
    fn default() -> PreviewWords {
        PreviewWords(Words::Few(Vec::new()))
    }
}

impl PreviewWords {
    /// Returns the words of a search, without short ones of a sentence.
    pub fn of(kind: &QueryKind) -> PreviewWords {
        let words: Vec<String> = match kind {
            QueryKind::Keywords(words) => words
                .iter()
                .map(|word| word.trim().to_lowercase())
                .collect(),
            QueryKind::Text(text) => text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| word.chars().count() > 3)
                .map(str::to_lowercase)
                .collect(),
            QueryKind::Everything => Vec::new(),
        };
        PreviewWords::these(&words)
    }

    /// Returns which of at most 64 words stand in `text`, which is in lower case, a bit each; none of more
    /// words.
    pub fn held_by(&self, text: &str) -> u64 {
        let Words::Few(words) = &self.0 else {
            return 0;
        };
        let held = words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.find(text.as_bytes()).is_some());
        held.fold(0, |all, (number, _)| all | 1 << number)
    }

    /// Returns the distinct words of `words`, which are in lower case.
    fn these(words: &[String]) -> PreviewWords {
        let mut known: HashSet<&String> = HashSet::new();
        let distinct = words.iter().filter(|word| known.insert(word));
        let words: Vec<String> = distinct.cloned().collect();
        if words.len() > FEW {
            let automata = OnceLock::new();
            return PreviewWords(Words::Many(ManyWords { words, automata }));
        }
        let few = words.iter();
        let finders = few.map(|word| Finder::new(word).into_owned());
        PreviewWords(Words::Few(finders.collect()))
    }
}

/// A piece of a content, on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The text.
    pub text: String,
    /// Whether anything of the content is missing.
    pub truncated: bool,
}

/// Returns about `length` characters of `content`: its beginning, or the surroundings of the
/// first of `words` if that lies further down. Blanks and line breaks are one space each; what is
/// left out is marked by `…`.
pub fn preview(content: &str, words: &PreviewWords, length: usize) -> Preview {
    let is_ascii = content.is_ascii();
    let is_short = match is_ascii {
        true => content.len() <= length,
        false => content.chars().nth(length).is_none(),
    };
    if is_short {
        // All of it, as it is: a second call can be spared.
        return Preview {
            text: content.to_owned(),
            truncated: false,
        };
    }
    let first = first_match(content, words).unwrap_or(0);
    let back = |at: usize, count: usize| match is_ascii {
        true => at.saturating_sub(count),
        false => back(content, at, count),
    };
    // A third of the piece stands before the word, so that its sentence is understood.
    let before = length / 3;
    let start = back(first, before);
    let start = if back(first, length - before) == 0 {
        0
    } else {
        whole_from(content, word_start(content, start))
    };
    let mut text = String::with_capacity(length + length / 8);
    if start > 0 {
        text.push('…');
    }
    let mark = text.len();
    let mut left = length;
    let mut end = start;
    for word in content[start..].split_whitespace() {
        let is_first = text.len() == mark;
        let letters = match is_ascii {
            true => word.len(),
            false => word.chars().count(),
        };
        let count = letters + usize::from(!is_first);
        if count > left && !is_first {
            break;
        }
        if !is_first {
            text.push(' ');
        }
        match letters <= left {
            true => text.push_str(word),
            // One endless word is cut: better a part of it than nothing.
            false => text.push_str(first_signs(word, left)),
        }
        left = left.saturating_sub(count);
        end = word.as_ptr() as usize - content.as_ptr() as usize + word.len();
    }
    if !content[end..].trim().is_empty() || left == 0 {
        text.push('…');
    }
    Preview {
        text,
        truncated: true,
    }
}

/// Returns the byte offset of the first match of `words` in `content`, without case.
fn first_match(content: &str, words: &PreviewWords) -> Option<usize> {
    if content.is_ascii() {
        return first_of(words, &content.to_ascii_lowercase());
    }
    let mut lower = String::with_capacity(content.len());
    lower.extend(content.chars().flat_map(char::to_lowercase));
    let found = first_of(words, &lower)?;
    // Lower case may be longer or shorter: how far it comes is counted again.
    let mut counted = 0;
    let origin = content.char_indices().find(|(_, character)| {
        counted += character.to_lowercase().map(char::len_utf8).sum::<usize>();
        counted > found
    });
    Some(origin.map_or(content.len(), |(at, _)| at))
}

/// Returns the byte offset of the first match of `words` in `text`.
fn first_of(words: &PreviewWords, text: &str) -> Option<usize> {
    let words = match &words.0 {
        Words::Few(words) => words,
        Words::Many(words) => return words.first_in(text),
    };
    words.iter().fold(None, |first, word| {
        // After the first one, another is of interest only where it begins before.
        let end = first.map_or(text.len(), |first: usize| {
            text.len().min(first.saturating_add(word.needle().len()))
        });
        word.find(&text.as_bytes()[..end]).or(first)
    })
}

/// Returns the offset `count` characters before `at`, or the beginning.
fn back(text: &str, at: usize, count: usize) -> usize {
    text[..at]
        .char_indices()
        .rev()
        .take(count)
        .last()
        .map_or(at, |(start, _)| start)
}

/// Returns the beginning of the next word from `at` on.
fn word_start(text: &str, at: usize) -> usize {
    if at == 0 || text[..at].ends_with(char::is_whitespace) {
        return at;
    }
    // A script without blanks has no word to wait for.
    let near = text[at..]
        .char_indices()
        .take(20)
        .find(|(_, c)| c.is_whitespace());
    near.map_or(at, |(offset, _)| at + offset)
}

/// Returns the first place from `at` on where no sign is torn from what belongs to it, such as an accent.
fn whole_from(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.next_boundary(text, 0).ok().flatten().unwrap_or(at),
        _ => at,
    }
}

/// Returns the first `count` characters of `text`, without those that belong to a sign which is not whole.
fn first_signs(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count);
    let end = end.map_or(text.len(), |(at, _)| at);
    let mut cursor = GraphemeCursor::new(end, text.len(), true);
    let whole = match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.prev_boundary(text, 0).ok().flatten(),
        _ => Some(end),
    };
    &text[..whole.filter(|whole| *whole > 0).unwrap_or(end)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_content_is_shown_whole() {
        let shown = preview("Two\nlines.", &PreviewWords::default(), 20);
        assert_eq!(
            shown,
            Preview {
                text: "Two\nlines.".to_owned(),
                truncated: false
            }
        );
    }

    #[test]
    fn a_long_content_is_shown_where_the_word_is() {
        let content = format!(
            "{} the needle lies here {}",
            "hay ".repeat(100),
            "hay ".repeat(100)
        );
        let shown = preview(
            &content,
            &PreviewWords::of(&QueryKind::Keywords(vec!["needle".to_owned()])),
            60,
        );
        assert!(
            shown.truncated && shown.text.contains("needle"),
            "{}",
            shown.text
        );
        assert!(shown.text.chars().count() <= 62 && shown.text.starts_with('…'));
        let start = preview(&content, &PreviewWords::default(), 60);
        assert!(start.text.starts_with("hay") && start.text.ends_with('…'));
    }

    #[test]
    fn no_sign_is_torn_apart() {
        let family = "👨\u{200d}👩\u{200d}👧";
        let content = format!("{}needle{}", family.repeat(60), "e\u{301}".repeat(99));
        let words = PreviewWords::of(&QueryKind::Keywords(vec!["needle".to_owned()]));
        for length in 50..70 {
            let shown = preview(&content, &words, length).text;
            let shown = shown.trim_matches('…');
            assert!(shown.starts_with(family), "{shown}");
            assert!(shown.ends_with("e\u{301}"), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn the_first_of_the_words_is_found_in_any_case(
            content in "[abcABC \u{130}\u{1e9e}\u{e9}\u{c9}]{0,40}",
            words in prop_oneof![
                prop::collection::vec("[abc \u{e9}]{0,3}|i\u{307}", 0..4),
                prop::collection::vec("[abc \u{e9}]{3,5}|i\u{307}", 100..120),
            ],
        ) {
            let mut lower = String::new();
            let mut origins = Vec::new();
            for (at, character) in content.char_indices() {
                lower.extend(character.to_lowercase());
                origins.resize(lower.len(), at);
            }
            let places = words.iter().filter_map(|word| lower.find(word.as_str()));
            let expected = places.min().map(|place| origins.get(place).copied().unwrap_or(0));
            prop_assert_eq!(first_match(&content, &PreviewWords::these(&words)), expected);
        }
    }

    #[test]
    fn no_character_is_cut_in_two() {
        let content = "日本語のテキスト😀です。İstanbul ß ǆ und so weiter bis ans Ende";
        let words = PreviewWords::of(&QueryKind::Keywords(vec!["ß".to_owned()]));
        for length in 1..40 {
            let shown = preview(content, &words, length);
            let piece = shown.text.trim_matches('…');
            assert!(shown.truncated && content.contains(piece), "{shown:?}");
            assert!((1..=length).contains(&piece.chars().count()), "{shown:?}");
            // From a third of the piece on, the word that was looked for is in it.
            assert!(piece.contains('ß') || length < 4, "{length}: {shown:?}");
        }
    }
}
