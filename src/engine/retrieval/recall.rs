//! From what a memory is called to the memory.

use std::time::Duration;
use std::time::Instant;

use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::live::freshness::HALF_WRITTEN_PATIENCE;
use crate::engine::live::reading::age;
use crate::engine::live::reading::is_half_written;
use crate::engine::live::reading::parse;
use crate::engine::live::reading::stem_of;
use crate::files::Entry;
use crate::files::FilesError;
use crate::files::Listing;
use crate::files::Place;
use crate::files::Version;
use crate::index::Snapshot;
use crate::model::Memory;
use crate::model::Stem;
use crate::model::plain_id;
use crate::model::stripped_id;
use crate::model::unwrapped_id;

/// What became of one asked id.
#[derive(Debug)]
pub enum Recalled {
    Found { memory: Box<Memory>, name: String },
    Failed { id: String, error: EngineError },
}

/// How long a file is waited for that is being written at this moment.
const PATIENCE: Duration = Duration::from_millis(150);

/// Whether a file is half-written, by somebody who may be at it still.
fn is_being_written(version: &Version) -> bool {
    let Entry { stamp, .. } = version.entry;
    let is_young = age(stamp.modified).is_none_or(|age| age < HALF_WRITTEN_PATIENCE);
    is_young && is_half_written(&parse(&version.entry, &version.bytes))
}

/// Shorter texts are no prefixes: they would name too much by accident.
const MIN_PREFIX: usize = 4;

impl Engine {
    /// Reads the memories called `ids`, in that order, with one entry for each.
    pub fn recall(&self, ids: &[String]) -> Vec<Recalled> {
        ids.iter()
            .map(|id| match self.read(id) {
                Ok((name, version)) => {
                    let memory = Box::new(parse(&version.entry, &version.bytes));
                    Recalled::Found { memory, name }
                }
                Err(error) => Recalled::Failed {
                    id: id.clone(),
                    error,
                },
            })
            .collect()
    }

    /// Reads the file of the memory called `id`; waits a moment for one that is being written.
    pub(in crate::engine) fn read(&self, id: &str) -> Result<(String, Version), EngineError> {
        let started = Instant::now();
        loop {
            // Waits as well until it is clear whether a missing file comes back.
            let (_, name) = self.resolve(id)?;
            let is_patient = started.elapsed() < PATIENCE;
            match self.store.reader(Place::Files).read(&name, u64::MAX) {
                Ok(version) if is_patient && is_being_written(&version) => {}
                Ok(version) => return Ok((name, version)),
                Err(FilesError::Missing { .. }) if is_patient => {}
                Err(FilesError::Missing { .. }) => {
                    return Err(EngineError::NotFound(id.to_owned()));
                }
                Err(error) => return Err(error.into()),
            }
            self.pause();
        }
    }

    /// Finds the memory called `id`: a file's whole name below the memories, a stem, eight hex digits, what it was called where it comes from,
    /// or the unique beginning of one of the first two.
    ///
    /// # Errors
    ///
    /// [`EngineError::NotFound`], or [`EngineError::Ambiguous`] with the stems it could mean.
    pub fn resolve(&self, id: &str) -> Result<(Stem, String), EngineError> {
        let matches = self.mending(|| {
            let snapshot = self.snapshot()?;
            let mut matches = Matches::new(id);
            for name in matches.looked_up(snapshot.as_ref()) {
                matches.take(&name);
            }
            if !matches.is_certain() {
                matches.formerly = self.formerly_called(snapshot.as_ref(), id)?;
            }
            if !matches.is_certain() {
                // It may be a beginning.
                matches = Matches::new(id);
                snapshot.files().for_each(|(name, _)| matches.take(name));
            }
            Ok(matches)
        })?;
        matches.only()
    }

    /// As [`Engine::resolve`], among the forgotten memories.
    pub(in crate::engine) fn resolve_archived(
        &self,
        id: &str,
    ) -> Result<(Stem, String), EngineError> {
        let Listing { entries, .. } = self.store.list(Place::Archive)?;
        let mut matches = Matches::new(id);
        entries.iter().for_each(|entry| matches.take(&entry.name));
        if !matches.is_certain() {
            matches.formerly = self.formerly_called_archived(id)?;
        }
        matches.only()
    }
}

