//! The way changes become known: by events, or by listing the folder.

use std::sync::Arc;
use std::time::Instant;

use crate::files::ChangeFeed;

/// The way changes become known.
#[derive(Default)]
pub(in crate::engine) enum Watching {
    /// Each operation looks: right for a process that lives for one.
    #[default]
    Never,
    Events(Arc<dyn ChangeFeed>),
    /// Each operation looks, because there are no events.
    Polling {
        reason: String,
        since: Instant,
    },
}
