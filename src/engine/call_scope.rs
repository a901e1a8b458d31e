//! Facts that one call brings along beside its arguments: its client, the namespace of its session, and the ids of
//! the memories that it writes.
//!
//! A server holds one engine for many sessions. A call runs on one thread from beginning to end, so its
//! scope is kept for that thread; without one, what was said of the whole process counts.

use std::cell::RefCell;
use std::sync::Arc;

use crate::model::Stem;

/// Receives the id of each new memory before its file is put in place.
pub type Announce = Arc<dyn Fn(&str) + Send + Sync>;

/// The scope of one call.
#[derive(Clone, Default)]
pub struct CallScope {
    /// The client that calls.
    pub client: Option<String>,
    /// The namespace of new memories that state none, where the session has its own; `Some(None)` is `global`.
    pub namespace: Option<Option<String>>,
    /// Told of each new memory before it is written.
    pub announce: Option<Announce>,
    /// Ids that were announced when the same call was made before, by a process that ended in the middle.
    /// Those that are there are not written again.
    pub earlier: Vec<String>,
}

thread_local! {
    static PRESENT: RefCell<Option<CallScope>> = const { RefCell::new(None) };
}

/// Puts the former scope back, also after a panic.
struct Restore(Option<CallScope>);

impl Drop for Restore {
    fn drop(&mut self) {
        PRESENT.set(self.0.take());
    }
}

impl CallScope {
    /// Runs `act` on this thread in this scope.
    pub fn run<T>(self, act: impl FnOnce() -> T) -> T {
        let _restore = Restore(PRESENT.replace(Some(self)));
        act()
    }
}

fn present<T>(look: impl FnOnce(&mut CallScope) -> Option<T>) -> Option<T> {
    PRESENT.with_borrow_mut(|scope| scope.as_mut().and_then(look))
}

/// Returns the client of the present call, if it says so.
pub(in crate::engine) fn client() -> Option<String> {
    present(|scope| scope.client.clone())
}

/// Returns the namespace of the present call's session, if it has its own.
pub(in crate::engine) fn namespace() -> Option<Option<String>> {
    present(|scope| scope.namespace.clone())
}

/// Tells that the memory `stem` is about to be written.
pub(in crate::engine) fn announce(stem: &Stem) {
    if let Some(announce) = present(|scope| scope.announce.clone()) {
        announce(stem.as_str());
    }
}

/// Returns the memories that the same call may have written before.
pub(in crate::engine) fn earlier() -> Vec<Stem> {
    let stems = |scope: &mut CallScope| {
        let stems = scope.earlier.iter();
        Some(stems.map(|stem| Stem::from_file_name(stem)).collect())
    };
    present(stems).unwrap_or_default()
}

/// Takes `stem`, which the call has found again, from the memories that it may have written before.
pub(in crate::engine) fn claim(stem: &Stem) {
    present(|scope| {
        scope.earlier.retain(|known| known != stem.as_str());
        Some(())
    });
}
