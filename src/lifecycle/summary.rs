//! A summary made of the sentences that say the most.
//!
//! Sentences with numbers, dates, names or identifiers come first, then those whose words the other
//! sources share. Nothing is said in other words than it was said; what is left out stays where it
//! came from. Code blocks are left out.

use std::collections::{HashMap, HashSet};

/// The most specifics of a sentence that count: a table of numbers is no better than a fact.
const MOST_SPECIFICS: usize = 4;
/// The share of common words from which two sentences say the same.
const SAME: f64 = 0.7;
/// A first sentence mostly says what a text is about.
const FIRST: f64 = 0.5;
/// Longer ones are cut, so that one does not take the room of all.
const LONGEST: usize = 300;

struct Sentence<'a> {
    text: &'a str,
    source: usize,
    score: f64,
    words: HashSet<String>,
}

/// Returns the best sentences of `texts`, at most `budget` characters of them, with the number of the text
/// that each is from; in the order of the texts. The best one of all is there whatever its length.
pub fn extract(texts: &[&str], budget: usize) -> Vec<(usize, String)> {
    let mut sentences: Vec<Sentence<'_>> = Vec::new();
    for (source, text) in texts.iter().enumerate() {
        for (place, text) in split(text).into_iter().enumerate() {
            let first = if place == 0 { FIRST } else { 0.0 };
            sentences.push(Sentence {
                text,
                source,
                score: first + specifics(text).min(MOST_SPECIFICS) as f64,
                words: words(text),
            });
        }
    }
    let mut holders: HashMap<&str, HashSet<usize>> = HashMap::new();
    for sentence in &sentences {
        for word in &sentence.words {
            holders.entry(word).or_default().insert(sentence.source);
        }
    }
    let shared: Vec<f64> = sentences
        .iter()
        .map(|sentence| {
            let words = sentence.words.iter();
            let sum: f64 = words
                .map(|word| (holders[word.as_str()].len() - 1) as f64)
                .sum();
            sum / (sentence.words.len().max(1) * texts.len().max(1)) as f64
        })
        .collect();
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    let score = |at: usize| sentences[at].score + shared[at];
    // Among equals the earlier one.
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = budget;
    for at in order {
        let length = sentences[at].text.chars().count().min(LONGEST);
        let words = &sentences[at].words;
        // Two days or two ports are two facts, however alike the rest is.
        let numbers = || words.iter().filter(|word| has_digit(word));
        let is_said = |&other: &usize| {
            let said = &sentences[other].words;
            overlap(words, said) >= SAME && numbers().all(|number| said.contains(number))
        };
        if (length > left && !chosen.is_empty()) || chosen.iter().any(is_said) {
            continue;
        }
        left = left.saturating_sub(length);
        chosen.push(at);
    }
    chosen.sort_unstable();
    let cut = |text: &str| match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    };
    chosen
        .into_iter()
        .map(|at| (sentences[at].source, cut(sentences[at].text)))
        .collect()
}

/// The sentences of a text; a line ends one, headings, marks of lists and code blocks are left out.
fn split(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if is_code || line.starts_with('#') {
            continue;
        }
        let marks = |c: char| matches!(c, '-' | '*' | '+' | '>' | '|') || c.is_whitespace();
        let mut rest = line.trim_start_matches(marks);
        while let Some(end) = sentence_end(rest) {
            sentences.push(rest[..end].trim());
            rest = rest[end..].trim_start();
        }
        sentences.push(rest.trim());
    }
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    sentences
}

/// Returns the end of the first of several sentences: its mark, if what follows begins anew.
fn sentence_end(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        if matches!(c, '。' | '！' | '？') && end < text.len() {
            return Some(end);
        }
        let is_mark = matches!(c, '.' | '!' | '?');
        if is_mark && chars.peek().is_some_and(|(_, next)| next.is_whitespace()) {
            let next = text[end..].trim_start().chars().next();
            // "e.g. this" and "approx. 3" go on.
            if next.is_some_and(|next| next.is_uppercase()) {
                return Some(end);
            }
        }
    }
    None
}

/// Counts the numbers, dates, names and identifiers in a sentence.
fn specifics(sentence: &str) -> usize {
    let mut words = sentence.split_whitespace();
    let first = words
        .next()
        .map(|word| is_identifier(word) || has_digit(word));
    let others = words.filter(|word| {
        has_digit(word)
            || is_identifier(word)
            || word.chars().next().is_some_and(char::is_uppercase)
    });
    usize::from(first == Some(true)) + others.count()
}

fn has_digit(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit())
}

/// Returns whether a word looks like a name in a program, a path, an address.
fn is_identifier(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '`');
    let has_case = inner.chars().skip(1).any(char::is_uppercase);
    let marks = ['_', '/', '@', '`', ':'];
    has_case && inner.chars().any(char::is_lowercase)
        || inner.contains(marks)
        || inner.split('.').filter(|part| !part.is_empty()).count() > 1
}

fn words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() > 2 || has_digit(word))
        .map(str::to_lowercase)
        .collect()
}

/// Returns the share of the shorter one's words that the other one holds.
fn overlap(one: &HashSet<String>, other: &HashSet<String>) -> f64 {
    let least = one.len().min(other.len()).max(1);
    one.intersection(other).count() as f64 / least as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str], budget: usize) -> Vec<String> {
        extract(texts, budget)
            .into_iter()
            .map(|(_, text)| text)
            .collect()
    }

    #[test]
    fn facts_come_before_talk() {
        let text = "It was a long day and people talked. We moved to Postgres 16 on 2026-03-04. \
                    Everybody liked it a lot.";
        assert_eq!(
            texts(&[text], 60),
            ["We moved to Postgres 16 on 2026-03-04."]
        );
        let text = "people met. `deploy_all` calls src/run.rs now.";
        assert_eq!(
            texts(&[text], 50),
            ["people met. `deploy_all` calls src/run.rs now."]
        );
        let text = "People met. The function deploy_all calls src/run.rs now.";
        assert_eq!(
            texts(&[text], 50),
            ["The function deploy_all calls src/run.rs now."]
        );
    }

    #[test]
    fn what_was_said_before_is_not_said_again() {
        let one = "The port of atlas is 8080.";
        let found = texts(&[one, one, "The port of atlas is 8080 now."], 1_000);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn the_order_is_that_of_the_texts_and_each_names_its_own() {
        let found = extract(
            &["Mira left.", "Atlas 2.1 was released on 2026-03-02."],
            1_000,
        );
        assert_eq!(found[0], (0, "Mira left.".to_owned()));
        assert_eq!(found[1].0, 1);
    }

    #[test]
    fn code_and_headings_are_left_out() {
        let text =
            "# Title 1\n\n```\nlet a = 1;\n```\n- The first point is 7.\n* The second is 8.\n";
        assert_eq!(
            texts(&[text], 1_000),
            ["The first point is 7.", "The second is 8."]
        );
    }

    #[test]
    fn no_text_is_too_odd() {
        assert!(texts(&[], 100).is_empty());
        assert!(texts(&["", "---", "```\ncode"], 100).is_empty());
        let long = "x1 ".repeat(1_000);
        let found = texts(&[&long], 10);
        assert_eq!(found[0].chars().count(), LONGEST);
        assert_eq!(texts(&["它很好。第二句2。"], 1_000).len(), 2);
        assert_eq!(
            texts(&["Use e.g. this one. It is approx. 3 m."], 1_000).len(),
            2
        );
    }
}
