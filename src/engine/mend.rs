//! Throws a damaged index away, and does without one that cannot be read, so that no question
//! fails because of it.

use super::Engine;
use super::EngineError;
use super::freshness::Freshness;
use crate::index::IndexError;

impl Engine {
    /// Does `work`; if the index fails it and is damaged, once more over a new one.
    ///
    /// The caller must not hold the lock of [`Freshness`].
    pub(super) fn mending<T>(
        &self,
        work: impl Fn() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match work() {
            Err(EngineError::Index(error)) if self.is_mended(&error) => work(),
            other => other,
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
