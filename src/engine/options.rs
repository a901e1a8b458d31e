//! The options with which a store is opened: from the command line, the environment and files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::embed::Embedder;
use crate::files::LinkPolicy;
use crate::lifecycle::{Life, Maintenance, WritePolicy};
use crate::model::Layout;
use crate::secrets::Policy;
use crate::trust::{Consent, Naming};
use crate::words::Language;

/// The file that holds the store's settings.
pub(in crate::engine) const SETTINGS: &str = "memdir.toml";

/// Options of commits and of the exchange with a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOptions {
    /// The committer's name where git's configuration names nobody.
    pub user: String,
    /// Interval at which a server looks at the remote.
    pub interval: Duration,
    /// The remote to sync with where the store names none; empty: the one that its
    /// repository names.
    pub remote: Option<String>,
}

/// Opens models. Asked when one is needed for the first time, and only then.
pub trait Models: Send + Sync {
    /// The one that is set; says itself why there is none.
    fn set(&self) -> Option<Arc<dyn Embedder>>;

    /// One that was set before, by its id; `None` if it cannot be had any more, or if texts would
    /// leave this machine for it: nobody wants that any longer.
    fn earlier(&self, id: &str) -> Option<Arc<dyn Embedder>> {
        let _ = id;
        None
    }
}

/// The options with which a store is opened.
#[derive(Clone)]
pub struct Options {
    /// The folder that holds `files/`.
    pub root: PathBuf,
    /// Where index and locks lie, if not in `.memdir/` below the root.
    pub state: Option<PathBuf>,
    /// Where they lie if the store cannot be written or is shared with other machines, and no
    /// place was named.
    pub cache: Option<PathBuf>,
    /// Languages whose words are stemmed.
    pub languages: Vec<Language>,
    /// The namespace of memories that state none; `None` is `global`.
    pub namespace: Option<String>,
    /// In which folder new memories are put.
    pub layout: Layout,
    /// Default maximum number of hits of a search.
    pub limit: usize,
    /// Refuse every change.
    pub read_only: bool,
    /// Options of commits; `None` if nothing is committed.
    pub git: Option<GitOptions>,
    /// The policy for credentials in texts that are written and committed.
    pub secrets: Policy,
    /// The lives of memories, and the effect of a use.
    pub life: Life,
    /// The maintenance that a server does by itself.
    pub maintenance: Maintenance,
    /// The policy for a new memory that resembles others.
    pub writes: WritePolicy,
    /// The models that find memories by meaning; `None` if words alone are searched.
    pub models: Option<Arc<dyn Models>>,
    /// The user's consent for this store, beyond its folder.
    pub consent: Consent,
    /// The policy for a folder of the store that is a symbolic link. Only the user's own record may
    /// say that it is followed, never the store.
    pub links: LinkPolicy,
}

impl Options {
    /// The store at `root` by itself: English, flat, nothing committed, nothing looked for in what
    /// is written, searched by words alone; everything else as where no setting says otherwise.
    pub fn new(root: impl Into<PathBuf>) -> Options {
        let root = root.into();
        Options {
            consent: Consent::new(None, &root, Naming::Process),
            root,
            state: None,
            cache: None,
            languages: vec![Language::default()],
            namespace: None,
            layout: Layout::Flat,
            limit: 25,
            read_only: false,
            git: None,
            secrets: Policy::Off,
            life: Life::default(),
            maintenance: Maintenance::default(),
            writes: WritePolicy::default(),
            models: None,
            links: LinkPolicy::Refuse,
        }
    }
}
