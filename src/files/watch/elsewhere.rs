//! The news of systems that watch a folder with all that is in it, as `notify` tells it.

use std::path::Path;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

/// Folders that are watched, until dropped.
pub(super) struct FolderWatcher(RecommendedWatcher);

/// The system's events, which these systems hand over at a time of their own.
pub(super) struct Events;

impl Events {
    /// Does nothing: no call here makes the system hand over what it holds.
    pub fn read(&self) {}
}

impl FolderWatcher {
    /// Has `tell` called, from a thread of its own, with all that happens in watched folders.
    pub fn new(tell: impl Fn(notify::Result<Event>) + Send + 'static) -> notify::Result<Self> {
        notify::recommended_watcher(tell).map(FolderWatcher)
    }

    /// The events.
    pub fn events(&self) -> Events {
        Events
    }

    /// Watches the folder at `path`, with those in it.
    pub fn watch(&mut self, path: &Path) -> notify::Result<()> {
        self.0.watch(path, RecursiveMode::Recursive)
    }
}
