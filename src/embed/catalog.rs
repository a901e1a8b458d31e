//! Models that can be had by name: where their files lie, and what these must be.
//!
//! Every file is pinned to a revision and a SHA-256, so that a name means the same vectors
//! everywhere and for ever. A folder with such files works wherever it lies. Nothing is fetched
//! before [`Model::download`] is called; files besides the models' own are written by others.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::fetch::{DownloadRequest, FetchClient, FetchError, Progress, Url, sha256_of};

/// The use of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Makes vectors of texts.
    #[default]
    Embedding,
    /// Scores pairs of a question and a text.
    Reranker,
}

/// A model that is known by name.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct Model {
    /// Name of the model.
    pub name: &'static str,
    /// Its use, in a few words.
    pub about: &'static str,
    /// The licence of its files, by its SPDX name.
    pub licence: &'static str,
    /// Use of the model. The pooling, the prefixes and the dimensions below are those of embeddings.
    #[serde(default)]
    pub kind: ModelKind,
    /// Number of dimensions of a vector.
    #[serde(default)]
    pub dimensions: usize,
    /// Maximum number of tokens of a text; longer texts are cut.
    pub max_tokens: usize,
    /// `mean` or `cls`.
    #[serde(default)]
    pub pooling: &'static str,
    /// The prefix that its makers put before a question.
    #[serde(default)]
    pub query_prefix: &'static str,
    /// The prefix that its makers put before a text.
    #[serde(default)]
    pub passage_prefix: &'static str,
    /// Files to download.
    pub files: Vec<ModelFile>,
}

/// A file of a model.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct ModelFile {
    /// On the hub.
    pub repository: &'static str,
    /// A commit of the repository.
    pub revision: &'static str,
    /// In the repository.
    pub path: &'static str,
    /// In the model's folder.
    pub name: &'static str,
    /// SHA-256 of its content in hexadecimal.
    pub sha256: &'static str,
    /// Size in bytes.
    pub bytes: u64,
}

/// The state of a file in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Whole,
    Missing,
    /// There are other bytes.
    Other,
}

/// The hub where nothing else is said.
pub const HUB: &str = "https://huggingface.co";
/// The model for whoever has no opinion.
pub const DEFAULT: &str = "all-MiniLM-L6-v2";

/// All of them, the default first, read from `models.json`.
pub static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("models.json")).expect("the file holds models")
});

/// Returns the model that is called `name`, in small or capital letters.
pub fn named(name: &str) -> Option<&'static Model> {
    MODELS
        .iter()
        .find(|model| model.name.eq_ignore_ascii_case(name))
}

/// Returns the model whose very bytes lie in `folder`; none if that cannot be told.
pub fn recognised(folder: &Path) -> Option<&'static Model> {
    let names = ["model_quantized.onnx", "model.onnx"];
    let places = names
        .iter()
        .flat_map(|name| [folder.join(name), folder.join("onnx").join(name)]);
    let sums: Vec<String> = places
        .filter_map(|path| sha256_of(&path).ok().flatten())
        .collect();
    let is_there = |file: &ModelFile| sums.iter().any(|sum| sum == file.sha256);
    MODELS.iter().find(|model| model.files.iter().any(is_there))
}

impl Model {
    /// Returns the number of bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the state of each of its files in `folder`, with its name.
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be read.
    pub fn check(&self, folder: &Path) -> Result<Vec<(&'static str, State)>, FetchError> {
        let state = |file: &ModelFile| match sha256_of(&folder.join(file.name))? {
            None => Ok(State::Missing),
            Some(sum) if sum == file.sha256 => Ok(State::Whole),
            Some(_) => Ok(State::Other),
        };
        let files = self.files.iter();
        files.map(|file| Ok((file.name, state(file)?))).collect()
    }

    /// Fetches the files into `folder`, which exists. Whole ones are left alone, and begun ones
    /// go on.
    ///
    /// # Errors
    ///
    /// Fails with the first file that cannot be had; those before it stay.
    pub fn download(
        &'static self,
        client: &FetchClient,
        hub: &Url,
        folder: &Path,
        progress: &mut dyn FnMut(&'static ModelFile, Progress),
    ) -> Result<(), FetchError> {
        for file in &self.files {
            let wanted = DownloadRequest {
                address: file.address(hub)?,
                sha256: file.sha256,
                size: Some(file.bytes),
            };
            client.download(&wanted, &folder.join(file.name), &mut |done| {
                progress(file, done);
            })?;
        }
        Ok(())
    }

    /// Returns the notes that are written beside the files, by name and in the way of
    /// sentence-transformers, so that a copy of the folder says how it is to be used.
    pub fn notes(&self) -> Vec<(&'static str, String)> {
        let length = serde_json::json!({"max_seq_length": self.max_tokens});
        let length = ("sentence_bert_config.json", length.to_string());
        if self.kind == ModelKind::Reranker {
            return vec![length];
        }
        let is = |pooling| self.pooling == pooling;
        let pooling = serde_json::json!({
            "word_embedding_dimension": self.dimensions,
            "pooling_mode_cls_token": is("cls"),
            "pooling_mode_mean_tokens": is("mean"),
        });
        let prompts = serde_json::json!({
            "prompts": {"query": self.query_prefix, "passage": self.passage_prefix},
        });
        vec![
            ("1_Pooling/config.json", pooling.to_string()),
            length,
            ("config_sentence_transformers.json", prompts.to_string()),
        ]
    }
}

impl ModelFile {
    /// Returns the address of the file on a hub.
    ///
    /// # Errors
    ///
    /// Fails if that is no address.
    pub fn address(&self, hub: &Url) -> Result<Url, FetchError> {
        let ModelFile {
            repository,
            revision,
            path,
            ..
        } = self;
        hub.join(&format!("{repository}/resolve/{revision}/{path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_a_pinned_file() {
        let model = named("ALL-minilm-l6-V2").unwrap();
        let hub = Url::parse("https://hub.example/mirror/").unwrap();
        assert_eq!(
            model.files[0].address(&hub).unwrap().to_string(),
            "https://hub.example/mirror/Xenova/all-MiniLM-L6-v2/resolve/\
             751bff37182d3f1213fa05d7196b954e230abad9/onnx/model_quantized.onnx"
        );
        assert_eq!(named("nobody"), None);
        assert_eq!(MODELS[0].name, DEFAULT);
    }

    #[test]
    fn every_file_is_pinned_by_a_whole_hash() {
        let is_hex = |text: &str, length| {
            let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            text.len() == length && text.chars().all(is_digit)
        };
        for model in MODELS.iter() {
            let names: Vec<&str> = model.files.iter().map(|file| file.name).collect();
            assert!(names.contains(&"tokenizer.json"), "{}", model.name);
            for file in &model.files {
                assert!(is_hex(file.sha256, 64), "{}", file.sha256);
                assert!(is_hex(file.revision, 40), "{}", file.revision);
            }
        }
    }
}
