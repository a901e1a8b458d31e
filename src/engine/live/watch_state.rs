//! How changes become known: by events, or by looking.

use std::sync::Arc;
use std::time::Instant;

use crate::watch::Watch;

/// How changes become known.
#[derive(Default)]
pub(in crate::engine) enum Watching {
    /// Each operation looks: right for a process that lives for one.
    #[default]
    Never,
    Events(Arc<Watch>),
    /// Each operation looks, because there are no events.
    Polling {
        reason: String,
        since: Instant,
    },
}
