//! Settings for reaching remotes.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::git::network::child::Limits;
use crate::git::settings::Honoured;

/// The git program that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitProgram {
    /// The one in `PATH`, if it is there and new enough.
    Search,
    /// This one, under the same condition.
    At(PathBuf),
    /// None: libgit2 does it.
    Never,
}

/// Settings for reaching remotes. Nothing else of the process has an effect on it.
#[derive(Clone)]
pub struct NetworkSettings {
    /// Whether folders of this machine, and http to it, may be remotes.
    pub allow_local: bool,
    /// The git program that is used.
    pub program: GitProgram,
    /// Every variable that git, ssh and the search for tokens see.
    pub environment: Vec<(OsString, OsString)>,
    /// The program that answers git's questions: memdir's own.
    pub askpass: Option<PathBuf>,
    /// When an operation is given up.
    pub limits: Limits,
    /// What the repository says of reaching remotes and the user agreed to. Whatever else its
    /// configuration says counts for nothing.
    pub honoured: Honoured,
}

impl NetworkSettings {
    /// Settings with the environment and the executable of this process.
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

    /// The value of a variable, if it is text.
    pub(in crate::git) fn variable(&self, name: &str) -> Option<String> {
        let value = self.variable_os(name)?;
        value.to_str().map(str::to_owned)
    }

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
