//! Which expressions may match a text at all, by the words that each of them needs.
//!
//! Most texts hold none of these words, and one pass over their bytes tells. Promises: what is not
//! named does not match. What is named may still not; to look closer is left to others.

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use regex_syntax::hir::Class;
use regex_syntax::hir::Hir;
use regex_syntax::hir::HirKind;

/// So many expressions are told apart: the bits of [`Named`].
pub(super) const MOST: usize = 128;

/// Expressions, a bit each.
pub(super) type Named = u128;

/// So many texts for one place in an expression are kept apart; beyond, others are looked for.
const MOST_TEXTS: usize = 64;
/// So many characters of a class are.
const MOST_CHARACTERS: usize = 8;
/// Words are found by their first so many bytes; shorter ones are looked for by themselves.
const KEY: usize = 3;
/// The bits of what tells places where no word begins.
const SLOTS: usize = 1 << 16;

/// What tells the expressions that may match.
pub(super) struct Needed {
    /// A bit for each slot in which a word's beginning falls.
    slots: Vec<u64>,
    /// Sorted by their beginnings.
    words: Vec<Word>,
    short: Vec<(Finder<'static>, Named)>,
    /// Those that need no word.
    always: Named,
}

struct Word {
    key: u32,
    text: Vec<u8>,
    of: Named,
}

impl Needed {
    /// Of `expressions`, at most [`MOST`], which are named by their places.
    ///
    /// # Errors
    ///
    /// Fails if one of them is none.
    pub fn by<'a>(
        expressions: impl Iterator<Item = &'a str>,
    ) -> Result<Needed, Box<regex_syntax::Error>> {
        let mut always = 0;
        let mut words: BTreeMap<Vec<u8>, Named> = BTreeMap::new();
        for (at, expression) in expressions.enumerate() {
            assert!(at < MOST, "there are too many expressions");
            let held = held(&parsed(expression)?);
            match held.best() {
                None => always |= 1 << at,
                Some(texts) => texts
                    .into_iter()
                    .for_each(|text| *words.entry(text).or_default() |= 1 << at),
            }
        }
        let (short, long): (Vec<_>, Vec<_>) =
            words.into_iter().partition(|(text, _)| text.len() < KEY);
        let mut slots = vec![0; SLOTS / 64];
        let mut words: Vec<Word> = long
            .into_iter()
            .map(|(text, of)| {
                let key = key_at(&text);
                let slot = slot_of(key);
                slots[slot / 64] |= 1 << (slot % 64);
                Word { key, text, of }
            })
            .collect();
        words.sort_by_key(|word| word.key);
        let short = short
            .into_iter()
            .map(|(text, of)| (Finder::new(&text).into_owned(), of))
            .collect();
        Ok(Needed {
            slots,
            words,
            short,
            always,
        })
    }

    /// The expressions that may match `text`.
    pub fn named_by(&self, text: &str) -> Named {
        let bytes = text.as_bytes();
        let mut named = self.always;
        for (text, of) in &self.short {
            if text.find(bytes).is_some() {
                named |= of;
            }
        }
        for (at, beginning) in bytes.windows(KEY).enumerate() {
            let key = key_at(beginning);
            let slot = slot_of(key);
            if self.slots[slot / 64] & (1 << (slot % 64)) == 0 {
                continue;
            }
            let first = self.words.partition_point(|word| word.key < key);
            let words = self.words[first..].iter();
            for word in words.take_while(|word| word.key == key) {
                if named & word.of != word.of && bytes[at..].starts_with(&word.text) {
                    named |= word.of;
                }
            }
        }
        named
    }
}

/// An expression, parsed for its words alone: what Unicode's classes of characters hold says nothing
/// about them, and takes most of the time. Blanks stay as they are, as there are so few in ASCII
/// that each would be taken for a text.
fn parsed(expression: &str) -> Result<Hir, Box<regex_syntax::Error>> {
    let mut parser = regex_syntax::ParserBuilder::new();
    let has_few = [r"\s", r"\d", r"\p"]
        .iter()
        .any(|class| expression.contains(class));
    if !has_few {
        parser.unicode(false).utf8(false);
    }
    match parser.build().parse(expression) {
        Ok(parsed) => Ok(parsed),
        // It names characters outside of ASCII.
        Err(_) => Ok(regex_syntax::parse(expression)?),
    }
}

/// The beginning of a text of at least [`KEY`] bytes.
fn key_at(bytes: &[u8]) -> u32 {
    u32::from(bytes[0]) | u32::from(bytes[1]) << 8 | u32::from(bytes[2]) << 16
}

fn slot_of(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

type Texts = Vec<Vec<u8>>;

/// What any match of an expression is, and holds.
#[derive(Default)]
struct Held {
    /// All texts that it can be, where these are few.
    exact: Option<Texts>,
    /// Texts of which it holds at least one.
    one_of: Option<Texts>,
}

impl Held {
    fn exactly(texts: Texts) -> Held {
        Held {
            exact: Some(texts),
            one_of: None,
        }
    }

    /// The rarest texts of which any match holds one.
    fn best(self) -> Option<Texts> {
        rarer(self.one_of, self.exact)
    }
}

fn held(expression: &Hir) -> Held {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => Held::exactly(vec![Vec::new()]),
        HirKind::Literal(literal) => Held::exactly(vec![literal.0.to_vec()]),
        HirKind::Class(class) => characters(class).map_or_else(Held::default, Held::exactly),
        HirKind::Capture(capture) => held(&capture.sub),
        HirKind::Repetition(repetition) => {
            let once = held(&repetition.sub);
            match (repetition.min, repetition.max) {
                (0, Some(1)) => Held {
                    exact: once.exact.map(|mut texts| {
                        texts.push(Vec::new());
                        texts
                    }),
                    one_of: None,
                },
                (0, _) => Held::default(),
                _ => Held {
                    exact: None,
                    one_of: once.best(),
                },
            }
        }
        HirKind::Concat(parts) => in_a_row(parts),
        HirKind::Alternation(parts) => one_of(parts),
    }
}

