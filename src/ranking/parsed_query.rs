//! Parses a query: the persons and dates in it, and whether it is a question.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use super::people::{Alias, Names, words};
use super::times;

/// A parsed query.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedQuery {
    /// Text of the query without names.
    pub text: String,
    /// Numbers of the user fields that hold a named person, each with the number of named persons in it.
    pub users: HashMap<u32, u32>,
    /// The same of persons whom it calls as only the memories of one namespace do, by the numbers of
    /// namespace and user field.
    pub aliases: HashMap<(u32, u32), u32>,
    /// Names of users that were taken out of the text.
    pub named: Vec<String>,
    /// Whether it is a question, or a request in a sentence, and not a list of words.
    pub asks: bool,
    /// Whether it asks for a time.
    pub asks_when: bool,
    /// Whether it asks for a number of things, an age or a duration.
    pub asks_number: bool,
    /// Kind of thing that it asks for, if it is known.
    pub wanted: Option<Wanted>,
    /// Whether it asks for a summary.
    pub asks_summary: bool,
    /// Whether it asks what the reader said, as an assistant in a chat.
    pub asks_what_you_said: bool,
    /// Calendar terms of the dates in it.
    pub dates: Vec<String>,
}

static WHEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^\W*(?:when|how long|how recently|since when|(?:what|which) (?:date|day|month|year|time))\b|\b(?:what|which) (?:date|day|month|year)\b|\bhow long\b",
    )
    .expect("it is valid")
});

/// Returns whether a query of these lower-case words holds one that [`WHEN`] needs. To compile it takes longer
/// than most searches.
fn may_ask_when(words: &[String]) -> bool {
    let needed = ["when", "how", "what", "which"];
    let holds_one = |word: &String| needed.iter().any(|needed| word.contains(needed));
    words.iter().any(holds_one)
}

/// Kind of thing that a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The name of a person or thing.
    Name,
    /// A place.
    Place,
    /// A reason.
    Reason,
}

impl Wanted {
    /// Returns what a question of these lower-case words asks for; the first that applies.
    fn by(words: &[String]) -> Option<Wanted> {
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let is_which = |at: usize| matches!(word(at), "which" | "what");
        let leads = usize::from(matches!(word(0), "in" | "to" | "from" | "at"));
        let reasons = ["motivat", "inspir", "made", "prompt", "helped", "reason"];
        let gives_reason = |at: usize| reasons.iter().any(|stem| word(at).starts_with(stem));
        if word(0) == "where" || is_which(leads) && PLACES.contains(&word(leads + 1)) {
            Some(Wanted::Place)
        } else if word(0) == "why"
            || (1..words.len()).any(|at| word(at - 1) == "what" && gives_reason(at))
        {
            Some(Wanted::Reason)
        } else if word(0) == "who" || is_which(0) && words.iter().any(|word| is_named(word)) {
            Some(Wanted::Name)
        } else {
            None
        }
    }
}

/// Places that a question may ask for.
const PLACES: [&str; 12] = [
    "city",
    "cities",
    "country",
    "countries",
    "place",
    "places",
    "state",
    "states",
    "town",
    "towns",
    "village",
    "villages",
];

/// Returns whether things of this word have names of their own.
fn is_named(word: &str) -> bool {
    matches!(
        word.strip_suffix('s').unwrap_or(word),
        "book"
            | "song"
            | "movie"
            | "film"
            | "band"
            | "game"
            | "artist"
            | "show"
            | "serie"
            | "name"
            | "brand"
            | "title"
            | "author"
            | "restaurant"
            | "company"
            | "companie"
            | "team"
    )
}

/// Returns whether a question asks for a number of things, an age or a duration.
fn asks_number(words: &[String]) -> bool {
    let pairs = words.windows(2).enumerate();
    pairs
        .into_iter()
        .any(|(at, pair)| match (pair[0].as_str(), pair[1].as_str()) {
            ("how", "many" | "long" | "old" | "often" | "much" | "far") => at == 0,
            ("number", "of") => true,
            _ => false,
        })
}

/// Returns whether a question asks for a summary.
fn asks_summary(word: &str) -> bool {
    word.starts_with("summar") || matches!(word, "overview" | "recap")
}

/// Maximum number of words between "did you" and what was done.
const SAID_WITHIN: usize = 6;

