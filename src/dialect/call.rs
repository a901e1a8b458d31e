//! What a call is about, beside its arguments: the store, the caller, and what the user has set.

use std::sync::Arc;

use crate::engine::{Engine, Ranking};

/// The context of a call: everything but its arguments.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub engine: &'a Engine,
    pub caller: &'a Caller,
    pub preferences: &'a Preferences,
}

impl Call<'_> {
    /// Who calls, as memories name it: what the client calls itself, on one line and cut, since no
    /// model can mend its client's name.
    pub fn agent(&self) -> String {
        const LONGEST: usize = 100;
        let client = self.caller.client.as_deref().unwrap_or_default();
        let words = client.split(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let name: String = words.join(" ").chars().take(LONGEST).collect();
        match name.trim() {
            "" => "unknown".to_owned(),
            name => name.to_owned(),
        }
    }

    /// The language model, if the user has named one and wants its features.
    pub fn assistant(&self) -> Option<&dyn Assistant> {
        let assistant = self.preferences.assistant.as_deref();
        assistant.filter(|_| self.preferences.tier >= FeatureTier::Smart)
    }
}

/// The client that calls, as far as the protocol names it.
#[derive(Debug, Default, Clone)]
pub struct Caller {
    pub client: Option<String>,
    pub version: Option<String>,
}

/// The user's settings for a server; the defaults are those of the tool sets.
#[derive(Clone)]
pub struct Preferences {
    /// Whose memories they are, where a tool set has no word for it.
    pub user: String,
    /// The project or group that a session belongs to; `None` for none.
    pub group: Option<String>,
    /// The ranking of texts; `None` for the one that the tool set specifies.
    pub ranking: Option<Ranking>,
    pub tier: FeatureTier,
    /// Maximum number of results of a `recall_memory` that does not say how many.
    pub max_results: usize,
    /// Maximum number of tokens of an answer with previews, and of one with whole texts.
    pub preview_tokens: usize,
    pub recall_tokens: usize,
    /// A language model, if the user has named one.
    pub assistant: Option<Arc<dyn Assistant>>,
}

impl Default for Preferences {
    fn default() -> Preferences {
        Preferences {
            user: "unknown".to_owned(),
            group: None,
            ranking: None,
            tier: FeatureTier::default(),
            max_results: 5,
            preview_tokens: 2000,
            recall_tokens: 4000,
            assistant: None,
        }
    }
}

/// The features of the prefixed tool set that are switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FeatureTier {
    /// Words alone.
    Keyword,
    /// Meaning where there is a model, the usual one.
    #[default]
    Semantic,
    /// A language model, too.
    Smart,
    Autonomous,
}

impl FeatureTier {
    pub const ALL: [(&'static str, FeatureTier); 4] = [
        ("keyword", FeatureTier::Keyword),
        ("semantic", FeatureTier::Semantic),
        ("smart", FeatureTier::Smart),
        ("autonomous", FeatureTier::Autonomous),
    ];

    /// The tier called `name`.
    pub fn named(name: &str) -> Option<FeatureTier> {
        let known = FeatureTier::ALL.into_iter();
        let mut named = known.filter_map(|(known, tier)| (known == name).then_some(tier));
        named.next()
    }

    pub fn name(self) -> &'static str {
        let known = FeatureTier::ALL.into_iter();
        let mut named = known.filter_map(|(name, tier)| (tier == self).then_some(name));
        named.next().expect("all of them have a name")
    }
}

/// A language model as tools use it. Answers are plain texts that nobody has checked.
pub trait Assistant: Send + Sync {
    /// Its name, for `capabilities`.
    fn name(&self) -> String;

    /// Further words to search for.
    ///
    /// # Errors
    ///
    /// Fails with what to tell the caller if there is no answer.
    fn expand(&self, query: &str) -> Result<Vec<String>, String>;

    /// Words to find a text by.
    ///
    /// # Errors
    ///
    /// As for [`Assistant::expand`].
    fn tags(&self, title: &str, text: &str) -> Result<Vec<String>, String>;

    /// Whether two texts contradict each other, and why.
    ///
    /// # Errors
    ///
    /// As for [`Assistant::expand`].
    fn contradict(&self, one: &str, other: &str) -> Result<(bool, String), String>;

    /// One text that summarizes several.
    ///
    /// # Errors
    ///
    /// As for [`Assistant::expand`].
    fn summarize(&self, texts: &[String]) -> Result<String, String>;
}
