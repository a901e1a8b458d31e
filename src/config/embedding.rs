//! How texts become vectors: the user's table `[embedding]`, and variables.
//!
//! Never from a store's `memdir.toml`: it may have come from somebody else, and would decide whom
//! memories are sent to, which file is loaded and which key is used.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::path::PathBuf;
use std::str::FromStr;

use super::settings::ConfigError;
use super::settings::Environment;
use super::settings::Origin;
use super::settings::Setting;
use super::settings::expand_home;
use super::settings::optional;
use super::sources::Layer;
use super::sources::Sources;

/// Who makes the vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Nobody: searches are by words.
    Off,
    /// A model on this machine.
    Local,
    Voyage,
    /// Whatever speaks as OpenAI does.
    OpenAi,
}

/// Which model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelName {
    /// In the folder of models, or at the provider.
    Name(String),
    Folder(PathBuf),
}

/// Everything about it.
#[derive(Debug, Clone)]
pub struct Embedding {
    pub provider: Setting<Provider>,
    pub model: Setting<Option<ModelName>>,
    /// Where the provider is asked, if not at its own address.
    pub endpoint: Setting<Option<String>>,
    pub dimensions: Setting<Option<usize>>,
    pub query_prefix: Setting<Option<String>>,
    pub passage_prefix: Setting<Option<String>>,
    pub max_tokens: Setting<Option<usize>>,
    /// `mean`, `cls`, or the name of an output that is a vector already.
    pub pooling: Setting<Option<String>>,
    /// At most so many compute.
    pub threads: Setting<Option<usize>>,
    /// The variable that holds the provider's key.
    pub api_key_env: Setting<Option<String>>,
    /// The ONNX Runtime's library.
    pub library: Setting<Option<PathBuf>>,
    /// Where models are downloaded from.
    pub hub: Setting<Option<String>>,
    /// Whether the variable with the key holds something.
    has_key: bool,
}

const TABLE: &str = "embedding";
const KEYS: [&str; 10] = [
    "provider",
    "model",
    "endpoint",
    "dimensions",
    "query_prefix",
    "passage_prefix",
    "max_tokens",
    "pooling",
    "threads",
    "api_key_env",
];

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Provider::Off => "off",
            Provider::Local => "local",
            Provider::Voyage => "voyage",
            Provider::OpenAi => "openai",
        })
    }
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(text: &str) -> Result<Provider, String> {
        match text.to_lowercase().as_str() {
            "off" | "none" | "false" | "0" => Ok(Provider::Off),
            "local" => Ok(Provider::Local),
            "voyage" => Ok(Provider::Voyage),
            "openai" => Ok(Provider::OpenAi),
            _ => Err(format!(
                "is `{text}`, which is none of local, voyage, openai and off"
            )),
        }
    }
}

impl Provider {
    /// Whether texts leave the machine.
    pub fn is_hosted(self) -> bool {
        matches!(self, Provider::Voyage | Provider::OpenAi)
    }

    fn usual_key(self) -> Option<&'static str> {
        match self {
            Provider::Voyage => Some("VOYAGE_API_KEY"),
            Provider::OpenAi => Some("OPENAI_API_KEY"),
            Provider::Off | Provider::Local => None,
        }
    }
}

impl ModelName {
    /// A path if it looks like one, else a name. `~` is the user's home; other paths are seen
    /// from `folder`.
    pub fn read(text: &str, folder: &Path, environment: &Environment) -> ModelName {
        let looks_like_path = text.contains(['/', '\\']) || matches!(text, "." | ".." | "~");
        match looks_like_path {
            true => ModelName::Folder(folder.join(expand_home(text, environment))),
            false => ModelName::Name(text.to_owned()),
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelName::Name(name) => f.write_str(name),
            ModelName::Folder(folder) => write!(f, "{}", folder.display()),
        }
    }
}

