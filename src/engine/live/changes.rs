//! Notifies listeners of changed memories: by this process, another one, or by hand.
//!
//! Promises: a change that the background loop has seen is reported once, after it can be found and
//! read; several close together are reported as one. Without a listener nothing is compared. The use
//! of the notifications is left to the listeners.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::error::EngineError;
use crate::engine::live::current_snapshot::snapshot;
use crate::engine::live::listeners::{Changed, Tell};
use crate::engine::live::reconcile::differing_by;
use crate::engine::live::store::LiveStore;
use crate::engine::texts::stem_of;
use crate::index::{Indexed, Snapshot};
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

/// Returns the number of the state that is read now. A caller that asks for it before it reads, and for [`is_past`] once it
/// listens, misses no change in between.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub fn state_number(live: &LiveStore) -> Result<u64, EngineError> {
    snapshot(live)?;
    Ok(live.latest_number())
}

/// Returns whether there may be changes since the state with a number, without reading anything.
pub fn is_past(live: &LiveStore, number: u64) -> bool {
    live.latest_number() != number
}

/// Notifies the listeners of the differences in `now`. Nobody who registers, ends or reads waits for it.
pub(in crate::engine) fn tell_changes(live: &LiveStore, now: &Arc<dyn Snapshot>) {
    let Some(before) = live.listeners.replace(now) else {
        return; // Nobody listens, or nobody has read anything yet.
    };
    let changed = Changed::of(changed_between(before.as_ref(), now.as_ref()));
    if !changed.stems.is_empty() {
        let tells = live.listeners.all();
        tells.iter().for_each(|tell| tell(&changed));
    }
}

/// Returns the memories whose texts differ, or that only one of both snapshots has. No text is read: where one of them does
/// not know its hash, stamps are compared.
fn changed_between(one: &dyn Snapshot, other: &dyn Snapshot) -> BTreeSet<Stem> {
    let is_same = |one: Indexed, other: Indexed| match one.is_read() && other.is_read() {
        // A file that was only touched has the same hash.
        true => one.hash == other.hash,
        false => one.stamp == other.stamp,
    };
    let names = differing_by(one, other, is_same);
    names.iter().map(|name| stem_of(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Scan;
    use crate::model::Stamp;

    /// A view of files that are not to be read, each with a number for its stamp.
    fn unread(files: &[(&str, u64)]) -> Scan {
        let file = |&(name, inode): &(&str, u64)| {
            let stamp = Stamp {
                inode,
                ..Stamp::default()
            };
            (name.to_owned(), stamp)
        };
        let read = |names: &[&str]| panic!("{names:?} are read");
        Scan::new(files.iter().map(file).collect(), Box::new(read), &[])
    }

    #[test]
    fn changes_while_an_index_is_made_are_told_without_reading_a_file() {
        let before = unread(&[("a.md", 1), ("b.md", 1), ("d.md", 1)]);
        let now = unread(&[("a.md", 1), ("b.md", 2), ("c.md", 1)]);
        let changed = changed_between(&before, &now);
        let changed: Vec<_> = changed.iter().map(Stem::as_str).collect();
        assert_eq!(changed, ["b", "c", "d"]);
    }
}
