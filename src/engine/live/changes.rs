//! Tells those who listen which memories changed: by this process, another one, or by hand.
//!
//! Promises: a change that the background loop has seen is told once, after it can be found and
//! read; several close together are told as one. Without a listener nothing is compared. What the
//! news are for is left to the listeners.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::live::listeners::{Changed, Tell};
use crate::engine::live::reconcile::differing;
use crate::engine::live::store::LiveStore;
use crate::engine::texts::stem_of;
use crate::index::Snapshot;
use crate::model::Stem;

/// A registered listener; dropping this ends it.
pub struct Listening {
    live: Arc<LiveStore>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut known = self.live.listeners.known();
        known.listeners.retain(|(number, _)| *number != self.number);
        if known.listeners.is_empty() {
            known.state = None;
        }
    }
}

/// Has `tell` called with what changes from now on, in a process with a background loop. It is
/// called on that loop's thread and must not wait. What was read before is what changes are
/// told against, so that none falls between a reading and the listening.
pub fn listen(live: &Arc<LiveStore>, tell: Tell) -> Listening {
    let mut known = live.listeners.known();
    // Who listens already may not know of the latest state yet: theirs is the older one.
    if known.listeners.is_empty() {
        known.state = live.latest();
    }
    let number = known.next;
    known.next += 1;
    known.listeners.push((number, tell));
    Listening {
        live: Arc::clone(live),
        number,
    }
}

/// Tells what is different in `now`.
pub(in crate::engine) fn tell_changes(live: &LiveStore, now: &Arc<dyn Snapshot>) {
    let mut known = live.listeners.known();
    if known.listeners.is_empty() {
        return;
    }
    let Some(before) = known.state.replace(Arc::clone(now)) else {
        return; // Nobody has read anything yet.
    };
    let changed = Changed {
        stems: changed_between(before.as_ref(), now.as_ref()),
    };
    if !changed.stems.is_empty() {
        known.listeners.iter().for_each(|(_, tell)| tell(&changed));
    }
}

/// The memories whose texts differ, or that only one of both has.
fn changed_between(one: &dyn Snapshot, other: &dyn Snapshot) -> BTreeSet<Stem> {
    let hash = |snapshot: &dyn Snapshot, name: &str| snapshot.indexed(name).map(|it| it.hash);
    // A file that was only touched says the same.
    let is_news = |name: &String| hash(one, name) != hash(other, name);
    let names = differing(one, other);
    names
        .iter()
        .filter(|name| is_news(name))
        .map(|name| stem_of(name))
        .collect()
}
