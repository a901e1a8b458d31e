//! Finds secrets by the published rules of gitleaks, which name services that `patterns` does not.
//!
//! A rule runs where the text holds one of its keywords, and its expression is compiled then. Its
//! matches are judged as gitleaks judges them: by the entropy of the secret and by what the rules
//! allow. Documentation's examples are left out as for every other rule. Time is linear in the text
//! for each rule that has a keyword in it.

mod rule;
mod rules;

use std::ops::Range;
use std::sync::LazyLock;
use std::sync::OnceLock;

use regex::bytes::Regex;
use regex::bytes::RegexBuilder;
use regex::bytes::RegexSet;
use regex::bytes::RegexSetBuilder;

pub(super) use rules::RULES;

use super::mark::Mark;
use super::mark::Sign;
use super::placeholder;
use super::randomness;
use super::secret::Secret;
use super::value;
use rule::Rule;
use rules::ALLOWED;
use rules::STOP_WORDS;

/// A rule sees this much of the text before its keyword: no rule asks for more.
const BEFORE: usize = 160;
/// A rule sees this much of the text behind its keyword: longer than the tokens that rules bound.
const BEHIND: usize = 2048;

/// How most rules end: behind the secret. Theirs are lines of code.
const END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
/// What stands for it here: in a sentence, a table or an address the secret ends, too.
const PROSE_END: &str = r#"(?:[\x60'"\s;,)\]}<&*|]|\\[nr]|[.:!?](?:\s|[)*_"']|$)|$)"#;

/// Every kind that [`find`] gives.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.kind)
}

/// Adds what the rules find at `marks`, which are in order.
pub(super) fn find(text: &str, marks: &[Mark], found: &mut Vec<Secret>) {
    let mut seen: Vec<(u16, Range<usize>)> = Vec::new();
    for mark in marks {
        let Sign::Published(number) = mark.sign else {
            continue;
        };
        let near = mark.start.saturating_sub(BEFORE)..mark.end + BEHIND;
        match seen.iter_mut().rfind(|(other, _)| *other == number) {
            Some((_, last)) if last.end >= near.start => last.end = near.end,
            _ => seen.push((number, near)),
        }
    }
    for (number, near) in seen {
        let near = value::floor(text, near.start)..value::floor(text, near.end);
        apply(usize::from(number), text, near, found);
    }
}

/// Adds what one rule finds in a part of the text.
fn apply(number: usize, text: &str, part: Range<usize>, found: &mut Vec<Secret>) {
    let rule = &RULES[number];
    for groups in compiled(number).captures_iter(&text.as_bytes()[part.clone()]) {
        let first = || {
            groups
                .iter()
                .skip(1)
                .flatten()
                .find(|group| !group.is_empty())
        };
        let secret = match rule.group {
            0 => first().or(groups.get(0)),
            group => groups.get(group),
        };
        let Some(secret) = secret else { continue };
        let range = part.start + secret.start()..part.start + secret.end();
        // The expressions see bytes, and one may end inside of a character.
        let Some(secret) = text.get(range.clone()) else {
            continue;
        };
        if is_secret(rule, secret) {
            let kind = rule.kind;
            found.push(Secret { kind, range });
        }
    }
}

fn is_secret(rule: &Rule, secret: &str) -> bool {
    static EVERYWHERE: LazyLock<RegexSet> = LazyLock::new(|| set(ALLOWED));
    let small = || secret.to_ascii_lowercase();
    (rule.entropy == 0.0 || randomness::entropy(secret) > rule.entropy)
        && !placeholder::is_example(secret)
        && !STOP_WORDS.iter().any(|word| small().contains(word))
        && !EVERYWHERE.is_match(secret.as_bytes())
        && (rule.allowed.is_empty() || !set(rule.allowed).is_match(secret.as_bytes()))
}

/// The expression of a rule, compiled when it is first asked for: most texts need none.
fn compiled(number: usize) -> &'static Regex {
    static SHAPES: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    SHAPES[number].get_or_init(|| {
        let shape = RULES[number].shape.replace(END, PROSE_END);
        let shape = RegexBuilder::new(&shape).unicode(false).build();
        shape.expect("every published rule is an expression")
    })
}

fn set(shapes: &[&str]) -> RegexSet {
    let set = RegexSetBuilder::new(shapes).unicode(false).build();
    set.expect("what rules allow are expressions")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_an_expression_with_keywords_that_the_table_can_hold() {
        for (number, rule) in RULES.iter().enumerate() {
            assert!(
                compiled(number).captures_len() > rule.group,
                "{}",
                rule.kind
            );
            assert!(set(rule.allowed).len() == rule.allowed.len());
            assert!(
                rule.marks.iter().all(|mark| mark.len() >= 3),
                "{}",
                rule.kind
            );
        }
        assert_eq!(set(ALLOWED).len(), ALLOWED.len());
    }

    #[test]
    fn a_service_that_only_the_published_rules_know_is_found() {
        let text = "ADAFRUIT_IO_KEY=9fk3q7xw1zt8bv5nm2cd6hj4rp0sy_gl";
        let found = super::super::find(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].kind, "a credential (adafruit-api-key)");
        assert_eq!(
            &text[found[0].range.clone()],
            "9fk3q7xw1zt8bv5nm2cd6hj4rp0sy_gl"
        );
    }

    #[test]
    fn a_token_ends_where_a_sentence_a_table_or_an_address_goes_on() {
        let token = format!(
            "{}_{}_{}",
            "glsa", "9fK3q7Xw1zt8Bv5nm2cd6Hj4rp0sYwLe", "3fa91c07"
        );
        for place in [
            "{}",
            "use {}.",
            "use {}, then",
            "Ada (she has {}).",
            "**{}**",
            "<b>{}</b>",
            "| {}|",
            "https://h.example/x?key={}&page=2",
        ] {
            let text = place.replace("{}", &token);
            let found = super::super::find(&text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(text[found[0].range.clone()], token);
            assert_eq!(
                found[0].kind,
                "a credential (grafana-service-account-token)"
            );
        }
    }
}
