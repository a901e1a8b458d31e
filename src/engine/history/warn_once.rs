//! Logs a warning once, until it changes.

/// Logs a warning only if the last one was another.
#[derive(Default)]
pub(in crate::engine) struct WarnOnce {
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

    /// Has the next warning logged in any case.
    pub fn forget(&mut self) {
        self.said = None;
    }
}
