//! The texts that an expression needs, found in the expression.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Maximum number of texts that are kept apart for one place in an expression; where there are more,
/// others are looked for.
const MOST_TEXTS: usize = 64;
/// Maximum number of characters of a class that are told apart.
const MOST_CHARACTERS: usize = 8;

/// Texts of at least `least` bytes of which every match of the expression holds one, the rarest such
/// in English; `None` if it needs none.
pub fn required(expression: &Hir, least: usize) -> Option<Vec<Vec<u8>>> {
    held(expression, least).best(least)
}

type Texts = Vec<Vec<u8>>;

/// Texts that any match of an expression is, and holds.
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

    /// Returns the rarest texts of at least the asked length of which any match holds one.
    fn best(self, least: usize) -> Option<Texts> {
        rarer(least, self.one_of, self.exact)
    }
}

fn held(expression: &Hir, least: usize) -> Held {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => Held::exactly(vec![Vec::new()]),
        HirKind::Literal(literal) => Held::exactly(vec![literal.0.to_vec()]),
        HirKind::Class(class) => characters(class).map_or_else(Held::default, Held::exactly),
        HirKind::Capture(capture) => held(&capture.sub, least),
        HirKind::Repetition(repetition) => {
            let once = held(&repetition.sub, least);
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
                    one_of: once.best(least),
                },
            }
        }
        HirKind::Concat(parts) => in_a_row(parts, least),
        HirKind::Alternation(parts) => one_of(parts, least),
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

fn in_a_row(parts: &[Hir], least: usize) -> Held {
    let nothing = || vec![Vec::new()];
    let (mut whole, mut best) = (Some(nothing()), None);
    // The texts of the parts since the last one that can be too many.
    let mut row = nothing();
    for part in parts {
        let held = held(part, least);
        let exact = held.exact.as_ref();
        whole = whole
            .zip(exact)
            .and_then(|(whole, texts)| joined(&whole, texts));
        best = rarer(least, best, held.one_of);
        let Some(texts) = exact else {
            best = rarer(least, best, Some(std::mem::replace(&mut row, nothing())));
            continue;
        };
        // What may be left out at the beginning is not needed.
        if row == nothing() && texts.iter().any(Vec::is_empty) {
            continue;
        }
        match joined(&row, texts) {
            Some(longer) => row = longer,
            None => {
                best = rarer(
                    least,
                    best,
                    Some(std::mem::replace(&mut row, texts.clone())),
                );
            }
        }
    }
    Held {
        exact: whole,
        one_of: rarer(least, best, Some(row)),
    }
}

fn one_of(parts: &[Hir], least: usize) -> Held {
    let (mut exact, mut one_of) = (Some(Texts::new()), Some(Texts::new()));
    for part in parts {
        let held = held(part, least);
        exact = exact.zip(held.exact.as_ref()).map(|(mut all, texts)| {
            all.extend(texts.iter().cloned());
            all
        });
        one_of = one_of.zip(held.best(least)).map(|(mut all, texts)| {
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
fn rarer(least: usize, one: Option<Texts>, other: Option<Texts>) -> Option<Texts> {
    let is_long = |text: &Vec<u8>| text.len() >= least;
    let is_rare = |texts: &Texts| texts.iter().all(is_long) && frequency(texts) < 0.01;
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
        let texts = required(&regex_syntax::parse(expression).unwrap(), 1);
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
}
