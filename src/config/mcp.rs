//! The settings of the server for agents: the user's table `[mcp]`.
//!
//! Never from a store's `memdir.toml`: it would decide which tools an agent is given.

use super::table::SettingId;
use super::value::list;
use super::values::SettingValues;

/// The table. Names of tool sets, tools and rankings are as written: whoever knows them checks them.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// The tool set; `None` for the usual one.
    pub dialect: Option<String>,
    /// Further tools.
    pub tools: Vec<String>,
    /// The address of the server that `memdir mcp --connect` uses.
    pub connect: Option<String>,
    /// Whether `memdir mcp` and hooks use a server that runs already, and `memdir serve` lets them.
    pub relay: bool,
    /// The project or group that a session belongs to.
    pub group: Option<String>,
    /// The ranking of texts; `None` for the one that the tool set specifies.
    pub ranking: Option<String>,
    /// Maximum number of results of an answer where the call does not say, 1 to 20.
    pub max_results: usize,
    /// Maximum number of tokens of an answer with previews.
    pub preview_tokens: usize,
    /// Maximum number of tokens of an answer with whole texts.
    pub recall_tokens: usize,
}

impl McpSettings {
    pub(super) fn read(values: &SettingValues) -> McpSettings {
        let text = |id| values.text(id).value;
        let tools = text(SettingId::McpTools).unwrap_or_default();
        McpSettings {
            dialect: text(SettingId::McpDialect),
            tools: list(&tools, str::to_owned),
            connect: text(SettingId::McpConnect),
            relay: values.switch(SettingId::McpRelay).value,
            group: text(SettingId::McpGroup),
            ranking: text(SettingId::McpRanking),
            max_results: values.whole(SettingId::McpMaxResults).value,
            preview_tokens: values.whole(SettingId::McpPreviewTokens).value,
            recall_tokens: values.whole(SettingId::McpRecallTokens).value,
        }
    }
}
