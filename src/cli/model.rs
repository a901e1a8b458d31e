//! Commands about the models that find memories by meaning and re-rank them: download, use, status.

use std::path::{Path, PathBuf};

use indicatif::ProgressStyle;
use serde_json::{Value, json};

use super::args::model::{Model as Command, ModelDownload, ModelUse};
use super::store::config::EditedSettings;
use super::terminal::fail::Failure;
use super::terminal::output::{BOLD, DIM};
use super::terminal::progress::progress_bar;
use super::wiring::context::{Context, Outcome};
use super::wiring::embedding::{EmbedderChoice, chosen, cross_encoder, folder_of, line, open};
use super::wiring::model_notes::models_folder;
use crate::config::{Embedding, ModelName, NewValue, Origin};
use crate::embed::catalog::{Model, ModelKind, State};
use crate::embed::{CrossEncoder, Embedder, catalog, check_runtime, runtime_libraries};
use crate::fetch::{FetchClient, FetchError, RequestLimits, Url};

/// The sentence that a model is tried with.
const SENTENCE: &str = "A model that can be used makes a vector of this.";

const UNCHANGED: &str = "Nothing was changed. Copy or download it again, or use another one.";

/// Runs `memdir model`.
pub fn model(context: &mut Context, command: &Command) -> Result<Outcome, Failure> {
    match command {
        Command::Download(command) if command.list => list(context),
        Command::Download(command) => download(context, command),
        Command::Use(command) => choose(context, command),
        Command::Status(command) => status(context, command.check),
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Failure {
        let hint = error.hint();
        let failure = Failure::new(error.to_string());
        let failure = match std::error::Error::source(&error) {
            Some(cause) => failure.because(cause),
            None => failure,
        };
        Failure { hint, ..failure }
    }
}

/// Lists the models that can be downloaded by name.
fn list(context: &mut Context) -> Result<Outcome, Failure> {
    let models = models_folder(&context.environment)?;
    let is_there = |model: &Model| {
        model
            .files
            .iter()
            .all(|f| models.join(model.name).join(f.name).is_file())
    };
    let output = &mut context.output;
    if output.json {
        let document = catalog::MODELS.iter().map(|model| {
            json!({
                "name": model.name,
                "about": model.about,
                "licence": model.licence,
                "bytes": model.bytes(),
                "kind": match model.kind {
                    ModelKind::Embedding => "embedding",
                    ModelKind::Reranker => "reranker",
                },
                "dimensions": (model.kind == ModelKind::Embedding).then_some(model.dimensions),
                "downloaded": is_there(model),
            })
        });
        output.json(&Value::Array(document.collect()))?;
        return Ok(Outcome::Done);
    }
    for model in catalog::MODELS.iter() {
        let there = if is_there(model) { ", downloaded" } else { "" };
        output.line(format!(
            "{BOLD}{}{BOLD:#}  {}  {DIM}({}, {}{there}){DIM:#}",
            model.name,
            model.about,
            size(model.bytes()),
            model.licence
        ))?;
    }
    Ok(Outcome::Done)
}

fn download(context: &mut Context, command: &ModelDownload) -> Result<Outcome, Failure> {
    refuse_read_only(context, "download a model")?;
    let model = catalog::named(&command.name).ok_or_else(|| {
        Failure::new(format!("no model is known as {}", command.name)).hint(
            "memdir model download --list shows those that are. Of another one, copy the folder \
             and say memdir model use DIR.",
        )
    })?;
    let hub = context.config.embedding.hub.value.as_deref();
    let hub = Url::parse(hub.unwrap_or(catalog::HUB))
        .map_err(|error| Failure::from(error).hint("HF_ENDPOINT names another hub."))?;
    let folder = models_folder(&context.environment)?.join(model.name);
    if !command.no_use {
        let library = context.config.embedding.library.value.as_deref();
        check_runtime(&runtime_libraries(library, &folder)).map_err(|error| {
            Failure::new("no model can be run on this machine")
                .because(error)
                .hint("Nothing was downloaded; with --no-use a model is, for another machine.")
        })?;
    }
    crate::files::create_private_folder(&folder).map_err(|error| {
        Failure::new(format!("cannot make the folder {}", folder.display())).because(error)
    })?;
    context.output.note(format!(
        "{} ({}, {}) from {hub} to {}",
        model.name,
        size(model.bytes()),
        model.licence,
        folder.display()
    ));
    let client = FetchClient::new(&context.environment.variables, RequestLimits::default());
    let bar = progress_bar(model.name);
    bar.set_style(
        ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {eta}")
            .expect("the template is valid"),
    );
    let fetched = model.download(&client, &hub, &folder, &mut |file, progress| {
        bar.set_message(file.name);
        bar.set_length(progress.total.unwrap_or(file.bytes));
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    fetched?;
    write_notes(model, &folder)?;
    if !command.no_use {
        return match model.kind {
            ModelKind::Embedding => take(context, &folder, model.name, Some(model)),
            ModelKind::Reranker => take_reranker(context, &folder, model.name),
        };
    }
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"model": model.name, "folder": folder.display().to_string()}))?;
    } else {
        output.line(format!("{} is in {}", model.name, folder.display()))?;
        output.note(format!("Use it: memdir model use {}", model.name));
    }
    Ok(Outcome::Done)
}

