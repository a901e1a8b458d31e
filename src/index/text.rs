//! What a search needs to know of a memory's texts, found in one way for every kind of index.

use crate::model::Memory;
use crate::ranking::TextPart;
use crate::ranking::Traits;
use crate::ranking::TraitsBuilder;
use crate::ranking::keyword;
use crate::ranking::keyword::Count;
use crate::ranking::keyword::Keyword;
use crate::words::Analyzer;
use crate::words::Part;

/// What is noticed about a memory's words.
pub(super) struct Looked {
    /// In terms.
    pub length: u32,
    pub traits: Traits,
}

/// Cuts what is ranked of a memory (title, user, topics, content) into terms and calls `each`
/// with every one of them.
pub(super) fn look(
    analyzer: &mut Analyzer,
    memory: &Memory,
    mut each: impl FnMut(TextPart, &str),
) -> Looked {
    let mut length = 0_u32;
    let mut traits = TraitsBuilder::default();
    let mut take = |text_part: TextPart, text: &str| {
        analyzer.terms(text, |term, word, part| {
            each(text_part, term);
            length += u32::from(part == Part::Word);
            traits.term(text_part, term, word, part);
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
        traits: traits.finish(&memory.content),
    }
}

/// The words of a text that is asked for, each as the terms it may stand in a memory as: one for
/// each language, and the identifier that it is a part of. A text without a word is one word that stands nowhere.
pub(super) fn words_of(analyzer: &mut Analyzer, text: &str) -> Vec<Vec<String>> {
    let mut words: Vec<(String, Vec<String>)> = Vec::new();
    analyzer.terms(text, |term, word, part| {
        if part == Part::Whole {
            // It may be written as one: `PostgreSQL`, `postgresql`.
            let parts = words
                .iter_mut()
                .filter(|(known, _)| term.contains(known.as_str()));
            parts.for_each(|(_, terms)| terms.push(term.to_owned()));
            return;
        }
        match words.iter_mut().find(|(known, _)| known == word) {
            Some((_, terms)) => terms.push(term.to_owned()),
            None => words.push((word.to_owned(), vec![term.to_owned()])),
        }
    });
    match words.is_empty() {
        true => vec![Vec::new()],
        false => words.into_iter().map(|(_, terms)| terms).collect(),
    }
}

/// Whether every one of `words` stands in what is ranked of a memory.
pub(super) fn holds_words(analyzer: &mut Analyzer, memory: &Memory, words: &[Vec<String>]) -> bool {
    let mut is_there = vec![false; words.len()];
    look(analyzer, memory, |_, term| {
        for (is_there, terms) in is_there.iter_mut().zip(words) {
            *is_there = *is_there || terms.iter().any(|known| known == term);
        }
    });
    is_there.into_iter().all(|is_there| is_there)
}

/// The fields of a memory in which keywords are counted, lower case.
pub(super) struct Lowered {
    topics: Vec<String>,
    others: [String; 3],
}

impl Lowered {
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

    pub fn score(&self, keyword: &Keyword) -> u32 {
        let topics: Count = self.topics.iter().map(|topic| keyword.count(topic)).sum();
        let others: Count = self.others.iter().map(|text| keyword.count(text)).sum();
        keyword::score(topics, others)
    }
}
