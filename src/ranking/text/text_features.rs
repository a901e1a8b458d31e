//! Features of a memory's text, computed when it is indexed, for the ranking.

use std::sync::LazyLock;

use regex::Regex;

use super::role::Role;
use super::standing::{instructs, prefers};
use crate::words::{Part, TextVector, WordVectors, is_stop_word};

/// Sketch of a text's words, for the estimate of the similarity of two texts (bottom-k sketch of hashed
/// terms; Broder 1997). Ascending, padded with `u16::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sketch(pub [u16; 16]);

impl Sketch {
    /// The sketch of a text without words.
    pub const EMPTY: Sketch = Sketch([u16::MAX; 16]);
}

/// Number of 64-bit numbers that hold a sketch.
pub const SKETCH_PARTS: usize = 4;

impl Sketch {
    /// Makes the sketch of hashed terms.
    fn of(mut hashes: Vec<u16>) -> Sketch {
        hashes.sort_unstable();
        hashes.dedup();
        let mut sketch = [u16::MAX; 16];
        for (slot, hash) in sketch.iter_mut().zip(hashes) {
            *slot = hash;
        }
        Sketch(sketch)
    }

    /// Returns the stored form.
    pub fn pack(self) -> [u64; SKETCH_PARTS] {
        let mut parts = [0; SKETCH_PARTS];
        for (at, hash) in self.0.into_iter().enumerate() {
            parts[at / 4] |= u64::from(hash) << (at % 4 * 16);
        }
        parts
    }

    /// Reads the stored form.
    pub fn unpack(parts: [u64; SKETCH_PARTS]) -> Sketch {
        let mut sketch = [0; 16];
        for (at, slot) in sketch.iter_mut().enumerate() {
            *slot = (parts[at / 4] >> (at % 4 * 16)) as u16;
        }
        Sketch(sketch)
    }

    /// Estimates the Jaccard similarity of the words of two texts.
    pub fn similarity(&self, other: &Sketch) -> f32 {
        let (mut here, mut there, mut seen, mut shared) = (0, 0, 0, 0);
        while seen < self.0.len() && here < self.0.len() && there < other.0.len() {
            let (a, b) = (self.0[here], other.0[there]);
            if a.min(b) == u16::MAX {
                break;
            }
            seen += 1;
            shared += usize::from(a == b);
            here += usize::from(a <= b);
            there += usize::from(b <= a);
        }
        if seen == 0 {
            0.0
        } else {
            shared as f32 / seen as f32
        }
    }
}

/// Features of one memory's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFeatures {
    /// Number of words of the content, at most 65,535.
    pub words: u16,
    /// Number of distinct content words of the title, 1–63.
    pub title_words: u8,
    /// Whether it ends with a question mark.
    pub asks: bool,
    /// Whether it has a question mark anywhere.
    pub has_question: bool,
    /// Whether a short text has a capitalised word inside a sentence: it names something.
    pub names: bool,
    /// Whether a short text has a time: a weekday, a month, a year, "yesterday".
    pub tells_time: bool,
    /// Whether it has a number, in digits or words.
    pub has_number: bool,
    /// Whether a short text has a capitalised word after "in", "at", "from" and the like.
    pub has_place: bool,
    /// Whether it gives a reason: "because", "so that", "helped".
    pub has_reason: bool,
    /// Whether a short message of a person asks for something for good.
    pub instructs: bool,
    /// Whether a short message of a person says what is preferred.
    pub prefers: bool,
    /// Whether the author speaks of himself: in the first person, or by his name.
    pub is_of_author: bool,
    /// Sketch of the content's words.
    pub sketch: Sketch,
}

/// Maximum number of bytes of a text that are searched for names and times.
const LOOK_BYTES: usize = 16 * 1024;
/// Maximum number of words of a text that is searched for names and times; more than ranking uses.
const MAX_JUDGED_WORDS: u16 = 200;

static CAPITAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[a-z0-9,;] (?:[A-HJ-Z][a-z]|I[a-z])").expect("it is valid"));

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    const DAYS: &str = "monday|tuesday|wednesday|thursday|friday|saturday|sunday";
    const MONTHS: &str =
        "january|february|march|april|june|july|august|september|october|november|december";
    const PERIODS: &str = "week|weekend|month|year|night|summer|winter|spring|fall|autumn|may";
    let pattern = format!(
        r"(?i)\b(?:yesterday|today|tonight|tomorrow|ago|(?:last|next|this|past|previous|following|every) (?:{PERIODS}|{DAYS}|{MONTHS})|weeks?|months?|years?|days?|weekend|recently|{DAYS}|{MONTHS}|in may|(?:19|20)[0-9]{{2}})\b"
    );
    Regex::new(&pattern).expect("it is valid")
});

