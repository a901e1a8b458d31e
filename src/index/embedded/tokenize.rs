//! How each field's text becomes index terms.

use std::collections::HashSet;

use tantivy::tokenizer::Token;
use tantivy::tokenizer::TokenStream;
use tantivy::tokenizer::Tokenizer;

use crate::words::Analyzer;

/// Longer terms the index drops; a document holding one is counted by reading its text.
pub(super) const MAX_RUN_BYTES: usize = 60_000;

/// The terms of one text, made at once and then walked.
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

/// Walks the terms of one text.
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

/// The word rules of `words`.
#[derive(Clone)]
pub(super) struct Words {
    analyzer: Analyzer,
    terms: Terms,
}

impl Words {
    pub fn new(analyzer: Analyzer) -> Words {
        Words {
            analyzer,
            terms: Terms::default(),
        }
    }
}

impl Tokenizer for Words {
    type TokenStream<'a> = Walk<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Walk<'a> {
        self.terms.clear();
        let terms = &mut self.terms;
        self.analyzer.terms(text, |term, _, _| terms.push(term));
        Walk::over(&self.terms)
    }
}

/// What stands between blanks, lower case: the pieces that substring counts are made of.
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

/// Every three neighbouring characters, each once a text.
#[derive(Clone, Default)]
pub(super) struct Trigrams {
    terms: Terms,
    seen: HashSet<u64, BuildMix>,
}

impl Tokenizer for Trigrams {
    type TokenStream<'a> = Walk<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Walk<'a> {
        self.terms.clear();
        self.seen.clear();
        let (terms, seen) = (&mut self.terms, &mut self.seen);
        trigrams(text, |key, trigram| {
            if seen.insert(key) {
                trigram.iter().for_each(|&c| terms.text.push(c));
                terms.ends.push(terms.text.len());
            }
        });
        Walk::over(&self.terms)
    }
}

/// Calls `each` with every trigram of `text` after folding, and a number that stands for it.
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
        // The two small sigmas are one letter; which one is written depends on the neighbours.
        each(if lower == 'ς' { 'σ' } else { lower });
    }
}

/// A hasher for numbers that are already distinct: one multiplication.
#[derive(Clone, Default)]
pub(super) struct BuildMix;

impl std::hash::BuildHasher for BuildMix {
    type Hasher = Mix;

    fn build_hasher(&self) -> Mix {
        Mix(0)
    }
}

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
