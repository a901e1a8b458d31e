//! A session's own facts, where a process serves the sessions of others, or goes on with one.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dialect::Caller;
use crate::engine::CallScope;

/// Receives the id of a request, as JSON, and the id of a memory that it is about to write.
pub type AnnounceWrite = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Facts of one session; by default, none differs from those of the process.
#[derive(Clone, Default)]
pub struct Session {
    /// The namespace of new memories that state none; `Some(None)` is `global`.
    pub namespace: Option<Option<String>>,
    /// Told of each new memory before it is written.
    pub announce: Option<AnnounceWrite>,
    /// Memories that were announced for requests which are made again, by the requests' ids as JSON.
    pub earlier: Arc<HashMap<String, Vec<String>>>,
}

impl Session {
    /// Returns the scope of the call of `caller` by the request `id`, as JSON.
    pub(super) fn scope(&self, caller: &Caller, id: String) -> CallScope {
        CallScope {
            client: caller.client.clone(),
            namespace: self.namespace.clone(),
            earlier: self.earlier.get(&id).cloned().unwrap_or_default(),
            announce: self.announce.clone().map(|announce| {
                let of_request = move |stem: &str| announce(&id, stem);
                Arc::new(of_request) as Arc<dyn Fn(&str) + Send + Sync>
            }),
        }
    }
}
