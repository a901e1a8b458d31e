//! A model on this machine.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use tokenizers::Encoding;
use tokenizers::Tokenizer;
use tokenizers::TruncationParams;

use super::EmbedError;
use super::Embedder;
use super::Vector;
use super::onnx::Batch;
use super::onnx::Onnx;
use super::onnx::runtime_name;

/// Where a model lies and how it is to be used.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalSettings {
    /// Holds the model in ONNX and `tokenizer.json`.
    pub folder: PathBuf,
    /// At most so many threads compute.
    pub threads: usize,
    /// ONNX Runtime libraries to try, in this order.
    pub libraries: Vec<PathBuf>,
}

/// A BERT-like model in ONNX with its tokenizer; mean pooling, unit length.
pub struct Local {
    settings: LocalSettings,
    model: PathBuf,
    id: String,
    dimensions: usize,
    loaded: Mutex<Option<Loaded>>,
}

struct Loaded {
    tokenizer: Tokenizer,
    onnx: Onnx,
    used: Instant,
}

/// Names under which a folder may hold the model, the smaller ones first.
const MODEL_FILES: [&str; 4] = [
    "model_quantized.onnx",
    "model.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model.onnx",
];
const MAX_TOKENS: usize = 256;
/// Pieces of one text have so many tokens in common.
const OVERLAP: usize = 32;
/// How many pieces go through the model at once.
const BATCH: usize = 16;

impl Local {
    /// The model in a folder; loads nothing yet.
    ///
    /// # Errors
    ///
    /// Fails if the folder holds no model or no tokenizer.
    pub fn new(settings: LocalSettings) -> Result<Local, EmbedError> {
        let folder = &settings.folder;
        let missing = |what: &str| {
            EmbedError::Unusable(format!("the folder {} holds no {what}", folder.display()))
        };
        let model = MODEL_FILES
            .iter()
            .map(|name| folder.join(name))
            .find(|file| file.is_file())
            .ok_or_else(|| missing("model (model.onnx or model_quantized.onnx)"))?;
        let tokenizer = folder.join("tokenizer.json");
        let mut hasher = blake3::Hasher::new();
        for file in [&model, &tokenizer] {
            let bytes = std::fs::read(file)
                .map_err(|error| EmbedError::Unusable(format!("{}: {error}", file.display())))?;
            hasher.update(&bytes);
        }
        let name = folder.file_name().map_or_else(String::new, |name| {
            let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
            name.to_string_lossy().chars().filter(is_plain).collect()
        });
        let id = format!("{name}-{}", &hasher.finalize().to_hex()[..12]);
        Ok(Local {
            settings,
            model,
            id,
            dimensions: 384,
            loaded: Mutex::new(None),
        })
    }

    fn loaded(&self) -> Result<MutexGuard<'_, Option<Loaded>>, EmbedError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.is_none() {
            *loaded = Some(self.load()?);
        }
        Ok(loaded)
    }

    fn load(&self) -> Result<Loaded, EmbedError> {
        let file = self.settings.folder.join("tokenizer.json");
        let mut tokenizer = Tokenizer::from_file(&file)
            .map_err(|error| EmbedError::Unusable(format!("{}: {error}", file.display())))?;
        tokenizer.with_padding(None);
        let truncation = TruncationParams {
            max_length: MAX_TOKENS,
            stride: OVERLAP,
            ..TruncationParams::default()
        };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|error| EmbedError::Unusable(format!("{}: {error}", file.display())))?;
        Ok(Loaded {
            tokenizer,
            onnx: Onnx::load(&self.model, self.settings.threads, &self.settings.libraries)?,
            used: Instant::now(),
        })
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
        let mut guard = self.loaded()?;
        let loaded = guard.as_mut().expect("it was just loaded");
        let mut pieces: Vec<(usize, Encoding)> = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            let mut encoding = loaded
                .tokenizer
                .encode_fast(*text, true)
                .map_err(|error| EmbedError::Failed(format!("a text cannot be cut: {error}")))?;
            let more = encoding.take_overflowing();
            pieces.push((at, encoding));
            pieces.extend(more.into_iter().map(|piece| (at, piece)));
        }
        // Texts of one length need no padding.
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|&piece| pieces[piece].1.len());
        let mut vectors: Vec<Vector> = vec![Vec::new(); pieces.len()];
        for chunk in order.chunks(BATCH) {
            let encodings: Vec<&Encoding> = chunk.iter().map(|&piece| &pieces[piece].1).collect();
            let (batch, masks) = batch(&encodings);
            let (states, width) = loaded.onnx.run(batch)?;
            for (at, &piece) in chunk.iter().enumerate() {
                let tokens = masks.1;
                let rows = &states[at * tokens * width..(at + 1) * tokens * width];
                vectors[piece] = pooled(rows, &masks.0[at * tokens..(at + 1) * tokens], width);
            }
        }
        loaded.used = Instant::now();
        let mut found: Vec<Vec<Vector>> = vec![Vec::new(); texts.len()];
        for ((at, _), vector) in pieces.iter().zip(vectors) {
            found[*at].push(vector);
        }
        Ok(found)
    }
}

fn batch(encodings: &[&Encoding]) -> (Batch, (Vec<i64>, usize)) {
    let tokens = encodings.iter().map(|e| e.len()).max().unwrap_or(0);
    let padded = |values: fn(&Encoding) -> &[u32]| -> Vec<i64> {
        let mut all = Vec::with_capacity(encodings.len() * tokens);
        for encoding in encodings {
            let values = values(encoding);
            all.extend(values.iter().map(|&value| i64::from(value)));
            all.extend(std::iter::repeat_n(0, tokens - values.len()));
        }
        all
    };
    let mask = padded(|e| e.get_attention_mask());
    let batch = Batch {
        ids: padded(|e| e.get_ids()),
        mask: mask.clone(),
        types: padded(|e| e.get_type_ids()),
        rows: encodings.len(),
        tokens,
    };
    (batch, (mask, tokens))
}

/// The mean of the states that the mask admits, at length 1.
fn pooled(states: &[f32], mask: &[i64], width: usize) -> Vector {
    let mut sum = vec![0.0_f32; width];
    for (state, _) in states
        .chunks(width)
        .zip(mask)
        .filter(|(_, mask)| **mask == 1)
    {
        sum.iter_mut()
            .zip(state)
            .for_each(|(sum, value)| *sum += value);
    }
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    sum.iter_mut()
        .for_each(|value| *value /= length.max(f32::MIN_POSITIVE));
    sum
}

impl Embedder for Local {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn query(&self, text: &str) -> Result<Vector, EmbedError> {
        let mut found = self.embed(&[text])?;
        Ok(found.swap_remove(0).swap_remove(0))
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
        self.embed(texts)
    }

    fn rest(&self, idle: Duration) {
        // Whoever is using it has not been idle.
        if let Ok(mut loaded) = self.loaded.try_lock()
            && loaded
                .as_ref()
                .is_some_and(|loaded| loaded.used.elapsed() >= idle)
        {
            *loaded = None;
        }
    }

    fn describe(&self) -> String {
        let runtime = runtime_name().unwrap_or_else(|| "not loaded".to_owned());
        format!("{} ({runtime})", self.model.display())
    }
}