/// Puts beside the model how it is to be used, so that a copy of the folder knows it.
fn write_notes(model: &Model, folder: &Path) -> Result<(), Failure> {
    for (name, text) in model.notes() {
        let path = folder.join(name);
        let written = crate::files::create_private_folder(path.parent().unwrap_or(folder))
            .and_then(|()| crate::files::write_derived(&path, text.as_bytes()));
        written.map_err(|error| {
            Failure::new(format!("cannot write {}", path.display())).because(error)
        })?;
    }
    Ok(())
}

fn choose(context: &mut Context, command: &ModelUse) -> Result<Outcome, Failure> {
    refuse_read_only(context, "change the settings")?;
    if command.model == "none" {
        return switch_off(context);
    }
    let environment = &context.environment;
    let mut model = ModelName::read(&command.model, &environment.folder, environment);
    let mut folder = folder_of(&model, environment)?;
    // A folder in the working folder may be named without a dot.
    let here = environment.folder.join(&command.model);
    if !folder.is_dir() && here.is_dir() {
        (model, folder) = (ModelName::Folder(here.clone()), here);
    }
    if !folder.is_dir() {
        let failure = Failure::new(format!("there is no model in {}", folder.display()));
        return Err(match &model {
            ModelName::Name(name) if catalog::named(name).is_some() => {
                failure.hint(format!("memdir model download {name} gets it."))
            }
            _ => failure.hint(
                "Name a folder with model.onnx and tokenizer.json, or a model of memdir model \
                 download --list.",
            ),
        });
    }
    let folder = match model {
        ModelName::Name(_) => folder,
        // What is written must mean the same from everywhere.
        ModelName::Folder(_) => real(folder),
    };
    let known = catalog::recognised(&folder);
    let name = match &model {
        ModelName::Name(name) => catalog::named(name).map_or(name.as_str(), |known| known.name),
        ModelName::Folder(_) => folder.to_str().ok_or_else(|| {
            let what = format!("the path {} is not UTF-8", folder.display());
            Failure::new(what).hint("Move or rename the folder.")
        })?,
    };
    let name = name.to_owned();
    match CrossEncoder::is_in(&folder) {
        true => take_reranker(context, &folder, &name),
        false => take(context, &folder, &name, known),
    }
}

/// Tries the cross-encoder in `folder`, then makes it the one that re-ranks, as `name`.
fn take_reranker(context: &mut Context, folder: &Path, name: &str) -> Result<Outcome, Failure> {
    let reranker = cross_encoder(&context.config, folder.to_owned());
    reranker
        .load()
        .map_err(|error| unusable(folder).because(error).hint(UNCHANGED))?;
    let change = ("rerank.model", Some(NewValue::text(name)));
    let path = EditedSettings::of_user(&context.environment, &[change])?.save()?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "reranker": name,
            "folder": folder.display().to_string(),
            "backend": reranker.describe(),
            "settings": path.display().to_string(),
        }))?;
    } else {
        output.line(format!("{name} re-ranks from now on"))?;
        output.note(format!(
            "{}\nset in {}",
            reranker.describe(),
            path.display()
        ));
    }
    Ok(Outcome::Done)
}

fn unusable(folder: &Path) -> Failure {
    Failure::new(format!("the model in {} cannot be used", folder.display()))
}

