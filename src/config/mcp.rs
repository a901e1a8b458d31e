//! How agents are served: the user's table `[mcp]`.
//!
//! Never from a store's `memdir.toml`: it would decide which tools an agent is given.

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::Origin;
use super::settings::Setting;
use super::sources::Layer;
use super::sources::Sources;
use super::units::named;
use super::units::whole;

/// The table. Names of tool sets, tools and rankings are as written: whoever knows them checks them.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// The tool set; `None` for the usual one.
    pub dialect: Option<String>,
    /// Further tools.
    pub tools: Vec<String>,
    /// Where the server is that `memdir mcp --connect` uses.
    pub connect: Option<String>,
    /// The project or group that a session belongs to.
    pub group: Option<String>,
    /// How texts are ranked; `None` for as the tool set specifies it.
    pub ranking: Option<String>,
    /// The most results of an answer where the call does not say, 1 to 20.
    pub max_results: usize,
    /// The most tokens of an answer with previews, and of one with whole texts.
    pub preview_tokens: usize,
    pub recall_tokens: usize,
    keys: Vec<(&'static str, String, Origin)>,
}

/// The keys, in the order of the documentation, with what they are called in messages and the
/// variable that goes before.
const KEYS: [(&str, &str, &[&str]); 8] = [
    ("dialect", "mcp.dialect", &["MEMDIR_DIALECT"]),
    ("tools", "mcp.tools", &[]),
    ("connect", "mcp.connect", &["MEMDIR_CONNECT"]),
    ("group", "mcp.group", &["MEMDIR_GROUP", "LOCI_GROUP"]),
    ("ranking", "mcp.ranking", &[]),
    ("max_results", "mcp.max_results", &[]),
    ("preview_tokens", "mcp.preview_tokens", &[]),
    ("recall_tokens", "mcp.recall_tokens", &[]),
];
const MOST_RESULTS: usize = 20;
/// Fewer would hold no memory.
const LEAST_TOKENS: usize = 50;
const MOST_TOKENS: usize = 1_000_000;

impl Default for McpSettings {
    fn default() -> McpSettings {
        McpSettings {
            dialect: None,
            tools: Vec::new(),
            connect: None,
            group: None,
            ranking: None,
            max_results: 5,
            preview_tokens: 2000,
            recall_tokens: 4000,
            keys: Vec::new(),
        }
    }
}

impl McpSettings {
    pub(super) fn read(
        environment: &Environment,
        user: &Layer,
        warnings: &mut Vec<String>,
    ) -> Result<McpSettings, ConfigError> {
        let layer = user.table("mcp", &KEYS.map(|(key, _, _)| key), warnings)?;
        let nothing = Layer::default();
        let sources = Sources {
            environment,
            layers: [&layer, &nothing],
        };
        let mut settings = McpSettings::default();
        let mut origins = Vec::new();
        for (key, name, variables) in KEYS {
            let set = sources.text(key, variables);
            let set = set.map_err(|error| named(error, name))?;
            let set = set.filter(|setting| !setting.value.trim().is_empty());
            let Some(Setting { value, origin }) = set else {
                origins.push(Origin::Default);
                continue;
            };
            settings
                .put(key, value.trim())
                .map_err(|what| ConfigError::BadValue {
                    origin: origin.clone(),
                    key: name,
                    what: format!("is `{value}`, which is {what}"),
                })?;
            origins.push(origin);
        }
        let keys = KEYS.iter().zip(origins);
        let keys = keys.map(|((key, name, _), origin)| (*name, settings.shown(key), origin));
        settings.keys = keys.collect();
        Ok(settings)
    }

    fn put(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "dialect" => self.dialect = Some(text.to_owned()),
            "tools" => {
                let names = text.split(',').map(str::trim);
                let names = names.filter(|name| !name.is_empty());
                self.tools = names.map(str::to_owned).collect();
            }
            "connect" => self.connect = Some(text.to_owned()),
            "group" => self.group = Some(text.to_owned()),
            "ranking" => self.ranking = Some(text.to_owned()),
            "max_results" => self.max_results = whole(text, 1, MOST_RESULTS)?,
            "preview_tokens" => self.preview_tokens = whole(text, LEAST_TOKENS, MOST_TOKENS)?,
            _ => self.recall_tokens = whole(text, LEAST_TOKENS, MOST_TOKENS)?,
        }
        Ok(())
    }

    fn shown(&self, key: &str) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        match key {
            "dialect" => text(&self.dialect),
            "tools" => self.tools.join(","),
            "connect" => text(&self.connect),
            "group" => text(&self.group),
            "ranking" => text(&self.ranking),
            "max_results" => self.max_results.to_string(),
            "preview_tokens" => self.preview_tokens.to_string(),
            _ => self.recall_tokens.to_string(),
        }
    }

    /// Every key with its value as text and its origin.
    pub(super) fn list(&self) -> impl Iterator<Item = (&'static str, String, &Origin)> {
        let keys = self.keys.iter();
        keys.map(|(key, value, origin)| (*key, value.clone(), origin))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(text: &str, group: Option<&str>) -> Result<(McpSettings, Vec<String>), ConfigError> {
        let layer = Layer::of_text(Path::new("config.toml"), text)?;
        let mut environment = Environment::default();
        let group = group.map(|group| ("LOCI_GROUP".to_owned(), group.to_owned()));
        environment.variables.extend(group);
        let mut warnings = Vec::new();
        let settings = McpSettings::read(&environment, &layer, &mut warnings)?;
        Ok((settings, warnings))
    }

    #[test]
    fn what_is_set_counts_and_the_rest_is_as_usual() {
        let text =
            "[mcp]\ndialect = \"loci\"\ntools = [\"forget\", \"link\"]\nrecall_tokens = 900\n";
        let (settings, warnings) = read(text, Some("garden")).unwrap();
        assert_eq!(settings.dialect.as_deref(), Some("loci"));
        assert_eq!(settings.tools, ["forget", "link"]);
        assert_eq!(settings.group.as_deref(), Some("garden"));
        assert_eq!(
            (settings.preview_tokens, settings.recall_tokens),
            (2000, 900)
        );
        assert!(warnings.is_empty(), "{warnings:?}");
        let group = settings.list().find(|(name, _, _)| *name == "mcp.group");
        assert_eq!(group.unwrap().2.to_string(), "LOCI_GROUP");
    }

    #[test]
    fn wrong_values_and_unknown_keys_are_named() {
        for line in [
            "max_results = 0",
            "max_results = 21",
            "recall_tokens = \"many\"",
        ] {
            let error = read(&format!("[mcp]\n{line}\n"), None)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("mcp.") && error.contains("no whole number"),
                "{error}"
            );
        }
        let (_, warnings) = read("[mcp]\nlimit = 1\n", None).unwrap();
        assert!(warnings[0].contains("mcp.limit"), "{warnings:?}");
    }
}
