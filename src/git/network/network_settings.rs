//! Settings for reaching remotes.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::git::network::child::Limits;
use crate::git::settings::Honoured;

/// The git program that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitProgram {
    /// The one in `PATH`, if there is one that is new enough.
    Search,
    /// The one at this path, if it is new enough.
    At(PathBuf),
    /// None: libgit2 is used.
    Never,
}

/// Settings for reaching remotes. Nothing else of the process has an effect.
#[derive(Clone)]
pub struct NetworkSettings {
    /// Whether folders of this machine, and http on it, may be remotes.
    pub allow_local: bool,
    /// The git program that is used.
    pub program: GitProgram,
    /// Environment of git and ssh, which is also searched for tokens.
    pub environment: Vec<(OsString, OsString)>,
    /// Path of the program that answers git's prompts: memdir's own.
    pub askpass: Option<PathBuf>,
    /// Limits of an operation.
    pub limits: Limits,
    /// Settings of the repository for remotes that the user agreed to. The rest of its configuration is
    /// ignored.
    pub honoured: Honoured,
}

impl NetworkSettings {
    /// Returns settings with the environment and the executable of this process.
    pub fn from_process(allow_local: bool) -> NetworkSettings {
        NetworkSettings {
            allow_local,
            program: GitProgram::Search,
            environment: env::vars_os().collect(),
            askpass: env::current_exe().ok(),
            limits: Limits::default(),
            honoured: Honoured::default(),
        }
    }

    /// Returns the value of a variable, if it is UTF-8.
    pub(in crate::git) fn variable(&self, name: &str) -> Option<String> {
        let value = self.variable_os(name)?;
        value.to_str().map(str::to_owned)
    }

    /// Returns the value of a variable.
    pub(in crate::git) fn variable_os(&self, name: &str) -> Option<&OsStr> {
        let is_named = |key: &OsStr| {
            if cfg!(windows) {
                key.eq_ignore_ascii_case(name)
            } else {
                key == name
            }
        };
        let found = self.environment.iter().find(|(key, _)| is_named(key));
        found.map(|(_, value)| value.as_os_str())
    }
}