/// Tries the model in `folder`, then makes it the one that is used, as `name`.
fn take(
    context: &mut Context,
    folder: &Path,
    name: &str,
    known: Option<&Model>,
) -> Result<Outcome, Failure> {
    let changes = changes_for(context, folder, name, known);
    let changes: Vec<(&str, Option<NewValue>)> = changes
        .into_iter()
        .map(|(key, value)| (key, value.as_deref().map(NewValue::text)))
        .collect();
    let edited = EditedSettings::of_user(&context.environment, &changes)?;
    let mut config = context.config.clone();
    config.embedding = Embedding::of_text(&edited.path, &edited.text, &context.environment)?;
    let embedder = open(&config, folder).map_err(|failure| failure.hint(UNCHANGED))?;
    let tried = embedder.query(SENTENCE);
    tried.map_err(|error| unusable(folder).because(error).hint(UNCHANGED))?;
    let path = edited.save()?;
    overruled(context);
    let output = &mut context.output;
    let dimensions = embedder.dimensions();
    if output.json {
        output.json(&json!({
            "model": name,
            "folder": folder.display().to_string(),
            "id": embedder.id(),
            "dimensions": dimensions,
            "backend": embedder.describe(),
            "settings": path.display().to_string(),
        }))?;
    } else {
        output.line(format!(
            "{name} is used from now on: {dimensions} dimensions"
        ))?;
        output.note(format!(
            "{}\nset in {}",
            embedder.describe(),
            path.display()
        ));
    }
    Ok(Outcome::Done)
}

/// Returns the changes of settings with which the model in `folder` is used, with its own prefixes and pooling.
fn changes_for(
    context: &Context,
    folder: &Path,
    name: &str,
    known: Option<&Model>,
) -> Vec<(&'static str, Option<String>)> {
    let settings = &context.config.embedding;
    let mut changes = vec![
        ("embedding.provider", Some("local".to_owned())),
        ("embedding.model", Some(name.to_owned())),
    ];
    let before = settings.model.value.as_ref();
    let before = before.map(|model| match settings.provider.value.is_hosted() {
        true => None,
        false => folder_of(model, &context.environment).ok(),
    });
    if before
        .as_ref()
        .is_some_and(|before| before.as_deref() == Some(folder))
    {
        return changes;
    }
    let is_another = before.is_some();
    // A copy by hand lacks the notes that a download has.
    let made = known.filter(|_| !folder.join("1_Pooling").is_dir());
    let made = |get: fn(&Model) -> String| made.map(get);
    let of_model = [
        (
            "embedding.query_prefix",
            settings.query_prefix.value.is_some(),
            made(|m| m.query_prefix.to_owned()),
        ),
        (
            "embedding.passage_prefix",
            settings.passage_prefix.value.is_some(),
            made(|m| m.passage_prefix.to_owned()),
        ),
        (
            "embedding.pooling",
            settings.pooling.value.is_some(),
            made(|m| m.pooling.to_owned()),
        ),
        (
            "embedding.max_tokens",
            settings.max_tokens.value.is_some(),
            made(|m| m.max_tokens.to_string()),
        ),
    ];
    for (key, is_set, value) in of_model {
        // How the model before was used is of no use to this one; what was set for the first one
        // is.
        if is_another || (!is_set && value.is_some()) {
            changes.push((key, value));
        }
    }
    if is_another {
        changes.extend(
            [
                "embedding.dimensions",
                "embedding.endpoint",
                "embedding.api_key_env",
            ]
            .map(|key| (key, None)),
        );
    }
    changes
}

fn switch_off(context: &mut Context) -> Result<Outcome, Failure> {
    let off = ("embedding.provider", Some(NewValue::text("off")));
    let path = EditedSettings::of_user(&context.environment, &[off])?.save()?;
    overruled(context);
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"model": null, "settings": path.display().to_string()}))?;
    } else {
        output.line("searches are by words and vectors of words from now on")?;
    }
    Ok(Outcome::Done)
}

/// Says so if a variable counts more than what was just written.
fn overruled(context: &Context) {
    for name in ["MEMDIR_MODEL_DIR", "MEMDIR_EMBEDDING"] {
        let value = context.environment.variables.get(name);
        if value.is_some_and(|value| !value.trim().is_empty()) {
            let text = format!("warning: {name} is set, and counts more than the settings file");
            context.output.note(text);
        }
    }
}

