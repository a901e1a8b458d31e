//! Says a warning once, until it changes.

/// Says the same thing once.
#[derive(Default)]
pub(in crate::engine) struct WarnOnce {
    pub(in crate::engine) said: Option<String>,
}

impl WarnOnce {
    /// Says it, unless it was what was said last.
    pub fn say(&mut self, what: String) {
        if self.said.as_ref() != Some(&what) {
            tracing::warn!("{what}");
            self.said = Some(what);
        }
    }

    /// All is well again: whatever comes is new.
    pub fn forget(&mut self) {
        self.said = None;
    }
}
