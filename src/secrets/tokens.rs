//! Finds the tokens that show by a prefix, and the private keys and web tokens that show by how
//! they are built.
//!
//! `marks` says where a token may begin; only at a mark is a shape tried. A shape is bounded, or
//! what it covered is not looked at again, so the time is linear in the text.

use std::sync::OnceLock;

use regex::Regex;

use super::mark::{Mark, Sign};
use super::patterns::{PATTERNS, Pattern, Proof};
use super::secret::{Judged, Secret};
use super::value::begins_word;
use super::{fields, keys, placeholder, value};

/// Names whose secret may stand beside them.
const ACCESS_KEY: &str = "an AWS access key";

/// Longer than any match of a shape in the table.
const REACH: usize = 1024;

/// Finds what needs no name in front of it, in order, not overlapping. `marks` are in order.
pub(super) fn find(text: &str, marks: &[Mark]) -> Vec<Secret> {
    let mut found = Vec::new();
    // Where what was judged last ends: nothing before is looked at again.
    let mut judged = 0;
    let mut before = None;
    for mark in marks.iter().filter(|mark| mark.sign == Sign::Token) {
        if mark.start < judged || before == Some(mark.start) {
            continue;
        }
        before = Some(mark.start);
        let known = keys::at(text, mark.start).or_else(|| token(text, mark.start, judged));
        if let Some(Judged { secret, end }) = known {
            let is_access_key = secret.as_ref().is_some_and(|s| s.kind == ACCESS_KEY);
            found.extend(secret);
            judged = end;
            if is_access_key && let Some(secret) = secret_beside(text, end) {
                judged = secret.range.end;
                found.push(secret);
            }
        }
    }
    found
}

/// Returns the secret key that stands beside the id of an AWS access key, at `at` or shortly behind.
fn secret_beside(text: &str, at: usize) -> Option<Secret> {
    const LEN: usize = 40;
    let near = &text[at..text.floor_char_boundary(at + 160)];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '/' || c == '+';
    let has = |word: &str, is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    let is_secret = |word: &str| {
        word.len() == LEN
            && has(word, u8::is_ascii_uppercase)
            && has(word, u8::is_ascii_lowercase)
            && has(word, u8::is_ascii_digit)
            && value::is_random(word)
            && !placeholder::is_example(word)
    };
    let mut rest = near;
    let start = loop {
        rest = rest.trim_start_matches(|c| !is_part(c));
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        match len {
            0 => return None,
            _ if is_secret(&rest[..len]) => break at + near.len() - rest.len(),
            _ => rest = &rest[len..],
        }
    };
    Some(Secret {
        kind: fields::AWS_KEY,
        range: start..start + LEN,
    })
}

/// Returns the token with a mark at `mark` that begins at `from` or later, if a shape fits.
fn token(text: &str, mark: usize, from: usize) -> Option<Judged> {
    let begins = begins_word(text, mark);
    let fitting = PATTERNS.iter().enumerate().filter(|(_, pattern)| {
        let marks = &mut pattern.marks.iter();
        (pattern.lead > 0 || begins) && marks.any(|m| text[mark..].starts_with(m))
    });
    for (number, pattern) in fitting {
        let start = start(text, mark, pattern);
        if start < from || !begins_word(text, start) {
            continue;
        }
        let end = text.floor_char_boundary(start + REACH);
        let Some(groups) = shape(number).captures(&text[start..end]) else {
            continue;
        };
        let part = groups.get(1).or(groups.get(0)).expect("it matched");
        let part = start + part.start()..start + part.end();
        let end = start + groups.get(0).expect("it matched").end();
        let is_whole = !text[end..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let is_secret = is_whole && stands_proof(&text[part.clone()], pattern.proof);
        return Some(Judged {
            secret: is_secret.then_some(Secret {
                kind: pattern.kind,
                range: part,
            }),
            end,
        });
    }
    None
}

/// Returns the place at which a match of `pattern` with this mark would begin.
fn start(text: &str, mark: usize, pattern: &Pattern) -> usize {
    let before = text.as_bytes()[..mark].iter().rev().take(pattern.lead);
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'.');
    mark - before.take_while(is_part).count()
}

fn stands_proof(secret: &str, proof: Proof) -> bool {
    !placeholder::is_example(secret) && (proof == Proof::Shape || value::is_random(secret))
}

/// Returns the compiled shape of a row, anchored at its beginning. Compiled when a mark of the row is first
/// seen: most runs end before that.
fn shape(number: usize) -> &'static Regex {
    static SHAPES: [OnceLock<Regex>; PATTERNS.len()] = [const { OnceLock::new() }; PATTERNS.len()];
    SHAPES[number].get_or_init(|| {
        let anchored = format!("^(?:{})", PATTERNS[number].shape);
        Regex::new(&anchored).expect("every shape is an expression")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_an_expression_that_needs_more_than_its_mark() {
        let fits_its_mark = |(number, pattern): (usize, &Pattern)| {
            let mut marks = pattern.marks.iter();
            marks.any(|mark| shape(number).is_match(mark))
        };
        assert!(!PATTERNS.iter().enumerate().any(fits_its_mark));
    }

    #[test]
    fn a_word_begins_after_what_escapes_a_blank() {
        assert!(begins_word("\\nx", 2));
        assert!(begins_word("a%20x", 4));
        assert!(!begins_word("nx", 1));
        assert!(!begins_word("20x", 2));
    }
}
