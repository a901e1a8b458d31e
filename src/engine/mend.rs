//! Throws a damaged index away, so that no question fails because of it.

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
            Err(EngineError::Index(error)) if self.thrown_away(&error) => work(),
            other => other,
        }
    }

    /// Begins the index anew if `error` says that it cannot be read, or if its files are damaged;
    /// a full disk is no reason.
    fn thrown_away(&self, error: &IndexError) -> bool {
        let is_damaged = match error {
            IndexError::Unusable { .. } => true,
            IndexError::Failed { .. } => {
                let parts = self.index.damaged_parts();
                parts.map_or(true, |parts| !parts.is_empty())
            }
        };
        if !is_damaged {
            return false;
        }
        // In the order of every other place: what is known first, then the right to write.
        let mut freshness = self.freshness();
        let Ok(_lock) = self.lock_index() else {
            return false;
        };
        tracing::warn!("{error}; it is made anew");
        *freshness = Freshness::default();
        self.index.reset().is_ok()
    }
}
