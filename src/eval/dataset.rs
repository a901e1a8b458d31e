//! Memories and questions, as folders hold them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A folder with `corpus.jsonl` and `queries.jsonl`.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// The folder's name.
    pub name: String,
    /// One memory a line, as `import --from jsonl` takes it; `id` is what questions name.
    pub corpus: PathBuf,
    pub questions: Vec<EvalQuestion>,
}

/// A question with what answers it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EvalQuestion {
    pub qid: String,
    pub query: String,
    /// The `id`s of the memories that answer it.
    pub relevant_ids: Vec<String>,
    /// The kind of question.
    #[serde(rename = "type", default = "unnamed")]
    pub kind: String,
    /// The namespace that it is asked in when it is scoped.
    #[serde(default)]
    pub scope: Option<String>,
}

fn unnamed() -> String {
    "question".to_owned()
}

/// Error of reading a data set.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    #[error("cannot read {}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}, line {line}: {what}", path.display())]
    BadLine {
        path: PathBuf,
        line: usize,
        what: String,
    },
    #[error("{} holds no question", path.display())]
    Empty { path: PathBuf },
}

impl Dataset {
    /// Reads the questions in `folder`; the memories are left where they are.
    ///
    /// # Errors
    ///
    /// Fails if a file is missing or a line is no question, and names it.
    pub fn read(folder: &Path) -> Result<Dataset, DatasetError> {
        let corpus = folder.join("corpus.jsonl");
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| DatasetError::Io { path, source }
        };
        fs::metadata(&corpus).map_err(failed(&corpus))?;
        let path = folder.join("queries.jsonl");
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        let questions = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(line, text)| {
                serde_json::from_str(text).map_err(|error| DatasetError::BadLine {
                    path: path.clone(),
                    line,
                    what: error.to_string(),
                })
            })
            .collect::<Result<Vec<EvalQuestion>, _>>()?;
        if questions.is_empty() {
            return Err(DatasetError::Empty { path });
        }
        let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name = name.file_name().unwrap_or(folder.as_os_str());
        Ok(Dataset {
            name: name.to_string_lossy().into_owned(),
            corpus,
            questions,
        })
    }
}
