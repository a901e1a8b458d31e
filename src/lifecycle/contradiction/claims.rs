//! A text → its claims: the first clause of each sentence, cut into words.
//!
//! Left out are questions, conditions, code, quotations, and what holds for a day.

use super::vocabulary;
use super::vocabulary::{List, Lists};
use crate::words::is_stop_word;

/// One thing that a memory says.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// As it is written.
    pub text: String,
    /// Without negations and fillers.
    pub words: Vec<Word>,
    /// Number of negations.
    pub negations: usize,
    /// It tells what happened, not how something is.
    pub is_past: bool,
    /// It names what follows and says nothing; capitals name nothing in it.
    pub is_heading: bool,
    /// It speaks of whoever says it.
    pub is_personal: bool,
}

/// A word of a claim.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// As it is written.
    pub text: String,
    /// In lower case.
    pub plain: String,
    /// Lists of the vocabulary that hold that.
    pub lists: Lists,
    /// Without its ending: equal for what is meant to be the same.
    pub stem: String,
    /// It says something by itself.
    pub is_content: bool,
    /// It says how many, how much or when.
    pub is_number: bool,
    /// It names one thing among others: a name, an identifier, a number.
    pub is_name: bool,
}

impl Word {
    pub fn is_copula(&self) -> bool {
        self.lists.has(List::Copula)
    }

    pub fn is_stative(&self) -> bool {
        self.is_copula() || self.lists.has(List::Stative)
    }

    /// Returns whether something may have several of what follows it.
    pub fn has_many(&self) -> bool {
        self.lists.has(List::Multivalued)
    }

    pub fn is_capital(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }

    /// It is made of more than letters, or of capitals within.
    pub fn is_identifier(&self) -> bool {
        looks_made(&self.text)
    }
}

impl Claim {
    /// Counts the content words that both have.
    pub fn shared_content(&self, other: &Claim) -> usize {
        let has = |word: &&Word| {
            let mut known = other.words.iter();
            word.is_content && known.any(|known| known.is_content && known.stem == word.stem)
        };
        self.words.iter().filter(has).count()
    }
}

/// Maximum number of claims of a memory that are compared, and of words of each.
const MOST_CLAIMS: usize = 8;
const MOST_WORDS: usize = 30;
/// Less says nothing that could be contradicted.
const LEAST_WORDS: usize = 3;
/// Number of words below which the first clause of a sentence has the next one belong to it.
const SHORT_CLAUSE: usize = 3;
/// Minimum number of lines with a speaker's name that makes a text a conversation.
const SPEAKERS: usize = 3;
const LONGEST_NAME: usize = 60;
/// Minimum number of content words, all with capitals, that makes a line a heading.
const HEADING_WORDS: usize = 3;
/// A longer text, in bytes, is an account or a document and no statement: its sentences stand for
/// something only together.
const LONGEST: usize = 1_200;

/// The claims of a text, in its order; a long text has none.
pub(super) fn of(text: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    if text.len() > LONGEST {
        return claims;
    }
    for sentence in sentences(text) {
        claims.extend(claim(&sentence));
        if claims.len() == MOST_CLAIMS {
            break;
        }
    }
    claims
}

/// Returns the subject of a title: its words that say something, without endings, each once.
pub(super) fn subject(title: &str) -> Vec<Word> {
    let mut subject: Vec<Word> = Vec::new();
    for text in title.split_whitespace() {
        let plain = text.trim_matches(is_edge).replace('’', "'").to_lowercase();
        // "Node.js" is "Node".
        let plain = plain
            .split_once('.')
            .map_or(plain.as_str(), |(name, _)| match name.len() {
                0 | 1 => plain.as_str(),
                _ => name,
            });
        let word = word(plain.to_owned(), plain.to_owned(), 0);
        let is_new = subject.iter().all(|known| known.stem != word.stem);
        if !plain.is_empty() && word.is_content && is_new {
            subject.push(word);
        }
    }
    subject
}

/// Returns the words of a text that is one value: "port 8080", "Two spaces." Else none.
pub(super) fn value(text: &str) -> Vec<Word> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() >= LEAST_WORDS || text.contains('?') {
        return Vec::new();
    }
    let words = words.iter().enumerate().filter_map(|(place, text)| {
        let text = text.trim_matches(is_edge).to_owned();
        let plain = text.to_lowercase();
        (!text.is_empty()).then(|| word(text, plain, place))
    });
    words.collect()
}

/// Returns whether a text says that something is not as it was.
pub(super) fn tells_of_change(text: &str) -> bool {
    let words: Vec<String> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    vocabulary::tells_of_change(&words)
}

