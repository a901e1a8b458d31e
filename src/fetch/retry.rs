//! When something is tried again, and after how long.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use chrono::DateTime;
use ureq::http::HeaderMap;

use super::error::FetchError;
use super::limits::RequestLimits;

/// The failure of one attempt.
pub(super) enum AttemptFailure {
    /// Trying again is of no use.
    Final(FetchError),
    /// It may be better soon; the server may have said when.
    Passing {
        error: FetchError,
        wait: Option<Duration>,
    },
}

impl From<FetchError> for AttemptFailure {
    fn from(error: FetchError) -> AttemptFailure {
        AttemptFailure::Final(error)
    }
}

/// The tries that are left.
pub(super) struct Tries<'a> {
    limits: &'a RequestLimits,
    done: u32,
}

impl<'a> Tries<'a> {
    pub fn new(limits: &'a RequestLimits) -> Tries<'a> {
        Tries { limits, done: 0 }
    }

    /// Forgets the tries so far: something was reached.
    pub fn begin_anew(&mut self) {
        self.done = 0;
    }

    /// Returns the time to wait until the next try.
    ///
    /// # Errors
    ///
    /// Fails with the trouble if it is final, if there were enough tries, or if the server wants
    /// a longer wait than anybody has.
    pub fn next(&mut self, trouble: AttemptFailure) -> Result<Duration, FetchError> {
        let (error, wait) = match trouble {
            AttemptFailure::Final(error) => return Err(error),
            AttemptFailure::Passing { error, wait } => (error, wait),
        };
        self.done += 1;
        let is_too_long = wait.is_some_and(|wait| wait > self.limits.longest_wait);
        if self.done >= self.limits.tries || is_too_long {
            return Err(error);
        }
        Ok(wait.unwrap_or_else(|| {
            let pause = self.limits.pause * 2_u32.pow((self.done - 1).min(16));
            jittered(pause.min(self.limits.longest_wait))
        }))
    }
}

/// Between half of a pause and all of it, so that many clients do not come back at once.
fn jittered(pause: Duration) -> Duration {
    // The only source of chance in the standard library.
    let chance = RandomState::new().build_hasher().finish() % 1_024;
    pause / 2 + pause / 2 * u32::try_from(chance).expect("it is below 1,024") / 1_024
}

/// Returns the time for which the server wants to be left alone: a number of seconds, or until a
/// moment by its own clock.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let value = text("retry-after")?;
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = |text: &str| DateTime::parse_from_rfc2822(text).ok();
    let wait = moment(value)? - moment(text("date")?)?;
    Some(wait.to_std().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_when_it_wants_to_be_asked_again() {
        let after = |pairs: &[(&'static str, &str)]| {
            let headers = pairs.iter().map(|(name, value)| {
                let name = ureq::http::HeaderName::from_static(name);
                (name, value.parse().unwrap())
            });
            retry_after(&headers.collect())
        };
        let seconds = |count| Some(Duration::from_secs(count));
        assert_eq!(after(&[("retry-after", "7")]), seconds(7));
        let date = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        let later = ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT");
        assert_eq!(after(&[date, later]), seconds(30));
        let earlier = ("retry-after", "Wed, 21 Oct 2026 07:00:00 GMT");
        assert_eq!(after(&[date, earlier]), seconds(0));
        assert_eq!(after(&[later]), None);
        assert_eq!(after(&[("retry-after", "soon")]), None);
    }

    #[test]
    fn pauses_grow_and_end() {
        let limits = RequestLimits {
            tries: 4,
            pause: Duration::from_secs(1),
            ..RequestLimits::default()
        };
        let mut tries = Tries::new(&limits);
        let mut next = |wait| {
            let error = FetchError::broken(&"", "");
            tries.next(AttemptFailure::Passing { error, wait })
        };
        let between = |pause: Duration, least: u64, most: u64| {
            assert!(pause >= Duration::from_millis(least), "{pause:?}");
            assert!(pause <= Duration::from_millis(most), "{pause:?}");
        };
        between(next(None).unwrap(), 500, 1_000);
        between(next(None).unwrap(), 1_000, 2_000);
        let asked = Duration::from_secs(9);
        assert_eq!(next(Some(asked)).unwrap(), asked);
        assert!(next(None).is_err());
        let mut tries = Tries::new(&limits);
        let error = FetchError::broken(&"", "");
        let wait = Some(Duration::from_secs(86_400));
        assert!(tries.next(AttemptFailure::Passing { error, wait }).is_err());
    }
}
