//! Rate limits: a token bucket for each client and each kind of call, and the calls of workspaces with a quota, of which
//! each server of a workspace leases parts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::client::{CallLease, CallQuota};

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

/// Part of a quota that is leased at once: servers ask for calls so many times a minute.
const LEASES_A_MINUTE: u64 = 50;

/// Calls that this server may admit still, of each workspace with a quota.
#[derive(Default)]
pub struct CallCounts(Mutex<HashMap<Arc<str>, Calls>>);

/// Calls of one workspace in one minute.
struct Calls {
    /// End of the minute.
    ends: Instant,
    /// Number of calls that are leased and not taken.
    left: u64,
    /// Number of calls that are leased, for a server that cannot ask the others.
    leased: u64,
    /// Quota that was used up; 0 if none was.
    used_up: u64,
}

/// Reason why a call is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCounted {
    /// The quota is used up for this time.
    UsedUp(Duration),
    /// The server has no lease; it should ask for one of so many calls.
    Unleased(u64),
}

impl CallCounts {
    /// Counts one call against a quota.
    ///
    /// # Errors
    ///
    /// Fails if the quota is used up, or if nothing is leased of it.
    pub fn take(&self, quota: &CallQuota, now: Instant) -> Result<(), NotCounted> {
        self.with(quota, now, |calls| {
            if calls.left > 0 {
                calls.left -= 1;
                return Ok(());
            }
            // A higher one counts at once.
            Err(match quota.calls_a_minute <= calls.used_up {
                true => NotCounted::UsedUp(calls.ends.saturating_duration_since(now)),
                false => NotCounted::Unleased(part_of(quota)),
            })
        })
    }

    /// Adds what was leased of a quota. Where nobody could be asked, this server admits the whole quota by itself.
    pub fn add(&self, quota: &CallQuota, now: Instant, lease: Option<CallLease>) {
        self.with(quota, now, |calls| {
            let own = || CallLease {
                calls: quota
                    .calls_a_minute
                    .saturating_sub(calls.leased)
                    .min(part_of(quota)),
                left: calls.ends.saturating_duration_since(now),
            };
            let lease = lease.unwrap_or_else(own);
            calls.ends = now + lease.left;
            calls.left += lease.calls;
            calls.leased += lease.calls;
            if lease.calls == 0 {
                calls.used_up = quota.calls_a_minute;
            }
        });
    }

    fn with<T>(&self, quota: &CallQuota, now: Instant, act: impl FnOnce(&mut Calls) -> T) -> T {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST_CLIENTS {
            // Minutes that have ended count for nothing.
            counts.retain(|_, calls| now < calls.ends);
        }
        let begun = || Calls {
            ends: now + MINUTE,
            left: 0,
            leased: 0,
            used_up: 0,
        };
        let workspace = Arc::clone(&quota.workspace);
        let calls = counts.entry(workspace).or_insert_with(begun);
        if now >= calls.ends {
            *calls = begun();
        }
        act(calls)
    }
}

/// Returns the number of calls that are leased at once.
fn part_of(quota: &CallQuota) -> u64 {
    (quota.calls_a_minute / LEASES_A_MINUTE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::client::CallLeases;

    /// Leases of a quota that nobody else takes from.
    struct Alone;

    impl CallLeases for Alone {
        fn lease(&self, _: &str, _: u64, _: u64) -> Option<CallLease> {
            None
        }
    }

    fn quota(workspace: &str, calls_a_minute: u64) -> CallQuota {
        CallQuota {
            workspace: workspace.into(),
            calls_a_minute,
            leases: Arc::new(Alone),
        }
    }

    /// Counts a call as a server does that cannot ask the others.
    fn take(counts: &CallCounts, quota: &CallQuota, now: Instant) -> Result<(), Duration> {
        loop {
            match counts.take(quota, now) {
                Ok(()) => return Ok(()),
                Err(NotCounted::UsedUp(wait)) => return Err(wait),
                Err(NotCounted::Unleased(_)) => counts.add(quota, now, None),
            }
        }
    }

    #[test]
    fn the_calls_of_a_workspace_are_counted_by_the_minute_and_apart_from_others() {
        let counts = CallCounts::default();
        let now = Instant::now();
        let taken = (0..9).filter(|_| take(&counts, &quota("atlas", 3), now).is_ok());
        assert_eq!(taken.count(), 3);
        let later = now + Duration::from_secs(45);
        let wait = take(&counts, &quota("atlas", 3), later).unwrap_err();
        assert_eq!(wait, Duration::from_secs(15));
        assert!(take(&counts, &quota("beta", 3), later).is_ok());
        assert!(take(&counts, &quota("atlas", 4), later).is_ok());
        assert!(take(&counts, &quota("atlas", 3), now + MINUTE).is_ok());
        let taken = (0..2000).filter(|_| take(&counts, &quota("gamma", 990), now).is_ok());
        assert_eq!(taken.count(), 990);
    }

    #[test]
    fn a_lease_ends_with_its_minute_and_of_a_used_up_quota_there_is_none() {
        let counts = CallCounts::default();
        let (now, quota) = (Instant::now(), quota("atlas", 200));
        let left = Duration::from_secs(20);
        assert_eq!(counts.take(&quota, now), Err(NotCounted::Unleased(4)));
        counts.add(&quota, now, Some(CallLease { calls: 4, left }));
        for _ in 0..3 {
            counts.take(&quota, now).unwrap();
        }
        // The fourth of the minute before is gone.
        let next = counts.take(&quota, now + left);
        assert_eq!(next, Err(NotCounted::Unleased(4)));
        counts.add(&quota, now + left, Some(CallLease { calls: 0, left }));
        let next = counts.take(&quota, now + left);
        assert_eq!(next, Err(NotCounted::UsedUp(left)));
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
