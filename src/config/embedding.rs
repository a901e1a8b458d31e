//! The settings of embeddings and of a cross-encoder: the user's tables `[embedding]` and `[rerank]`, and
//! variables.
//!
//! Never from a store's `memdir.toml`: it may have come from somebody else, and would decide whom
//! memories are sent to, which file is loaded and which key is used.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::choices::Provider;
use super::environment::Environment;
use super::key::{KeyVariable, held};
use super::layer::SettingsLayer;
use super::setting::{ConfigError, Origin, Setting};
use super::table::SettingId;
use super::values::SettingValues;

/// The name or the folder of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelName {
    /// In the folder of models, or at the provider.
    Name(String),
    Folder(PathBuf),
}

/// All settings of embeddings.
#[derive(Debug, Clone)]
pub struct Embedding {
    /// Provider of embeddings.
    pub provider: Setting<Provider>,
    /// Name or folder of the model.
    pub model: Setting<Option<ModelName>>,
    /// The address of the provider, if not its own.
    pub endpoint: Setting<Option<String>>,
    /// Number of dimensions of a vector.
    pub dimensions: Setting<Option<usize>>,
    /// Text before each query.
    pub query_prefix: Setting<Option<String>>,
    /// Text before each passage.
    pub passage_prefix: Setting<Option<String>>,
    /// Maximum number of tokens of a passage.
    pub max_tokens: Setting<Option<usize>>,
    /// `mean`, `cls`, or the name of an output that is a vector already.
    pub pooling: Setting<Option<String>>,
    /// Maximum number of threads that compute.
    pub threads: Setting<Option<usize>>,
    /// The variable that holds the provider's key.
    pub api_key_env: Setting<Option<String>>,
    /// The ONNX Runtime's library.
    pub library: Setting<Option<PathBuf>>,
    /// The address that models are downloaded from.
    pub hub: Setting<Option<String>>,
}

/// All settings of the cross-encoder that re-ranks the first hits.
#[derive(Debug, Clone)]
pub struct RerankSettings {
    /// Name or folder of the model; `None` if nothing is re-ranked.
    pub model: Option<ModelName>,
    /// Maximum time for one question.
    pub budget: Duration,
}

impl RerankSettings {
    pub(super) fn read(environment: &Environment, values: &SettingValues) -> RerankSettings {
        let model = values.text(SettingId::RerankModel).value;
        let budget = values.whole(SettingId::RerankBudget).value;
        RerankSettings {
            model: model.map(|text| ModelName::in_file(&text, environment)),
            budget: Duration::from_millis(budget as u64),
        }
    }
}

impl Provider {
    /// Returns whether texts leave the machine.
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
    /// Returns a path if it looks like one, else a name. `~` is the user's home; other paths are seen
    /// from `folder`.
    pub fn read(text: &str, folder: &Path, environment: &Environment) -> ModelName {
        let looks_like_path = text.contains(['/', '\\']) || matches!(text, "." | ".." | "~");
        match looks_like_path {
            true => ModelName::Folder(folder.join(environment.expand_home(text))),
            false => ModelName::Name(text.to_owned()),
        }
    }

