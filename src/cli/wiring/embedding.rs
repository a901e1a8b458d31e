//! From settings to an embedder, and what is said about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::model_notes;
use crate::cli::wiring::model_notes::models_folder;
use crate::config::{Config, Environment, ModelName, Provider};
use crate::embed::{
    CrossEncoder, CrossEncoderSettings, Embedder, EmbeddingProtocol, HOSTED_MAX_TOKENS, Hosted,
    HostedSettings, Local, LocalSettings, Pooling, Priority, catalog, runtime_libraries,
};
use crate::engine::Models;
use crate::fetch::{ApiKey, FetchClient, RequestLimits, Url};

/// The embedder that the settings choose.
pub enum EmbedderChoice {
    /// No model is wanted.
    Nothing,
    Local {
        embedder: Box<Local>,
        folder: PathBuf,
    },
    Hosted(Box<Hosted>),
    /// A model is wanted and cannot be used.
    Unusable(Failure),
}

impl EmbedderChoice {
    /// Returns the word for it in JSON.
    pub fn state(&self) -> &'static str {
        match self {
            EmbedderChoice::Nothing => "off",
            EmbedderChoice::Local { .. } => "local",
            EmbedderChoice::Hosted(_) => "hosted",
            EmbedderChoice::Unusable(_) => "unusable",
        }
    }
}

/// Opens the embedder of the settings; opening loads no model and asks no host.
///
/// A model that is wanted and cannot be used costs a warning, not the search: searches go on by
/// words.
pub struct ConfiguredModels {
    pub config: Config,
    pub environment: Environment,
}

impl Models for ConfiguredModels {
    fn set(&self) -> Option<Arc<dyn Embedder>> {
        match chosen(&self.config, &self.environment) {
            EmbedderChoice::Nothing => None,
            EmbedderChoice::Local { embedder, .. } => {
                model_notes::note(&self.environment, &embedder);
                Some(Arc::new(*embedder))
            }
            EmbedderChoice::Hosted(embedder) => Some(Arc::new(*embedder)),
            EmbedderChoice::Unusable(failure) => {
                tracing::warn!(
                    "{}; searches are by words and vectors of words until then",
                    in_one_line(&failure)
                );
                None
            }
        }
    }

    fn earlier(&self, id: &str) -> Option<Arc<dyn Embedder>> {
        let settings = &self.config.embedding;
        let mut noted = model_notes::noted(&self.environment, id)?;
        noted.threads = settings.threads.value.unwrap_or_else(usual_threads);
        noted.libraries = runtime_libraries(settings.library.value.as_deref(), &noted.folder);
        let embedder = Local::new(noted).ok()?;
        // The folder may hold another model by now.
        (embedder.id() == id).then(|| Arc::new(embedder) as Arc<dyn Embedder>)
    }
}

/// Returns the embedder that the settings choose. Loads no model and asks no host.
pub fn chosen(config: &Config, environment: &Environment) -> EmbedderChoice {
    let settings = &config.embedding;
    let made = match settings.provider.value {
        Provider::Off => return EmbedderChoice::Nothing,
        Provider::Local => local(config, environment),
        Provider::Voyage => hosted(config, environment, EmbeddingProtocol::Voyage),
        Provider::OpenAi => hosted(config, environment, EmbeddingProtocol::OpenAi),
    };
    made.unwrap_or_else(EmbedderChoice::Unusable)
}

fn local(config: &Config, environment: &Environment) -> Result<EmbedderChoice, Failure> {
    let settings = &config.embedding;
    let Some(model) = &settings.model.value else {
        return Err(Failure::new("a local model is wanted, but none is named")
            .hint("memdir model download gets one."));
    };
    let folder = folder_of(model, environment)?;
    if !folder.is_dir() {
        let said = match model {
            ModelName::Name(name) if catalog::named(name).is_some() => {
                format!("memdir model download {name} gets it.")
            }
            _ => format!(
                "Copy the model there, or name another one: memdir model use DIR. {} says where.",
                settings.model.origin
            ),
        };
        let what = format!("the model {model} is not in {}", folder.display());
        return Err(Failure::new(what).hint(said));
    }
    let embedder = Box::new(open(config, &folder)?);
    Ok(EmbedderChoice::Local { embedder, folder })
}

