//! Conditions and limits of queries.

use chrono::{DateTime, Utc};

use super::{Kind, Scope, Stem, Tier};

/// Whether a memory must carry every asked topic or only one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TopicMatch {
    #[default]
    All,
    Any,
}

/// Whether memories that have expired or were superseded are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Visibility {
    /// Only those that are neither expired nor superseded.
    #[default]
    Current,
    Everything,
    /// Only expired ones.
    Expired,
}

/// Whether talks are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Talks {
    /// In answers to questions; not in lists, and not in counts of keywords.
    #[default]
    Answers,
    /// Everywhere.
    Everywhere,
    /// Nowhere.
    Nowhere,
}

/// Position in a list of memories, ordered by descending time, then by name.
///
/// It stays valid when memories are added or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Time of the memory at this position, to the microsecond.
    pub at: DateTime<Utc>,
    /// Path of its file below the memory directory.
    pub name: String,
}

impl Position {
    /// Returns whether the memory with time `at`, in the file `name`, comes after this position.
    pub fn is_before(&self, at: DateTime<Utc>, name: &str) -> bool {
        // Times fall, names rise.
        let newest_first = self.at.timestamp_micros().cmp(&at.timestamp_micros());
        newest_first.then_with(|| name.cmp(&self.name)).is_gt()
    }
}

/// Conditions on the memories of an answer. Every set condition must hold; the default lets all
/// current ones pass. Texts are compared without regard to case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    /// Agents, one of which must have written it; empty for any.
    pub agents: Vec<String>,
    /// Users, one of whom it must have; empty for any.
    pub users: Vec<String>,
    /// Topics that it must have, by `topic_match`.
    pub topics: Vec<String>,
    /// Whether all topics or one of them must match.
    pub topic_match: TopicMatch,
    /// Namespaces, one of which it must have; empty for any.
    pub namespaces: Vec<String>,
    /// Kinds, one of which it must have; empty for any.
    pub kinds: Vec<Kind>,
    /// Scopes, one of which it must have; empty for any.
    pub scopes: Vec<Scope>,
    /// Only what somebody who works in this namespace sees: memories meant for all, and those of
    /// just this namespace, not of one within it.
    pub seen_from: Option<String>,
    /// Tiers, one of which it must have; empty for any.
    pub tiers: Vec<Tier>,
    /// Memories of no tier pass `tiers`, too.
    pub untiered: bool,
    /// Minimum importance.
    pub min_importance: Option<u8>,
    /// Minimum confidence.
    pub min_confidence: Option<f64>,
    /// Texts that must all stand in content, topics, user or agent.
    pub contains: Vec<String>,
    /// Phrases that must all stand in title, topics or content, as whole words one behind the other. Of a single
    /// word each form counts, as in a search.
    pub phrases: Vec<String>,
    /// Phrases none of which may stand there.
    pub excludes: Vec<String>,
    /// Texts whose words must all stand in title, topics or content, anywhere there and as
    /// words are compared: `std::path` asks for both of its words. One without a word passes none.
    pub words: Vec<String>,
    /// Further `key = value` conditions on any frontmatter key; `metadata.x` names an entry.
    pub equals: Vec<(String, String)>,
    /// Conditions of the same form, none of which may hold.
    pub differs: Vec<(String, String)>,
    /// Timestamps from this moment on.
    pub since: Option<DateTime<Utc>>,
    /// Timestamps before this moment.
    pub until: Option<DateTime<Utc>>,
    /// `None` lets every memory pass, an empty list none.
    pub stems: Option<Vec<Stem>>,
    /// Only those after this position.
    pub after: Option<Position>,
    /// Condition on expired and superseded memories.
    pub visibility: Visibility,
    /// Condition on talks.
    pub talks: Talks,
}

/// The limit of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of memories.
    pub limit: usize,
    /// Estimated tokens of the whole answer ([`estimated_tokens`]).
    pub max_tokens: Option<usize>,
}

/// Estimates how many tokens a language model reads `text` as: a quarter of its characters,
/// and one for every ideograph or kana, which models rarely join.
pub fn estimated_tokens(text: &str) -> usize {
    // What counts otherwise begins with this byte or a higher one.
    if text.bytes().all(|byte| byte < 0xe3) {
        return text.chars().count().div_ceil(4);
    }
    let (mut wide, mut other) = (0, 0);
    for character in text.chars() {
        match character {
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => {
                wide += 1;
            }
            _ => other += 1,
        }
    }
    wide + usize::div_ceil(other, 4)
}
