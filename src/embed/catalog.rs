//! Models that can be had by name: where their files lie, and what these must be.
//!
//! Every file is pinned to a revision and a SHA-256, so that a name means the same vectors
//! everywhere and for ever. A folder with such files works wherever it lies. Nothing is fetched
//! before [`Model::download`] is called; files besides the models' own are written by others.

use std::path::Path;

use crate::fetch::DownloadRequest;
use crate::fetch::FetchClient;
use crate::fetch::FetchError;
use crate::fetch::Progress;
use crate::fetch::Url;
use crate::fetch::sha256_of;

/// A model that is known by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Model {
    pub name: &'static str,
    /// Its use, in a few words.
    pub about: &'static str,
    /// The licence of its files, by its SPDX name.
    pub licence: &'static str,
    pub dimensions: usize,
    /// Longer texts are cut.
    pub max_tokens: usize,
    /// `mean` or `cls`.
    pub pooling: &'static str,
    /// The prefixes that its makers put before a question, and before a text.
    pub query_prefix: &'static str,
    pub passage_prefix: &'static str,
    pub files: &'static [ModelFile],
}

/// A file of a model.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelFile {
    /// On the hub.
    pub repository: &'static str,
    /// A commit of the repository.
    pub revision: &'static str,
    /// In the repository.
    pub path: &'static str,
    /// In the model's folder.
    pub name: &'static str,
    pub sha256: &'static str,
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

const SEARCH: &str = "Represent this sentence for searching relevant passages: ";

/// All of them, the default first.
pub static MODELS: [Model; 5] = [
    Model {
        name: DEFAULT,
        about: "English; small, fast and good",
        licence: "Apache-2.0",
        dimensions: 384,
        max_tokens: 256,
        pooling: "mean",
        query_prefix: "",
        passage_prefix: "",
        files: &[
            ModelFile {
                repository: "Xenova/all-MiniLM-L6-v2",
                revision: "751bff37182d3f1213fa05d7196b954e230abad9",
                path: "onnx/model_quantized.onnx",
                name: "model_quantized.onnx",
                sha256: "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
                bytes: 22_972_370,
            },
            // The makers' own.
            ModelFile {
                repository: "sentence-transformers/all-MiniLM-L6-v2",
                revision: "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
                path: "tokenizer.json",
                name: "tokenizer.json",
                sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                bytes: 466_247,
            },
        ],
    },
    Model {
        name: "bge-small-en-v1.5",
        about: "English; made for searching",
        licence: "MIT",
        dimensions: 384,
        max_tokens: 512,
        pooling: "cls",
        query_prefix: SEARCH,
        passage_prefix: "",
        files: &[
            ModelFile {
                repository: "Xenova/bge-small-en-v1.5",
                revision: "ea104dacec62c0de699686887e3f920caeb4f3e3",
                path: "onnx/model_quantized.onnx",
                name: "model_quantized.onnx",
                sha256: "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
                bytes: 34_014_426,
            },
            ModelFile {
                repository: "Xenova/bge-small-en-v1.5",
                revision: "ea104dacec62c0de699686887e3f920caeb4f3e3",
                path: "tokenizer.json",
                name: "tokenizer.json",
                sha256: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
                bytes: 711_396,
            },
        ],
    },
    Model {
        name: "snowflake-arctic-embed-s",
        about: "English; made for searching",
        licence: "Apache-2.0",
        dimensions: 384,
        max_tokens: 512,
        pooling: "cls",
        query_prefix: SEARCH,
        passage_prefix: "",
        files: &[
            ModelFile {
                repository: "Snowflake/snowflake-arctic-embed-s",
                revision: "e596f507467533e48a2e17c007f0e1dacc837b33",
                path: "onnx/model_int8.onnx",
                name: "model_quantized.onnx",
                sha256: "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
                bytes: 34_015_111,
            },
            ModelFile {
                repository: "Snowflake/snowflake-arctic-embed-s",
                revision: "e596f507467533e48a2e17c007f0e1dacc837b33",
                path: "tokenizer.json",
                name: "tokenizer.json",
                sha256: "91f1def9b9391fdabe028cd3f3fcc4efd34e5d1f08c3bf2de513ebb5911a1854",
                bytes: 711_649,
            },
        ],
    },
    Model {
        name: "multilingual-e5-small",
        about: "a hundred languages; made for searching",
        licence: "MIT",
        dimensions: 384,
        max_tokens: 512,
        pooling: "mean",
        query_prefix: "query: ",
        passage_prefix: "passage: ",
        files: &[
            ModelFile {
                repository: "Xenova/multilingual-e5-small",
                revision: "761b726dd34fb83930e26aab4e9ac3899aa1fa78",
                path: "onnx/model_quantized.onnx",
                name: "model_quantized.onnx",
                sha256: "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193",
                bytes: 118_308_185,
            },
            ModelFile {
                repository: "Xenova/multilingual-e5-small",
                revision: "761b726dd34fb83930e26aab4e9ac3899aa1fa78",
                path: "tokenizer.json",
                name: "tokenizer.json",
                sha256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
                bytes: 17_082_730,
            },
        ],
    },
    Model {
        name: "paraphrase-multilingual-MiniLM-L12-v2",
        about: "fifty languages; for short texts",
        licence: "Apache-2.0",
        dimensions: 384,
        max_tokens: 128,
        pooling: "mean",
        query_prefix: "",
        passage_prefix: "",
        files: &[
            ModelFile {
                repository: "Xenova/paraphrase-multilingual-MiniLM-L12-v2",
                revision: "2c4055b12046f11709e9df2c122e59ffbdc2f900",
                path: "onnx/model_quantized.onnx",
                name: "model_quantized.onnx",
                sha256: "66fc00f5f29afcaff34092e1bdd20008ca3918265a82fb9695a551e510cc4ebc",
                bytes: 118_308_126,
            },
            ModelFile {
                repository: "Xenova/paraphrase-multilingual-MiniLM-L12-v2",
                revision: "2c4055b12046f11709e9df2c122e59ffbdc2f900",
                path: "tokenizer.json",
                name: "tokenizer.json",
                sha256: "b60b6b43406a48bf3638526314f3d232d97058bc93472ff2de930d43686fa441",
                bytes: 17_082_913,
            },
        ],
    },
];

