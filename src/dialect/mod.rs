//! Tool sets as clients know them: names, arguments, replies.
//!
//! A dialect is a table of tools, resources and prompts. It holds no state and contains no storage,
//! search or lifecycle code; what differs between dialects is passed to the engine as values. What a
//! tool can be given stands in one table ([`Parameter`]), from which its schema is made and its
//! arguments are read.

mod ai_memory;
pub mod arguments;
mod budget;
pub mod core;
mod cursor;
mod endpoint;
mod i_am;
mod loci;
mod parameter;
mod preview;
mod reply;
mod shape;
mod toon;

use std::sync::Arc;

pub use arguments::Arguments;
pub use arguments::BadArgument;
pub use endpoint::Answer;
pub use endpoint::Endpoint;
pub use endpoint::ParameterLocation;
pub use endpoint::Refusal;
pub use endpoint::Verb;
pub use parameter::Form;
pub use parameter::Literal;
pub use parameter::Parameter;
pub use parameter::schema;
pub use preview::Preview;
pub use preview::PreviewWords;
pub use preview::preview;
pub use reply::Reply;
pub use reply::ToolError;

use crate::engine::Engine;
use crate::engine::OneDeed;
use crate::engine::Ranking;

/// A JSON object, in the order its keys were added.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// What a server says of itself.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub name: &'static str,
    pub title: &'static str,
    pub version: &'static str,
    pub instructions: &'static str,
}

/// What a client may know of a tool before calling it. No tool reaches out to other systems.
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    pub title: &'static str,
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    /// Whether clients that hide tools behind a search should show it at once: a memory that has
    /// to be searched for is not used, and each tool shown costs its description every time.
    pub at_hand: bool,
}

/// Who calls, as far as the protocol tells.
#[derive(Debug, Default, Clone)]
pub struct Caller {
    pub client: Option<String>,
    pub version: Option<String>,
}

/// What the user has set for a server; the defaults are those of the tool sets.
#[derive(Clone)]
pub struct Preferences {
    /// Whose memories they are, where a tool set has no word for it.
    pub user: String,
    /// The project or group that a session belongs to; `None` for none.
    pub group: Option<String>,
    /// How texts are ranked; `None` for as the tool set specifies it.
    pub ranking: Option<Ranking>,
    pub tier: FeatureTier,
    /// The most results of a `recall_memory` that does not say how many.
    pub max_results: usize,
    /// The most tokens of an answer with previews, and of one with whole texts.
    pub preview_tokens: usize,
    pub recall_tokens: usize,
    /// A language model, if the user has named one.
    pub assistant: Option<Arc<dyn Assistant>>,
}

/// How much of the prefixed tool set's features are wanted.
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

/// A language model as tools use it. Answers are plain texts that nobody has checked.
pub trait Assistant: Send + Sync {
    /// What it is called, for `capabilities`.
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

    /// What several texts say, in one.
    ///
    /// # Errors
    ///
    /// As for [`Assistant::expand`].
    fn summarize(&self, texts: &[String]) -> Result<String, String>;
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

/// What a call is about, beside its arguments.
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

/// One tool: what the client sees, and what it does.
#[derive(Clone, Copy)]
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    /// The JSON schema of the structured reply, where the tool set has one: always an object,
    /// because clients lose every tool of a server that has an array there.
    pub result: Option<fn() -> JsonObject>,
    pub hints: Hints,
    pub run: fn(&Call<'_>, &Arguments) -> Result<Reply, ToolError>,
    /// What is answered where that fails.
    pub refuse: fn(&ToolError) -> Reply,
}

impl Tool {
    /// Reads the arguments, and runs.
    pub fn call(&self, call: &Call<'_>, values: JsonObject) -> Reply {
        // What one call changes is undone together.
        let _deed = OneDeed::begin();
        let arguments = Arguments::new(values, self.parameters).map_err(ToolError::from);
        let reply = arguments.and_then(|arguments| (self.run)(call, &arguments));
        reply.unwrap_or_else(|error| (self.refuse)(&error))
    }
}

/// Something that clients can read without calling a tool.
pub struct Resource {
    /// With `{id}` at its end it stands for many.
    pub uri: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub mime: &'static str,
    /// How long a client may keep what it read, in milliseconds.
    pub ttl_ms: u64,
    /// Returns the text; `None` if there is no such thing.
    pub read: fn(&Call<'_>, id: &str) -> Result<Option<String>, ToolError>,
}

impl Resource {
    const ID: &'static str = "{id}";

    /// Whether it stands for many.
    pub fn is_template(&self) -> bool {
        self.uri.ends_with(Resource::ID)
    }

    /// What `uri` names of it: the id, or nothing where it is one thing; `None` if it is not meant.
    pub fn id_in<'a>(&self, uri: &'a str) -> Option<&'a str> {
        match self.uri.strip_suffix(Resource::ID) {
            Some(base) => uri.strip_prefix(base).filter(|id| !id.is_empty()),
            None => (uri == self.uri).then_some(""),
        }
    }
}

/// A text that a person can have put before the model.
pub struct Prompt {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// All of them texts.
    pub parameters: &'static [Parameter],
    pub run: fn(&Call<'_>, &Arguments) -> Result<String, ToolError>,
}

/// The tool sets, the usual one first.
pub const NAMES: [&str; 4] = ["core", "loci", "ai-memory", "i-am"];

/// The tool set called `name`.
pub fn named(name: &str) -> Option<Arc<dyn Dialect>> {
    match name {
        "core" => Some(Arc::new(core::Core::default())),
        "loci" => Some(Arc::new(loci::Loci)),
        "ai-memory" => Some(Arc::new(ai_memory::AiMemory)),
        "i-am" => Some(Arc::new(i_am::IAm)),
        _ => None,
    }
}

/// The addresses of the HTTP interface: those of the prefixed tool set, and further ones.
pub fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    ai_memory::ENDPOINTS.iter().chain(core::ENDPOINTS)
}

/// A set of tools as one kind of client knows it.
pub trait Dialect: Send + Sync {
    /// Server name, version and instructions shown at connection.
    fn about(&self) -> About;

    fn tools(&self) -> &[Tool];

    /// Those that stand for one thing before those that stand for many.
    fn resources(&self) -> &[Resource] {
        &[]
    }

    fn prompts(&self) -> &[Prompt] {
        &[]
    }
}