/// Returns whether a text has a capitalised word inside a sentence: it names something.
fn names_something(text: &str) -> bool {
    CAPITAL.is_match(text)
}

/// Returns whether a text has a time: a weekday, a month, a year, "yesterday".
fn tells_time(text: &str) -> bool {
    TIME.is_match(text)
}

/// Returns whether a lower-case word is a number.
fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        || matches!(
            word,
            "two"
                | "three"
                | "four"
                | "five"
                | "six"
                | "seven"
                | "eight"
                | "nine"
                | "ten"
                | "twelve"
                | "dozen"
                | "couple"
                | "once"
                | "twice"
                | "few"
                | "several"
                | "hundred"
                | "thousand"
                | "half"
                | "million"
        )
}

/// Returns whether somebody who uses a lower-case word speaks of himself. "I'm" is two words.
fn is_first_person(word: &str) -> bool {
    matches!(
        word,
        "i" | "im" | "ive" | "my" | "me" | "mine" | "we" | "our" | "ours" | "us"
    )
}

/// Returns whether a lower-case word gives a reason.
fn is_reason(word: &str) -> bool {
    matches!(
        word,
        "because"
            | "cause"
            | "since"
            | "help"
            | "helps"
            | "helped"
            | "reason"
            | "reasons"
            | "therefore"
    ) || word.starts_with("inspir")
        || word.starts_with("motivat")
}

/// Returns whether a capitalised word stands after one that leads to a place: "in Bern", "at the Louvre".
fn has_place(text: &str) -> bool {
    let (mut before, mut last) = ("", "");
    for word in text.split_ascii_whitespace() {
        let mut letters = word.chars();
        let is_capital = letters.next().is_some_and(char::is_uppercase);
        if is_capital && letters.next().is_some_and(char::is_lowercase) {
            let leading = match last {
                "the" => before,
                _ => last,
            };
            if is_before_places(leading) {
                return true;
            }
        }
        (before, last) = (last, word);
    }
    false
}

/// Returns whether a place may follow a word.
fn is_before_places(word: &str) -> bool {
    matches!(
        word,
        "in" | "In"
            | "at"
            | "At"
            | "to"
            | "To"
            | "from"
            | "From"
            | "near"
            | "Near"
            | "around"
            | "Around"
            | "visit"
            | "visited"
            | "visiting"
            | "through"
            | "Through"
    )
}

/// Place of the first flag in a packed number.
const FIRST_FLAG: u32 = 22;

/// Part of a memory that holds a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPart {
    Title,
    Content,
    Other,
}

/// Builder of features, filled while a memory's texts are cut into terms.
#[derive(Debug, Default)]
pub struct TraitsBuilder {
    words: u16,
    has_number: bool,
    has_reason: bool,
    is_of_author: bool,
    /// First word of the author's name in lower case.
    author: String,
    /// The last word of the content, if it begins a reason in two words: "so that".
    begins_reason: bool,
    title: Vec<String>,
    hashes: Vec<u16>,
    vectors: WordVectors,
}

impl TraitsBuilder {
    /// Returns the builder for a memory of this user.
    pub fn new(user: &str) -> TraitsBuilder {
        let first = user.split(|c: char| !c.is_alphanumeric()).next();
        TraitsBuilder {
            author: first.unwrap_or_default().to_lowercase(),
            ..TraitsBuilder::default()
        }
    }

    /// Adds the next term, with the word it comes from.
    pub fn term(&mut self, text: TextPart, term: &str, word: &str, part: Part) {
        match text {
            TextPart::Content => {
                self.words = self.words.saturating_add(u16::from(part == Part::Word));
                self.has_number |= is_number(word);
                self.is_of_author |= is_first_person(word) || word == self.author;
                self.has_reason |=
                    is_reason(word) || self.begins_reason && matches!(word, "that" | "i" | "to");
                self.begins_reason = matches!(word, "so" | "want" | "wanted");
                if !is_stop_word(word) {
                    self.hashes.push(hash(term));
                    if part == Part::Word {
                        self.vectors.add(word, 1.0);
                    }
                }
            }
            TextPart::Title => {
                if is_stop_word(word) {
                    return;
                }
                if part == Part::Word {
                    self.vectors.add(word, 1.0);
                }
                if self.title.len() < MOST_TITLE_WORDS
                    && !self.title.iter().any(|known| known == term)
                {
                    self.title.push(term.to_owned());
                }
            }
            TextPart::Other => {}
        }
    }

    /// Returns the vector of the words of title and content, without function words.
    pub fn vector(&self) -> TextVector {
        self.vectors.pack()
    }

