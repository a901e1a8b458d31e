//! Throws a damaged index away, and does without one that cannot be read, so that no question
//! fails because of it.

use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::panic::resume_unwind;

use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::live::freshness::Freshness;
use crate::index::IndexError;

/// So often is the index opened again for one question; then the files are searched without it.
const MOST_CHANGES: usize = 3;

impl Engine {
    /// Does `work`; if the index fails it and is damaged, once more over a new one. What was read
    /// of index files that somebody else changed meanwhile is thrown away, and done again.
    ///
    /// The caller must not hold the lock of [`Freshness`].
    pub(in crate::engine) fn mending<T>(
        &self,
        work: impl Fn() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        for _ in 0..MOST_CHANGES {
            let mark = self.index.mark();
            // Nonsense can make it panic; without a change below it, the panic is a fault of ours.
            let done = catch_unwind(AssertUnwindSafe(&work));
            if let Some(error) = self.index.changed_since(mark) {
                self.reopen_index(&error);
                continue;
            }
            return match done {
                // The new one may be cut as well while somebody is at it.
                Ok(Err(EngineError::Index(error))) if self.is_mended(&error) => continue,
                Ok(done) => done,
                Err(panic) => resume_unwind(panic),
            };
        }
        self.freshness().avoid_index();
        work()
    }

    /// Opens the index again, whose files were changed below it; makes it anew if they are damaged.
    fn reopen_index(&self, error: &IndexError) {
        // In the order of every other place: what is known first, then the right to write.
        let mut freshness = self.freshness();
        let Ok(_lock) = self.lock_index() else {
            freshness.avoid_index();
            return;
        };
        let is_sound = self.index.is_sound_when_reopened();
        *freshness = Freshness::default();
        match is_sound {
            // Somebody else has made it anew by now, or put the files back.
            Ok(true) => tracing::debug!("{error}; it is opened again"),
            Ok(false) => {
                tracing::warn!("{error}; it is made anew");
                if self.index.reset().is_err() {
                    freshness.avoid_index();
                }
            }
            Err(error) => {
                tracing::warn!("{error}; the files are searched without it");
                freshness.avoid_index();
            }
        }
    }

    /// Begins the index anew if `error` says that it is damaged, or if its files are; has it
    /// avoided for a while if it cannot be read or replaced now. A full disk is no reason.
    fn is_mended(&self, error: &IndexError) -> bool {
        let is_damaged = match error {
            IndexError::Unusable { .. } => true,
            // Whoever writes proves what is there first.
            IndexError::Failed {
                action: "write", ..
            } => return false,
            IndexError::Failed { .. } => {
                let parts = self.index.damaged_parts();
                parts.map_or(true, |parts| !parts.is_empty())
            }
        };
        if !is_damaged {
            let was_read = matches!(error, IndexError::Failed { action: "read", .. });
            if was_read {
                // For want of descriptors or memory: the files can be searched without it.
                tracing::warn!("{error}; the files are searched without it");
                self.freshness().avoid_index();
            }
            return was_read;
        }
        // In the order of every other place: what is known first, then the right to write.
        let mut freshness = self.freshness();
        let Ok(_lock) = self.lock_index() else {
            // Whoever writes it may be stopped; the files can be searched without it.
            freshness.avoid_index();
            return true;
        };
        tracing::warn!("{error}; it is made anew");
        *freshness = Freshness::default();
        if self.index.reset().is_err() {
            freshness.avoid_index();
        }
        true
    }
}
