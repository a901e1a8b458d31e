//! A setting's value, where it comes from, and what may be wrong with it.

use std::fmt;
use std::path::PathBuf;

/// A fault of a setting.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is no TOML: {what}", path.display())]
    NotToml { path: PathBuf, what: String },
    #[error("{origin}: `{key}` {what}")]
    BadValue {
        origin: Origin,
        key: String,
        what: String,
    },
    #[error(
        "there is no home folder to keep memories in: name a store with --store or MEMDIR_STORE"
    )]
    NoHome,
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Flag,
    Variable(&'static str),
    File(PathBuf),
    /// Found by looking: a folder above, a git repository, the system's user name.
    Found(&'static str),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag => f.write_str("flag"),
            Origin::Variable(name) => f.write_str(name),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Found(where_) => f.write_str(where_),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// Value in effect.
    pub value: T,
    /// Source of the value.
    pub origin: Origin,
}

impl<T> Setting<T> {
    pub(super) fn new(value: T, origin: Origin) -> Setting<T> {
        Setting { value, origin }
    }

    pub(super) fn map<U>(self, make: impl FnOnce(T) -> U) -> Setting<U> {
        Setting::new(make(self.value), self.origin)
    }
}

impl<T> Setting<Option<T>> {
    /// Returns the value of `setting`, if it is set.
    pub(super) fn optional(setting: Option<Setting<T>>) -> Setting<Option<T>> {
        match setting {
            Some(setting) => setting.map(Some),
            None => Setting::new(None, Origin::Default),
        }
    }
}