    /// Returns the features of the memory with this content and user.
    pub fn finish(self, content: &str, user: &str) -> TextFeatures {
        let text = content.trim_end();
        let mut end = text.len().min(LOOK_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // Only for short memories: nearly every long one has a capital and a date.
        let judged = if self.words <= MAX_JUDGED_WORDS {
            &text[..end]
        } else {
            ""
        };
        // Of other texts nothing asks for it.
        let is_message = Role::of(user) == Some(Role::Person);
        TextFeatures {
            words: self.words,
            title_words: self.title.len().clamp(1, MOST_TITLE_WORDS) as u8,
            asks: text.ends_with(['?', '？']),
            has_question: memchr::memchr(b'?', text.as_bytes()).is_some() || text.contains('？'),
            names: names_something(judged),
            tells_time: tells_time(judged),
            has_number: self.has_number,
            has_place: has_place(judged),
            has_reason: self.has_reason,
            instructs: is_message && self.words <= MAX_INSTRUCTION_WORDS && instructs(judged),
            prefers: is_message && prefers(judged),
            is_of_author: self.is_of_author,
            sketch: Sketch::of(self.hashes),
        }
    }
}

/// Maximum number of distinct words of a title that are counted.
const MOST_TITLE_WORDS: usize = 63;
/// Maximum number of words of a standing instruction: longer messages are tasks.
const MAX_INSTRUCTION_WORDS: u16 = 60;

/// Maximum number of words of a memory that is embedded in one piece: few models take more.
pub const LONG_WORDS: u16 = 200;
/// Approximate number of words of a piece.
pub const PIECE_WORDS: f32 = 40.0;

impl TextFeatures {
    /// Returns whether the memory is embedded in pieces.
    pub fn is_long(&self) -> bool {
        self.words > LONG_WORDS
    }

    /// Estimates the number of its pieces.
    pub fn pieces(&self) -> f32 {
        match self.is_long() {
            true => f32::from(self.words) / PIECE_WORDS,
            false => 1.0,
        }
    }

    /// Returns everything but the sketch, as one number.
    pub fn pack(&self) -> u32 {
        u32::from(self.words) | u32::from(self.title_words) << 16 | self.flags()
    }

    /// Returns the flags at their places in the packed number.
    fn flags(&self) -> u32 {
        let flags = [
            self.asks,
            self.has_question,
            self.names,
            self.tells_time,
            self.has_number,
            self.has_place,
            self.has_reason,
            self.instructs,
            self.prefers,
            self.is_of_author,
        ];
        let places = flags.into_iter().zip(FIRST_FLAG..);
        places.fold(0, |all, (flag, place)| all | u32::from(flag) << place)
    }

    /// Returns the number of words in a packed number.
    pub fn words_of(packed: u32) -> u16 {
        packed as u16
    }

    /// Reads a packed number.
    pub fn unpack(packed: u32, sketch: Sketch) -> TextFeatures {
        let has = |flag: u32| packed >> (FIRST_FLAG + flag) & 1 == 1;
        TextFeatures {
            words: TextFeatures::words_of(packed),
            title_words: (packed >> 16) as u8 & MOST_TITLE_WORDS as u8,
            asks: has(0),
            has_question: has(1),
            names: has(2),
            tells_time: has(3),
            has_number: has(4),
            has_place: has(5),
            has_reason: has(6),
            instructs: has(7),
            prefers: has(8),
            is_of_author: has(9),
            sketch,
        }
    }
}

/// Returns the FNV-1a hash, folded to 16 bits: it is stored in the index, so it must never change.
fn hash(term: &str) -> u16 {
    let hash = term.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let sketch = Sketch::of(vec![7, 65_000, 7, 1]);
        let traits = TextFeatures {
            words: 300,
            title_words: 9,
            asks: true,
            has_question: true,
            names: false,
            tells_time: true,
            has_number: true,
            has_place: false,
            has_reason: true,
            instructs: false,
            prefers: true,
            is_of_author: false,
            sketch,
        };
        assert_eq!(
            TextFeatures::unpack(traits.pack(), Sketch::unpack(sketch.pack())),
            traits
        );
    }

    #[test]
    fn similarity_is_the_share_of_common_words() {
        let one = Sketch::of((0..10).collect());
        let other = Sketch::of((5..15).collect());
        assert!((one.similarity(&one) - 1.0).abs() < f32::EPSILON);
        assert!((one.similarity(&other) - 5.0 / 15.0).abs() < 0.1);
        assert!(one.similarity(&Sketch::of(vec![99])) < f32::EPSILON);
        assert!(Sketch::of(vec![]).similarity(&one) < f32::EPSILON);
    }
}
