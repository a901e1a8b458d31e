//! Notifies listeners of changed memories: by this process, another one, or by hand.
//!
//! Promises: a change that the background loop has seen is reported once, after it can be found and
//! read; several close together are reported as one. Without a listener nothing is compared. The use
//! of the notifications is left to the listeners.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::live::listeners::{Changed, Tell};
use crate::engine::live::reconcile::differing;
use crate::engine::live::store::LiveStore;
use crate::engine::texts::stem_of;
use crate::index::Snapshot;
use crate::model::Stem;

/// Handle of a registered listener; dropping it removes the listener.
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

/// Registers `tell`, which is called with changes from now on, in a process with a background loop. It is
/// called on that loop's thread and must not wait. Changes are relative to what was read
/// before, so that none between a read and the registration is lost.
pub fn listen(live: &Arc<LiveStore>, tell: Tell) -> Listening {
    let mut known = live.listeners.known();
    // Earlier listeners may not have been notified of the latest state yet: they keep the older one.
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

/// Notifies the listeners of the differences in `now`.
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

/// Returns the memories whose texts differ, or that only one of both snapshots has.
fn changed_between(one: &dyn Snapshot, other: &dyn Snapshot) -> BTreeSet<Stem> {
    let hash = |snapshot: &dyn Snapshot, name: &str| snapshot.indexed(name).map(|it| it.hash);
    // A file that was only touched has the same hash.
    let is_news = |name: &String| hash(one, name) != hash(other, name);
    let names = differing(one, other);
    names
        .iter()
        .filter(|name| is_news(name))
        .map(|name| stem_of(name))
        .collect()
}
