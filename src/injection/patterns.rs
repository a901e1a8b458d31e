//! Signs of texts that want to be obeyed.
//!
//! `signs.txt` is their table: reason, weight, expression. The expressions read folded text. They
//! were written for how such texts are built – who is spoken to, what is to be forgotten, hidden,
//! sent away – and not for single examples of them.

use std::sync::{LazyLock, OnceLock};

use memchr::memmem::Finder;
use regex::Regex;

use super::expression::Expression;
use super::needed::Needed;
use super::signs::{CLEAR, FoundSigns};
use super::spelling;
use crate::literals::lines;

const WEAK: u8 = 1;

const OVERRIDES: &str = "tells its reader to ignore instructions";
const SPELLED: &str = "is spelled to be overlooked";
const COMMENT: &str = "has an instruction in a comment";

/// A sign of the table.
struct Sign {
    reason: &'static str,
    weight: u8,
    /// Its expression, with `{NAME}` for a part.
    text: &'static str,
    /// Compiled when a text has one of its words for the first time.
    compiled: OnceLock<Expression>,
}

/// `signs.txt`.
#[derive(Default)]
struct Table {
    /// Expressions that stand in signs as `{NAME}`, by that.
    parts: Vec<(String, &'static str)>,
    /// In the order of the file.
    signs: Vec<Sign>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let (mut table, mut reason) = (Table::default(), "");
    for line in lines(include_str!("signs.txt")) {
        if let Some(name) = line.strip_prefix('[') {
            reason = name.trim_end_matches(']');
        }
        let Some((what, text)) = line.split_once(' ') else {
            continue;
        };
        let weight = match what {
            "part" => {
                let (name, text) = text.split_once(' ').expect("a part has a name");
                table.parts.push((format!("{{{name}}}"), text));
                continue;
            }
            "clear" => CLEAR,
            "weak" => WEAK,
            _ => continue,
        };
        table.signs.push(Sign {
            reason,
            weight,
            text,
            compiled: OnceLock::new(),
        });
    }
    table
});

/// Returns the expression of a sign. The words are ours, in small letters. Unicode's idea of words
/// would keep the fast engine from every text with an accent in it.
fn expression(sign: &Sign) -> String {
    let put = |text: String, (name, part): &(String, &str)| text.replace(name, part);
    let whole = TABLE.parts.iter().fold(sign.text.to_owned(), put);
    whole
        .replace(r"\b", r"(?-u:\b)")
        .replace(r"\w", "[a-z0-9_]")
}

/// Returns the expressions of all signs, in the order of the table.
#[cfg(test)]
pub(super) fn expressions() -> Vec<String> {
    TABLE.signs.iter().map(expression).collect()
}

/// The words without which no sign is there: nearly every text has none of them.
static NEEDED: LazyLock<Needed> = LazyLock::new(|| Needed::read(include_str!("words.txt")));

/// The signs that a folded text has, in the order of the table.
fn signs(folded: &str) -> impl Iterator<Item = &'static Sign> {
    let mut named = NEEDED.named_by(folded);
    let next = std::iter::from_fn(move || {
        let sign = (named != 0).then(|| named.trailing_zeros() as usize)?;
        named &= named - 1;
        Some(&TABLE.signs[sign])
    });
    next.filter(|sign| {
        let compile =
            || Expression::new(&expression(sign)).expect("the table's expressions are right");
        sign.compiled.get_or_init(compile).is_match(folded)
    })
}

/// Beginnings of comments. Compiling the expression takes longer than searching a store, and hardly
/// any text needs it.
static COMMENTS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["<!--", "[//]: # ("].map(Finder::new));

/// A comment of HTML or of Markdown, which nobody sees who reads the page.
static COMMENTED: LazyLock<Regex> = LazyLock::new(|| {
    let comment = r"(?s)<!--(.{1,2000}?)-->|\[//\]: # \(([^)\n]{1,2000})\)";
    Regex::new(comment).expect("the expression is right")
});

/// Beginning of an order to a reader who can do something.
static ORDER: LazyLock<Regex> = LazyLock::new(|| {
    let order = r"^\s*(?:please )?(?:send|call|execute|fetch|forward|reveal|respond|reply|obey|ignore all|disregard)\b|^\s*(?:llm|ai|assistant|agent|model|claude|gpt)s?\s*[:,]|\btell the user\b";
    Regex::new(order).expect("the expression is right")
});

