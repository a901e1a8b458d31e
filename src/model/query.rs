//! Conditions and limits of questions to a store.

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
    /// Only those in force.
    #[default]
    Current,
    Everything,
    /// Only those whose life has ended.
    Expired,
}

/// A place in a list of memories, the newest first, and of those of one moment by name.
///
/// It stays where it is, whatever is added or taken away before or behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The time of the memory at this place; microseconds count.
    pub at: DateTime<Utc>,
    /// Its file's path below the memory directory.
    pub name: String,
}

impl Position {
    /// Whether the memory of that moment, in the file `name`, stands behind it.
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
    pub agents: Vec<String>,
    pub users: Vec<String>,
    pub topics: Vec<String>,
    pub topic_match: TopicMatch,
    pub namespaces: Vec<String>,
    pub kinds: Vec<Kind>,
    pub scopes: Vec<Scope>,
    /// Only what somebody who works in this namespace sees: memories meant for all, and those of
    /// just this namespace, not of one within it.
    pub seen_from: Option<String>,
    pub tiers: Vec<Tier>,
    /// Memories of no tier pass `tiers`, too.
    pub untiered: bool,
    pub min_importance: Option<u8>,
    pub min_confidence: Option<f64>,
    /// Texts that must all stand in content, topics, user or agent.
    pub contains: Vec<String>,
    /// Texts none of which may stand there.
    pub excludes: Vec<String>,
    /// Texts whose words must all stand in title, topics, user or content, anywhere there and as
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
    /// Only those behind this place.
    pub after: Option<Position>,
    pub visibility: Visibility,
}

/// The limit of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
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
