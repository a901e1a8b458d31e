//! Files and folders that were sent to be imported, and what became of them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::error::PageError;
use super::locked::locked;
use crate::files::ScratchFolder;

/// Number of failures that are listed.
const MOST_FAILURES: usize = 50;
/// Maximum number of uploads that are kept.
const MOST_UPLOADS: usize = 4;
/// Time after which an upload is removed.
const KEPT: Duration = Duration::from_secs(3600);

/// A file or a folder that was sent, in a folder of its own that is removed with it.
pub struct Upload {
    /// Folder with all that was sent.
    pub folder: ScratchFolder,
    /// The file, or the folder with the files.
    pub path: PathBuf,
    /// The files, in the order in which they were sent.
    pub files: Vec<PathBuf>,
    /// Name that it had.
    pub name: String,
    /// Name of its format.
    pub format: String,
}

/// Uploads by their ids, and what became of them.
#[derive(Default)]
pub struct Uploads(Mutex<HashMap<String, Kept>>);

struct Kept {
    upload: Arc<Upload>,
    at: Instant,
    outcome: Arc<Mutex<Outcome>>,
}

/// Counts of what an import did until now.
#[derive(Debug, Clone, Default)]
pub(in crate::page) struct Outcome {
    pub(in crate::page) added: usize,
    pub(in crate::page) known: usize,
    pub(in crate::page) left_out: usize,
    pub(in crate::page) failures: Vec<String>,
    pub(in crate::page) failed: usize,
    pub(in crate::page) has_begun: bool,
    pub(in crate::page) has_ended: bool,
}

impl Outcome {
    pub(in crate::page) fn fail(&mut self, what: String) {
        self.failed += 1;
        if self.failures.len() < MOST_FAILURES {
            self.failures.push(what);
        }
    }
}

impl Uploads {
    /// Keeps an upload under `id`; the oldest go.
    pub(in crate::page) fn keep(&self, id: &str, upload: Upload, outcome: Outcome) {
        let mut kept = locked(&self.0);
        kept.retain(|_, one| one.at.elapsed() < KEPT);
        while kept.len() >= MOST_UPLOADS {
            let oldest = kept
                .iter()
                .min_by_key(|(_, one)| one.at)
                .map(|(id, _)| id.clone());
            oldest.and_then(|id| kept.remove(&id));
        }
        let one = Kept {
            upload: Arc::new(upload),
            at: Instant::now(),
            outcome: Arc::new(Mutex::new(outcome)),
        };
        kept.insert(id.to_owned(), one);
    }

    pub(in crate::page) fn get(
        &self,
        id: &str,
    ) -> Result<(Arc<Upload>, Arc<Mutex<Outcome>>), PageError> {
        let kept = locked(&self.0);
        let one = kept.get(id).ok_or_else(|| {
            PageError::Bad("this upload is gone: send the file once more".to_owned())
        })?;
        Ok((Arc::clone(&one.upload), Arc::clone(&one.outcome)))
    }
}
