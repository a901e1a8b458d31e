//! Rate limits: a token bucket for each client and each kind of call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::client::CallQuota;

/// Maximum number of clients in the table; the least recent one is dropped, and starts with a full
/// budget.
const MOST_CLIENTS: usize = 1024;

/// Limit of calls of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Calls per second in the long run; 0 is no limit.
    pub a_second: u32,
    /// Maximum number of calls at once after a pause.
    pub burst: u32,
}

/// Remaining budget of each client.
pub struct Rates {
    reads: Rate,
    writes: Rate,
    clients: Mutex<HashMap<Arc<str>, Client>>,
}

struct Client {
    reads: Bucket,
    writes: Bucket,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        let refilled = self.left + since * f64::from(rate.a_second);
        self.left = refilled.min(f64::from(rate.burst));
        self.at = now;
        if self.left >= 1.0 {
            self.left -= 1.0;
            return Ok(());
        }
        let wait = (1.0 - self.left) / f64::from(rate.a_second);
        Err(Duration::from_secs_f64(wait))
    }
}

impl Rates {
    /// Creates limits that hold for each client.
    pub fn new(reads: Rate, writes: Rate) -> Rates {
        Rates {
            reads,
            writes,
            clients: Mutex::default(),
        }
    }

    /// Takes one call from the budget of `client`.
    ///
    /// # Errors
    ///
    /// Fails with the time to wait where the budget is used up.
    pub fn take(&self, client: &Arc<str>, writes: bool, now: Instant) -> Result<(), Duration> {
        let rate = if writes { self.writes } else { self.reads };
        if rate.a_second == 0 {
            return Ok(());
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MOST_CLIENTS && !clients.contains_key(client) {
            let last = |client: &Client| client.reads.at.max(client.writes.at);
            let idlest = clients.iter().min_by_key(|(_, client)| last(client));
            let idlest = idlest.map(|(name, _)| Arc::clone(name));
            idlest.map(|name| clients.remove(&name));
        }
        let full = |rate: Rate| Bucket {
            left: f64::from(rate.burst),
            at: now,
        };
        let client = clients.entry(Arc::clone(client)).or_insert_with(|| Client {
            reads: full(self.reads),
            writes: full(self.writes),
        });
        let bucket = match writes {
            true => &mut client.writes,
            false => &mut client.reads,
        };
        bucket.take(rate, now)
    }
}

/// Duration over which the calls of a workspace are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// Number of calls of each workspace with a quota, in the minute that its first one began.
#[derive(Default)]
pub struct CallCounts(Mutex<HashMap<Arc<str>, (Instant, u64)>>);

impl CallCounts {
    /// Counts one call against a quota.
    ///
    /// # Errors
    ///
    /// Fails with the time to wait where the quota is used up.
    pub fn take(&self, quota: &CallQuota, now: Instant) -> Result<(), Duration> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST_CLIENTS {
            // Minutes that have ended count for nothing.
            counts.retain(|_, (begun, _)| now.saturating_duration_since(*begun) < MINUTE);
        }
        let workspace = Arc::clone(&quota.workspace);
        let (begun, count) = counts.entry(workspace).or_insert((now, 0));
        let passed = now.saturating_duration_since(*begun);
        if passed >= MINUTE {
            (*begun, *count) = (now, 0);
        }
        if *count >= quota.calls_a_minute {
            return Err(MINUTE.saturating_sub(passed));
        }
        *count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_a_workspace_are_counted_by_the_minute_and_apart_from_others() {
        let counts = CallCounts::default();
        let quota = |workspace: &str, calls_a_minute| CallQuota {
            workspace: workspace.into(),
            calls_a_minute,
        };
        let now = Instant::now();
        let taken = (0..9).filter(|_| counts.take(&quota("atlas", 3), now).is_ok());
        assert_eq!(taken.count(), 3);
        let later = now + Duration::from_secs(45);
        let wait = counts.take(&quota("atlas", 3), later).unwrap_err();
        assert_eq!(wait, Duration::from_secs(15));
        assert!(counts.take(&quota("beta", 3), later).is_ok());
        assert!(counts.take(&quota("atlas", 4), later).is_ok());
        assert!(counts.take(&quota("atlas", 3), now + MINUTE).is_ok());
    }

    const READS: Rate = Rate {
        a_second: 50,
        burst: 200,
    };
    const WRITES: Rate = Rate {
        a_second: 10,
        burst: 20,
    };

    #[test]
    fn a_thousand_calls_at_once_are_cut_and_others_are_unhurt() {
        let rates = Rates::new(READS, WRITES);
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let now = Instant::now();
        let taken = (0..1000).filter(|_| rates.take(&one, false, now).is_ok());
        assert_eq!(taken.count(), 200);
        let wait = rates.take(&one, false, now).unwrap_err();
        assert_eq!(wait.as_millis(), 20);
        assert!(rates.take(&one, true, now).is_ok());
        assert!(rates.take(&other, false, now).is_ok());
        // Half a second later half a second's calls are there.
        let later = now + Duration::from_millis(500);
        let taken = (0..1000).filter(|_| rates.take(&one, false, later).is_ok());
        assert_eq!(taken.count(), 25);
    }

    #[test]
    fn no_limit_is_no_limit_and_what_is_remembered_is_bounded() {
        let none = Rate {
            a_second: 0,
            burst: 0,
        };
        let rates = Rates::new(none, WRITES);
        let one: Arc<str> = "one".into();
        let now = Instant::now();
        assert!((0..10_000).all(|_| rates.take(&one, false, now).is_ok()));
        for number in 0..3 * MOST_CLIENTS {
            let _ = rates.take(&format!("client {number}").into(), true, now);
        }
        assert!(rates.clients.lock().unwrap().len() <= MOST_CLIENTS);
    }
}