/// Returns the model in a folder, used as the settings say.
pub fn open(config: &Config, folder: &Path) -> Result<Local, Failure> {
    let settings = &config.embedding;
    let library = settings.library.value.as_deref();
    // A copy by hand lacks the notes that a download has; a name says how it is to be used.
    let named = match &settings.model.value {
        Some(ModelName::Name(name)) if !folder.join("1_Pooling").is_dir() => catalog::named(name),
        _ => None,
    };
    let or_named = |set: &Option<String>, get: fn(&catalog::Model) -> &'static str| {
        set.clone()
            .or_else(|| named.map(|model| get(model).to_owned()))
    };
    let pooling = or_named(&settings.pooling.value, |model| model.pooling);
    let local = LocalSettings {
        folder: folder.to_owned(),
        threads: settings.threads.value.unwrap_or_else(usual_threads),
        libraries: runtime_libraries(library, folder),
        model_file: None,
        query_prefix: or_named(&settings.query_prefix.value, |model| model.query_prefix),
        passage_prefix: or_named(&settings.passage_prefix.value, |model| model.passage_prefix),
        dimensions: settings.dimensions.value,
        max_tokens: settings
            .max_tokens
            .value
            .or(named.map(|model| model.max_tokens)),
        pooling: pooling.as_deref().map(Pooling::from),
    };
    Local::new(local).map_err(|error| {
        let what = format!("the model in {} cannot be used", folder.display());
        Failure::new(what)
            .because(error)
            .hint("memdir model download gets one that can; memdir model status shows what is set.")
    })
}

/// Returns the cross-encoder that the settings name, which loads nothing yet.
pub fn reranker(config: &Config, environment: &Environment) -> Option<Arc<CrossEncoder>> {
    let folder = folder_of(config.rerank.model.as_ref()?, environment);
    let folder = folder.inspect_err(|failure| {
        tracing::warn!("results are not re-ranked: {}", in_one_line(failure));
    });
    Some(Arc::new(cross_encoder(config, folder.ok()?)))
}

/// Returns the cross-encoder in a folder.
pub fn cross_encoder(config: &Config, folder: PathBuf) -> CrossEncoder {
    let settings = &config.embedding;
    CrossEncoder::new(CrossEncoderSettings {
        threads: settings.threads.value.unwrap_or_else(usual_threads),
        libraries: runtime_libraries(settings.library.value.as_deref(), &folder),
        budget: config.rerank.budget,
        folder,
    })
}

/// Returns the number of threads that people who work on the machine do not notice: one for each
/// core at low priority, else half of them, at most four.
fn usual_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match Priority::HAS_LOW {
        true => cores,
        false => cores.div_ceil(2).min(4),
    }
}

/// Returns the folder of a model.
pub fn folder_of(model: &ModelName, environment: &Environment) -> Result<PathBuf, Failure> {
    match model {
        ModelName::Folder(folder) => Ok(folder.clone()),
        ModelName::Name(name) => {
            // As the catalog writes it, so that a name means one folder.
            let name = catalog::named(name).map_or(name.as_str(), |model| model.name);
            Ok(models_folder(environment)?.join(name))
        }
    }
}

