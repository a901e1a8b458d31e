//! Files that were sent to be imported, and what became of them.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::entry;
use super::error::PageError;
use crate::engine::{Engine, Imported, Mined, Mining, ops};
use crate::files::ScratchFolder;
use crate::import::{Defaults, Program};
use crate::talks::{self, Format, Found};

/// Number of failures that are listed.
const MOST_FAILURES: usize = 50;
/// Maximum number of uploads that are kept.
const MOST_UPLOADS: usize = 4;
/// Time after which an upload is removed.
const KEPT: Duration = Duration::from_secs(3600);

/// Exports of conversations, which are read as talks.
pub(in crate::page) const TALKS: [(&str, Format); 4] = [
    ("claude", Format::Claude),
    ("chatgpt", Format::Chatgpt),
    ("slack", Format::Slack),
    ("plain", Format::Plain),
];

/// A file that was sent, in a folder of its own that is removed with it.
pub struct Upload {
    /// Folder with the file.
    pub folder: ScratchFolder,
    /// The file.
    pub path: PathBuf,
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

pub(in crate::page) fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Reads an upload into the store, or as a rehearsal.
pub(in crate::page) fn run(
    engine: &Engine,
    user: &str,
    upload: &Upload,
    is_dry_run: bool,
    outcome: &Mutex<Outcome>,
) -> Result<(), PageError> {
    let named =
        |format: &str| PageError::Bad(format!("there is no format `{}`", entry::cut(format, 40)));
    let program = Program::OF_ONE_FILE
        .iter()
        .find(|(name, _)| *name == upload.format);
    if let Some((_, program)) = program {
        let defaults = Defaults {
            agent: "import".to_owned(),
            user: user.to_owned(),
            namespace: None,
        };
        let items = program.read(&upload.path, &defaults);
        let items =
            items.map_err(|error| PageError::Bad(without_folder(upload, &error.to_string())))?;
        let options = crate::engine::Import {
            dry_run: is_dry_run,
        };
        ops::import(engine, items, options, &mut |imported| {
            let mut outcome = locked(outcome);
            match imported {
                Imported::Added { .. } => outcome.added += 1,
                Imported::Known { .. } => outcome.known += 1,
                Imported::LeftOut { .. } => outcome.left_out += 1,
                Imported::Failed { source, reason, .. } => {
                    let what = format!("{source}: {reason}");
                    outcome.fail(without_folder(upload, &what));
                }
            }
        })?;
        return Ok(());
    }
    let (_, format) = TALKS
        .iter()
        .find(|(name, _)| *name == upload.format)
        .ok_or_else(|| named(&upload.format))?;
    let sources = talks::sources_at(&upload.path, Some(*format));
    let sources =
        sources.map_err(|error| PageError::Bad(without_folder(upload, &error.to_string())))?;
    let mut mining = Mining::begin(engine, user, is_dry_run)?;
    let mut failure = None;
    for source in &sources {
        let _ = talks::read(source, &mut |found| {
            match found {
                Found::Session(session) => match mining.keep(&session) {
                    Ok(Mined::New { .. } | Mined::Continued { .. }) => locked(outcome).added += 1,
                    Ok(Mined::Known { .. }) => locked(outcome).known += 1,
                    Ok(Mined::Forgotten) => locked(outcome).left_out += 1,
                    Err(error) => {
                        failure = Some(error);
                        return ControlFlow::Break(());
                    }
                },
                Found::Damaged { place, reason } => {
                    let what = format!("{place}: {reason}");
                    locked(outcome).fail(without_folder(upload, &what));
                }
                Found::Bytes(_) => {}
            }
            ControlFlow::Continue(())
        });
    }
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(mining.finish()?),
    }
}

/// Returns a message with the name of the file as it was sent, not with where it lies meanwhile.
fn without_folder(upload: &Upload, message: &str) -> String {
    message.replace(&upload.path.display().to_string(), &upload.name)
}