/// Returns whether a question asks what the reader said: "did you recommend", "your advice".
fn asks_what_you_said(words: &[String]) -> bool {
    let said = [
        "recommend",
        "suggest",
        "advi",
        "mention",
        "say",
        "said",
        "tell",
        "told",
        "explain",
        "propos",
        "outlin",
        "give",
        "gave",
        "describ",
        "list",
        "provide",
    ];
    let says = |word: &String| said.iter().any(|stem| word.starts_with(stem));
    let auxiliaries = ["did", "have", "had", "were", "are"];
    (0..words.len()).any(|at| {
        let before = at.checked_sub(1).map_or("", |at| words[at].as_str());
        let after = &words[at + 1..];
        match words[at].as_str() {
            "you" if auxiliaries.contains(&before) => after.iter().take(SAID_WITHIN).any(says),
            "you" => after.first().is_some_and(|word| {
                let is_past = word.ends_with("ed") && says(word);
                is_past || matches!(word.as_str(), "said" | "told" | "gave")
            }),
            "your" => after.first().is_some_and(|word| {
                matches!(
                    word.as_str(),
                    "advice"
                        | "recommendation"
                        | "recommendations"
                        | "suggestion"
                        | "suggestions"
                        | "explanation"
                        | "answer"
                        | "answers"
                )
            }),
            _ => false,
        }
    })
}

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
            named: Vec::new(),
            aliases: HashMap::new(),
            asks: true,
            asks_when: false,
            asks_number: false,
            wanted: None,
            asks_summary: false,
            asks_what_you_said: false,
            dates: Vec::new(),
        }
    }

    /// Returns whether it names a person.
    pub fn names_somebody(&self) -> bool {
        !self.users.is_empty() || !self.aliases.is_empty()
    }

    /// Returns the number of named persons in a user field of a namespace; `namespace` is only asked
    /// where it matters.
    pub fn named(&self, user: u32, namespace: impl FnOnce() -> u32) -> u32 {
        let named = self.users.get(&user).copied().unwrap_or(0);
        match self.aliases.is_empty() {
            true => named,
            false => named + self.aliases.get(&(namespace(), user)).copied().unwrap_or(0),
        }
    }

    /// Adds that `alias` is named; its word stays in the text.
    pub fn add_alias(&mut self, alias: &Alias) {
        // A user who is named twice counts once.
        let new = alias
            .users
            .iter()
            .filter(|user| !self.users.contains_key(user));
        for user in new {
            *self.aliases.entry((alias.namespace, *user)).or_default() += 1;
        }
    }

    /// Parses `query`; `names` are those of the store.
    pub fn read(query: &str, names: &Names) -> ParsedQuery {
        let mut users: HashMap<u32, u32> = HashMap::new();
        let mut named: BTreeSet<Vec<String>> = BTreeSet::new();
        let text = names.take_out(query, |_, name, of| {
            if named.insert(name.to_vec()) {
                for &user in of {
                    *users.entry(user).or_default() += 1;
                }
            }
        });
        let words: Vec<String> = words(query).map(|(_, word)| word.to_lowercase()).collect();
        let first = words.first().map_or("", String::as_str);
        let opens = OPENINGS.contains(&first) && words.len() > 2;
        let asks = query.contains(['?', '？']) || opens;
        ParsedQuery {
            text,
            users,
            named: named.iter().map(|name| name.join(" ")).collect(),
            aliases: HashMap::new(),
            asks,
            asks_when: may_ask_when(&words) && WHEN.is_match(query),
            asks_number: asks_number(&words),
            wanted: Wanted::by(&words),
            asks_summary: words.iter().any(|word| asks_summary(word)),
            asks_what_you_said: asks_what_you_said(&words),
            dates: times::query_terms(query),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_people_are_taken_out_of_the_words() {
        let read = ParsedQuery::read("What did Caroline's friend Melanie say?", &Names::sample());
        assert_eq!(read.text, "What did  friend  say?");
        assert_eq!(read.users, HashMap::from([(0, 1), (1, 2)]));
        assert!(read.asks && !read.asks_when);
        assert_eq!(
            ParsedQuery::read("john smith invoice", &Names::sample()).text,
            " invoice"
        );
        assert_eq!(
            ParsedQuery::read("the user said", &Names::sample()).text,
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
            assert_eq!(
                ParsedQuery::read(query, &Names::sample()).asks,
                asks,
                "{query}"
            );
        }
        assert!(ParsedQuery::read("how long did it take", &Names::sample()).asks_when);
    }

    #[test]
    fn a_question_says_what_it_wants() {
        let read = |query: &str| ParsedQuery::read(query, &Names::sample());
        for (query, wanted) in [
            ("Where did she go?", Some(Wanted::Place)),
            ("In which city does he live?", Some(Wanted::Place)),
            ("Why did it fail?", Some(Wanted::Reason)),
            ("And what inspired the song?", Some(Wanted::Reason)),
            ("Who wrote it?", Some(Wanted::Name)),
            ("Which books has she read?", Some(Wanted::Name)),
            ("What is the plan?", None),
        ] {
            assert_eq!(read(query).wanted, wanted, "{query}");
        }
        assert!(read("How many cats are there?").asks_number);
        assert!(!read("Do you know how many?").asks_number);
        assert!(read("Can you summarize the talk?").asks_summary);
        for (query, asks) in [
            ("What did you recommend for the bed?", true),
            ("Which of the plans you suggested is best?", true),
            ("What was your advice on taxes?", true),
            ("What do you recommend?", false),
            ("What did I tell you?", false),
        ] {
            assert_eq!(read(query).asks_what_you_said, asks, "{query}");
        }
    }
}
