//! The words that an expression needs, found in the expression.

use std::collections::BTreeMap;

use regex_syntax::hir::Class;
use regex_syntax::hir::Hir;
use regex_syntax::hir::HirKind;

use super::LINE_END;
use super::Named;

/// So many expressions are told apart: the bits of [`Named`].
const MOST: usize = 128;
/// So many texts for one place in an expression are kept apart; beyond, others are looked for.
const MOST_TEXTS: usize = 64;
/// So many characters of a class are.
const MOST_CHARACTERS: usize = 8;

/// The table of `expressions`, at most [`MOST`], which are named by their places.
fn table<'a>(
    expressions: impl Iterator<Item = &'a str>,
) -> Result<String, Box<regex_syntax::Error>> {
    let mut always: Named = 0;
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
    let mut table = format!("{always:x}\n");
    for (word, of) in words {
        let word = String::from_utf8(word).expect("the expressions are text");
        assert!(!word.contains(LINE_END), "{word:?} cannot be written down");
        table += &format!("{of:x} {}\n", word.replace('\n', LINE_END));
    }
    Ok(table)
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
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::injection::needed::Needed;
    use crate::injection::patterns::SIGNED;

    #[test]
    fn the_table_is_that_of_the_signs() {
        let derived = table(SIGNED.iter().map(String::as_str)).unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/injection/words.txt");
        if std::env::var_os("MEMDIR_RENEW").is_some() {
            fs::write(&path, &derived).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap();
        assert!(
            derived == written,
            "the signs are others than those of {}: run this test with MEMDIR_RENEW=1",
            path.display()
        );
    }

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
        let of_these = table(expressions.into_iter()).unwrap();
        let needed = Needed::read(of_these.leak());
        let check = |text: &str, expected| assert_eq!(needed.named_by(text), expected, "{text}");
        check("", 0b0010);
        check("ab", 0b0010);
        check("abc ghi", 0b0011);
        check("abc", 0b0010);
        check("abc d", 0b0110);
        check("1 défense zzz", 0b1010);
        assert!(table(["("].into_iter()).is_err());
    }
}
