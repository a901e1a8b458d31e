//! Reasons for which a memory gets a place in a brief.

use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::model::{Memory, MetaValue};
use crate::ranking::text::{instructs, prefers};

/// Reason for which a memory stands in a brief, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BriefReason {
    /// It is the standard of the namespace, or of one above it.
    Standard,
    /// Its file says `pinned: true`.
    Pinned,
    /// It is of the last session in the namespace.
    LastSession,
    /// It says what was decided.
    Decision,
    /// It says what is still to be done or to be decided.
    OpenEnd,
    /// It says what the user prefers, or how answers are to be.
    Preference,
    /// It is one of the memories of the namespace that are most likely needed.
    Knowledge,
}

impl BriefReason {
    /// Returns the word for it, as JSON and briefs have it.
    pub fn as_str(self) -> &'static str {
        match self {
            BriefReason::Standard => "standard",
            BriefReason::Pinned => "pinned",
            BriefReason::LastSession => "last-session",
            BriefReason::Decision => "decision",
            BriefReason::OpenEnd => "open",
            BriefReason::Preference => "preference",
            BriefReason::Knowledge => "knowledge",
        }
    }

    /// Returns how many places it may take before the others had theirs; places that are left over are
    /// given to whatever there is.
    pub(super) fn quota(self) -> usize {
        match self {
            BriefReason::Standard | BriefReason::Pinned => 4,
            BriefReason::LastSession => 2,
            BriefReason::Decision | BriefReason::OpenEnd | BriefReason::Preference => 3,
            BriefReason::Knowledge => usize::MAX,
        }
    }
}

impl fmt::Display for BriefReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Maximum number of characters of a text that are searched for phrases: a long text holds all of them.
pub(super) const LOOKED_AT: usize = 600;

const DECISION_TOPICS: &[&str] = &["decision", "decisions", "decided", "adr"];
const DECISION_STATUS: &[&str] = &["decided", "accepted"];
static DECISION_PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "decided",
        "decision:",
        "we chose",
        "we agreed",
        "agreed on",
        "settled on",
        "we will use",
        "entschieden",
        "beschlossen",
        "nous avons décidé",
        "décidé de",
        "decidimos",
        "decidido",
    ])
});

const OPEN_TOPICS: &[&str] = &[
    "todo",
    "to-do",
    "open",
    "open-end",
    "next",
    "next-step",
    "next-steps",
    "follow-up",
    "blocked",
];
const OPEN_STATUS: &[&str] = &[
    "open",
    "todo",
    "in progress",
    "in-progress",
    "blocked",
    "pending",
    "wip",
];
const CLOSED_STATUS: &[&str] = &["done", "closed", "resolved", "finished", "superseded"];
static OPEN_PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "todo",
        "to do:",
        "next step",
        "next steps",
        "still open",
        "open question",
        "not done yet",
        "unfinished",
        "blocked by",
        "blocked on",
        "follow up",
        "follow-up",
        "left to do",
        "remains to",
        "fixme",
        "noch offen",
        "nächster schritt",
        "reste à faire",
        "pendiente",
    ])
});

const PREFERENCE_TOPICS: &[&str] = &["preference", "preferences"];

const SUMMARY_WORDS: &[&str] = &[
    "session",
    "summary",
    "handoff",
    "handover",
    "hand-over",
    "wrap-up",
    "session-summary",
];
static SUMMARY_PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(SUMMARY_WORDS));

/// Phrases in lower case that are searched for together.
struct Phrases(AhoCorasick);

impl Phrases {
    fn new(phrases: &[&str]) -> Phrases {
        Phrases(AhoCorasick::new(phrases).expect("they are few and short"))
    }

    /// Returns whether one of them stands in a text in lower case, between word boundaries.
    fn stand_in(&self, text: &str) -> bool {
        let mut found = self.0.find_overlapping_iter(text);
        found.any(|one| is_whole(text, one.range()))
    }
}

/// A memory with what it says, as phrases are searched for in it.
pub(super) struct Said<'a> {
    memory: &'a Memory,
    text: &'a str,
    /// The text in lower case.
    lower: String,
}

impl<'a> Said<'a> {
    /// Takes title and text of a memory; what goes beyond [`LOOKED_AT`] is left out.
    pub(super) fn of(memory: &'a Memory, text: &'a str) -> Said<'a> {
        let end = text.char_indices().nth(LOOKED_AT);
        let text = end.map_or(text, |(end, _)| &text[..end]);
        let lower = text.to_lowercase();
        Said {
            memory,
            text,
            lower,
        }
    }
}

