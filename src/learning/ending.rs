//! The end of a talk in one line.

use super::candidates::candidates;
use super::kind::CandidateKind;
use super::sentences::{Sentence, sentences};
use super::turns::{Company, Turn, turns};

/// Maximum number of characters of each part of the line.
const MAX_PART: usize = 160;

/// Maximum number of bytes of a statement: what is longer is no sentence.
const MAX_STATEMENT: usize = 300;

/// Number of words of an outcome at least: "Done." says nothing.
const LEAST_WORDS: usize = 3;

/// Returns how a talk ended: the last open end that a person spoke of, and the last statement; `None` of a
/// talk in which nothing of the kind was said. What an assistant said is in it as it was said: whoever shows
/// it treats it as data.
pub fn ending(content: &str, company: Company) -> Option<String> {
    let open = candidates(content, company)
        .into_iter()
        .rfind(|one| one.kind == CandidateKind::OpenEnd);
    let turns = turns(content, company);
    let last = turns.iter().rev().find_map(outcome);
    let is_open = |last: &&str| open.as_ref().is_some_and(|open| open.quote == **last);
    let last = last.filter(|last| !is_open(last));
    let parts = [
        last.map(short),
        open.map(|open| format!("Open: {}", short(&open.text))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Returns the last sentence of a turn that states something.
fn outcome<'a>(turn: &Turn<'a>) -> Option<&'a str> {
    let said: Vec<Sentence<'a>> = sentences(turn);
    let states = |one: &&Sentence<'_>| {
        let is_sentence = one.text.len() <= MAX_STATEMENT && !one.text.ends_with(['?', ':']);
        is_sentence && one.text.split_whitespace().count() >= LEAST_WORDS
    };
    said.iter().rev().find(states).map(|one| one.text)
}

/// Returns the beginning of a text, cut after a word.
fn short(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_PART).collect();
    if short.len() < text.len() {
        short.truncate(short.rfind(' ').unwrap_or(short.len()));
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_statement_and_the_last_open_end_say_how_it_ended() {
        let text = "**User**\n\nI still need to tell Ruth about the keys. Rotate them.\n\n\
                    **Claude**\n\nThe keys are rotated. Shall I go on?\n\n**User**\n\nok thanks\n";
        assert_eq!(
            ending(text, Company::WithAssistant).unwrap(),
            "The keys are rotated. Open: I still need to tell Ruth about the keys."
        );
        assert_eq!(ending("**User**\n\nhi\n", Company::WithAssistant), None);
    }
}
