//! A note of each local model that was used, so that it can be opened again after another one was
//! set: until a store has all vectors of the new one, the former answers.
//!
//! The notes lie in the user's cache folder. They are not kept beside the vectors, whose folder may
//! come from somebody else with the store: which file is loaded as a model is the user's business.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::model_notes;
use crate::config::Environment;
use crate::embed::{Embedder, Local, LocalSettings, Pooling};

/// The settings of a model that its vectors depend on.
#[derive(Serialize, Deserialize)]
struct Note {
    folder: PathBuf,
    model_file: Option<String>,
    query_prefix: Option<String>,
    passage_prefix: Option<String>,
    dimensions: Option<usize>,
    max_tokens: Option<usize>,
    pooling: Option<String>,
}

fn path(environment: &Environment, id: &str) -> Option<PathBuf> {
    let models = model_notes::models_folder(environment).ok()?;
    Some(models.join(".used").join(format!("{id}.json")))
}

/// Notes how `model` was opened. A failure costs no more than that its vectors are of no use once
/// another one is set.
pub fn note(environment: &Environment, model: &Local) {
    let Some(path) = path(environment, model.id()) else {
        return;
    };
    let settings = model.settings().clone();
    let Ok(folder) = std::path::absolute(&settings.folder) else {
        return;
    };
    let note = Note {
        folder,
        model_file: settings.model_file,
        query_prefix: settings.query_prefix,
        passage_prefix: settings.passage_prefix,
        dimensions: settings.dimensions,
        max_tokens: settings.max_tokens,
        pooling: settings.pooling.map(|pooling| pooling.as_str().to_owned()),
    };
    let Ok(text) = serde_json::to_string_pretty(&note) else {
        return;
    };
    if fs::read_to_string(&path).is_ok_and(|noted| noted == text) {
        return;
    }
    let written = crate::files::create_private_folder(path.parent().unwrap_or(&path))
        .and_then(|()| crate::files::write_derived(&path, text.as_bytes()));
    if let Err(error) = written {
        tracing::debug!("cannot write {}: {error}", path.display());
    }
}

/// Returns the settings with which the model of this id was opened last, without threads and libraries.
pub fn noted(environment: &Environment, id: &str) -> Option<LocalSettings> {
    let text = fs::read_to_string(path(environment, id)?).ok()?;
    let note: Note = serde_json::from_str(&text).ok()?;
    Some(LocalSettings {
        folder: note.folder,
        model_file: note.model_file,
        query_prefix: note.query_prefix,
        passage_prefix: note.passage_prefix,
        dimensions: note.dimensions,
        max_tokens: note.max_tokens,
        pooling: note.pooling.as_deref().map(Pooling::from),
        ..LocalSettings::default()
    })
}

/// Returns the folder of all models that were downloaded.
pub fn models_folder(environment: &Environment) -> Result<PathBuf, Failure> {
    let cache = environment.cache_folder.as_ref().ok_or_else(|| {
        Failure::new("there is no home folder to keep models in")
            .hint("Name a folder with MEMDIR_MODEL_DIR.")
    })?;
    Ok(cache.join("models"))
}