/// Returns the sentences that state something.
fn sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut is_code = false;
    // What somebody said in the course of a talk is not what the memory claims.
    let is_talk = text.lines().filter(|line| names_a_speaker(line)).count() >= SPEAKERS;
    for line in text.lines() {
        let line = line.trim();
        if is_talk && names_a_speaker(line) {
            continue;
        }
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if is_code || line.starts_with(['>', '|']) {
            continue;
        }
        let line = line.trim_start_matches(['#', '-', '*', '+', ' ']);
        let mut sentence = String::new();
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            let ends = characters.peek().is_none_or(|next| next.is_whitespace());
            match character {
                '.' if ends && !is_ordinal(&sentence) => {
                    sentences.push(std::mem::take(&mut sentence));
                }
                '!' | ';' if ends => sentences.push(std::mem::take(&mut sentence)),
                '?' if ends => sentence.clear(),
                _ => sentence.push(character),
            }
        }
        sentences.push(sentence);
    }
    sentences
}

/// Returns whether a line begins with a name and a colon, as in "The Chair (Ms. Ann Lee): ".
fn names_a_speaker(line: &str) -> bool {
    let Some((name, said)) = line.split_once(':') else {
        return false;
    };
    said.starts_with(' ')
        && name.chars().count() <= LONGEST_NAME
        && name
            .split(' ')
            .all(|word| word.trim_start_matches('(').starts_with(char::is_uppercase))
}

/// Returns whether a full stop after it makes it "the third".
fn is_ordinal(sentence: &str) -> bool {
    let last = sentence.rsplit(' ').next().unwrap_or("");
    matches!(last.len(), 1 | 2) && last.bytes().all(|byte| byte.is_ascii_digit())
}

fn claim(sentence: &str) -> Option<Claim> {
    let mut words: Vec<&str> = Vec::new();
    for word in sentence.split_whitespace() {
        let is_new_clause = word.starts_with('(') || List::ReasonOpener.has(word);
        if is_new_clause && words.len() >= SHORT_CLAUSE {
            break;
        }
        words.push(word);
        if word.ends_with([',', ')']) && words.len() >= SHORT_CLAUSE {
            break;
        }
    }
    if words.len() > MOST_WORDS {
        return None;
    }
    let mut claim = Claim {
        text: words.join(" ").trim_matches(is_edge).to_owned(),
        words: Vec::new(),
        negations: 0,
        is_past: false,
        is_heading: false,
        is_personal: false,
    };
    let mut plain: Vec<String> = Vec::new();
    for (place, text) in words.iter().enumerate() {
        let text = text.trim_matches(is_edge).replace('’', "'");
        if text.is_empty() {
            continue;
        }
        let lower = text.to_lowercase();
        if place == 0 && List::ConditionOpener.has(&lower) {
            return None;
        }
        claim.is_personal |= List::Personal.has(&lower);
        let (lower, text, is_negated) = match vocabulary::without_not(&lower) {
            Some(positive) => (positive.to_owned(), positive.to_owned(), true),
            None => (lower, text, false),
        };
        if is_negated || List::Negation.has(&lower) {
            claim.negations += 1;
            // "does not need" is "needs", but for the "not".
            let is_helper = |word: &String| List::Auxiliary.has(word);
            if is_negated && is_helper(&lower) {
                continue;
            }
            if !is_negated {
                if plain.last().is_some_and(is_helper) {
                    plain.pop();
                    claim.words.pop();
                }
                continue;
            }
        }
        if List::Filler.has(&lower) {
            continue;
        }
        plain.push(lower.clone());
        claim.words.push(word(text, lower, place));
    }
    if plain.len() + claim.negations < LEAST_WORDS || vocabulary::is_of_a_day(&plain) {
        return None;
    }
    claim.is_heading = is_heading(&claim.words);
    // "not only" says more, not less.
    if claim.negations > 0 && plain.iter().any(|word| List::Only.has(word)) {
        return None;
    }
    claim.is_past = is_past(&plain);
    Some(claim)
}

/// "Set Clear Goals": whether every word is written as in a title.
fn is_heading(words: &[Word]) -> bool {
    let said = || {
        words
            .iter()
            .filter(|word| word.is_content && !word.is_number)
    };
    said().count() >= HEADING_WORDS && said().all(Word::is_capital)
}

fn word(text: String, plain: String, place: usize) -> Word {
    let lists = Lists::of(&plain);
    let is_number = is_written_number(&text) || lists.has(List::NumberWord);
    let is_made = looks_made(&text);
    Word {
        stem: stem(&plain),
        is_content: is_number || !(is_stop_word(&plain) || lists.has(List::FunctionWord)),
        is_number,
        is_name: is_number || is_made || (place > 0 && text.starts_with(char::is_uppercase)),
        text,
        plain,
        lists,
    }
}

/// Returns whether a word is a number, perhaps with a unit: `8080`, `v1.2`, `25MB`; `web-1` is a name.
fn is_written_number(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    digits > 0 && letters <= digits.max(2)
}

/// Returns whether a word is no plain word: `atlas-raw-eu`, `/etc/nginx`, `gRPC`, `v1.2`.
fn looks_made(text: &str) -> bool {
    let mut inner = text.chars().skip(1);
    inner.any(|c| c.is_uppercase() || matches!(c, '/' | '_' | '-' | '.' | ':' | '@'))
        || text.chars().any(|c| c.is_ascii_digit())
        || text.starts_with(['/', '~', '@', ':'])
}

