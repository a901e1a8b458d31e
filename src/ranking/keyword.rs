//! Keyword counts: the published formula of the three-tool specification.
//!
//! For each keyword k over the lower-cased fields:
//! `2·Σ_topics count(k) + count(k, content) + count(k, user) + count(k, agent)
//!  + matches(\bk\b over topics, content, user, agent)`,
//! where `count` is the number of non-overlapping occurrences as a substring.

/// A keyword, lower case and trimmed.
#[derive(Debug, Clone)]
pub struct Keyword {
    text: String,
    starts_with_word: bool,
    ends_with_word: bool,
}

/// How often a keyword stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Non-overlapping occurrences anywhere.
    pub anywhere: u32,
    /// Non-overlapping occurrences between word boundaries.
    pub as_word: u32,
}

/// How much an occurrence in a topic counts against one elsewhere.
pub const TOPIC_WEIGHT: u32 = 2;

impl Keyword {
    /// Folds case and takes blanks off the ends; `None` if nothing is left.
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

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether occurrences can span blanks, so that they are not inside one run.
    pub fn has_blank(&self) -> bool {
        self.text.chars().any(char::is_whitespace)
    }

    /// Counts the keyword in a lower-cased text.
    pub fn count(&self, lower: &str) -> Count {
        let mut count = Count::default();
        let (mut after_anywhere, mut after_word) = (0, 0);
        for at in overlapping(lower, &self.text) {
            let end = at + self.text.len();
            if at >= after_anywhere {
                count.anywhere += 1;
                after_anywhere = end;
            }
            if at >= after_word && self.is_bounded(lower, at, end) {
                count.as_word += 1;
                after_word = end;
            }
        }
        count
    }

    /// Whether `\b` holds at both ends of an occurrence.
    fn is_bounded(&self, text: &str, start: usize, end: usize) -> bool {
        let before = text[..start].chars().next_back().is_some_and(is_word);
        let after = text[end..].chars().next().is_some_and(is_word);
        before != self.starts_with_word && after != self.ends_with_word
    }
}

/// Every place where `needle` begins in `text`, overlapping ones too.
fn overlapping<'a>(text: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let finder = memchr::memmem::Finder::new(needle);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + finder.find(&text.as_bytes()[from..])?;
        from = at + 1;
        Some(at)
    })
}

/// What `\w` matches.
fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The score that counts in topics and counts elsewhere add up to.
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
