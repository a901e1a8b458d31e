//! How long the bridge waits for the server.

use std::time::Duration;

/// Maximum time to connect.
pub(super) const CONNECTING: Duration = Duration::from_secs(5);

/// Maximum silence of a live server: it has 30 s for a call, and writes to an open
/// stream every 15 s.
pub(super) const SILENCE: Duration = Duration::from_secs(90);
