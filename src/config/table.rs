//! Every setting: its name, type, default, who may set it, the variables that go before the files,
//! and one sentence about it. Reading, `memdir config`, the table of docs/SETTINGS.md and the schema
//! for editors follow from this.

use super::choices::{Capture, LlmProvider, Provider};
use super::value::SettingType;

/// The files that may state a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's `config.toml`, and a store's `memdir.toml` before it.
    Anyone,
    /// The user alone: what a store brings may be somebody else's.
    User,
    /// The store alone: how its files lie is nothing that a machine decides.
    Store,
    /// No file, a variable alone.
    Variable,
}

/// One setting.
#[derive(Debug)]
pub struct SettingRow {
    /// As it is called everywhere: `limit`, or `life.short` for a key of the table `[life]`.
    pub name: &'static str,
    pub kind: SettingType,
    /// As a file would say it; empty where nothing is set by default.
    pub default: &'static str,
    pub scope: Scope,
    /// The environment variables that set it, best first.
    pub variables: &'static [&'static str],
    pub help: &'static str,
}

macro_rules! settings {
    ($($id:ident, $name:literal, $kind:expr, $default:literal, $scope:ident, $variables:expr, $help:literal;)*) => {
        /// Names one setting: its place in [`TABLE`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum SettingId { $($id),* }

        impl SettingId {
            pub const ALL: [SettingId; TABLE.len()] = [$(SettingId::$id),*];
        }

        /// The settings, in the order of the documentation.
        pub static TABLE: [SettingRow; [$($name),*].len()] = [$(SettingRow {
            name: $name,
            kind: $kind,
            default: $default,
            scope: Scope::$scope,
            variables: &$variables,
            help: $help,
        }),*];
    };
}

impl SettingId {
    pub fn row(self) -> &'static SettingRow {
        &TABLE[self as usize]
    }

    /// Returns the setting called `name`.
    pub fn named(name: &str) -> Option<SettingId> {
        SettingId::ALL.into_iter().find(|id| id.row().name == name)
    }
}

/// Returns the sentence about the setting called `name`; `None` if there is no such setting.
pub fn help(name: &str) -> Option<&'static str> {
    Some(SettingId::named(name)?.row().help)
}

const fn whole(least: usize, most: usize) -> SettingType {
    SettingType::Whole { least, most }
}

const SECRETS: SettingType = SettingType::Choice(&["off", "warn", "redact", "refuse"]);
const PROVIDER: SettingType = SettingType::Choice(Provider::WORDS);
const LLM: SettingType = SettingType::Choice(LlmProvider::WORDS);
const POLICY: SettingType = SettingType::Choice(&["allow", "title", "similar", "suggest"]);
const IMPORTANCE: SettingType = whole(0, 11);
const USES: SettingType = whole(0, 1_000_000);
/// Fewer would hold no memory.
const TOKENS: SettingType = whole(50, 1_000_000);