fn characters(class: &Class) -> Option<Texts> {
    let texts: Texts = match class {
        Class::Unicode(class) => {
            let characters = class.iter().flat_map(|range| range.start()..=range.end());
            let texts = characters.map(|character| character.to_string().into_bytes());
            texts.take(MOST_CHARACTERS + 1).collect()
        }
        Class::Bytes(class) => {
            let bytes = class.iter().flat_map(|range| range.start()..=range.end());
            bytes
                .map(|byte| vec![byte])
                .take(MOST_CHARACTERS + 1)
                .collect()
        }
    };
    (texts.len() <= MOST_CHARACTERS).then_some(texts)
}

fn in_a_row(parts: &[Hir]) -> Held {
    let nothing = || vec![Vec::new()];
    let (mut whole, mut best) = (Some(nothing()), None);
    // The texts of the parts since the last one that can be too many.
    let mut row = nothing();
    for part in parts {
        let held = held(part);
        let exact = held.exact.as_ref();
        whole = whole
            .zip(exact)
            .and_then(|(whole, texts)| joined(&whole, texts));
        best = rarer(best, held.one_of);
        let Some(texts) = exact else {
            best = rarer(best, Some(std::mem::replace(&mut row, nothing())));
            continue;
        };
        // What may be left out at the beginning is not needed.
        if row == nothing() && texts.iter().any(Vec::is_empty) {
            continue;
        }
        match joined(&row, texts) {
            Some(longer) => row = longer,
            None => best = rarer(best, Some(std::mem::replace(&mut row, texts.clone()))),
        }
    }
    Held {
        exact: whole,
        one_of: rarer(best, Some(row)),
    }
}

fn one_of(parts: &[Hir]) -> Held {
    let (mut exact, mut one_of) = (Some(Texts::new()), Some(Texts::new()));
    for part in parts {
        let held = held(part);
        exact = exact.zip(held.exact.as_ref()).map(|(mut all, texts)| {
            all.extend(texts.iter().cloned());
            all
        });
        one_of = one_of.zip(held.best()).map(|(mut all, texts)| {
            all.extend(texts);
            all
        });
    }
    Held {
        exact: exact.filter(|texts| texts.len() <= MOST_TEXTS),
        one_of,
    }
}

/// Each of `one` with each of `other` behind it, where these are not too many.
fn joined(one: &Texts, other: &Texts) -> Option<Texts> {
    if one.len() * other.len() > MOST_TEXTS {
        return None;
    }
    let with_each = |text: &Vec<u8>| -> Texts {
        let behind = other.iter();
        behind
            .map(|more| [text.as_slice(), more].concat())
            .collect()
    };
    Some(one.iter().flat_map(with_each).collect())
}

/// Those texts of the two that are met with less often; none that are met with everywhere.
fn rarer(one: Option<Texts>, other: Option<Texts>) -> Option<Texts> {
    let is_rare =
        |texts: &Texts| texts.iter().all(|text| !text.is_empty()) && frequency(texts) < 0.01;
    let (one, other) = (one.filter(is_rare), other.filter(is_rare));
    match (one, other) {
        (Some(one), Some(other)) if frequency(&other) < frequency(&one) => Some(other),
        (one, other) => one.or(other),
    }
}

/// About how often one of `texts` stands at a place of a text in English.
fn frequency(texts: &Texts) -> f64 {
    let of_byte = |byte: &u8| match byte {
        b' ' | b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 0.1,
        b'a'..=b'z' => 0.03,
        _ => 0.001,
    };
    let of_text = |text: &Vec<u8>| text.iter().map(of_byte).product::<f64>();
    texts.iter().map(of_text).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: &[&str]) {
        let texts = held(&regex_syntax::parse(expression).unwrap()).best();
        let mut texts: Vec<String> = texts
            .unwrap_or_default()
            .into_iter()
            .map(|text| String::from_utf8(text).unwrap())
            .collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts, expected, "{expression}");
    }

    #[test]
    fn the_words_that_a_match_cannot_do_without_are_found() {
        check(r"\bforget everything\b", &["forget everything"]);
        check(r"(?-u:\b)(?:a|the )?quick(?:ly)?", &["quick", "quickly"]);
        check(
            r"(?:red|green)[^.]{0,20} (?:xylophones?)",
            &[" xylophone", " xylophones"],
        );
        check(r"(?:one|two){2,3}", &["one", "two"]);
        check(r"(?:^|[\n.] ?)tell", &["tell"]);
        // Where nothing is sure, nothing is needed.
        check(r"(?:abc)*", &[]);
        check(r"abc|\w+", &[]);
        check(r"a\|?", &[]);
    }

    #[test]
    fn an_expression_is_named_where_one_of_its_words_stands() {
        let expressions = [r"\babc (?:def|ghi)", r"x*", r"abc d[^.]*zzz", "défense"];
        let needed = Needed::by(expressions.into_iter()).unwrap();
        let check = |text: &str, expected| assert_eq!(needed.named_by(text), expected, "{text}");
        check("", 0b0010);
        check("ab", 0b0010);
        check("abc ghi", 0b0011);
        check("abc", 0b0010);
        check("abc d", 0b0110);
        check("1 défense zzz", 0b1010);
        assert!(Needed::by(["("].into_iter()).is_err());
    }
}
