//! How long the bridge waits for the server.

use std::time::Duration;

/// So long it may take to be connected.
pub(super) const CONNECTING: Duration = Duration::from_secs(5);

/// So long a server that lives is never silent: it has 30 s for a call, and writes to an open
/// stream every 15 s.
pub(super) const SILENCE: Duration = Duration::from_secs(90);