/// Whether `id` is the whole name of the file `name`, which has folders, or `.md`, or both.
pub(in crate::engine) fn is_whole_name(name: &str, id: &str) -> bool {
    name == id || (id.contains('/') && name.strip_suffix(".md") == Some(id))
}

/// The memories that an id could mean, best kind of match first.
pub(in crate::engine) struct Matches {
    id: String,
    /// The same with its capital letters.
    written: String,
    /// The same with its folders and `.md`.
    whole: String,
    by_name: Vec<(Stem, String)>,
    by_path: Vec<(Stem, String)>,
    as_written: Vec<(Stem, String)>,
    exact: Vec<(Stem, String)>,
    by_handle: Vec<(Stem, String)>,
    /// The files of those that were called so where they come from.
    formerly: Vec<String>,
    by_prefix: Vec<(Stem, String)>,
}

impl Matches {
    /// For the id in a text that somebody pasted.
    pub fn new(id: &str) -> Matches {
        Matches {
            id: plain_id(id),
            written: stripped_id(id).to_owned(),
            whole: unwrapped_id(id).to_owned(),
            by_name: Vec::new(),
            by_path: Vec::new(),
            as_written: Vec::new(),
            exact: Vec::new(),
            by_handle: Vec::new(),
            formerly: Vec::new(),
            by_prefix: Vec::new(),
        }
    }

    /// The names of all files that are called by the whole of the id, in either spelling; maybe of
    /// others, and none where nobody can look them up.
    fn looked_up(&self, snapshot: &dyn Snapshot) -> Vec<String> {
        let last = |id: &str| id.rsplit('/').next().unwrap_or(id).to_owned();
        let (id, written) = (last(&self.id), last(&self.written));
        let mut names = snapshot.maybe_called(&id).unwrap_or_default();
        if written != id {
            names.extend(snapshot.maybe_called(&written).unwrap_or_default());
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether a file was found that is called by the whole of the id: then no other one is meant
    /// because its name only begins so.
    fn is_certain(&self) -> bool {
        let whole = [
            &self.by_name,
            &self.by_path,
            &self.as_written,
            &self.exact,
            &self.by_handle,
        ];
        !self.formerly.is_empty() || whole.into_iter().any(|list| !list.is_empty())
    }

    /// Looks whether the file `name` is meant.
    pub fn take(&mut self, name: &str) {
        let path = name.strip_suffix(".md").unwrap_or(name);
        let stem = path.rsplit('/').next().unwrap_or(path);
        // A path names one file even where two folders hold a file of one name.
        if is_whole_name(name, &self.whole) {
            self.by_name.push((stem_of(name), name.to_owned()));
        } else if path == self.written && path != stem {
            self.by_path.push((stem_of(name), name.to_owned()));
        }
        let is_exact = stem == self.id || (stem.is_ascii() && stem.eq_ignore_ascii_case(&self.id));
        let handle = stem.get(16..).filter(|_| stem.len() == 24);
        let list = if stem == self.written {
            &mut self.as_written
        } else if is_exact {
            &mut self.exact
        } else if handle == Some(&self.id) {
            &mut self.by_handle
        } else if self.id.len() >= MIN_PREFIX
            && (handle.is_some_and(|handle| handle.starts_with(&self.id))
                || stem.starts_with(&self.id))
        {
            &mut self.by_prefix
        } else {
            return;
        };
        list.push((stem_of(name), name.to_owned()));
    }

    /// The one that is meant best.
    pub fn only(self) -> Result<(Stem, String), EngineError> {
        let formerly = self.formerly.into_iter();
        let found = [
            self.by_name,
            self.by_path,
            self.as_written,
            self.exact,
            self.by_handle,
            formerly.map(|name| (stem_of(&name), name)).collect(),
            self.by_prefix,
        ];
        let Some(mut best) = found.into_iter().find(|list| !list.is_empty()) else {
            return Err(EngineError::NotFound(self.id));
        };
        if best.len() == 1 {
            return Ok(best.pop().expect("there is one"));
        }
        best.sort();
        // Two files of one stem in two folders are told apart by their folders.
        let same_stem = best.windows(2).any(|pair| pair[0].0 == pair[1].0);
        let candidates = best
            .into_iter()
            .take(20)
            .map(|(stem, name)| {
                if same_stem {
                    name
                } else {
                    stem.as_str().to_owned()
                }
            })
            .collect();
        Err(EngineError::Ambiguous {
            id: self.id,
            candidates,
        })
    }
}
