//! The surroundings of the process: flags for all commands, variables, folders.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::setting::{Origin, Setting};
use crate::trust::Records;

/// Flags of the command line for all commands.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// Root folder of the store.
    pub store: Option<PathBuf>,
    /// Whether nothing may be written.
    pub read_only: bool,
}

/// The surroundings of the process. Tests make their own.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Environment variables.
    pub variables: HashMap<String, String>,
    /// Working folder.
    pub folder: PathBuf,
    /// Folder of the user's settings.
    pub config_folder: Option<PathBuf>,
    /// Folder of the user's data: the default store.
    pub data_folder: Option<PathBuf>,
    /// Folder of caches, such as indexes and models.
    pub cache_folder: Option<PathBuf>,
    /// The folder of the user's records, such as which stores are trusted.
    pub state_folder: Option<PathBuf>,
}

impl Environment {
    /// Returns the user's record of stores; `None` without a home folder.
    pub fn records(&self) -> Option<Records> {
        self.state_folder.as_deref().map(Records::new)
    }

    /// Returns the first of the variables `names` that is set and not empty.
    pub(super) fn variable(&self, names: &[&'static str]) -> Option<Setting<String>> {
        names.iter().find_map(|&name| {
            let value = self.variables.get(name)?.trim();
            (!value.is_empty()).then(|| Setting::new(value.to_owned(), Origin::Variable(name)))
        })
    }

    /// Returns the path, with the user's home in place of `~`.
    pub(super) fn expand_home(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), self.variables.get("HOME")) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            _ => PathBuf::from(path),
        }
    }
}