impl Embedding {
    pub(super) fn read(
        environment: &Environment,
        user: &Layer,
        warnings: &mut Vec<String>,
    ) -> Result<Embedding, ConfigError> {
        let layer = user.table(TABLE, &KEYS, warnings)?;
        let nothing = Layer::default();
        let sources = Sources {
            environment,
            layers: [&layer, &nothing],
        };
        let text = |key: &'static str| {
            let setting = sources.text(key, &[]).map_err(in_table)?;
            // An empty prefix is one, too: the model's own is not wanted.
            let may_be_empty = key.ends_with("_prefix");
            Ok::<_, ConfigError>(
                setting.filter(|setting| may_be_empty || !setting.value.trim().is_empty()),
            )
        };
        let number = |key: &'static str, most: usize| {
            let Some(setting) = text(key)? else {
                return Ok(optional(None, |_| 0));
            };
            match setting.value.parse() {
                Ok(value) if (1..=most).contains(&value) => Ok(optional(Some(setting), |_| value)),
                _ => Err(in_table(ConfigError::BadValue {
                    origin: setting.origin,
                    key,
                    what: format!(
                        "is `{}`, which is no number from 1 to {most}",
                        setting.value
                    ),
                })),
            }
        };
        let endpoint = optional(text("endpoint")?, |endpoint| endpoint);
        let folder = sources.variable(&["MEMDIR_MODEL_DIR"]);
        let named = text("model")?;
        let origin = |setting: &Option<Setting<String>>| setting.as_ref().map(|s| s.origin.clone());
        let provider = provider(&sources, origin(&folder).as_ref(), origin(&named).as_ref())?;
        let model = model(environment, provider.value, folder, named);
        let named_key = optional(text("api_key_env")?, |name| name);
        let usual_key = || {
            // A key goes to another host than its own only if the user says so.
            let usual = provider.value.usual_key();
            usual
                .filter(|_| endpoint.value.is_none())
                .map(str::to_owned)
        };
        let api_key_env = match named_key.value {
            Some(_) => named_key,
            None => Setting {
                value: usual_key(),
                origin: Origin::Default,
            },
        };
        let variable = |name: &'static str| sources.variable(&[name]);
        Ok(Embedding {
            dimensions: number("dimensions", 65_536)?,
            query_prefix: optional(text("query_prefix")?, |prefix| prefix),
            passage_prefix: optional(text("passage_prefix")?, |prefix| prefix),
            max_tokens: number("max_tokens", 1_000_000)?,
            pooling: optional(text("pooling")?, |pooling| pooling),
            threads: number("threads", 1_024)?,
            library: optional(variable("ORT_DYLIB_PATH"), PathBuf::from),
            hub: optional(variable("HF_ENDPOINT"), |hub| hub),
            has_key: key(&api_key_env, &environment.variables).is_some(),
            provider,
            model,
            endpoint,
            api_key_env,
        })
    }

    /// What the user's settings file at `path` would say with this text.
    ///
    /// # Errors
    ///
    /// Fails if the text is no TOML or a value has no sense.
    pub fn of_text(
        path: &Path,
        text: &str,
        environment: &Environment,
    ) -> Result<Embedding, ConfigError> {
        let layer = Layer::of_text(path, text)?;
        Embedding::read(environment, &layer, &mut Vec::new())
    }

    /// The provider's key, if the variable for it holds something. Not kept here, so that nothing
    /// that shows settings can show it.
    pub fn key(&self, variables: &HashMap<String, String>) -> Option<String> {
        key(&self.api_key_env, variables)
    }

    /// Every setting with its value as text and its origin; the key itself is none of them.
    pub(super) fn list(&self) -> Vec<(&'static str, String, &Origin)> {
        fn shown<T: fmt::Display>(setting: &Setting<Option<T>>) -> String {
            let value = setting.value.as_ref();
            value.map_or_else(String::new, ToString::to_string)
        }
        let key = match &self.api_key_env.value {
            None => String::new(),
            Some(name) if self.has_key => format!("{name} (is set)"),
            Some(name) => format!("{name} (is not set)"),
        };
        let library = self.library.value.as_ref();
        let library = library.map_or_else(String::new, |path| path.display().to_string());
        vec![
            (
                "embedding.provider",
                self.provider.value.to_string(),
                &self.provider.origin,
            ),
            ("embedding.model", shown(&self.model), &self.model.origin),
            (
                "embedding.endpoint",
                shown(&self.endpoint),
                &self.endpoint.origin,
            ),
            (
                "embedding.dimensions",
                shown(&self.dimensions),
                &self.dimensions.origin,
            ),
            (
                "embedding.query_prefix",
                shown(&self.query_prefix),
                &self.query_prefix.origin,
            ),
            (
                "embedding.passage_prefix",
                shown(&self.passage_prefix),
                &self.passage_prefix.origin,
            ),
            (
                "embedding.max_tokens",
                shown(&self.max_tokens),
                &self.max_tokens.origin,
            ),
            (
                "embedding.pooling",
                shown(&self.pooling),
                &self.pooling.origin,
            ),
            (
                "embedding.threads",
                shown(&self.threads),
                &self.threads.origin,
            ),
            ("embedding.api_key_env", key, &self.api_key_env.origin),
            ("ort_dylib_path", library, &self.library.origin),
            ("hf_endpoint", shown(&self.hub), &self.hub.origin),
        ]
    }
}