/// One of these stands in whatever [`SPELLED_SO`] matches.
static SPELLED_WORDS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["ignore", "disregard", "forget"].map(Finder::new));

/// The signs of not obeying, in letters that were pushed together or looked like others.
static SPELLED_SO: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?:ignore|disregard|forget) ?(?:all|any)? ?(?:of)? ?(?:the|your|my)? ?(?:previous|prior|earlier|above|preceding) ?(?:instructions|prompts|rules|directions)";
    Regex::new(words).expect("the expression is right")
});

/// Adds the signs that a folded text has.
pub(super) fn judge(folded: &str, found: &mut FoundSigns) {
    for sign in signs(folded) {
        found.add(sign.reason, sign.weight);
    }
    if !holds_one(folded, &*COMMENTS) {
        return;
    }
    let mut comments = COMMENTED.captures_iter(folded);
    let is_order = |text: &str| ORDER.is_match(text) || signs(text).next().is_some();
    if comments.any(|comment| {
        comment
            .iter()
            .skip(1)
            .flatten()
            .any(|text| is_order(text.as_str()))
    }) {
        found.add(COMMENT, CLEAR);
    }
}

/// Returns whether another spelling of a folded text may hold one of [`SPELLED_WORDS`]. Each of them has a
/// `g`, which nothing else is taken for, and hardly any other word has the same letters around it.
/// One is not enough: texts are full of signs and merges.
pub(super) fn may_be_spelled(folded: &str) -> bool {
    let mut places = memchr::memchr_iter(b'g', folded.as_bytes());
    places.any(|at| {
        matches!(
            spelling::letters_around(folded, at),
            [['i', _], ['n', 'o']] | [['e', 'r'], ['a', 'r']] | [['r', 'o'], ['e', 't']]
        )
    })
}

/// Adds what shows only in another spelling of a text.
pub(super) fn judge_spelled(other: &str, found: &mut FoundSigns) {
    let says_it = || holds_one(other, &*SPELLED_WORDS);
    if !found.reasons.contains(&OVERRIDES) && says_it() && SPELLED_SO.is_match(other) {
        found.add(SPELLED, CLEAR);
    }
}

fn holds_one(text: &str, words: &[Finder<'_>]) -> bool {
    words
        .iter()
        .any(|word| word.find(text.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::string::string_regex;
    use regex::RegexSet;

    use super::*;

    static SIGNED: LazyLock<Vec<String>> = LazyLock::new(expressions);
    static ALL: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(&*SIGNED).unwrap());

    /// Texts that a sign may match, and, as nothing is asked of what stands around it, may not.
    fn signed() -> impl Strategy<Value = String> {
        (0..SIGNED.len()).prop_flat_map(|at| {
            let sign = SIGNED[at].replace(r"(?-u:\b)", "").replace("(?:^|", "(?:|");
            string_regex(&sign).unwrap()
        })
    }

    #[test]
    fn every_sign_needs_words() {
        assert_eq!(NEEDED.named_by(""), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn no_word_is_spelled_where_none_may_be(
            text in "([iо1rеe3dsfot. -]{0,3}g[nаa4eor3t. -]{0,4}|disregard|forget|ign0re){0,4}",
        ) {
            let says_it = |other: &String| holds_one(other, &*SPELLED_WORDS);
            let is_said = spelling::others(&text).iter().any(says_it);
            prop_assert!(may_be_spelled(&text) || !is_said);
        }

        #[test]
        fn the_signs_found_by_their_words_are_those_of_all_expressions(
            pieces in prop::collection::vec(
                (prop_oneof!["[a-z .,:!?\n\u{e9}\u{2026}-]{0,12}", Just(String::new())], signed()),
                1..4,
            ),
            cut in 0..12_usize,
        ) {
            let mut text: String = pieces.iter().flat_map(|(a, b)| [a.as_str(), b]).collect();
            let cut = text.ceil_char_boundary(text.len().saturating_sub(cut));
            for _ in 0..2 {
                let matches = ALL.matches(&text);
                let all = matches.iter().map(|at| TABLE.signs[at].text);
                let found = signs(&text).map(|sign| sign.text);
                prop_assert_eq!(found.collect::<Vec<_>>(), all.collect::<Vec<_>>());
                text.truncate(cut);
            }
        }
    }
}