/// Returns whether a character around words is no part of them.
fn is_edge(c: char) -> bool {
    matches!(
        c,
        ',' | '.'
            | ';'
            | '!'
            | '?'
            | '('
            | ')'
            | '['
            | ']'
            | '"'
            | '“'
            | '”'
            | '„'
            | '«'
            | '»'
            | '`'
            | '*'
            | '\''
            | '’'
            | '‘'
    ) || (c == ':')
}

/// Returns the word without an ending that says when or how many.
fn stem(plain: &str) -> String {
    let word = plain.strip_suffix("'s").unwrap_or(plain);
    let count = word.chars().count();
    if word.chars().any(|c| !c.is_alphabetic()) || count < 4 {
        return word.to_owned();
    }
    let endings = [
        ("ies", "y"),
        ("ing", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
        ("e", ""),
    ];
    for (ending, instead) in endings {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.chars().count() >= 3
            && !(ending == "s" && rest.ends_with('s'))
        {
            return format!("{rest}{instead}");
        }
    }
    word.to_owned()
}

/// Returns whether words tell what happened: a past, or a participle where nothing is said to be so.
fn is_past(words: &[String]) -> bool {
    let is_so = words.iter().any(|word| vocabulary::makes_a_state(word));
    let is_participle =
        |word: &String| word.len() > 4 && word.ends_with("ed") && !word.ends_with("eed");
    // "is sent" is so, "sent" is past.
    let is_made = |place: usize| place > 0 && List::Copula.has(&words[place - 1]);
    let mut placed = words.iter().enumerate();
    placed.any(|(place, word)| List::Past.has(word) && !is_made(place))
        || (!is_so && words.iter().skip(1).any(is_participle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let claims = of(text).into_iter();
        let shown = claims.map(|claim| {
            let words: Vec<&str> = claim.words.iter().map(|word| word.text.as_str()).collect();
            let signs = [(claim.is_past, " past"), (claim.is_personal, " personal")];
            let signs: String = signs
                .iter()
                .filter(|sign| sign.0)
                .map(|sign| sign.1)
                .collect();
            let nots = " not".repeat(claim.negations);
            format!("{}{nots}{signs}", words.join(" "))
        });
        shown.collect()
    }

    #[test]
    fn a_sentence_claims_what_its_first_clause_says() {
        for (text, expected) in [
            (
                "The port is 8080. The host is atlas-1!",
                vec!["The port is 8080", "The host is atlas-1"],
            ),
            (
                "- The port is 8080, because\n- it was free",
                vec!["The port is 8080", "it was free past"],
            ),
            (
                "The file lies in /etc/atlas.conf (since May).",
                vec!["The file lies in /etc/atlas.conf"],
            ),
            (
                "Is the port 8080? Jonas knows that here.",
                vec!["Jonas knows that here"],
            ),
            ("If it rains, the port is 8080.", vec![]),
            (
                "Am 3. Mai ist der Port 80.",
                vec!["Am 3. Mai ist der Port 80"],
            ),
            ("```\nThe port is 8080\n```\n> The port is 80", vec![]),
            (
                "Ann: The port is 80.\nTom B: No it is 81.\nAnn: Well it is not.",
                vec![],
            ),
            ("Port: The gateway has 80.", vec!["Port The gateway has 80"]),
            ("Yes indeed.", vec![]),
            ("The demo is today at noon.", vec![]),
        ] {
            let shown: Vec<String> = shown(text)
                .iter()
                .map(|one| one.replace("3 Mai", "3. Mai"))
                .collect();
            assert_eq!(shown, expected, "{text}");
        }
    }

    #[test]
    fn a_not_is_taken_out_and_counted() {
        for (text, expected) in [
            (
                "The flag is not enabled here",
                "The flag is enabled here not",
            ),
            (
                "The flag isn't enabled here",
                "The flag is enabled here not",
            ),
            (
                "You don't need the tunnel",
                "You need the tunnel not personal",
            ),
            (
                "You do not need the tunnel",
                "You need the tunnel not personal",
            ),
            (
                "It cannot work without a cache",
                "It work without a cache not",
            ),
            (
                "Der Server ist nicht erreichbar",
                "Der Server ist erreichbar not",
            ),
            (
                "I never eat meat at home",
                "I eat meat at home not personal",
            ),
            (
                "Jonas walked home in the rain",
                "Jonas walked home in the rain past",
            ),
            ("The flag is now enabled here", "The flag is enabled here"),
        ] {
            assert_eq!(shown(text), [expected], "{text}");
        }
        assert_eq!(shown("It is not only fast but small").len(), 0);
    }

    #[test]
    fn endings_do_not_make_another_word() {
        for (one, other) in [
            ("supports", "supported"),
            ("use", "uses"),
            ("tom's", "tom"),
            ("copies", "copy"),
        ] {
            assert_eq!(stem(one), stem(other));
        }
        assert_ne!(stem("postgres"), stem("mysql"));
        assert_eq!(stem("v1.2s"), "v1.2s");
    }
}
