//! Parses a query: the persons and dates in it, and whether it is a question.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::dates;

/// Users of a store by the words of their names.
#[derive(Debug, Default)]
pub struct Names {
    /// Numbers of the user fields that hold a name, by the name's lower-case words.
    users_by_name: HashMap<Vec<String>, Vec<u32>>,
}

/// User fields that are roles, not people.
const ROLES: [&str; 12] = [
    "user",
    "assistant",
    "agent",
    "system",
    "human",
    "ai",
    "bot",
    "chat",
    "model",
    "tool",
    "me",
    "unknown",
];
/// Maximum number of words of a name that is searched for.
const MAX_NAME_WORDS: usize = 4;

impl Names {
    /// Reads the names in `user_fields`; one field may hold several people (`Ana+Ben`). Roles and the names
    /// of `agents` (lower case) are not people.
    pub fn of(user_fields: &[String], agents: &HashSet<String>) -> Names {
        let mut names = Names::default();
        for (number, field) in user_fields.iter().enumerate() {
            for person in people(field) {
                let words: Vec<String> = words(&person)
                    .map(|(_, word)| word.to_lowercase())
                    .collect();
                let lower = person.to_lowercase();
                if words.is_empty() || ROLES.contains(&lower.as_str()) || agents.contains(&lower) {
                    continue;
                }
                // The first word of a longer name is a name, too.
                if words.len() > 1 {
                    names.add(words[..1].to_vec(), number as u32);
                }
                names.add(words, number as u32);
            }
        }
        names
    }

    /// Returns whether the user field `field` holds a name, and not only a role.
    pub fn are_in(field: &str) -> bool {
        let names = Names::of(&[field.to_owned()], &HashSet::new());
        !names.users_by_name.is_empty()
    }

    /// Returns `text` without the names and their possessive endings.
    pub fn strip(&self, text: &str) -> String {
        self.take_out(text, |_, _| {})
    }

    /// Does as [`Names::strip`]; calls `each` with every name, in lower-case words, and the numbers of the
    /// user fields that hold it.
    fn take_out(&self, text: &str, mut each: impl FnMut(&[String], &[u32])) -> String {
        let found: Vec<(usize, &str)> = words(text).collect();
        let lower: Vec<String> = found.iter().map(|(_, word)| word.to_lowercase()).collect();
        let mut left = String::new();
        let (mut at, mut copied) = (0, 0);
        while at < found.len() {
            let longest = MAX_NAME_WORDS.min(found.len() - at);
            let name = (1..=longest).rev().find_map(|count| {
                let name = &lower[at..at + count];
                self.users_by_name.get(name).map(|users| (name, users))
            });
            let Some((name, of)) = name else {
                at += 1;
                continue;
            };
            each(name, of);
            left.push_str(&text[copied..found[at].0]);
            let (start, last) = found[at + name.len() - 1];
            copied = start + last.len();
            copied += possessive(&text[copied..]);
            at += name.len();
            while at < found.len() && found[at].0 < copied {
                at += 1;
            }
        }
        left.push_str(&text[copied..]);
        left
    }

    fn add(&mut self, words: Vec<String>, user: u32) {
        let users = self.users_by_name.entry(words).or_default();
        if users.last() != Some(&user) {
            users.push(user);
        }
    }
}

fn people(field: &str) -> Vec<String> {
    field
        .split(['+', ',', ';', '&', '/', '|'])
        .flat_map(|part| part.split(" and "))
        .map(|person| person.trim().to_owned())
        .filter(|person| !person.is_empty())
        .collect()
}

/// Returns runs of letters and digits with their byte offsets.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// A parsed query.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedQuery {
    /// Text of the query without names.
    pub text: String,
    /// Numbers of the user fields that hold a named person, each with the number of named persons in it.
    pub users: HashMap<u32, u32>,
    /// Whether it is a question, or a request in a sentence, and not a list of words.
    pub asks: bool,
    /// Whether it asks for a time.
    pub asks_when: bool,
    /// Calendar terms of the dates in it.
    pub dates: Vec<String>,
}

static WHEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^\W*(?:when|how long|how recently|since when|(?:what|which) (?:date|day|month|year|time))\b|\b(?:what|which) (?:date|day|month|year)\b|\bhow long\b",
    )
    .expect("it is valid")
});

/// First words of questions and requests.
const OPENINGS: [&str; 33] = [
    "what",
    "when",
    "where",
    "who",
    "whom",
    "whose",
    "which",
    "why",
    "how",
    "did",
    "do",
    "does",
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "had",
    "could",
    "would",
    "should",
    "summarize",
    "summarise",
    "describe",
    "explain",
    "tell",
    "list",
    "give",
    "compare",
    "can",
    "will",
    "am",
];

impl ParsedQuery {
    /// Returns the query as a text without names and dates.
    pub fn plain(query: &str) -> ParsedQuery {
        ParsedQuery {
            text: query.to_owned(),
            users: HashMap::new(),
            asks: true,
            asks_when: false,
            dates: Vec::new(),
        }
    }

    /// Parses `query`; `names` are those of the store.
    pub fn read(query: &str, names: &Names) -> ParsedQuery {
        let mut users: HashMap<u32, u32> = HashMap::new();
        let mut named: HashSet<Vec<String>> = HashSet::new();
        let text = names.take_out(query, |name, of| {
            if named.insert(name.to_vec()) {
                for &user in of {
                    *users.entry(user).or_default() += 1;
                }
            }
        });
        let mut words = words(query).map(|(_, word)| word.to_lowercase());
        let opens = words
            .next()
            .is_some_and(|first| OPENINGS.contains(&first.as_str()));
        let asks = query.contains(['?', '？']) || (opens && words.count() >= 2);
        ParsedQuery {
            text,
            users,
            asks,
            asks_when: WHEN.is_match(query),
            dates: dates::query_terms(query),
        }
    }
}

/// Returns the length of a possessive ending at the start of `rest`, in bytes.
fn possessive(rest: &str) -> usize {
    ["'s", "’s", "'", "’"]
        .iter()
        .find(|ending| {
            rest.strip_prefix(**ending)
                .is_some_and(|after| !after.starts_with(char::is_alphanumeric))
        })
        .map_or(0, |ending| ending.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let users = ["Caroline", "Caroline+Melanie", "John Smith", "user"].map(str::to_owned);
        Names::of(&users, &HashSet::from(["claude".to_owned()]))
    }

    #[test]
    fn named_people_are_taken_out_of_the_words() {
        let read = ParsedQuery::read("What did Caroline's friend Melanie say?", &names());
        assert_eq!(read.text, "What did  friend  say?");
        assert_eq!(read.users, HashMap::from([(0, 1), (1, 2)]));
        assert!(read.asks && !read.asks_when);
        assert_eq!(
            ParsedQuery::read("john smith invoice", &names()).text,
            " invoice"
        );
        assert_eq!(
            ParsedQuery::read("the user said", &names()).text,
            "the user said"
        );
    }

    #[test]
    fn questions_differ_from_lists_of_words() {
        for (query, asks) in [
            ("When did it fail?", true),
            ("how do we deploy atlas", true),
            ("deploy atlas", false),
            ("is it", false),
            ("", false),
        ] {
            assert_eq!(ParsedQuery::read(query, &names()).asks, asks, "{query}");
        }
        assert!(ParsedQuery::read("how long did it take", &names()).asks_when);
    }
}
