//! Method of detecting changes: by events, or by listing the folder.

use std::sync::Arc;
use std::time::Instant;

use crate::files::{ChangeFeed, Reader};

/// Method of detecting changes.
#[derive(Default)]
pub(in crate::engine) enum Watching {
    /// Each operation compares: right for a process that runs one.
    #[default]
    Never,
    Events {
        watch: Arc<dyn ChangeFeed>,
        /// Reader of the watched folder.
        reader: Arc<dyn Reader>,
    },
    /// Each operation compares, because there are no events.
    Polling { reason: String, since: Instant },
}
