//! Cuts a text into terms.

use std::borrow::Cow;
use std::collections::HashMap;

use rust_stemmers::Stemmer;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

use super::Language;

/// Which part of a word a term is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A word, or a bigram of a script without spaces. Only these count for a text's length.
    Word,
    /// An identifier as a whole, beside its parts.
    Whole,
}

/// Returns `text` with each character composed (NFC): macOS splits `é` into a letter and an accent.
pub fn composed(text: &str) -> Cow<'_, str> {
    match text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.nfc().collect()),
    }
}

/// Cuts texts into terms. Cheap to clone; not shared between threads, because it remembers stems.
pub struct Analyzer {
    languages: Vec<Language>,
    stemmers: Vec<Stemmer>,
    stems: HashMap<String, Vec<String>>,
    /// Room for a word in small letters.
    lower: String,
}

/// Stems remembered before the memory is emptied; more than a large vocabulary's common words.
const MAX_REMEMBERED: usize = 50_000;
/// Longer words are cut: they are data, not language.
const MAX_WORD_BYTES: usize = 200;

impl Analyzer {
    /// Returns an analyzer for texts in `languages`; with several, a word has a term for each stem.
    pub fn new(languages: &[Language]) -> Analyzer {
        Analyzer {
            languages: languages.to_vec(),
            stemmers: languages
                .iter()
                .map(|l| Stemmer::create(l.algorithm))
                .collect(),
            stems: HashMap::new(),
            lower: String::new(),
        }
    }

    /// Calls `each` with every term of `text`, in order, with the lower-case word it comes from.
    pub fn terms(&mut self, text: &str, mut each: impl FnMut(&str, &str, Part)) {
        let text: Cow<'_, str> =
            if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
                Cow::Borrowed(text)
            } else {
                Cow::Owned(text.nfkc().collect())
            };
        for chunk in text.split(|c: char| c.is_whitespace() || is_separator(c)) {
            self.chunk(chunk, &mut each);
        }
    }

    /// Returns the terms of `text` as a list.
    pub fn term_list(&mut self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.terms(text, |term, _, _| terms.push(term.to_owned()));
        terms
    }

    /// A piece between blanks and brackets: words joined by characters that identifiers hold.
    fn chunk(&mut self, chunk: &str, each: &mut impl FnMut(&str, &str, Part)) {
        // Two joiners in a row, but for `::`, join nothing: `wait...what`, `a--b`, `http://x`.
        let mut rest = chunk;
        while !rest.is_empty() {
            let cut = double_joiner(rest);
            let (piece, after) = rest.split_at(cut.unwrap_or(rest.len()));
            self.piece(piece.trim_matches(is_joiner), each);
            rest = after.trim_start_matches(is_joiner);
        }
    }

    fn piece(&mut self, piece: &str, each: &mut impl FnMut(&str, &str, Part)) {
        if piece.is_empty() {
            return;
        }
        let mut parts = 0;
        for word in piece.split(is_joiner).filter(|word| !word.is_empty()) {
            parts += self.word(word, each);
        }
        if parts > 1 && piece.len() <= MAX_WORD_BYTES && !piece.chars().any(is_unspaced) {
            let whole = piece.to_lowercase();
            each(&whole, &whole, Part::Whole);
        }
    }

    /// Passes on the parts of a word without joiners; returns their number.
    fn word(&mut self, word: &str, each: &mut impl FnMut(&str, &str, Part)) -> usize {
        if word.is_ascii() {
            return camel_parts(word).map(|part| self.emit(part, each)).count();
        }
        let mut parts = 0;
        for run in runs(word) {
            if run.chars().next().is_some_and(is_unspaced) {
                bigrams(run, |bigram| each(bigram, bigram, Part::Word));
                parts += 1;
            } else {
                for word in run.unicode_words() {
                    self.emit(word, each);
                    parts += 1;
                }
            }
        }
        parts
    }

    fn emit(&mut self, word: &str, each: &mut impl FnMut(&str, &str, Part)) {
        let mut end = word.len().min(MAX_WORD_BYTES);
        while !word.is_char_boundary(end) {
            end -= 1;
        }
        let word = &word[..end];
        if word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            // Nearly every word.
            let mut lower = std::mem::take(&mut self.lower);
            lower.clear();
            lower.push_str(word);
            lower.make_ascii_lowercase();
            self.stemmed(&lower, each);
            self.lower = lower;
            return;
        }
        let lower = word.to_lowercase().replace('’', "'");
        // A possessive is the word itself; other contractions are two words.
        let lower = lower.strip_suffix("'s").unwrap_or(&lower);
        for word in lower.split('\'').filter(|word| !word.is_empty()) {
            self.stemmed(word, each);
        }
    }

    fn stemmed(&mut self, lower: &str, each: &mut impl FnMut(&str, &str, Part)) {
        if lower.bytes().any(|b| b.is_ascii_digit()) || self.stemmers.is_empty() {
            each(lower, lower, Part::Word);
            return;
        }
        if let Some(stems) = self.stems.get(lower) {
            stems.iter().for_each(|stem| each(stem, lower, Part::Word));
            return;
        }
        let mut stems: Vec<String> = Vec::with_capacity(1);
        for stemmer in &self.stemmers {
            let stem = stemmer.stem(lower);
            if !stems.iter().any(|known| *known == stem) {
                stems.push(stem.into_owned());
            }
        }
        stems.iter().for_each(|stem| each(stem, lower, Part::Word));
        if self.stems.len() >= MAX_REMEMBERED {
            self.stems.clear();
        }
        self.stems.insert(lower.to_owned(), stems);
    }
}

