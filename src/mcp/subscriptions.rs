//! Notifications of changes of the resources that clients subscribed to.
//!
//! Both ways of the protocol are served: `resources/subscribe`, one address at a time until the session
//! ends, and `subscriptions/listen`, several addresses until the request ends. There are no
//! notifications for resources with a lifetime: the client reads them again after it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, RoleServer, ServiceError};
use tokio::sync::{Mutex, mpsc};

use super::resources;
use super::served::Served;
use crate::engine::{Changed, Listening, live};

/// Maximum number of subscribed addresses of one client.
pub(super) const MOST: usize = 1000;

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
            _listening: live::listen(&served.engine.live, Arc::new(tell)),
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
    /// Adds an address; returns true if no task forwards the changes yet, so that the caller has to start one.
    pub async fn add(&self, uri: String) -> Result<bool, ErrorData> {
        let mut follow = self.0.lock().await;
        if follow.uris.len() >= MOST && !follow.uris.contains(&uri) {
            let message = format!("more than {MOST} resources are followed: end some first");
            return Err(ErrorData::invalid_request(message, None));
        }
        follow.uris.insert(uri);
        Ok(!std::mem::replace(&mut follow.is_told, true))
    }

    /// Removes an address. Once this returns, no notification of it is sent any more.
    pub async fn remove(&self, uri: &str) {
        self.0.lock().await.uris.remove(uri);
    }

    /// Notifies the client of each address that `changed` affects; fails once the client is gone.
    ///
    /// The addresses stay locked until all notifications are written, so that `remove` has to wait for them.
    pub async fn notify(
        &self,
        served: &Served,
        changed: &Changed,
        client: &Peer<RoleServer>,
    ) -> Result<(), ServiceError> {
        let follow = self.0.lock().await;
        for uri in &follow.uris {
            if is_touched(served, uri, changed) {
                let updated = ResourceUpdatedNotificationParam::new(uri);
                client.notify_resource_updated(updated).await?;
            }
        }
        Ok(())
    }
}