/// Which model: for a local one, a folder in the environment comes before the file; what a host
/// calls its models is no path, whatever it looks like.
fn model(
    environment: &Environment,
    provider: Provider,
    folder: Option<Setting<String>>,
    named: Option<Setting<String>>,
) -> Setting<Option<ModelName>> {
    if provider.is_hosted() {
        return optional(named, |name| ModelName::Name(name.trim().to_owned()));
    }
    if folder.is_some() {
        return optional(folder, |folder| {
            let path = expand_home(&folder, environment);
            ModelName::Folder(environment.folder.join(path))
        });
    }
    // What a file says is seen from the folder of the file, wherever the program runs.
    let from = environment.config_folder.as_deref();
    let from = from.unwrap_or(&environment.folder);
    optional(named, |text| {
        ModelName::read(text.trim(), from, environment)
    })
}

/// A variable comes first; a model folder in one means a local model; then the file; then whether
/// there is a model.
fn provider(
    sources: &Sources<'_>,
    folder: Option<&Origin>,
    named: Option<&Origin>,
) -> Result<Setting<Provider>, ConfigError> {
    let stated = sources
        .text("provider", &["MEMDIR_EMBEDDING"])
        .map_err(in_table)?;
    let counts = |origin: &Origin| matches!(origin, Origin::Variable(_)) || folder.is_none();
    if let Some(Setting { value, origin }) = stated.filter(|stated| counts(&stated.origin)) {
        return match value.trim().parse() {
            Ok(value) => Ok(Setting { value, origin }),
            Err(what) => Err(in_table(ConfigError::BadValue {
                origin,
                key: "provider",
                what,
            })),
        };
    }
    Ok(match folder.or(named) {
        Some(origin) => Setting {
            value: Provider::Local,
            origin: origin.clone(),
        },
        None => Setting {
            value: Provider::Off,
            origin: Origin::Default,
        },
    })
}

fn key(name: &Setting<Option<String>>, variables: &HashMap<String, String>) -> Option<String> {
    let key = variables.get(name.value.as_ref()?)?.trim();
    (!key.is_empty()).then(|| key.to_owned())
}

