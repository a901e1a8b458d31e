//! Logs a warning once, until it changes.

/// Logs a warning only if it differs from the last one.
#[derive(Default)]
pub(in crate::engine) struct WarnOnce {
    /// Last logged warning.
    pub(in crate::engine) said: Option<String>,
}

impl WarnOnce {
    /// Logs `what`, unless it was logged last.
    pub fn say(&mut self, what: String) {
        if self.said.as_ref() != Some(&what) {
            tracing::warn!("{what}");
            self.said = Some(what);
        }
    }

    /// Makes the next warning logged in any case.
    pub fn forget(&mut self) {
        self.said = None;
    }
}
