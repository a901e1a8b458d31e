//! Timeouts of the bridge.

use std::time::Duration;

/// Maximum time to connect.
pub(super) const CONNECTING: Duration = Duration::from_secs(5);

/// Maximum silence of a live server: a call takes 30 s at most, and an open stream gets a line every
/// 15 s.
pub(super) const SILENCE: Duration = Duration::from_secs(90);