    /// As [`ModelName::read`], of the user's file: paths are seen from its folder, wherever the program runs.
    fn in_file(text: &str, environment: &Environment) -> ModelName {
        let from = environment.config_folder.as_deref();
        ModelName::read(text, from.unwrap_or(&environment.folder), environment)
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
        user: &SettingsLayer,
        values: &mut SettingValues,
    ) -> Embedding {
        let in_file = |id| {
            user.get(id)
                .map(|setting| setting.map(|value| value.to_string()))
        };
        let folder = environment.variable(SettingId::EmbeddingModel.row().variables);
        let named = in_file(SettingId::EmbeddingModel);
        let origin = |setting: &Option<Setting<String>>| setting.as_ref().map(|s| s.origin.clone());
        let stated = values.text(SettingId::EmbeddingProvider);
        let provider = provider(stated, origin(&folder), origin(&named));
        let model = model(environment, provider.value, folder, named);
        let endpoint = values.text(SettingId::EmbeddingEndpoint);
        let key = KeyVariable {
            setting: SettingId::EmbeddingApiKeyEnv,
            usual: provider.value.usual_key(),
            endpoint: &endpoint,
        };
        let api_key_env = key.variable(environment, values);
        let shown = provider.value.to_string();
        values.put(SettingId::EmbeddingProvider, shown, provider.origin.clone());
        let shown = model.value.as_ref().map(ToString::to_string);
        let shown = shown.unwrap_or_default();
        values.put(SettingId::EmbeddingModel, shown, model.origin.clone());
        Embedding {
            dimensions: values.whole_if_set(SettingId::EmbeddingDimensions),
            query_prefix: values.text(SettingId::EmbeddingQueryPrefix),
            passage_prefix: values.text(SettingId::EmbeddingPassagePrefix),
            max_tokens: values.whole_if_set(SettingId::EmbeddingMaxTokens),
            pooling: values.text(SettingId::EmbeddingPooling),
            threads: values.whole_if_set(SettingId::EmbeddingThreads),
            library: values
                .text(SettingId::OrtLibrary)
                .map(|path| path.map(PathBuf::from)),
            hub: values.text(SettingId::Hub),
            provider,
            model,
            endpoint,
            api_key_env,
        }
    }

    /// Returns the settings that the user's file at `path` would state with this text.
    ///
    /// # Errors
    ///
    /// Fails if the text is no TOML or a value has no sense.
    pub fn of_text(
        path: &Path,
        text: &str,
        environment: &Environment,
    ) -> Result<Embedding, ConfigError> {
        let layer = SettingsLayer::of_user_text(path, text, &mut Vec::new())?;
        let mut values = SettingValues::read(environment, [&SettingsLayer::default(), &layer])?;
        Ok(Embedding::read(environment, &layer, &mut values))
    }

    /// Returns the provider's key from its variable, if that is not empty. Not stored here, so that no
    /// output of settings can contain it.
    pub fn key(&self, variables: &HashMap<String, String>) -> Option<String> {
        held(&self.api_key_env, variables)
    }
}

/// Returns the model: for a local one, a folder in the environment comes before the file; the name
/// of a host's model is no path, whatever it looks like.
fn model(
    environment: &Environment,
    provider: Provider,
    folder: Option<Setting<String>>,
    named: Option<Setting<String>>,
) -> Setting<Option<ModelName>> {
    if provider.is_hosted() {
        return Setting::optional(named.map(|named| named.map(ModelName::Name)));
    }
    if folder.is_some() {
        let model = |folder: String| {
            let path = environment.expand_home(&folder);
            ModelName::Folder(environment.folder.join(path))
        };
        return Setting::optional(folder.map(|folder| folder.map(model)));
    }
    let model = |text: String| ModelName::in_file(&text, environment);
    Setting::optional(named.map(|named| named.map(model)))
}

/// A variable comes first; a model folder in one means a local model; then the file; then whether
/// there is a model.
fn provider(
    stated: Setting<Option<String>>,
    folder: Option<Origin>,
    named: Option<Origin>,
) -> Setting<Provider> {
    let counts = matches!(stated.origin, Origin::Variable(_)) || folder.is_none();
    let name = stated.value.as_deref().filter(|_| counts);
    if let Some(provider) = name.and_then(|name| name.parse().ok()) {
        return Setting::new(provider, stated.origin);
    }
    match folder.or(named) {
        Some(origin) => Setting::new(Provider::Local, origin),
        None => Setting::new(Provider::Off, Origin::Default),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::environment::Flags;
    use super::super::settings::Config;
    use super::*;

    const STORE: &str = "[embedding]\nprovider = \"openai\"\nmodel = \"/evil/model\"\n\
        endpoint = \"https://evil.example\"\napi_key_env = \"HOME\"\n";

    /// Returns the settings of a user with this file, in a store that wants everything, with variables.
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
