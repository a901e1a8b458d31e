//! Options with which a store is opened: from the command line, the environment and files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use crate::embed::{CrossEncoder, Embedder};
use crate::engine::workspace_clients::WorkspaceClients;
use crate::files::{LinkPolicy, WritableStorage};
use crate::index::IndexCopies;
use crate::journal::Journal;
use crate::lifecycle::{Life, Maintenance, WritePolicy};
use crate::model::{Layout, OtherNames, PrivateRules};
use crate::secrets::Policy;
use crate::trust::{Consent, Naming};
use crate::vectors::SharedVectors;
use crate::words::Language;

/// Name of the file with the store's settings.
pub(in crate::engine) const SETTINGS: &str = "memdir.toml";

/// Options of commits and of the exchange with a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOptions {
    /// Name of the committer if git's configuration has none.
    pub user: String,
    /// Interval at which a server synchronizes with the remote.
    pub interval: Duration,
    /// Address of the remote to set up if the store has none; empty: the one that its
    /// repository names.
    pub remote: Option<String>,
}

/// Options of the exchange with a workspace that the user joined the store to.
#[derive(Clone)]
pub struct WorkspaceOptions {
    /// Opener of clients.
    pub clients: Arc<dyn WorkspaceClients>,
    /// Interval at which a server exchanges with the workspace.
    pub interval: Duration,
}

/// Opener of models, called when one is needed for the first time.
pub trait Models: Send + Sync {
    /// Returns the configured model; logs itself why there is none.
    fn set(&self) -> Option<Arc<dyn Embedder>>;

    /// Returns an earlier model by its id; `None` if it is not available any more, or if texts would
    /// be sent to a host for it, which is not wanted for a former model.
    fn earlier(&self, id: &str) -> Option<Arc<dyn Embedder>> {
        let _ = id;
        None
    }
}

/// Place of memories and journals other than a directory, such as a database.
#[derive(Clone)]
pub struct Backend {
    /// Storage of the memories.
    pub storage: Arc<dyn WritableStorage>,
    /// Journals of uses and changes.
    pub journal: Arc<dyn Journal>,
    /// Copies of indexes that servers share; `None` if each makes its own.
    pub copies: Option<Arc<dyn IndexCopies>>,
    /// Vectors that servers share; `None` if each makes its own.
    pub vectors: Option<Arc<dyn SharedVectors>>,
    /// Name of the place, for messages.
    pub name: String,
}

/// Options with which a store is opened.
#[derive(Clone)]
pub struct Options {
    /// Folder that holds `files/`. With a backend, the folder of what is derived from its memories.
    pub root: PathBuf,
    /// Backend that holds the memories; `None` if the directory does.
    pub backend: Option<Backend>,
    /// Folder of index and locks, if not `.memdir/` below the root.
    pub state: Option<PathBuf>,
    /// Folder for them if the store cannot be written or is shared with other machines, and `state` is
    /// not set.
    pub cache: Option<PathBuf>,
    /// Languages whose words are stemmed.
    pub languages: Vec<Language>,
    /// Other names of users, by which questions may call them.
    pub people: OtherNames,
    /// Namespace of memories that state none; `None` is `global`.
    pub namespace: Option<String>,
    /// Layout of the folders for new memories.
    pub layout: Layout,
    /// Default maximum number of hits of a search.
    pub limit: usize,
    /// Whether to refuse every change.
    pub read_only: bool,
    /// Options of commits; `None` if nothing is committed.
    pub git: Option<GitOptions>,
    /// Policy for credentials in texts that are written and committed.
    pub secrets: Policy,
    /// Lifetimes of memories, and the effect of a use.
    pub life: Life,
    /// Maintenance that a server does by itself.
    pub maintenance: Maintenance,
    /// Policy for a new memory that resembles others.
    pub writes: WritePolicy,
    /// Whether talks are committed, and sent to a remote.
    pub sync_talks: bool,
    /// Memories that never leave for a team's server.
    pub private: PrivateRules,
    /// Exchange with a workspace of a server; `None` if there is none.
    pub workspace: Option<WorkspaceOptions>,
    /// Age from which talks are archived; `None` keeps them.
    pub keep_talks: Option<TimeDelta>,
    /// Models for the search by meaning; `None` for vectors of words alone.
    pub models: Option<Arc<dyn Models>>,
    /// Cross-encoder that re-ranks the first hits of a text; not loaded before it is needed.
    pub reranker: Option<Arc<CrossEncoder>>,
    /// The user's consent for this store, beyond its folder.
    pub consent: Consent,
    /// Policy for a folder of the store that is a symbolic link. Only the user's own record may
    /// allow to follow it, never the store.
    pub links: LinkPolicy,
}

impl Options {
    /// Returns the options for the store at `root`: English, flat, nothing committed, no check for
    /// credentials, no model; all others at their defaults.
    pub fn new(root: impl Into<PathBuf>) -> Options {
        let root = root.into();
        Options {
            consent: Consent::new(None, &root, Naming::Process),
            root,
            backend: None,
            state: None,
            cache: None,
            languages: vec![Language::default()],
            people: OtherNames::default(),
            namespace: None,
            layout: Layout::Flat,
            limit: 25,
            read_only: false,
            git: None,
            secrets: Policy::Off,
            life: Life::default(),
            maintenance: Maintenance::default(),
            writes: WritePolicy::default(),
            sync_talks: false,
            private: PrivateRules::default(),
            workspace: None,
            keep_talks: None,
            models: None,
            reranker: None,
            links: LinkPolicy::Refuse,
        }
    }
}
