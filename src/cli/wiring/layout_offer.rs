//! Offer of the layout by month to stores that keep many memories in one folder.
//!
//! A commit writes the list of every folder in which something changed. The offer says what that costs; memories are
//! moved by `memdir layout` alone.

use crate::engine::Engine;
use crate::model::Layout;

/// Number of files of one folder from which the layout by month is offered: the list of them is 0.1 MB, and git keeps
/// one for each commit until it packs them.
const MANY_FILES: usize = 2_000;

/// Bytes of a memory in the list of its folder: mode, name, id.
const ENTRY_BYTES: usize = 59;

/// Name of the file below the folder of derived files that records that the offer was shown.
const SHOWN: &str = "layout-offered";

/// Returns the offer for a store with this number of files in one folder; `None` if they are few, or if the
/// store has another layout, no history, or notes in place.
pub fn offer(engine: &Engine, files: usize) -> Option<String> {
    let is_flat = engine.live.layout() == Layout::Flat && engine.live.notes().is_none();
    let has_history = engine.history.is_on();
    (is_flat && has_history && files >= MANY_FILES).then(|| text(files))
}

/// As [`offer`], but only the first time for this store.
pub fn offer_once(engine: &Engine, files: usize) -> Option<String> {
    let offer = offer(engine, files)?;
    let shown = engine.live.state().join(SHOWN);
    if shown.exists() {
        return None;
    }
    // Where that cannot be recorded, the offer is shown again.
    let _ = crate::files::write_derived(&shown, b"");
    Some(offer)
}

fn text(files: usize) -> String {
    let list = files * ENTRY_BYTES / 1_000;
    format!(
        "{files} memories in one folder: each commit writes the list of them, {list} KB; after `memdir layout by-month` that of one month (a program that reads one folder only, as of AIAML, does not find them then)"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::SystemClock;
    use crate::engine::{GitOptions, Options};

    fn engine(root: &std::path::Path, change: impl FnOnce(&mut Options)) -> Engine {
        let mut options = Options::new(root);
        options.git = Some(GitOptions {
            user: "mira".to_owned(),
            interval: Duration::from_secs(60),
            remote: None,
        });
        change(&mut options);
        Engine::open(options, Box::new(SystemClock)).unwrap()
    }

    #[test]
    fn a_flat_store_of_many_memories_is_offered_the_layout_by_month_once() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("files")).unwrap();
        let store = engine(root.path(), |_| {});
        assert_eq!(offer(&store, 1_999), None);
        let first = offer_once(&store, 2_000).unwrap();
        assert!(first.contains("118 KB"), "{first}");
        assert!(first.contains("`memdir layout by-month`"), "{first}");
        assert_eq!(offer_once(&store, 9_000), None);
        assert!(offer(&store, 9_000).is_some());
    }

    #[test]
    fn nobody_else_is_offered_it() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("files")).unwrap();
        let by_month = engine(root.path(), |options| options.layout = Layout::ByMonth);
        assert_eq!(offer(&by_month, 9_000), None);
        let alone = engine(root.path(), |options| options.git = None);
        assert_eq!(offer(&alone, 9_000), None);
    }
}
