//! Terms, features and counts of a memory's texts, the same for every kind of index.

use std::collections::HashMap;

use crate::model::Memory;
use crate::ranking::keyword::{Count, Keyword, KeywordSet};
use crate::ranking::{TextFeatures, TextPart, TraitsBuilder, keyword};
use crate::words::{Analyzer, Part, TextVector, is_unspaced, without_marks};

/// Length and features of a memory's text.
pub(super) struct Looked {
    /// Number of terms.
    pub length: u32,
    /// Features for ranking.
    pub traits: TextFeatures,
    /// Vector of the words of title and content.
    pub vector: TextVector,
}

/// Cuts the ranked texts of a memory (title, user, topics, content) into terms, and calls `each` with
/// every term.
pub(super) fn look(
    analyzer: &mut Analyzer,
    memory: &Memory,
    mut each: impl FnMut(TextPart, &str),
) -> Looked {
    let mut length = 0_u32;
    let mut traits = TraitsBuilder::new(&memory.user);
    let mut take = |text_part: TextPart, text: &str| {
        analyzer.terms(text, |term, word, part| {
            each(text_part, term);
            if part != Part::Within {
                length += u32::from(part == Part::Word);
                traits.term(text_part, term, word, part);
            }
        });
    };
    take(TextPart::Title, memory.title.as_deref().unwrap_or(""));
    take(TextPart::Other, &memory.user);
    memory
        .topics
        .iter()
        .for_each(|topic| take(TextPart::Other, topic));
    take(TextPart::Content, &memory.content);
    Looked {
        length,
        vector: traits.vector(),
        traits: traits.finish(&memory.content, &memory.user),
    }
}

/// Words that must all stand in a memory.
pub(super) struct WantedWords {
    /// Alternative terms of each word: one for each language, and the identifier that it is a part of.
    terms: Vec<Vec<String>>,
    /// Numbers of the words that each term stands for.
    by_term: HashMap<String, Vec<usize>>,
}

impl WantedWords {
    /// Returns the words of `texts`. A text without a word becomes a word that no memory holds.
    pub fn of(analyzer: &mut Analyzer, texts: &[String]) -> WantedWords {
        let mut terms: Vec<Vec<String>> = Vec::new();
        texts
            .iter()
            .for_each(|text| terms.append(&mut words_of(analyzer, text)));
        WantedWords::of_terms(terms)
    }

    /// Returns the words that stand in each text with the phrase `text`; `None` if there are none. A single sign of a
    /// script without spaces is none: in a text it may be a part of pairs alone.
    pub fn of_phrase(analyzer: &mut Analyzer, text: &str) -> Option<WantedWords> {
        let mut terms = words_of(analyzer, text);
        let is_sign = |term: &String| term.chars().count() == 1 && term.chars().all(is_unspaced);
        terms.retain(|terms| !terms.is_empty() && !terms.iter().any(is_sign));
        (!terms.is_empty()).then(|| WantedWords::of_terms(terms))
    }

    fn of_terms(terms: Vec<Vec<String>>) -> WantedWords {
        let mut by_term: HashMap<String, Vec<usize>> = HashMap::new();
        for (word, terms) in terms.iter().enumerate() {
            for term in terms {
                by_term.entry(term.clone()).or_default().push(word);
            }
        }
        WantedWords { terms, by_term }
    }

    /// Returns the alternative terms of each word.
    pub fn terms(&self) -> &[Vec<String>] {
        &self.terms
    }

    /// Returns whether title, topics and content of a memory hold every word.
    pub fn stand_in(&self, analyzer: &mut Analyzer, memory: &Memory) -> bool {
        let mut is_there = vec![false; self.terms.len()];
        let title = memory.title.iter();
        let texts = title.chain(&memory.topics).chain([&memory.content]);
        for text in texts {
            analyzer.terms(text, |term, _, _| {
                let words = self.by_term.get(term).into_iter().flatten();
                words.for_each(|&word| is_there[word] = true);
            });
        }
        is_there.into_iter().all(|is_there| is_there)
    }

    /// Returns how often `text` holds each of the terms that it holds.
    pub fn counts_in(&self, analyzer: &mut Analyzer, text: &str) -> HashMap<String, u32> {
        let mut counts = HashMap::new();
        analyzer.terms(text, |term, _, _| {
            if self.by_term.contains_key(term) {
                *counts.entry(term.to_owned()).or_default() += 1;
            }
        });
        counts
    }
}

/// Returns the words of a text, each once, as their alternative terms.
fn words_of(analyzer: &mut Analyzer, text: &str) -> Vec<Vec<String>> {
    let mut words: Vec<Vec<String>> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    // The words since the last identifier, which may be parts of the next one, and the first terms of them.
    let mut parts: Vec<(String, String, usize)> = Vec::new();
    analyzer.terms(text, |term, word, part| {
        if part == Part::Within {
            return;
        }
        if part == Part::Whole {
            // It may be written as one: `PostgreSQL`, `postgresql`.
            for (word, of_word, number) in parts.drain(..) {
                if term.contains(&of_word) || term.contains(&*without_marks(&word)) {
                    words[number].push(term.to_owned());
                }
            }
            return;
        }
        let number = match numbers.get(word) {
            Some(&number) => number,
            None => {
                numbers.insert(word.to_owned(), words.len());
                words.push(Vec::new());
                words.len() - 1
            }
        };
        words[number].push(term.to_owned());
        parts.push((word.to_owned(), term.to_owned(), number));
    });
    for terms in &mut words {
        terms.sort_unstable();
        terms.dedup();
    }
    match words.is_empty() {
        true => vec![Vec::new()],
        false => words,
    }
}

/// Fields of a memory in which keywords are counted, lower case.
pub(super) struct Lowered {
    topics: Vec<String>,
    others: [String; 3],
}

impl Lowered {
    /// Returns the fields of `memory`.
    pub fn of(memory: &Memory) -> Lowered {
        Lowered {
            topics: memory
                .topics
                .iter()
                .map(|topic| topic.to_lowercase())
                .collect(),
            others: [&memory.content, &memory.user, &memory.agent].map(|text| text.to_lowercase()),
        }
    }

    /// Returns the score of one keyword.
    pub fn score(&self, keyword: &Keyword) -> u32 {
        let topics: Count = self.topics.iter().map(|topic| keyword.count(topic)).sum();
        let others: Count = self.others.iter().map(|text| keyword.count(text)).sum();
        keyword::score(topics, others)
    }

    /// Returns the numbers and scores of those of `keywords` that it holds, ascending by number.
    pub fn scores(&self, keywords: &KeywordSet) -> Vec<(usize, u32)> {
        let texts = self.topics.iter().chain(&self.others);
        let there = keywords.standing_in(texts.map(String::as_str));
        let scored = there
            .into_iter()
            .map(|number| (number, self.score(keywords.get(number))));
        scored.filter(|(_, score)| *score > 0).collect()
    }
}
