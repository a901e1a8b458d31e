//! How long is waited for what, and how often something is tried.

use std::time::Duration;

/// How long is waited for what, and how often something is tried.
#[derive(Debug, Clone)]
pub struct Limits {
    /// To find a host and to be connected.
    pub connect: Duration,
    /// For the next bytes.
    pub silence: Duration,
    /// At least so many bytes have to come in each such time, or nothing is coming.
    pub least: u64,
    /// How often something is tried without getting anywhere.
    pub tries: u32,
    /// Before the second try; it doubles with each.
    pub pause: Duration,
    /// Who wants to be left alone for longer is not asked again.
    pub longest_wait: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
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
