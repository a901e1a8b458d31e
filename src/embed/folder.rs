//! Reads the folder of a model: its files, and how the model is to be used.
//!
//! Reads what sentence-transformers writes beside a model, unless the settings say otherwise, and
//! makes the id. Promises: the same files and settings give the same id, whatever the folder's
//! path; anything that may change a vector changes the id; what would lead to wrong vectors (a
//! damaged file, a step that this program does not take) is an error that names the file. Loads
//! nothing: of the model only its signature is read, and its hash.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::onnx_file::{FLOAT, INT64, Port, Signature};
use super::{EmbedError, LocalSettings, Pooling, onnx_file};

/// A model in a folder, looked at and not loaded.
#[derive(Debug)]
pub(super) struct ModelFolder {
    /// Path of the ONNX file.
    pub model: PathBuf,
    /// Path of the tokenizer's file.
    pub tokenizer: PathBuf,
    /// Text before each query.
    pub query_prefix: String,
    /// Text before each passage.
    pub passage_prefix: String,
    /// Maximum number of tokens of a piece, special tokens and prefix included.
    pub max_tokens: usize,
    /// Number of dimensions of a vector; at most `width`.
    pub dimensions: usize,
    /// Number of dimensions that the model gives.
    pub width: usize,
    /// The output that is read, and how it becomes one vector.
    pub output: String,
    /// Way from the output to one vector.
    pub pooling: Pooled,
    /// Whether the model has an input for token types.
    pub has_token_types: bool,
    /// Name of the folder, and a hash of everything that a vector depends on.
    pub id: String,
    /// Size of the files that it is loaded from.
    pub bytes: u64,
}

/// The way from the numbers of an output to one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooled {
    /// The mean of all tokens.
    Mean,
    /// The first token's.
    First,
    /// They are one vector already.
    Already,
}

/// Names under which a folder may hold the model. The quantised one comes first: it is a quarter
/// of the size and twice as fast, and finds the same memories.
const MODEL_FILES: [&str; 4] = [
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "model.onnx",
    "onnx/model.onnx",
];
const DEFAULT_MAX_TOKENS: usize = 256;
/// Maximum number of tokens of a question and a text together, where the folder says nothing: some
/// eighty words of the text. Fifty pairs of twice the length take three times as long.
const DEFAULT_PAIR_TOKENS: usize = 128;
/// Shorter pieces have no room for overlap and special tokens; longer ones than models are made
/// for would take minutes and all memory.
const TOKENS: std::ops::RangeInclusive<usize> = 16..=8192;
/// Part of the id: raised when the same files and settings give other vectors.
const VERSION: &[u8] = b"memdir vectors 1";

impl ModelFolder {
    /// Looks at the folder that `settings` name.
    ///
    /// # Errors
    ///
    /// Fails if the folder holds no model or no tokenizer, if one of its files is damaged, and if
    /// the model cannot give vectors of texts as it is.
    pub fn look(settings: &LocalSettings) -> Result<ModelFolder, EmbedError> {
        let folder = &settings.folder;
        let (model, tokenizer, signature) = files(settings)?;
        let has_token_types = inputs(&signature, &model)?;
        if logit(&signature).is_some() {
            let why =
                "it scores pairs of texts and makes no vectors. memdir model use re-ranks by it";
            return unusable(&model, why);
        }
        let notes = Notes::read(settings)?;
        let (output, pooling) = output(settings, &notes, &signature, &model)?;
        let width = match (output.shape.as_deref().and_then(<[_]>::last), notes.width) {
            (Some(Some(width)), _) => *width,
            (_, Some(width)) => width,
            _ => settings.dimensions.ok_or_else(|| {
                let why = "nothing says how many numbers its vectors have. Set the dimensions";
                error(&model, why)
            })?,
        };
        let dimensions = settings.dimensions.unwrap_or(width);
        if dimensions == 0 || dimensions > width {
            let why = format!("its vectors have {width} numbers, so there are no {dimensions}");
            return unusable(&model, why);
        }
        let mut found = ModelFolder {
            query_prefix: or_noted(&settings.query_prefix, notes.query_prefix),
            passage_prefix: or_noted(&settings.passage_prefix, notes.passage_prefix),
            max_tokens: max_tokens(settings, notes.max_tokens, notes.positions, &model)?,
            dimensions,
            width,
            output: output.name.clone(),
            pooling,
            has_token_types,
            id: String::new(),
            bytes: 0,
            model,
            tokenizer,
        };
        (found.id, found.bytes) = found.name(folder)?;
        Ok(found)
    }