/// Returns whether a memory says what was decided.
pub(super) fn is_decision(said: &Said<'_>) -> bool {
    has_topic(said.memory, DECISION_TOPICS)
        || has_status(said.memory, DECISION_STATUS)
        || DECISION_PHRASES.stand_in(&said.lower)
}

/// Returns whether a memory says what is still to be done; not one whose status says that it is done.
pub(super) fn is_open(said: &Said<'_>) -> bool {
    !has_status(said.memory, CLOSED_STATUS)
        && (has_topic(said.memory, OPEN_TOPICS)
            || has_status(said.memory, OPEN_STATUS)
            || OPEN_PHRASES.stand_in(&said.lower))
}

/// Returns whether a memory says what is preferred, or asks for something for good.
pub(super) fn is_preference(said: &Said<'_>) -> bool {
    has_topic(said.memory, PREFERENCE_TOPICS) || instructs(said.text) || prefers(said.text)
}

/// Returns whether a memory is the summary of a session.
pub(super) fn is_summary(memory: &Memory) -> bool {
    let title = memory.title.as_deref().unwrap_or_default().to_lowercase();
    has_topic(memory, SUMMARY_WORDS)
        || SUMMARY_PHRASES.stand_in(&title)
        || memory
            .metadata
            .iter()
            .any(|(key, value)| key == "summary" && *value == MetaValue::Bool(true))
}

fn has_topic(memory: &Memory, words: &[&str]) -> bool {
    let mut topics = memory.topics.iter();
    topics.any(|topic| words.iter().any(|word| topic.eq_ignore_ascii_case(word)))
}

fn has_status(memory: &Memory, words: &[&str]) -> bool {
    let status = memory.status.as_deref().unwrap_or_default().trim();
    words.iter().any(|word| status.eq_ignore_ascii_case(word))
}

/// Returns whether a phrase that stands in a text does so between word boundaries.
fn is_whole(text: &str, phrase: Range<usize>) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let ends_in_letter = is_letter(text[phrase.clone()].chars().next_back());
    let is_longer = ends_in_letter && is_letter(text[phrase.end..].chars().next());
    !is_letter(text[..phrase.start].chars().next_back()) && !is_longer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NewMemory, Stem, Timestamp};

    fn memory(content: &str) -> Memory {
        let new = NewMemory {
            content: content.to_owned(),
            ..NewMemory::default()
        };
        let stem = Stem::from_file_name("20260101_000000_1f3a9c02");
        new.into_memory(stem, Timestamp::parse("2026-01-01T00:00:00Z").unwrap())
    }

    #[track_caller]
    fn check(is: fn(&Said<'_>) -> bool, yes: &[&str], no: &[&str]) {
        let wrong = |texts: &[&str], wanted: bool| {
            let texts = texts
                .iter()
                .filter(|text| is(&Said::of(&memory(text), text)) != wanted);
            texts.map(|text| (*text).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(wrong(yes, true), [""; 0]);
        assert_eq!(wrong(no, false), [""; 0]);
    }

    #[test]
    fn decisions_are_told_by_how_people_say_them() {
        check(
            is_decision,
            &[
                "We decided to keep Postgres.",
                "Decision: one binary, no daemon.",
                "Wir haben beschlossen, monatlich zu veröffentlichen.",
                "After the review we agreed on tabs.",
            ],
            &[
                "The undecidedness of the jury.",
                "Postgres 17 runs on port 5433.",
            ],
        );
    }

    #[test]
    fn open_ends_are_told_by_how_people_say_them() {
        check(
            is_open,
            &[
                "TODO: rotate the staging key.",
                "The next step is the migration of the ledger.",
                "Still open: who owns the certificate?",
            ],
            &["The mastodon exhibition was good.", "The release is out."],
        );
        let mut done = memory("TODO: rotate the staging key.");
        done.status = Some("done".to_owned());
        assert!(!is_open(&Said::of(&done, &done.content)));
    }

    #[test]
    fn pinned_is_said_by_the_file() {
        let mut pinned = memory("Deploys go out on Tuesdays.");
        assert!(!pinned.is_pinned());
        pinned
            .unknown
            .push(("pinned".to_owned(), " true".to_owned()));
        assert!(pinned.is_pinned());
        let mut by_metadata = memory("Deploys go out on Tuesdays.");
        let entry = ("pinned".to_owned(), MetaValue::Bool(true));
        by_metadata.metadata.push(entry);
        assert!(by_metadata.is_pinned());
    }

    #[test]
    fn preferences_are_standing_instructions_too() {
        check(
            is_preference,
            &[
                "Always format dates as 2026-01-31.",
                "I prefer tabs over spaces.",
            ],
            &["The compiler prefers the first candidate."],
        );
    }
}
