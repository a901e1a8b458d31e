//! Notifies clients of changes of the resources that they subscribed to.
//!
//! Both ways of the protocol end here: `resources/subscribe`, one address at a time until the
//! session ends, and `subscriptions/listen`, some addresses until the request ends. What may be kept
//! for a while is never told: the client asks again when it is time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ErrorData;
use tokio::sync::mpsc;

use super::resources;
use super::served::Served;
use crate::engine::{Changed, Listening, live};

/// Maximum number of addresses that are followed for one client.
const MOST: usize = 1000;

/// The news of a store, for as long as it is held.
pub(super) struct News {
    inbox: mpsc::UnboundedReceiver<Changed>,
    _listening: Listening,
}

impl News {
    /// The news from now on.
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

    pub async fn next(&mut self) -> Option<Changed> {
        self.inbox.recv().await
    }
}

/// Whether what `uri` names is another one after `changed`.
pub(super) fn is_touched(served: &Served, uri: &str, changed: &Changed) -> bool {
    match resources::named(served.dialect.as_ref(), uri) {
        Some((resource, _)) if resource.ttl_ms > 0 => false,
        Some((resource, id)) if resource.is_template() => changed.touches(id),
        Some(_) => true,
        None => false,
    }
}

/// The addresses that a client follows by `resources/subscribe`.
#[derive(Clone, Default)]
pub(super) struct Followed(Arc<Mutex<Follow>>);

#[derive(Default)]
struct Follow {
    uris: BTreeSet<String>,
    /// Somebody passes the news on.
    is_told: bool,
}

impl Followed {
    fn follow<T>(&self, act: impl FnOnce(&mut Follow) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds an address; true if nobody passes the news on yet: the caller has to, then.
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

    pub fn remove(&self, uri: &str) {
        self.follow(|follow| follow.uris.remove(uri));
    }

    /// The addresses that `changed` touches.
    pub fn touched(&self, served: &Served, changed: &Changed) -> Vec<String> {
        self.follow(|follow| {
            let uris = follow.uris.iter();
            let touched = uris.filter(|uri| is_touched(served, uri, changed));
            touched.cloned().collect()
        })
    }
}