fn hosted(
    config: &Config,
    environment: &Environment,
    protocol: EmbeddingProtocol,
) -> Result<EmbedderChoice, Failure> {
    let settings = &config.embedding;
    let provider = settings.provider.value;
    let Some(model) = &settings.model.value else {
        let example = match protocol {
            EmbeddingProtocol::Voyage => "voyage-3.5",
            EmbeddingProtocol::OpenAi => "text-embedding-3-small",
        };
        return Err(
            Failure::new(format!("no model of {provider} is named")).hint(format!(
                "Set `model` in [embedding], such as \"{example}\"."
            )),
        );
    };
    let endpoint = settings.endpoint.value.as_deref().map(Url::parse);
    let endpoint = endpoint.transpose().map_err(|error| {
        let what = format!(
            "{}: `embedding.endpoint` is wrong",
            settings.endpoint.origin
        );
        Failure::new(what).because(error)
    })?;
    let key = settings.key(&environment.variables);
    if let (None, Some(name)) = (&key, &settings.api_key_env.value) {
        return Err(Failure::new(format!(
            "{provider} wants a key, and the variable {name} is not set"
        ))
        .hint(format!(
            "Set {name}, or name another variable: `api_key_env` in [embedding]."
        )));
    }
    let prefix = |setting: &Option<String>| setting.clone().unwrap_or_default();
    let hosted = HostedSettings {
        protocol,
        endpoint,
        model: model.to_string(),
        dimensions: settings.dimensions.value,
        query_prefix: prefix(&settings.query_prefix.value),
        passage_prefix: prefix(&settings.passage_prefix.value),
        max_tokens: settings.max_tokens.value.unwrap_or(HOSTED_MAX_TOKENS),
        key: key.map(ApiKey::new),
    };
    // A host without a graphics card thinks long about a batch.
    let limits = RequestLimits {
        silence: Duration::from_secs(100),
        ..RequestLimits::default()
    };
    let client = FetchClient::new(&environment.variables, limits);
    let embedder = Hosted::new(hosted, client)
        .map_err(|error| Failure::new(format!("{provider} cannot be used")).because(error))?;
    Ok(EmbedderChoice::Hosted(Box::new(embedder)))
}

/// One line that says whether searches are with a model, and with which.
pub fn line(config: &Config, environment: &Environment, chosen: &EmbedderChoice) -> String {
    match chosen {
        EmbedderChoice::Nothing => {
            let said = match &config.embedding.provider.origin {
                crate::config::Origin::Default => "memdir model download".to_owned(),
                origin => format!("{origin} says so"),
            };
            format!("searches are by words and vectors of words ({said})")
        }
        EmbedderChoice::Local { folder, .. } => {
            let models = models_folder(environment).ok();
            let is_ours = models.is_some_and(|models| folder.parent() == Some(&models));
            let name = folder.file_name().filter(|_| is_ours);
            let name = name.map_or_else(
                || folder.display().to_string(),
                |name| name.to_string_lossy().into_owned(),
            );
            format!("searches are by words and meaning, by {name} on this machine")
        }
        EmbedderChoice::Hosted(hosted) => format!(
            "searches are by words and meaning, by {}; {}",
            hosted.describe(),
            hosted.notice()
        ),
        EmbedderChoice::Unusable(failure) => {
            format!(
                "searches are by words and vectors of words: {}",
                in_one_line(failure)
            )
        }
    }
}

/// Returns what `memdir status` shows of the model: a line, and its JSON.
pub fn summary(config: &Config, environment: &Environment) -> (String, Value) {
    let chosen = chosen(config, environment);
    let said = line(config, environment, &chosen);
    let mut document = json!({
        "line": said,
        "state": chosen.state(),
        "provider": config.embedding.provider.value.to_string(),
        "model": config.embedding.model.value.as_ref().map(ToString::to_string),
    });
    if let EmbedderChoice::Hosted(hosted) = &chosen {
        document["sends_to"] = hosted.host().into();
    }
    (said, document)
}

/// Returns an error with its causes and what to do.
pub fn in_one_line(failure: &Failure) -> String {
    let mut text = failure.what.clone();
    for cause in &failure.causes {
        text.push_str(": ");
        text.push_str(cause);
    }
    if let Some(hint) = &failure.hint {
        text.push_str(". ");
        text.push_str(hint.trim_end_matches('.'));
    }
    text
}
