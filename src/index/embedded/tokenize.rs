//! Tokenizers of the index's fields.

use std::collections::HashSet;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Maximum length of a run: the index drops longer terms, and keywords are counted in the text.
pub(super) const MAX_RUN_BYTES: usize = 60_000;

/// Terms of one text, all made before the first is returned.
#[derive(Default, Clone)]
pub(super) struct Terms {
    text: String,
    ends: Vec<usize>,
}

impl Terms {
    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn push(&mut self, term: &str) {
        self.text.push_str(term);
        self.ends.push(self.text.len());
    }
}

/// Token stream over the terms of one text.
pub(super) struct Walk<'a> {
    terms: &'a Terms,
    next: usize,
    token: Token,
}

impl<'a> Walk<'a> {
    fn over(terms: &'a Terms) -> Walk<'a> {
        Walk {
            terms,
            next: 0,
            token: Token::default(),
        }
    }
}

impl TokenStream for Walk<'_> {
    fn advance(&mut self) -> bool {
        let Some(&end) = self.terms.ends.get(self.next) else {
            return false;
        };
        let start = if self.next == 0 {
            0
        } else {
            self.terms.ends[self.next - 1]
        };
        self.token.text.clear();
        self.token.text.push_str(&self.terms.text[start..end]);
        self.token.position = self.next;
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// Character after each term of a text that was cut into terms before.
pub(super) const TERM_END: char = '\0';

/// Splits a text at [`TERM_END`]: the analyzer has run before, once for all uses of the text.
#[derive(Clone, Default)]
pub(super) struct Cut {
    token: Token,
}

/// Token stream over the terms of a text that was cut before.
pub(super) struct CutWalk<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for Cut {
    type TokenStream<'a> = CutWalk<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> CutWalk<'a> {
        self.token.reset();
        CutWalk {
            rest: text,
            token: &mut self.token,
        }
    }
}

impl TokenStream for CutWalk<'_> {
    fn advance(&mut self) -> bool {
        let Some(end) = memchr::memchr(TERM_END as u8, self.rest.as_bytes()) else {
            return false;
        };
        self.token.text.clear();
        self.token.text.push_str(&self.rest[..end]);
        self.token.position = self.token.position.wrapping_add(1);
        self.rest = &self.rest[end + 1..];
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// Splits a text at white space, in lower case: the runs of substring counts.
#[derive(Clone, Default)]
pub(super) struct Runs {
    terms: Terms,
}

impl Tokenizer for Runs {
    type TokenStream<'a> = Walk<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Walk<'a> {
        self.terms.clear();
        let lower = text.to_lowercase();
        lower
            .split_whitespace()
            .filter(|run| run.len() <= MAX_RUN_BYTES)
            .for_each(|run| self.terms.push(run));
        Walk::over(&self.terms)
    }
}

/// Makes the trigrams of a text, each once.
#[derive(Clone, Default)]
pub(super) struct Trigrams {
    terms: Terms,
    seen: TrigramSet,
}

impl Tokenizer for Trigrams {
    type TokenStream<'a> = Walk<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Walk<'a> {
        self.terms.clear();
        self.seen.clear();
        let (terms, seen) = (&mut self.terms, &mut self.seen);
        trigrams(text, |key, trigram| {
            if seen.insert(key, trigram) {
                trigram.iter().for_each(|&c| terms.text.push(c));
                terms.ends.push(terms.text.len());
            }
        });
        Walk::over(&self.terms)
    }
}

/// Trigrams of a text so far: a bit each for those of ASCII, a set for the others.
#[derive(Clone, Default)]
struct TrigramSet {
    ascii: Vec<u64>,
    touched: Vec<u32>,
    others: HashSet<u64, BuildMix>,
}

impl TrigramSet {
    fn clear(&mut self) {
        const WORDS: usize = (1 << 21) / 64;
        self.ascii.resize(WORDS, 0);
        for word in self.touched.drain(..) {
            self.ascii[word as usize] = 0;
        }
        self.others.clear();
    }

    /// Adds a trigram, and returns whether it is new.
    fn insert(&mut self, key: u64, trigram: [char; 3]) -> bool {
        if !trigram.iter().all(char::is_ascii) {
            return self.others.insert(key);
        }
        let bit = trigram
            .iter()
            .fold(0_usize, |bit, &c| bit << 7 | c as usize);
        let word = &mut self.ascii[bit / 64];
        if *word == 0 {
            self.touched.push((bit / 64) as u32);
        }
        let is_new = *word >> (bit % 64) & 1 == 0;
        *word |= 1 << (bit % 64);
        is_new
    }
}

/// Calls `each` with every trigram of `text` after case folding, and its number.
pub(super) fn trigrams(text: &str, mut each: impl FnMut(u64, [char; 3])) {
    let mut window = ['\0'; 3];
    let mut filled = 0;
    let mut key = 0_u64;
    for character in text.chars() {
        fold(character, |c| {
            window = [window[1], window[2], c];
            key = ((key << 21) | u64::from(u32::from(c))) & 0x7fff_ffff_ffff_ffff;
            filled += 1;
            if filled >= 3 {
                each(key, window);
            }
        });
    }
}

/// Folds case one character at a time, so that a part of a text folds as it does in the whole.
fn fold(character: char, mut each: impl FnMut(char)) {
    if character.is_ascii() {
        return each(character.to_ascii_lowercase());
    }
    for lower in character.to_lowercase() {
        // The two lower-case sigmas are one letter in different positions.
        each(if lower == 'ς' { 'σ' } else { lower });
    }
}

/// Builder of [`Mix`].
#[derive(Clone, Default)]
pub(super) struct BuildMix;

impl std::hash::BuildHasher for BuildMix {
    type Hasher = Mix;

    fn build_hasher(&self) -> Mix {
        Mix(0)
    }
}

/// A fast hasher of distinct numbers: one multiplication.
pub(super) struct Mix(u64);

impl std::hash::Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
