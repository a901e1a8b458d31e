//! Memories whose life has ended go to the archive, from which they can be restored.

use super::Engine;
use super::EngineError;
use super::archive::Moved;
use super::reading::parse;
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::lifecycle::State;
use crate::model::Filter;
use crate::model::Visibility;

/// Why, in the journal.
const EXPIRED: &str = "expired";

/// What became of the memories whose life has ended.
#[derive(Debug, Default)]
pub struct Expired {
    /// Those that were moved, or would be, in the order of their names.
    pub moved: Vec<Moved>,
    /// Those that could not be, with the reason.
    pub failed: Vec<(String, EngineError)>,
}

impl Engine {
    /// Moves every memory whose life has ended to the archive; with `dry_run` only says which.
    /// One that cannot be moved stays where it is and does not stop the others.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be searched, or not be written.
    pub fn expire(&self, dry_run: bool) -> Result<Expired, EngineError> {
        if !dry_run {
            self.check_writable()?;
        }
        let filter = Filter {
            visibility: Visibility::Expired,
            ..Filter::default()
        };
        let mut names = self.mending(|| self.names_of(self.snapshot()?.as_ref(), &filter))?;
        names.sort_unstable();
        let _together = self.collect_records();
        let mut expired = Expired::default();
        for name in names {
            // The file decides, and a use of a moment ago.
            if !self.has_expired(&name) {
                continue;
            }
            if dry_run {
                expired.moved.push(Moved::of(name));
                continue;
            }
            match self.archive(&name, EXPIRED) {
                Ok(moved) => expired.moved.push(moved),
                Err(EngineError::NotFound(_)) => {} // Somebody else was faster.
                Err(error) => expired.failed.push((name, error)),
            }
        }
        Ok(expired)
    }

    fn has_expired(&self, name: &str) -> bool {
        let reader = self.store.reader(Place::Files);
        let Ok(version) = reader.read(name, MAX_INDEXED_BYTES as u64) else {
            return false;
        };
        let memory = parse(&version.entry, &version.bytes);
        let (state, _): (State, _) = self.state_of(&memory);
        state.is_expired(self.clock.now())
    }
}