settings! {
    Store, "store", SettingType::Path, "", User, ["MEMDIR_STORE", "AIAML_MEMORY_DIR"],
        "The store to use where none is named and none lies above the working folder.";
    StoresAlso, "stores.also", SettingType::List, "", User, [],
        "Further stores that a server for agents answers from, such as a project's; each must be agreed to.";
    IndexDir, "index_dir", SettingType::Path, "", User, ["MEMDIR_INDEX_DIR"],
        "Where the index lies, if not in the store.";
    Agent, "agent", SettingType::Name, "cli", Anyone, ["MEMDIR_AGENT"],
        "Who writes memories on the command line.";
    User, "user", SettingType::Name, "", Anyone, ["MEMDIR_USER"],
        "Whose memories are written; the system's user name otherwise.";
    Namespace, "namespace", SettingType::Name, "project", Anyone, ["MEMDIR_NAMESPACE"],
        "Where new memories belong: `project` for the git project of the working folder, `global`, or a name.";
    Languages, "languages", SettingType::Languages, "english", Anyone, ["MEMDIR_LANGUAGES"],
        "The languages of the memories, whose endings searches see through.";
    Layout, "layout", SettingType::Choice(&["flat", "by-month"]), "flat", Store, ["MEMDIR_LAYOUT"],
        "In which folder new memories are put; `memdir layout` moves the others.";
    Limit, "limit", whole(1, 1_000), "25", Anyone, ["MEMDIR_LIMIT", "AIAML_MAX_SEARCH_RESULTS"],
        "Maximum number of results of a search.";
    Editor, "editor", SettingType::Text, "", User, ["MEMDIR_EDITOR", "VISUAL", "EDITOR"],
        "The command that `memdir edit` opens memories with.";
    Git, "git", SettingType::Switch, "on", Anyone, ["MEMDIR_GIT"],
        "Whether changes are committed; a store with a remote cannot switch it off.";
    Remote, "remote", SettingType::Text, "", Variable, ["MEMDIR_REMOTE", "AIAML_GITHUB_REMOTE"],
        "The remote to sync with, where the store names none.";
    SyncInterval, "sync_interval", whole(1, 86_400), "60", User, ["MEMDIR_SYNC_INTERVAL"],
        "Seconds between two looks of a server at the remote, or at the workspace of a team.";
    Secrets, "secrets", SECRETS, "warn", Anyone, ["MEMDIR_SECRETS"],
        "What becomes of credentials in what is written; a store can only be stricter.";
    Log, "log", SettingType::Text, "warn", Variable, ["MEMDIR_LOG", "RUST_LOG", "AIAML_LOG_LEVEL", "LOCI_LOG_LEVEL"],
        "What is logged to standard error: a level, or a filter such as `memdir=debug`.";
    People, "people", SettingType::OtherNames, "", Anyone, [],
        "Other names of users, by which questions may call them; a table `[people]` with a key for each user.";
    EmbeddingProvider, "embedding.provider", PROVIDER, "", User, ["MEMDIR_EMBEDDING"],
        "Who makes the vectors; `local` if a model is set, else `off`.";
    EmbeddingModel, "embedding.model", SettingType::Text, "", User, ["MEMDIR_MODEL_DIR"],
        "The name of a model, the path of its folder, or what the host calls it.";
    EmbeddingEndpoint, "embedding.endpoint", SettingType::Text, "", User, [],
        "Where a host is asked, up to `/embeddings`; the provider's own address otherwise.";
    EmbeddingDimensions, "embedding.dimensions", whole(1, 65_536), "", User, [],
        "How many numbers a vector has; as the model says otherwise.";
    EmbeddingQueryPrefix, "embedding.query_prefix", SettingType::Verbatim, "", User, [],
        "What is put before a question; as the model says otherwise.";
    EmbeddingPassagePrefix, "embedding.passage_prefix", SettingType::Verbatim, "", User, [],
        "What is put before a text; as the model says otherwise.";
    EmbeddingMaxTokens, "embedding.max_tokens", whole(1, 1_000_000), "", User, [],
        "Longer texts are cut into overlapping pieces; as the model says otherwise, 512 for a host.";
    EmbeddingPooling, "embedding.pooling", SettingType::Text, "", User, [],
        "`mean`, `cls`, or the name of an output that is a vector already; as the model says otherwise.";
    EmbeddingThreads, "embedding.threads", whole(1, 1_024), "", User, [],
        "Maximum number of threads that embed texts; one for each core otherwise, on Windows one for two.";
    EmbeddingApiKeyEnv, "embedding.api_key_env", SettingType::Text, "", User, [],
        "The variable that holds the key: `VOYAGE_API_KEY` or `OPENAI_API_KEY`, none with an `endpoint`.";
    RerankModel, "rerank.model", SettingType::Text, "", User, [],
        "The name or the folder of a cross-encoder that re-ranks the first 50 hits; none otherwise.";
    RerankBudget, "rerank.budget_ms", whole(1, 60_000), "500", User, [],
        "Maximum time in milliseconds for it; where it would take longer, answers are as without it.";
    OrtLibrary, "ort_dylib_path", SettingType::Path, "", Variable, ["ORT_DYLIB_PATH"],
        "The library of the ONNX Runtime.";
    Hub, "hf_endpoint", SettingType::Text, "", Variable, ["HF_ENDPOINT"],
        "Where models are downloaded from.";
    LifeShort, "life.short", SettingType::Span, "6h", Anyone, [],
        "How long memories of the tier `short` live.";
    LifeMid, "life.mid", SettingType::Span, "7d", Anyone, [],
        "How long memories of the tier `mid` live.";
    LifeShortExtension, "life.short_extension", SettingType::Span, "1h", Anyone, [],
        "How long a memory of the tier `short` lives after a use, at least.";
    LifeMidExtension, "life.mid_extension", SettingType::Span, "1d", Anyone, [],
        "How long a memory of the tier `mid` lives after a use, at least.";
    LifePromoteAfterDays, "life.promote_after_days", whole(0, 10_000), "5", Anyone, [],
        "Use on this many days makes `mid` live without end; 0: never.";
    LifePromoteAfterUses, "life.promote_after_uses", USES, "0", Anyone, [],
        "The same by a plain count of uses, in place of days; 0: by days.";
    LifeConfidencePerUse, "life.confidence_per_use", SettingType::Share, "0.05", Anyone, [],
        "What a use adds to confidence.";
    LifeUsesPerImportance, "life.uses_per_importance", USES, "10", Anyone, [],
        "The number of uses that add 1 to importance; 0: never.";
    LifeDecay, "life.decay", SettingType::Switch, "off", Anyone, [],
        "Whether confidence falls with time.";
    LifeDecayInterval, "life.decay_interval", SettingType::Span, "7d", Anyone, [],
        "The time in which confidence falls by the factors below, evenly in between.";
    LifeDecayEpisodic, "life.decay_episodic", SettingType::Share, "0.95", Anyone, [],
        "The factor of episodic memories.";
    LifeDecayOthers, "life.decay_others", SettingType::Share, "0.99", Anyone, [],
        "The factor of all other memories.";
    Schedule, "maintenance.schedule", SettingType::SpanOr { none: "off", least: 3_600 }, "off", User, [],
        "How often a server does the maintenance by itself.";
    CompactAfter, "maintenance.compact_after", SettingType::Span, "30d", Anyone, [],
        "The age from which episodic memories are summarised.";
    CompactMinGroup, "maintenance.compact_min_group", SettingType::Group, "5", Anyone, [],
        "Fewer memories get no summary; 0: none do.";
    CompactKeepImportance, "maintenance.compact_keep_importance", IMPORTANCE, "8", Anyone, [],
        "Memories of this importance or more are not summarised; 11: all are.";
    SummaryLength, "maintenance.summary_length", whole(100, 100_000), "2000", Anyone, [],
        "Maximum length of a summary, in characters.";
    Observations, "maintenance.observations", SettingType::Group, "3", Anyone, [],
        "This many observations that say the same become knowledge; 0: none do.";
    ObservationSimilarity, "maintenance.observation_similarity", SettingType::Share, "0.88", Anyone, [],
        "The similarity of vectors from which two observations say the same.";
    ObservationResemblance, "maintenance.observation_resemblance", SettingType::Share, "0.6", Anyone, [],
        "The share of common words from which they do, where there are no vectors.";
    ConsolidateMinGroup, "maintenance.consolidate_min_group", SettingType::Group, "3", Anyone, [],
        "Fewer memories are not consolidated; 0: none are.";
    CleanupConfidence, "maintenance.cleanup_confidence", SettingType::Share, "0.05", Anyone, [],
        "Memories of less confidence are cleaned up.";
    CleanupAfter, "maintenance.cleanup_after", SettingType::Span, "90d", Anyone, [],
        "The time without use after which memories are cleaned up.";
    ReflectStaleAfter, "maintenance.reflect_stale_after", SettingType::Span, "7d", Anyone, [],
        "The age from which `reflect` calls a memory stale that was never used.";
    ReflectUnimportant, "maintenance.reflect_unimportant", IMPORTANCE, "3", Anyone, [],
        "The importance up to which `reflect` proposes such a memory for the archive.";
    ReflectProvenUses, "maintenance.reflect_proven_uses", USES, "5", Anyone, [],
        "The number of uses that prove a memory.";
    ReflectProven, "maintenance.reflect_proven", SettingType::Share, "0.8", Anyone, [],
        "The least confidence of a proven memory.";
    ReflectStated, "maintenance.reflect_stated", SettingType::Share, "0.9", Anyone, [],
        "The least confidence of what the user has stated.";
    ReflectDoubt, "maintenance.reflect_doubt", SettingType::Share, "0.15", Anyone, [],
        "What confidence a memory loses that is never used.";
    ReflectLeast, "maintenance.reflect_least", SettingType::Share, "0.3", Anyone, [],
        "The least confidence that this leaves.";
    ArchiveKeep, "archive.keep", SettingType::SpanOr { none: "forever", least: 1 }, "90d", User, [],
        "How long the archive keeps replaced texts that git holds as well.";
    CaptureKeep, "capture.keep", SettingType::Choice(Capture::WORDS), "off", User, ["MEMDIR_CAPTURE"],
        "What the hooks of clients keep of a session when it ends: the talk, as `memdir mine` does, and proposals for `memdir review`.";
    CaptureFolders, "capture.folders", SettingType::List, "", User, [],
        "The same for single projects, by their folders: `~/projects/atlas=proposals`, `~/private=off`.";
    CaptureAccept, "capture.accept", SettingType::Share, "", User, [],
        "The confidence from which proposals that no memory equals or contradicts become memories unasked; never otherwise.";
    CaptureExclude, "capture.exclude", SettingType::List, "", User, [],
        "Folders in which no session is kept, with all that lies in them.";
    TalksSync, "talks.sync", SettingType::List, "", User, [],
        "The stores whose talks are committed and sent to their remotes, by their paths; `all` for every store.";
    TalksKeep, "talks.keep", SettingType::SpanOr { none: "forever", least: 86_400 }, "forever", User, [],
        "How long talks are kept after their last message; then they are archived.";
    TeamPrivate, "team.private", SettingType::List, "", User, [],
        "The memories that never leave for a team's server: namespaces with those below them, `scope:WORD`, `topic:NAME`.";
    LlmProvider, "llm.provider", LLM, "off", User, [],
        "Which language model writes summaries and, where `proposals` is on, proposes memories.";
    LlmModel, "llm.model", SettingType::Text, "", User, [],
        "What the provider calls the model.";
    LlmEndpoint, "llm.endpoint", SettingType::Text, "", User, [],
        "An address up to `/api/chat` or `/chat/completions`; Ollama of this machine, or OpenAI, otherwise.";
    LlmApiKeyEnv, "llm.api_key_env", SettingType::Text, "", User, [],
        "The variable that holds the key: `OPENAI_API_KEY` for OpenAI without an `endpoint`.";
    LlmTimeout, "llm.timeout", SettingType::Span, "120s", User, [],
        "Maximum time for one answer.";
    LlmProposals, "llm.proposals", SettingType::Switch, "off", User, [],
        "Whether the language model, in place of the rules, proposes memories of sessions when you run `memdir mine --proposals`.";
    DuplicatesPolicy, "duplicates.policy", POLICY, "allow", Anyone, [],
        "What becomes of a memory that says what another one says.";
    NearWords, "duplicates.near_words", SettingType::Share, "0.6", Anyone, [],
        "The share of common runs of three words from which two texts are nearly the same.";
    NearMeaning, "duplicates.near_meaning", SettingType::Share, "0.92", Anyone, [],
        "The similarity of vectors from which they are.";
    AutoLinks, "duplicates.auto_links", whole(0, 20), "0", Anyone, [],
        "Maximum number of memories with the same topics that a new one is linked with.";
    SharedTopics, "duplicates.shared_topics", whole(1, 8), "2", Anyone, [],
        "The number of common topics that makes such a link.";
    Contradictions, "duplicates.contradictions", SettingType::Switch, "on", Anyone, [],
        "Whether a write hints at memories that it may contradict.";
    McpDialect, "mcp.dialect", SettingType::Text, "", User, ["MEMDIR_DIALECT"],
        "The tool set of agents; `core` otherwise.";
    McpTools, "mcp.tools", SettingType::List, "", User, [],
        "Further tools of the tool set `core`: `forget`, `link`, `list`, `status`, or `all`.";
    McpConnect, "mcp.connect", SettingType::Text, "", User, ["MEMDIR_CONNECT"],
        "The server that `memdir mcp --connect` uses, and the only address that it sends `MEMDIR_TOKEN` to.";
    McpRelay, "mcp.relay", SettingType::Switch, "on", User, ["MEMDIR_RELAY"],
        "Whether `memdir mcp` and hooks use a `memdir serve` of the same store that runs already, instead of opening the store themselves.";
    McpGroup, "mcp.group", SettingType::Text, "", User, ["MEMDIR_GROUP", "LOCI_GROUP"],
        "The project or group that a session belongs to.";
    McpRanking, "mcp.ranking", SettingType::Text, "", User, [],
        "How texts are ranked; `fused` ranks as `think` does. As the tool set specifies it otherwise.";
    McpMaxResults, "mcp.max_results", whole(1, 20), "5", User, [],
        "Maximum number of results of a `recall_memory` that does not say.";
    McpPreviewTokens, "mcp.preview_tokens", TOKENS, "2000", User, [],
        "Maximum number of tokens of an answer with previews.";
    McpRecallTokens, "mcp.recall_tokens", TOKENS, "4000", User, [],
        "Maximum number of tokens of an answer with whole texts.";
}
