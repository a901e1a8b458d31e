//! Time limits of requests, and their number of tries.

use std::time::Duration;

/// Time limits of requests, and their number of tries.
#[derive(Debug, Clone)]
pub struct RequestLimits {
    /// To find a host and to be connected.
    pub connect: Duration,
    /// For the next bytes.
    pub silence: Duration,
    /// Minimum number of bytes that have to come in each such time, or nothing is coming.
    pub least: u64,
    /// Maximum number of tries that get nowhere.
    pub tries: u32,
    /// Before the second try; it doubles with each.
    pub pause: Duration,
    /// Maximum time that a server may ask to be left alone for; after a longer one it is not asked
    /// again.
    pub longest_wait: Duration,
}

impl Default for RequestLimits {
    fn default() -> RequestLimits {
        RequestLimits {
            connect: Duration::from_secs(20),
            // Longer than a mobile connection hangs; a tenth of the slowest modem.
            silence: Duration::from_secs(30),
            least: 16 << 10,
            tries: 5,
            pause: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
        }
    }
}