/// The model that is called `name`, in small or capital letters.
pub fn named(name: &str) -> Option<&'static Model> {
    MODELS
        .iter()
        .find(|model| model.name.eq_ignore_ascii_case(name))
}

/// The model whose very bytes lie in `folder`; none if that cannot be told.
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
    /// Number of bytes of its files.
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
        &self,
        client: &FetchClient,
        hub: &Url,
        folder: &Path,
        progress: &mut dyn FnMut(&'static ModelFile, Progress),
    ) -> Result<(), FetchError> {
        for file in self.files {
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
        let is = |pooling| self.pooling == pooling;
        let pooling = serde_json::json!({
            "word_embedding_dimension": self.dimensions,
            "pooling_mode_cls_token": is("cls"),
            "pooling_mode_mean_tokens": is("mean"),
        });
        let length = serde_json::json!({"max_seq_length": self.max_tokens});
        let prompts = serde_json::json!({
            "prompts": {"query": self.query_prefix, "passage": self.passage_prefix},
        });
        vec![
            ("1_Pooling/config.json", pooling.to_string()),
            ("sentence_bert_config.json", length.to_string()),
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
    }

    #[test]
    fn every_file_is_pinned_by_a_whole_hash() {
        let is_hex = |text: &str, length| {
            let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            text.len() == length && text.chars().all(is_digit)
        };
        for model in &MODELS {
            let names: Vec<&str> = model.files.iter().map(|file| file.name).collect();
            assert!(names.contains(&"tokenizer.json"), "{}", model.name);
            for file in model.files {
                assert!(is_hex(file.sha256, 64), "{}", file.sha256);
                assert!(is_hex(file.revision, 40), "{}", file.revision);
            }
        }
    }
}
