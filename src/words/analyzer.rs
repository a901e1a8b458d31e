//! Cuts a text into terms.

use std::borrow::Cow;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::char::{decompose_canonical, is_combining_mark};
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
    /// The name or the number of the word that follows, such as `python` and `3` of `python3`. A text is found by it; in
    /// a query it counts where no text has the word.
    Within,
}

/// Returns `text` with each character composed (NFC): macOS splits `é` into a letter and an accent.
pub fn composed(text: &str) -> Cow<'_, str> {
    match text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.nfc().collect()),
    }
}

/// Returns a word in small letters without the marks of its Latin and Greek letters, and with `e` for the Cyrillic
/// `ё`: people leave them out. Other letters with a mark, such as `й`, are letters of their own.
pub fn without_marks(lower: &str) -> Cow<'_, str> {
    if lower.is_ascii() {
        return Cow::Borrowed(lower);
    }
    let mut plain = String::with_capacity(lower.len());
    let mut is_plain = false;
    for character in lower.chars() {
        match character {
            'ß' => plain.push_str("ss"),
            'æ' => plain.push_str("ae"),
            'œ' => plain.push_str("oe"),
            'ø' => plain.push('o'),
            'ł' => plain.push('l'),
            'đ' => plain.push('d'),
            'ı' => plain.push('i'),
            'ё' => plain.push('е'),
            mark if is_combining_mark(mark) && is_plain => continue,
            _ => {
                let mut base = None;
                decompose_canonical(character, |part| base = base.or(Some(part)));
                let base = base.unwrap_or(character);
                is_plain = matches!(base, 'a'..='z' | 'α'..='ω');
                plain.push(if is_plain { base } else { character });
                continue;
            }
        }
        is_plain = false;
    }
    Cow::Owned(plain)
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

    /// Returns the terms of `text` as a list, without the names and numbers within its words.
    pub fn term_list(&mut self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.terms(text, |term, _, part| {
            if part != Part::Within {
                terms.push(term.to_owned());
            }
        });
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
            if let Some(name) = name_with_sign(piece, after) {
                each(&name, &name, Part::Whole);
            }
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
            self.emit_within(piece, each);
            let whole = piece.to_lowercase().replace('’', "'");
            let whole = whole.strip_suffix("'s").unwrap_or(&whole);
            // A word like others, as people write `wi-fi` and `macOS`, too.
            if whole.chars().all(|c| c == '-' || c.is_alphabetic()) {
                self.stemmed(&whole.replace('-', ""), Part::Whole, each);
            } else {
                let whole = without_marks(whole);
                each(&whole, &whole, Part::Whole);
            }
        }
    }

    /// Passes on the parts of a word without joiners; returns their number.
    fn word(&mut self, word: &str, each: &mut impl FnMut(&str, &str, Part)) -> usize {
        if word.is_ascii() {
            let mut parts = 0;
            for part in camel_parts(word) {
                self.emit_within(part, each);
                self.emit(part, Part::Word, each);
                parts += 1;
            }
            return parts;
        }
        let mut parts = 0;
        for run in runs(word) {
            if run.chars().next().is_some_and(is_unspaced) {
                bigrams(run, |bigram| each(bigram, bigram, Part::Word));
                parts += 1;
            } else {
                for word in run.unicode_words() {
                    self.emit(word, Part::Word, each);
                    parts += 1;
                }
            }
        }
        parts
    }

    /// Passes on the name and the number that a word is made of, if it is.
    fn emit_within(&mut self, word: &str, each: &mut impl FnMut(&str, &str, Part)) {
        if let Some((name, number)) = name_and_number(word) {
            self.emit(name, Part::Within, each);
            self.emit(number, Part::Within, each);
        }
    }

    fn emit(&mut self, word: &str, part: Part, each: &mut impl FnMut(&str, &str, Part)) {
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
            self.stemmed(&lower, part, each);
            self.lower = lower;
            return;
        }
        let lower = word.to_lowercase().replace('’', "'");
        // A possessive is the word itself; other contractions are two words.
        let lower = lower.strip_suffix("'s").unwrap_or(&lower);
        for word in lower.split('\'').filter(|word| !word.is_empty()) {
            self.stemmed(word, part, each);
        }
    }

    fn stemmed(&mut self, lower: &str, part: Part, each: &mut impl FnMut(&str, &str, Part)) {
        if lower.bytes().any(|b| b.is_ascii_digit()) || self.stemmers.is_empty() {
            each(&without_marks(lower), lower, part);
            return;
        }
        if let Some(stems) = self.stems.get(lower) {
            stems.iter().for_each(|stem| each(stem, lower, part));
            return;
        }
        let mut stems: Vec<String> = Vec::with_capacity(1);
        for (language, stemmer) in self.languages.iter().zip(&self.stemmers) {
            // English has no marks, and cuts a word by its letters; other stemmers know theirs.
            let stem = match language.algorithm {
                Algorithm::English => stemmer.stem(&without_marks(lower)).into_owned(),
                _ => without_marks(&stemmer.stem(lower)).into_owned(),
            };
            if !stems.contains(&stem) {
                stems.push(stem);
            }
        }
        stems.iter().for_each(|stem| each(stem, lower, part));
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

/// Returns the name at the end of `piece` with the sign that tells it from others, such as `c++` and `c#`, if it has
/// one there or at the start of `after`.
fn name_with_sign(piece: &str, after: &str) -> Option<String> {
    let name = piece.strip_suffix('#').unwrap_or(piece);
    let sign = match after {
        after if after.starts_with("++") => "++",
        after if after.starts_with('#') || name.len() < piece.len() => "#",
        _ => return None,
    };
    let name = name.rsplit(is_joiner).next().unwrap_or_default();
    let is_word =
        !name.is_empty() && name.len() <= MAX_WORD_BYTES && !name.chars().any(is_unspaced);
    is_word.then(|| name.to_lowercase() + sign)
}

/// Returns whether it is a combining mark, which belongs to the letter before it though it is none itself.
fn is_mark(character: char) -> bool {
    is_combining_mark(character) || matches!(character, '\u{200c}' | '\u{200d}')
}

/// Returns whether a character is of a script that is written without spaces between words.
pub fn is_unspaced(character: char) -> bool {
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

/// Cuts `python3` into `python` and `3`, as it may be written; `None` of other words. What has fewer than three letters, or other ones behind
/// its number, is one word, such as `h264` and `log4j`. ASCII only.
fn name_and_number(word: &str) -> Option<(&str, &str)> {
    if !word.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_name = name.len() >= 3 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_name.then(|| word.split_at(name.len()))
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
        check("well-known", &["well", "known", "wellknown"]);
        check("e-mails emails", &["e", "mail", "email", "email"]);
        check("ABC-12 x-1", &["abc", "12", "abc-12", "x", "1", "x-1"]);
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
        check("Ｃａｆé", &["cafe"]);
        check("cafe\u{301}", &["cafe"]);
    }

    #[test]
    fn marks_that_people_leave_out_make_no_difference() {
        check(
            "Crème brûlée, résumés",
            &["crème", "brûlée", "résumés"].map(plain),
        );
        check(
            "Łódź Ångström smørrebrød",
            &["lodz", "angstrom", "smorrebrod"],
        );
        check("Straße ΆΘΗΝΑ", &["strass", "αθηνα"]);
        // Letters of their own.
        check("ёлка край", &["елка", "край"]);
        let german: Language = "german".parse().unwrap();
        let mut german = Analyzer::new(&[german]);
        assert_eq!(
            german.term_list("Münchens Häuser"),
            german.term_list("munchens hauser")
        );
    }

    /// The term of the word without its marks.
    fn plain(word: &str) -> &'static str {
        let terms = Analyzer::new(&[Language::default()]).term_list(&without_marks(word));
        terms[0].clone().leak()
    }

    #[test]
    fn names_that_end_in_a_sign_are_terms_beside_their_words() {
        check(
            "C++, C# and F#.",
            &["c", "c++", "c", "c#", "and", "f", "f#"],
        );
        check("C++11 C#-like", &["c", "c++", "11", "c", "c#", "like"]);
        check("# Title ++ a#b", &["titl", "a", "b", "a#b"]);
    }

    #[test]
    fn a_name_with_a_number_is_found_by_its_name() {
        check_all("Python3", &["python", "3", "python3"]);
        check_all(
            "OAuth2",
            &["o", "auth", "2", "auth2", "oauth", "2", "oauth2"],
        );
        check_all("OAuth2/x", &["o", "auth", "2", "auth2", "x", "oauth2/x"]);
        check_all("h264 log4j 3f2a9c1", &["h264", "log4j", "3f2a9c1"]);
        check("Python3", &["python3"]);
    }

    #[track_caller]
    fn check_all(text: &str, expected: &[&str]) {
        let mut terms = Vec::new();
        let mut analyzer = Analyzer::new(&[Language::default()]);
        analyzer.terms(text, |term, _, _| terms.push(term.to_owned()));
        assert_eq!(terms, expected);
    }

    #[test]
    fn a_word_with_inner_capitals_is_stemmed_as_a_whole() {
        check("macOS DevOps", &["mac", "os", "maco", "dev", "op", "devop"]);
        check("macos devops", &["maco", "devop"]);
        check("JavaScript's", &["java", "script", "javascript"]);
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(
            Analyzer::new(&[Language::default()]).term_list(text),
            expected
        );
    }
}
