//! State shared by all requests: of a server, and of one of its stores.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::http::HeaderMap;
use tokio::sync::{Semaphore, watch};

use super::admission::AdmissionControl;
use super::concurrency::ShortCalls;
use super::connection::Phase;
use super::login::sessions::{BrowserSession, Entry, Sessions};
use super::metrics::{Metrics, SizeClass};
use super::names::Names;
use super::reading::MOST_BYTES;
use super::tokens::{Rights, Tokens};
use crate::engine::live;
use crate::mcp::{Gate, Served, Streamable};
use crate::page::{Examine, Health, Uploads};

/// Name of whoever has a session of the page of a store.
pub(super) const PAGE: &str = "page";

/// State that all stores of a server share.
#[derive(Clone)]
pub(super) struct Front {
    pub(super) names: Arc<Names>,
    /// Valid tokens, by which this server also proves itself; `None` if they cannot be read and no token
    /// is required.
    pub(super) tokens: Option<Arc<Tokens>>,
    /// Whether requests need a token.
    pub(super) needs_token: bool,
    pub(super) admission: Arc<AdmissionControl>,
    pub(super) metrics: Arc<Metrics>,
    /// Limits how many bodies as large as a store are read at once.
    pub(super) large: Arc<Semaphore>,
    pub(super) short: ShortCalls,
    /// Limits how many KiB of answers wait for clients to read them.
    pub(super) outgoing: Arc<Semaphore>,
    /// Whether the server has TLS.
    pub(super) has_tls: bool,
    /// Makes the checks of `memdir doctor`.
    pub(super) examine: Examine,
    /// Name of the tool set that agents of this store have, where the settings say so.
    pub(super) dialect: Option<String>,
    /// Makes the service at `/mcp`.
    pub(super) mcp: fn(Served, Arc<dyn Gate>, usize) -> Streamable,
    /// Has a receiver for each call of MCP that runs, until its reply has gone.
    pub(super) calls: Arc<watch::Sender<()>>,
    /// Phase of the server.
    pub(super) phase: watch::Receiver<Phase>,
}

impl Front {
    /// Returns whether the server was asked to end.
    pub(super) fn is_ending(&self) -> bool {
        *self.phase.borrow() > Phase::Serving
    }
}

/// State shared by all requests to a store.
pub(super) struct Site {
    pub(super) front: Front,
    pub(super) served: Served,
    pub(super) mcp: Streamable,
    /// Path of the page, with a slash at both ends.
    pub(super) base: String,
    /// Dropped with this: streams of events end then, as where a workspace is closed.
    pub(super) is_open: watch::Sender<()>,
    /// Parts of the page of a store in a folder; `None` for a workspace.
    pub(super) folder: Option<FolderPage>,
    /// Number of memories when they were counted last.
    memories: AtomicUsize,
}

/// Parts of the page that a store in a folder has.
pub(super) struct FolderPage {
    /// Sessions of browsers.
    pub(super) sessions: Sessions,
    /// Files that browsers sent to be imported.
    pub(super) uploads: Uploads,
    /// Checks of `memdir doctor`.
    pub(super) health: Health,
}

impl Site {
    /// Returns the site of a store in a folder.
    pub(super) fn of_folder(front: &Front, served: Served) -> Site {
        let folder = FolderPage {
            sessions: Sessions::of_store(served.engine.live.state()),
            uploads: Uploads::default(),
            health: Health::new(Arc::clone(&front.examine)),
        };
        Site {
            folder: Some(folder),
            ..Site::of_workspace(front, served, "/".to_owned())
        }
    }

    /// Returns the site of a workspace, whose page is at the path `base`.
    pub(super) fn of_workspace(front: &Front, served: Served, base: String) -> Site {
        let gate: Arc<dyn Gate> = Arc::clone(&front.admission) as Arc<dyn Gate>;
        Site {
            base,
            folder: None,
            memories: AtomicUsize::default(),
            is_open: watch::Sender::new(()),
            mcp: (front.mcp)(served.clone(), gate, MOST_BYTES),
            served,
            front: front.clone(),
        }
    }

    /// Returns the class of a workspace by its size, as far as that is known; `None` of a store in a folder.
    pub(super) fn class(&self) -> Option<SizeClass> {
        if self.folder.is_some() {
            return None;
        }
        if let Some(count) = live::indexed_count(&self.served.engine.live) {
            self.memories.store(count, Ordering::Relaxed);
        }
        Some(SizeClass::of(self.memories.load(Ordering::Relaxed)))
    }

    /// Returns the session of a request to the page of a store in a folder.
    pub(super) fn session(&self, headers: &HeaderMap) -> Option<BrowserSession> {
        self.folder.as_ref()?.sessions.of(headers, &self.base)
    }

    /// Begins a session with these rights at the page of a store in a folder, and returns the header that gives it to
    /// the browser; `None` if there is no such page, or if the system gives no random bytes.
    pub(super) fn begin_session(&self, rights: Rights) -> Option<String> {
        let entry = Entry {
            rights,
            path: self.base.clone(),
            holder: PAGE.into(),
            secret: None,
            is_secure: self.has_tls,
        };
        self.folder.as_ref()?.sessions.begin(entry).ok()
    }
}

impl Deref for Site {
    type Target = Front;

    fn deref(&self) -> &Front {
        &self.front
    }
}