/// Says in which table a key stands.
fn in_table(error: ConfigError) -> ConfigError {
    match error {
        ConfigError::BadValue { origin, key, what } => ConfigError::BadValue {
            origin,
            key: match key {
                "provider" => "embedding.provider",
                "model" => "embedding.model",
                "endpoint" => "embedding.endpoint",
                "dimensions" => "embedding.dimensions",
                "query_prefix" => "embedding.query_prefix",
                "passage_prefix" => "embedding.passage_prefix",
                "max_tokens" => "embedding.max_tokens",
                "pooling" => "embedding.pooling",
                "threads" => "embedding.threads",
                "api_key_env" => "embedding.api_key_env",
                other => other,
            },
            what,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::settings::Config;
    use super::super::settings::Flags;
    use super::*;

    const STORE: &str = "[embedding]\nprovider = \"openai\"\nmodel = \"/evil/model\"\n\
        endpoint = \"https://evil.example\"\napi_key_env = \"HOME\"\n";

    /// The settings of a user with this file, in a store that wants everything, with variables.
    fn read(file: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        fs::create_dir(&config).unwrap();
        fs::write(config.join("config.toml"), file).unwrap();
        fs::write(folder.path().join("memdir.toml"), STORE).unwrap();
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = Environment {
            variables: variables.collect(),
            folder: folder.path().to_owned(),
            config_folder: Some(config),
            data_folder: Some(folder.path().join("data")),
            cache_folder: Some(folder.path().join("cache")),
            ..Environment::default()
        };
        let flags = Flags {
            store: Some(folder.path().to_owned()),
            ..Flags::default()
        };
        Config::read(&flags, &environment)
    }

    fn provider_of(file: &str, variables: &[(&str, &str)]) -> Provider {
        read(file, variables).unwrap().embedding.provider.value
    }

    #[test]
    fn a_store_does_not_say_who_makes_vectors() {
        let config = read("", &[("OPENAI_API_KEY", "k")]).unwrap();
        let embedding = &config.embedding;
        assert_eq!(embedding.provider.value, Provider::Off);
        assert_eq!(embedding.model.value, None);
        assert_eq!(embedding.endpoint.value, None);
        assert_eq!(embedding.api_key_env.value, None);
        assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
        assert!(config.warnings[0].contains("`embedding` may not be set by a store"));
    }

    #[test]
    fn a_model_alone_means_a_local_one() {
        let named = "[embedding]\nmodel = \"all-MiniLM-L6-v2\"";
        assert_eq!(provider_of(named, &[]), Provider::Local);
        assert_eq!(
            provider_of(named, &[("MEMDIR_EMBEDDING", "off")]),
            Provider::Off
        );
        let hosted = "[embedding]\nprovider = \"voyage\"\nmodel = \"voyage-3.5\"";
        assert_eq!(provider_of(hosted, &[]), Provider::Voyage);
        let folder = ("MEMDIR_MODEL_DIR", "models/x");
        assert_eq!(provider_of(hosted, &[folder]), Provider::Local);
        let both = [folder, ("MEMDIR_EMBEDDING", "openai")];
        assert_eq!(provider_of(hosted, &both), Provider::OpenAi);
    }

    #[test]
    fn the_name_of_a_hosts_model_is_no_path() {
        let file = "[embedding]\nprovider = \"openai\"\nmodel = \"org/model\"";
        let config = read(
            file,
            &[("MEMDIR_MODEL_DIR", "/x"), ("MEMDIR_EMBEDDING", "openai")],
        );
        let model = config.unwrap().embedding.model;
        assert_eq!(model.value, Some(ModelName::Name("org/model".to_owned())));
    }

    #[test]
    fn a_name_is_told_from_a_path() {
        let model = |text: &str| {
            let environment = Environment {
                variables: [("HOME".to_owned(), "/home/me".to_owned())].into(),
                ..Environment::default()
            };
            ModelName::read(text, Path::new("/at"), &environment)
        };
        assert_eq!(model("bge-small"), ModelName::Name("bge-small".to_owned()));
        assert_eq!(model("./m"), ModelName::Folder("/at/./m".into()));
        assert_eq!(model("~/m"), ModelName::Folder("/home/me/m".into()));
        assert_eq!(model("/m"), ModelName::Folder("/m".into()));
    }

    #[test]
    fn a_key_goes_to_its_own_host_unless_it_is_named() {
        let key = |table: &str| {
            let embedding = read(table, &[("VOYAGE_API_KEY", "v"), ("MINE", "m")]).unwrap();
            let variables = [("VOYAGE_API_KEY", "v"), ("MINE", "m")];
            let variables = variables.map(|(n, v)| (n.to_owned(), v.to_owned()));
            embedding.embedding.key(&variables.into_iter().collect())
        };
        let voyage = "[embedding]\nprovider = \"voyage\"\nmodel = \"voyage-3.5\"\n";
        assert_eq!(key(voyage).as_deref(), Some("v"));
        let elsewhere = format!("{voyage}endpoint = \"https://other.example\"\n");
        assert_eq!(key(&elsewhere), None);
        let named = format!("{elsewhere}api_key_env = \"MINE\"\n");
        assert_eq!(key(&named).as_deref(), Some("m"));
    }

    #[test]
    fn a_key_is_shown_as_set_and_never_itself() {
        let file = "[embedding]\nprovider = \"openai\"\nmodel = \"text-embedding-3-small\"";
        let config = read(file, &[("OPENAI_API_KEY", "sk-hush")]).unwrap();
        let list = config.list();
        let shown = list
            .iter()
            .find(|(key, ..)| *key == "embedding.api_key_env");
        assert_eq!(shown.unwrap().1, "OPENAI_API_KEY (is set)");
        assert!(!format!("{list:?} {config:?}").contains("sk-hush"));
    }

    #[test]
    fn a_bad_value_is_named_with_its_table() {
        check("provider = \"cloud\"", "`embedding.provider` is `cloud`");
        check("dimensions = 0", "`embedding.dimensions` is `0`");
        check("threads = \"many\"", "`embedding.threads` is `many`");
        check("model = {}", "`embedding.model` must be a text");
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let error = read(&format!("[embedding]\n{line}"), &[]).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn what_is_no_table_and_an_unknown_key_are_told() {
        let error = read("embedding = 1", &[]).unwrap_err().to_string();
        assert!(error.contains("`embedding` must be a table"), "{error}");
        let config = read("[embedding]\nmodle = \"x\"", &[]).unwrap();
        let told = config
            .warnings
            .iter()
            .any(|w| w.contains("`embedding.modle` is unknown"));
        assert!(told, "{:?}", config.warnings);
    }

    #[test]
    fn an_empty_prefix_is_a_prefix() {
        let config = read("[embedding]\nquery_prefix = \"\"\npooling = \"\"", &[]).unwrap();
        assert_eq!(config.embedding.query_prefix.value.as_deref(), Some(""));
        assert_eq!(config.embedding.pooling.value, None);
    }
}
