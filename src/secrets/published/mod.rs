//! Finds secrets by the published rules of gitleaks, which name services that `patterns` does not.
//!
//! A rule runs where the text holds one of its keywords, and its expression is compiled then. Its
//! matches are judged as gitleaks judges them: by the entropy of the secret and by what the rules
//! allow. Documentation's examples are left out as for every other rule. Time is linear in the text
//! for each rule that has a keyword in it.

mod rules;

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

pub(super) use rules::RULES;

use super::mark::{Mark, Sign};
use super::secret::Secret;
use super::{placeholder, randomness};
use rules::Rule;

/// A rule sees this much of the text before its keyword: no rule asks for more.
const BEFORE: usize = 160;
/// A rule sees this much of the text behind its keyword: longer than the tokens that rules bound.
const BEHIND: usize = 2048;

/// The end of most rules, behind the secret, as it is in lines of code.
const END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
/// The end that replaces [`END`]: a secret ends in a sentence, a table or an address, too.
const PROSE_END: &str = r#"(?:[\x60'"\s;,)\]}<&*|]|\\[nr]|[.:!?](?:\s|[)*_"']|$)|$)"#;

/// Expressions of texts that no rule takes for a secret.
#[rustfmt::skip]
static ALLOWED: &[&str] = &[
    r"(?i)^true|false|null$",
    r"^(?i:a+|b+|c+|d+|e+|f+|g+|h+|i+|j+|k+|l+|m+|n+|o+|p+|q+|r+|s+|t+|u+|v+|w+|x+|y+|z+|\*+|\.+)$",
    r"^\$(?:\d+|\{\d+\})$",
    r"^\$(?:[A-Z_]+|[a-z_]+)$",
    r"^\$\{(?:[A-Z_]+|[a-z_]+)\}$",
    r"^\{\{[ \t]*[\w ().|]+[ \t]*\}\}$",
    r#"^\$\{\{[ \t]*(?:(?:env|github|secrets|vars)(?:\.[A-Za-z]\w+)+[\w "'&./=|]*)[ \t]*\}\}$"#,
    r"^%(?:[A-Z_]+|[a-z_]+)%$",
    r"^%[+\-# 0]?[bcdeEfFgGoOpqstTUvxX]$",
    r"^\{\d{0,2}\}$",
    r"^@(?:[A-Z_]+|[a-z_]+)@$",
    r"^/Users/(?i)[a-z0-9]+/[\w .-/]+$",
    r"^/(?:bin|etc|home|opt|tmp|usr|var)/[\w ./-]+$",
];

/// No secret holds one of these, in letters of either case.
static STOP_WORDS: &[&str] = &[
    "014df517-39d1-4453-b7b3-9930c563627c",
    "abcdefghijklmnopqrstuvwxyz",
];

/// Every kind that [`find`] gives.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(Rule::kind)
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
        let near = text.floor_char_boundary(near.start)..text.floor_char_boundary(near.end);
        apply(&RULES[usize::from(number)], text, near, found);
    }
}

/// Adds what one rule finds in a part of the text.
fn apply(rule: &'static Rule, text: &str, part: Range<usize>, found: &mut Vec<Secret>) {
    for groups in compiled(rule).captures_iter(&text.as_bytes()[part.clone()]) {
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
            let kind = rule.kind();
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
        && (rule.allowed.is_empty() || !set(&rule.allowed).is_match(secret.as_bytes()))
}

/// Returns the expression of a rule, which is compiled at the first call.
fn compiled(rule: &Rule) -> &Regex {
    rule.compiled.get_or_init(|| {
        let shape = rule.shape.replace(END, PROSE_END);
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
        for rule in RULES.iter() {
            assert!(
                compiled(rule).captures_len() > rule.group,
                "{}",
                rule.kind()
            );
            assert!(set(&rule.allowed).len() == rule.allowed.len());
            assert!(
                rule.marks.iter().all(|mark| mark.len() >= 3),
                "{}",
                rule.kind()
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
