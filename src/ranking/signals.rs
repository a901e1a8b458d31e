//! The rankings of two other memory servers: by words, and by signals such as importance and use.
//!
//! For users of those servers. `docs/RETRIEVAL.md` has the formulas; the caller provides the signals.

use super::lexical::MOST_TERMS;
use crate::model::{Memory, Tier};

/// Signals of a memory at the moment of the search, besides its words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankingSignals {
    /// Importance, 1–10.
    pub importance: f32,
    /// Stated confidence, 0–1, without the effect of uses, which have their own term here.
    pub confidence: f32,
    /// Tier; `None` if none is stated.
    pub tier: Option<Tier>,
    /// Number of uses.
    pub uses: u32,
    /// Number of days since its content was changed, or since it was written.
    pub unchanged: f32,
    /// Number of days since its last use; `None` if it was never used.
    pub unused: Option<f32>,
}

/// Maximum number of uses that count.
const MOST_USES: u32 = 50;
/// Minimum cosine of a memory that counts as near.
pub(super) const LEAST_COSINE: f32 = 0.3;
/// Number of words of a short text, about 500 characters, and of a long one, about 5,000. The cosine has
/// a smaller share in the score of a long text, because one vector represents it less well.
const SHORT_WORDS: f32 = 80.0;
const LONG_WORDS: f32 = 800.0;
const SHORT_SHARE: f32 = 0.5;
const LONG_SHARE: f32 = 0.15;

/// A query for [`RankingSignals::weighted`], made once for all memories.
pub(super) struct WeightedQuery {
    lower: String,
    words: Vec<String>,
}

impl WeightedQuery {
    /// Reads a query; only its first [`MOST_TERMS`] words count.
    pub fn of(query: &str) -> WeightedQuery {
        let lower = query.trim().to_lowercase();
        let words = lower
            .split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .take(MOST_TERMS);
        WeightedQuery {
            words: words.map(str::to_owned).collect(),
            lower,
        }
    }
}

impl RankingSignals {
    /// Returns the sum of the signals that is added to the lexical score: five factors with the words, and
    /// with `by_tier` a sixth.
    pub(super) fn worth(&self, by_tier: bool) -> f32 {
        let tier = match self.tier {
            _ if !by_tier => 0.0,
            Some(Tier::Short) => 0.0,
            Some(Tier::Mid) => 1.0,
            // A memory without a tier is permanent.
            Some(Tier::Long) | None => 3.0,
        };
        let uses = self.uses.min(MOST_USES) as f32;
        let recency = 1.0 / (1.0 + 0.1 * self.unchanged.max(0.0));
        0.5 * self.importance + 0.1 * uses + 2.0 * self.confidence + tier + recency
    }

    /// Returns the weighted score of a memory that holds a word of `query`.
    pub(super) fn weighted(&self, query: &WeightedQuery, memory: &Memory) -> f32 {
        let WeightedQuery { lower, words } = query;
        let key = memory.title.as_deref().unwrap_or_default().trim();
        let key = key.to_lowercase();
        let is_part = |text: &str| !text.is_empty() && key.contains(text);
        let text = if key == *lower {
            1.0
        } else if is_part(lower) || words.iter().any(|word| is_part(word)) {
            0.7
        } else {
            0.5
        };
        let tags: Vec<String> = memory.topics.iter().map(|tag| tag.to_lowercase()).collect();
        let is_tag = |word: &&String| tags.iter().any(|tag| tag.contains(word.as_str()));
        let tagged = words.iter().filter(is_tag).count() as f32 / words.len().max(1) as f32;
        let unused = self.unused.unwrap_or(self.unchanged).max(0.0);
        0.4 * text + 0.2 * tagged + 0.25 * self.importance / 10.0 + 0.15 * (-unused / 30.0).exp()
    }
}

/// Returns the share of the cosine in the score of a text with `words` words.
pub(super) fn share_of_meaning(words: f32) -> f32 {
    let long = ((words - SHORT_WORDS) / (LONG_WORDS - SHORT_WORDS)).clamp(0.0, 1.0);
    SHORT_SHARE + (LONG_SHARE - SHORT_SHARE) * long
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: RankingSignals = RankingSignals {
        importance: 5.0,
        confidence: 1.0,
        tier: Some(Tier::Mid),
        uses: 0,
        unchanged: 0.0,
        unused: None,
    };

    fn near(one: f32, other: f32) {
        assert!((one - other).abs() < 1e-5, "{one} is not {other}");
    }

    #[test]
    fn six_factors_are_added() {
        near(USUAL.worth(true), 2.5 + 2.0 + 1.0 + 1.0);
        near(USUAL.worth(false), 2.5 + 2.0 + 1.0);
        let old = RankingSignals {
            uses: 80,
            unchanged: 10.0,
            tier: Some(Tier::Long),
            ..USUAL
        };
        near(old.worth(true), 2.5 + 5.0 + 2.0 + 3.0 + 0.5);
        let ahead = RankingSignals {
            unchanged: -3.0,
            ..USUAL
        };
        near(ahead.worth(false), USUAL.worth(false));
    }

    #[test]
    fn long_texts_are_found_less_by_meaning() {
        near(share_of_meaning(10.0), 0.5);
        near(share_of_meaning(440.0), 0.325);
        near(share_of_meaning(65_535.0), 0.15);
    }
}
