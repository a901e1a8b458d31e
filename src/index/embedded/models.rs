//! The vectors of each model, in folders beside the index.
//!
//! A folder is called after the model, so that vectors of two models are never mixed; it outlives
//! the index, which may be made anew at any time.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::failure::locked;
use crate::beneath::{Folder, Kind};
use crate::vectors::{VectorEntry, VectorKey, VectorStore};

/// Raised whenever vectors are kept in another way.
const VERSION: u32 = 2;

/// Vector stores of all models.
pub(super) struct Models {
    /// Path of the folder that holds the models' folders; `None` if no vectors are kept.
    state: Option<PathBuf>,
    open: Mutex<HashMap<String, Arc<VectorStore>>>,
}

impl Models {
    /// Returns the stores in the folder `state`, unopened.
    pub fn new(state: Option<PathBuf>) -> Models {
        Models {
            state,
            open: Mutex::default(),
        }
    }

    fn prefix() -> String {
        format!("vectors-v{VERSION}-")
    }

    fn folder(&self, model: &str) -> Option<PathBuf> {
        let state = self.state.as_ref()?;
        Some(state.join(format!("{}{model}", Models::prefix())))
    }

    /// Returns the vector store of a model; `None` where none can be kept.
    pub fn of(&self, model: &str) -> Option<Arc<VectorStore>> {
        let folder = self.folder(model)?;
        let mut open = locked(&self.open);
        let store = open
            .entry(model.to_owned())
            .or_insert_with(|| Arc::new(VectorStore::new(&folder)));
        Some(Arc::clone(store))
    }

    /// Returns the names of the models that have a folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let folders = self.folders().into_iter();
        let name = |folder: String| folder.strip_prefix(&Models::prefix()).map(str::to_owned);
        let mut names: Vec<String> = folders.filter_map(name).collect();
        names.sort_unstable();
        names
    }

    /// Returns the names of the folders beside the index, those that were set aside left out.
    fn folders(&self) -> Vec<String> {
        let state = self.state.as_ref().map(|state| Folder::of_state(state));
        let Some(Ok(entries)) = state.map(|state| state.and_then(|state| state.names())) else {
            return Vec::new();
        };
        let is_folder =
            |(name, kind): &(String, Kind)| *kind == Kind::Folder && !name.contains(".set-aside-");
        let folders = entries.into_iter().filter(is_folder);
        folders.map(|(name, _)| name).collect()
    }

    /// Removes the vectors that older versions kept in another way.
    fn remove_outdated(&self) -> io::Result<()> {
        let version = |name: &str| -> Option<u32> {
            let (version, _) = name.strip_prefix("vectors-v")?.split_once('-')?;
            version.parse().ok()
        };
        for folder in self.folders() {
            if let (Some(state), Some(0..VERSION)) = (&self.state, version(&folder)) {
                Folder::of_state(state)?.remove_all(&folder)?;
            }
        }
        Ok(())
    }

    /// Returns the damaged vector files of all models, each as `folder/file`.
    pub fn unsound(&self) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        for store in self.names().iter().filter_map(|name| self.of(name)) {
            let shown = |path: &PathBuf| {
                let parts = path.iter().rev().take(2).collect::<Vec<_>>();
                let parts: Vec<_> = parts
                    .iter()
                    .rev()
                    .map(|part| part.to_string_lossy())
                    .collect();
                parts.join("/")
            };
            found.extend(store.view()?.unsound().iter().map(shown));
        }
        Ok(found)
    }

    /// Removes the damaged files of all models; their texts are embedded again.
    pub fn remove_unsound(&self) -> io::Result<()> {
        for store in self.names().iter().filter_map(|name| self.of(name)) {
            store.remove_unsound()?;
        }
        Ok(())
    }

    /// Writes vectors of `model`.
    pub fn keep(&self, model: &str, vectors: Vec<VectorEntry>) -> io::Result<()> {
        let (Some(folder), Some(store)) = (self.folder(model), self.of(model)) else {
            return Ok(());
        };
        Folder::create_of_state(&folder)?;
        store.add(vectors)?;
        self.remove_outdated()?;
        store.tidy(None)
    }

    /// Removes vectors whose keys are not in `wanted`, and all models that are not in `models`.
    pub fn tidy(&self, models: &[&str], wanted: &HashSet<VectorKey>) -> io::Result<()> {
        for name in self.names() {
            match (models.contains(&name.as_str()), self.of(&name)) {
                (true, Some(store)) => store.tidy(Some(wanted))?,
                _ => {
                    locked(&self.open).remove(&name);
                    if let Some(folder) = self.folder(&name) {
                        let (state, name) = Folder::parent_of(&folder)?;
                        state.remove_all(name)?;
                    }
                }
            }
        }
        Ok(())
    }
}
