//! Keyword counts: the published formula of the three-tool specification.
//!
//! For each keyword k over the lower-cased fields:
//! `2·Σ_topics count(k) + count(k, content) + count(k, user) + count(k, agent)
//!  + matches(\bk\b over topics, content, user, agent)`,
//! where `count` is the number of non-overlapping occurrences as a substring.
//!
//! All keywords count, however many there are ([`KeywordSet`]): time is linear in the bytes of the
//! keywords and of the texts, and in the number of occurrences.

use std::collections::HashSet;

use aho_corasick::AhoCorasick;

/// A keyword, lower case and trimmed.
#[derive(Debug, Clone)]
pub struct Keyword {
    text: String,
    starts_with_word: bool,
    ends_with_word: bool,
}

/// Counts of a keyword in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Number of non-overlapping occurrences.
    pub anywhere: u32,
    /// Number of non-overlapping occurrences between word boundaries.
    pub as_word: u32,
}

/// Weight of an occurrence in a topic; one elsewhere has 1.
pub const TOPIC_WEIGHT: u32 = 2;

impl Keyword {
    /// Lower-cases and trims `text`; `None` if nothing is left.
    pub fn new(text: &str) -> Option<Keyword> {
        let text = text.trim().to_lowercase();
        let first = text.chars().next()?;
        let last = text.chars().next_back()?;
        Some(Keyword {
            starts_with_word: is_word(first),
            ends_with_word: is_word(last),
            text,
        })
    }

    /// Returns the keyword, lower case.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the keyword holds a blank, so that its occurrences span several runs.
    pub fn has_blank(&self) -> bool {
        self.text.chars().any(char::is_whitespace)
    }

    /// Counts the keyword in a lower-cased text.
    pub fn count(&self, lower: &str) -> Count {
        let mut count = Count::default();
        let (mut after_anywhere, mut after_word) = (0, 0);
        let occurs = |at: usize| {
            let end = at + self.text.len();
            if at >= after_anywhere {
                count.anywhere += 1;
                after_anywhere = end;
            }
            if at >= after_word && self.is_bounded(lower, at, end) {
                count.as_word += 1;
                after_word = end;
            }
        };
        each_overlapping(lower.as_bytes(), self.text.as_bytes(), occurs);
        count
    }

    /// Returns whether `\b` matches at both ends of an occurrence.
    fn is_bounded(&self, text: &str, start: usize, end: usize) -> bool {
        let before = text[..start].chars().next_back().is_some_and(is_word);
        let after = text[end..].chars().next().is_some_and(is_word);
        before != self.starts_with_word && after != self.ends_with_word
    }
}

/// Maximum length of a needle that is compared at each position; for longer ones with many overlapping
/// matches that would take time in the product of both lengths.
const LONG_NEEDLE: usize = 64;

/// Calls `occurs` with the position of every match of `needle` in `text`, overlapping ones too, in order.
fn each_overlapping(text: &[u8], needle: &[u8], mut occurs: impl FnMut(usize)) {
    let finder = memchr::memmem::Finder::new(needle);
    let Some(first) = finder.find(text) else {
        return;
    };
    if needle.len() > LONG_NEEDLE {
        return each_by_borders(&text[first..], needle, |at| occurs(first + at));
    }
    occurs(first);
    let mut from = first + 1;
    while let Some(at) = finder.find(&text[from..]) {
        occurs(from + at);
        from += at + 1;
    }
}

/// As [`each_overlapping`], in time linear in both lengths (Knuth, Morris and Pratt 1977).
fn each_by_borders(text: &[u8], needle: &[u8], mut occurs: impl FnMut(usize)) {
    // Length of the longest border of each prefix of the needle.
    let mut borders = vec![0_usize; needle.len()];
    let mut length = 0;
    for at in 1..needle.len() {
        while length > 0 && needle[at] != needle[length] {
            length = borders[length - 1];
        }
        length += usize::from(needle[at] == needle[length]);
        borders[at] = length;
    }
    let mut matched = 0;
    for (at, byte) in text.iter().enumerate() {
        while matched > 0 && (matched == needle.len() || *byte != needle[matched]) {
            matched = borders[matched - 1];
        }
        matched += usize::from(*byte == needle[matched]);
        if matched == needle.len() {
            occurs(at + 1 - needle.len());
        }
    }
}

/// Distinct keywords, by number, that are searched for together.
pub struct KeywordSet {
    keywords: Vec<Keyword>,
    /// Automata for consecutive keywords, each with the number of its first; empty where the keywords are
    /// few.
    automata: Vec<(usize, AhoCorasick)>,
}

/// Maximum number of keywords that are searched for one by one: an automaton costs more to make.
const FEW: usize = 32;
/// Maximum number of bytes of the keywords of one automaton, which takes fifty times as much memory.
const AUTOMATON_BYTES: usize = 1 << 20;
/// Maximum number of keywords of one automaton: the time to make it grows with the square of it.
const AUTOMATON_KEYWORDS: usize = 1_000;

impl KeywordSet {
    /// Returns the distinct keywords among `texts`, in their order, without blank texts.
    pub fn read(texts: &[String]) -> KeywordSet {
        let mut known: HashSet<String> = HashSet::new();
        let keywords = texts.iter().filter_map(|text| Keyword::new(text));
        let distinct = keywords.filter(|keyword| known.insert(keyword.text.clone()));
        KeywordSet::of(distinct.collect())
    }