impl Clone for Analyzer {
    fn clone(&self) -> Analyzer {
        Analyzer::new(&self.languages)
    }
}

/// Ends a word and joins nothing.
fn is_separator(character: char) -> bool {
    match character {
        '\'' | '’' => false,
        c if c.is_ascii() => !c.is_ascii_alphanumeric() && !is_joiner(c),
        c => !c.is_alphanumeric() && !is_mark(c),
    }
}

/// Joins the parts of an identifier.
fn is_joiner(character: char) -> bool {
    matches!(character, '_' | '-' | '.' | ':' | '/' | '@' | '#' | '+')
}

/// Returns the position of the first two adjacent joiners that are not `::`.
fn double_joiner(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let joiner = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|&b| b.is_ascii() && is_joiner(b as char))
    };
    (0..bytes.len()).find(|&at| {
        let colons = bytes[at] == b':' && bytes.get(at + 1) == Some(&b':') && !joiner(at + 2);
        joiner(at) && joiner(at + 1) && !colons && !(at > 0 && joiner(at - 1))
    })
}

/// Returns whether it is a combining mark, which belongs to the letter before it though it is none itself.
fn is_mark(character: char) -> bool {
    unicode_normalization::char::is_combining_mark(character)
        || matches!(character, '\u{200c}' | '\u{200d}')
}

/// Scripts that are written without spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0e00}'..='\u{0eff}'     // Thai, Lao
        | '\u{1000}'..='\u{109f}'   // Myanmar
        | '\u{1780}'..='\u{17ff}'   // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}'
        | '\u{20000}'..='\u{323af}')
}

/// Cuts where the kind of script changes.
fn runs(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = is_unspaced(rest.chars().next()?);
        let end = rest.find(|c| is_unspaced(c) != first).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

/// Every two neighbouring characters; one that stands alone is a term itself.
fn bigrams(run: &str, mut each: impl FnMut(&str)) {
    let starts: Vec<usize> = run
        .char_indices()
        .map(|(at, _)| at)
        .chain([run.len()])
        .collect();
    if starts.len() == 2 {
        each(run);
    }
    for window in starts.windows(3) {
        each(&run[window[0]..window[2]]);
    }
}

/// Cuts `HTTPServer` into `HTTP` and `Server`, `fooBar` into `foo` and `Bar`. ASCII only.
fn camel_parts(word: &str) -> impl Iterator<Item = &str> {
    let bytes = word.as_bytes();
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= bytes.len() {
            return None;
        }
        let mut end = start + 1;
        while end < bytes.len() {
            let (before, here) = (bytes[end - 1], bytes[end]);
            let after = bytes.get(end + 1);
            let rises = before.is_ascii_lowercase() && here.is_ascii_uppercase();
            let falls = before.is_ascii_uppercase()
                && here.is_ascii_uppercase()
                && after.is_some_and(u8::is_ascii_lowercase)
                // A plural such as `URLs` is one word.
                && !(after == Some(&b's') && end + 2 == bytes.len());
            if rises || falls {
                break;
            }
            end += 1;
        }
        let part = &word[start..end];
        start = end;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lower_cased_and_stemmed() {
        check("Running, runs; RAN!", &["run", "run", "ran"]);
        check("Caroline's dogs don’t", &["carolin", "dog", "don", "t"]);
        check("", &[]);
        check("... --- !!", &[]);
    }

    #[test]
    fn identifiers_are_found_whole_and_in_parts() {
        check("std::path", &["std", "path", "std::path"]);
        check("well-known", &["well", "known", "well-known"]);
        check("HTTPServer", &["http", "server", "httpserver"]);
        check("foo_bar", &["foo", "bar", "foo_bar"]);
        check("v1.2.3", &["v1", "2", "3", "v1.2.3"]);
        check("URLs", &["url"]);
        check("wait...what (a/b)", &["wait", "what", "a", "b", "a/b"]);
        check(
            "https://example.org/x",
            &["https", "exampl", "org", "x", "example.org/x"],
        );
    }

    #[test]
    fn scripts_without_spaces_become_bigrams() {
        check("東京都へ", &["東京", "京都", "都へ"]);
        check("猫", &["猫"]);
        check("Rustで書く", &["rust", "で書", "書く"]);
    }

    #[test]
    fn composed_and_decomposed_letters_are_one() {
        check("Ｃａｆé", &["café"]);
        check("cafe\u{301}", &["café"]);
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(
            Analyzer::new(&[Language::default()]).term_list(text),
            expected
        );
    }
}
