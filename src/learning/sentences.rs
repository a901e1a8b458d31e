//! The lines of a turn → sentences in a speaker's own words.
//!
//! Code, quotations, tables, calls of tools and what is pasted are no such words.

use super::turns::Turn;

/// A sentence with the number of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sentence<'a> {
    pub text: &'a str,
    pub line: usize,
}

/// A turn with more bytes of prose is mostly pasted: only its first and last paragraph are the speaker's.
const MAX_OWN_BYTES: usize = 1_500;

/// Abbreviations whose full stop ends no sentence, in lower case.
const ABBREVIATIONS: [&str; 13] = [
    "e.g.", "i.e.", "etc.", "mr.", "mrs.", "ms.", "dr.", "vs.", "cf.", "approx.", "no.", "st.",
    "bzw.",
];

/// Returns the sentences of a turn, in order.
pub(super) fn sentences<'a>(turn: &Turn<'a>) -> Vec<Sentence<'a>> {
    let paragraphs = paragraphs(turn);
    let bytes: usize = paragraphs
        .iter()
        .flatten()
        .map(|(_, line)| line.len())
        .sum();
    let last = paragraphs.len().saturating_sub(1);
    let is_own = |at: &usize| bytes <= MAX_OWN_BYTES || *at == 0 || *at == last;
    let own = paragraphs.iter().enumerate().filter(|(at, _)| is_own(at));
    let lines = own.flat_map(|(_, lines)| lines);
    lines
        .flat_map(|(line, text)| of_line(text).map(|text| Sentence { text, line: *line }))
        .collect()
}

/// Returns the lines of prose, paragraph by paragraph.
pub(super) fn paragraphs<'a>(turn: &Turn<'a>) -> Vec<Vec<(usize, &'a str)>> {
    let mut paragraphs = vec![Vec::new()];
    let mut is_code = false;
    for (number, line) in &turn.lines {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if is_code {
            continue;
        }
        if start.is_empty() {
            paragraphs.push(Vec::new());
        } else if !is_no_prose(line, turn.is_person) {
            let last = paragraphs
                .last_mut()
                .expect("there is one from the beginning");
            last.push((*number, without_bullet(start)));
        }
    }
    paragraphs.retain(|lines| !lines.is_empty());
    paragraphs
}

/// Returns whether a line outside of code is a quotation, code, a row of a table or a call of a tool.
fn is_no_prose(line: &str, is_person: bool) -> bool {
    let start = line.trim_start();
    let is_call = || {
        let name = start
            .strip_prefix("- ")
            .and_then(|rest| rest.split_once(": "));
        name.is_some_and(|(name, _)| {
            name.starts_with(char::is_uppercase)
                && name.chars().all(|one| one.is_alphanumeric() || one == '_')
        })
    };
    line.starts_with("    ")
        || line.starts_with('\t')
        || start.starts_with(['>', '|', '[', '<'])
        || (!is_person && is_call())
}

fn without_bullet(line: &str) -> &str {
    let numbered = line.trim_start_matches(|one: char| one.is_ascii_digit());
    let numbered = numbered
        .strip_prefix(['.', ')'])
        .filter(|_| numbered.len() < line.len());
    let bullet = line.strip_prefix(['-', '*', '•']).or(numbered);
    match bullet {
        Some(rest) if rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    }
}

/// Returns the sentences of a line, with the marks at their ends.
fn of_line(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = end_of_sentence(rest);
        let (sentence, behind) = rest.split_at(end);
        rest = behind.trim_start();
        Some(sentence.trim_end())
    })
}

/// Returns the place behind the first sentence.
fn end_of_sentence(text: &str) -> usize {
    let mut from = 0;
    while let Some(found) = text[from..].find(['.', '!', '?']) {
        let at = from + found;
        let marks = text[at..].len()
            - text[at..]
                .trim_start_matches(['.', '!', '?', '"', '”', '\'', ')'])
                .len();
        let end = at + marks;
        from = end;
        let is_at_blank = text[end..].chars().next().is_none_or(char::is_whitespace);
        if is_at_blank && !ends_abbreviated(&text[..=at]) {
            return end;
        }
    }
    text.len()
}

/// Returns whether a text, which ends with a mark, ends with an abbreviation, or is the number of an item.
fn ends_abbreviated(text: &str) -> bool {
    let last = text
        .rsplit(|one: char| one.is_whitespace() || one == '(')
        .next();
    let last = last.unwrap_or_default().to_lowercase();
    let number = text.trim_start().strip_suffix('.');
    let is_number = number.is_some_and(|number| number.bytes().all(|one| one.is_ascii_digit()));
    is_number || ABBREVIATIONS.contains(&last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &str, expected: &[(usize, &str)]) {
        let turn = Turn {
            is_person: true,
            lines: lines
                .lines()
                .enumerate()
                .map(|(at, line)| (at + 1, line))
                .collect(),
        };
        let found: Vec<(usize, &str)> = sentences(&turn)
            .iter()
            .map(|one| (one.line, one.text))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sentences_end_at_marks_before_blanks() {
        check(
            "ok. use v1.5, e.g. from npm! why not?\nfine",
            &[
                (1, "ok."),
                (1, "use v1.5, e.g. from npm!"),
                (1, "why not?"),
                (2, "fine"),
            ],
        );
        check(
            "He said \"no.\" Then he left",
            &[(1, "He said \"no.\""), (1, "Then he left")],
        );
    }

    #[test]
    fn code_and_quotations_are_nobody_s_words() {
        check(
            "look:\n```rust\nlet a = 1; // we decided\n```\n> I always pay\n- first\n1. second\n    third",
            &[(1, "look:"), (6, "first"), (7, "second")],
        );
    }

    #[test]
    fn what_is_pasted_between_two_paragraphs_is_left_out() {
        let pasted = format!(
            "My draft:\n\n{}\n\nIs it good?",
            "Our shop is open. ".repeat(100)
        );
        check(&pasted, &[(1, "My draft:"), (5, "Is it good?")]);
    }
}
