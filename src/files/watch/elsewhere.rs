//! Change events of systems that watch folders recursively, by `notify`.

use std::path::Path;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

/// Watched folders, until dropped.
pub(super) struct FolderWatcher(RecommendedWatcher);

/// Events of the system, which are delivered with a delay.
pub(super) struct Events;

impl Events {
    /// Does nothing: these systems have no call that delivers pending events.
    pub fn read(&self) {}
}

impl FolderWatcher {
    /// Calls `tell`, from a thread of its own, with the events in watched folders.
    pub fn new(tell: impl Fn(notify::Result<Event>) + Send + 'static) -> notify::Result<Self> {
        notify::recommended_watcher(tell).map(FolderWatcher)
    }

    /// Returns the events.
    pub fn events(&self) -> Events {
        Events
    }

    /// Watches the folder at `path`, with those in it.
    pub fn watch(&mut self, path: &Path) -> notify::Result<()> {
        self.0.watch(path, RecursiveMode::Recursive)
    }
}
