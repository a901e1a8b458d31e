//! Phrases: words that stand one behind the other in a text, the same for every kind of index.

use memchr::memmem;

use super::text::WantedWords;
use crate::model::Memory;
use crate::ranking::keyword::Keyword;
use crate::words::{Analyzer, composed, is_unspaced, without_marks};

/// A phrase of a filter. Case, marks of letters and the kind and number of blanks make no difference.
pub(super) struct Phrase {
    /// The phrase, as texts are compared with it.
    text: String,
    /// Its words; a memory that has the phrase has all of them. `None` if it is made of signs, such as an emoji.
    words: Option<WantedWords>,
    /// Whether it is one word, which its terms tell without the text.
    is_word: bool,
}

impl Phrase {
    /// Returns the phrase in `text`.
    pub fn of(analyzer: &mut Analyzer, text: &str) -> Phrase {
        let text = comparable(text);
        let words = WantedWords::of_phrase(analyzer, &text);
        Phrase {
            is_word: text.chars().all(|c| c.is_alphanumeric() && !is_unspaced(c)),
            words,
            text,
        }
    }

    /// Returns the words that a memory with the phrase has; `None` if it is made of signs, such as an emoji.
    pub fn words(&self) -> Option<&WantedWords> {
        self.words.as_ref()
    }

    /// Returns the text that topics or content of a memory hold which has the phrase, if it is made of signs; `None` of
    /// blanks alone, which no memory has.
    pub fn signs(&self) -> Option<Keyword> {
        Keyword::new(&self.text)
    }

    /// Returns whether a memory that has all its words has the phrase.
    pub fn is_word(&self) -> bool {
        self.is_word
    }

    /// Returns whether title, topics or content of a memory have the phrase as whole words.
    pub fn stands_in(&self, memory: &Memory) -> bool {
        let title = memory.title.as_deref();
        let fields = [title.unwrap_or_default(), &memory.content];
        let topics = memory.topics.iter().map(String::as_str);
        fields
            .into_iter()
            .chain(topics)
            .any(|text| self.is_in(text))
    }

    fn is_in(&self, text: &str) -> bool {
        let text = comparable(text);
        let joins = |at: Option<char>| at.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c));
        let (begins, ends) = (
            joins(self.text.chars().next()),
            joins(self.text.chars().next_back()),
        );
        memmem::find_iter(text.as_bytes(), self.text.as_bytes()).any(|at| {
            let before = text[..at].chars().next_back();
            let after = text[at + self.text.len()..].chars().next();
            let is_within = begins && joins(before) || ends && joins(after);
            !is_within
        })
    }
}

/// Returns a text in small letters without their marks, with one space for each run of blanks.
fn comparable(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let lower = composed(&words.join(" ")).to_lowercase();
    without_marks(&lower).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Language;

    #[track_caller]
    fn check(phrase: &str, text: &str, expected: bool) {
        let mut analyzer = Analyzer::new(&[Language::default()]);
        let is_in = Phrase::of(&mut analyzer, phrase).is_in(text);
        assert_eq!(is_in, expected, "{phrase} in {text}");
    }

    #[test]
    fn a_phrase_stands_in_a_text_as_whole_words() {
        check("release manager", "The release\n  Manager signs.", true);
        check("release  manager", "A release manager.", true);
        check("release man", "A release manager.", false);
        check("cafe noir", "Un Cafe\u{301} noir", true);
        check("C++", "We write C++, mostly.", true);
        check("c", "We write cc", false);
        check("茶を", "私は茶を飲む", true);
        check("art", "the artist", false);
    }

    #[test]
    fn a_text_with_a_phrase_has_its_words() {
        let mut analyzer = Analyzer::new(&[Language::default()]);
        for (phrase, text) in [
            ("macos", "Backups run on macOS."),
            ("devops", "The DevOps team"),
            ("5月", "2026年5月に"),
            ("第3回", "これは第3回です"),
            ("東京", "東京都の計画"),
            ("javascript", "JavaScript's types"),
            ("e-mails", "E-Mails arrive"),
            ("python3", "with Python3.12"),
        ] {
            let phrase = Phrase::of(&mut analyzer, phrase);
            assert!(phrase.is_in(text), "{text}");
            let terms = phrase.words().unwrap().terms().to_vec();
            let mut held = Vec::new();
            analyzer.terms(text, |term, _, _| held.push(term.to_owned()));
            let is_held = |terms: &Vec<String>| terms.iter().any(|term| held.contains(term));
            assert!(terms.iter().all(is_held), "{terms:?} {held:?}");
        }
    }
}
