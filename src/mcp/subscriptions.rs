//! Notifications of changes of the resources that clients subscribed to.
//!
//! Both ways of the protocol are served: `resources/subscribe`, one address at a time until the session
//! ends, and `subscriptions/listen`, several addresses until the request ends. There are no
//! notifications for resources with a lifetime: the client reads them again after it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ErrorData;
use tokio::sync::mpsc;

use super::resources;
use super::served::Served;
use crate::engine::{Changed, Listening, live};

/// Maximum number of subscribed addresses of one client.
const MOST: usize = 1000;

/// Queue of changes of a store, until dropped.
pub(super) struct News {
    inbox: mpsc::UnboundedReceiver<Changed>,
    _listening: Listening,
}

impl News {
    /// Returns a queue of the changes from now on.
    pub fn of(served: &Served) -> News {
        let (sender, inbox) = mpsc::unbounded_channel();
        let tell = move |changed: &Changed| {
            let _ = sender.send(changed.clone()); // Nobody listens any more.
        };
        News {
            inbox,
            _listening: live::listen(&served.engine.live, Box::new(tell)),
        }
    }

    /// Waits for the next change.
    pub async fn next(&mut self) -> Option<Changed> {
        self.inbox.recv().await
    }
}

/// Returns whether `changed` affects the resource that `uri` names.
pub(super) fn is_touched(served: &Served, uri: &str, changed: &Changed) -> bool {
    match resources::named(served.dialect.as_ref(), uri) {
        Some((resource, _)) if resource.ttl_ms > 0 => false,
        Some((resource, id)) if resource.is_template() => changed.touches(id),
        Some(_) => true,
        None => false,
    }
}

/// Addresses that a client subscribed to by `resources/subscribe`.
#[derive(Clone, Default)]
pub(super) struct Followed(Arc<Mutex<Follow>>);

#[derive(Default)]
struct Follow {
    uris: BTreeSet<String>,
    /// Whether a task forwards the changes.
    is_told: bool,
}

impl Followed {
    fn follow<T>(&self, act: impl FnOnce(&mut Follow) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds an address; returns true if no task forwards the changes yet, so that the caller has to start one.
    pub fn add(&self, uri: String) -> Result<bool, ErrorData> {
        self.follow(|follow| {
            if follow.uris.len() >= MOST && !follow.uris.contains(&uri) {
                let message = format!("more than {MOST} resources are followed: end some first");
                return Err(ErrorData::invalid_request(message, None));
            }
            follow.uris.insert(uri);
            Ok(!std::mem::replace(&mut follow.is_told, true))
        })
    }

    /// Removes an address.
    pub fn remove(&self, uri: &str) {
        self.follow(|follow| follow.uris.remove(uri));
    }

    /// Returns the addresses that `changed` affects.
    pub fn touched(&self, served: &Served, changed: &Changed) -> Vec<String> {
        self.follow(|follow| {
            let uris = follow.uris.iter();
            let touched = uris.filter(|uri| is_touched(served, uri, changed));
            touched.cloned().collect()
        })
    }
}
