//! Context of a call: the store, the caller, and the user's settings.

use std::sync::Arc;

use super::stores::{self, ServedStore};
use crate::engine::{Engine, Ranking};

/// Context of a call: everything but its arguments.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The engine of the store.
    pub engine: &'a Engine,
    /// The client that calls.
    pub caller: &'a Caller,
    /// Settings of the user.
    pub preferences: &'a Preferences,
    /// All stores of the server, that of `engine` first, if there are several; else none.
    pub stores: &'a [ServedStore],
}

impl Call<'_> {
    /// Returns the engine of the store that has a memory called `id`; the server's own if none has.
    pub fn engine_of(&self, id: &str) -> &Engine {
        let holder = stores::holder_of(self.stores, id);
        holder.map_or(self.engine, |store| &store.engine)
    }

    /// Returns the agent's name for memories: the client's name, on one line and truncated, since no model
    /// can correct its client's name.
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

    /// Returns the language model, if the user has named one and switched on its features.
    pub fn assistant(&self) -> Option<&dyn Assistant> {
        let assistant = self.preferences.assistant.as_deref();
        assistant.filter(|_| self.preferences.tier >= FeatureTier::Smart)
    }
}

/// The client that calls, as named by the protocol.
#[derive(Debug, Default, Clone)]
pub struct Caller {
    /// Name of the client.
    pub client: Option<String>,
    /// Version of the client.
    pub version: Option<String>,
}

/// The user's settings for a server; the defaults are those of the tool sets.
#[derive(Clone)]
pub struct Preferences {
    /// User of new memories, where a tool set has no parameter for it.
    pub user: String,
    /// Project or group of the session; `None` for none.
    pub group: Option<String>,
    /// Ranking of texts; `None` for the one that the tool set specifies.
    pub ranking: Option<Ranking>,
    /// Features that are switched on.
    pub tier: FeatureTier,
    /// Default number of results of `recall_memory`.
    pub max_results: usize,
    /// Maximum number of tokens of an answer with previews.
    pub preview_tokens: usize,
    /// Maximum number of tokens of an answer with whole texts.
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
    /// Search by words alone.
    Keyword,
    /// Also search by vectors where there is a model, the default.
    #[default]
    Semantic,
    /// Also features of a language model.
    Smart,
    Autonomous,
}

impl FeatureTier {
    /// All tiers with their names.
    pub const ALL: [(&'static str, FeatureTier); 4] = [
        ("keyword", FeatureTier::Keyword),
        ("semantic", FeatureTier::Semantic),
        ("smart", FeatureTier::Smart),
        ("autonomous", FeatureTier::Autonomous),
    ];

    /// Returns the tier called `name`.
    pub fn named(name: &str) -> Option<FeatureTier> {
        let known = FeatureTier::ALL.into_iter();
        let mut named = known.filter_map(|(known, tier)| (known == name).then_some(tier));
        named.next()
    }

    /// Returns the name of the tier.
    pub fn name(self) -> &'static str {
        let known = FeatureTier::ALL.into_iter();
        let mut named = known.filter_map(|(name, tier)| (tier == self).then_some(name));
        named.next().expect("all of them have a name")
    }
}

/// A language model for tools. Its answers are unchecked plain texts.
pub trait Assistant: Send + Sync {
    /// Returns its name, for `capabilities`.
    fn name(&self) -> String;

    /// Returns further words to search for.
    ///
    /// # Errors
    ///
    /// Fails with a message for the caller if there is no answer.
    fn expand(&self, query: &str) -> Result<Vec<String>, String>;

    /// Returns words to find a text by.
    ///
    /// # Errors
    ///
    /// As for [`Assistant::expand`].
    fn tags(&self, title: &str, text: &str) -> Result<Vec<String>, String>;

    /// Returns whether two texts contradict each other, and the reason.
    ///
    /// # Errors
    ///
    /// As for [`Assistant::expand`].
    fn contradict(&self, one: &str, other: &str) -> Result<(bool, String), String>;

    /// Returns one text that summarizes several.
    ///
    /// # Errors
    ///
    /// As for [`Assistant::expand`].
    fn summarize(&self, texts: &[String]) -> Result<String, String>;
}