    /// Returns the set of `keywords`, numbered in their order.
    pub fn of(keywords: Vec<Keyword>) -> KeywordSet {
        let mut automata = Vec::new();
        let mut first = 0;
        while keywords.len() > FEW && first < keywords.len() {
            let mut bytes = 0;
            let texts: Vec<&str> = keywords[first..]
                .iter()
                .take(AUTOMATON_KEYWORDS)
                .map(Keyword::as_str)
                .take_while(|text| {
                    let is_room = bytes == 0 || bytes + text.len() <= AUTOMATON_BYTES;
                    bytes += text.len();
                    is_room
                })
                .collect();
            let Ok(automaton) = AhoCorasick::new(&texts) else {
                // One keyword by itself is too long for it.
                automata.clear();
                break;
            };
            let count = texts.len();
            automata.push((first, automaton));
            first += count;
        }
        KeywordSet { keywords, automata }
    }

    /// Returns the keyword with a number.
    pub fn get(&self, number: usize) -> &Keyword {
        &self.keywords[number]
    }

    /// Returns the texts of the keywords with these numbers.
    pub fn texts(&self, numbers: &[usize]) -> Vec<String> {
        let keywords = numbers.iter().map(|&number| self.get(number));
        keywords.map(|keyword| keyword.text.clone()).collect()
    }

    /// Returns the keywords with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Keyword)> {
        self.keywords.iter().enumerate()
    }

    /// Returns whether searching for all at once is quicker than for one after the other.
    pub fn are_many(&self) -> bool {
        !self.automata.is_empty()
    }

    /// Calls `each` with the number and the position of every match in `text`, overlapping ones too.
    pub fn each_in(&self, text: &[u8], mut each: impl FnMut(usize, usize)) {
        for (first, automaton) in &self.automata {
            for found in automaton.find_overlapping_iter(text) {
                each(first + found.pattern().as_usize(), found.start());
            }
        }
        if self.automata.is_empty() {
            for (number, keyword) in self.iter() {
                each_overlapping(text, keyword.text.as_bytes(), |at| each(number, at));
            }
        }
    }

    /// Returns the numbers of the keywords that `texts` may hold, ascending: all, where they are few.
    pub fn standing_in<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Vec<usize> {
        if self.automata.is_empty() {
            return self.iter().map(|(number, _)| number).collect();
        }
        let mut is_there = vec![false; self.keywords.len()];
        for text in texts {
            self.each_in(text.as_bytes(), |number, _| is_there[number] = true);
        }
        let numbers = (0..is_there.len()).filter(|number| is_there[*number]);
        numbers.collect()
    }
}

/// Returns whether `\w` matches a character, nearly: letters, digits, underscore.
fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the score of the counts in topics and elsewhere.
pub fn score(topics: Count, elsewhere: Count) -> u32 {
    TOPIC_WEIGHT * topics.anywhere + elsewhere.anywhere + topics.as_word + elsewhere.as_word
}

impl std::ops::Add for Count {
    type Output = Count;

    fn add(self, other: Count) -> Count {
        Count {
            anywhere: self.anywhere + other.anywhere,
            as_word: self.as_word + other.as_word,
        }
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Count>>(counts: I) -> Count {
        counts.fold(Count::default(), std::ops::Add::add)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn occurrences_are_counted_as_substrings_and_as_words() {
        check("aa", "aaa", 1, 0);
        check("aa", "aa aaa aa", 3, 2);
        check("api", "api, rapid api_x api", 4, 2);
        check("c++", "c++ and c++17", 2, 1);
        check("@x", "a@x @x", 2, 1);
        check("東京", "東京 東京都", 2, 1);
        check("don't", "don't", 1, 1);
    }

    #[track_caller]
    fn check(keyword: &str, text: &str, anywhere: u32, as_word: u32) {
        let counted = Keyword::new(keyword).unwrap().count(text);
        assert_eq!(counted, Count { anywhere, as_word }, "{keyword} in {text}");
    }

    proptest! {
        #[test]
        fn a_long_needle_is_found_wherever_a_short_one_would_be(
            text in "[ab]{0,60}",
            needle in "[ab]{1,8}",
        ) {
            let (text, needle) = (text.as_bytes(), needle.as_bytes());
            let (mut by_borders, mut one_by_one) = (Vec::new(), Vec::new());
            each_by_borders(text, needle, &mut |at| by_borders.push(at));
            each_overlapping(text, needle, &mut |at| one_by_one.push(at));
            prop_assert_eq!(by_borders, one_by_one);
        }

        #[test]
        fn many_keywords_are_found_where_each_of_them_is(
            text in "[abc ]{0,40}",
            words in prop::collection::vec("[abc ]?[abc][abc ]?", FEW + 1..FEW + 20),
        ) {
            let keywords: Vec<Keyword> = words.iter().filter_map(|word| Keyword::new(word)).collect();
            let set = KeywordSet::of(keywords.clone());
            prop_assert!(set.are_many());
            let there = set.standing_in([text.as_str()].into_iter());
            let expected = (0..keywords.len()).filter(|number| {
                keywords[*number].count(&text).anywhere > 0
            });
            prop_assert_eq!(there, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_specifications_first_example_scores_eight() {
        // Topics programming, python, preferences; keywords python, programming: a topic hit
        // counts two and, as a whole word, one more; the content names Python once (one and one).
        let of = |keyword: &str| {
            let keyword = Keyword::new(keyword).unwrap();
            let topics = ["programming", "python", "preferences"].map(|t| keyword.count(t));
            let content = "user prefers python for backend development and has experience with flask and fastapi frameworks. prefers type hints and comprehensive docstrings in code.";
            score(
                topics.into_iter().sum(),
                [content, "marco", "claude"]
                    .map(|t| keyword.count(t))
                    .into_iter()
                    .sum(),
            )
        };
        assert_eq!(of("python") + of("programming"), 8);
    }
}