fn status(context: &mut Context, asks_host: bool) -> Result<Outcome, Failure> {
    let Context {
        config,
        environment,
        output,
        ..
    } = context;
    let chosen = chosen(config, environment);
    let said = line(config, environment, &chosen);
    let settings = &config.embedding;
    let origin = match &settings.model.value {
        Some(_) => &settings.model.origin,
        None => &settings.provider.origin,
    };
    let key = settings.api_key_env.value.as_ref();
    let key = key.map(|name| (name.clone(), settings.key(&environment.variables).is_some()));
    let mut document = json!({
        "line": said,
        "state": chosen.state(),
        "provider": settings.provider.value.to_string(),
        "model": settings.model.value.as_ref().map(ToString::to_string),
        "origin": origin.to_string(),
        "key": key.as_ref().map(|(name, is_set)| json!({"variable": name, "set": is_set})),
    });
    let mut rows = Vec::new();
    let mut is_fine = true;
    if let Some(model) = &settings.model.value {
        rows.push(("model", format!("{model} ({})", settings.provider.value)));
    }
    if *origin != Origin::Default {
        rows.push(("set by", origin.to_string()));
    }
    match &chosen {
        EmbedderChoice::Local { embedder, folder } => {
            // The runtime is known once it was needed.
            let tried = embedder.query(SENTENCE);
            let known = catalog::recognised(folder).or_else(|| {
                let name = folder.file_name()?.to_str()?;
                let models = models_folder(environment).ok()?;
                catalog::named(name).filter(|_| folder.parent() == Some(&models))
            });
            document["folder"] = folder.display().to_string().into();
            document["id"] = embedder.id().into();
            document["dimensions"] = embedder.dimensions().into();
            document["backend"] = embedder.describe().into();
            rows.push(("folder", folder.display().to_string()));
            rows.push(("id", embedder.id().to_owned()));
            rows.push(("dimensions", embedder.dimensions().to_string()));
            rows.push(("backend", embedder.describe()));
            if let Some(known) = known {
                document["licence"] = known.licence.into();
                rows.push(("known as", format!("{}, {}", known.name, known.licence)));
                let files = known.check(folder)?;
                document["files"] = files
                    .iter()
                    .map(|(name, state)| json!({"name": name, "state": file_state(*state)}))
                    .collect();
                for (name, state) in files {
                    is_fine &= state == State::Whole;
                    rows.push(("file", format!("{name}: {}", file_state(state))));
                }
            }
            if let Err(error) = tried {
                is_fine = false;
                document["state"] = "unusable".into();
                document["error"] = error.to_string().into();
                rows.push(("error", error.to_string()));
            }
        }
        EmbedderChoice::Hosted(hosted) => {
            document["id"] = hosted.id().into();
            document["dimensions"] = hosted.dimensions().into();
            document["backend"] = hosted.describe().into();
            document["sends_to"] = hosted.host().into();
            rows.push(("id", hosted.id().to_owned()));
            rows.push(("dimensions", hosted.dimensions().to_string()));
            rows.push(("notice", hosted.notice()));
            if asks_host && let Err(error) = hosted.query(SENTENCE) {
                is_fine = false;
                document["error"] = error.to_string().into();
                rows.push(("error", error.to_string()));
            }
        }
        EmbedderChoice::Nothing | EmbedderChoice::Unusable(_) => {}
    }
    if let Some(model) = &config.rerank.model {
        let reranker = cross_encoder(config, folder_of(model, environment)?);
        let tried = reranker.load();
        rows.push(("re-ranks", format!("{model}, {}", reranker.describe())));
        document["reranker"] = json!({
            "model": model.to_string(),
            "backend": reranker.describe(),
            "error": tried.as_ref().err().map(ToString::to_string),
        });
        if let Err(error) = tried {
            is_fine = false;
            rows.push(("error", error.to_string()));
        }
    }
    if let Some((name, is_set)) = key {
        let is_set = if is_set { "is set" } else { "is not set" };
        rows.push(("key", format!("{name} {is_set}")));
    }
    if output.json {
        output.json(&document)?;
    } else {
        output.line(output.shown(&said))?;
        for (name, value) in rows {
            let value = output.shown(&value);
            output.line(format!("{BOLD}{name:>10}{BOLD:#}  {value}"))?;
        }
    }
    Ok(match chosen {
        EmbedderChoice::Unusable(_) => Outcome::Nothing,
        _ if !is_fine => Outcome::Nothing,
        _ => Outcome::Done,
    })
}

/// Returns the folder without links; on Windows as people write it, and not in the form that the system gives.
fn real(folder: PathBuf) -> PathBuf {
    let found = match cfg!(windows) {
        true => std::path::absolute(&folder),
        false => folder.canonicalize(),
    };
    found.unwrap_or(folder)
}

fn file_state(state: State) -> &'static str {
    match state {
        State::Whole => "whole",
        State::Missing => "missing",
        State::Other => "not the file it should be",
    }
}

fn refuse_read_only(context: &Context, what: &str) -> Result<(), Failure> {
    match context.config.read_only {
        true => Err(Failure::new(format!("cannot {what} with --read-only"))),
        false => Ok(()),
    }
}

fn size(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}