    /// Looks at the folder of a cross-encoder: a model that gives one number for a pair of texts.
    ///
    /// # Errors
    ///
    /// As for [`ModelFolder::look`]; and if the model gives anything else.
    pub fn look_at_cross_encoder(folder: &Path) -> Result<ModelFolder, EmbedError> {
        let settings = LocalSettings {
            folder: folder.to_owned(),
            ..LocalSettings::default()
        };
        let (model, tokenizer, signature) = files(&settings)?;
        let has_token_types = inputs(&signature, &model)?;
        let output = logit(&signature)
            .ok_or_else(|| error(&model, "it does not give one number for a pair of texts"))?;
        let notes = Notes::read(&settings)?;
        let noted = notes.max_tokens.or(Some(DEFAULT_PAIR_TOKENS));
        Ok(ModelFolder {
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_tokens: max_tokens(&settings, noted, notes.positions, &model)?,
            dimensions: 1,
            width: 1,
            output: output.name.clone(),
            pooling: Pooled::Already,
            has_token_types,
            id: String::new(),
            bytes: model.metadata().map_or(0, |found| found.len()),
            model,
            tokenizer,
        })
    }

    /// Returns the folder's name with a hash of everything that a vector depends on, and the
    /// size of its files.
    fn name(&self, folder: &Path) -> Result<(String, u64), EmbedError> {
        let mut hasher = blake3::Hasher::new();
        let settings = format!("{:?} {} {}", self.pooling, self.dimensions, self.max_tokens);
        for text in [
            &self.query_prefix,
            &self.passage_prefix,
            &self.output,
            &settings,
        ] {
            hasher.update(&text.len().to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(VERSION);
        let beside = |end: &str| {
            let mut name = self.model.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        // Large models keep their weights in a second file.
        let weights = [beside("_data"), beside(".data")];
        let mut bytes = 0;
        let files = [&self.tokenizer, &self.model].into_iter();
        for file in files.chain(weights.iter().filter(|file| file.is_file())) {
            let mut one = blake3::Hasher::new();
            let opened = File::open(file).or_else(|why| unusable(file, why))?;
            one.update_reader(opened)
                .or_else(|why| unusable(file, why))?;
            hasher.update(one.finalize().as_bytes());
            bytes += one.count();
        }
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
        let name: String = folder.file_name().map_or_else(String::new, |name| {
            let name = name.to_string_lossy();
            name.chars().filter(is_plain).take(64).collect()
        });
        let name = name.trim_start_matches('.');
        let hash = &hasher.finalize().to_hex()[..12];
        let name = if name.is_empty() { "model" } else { name };
        Ok((format!("{name}-{hash}"), bytes))
    }
}

/// Returns the model's file, its tokenizer's, and its signature.
fn files(settings: &LocalSettings) -> Result<(PathBuf, PathBuf, Signature), EmbedError> {
    let model = model_file(settings)?;
    let tokenizer = settings.folder.join("tokenizer.json");
    if !tokenizer.is_file() {
        return unusable(
            &settings.folder,
            "it holds no tokenizer.json. Copy the one that belongs to the model",
        );
    }
    let signature = onnx_file::signature(&model).or_else(|why| unusable(&model, why))?;
    Ok((model, tokenizer, signature))
}

/// Returns the output of a cross-encoder, its only one: one number for each pair.
fn logit(signature: &Signature) -> Option<&Port> {
    let [output] = &signature.outputs[..] else {
        return None;
    };
    let is_one = match output.shape.as_deref() {
        Some([_, Some(1)]) => true,
        // Some programs leave the number of labels open.
        Some([_, None]) => output.name == "logits",
        _ => false,
    };
    (is_one && output.element == FLOAT).then_some(output)
}

fn model_file(settings: &LocalSettings) -> Result<PathBuf, EmbedError> {
    let folder = &settings.folder;
    if !folder.is_dir() {
        return unusable(folder, "there is no such folder");
    }
    if let Some(name) = &settings.model_file {
        let file = folder.join(name);
        return match file.is_file() {
            true => Ok(file),
            false => unusable(&file, "there is no such file"),
        };
    }
    let known = MODEL_FILES.iter().map(|name| folder.join(name));
    if let Some(file) = known.into_iter().find(|file| file.is_file()) {
        return Ok(file);
    }
    let mut others: Vec<PathBuf> = [folder.clone(), folder.join("onnx")]
        .iter()
        .filter_map(|folder| folder.read_dir().ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(|file| file.extension().is_some_and(|end| end == "onnx") && file.is_file())
        .collect();
    match (others.pop(), others.is_empty()) {
        (Some(file), true) => Ok(file),
        (Some(_), false) => unusable(
            folder,
            "it holds several models and none of the usual names. Set the model's file name",
        ),
        (None, _) => unusable(
            folder,
            "it holds no model. Put model.onnx and tokenizer.json there",
        ),
    }
}

/// Returns whether the model takes token types; it must take what every BERT-like model takes.
fn inputs(signature: &Signature, model: &Path) -> Result<bool, EmbedError> {
    let has = |name: &str| signature.inputs.iter().any(|input| input.name == name);
    for needed in ["input_ids", "attention_mask"] {
        if !has(needed) {
            let why = format!("it has no input {needed}, so it is no model for texts of this kind");
            return unusable(model, why);
        }
    }
    for input in &signature.inputs {
        let name = &input.name;
        if !["input_ids", "attention_mask", "token_type_ids"].contains(&name.as_str()) {
            return unusable(
                model,
                format!("it wants an input {name}, which is not known"),
            );
        }
        if input.element != INT64 {
            let why = format!("its input {name} takes no 64-bit integers");
            return unusable(model, why);
        }
        match input.shape.as_deref() {
            None | Some([None | Some(1), None]) => {}
            Some([_, Some(_)] | [Some(_), None]) => {
                let why = "it takes texts of one length only. Export it with dynamic axes";
                return unusable(model, why);
            }
            Some(_) => {
                let why = format!("its input {name} is not a row of numbers for each text");
                return unusable(model, why);
            }
        }
    }
    Ok(has("token_type_ids"))
}

/// Returns the output that is read, and its pooling.
fn output<'a>(
    settings: &LocalSettings,
    notes: &Notes,
    signature: &'a Signature,
    model: &Path,
) -> Result<(&'a Port, Pooled), EmbedError> {
    let named = |name: &str| signature.outputs.iter().find(|output| output.name == name);
    let rank = |output: &Port| output.shape.as_ref().map(Vec::len);
    let ready = named("sentence_embedding").filter(|output| rank(output) == Some(2));
    let wanted = match (&settings.pooling, &notes.pooling) {
        (Some(wanted), _) => Some(wanted),
        // What the model itself does to its states is then part of this output.
        (None, Some(Err(_))) if ready.is_some() => None,
        (None, Some(Err(why))) => return unusable(model, why),
        (None, Some(Ok(noted))) => Some(noted),
        (None, None) => None,
    };
    let pooled = match wanted {
        Some(Pooling::Mean) => Pooled::Mean,
        Some(Pooling::First) => Pooled::First,
        Some(Pooling::Output(name)) => {
            let found = named(name).ok_or_else(|| {
                let names: Vec<&str> = signature.outputs.iter().map(|o| o.name.as_str()).collect();
                let why = format!("it has no output {name}, but {}", names.join(", "));
                error(model, why)
            })?;
            return checked(found, Pooled::Already, model);
        }
        None => match ready {
            Some(ready) => return checked(ready, Pooled::Already, model),
            None => Pooled::Mean,
        },
    };
    let states = ["last_hidden_state", "token_embeddings"];
    let states = states.iter().find_map(|name| named(name)).or_else(|| {
        let mut others = signature.outputs.iter();
        others.find(|output| rank(output).is_none_or(|rank| rank == 3))
    });
    match (states, signature.outputs.first()) {
        (Some(states), _) => checked(states, pooled, model),
        // Nobody said what to do, and the first output is a vector.
        (None, Some(first)) if wanted.is_none() => checked(first, Pooled::Already, model),
        (None, Some(first)) => {
            let why = format!(
                "it has no states of tokens to pool. Set the pooling to its output {}",
                first.name
            );
            unusable(model, why)
        }
        (None, None) => unusable(model, "it has no output"),
    }
}

fn checked<'a>(
    output: &'a Port,
    pooled: Pooled,
    model: &Path,
) -> Result<(&'a Port, Pooled), EmbedError> {
    let name = &output.name;
    let rank = if pooled == Pooled::Already { 2 } else { 3 };
    if output
        .shape
        .as_ref()
        .is_some_and(|shape| shape.len() != rank)
    {
        let why = format!("its output {name} has not {rank} dimensions, as its pooling needs");
        return unusable(model, why);
    }
    if output.element != FLOAT {
        let why = format!("its output {name} is not of 32-bit floating point numbers");
        return unusable(model, why);
    }
    Ok((output, pooled))
}

fn max_tokens(
    settings: &LocalSettings,
    noted: Option<usize>,
    positions: Option<usize>,
    model: &Path,
) -> Result<usize, EmbedError> {
    let most = positions.map_or(*TOKENS.end(), |positions| positions.min(*TOKENS.end()));
    match settings.max_tokens {
        Some(wanted) if wanted > most || wanted < *TOKENS.start() => {
            let why = format!(
                "it takes pieces of {} to {most} tokens, not of {wanted}",
                TOKENS.start()
            );
            unusable(model, why)
        }
        Some(wanted) => Ok(wanted),
        None => Ok(noted
            .unwrap_or(DEFAULT_MAX_TOKENS)
            .clamp(*TOKENS.start(), most)),
    }
}

/// Notes of sentence-transformers beside the model.
#[derive(Debug, Default)]
struct Notes {
    /// An error says why the model's own pooling cannot be done.
    pooling: Option<Result<Pooling, String>>,
    width: Option<usize>,
    max_tokens: Option<usize>,
    /// Number of tokens that the model has positions for.
    positions: Option<usize>,
    query_prefix: Option<String>,
    passage_prefix: Option<String>,
}

impl Notes {
    fn read(settings: &LocalSettings) -> Result<Notes, EmbedError> {
        let folder = &settings.folder;
        let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
        let mut notes = Notes::default();
        if let Some(model) = json(&folder.join("config.json"))? {
            let names = ["hidden_size", "dim", "d_model"];
            notes.width = names.iter().find_map(|name| number(&model[*name]));
            notes.positions = number(&model["max_position_embeddings"]).map(|positions| {
                // These two begin to count positions after the padding's id.
                match model["model_type"].as_str() {
                    Some("roberta" | "xlm-roberta") => positions.saturating_sub(2),
                    _ => positions,
                }
            });
        }
        if let Some(transformer) = json(&folder.join("sentence_bert_config.json"))? {
            notes.max_tokens = number(&transformer["max_seq_length"]);
        }
        if let Some(prompts) = json(&folder.join("config_sentence_transformers.json"))? {
            let prompt = |name: &str| prompts["prompts"][name].as_str().map(str::to_owned);
            let usual = || prompts["default_prompt_name"].as_str().and_then(prompt);
            notes.query_prefix = prompt("query").or_else(usual);
            notes.passage_prefix = prompt("passage")
                .or_else(|| prompt("document"))
                .or_else(usual);
        }
        let prefixes = [
            (&settings.query_prefix, &notes.query_prefix),
            (&settings.passage_prefix, &notes.passage_prefix),
        ];
        let has_prefix = prefixes
            .iter()
            .filter_map(|(set, noted)| set.as_ref().or(noted.as_ref()))
            .any(|prefix| !prefix.is_empty());
        notes.pooling = noted_pooling(folder, has_prefix)?;
        Ok(notes)
    }
}

/// Returns the pooling that sentence-transformers notes for this model, if it notes one.
fn noted_pooling(
    folder: &Path,
    has_prefix: bool,
) -> Result<Option<Result<Pooling, String>>, EmbedError> {
    let mut place = "1_Pooling".to_owned();
    if let Some(modules) = json(&folder.join("modules.json"))? {
        for module in modules.as_array().into_iter().flatten() {
            let kind = module["type"].as_str().unwrap_or_default();
            match kind.rsplit('.').next().unwrap_or_default() {
                "Pooling" => place = module["path"].as_str().unwrap_or(&place).to_owned(),
                "Transformer" | "Normalize" | "" => {}
                other => {
                    return Ok(Some(Err(format!(
                        "modules.json has a step {other} after it, which this program does not \
                         take. Export the model with an output sentence_embedding"
                    ))));
                }
            }
        }
    }
    // One name inside the folder, whatever the file says.
    let noted = folder.join(place.replace(['/', '\\'], "_"));
    let Some(noted) = json(&noted.join("config.json"))? else {
        return Ok(None);
    };
    let kinds = noted.as_object().into_iter().flatten();
    let mut kinds: Vec<&str> = kinds
        .filter(|(name, value)| name.starts_with("pooling_mode_") && **value == true)
        .map(|(name, _)| name.as_str())
        .collect();
    kinds.extend(noted["pooling_mode"].as_str());
    Ok(Some(match kinds[..] {
        _ if noted["include_prompt"] == false && has_prefix => Err(format!(
            "{place}/config.json leaves the prefix out of the mean, which this program does not. \
             Export the model with an output sentence_embedding, or set the pooling"
        )),
        ["pooling_mode_mean_tokens" | "mean"] => Ok(Pooling::Mean),
        ["pooling_mode_cls_token" | "cls"] => Ok(Pooling::First),
        _ => Err(format!(
            "{place}/config.json wants a pooling that is neither mean nor cls ({}). Export the \
             model with an output sentence_embedding, or set the pooling",
            kinds.join(", ")
        )),
    }))
}

/// Returns a file of JSON; none if it is not there.
fn json(file: &Path) -> Result<Option<Value>, EmbedError> {
    let text = match std::fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return unusable(file, error),
    };
    match serde_json::from_slice(&text) {
        Ok(value) => Ok(Some(value)),
        Err(error) => unusable(
            file,
            format!("{error}. It belongs to the model; copy it anew"),
        ),
    }
}

fn or_noted(set: &Option<String>, noted: Option<String>) -> String {
    set.clone().or(noted).unwrap_or_default()
}

fn error(what: &Path, why: impl std::fmt::Display) -> EmbedError {
    EmbedError::Unusable(format!(
        "the model {} cannot be used: {why}",
        what.display()
    ))
}

fn unusable<T>(what: &Path, why: impl std::fmt::Display) -> Result<T, EmbedError> {
    Err(error(what, why))
}
