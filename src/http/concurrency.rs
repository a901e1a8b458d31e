//! Limits concurrent calls: reads and writes in separate lanes, so that no write makes a read wait
//! and many calls do not overload the machine; and says on which threads they run.
//!
//! By hand and not by tower's layers: those have one lane, and either wait for ever or send away at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;
use tokio::time::timeout;

/// Maximum number of concurrent reads and writes: 32 in all. Few are writes, because each makes
/// work for every core, which reads want, too; they wait for the disk most of the time.
const READS: usize = 28;
const WRITES: usize = 4;

/// Maximum number of requests that wait for reads, and for writes; further ones are refused at
/// once.
const WAITING: usize = 256;

/// Maximum time a request waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// Seconds after which a client should retry.
pub const RETRY_AFTER: u64 = 1;

/// Maximum number of threads of the runtime on which short calls run: as many as there are processors.
fn short_calls() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 4))
}

/// Returns the number of threads of the runtime: they read requests, write answers, and run short calls. One of them runs
/// none, however long such a call waits for a disk.
pub fn workers() -> usize {
    short_calls() + 1
}

/// Time for which a short call waits for its place, before it gets a thread of its own.
const PLACE_TIMEOUT: Duration = Duration::from_millis(5);

/// Short calls, which run on the threads of the runtime: to wake another thread for one, and this one for its answer,
/// takes longer than many a call.
#[derive(Clone)]
pub struct ShortCalls(Arc<Semaphore>);

impl Default for ShortCalls {
    fn default() -> ShortCalls {
        ShortCalls(Arc::new(Semaphore::new(short_calls())))
    }
}

impl ShortCalls {
    /// Runs `call`: on a thread of the runtime if it `is_short` and a place is free soon, else on one that may wait.
    ///
    /// # Errors
    ///
    /// Fails if the call panics.
    pub async fn run<T: Send + 'static>(
        &self,
        is_short: bool,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let place = match is_short {
            true => timeout(PLACE_TIMEOUT, Arc::clone(&self.0).acquire_owned()).await,
            false => return tokio::task::spawn_blocking(call).await,
        };
        match place {
            Ok(Ok(place)) => {
                let here = async move {
                    let _place = place;
                    call()
                };
                tokio::spawn(here).await
            }
            _ => tokio::task::spawn_blocking(call).await,
        }
    }
}

/// Number of threads for calls: one for each running call, and some for the server's own work.
pub const THREADS: usize = READS + WRITES + 8;

/// Lanes of a server, one for reads and one for writes.
pub struct ConcurrencyLimits {
    reads: Lane,
    writes: Lane,
    timeout: Duration,
}

struct Lane {
    places: usize,
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Permit of a running call, released on drop.
pub type Turn = OwnedSemaphorePermit;

/// Error when the limit of waiting calls or of their waiting time is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overload;

impl Lane {
    fn new(places: usize) -> Lane {
        Lane {
            places,
            turns: Arc::new(Semaphore::new(places)),
            waiting: AtomicUsize::new(0),
        }
    }
}

impl Default for ConcurrencyLimits {
    fn default() -> ConcurrencyLimits {
        ConcurrencyLimits {
            reads: Lane::new(READS),
            writes: Lane::new(WRITES),
            timeout: TURN_TIMEOUT,
        }
    }
}

impl ConcurrencyLimits {
    fn lane(&self, writes: bool) -> &Lane {
        if writes { &self.writes } else { &self.reads }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    ///
    /// Fails if too many calls wait already, or if the turn does not come in time.
    pub async fn turn(&self, writes: bool) -> Result<Turn, Overload> {
        let lane = self.lane(writes);
        let turns = Arc::clone(&lane.turns);
        if let Ok(turn) = Arc::clone(&turns).try_acquire_owned() {
            return Ok(turn);
        }
        let _waits = Waits::of(&lane.waiting)?;
        match tokio::time::timeout(self.timeout, turns.acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(Overload),
        }
    }

    /// Returns the numbers of running and of waiting writes, or reads.
    pub fn load(&self, writes: bool) -> (usize, usize) {
        let lane = self.lane(writes);
        let running = lane.places - lane.turns.available_permits();
        (running, lane.waiting.load(Ordering::Relaxed))
    }
}

/// Counts a waiting call for as long as it is held.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn of(count: &'a AtomicUsize) -> Result<Waits<'a>, Overload> {
        if count.fetch_add(1, Ordering::Relaxed) >= WAITING {
            count.fetch_sub(1, Ordering::Relaxed);
            return Err(Overload);
        }
        Ok(Waits(count))
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn writes_that_fill_their_lane_keep_no_read_waiting() {
        let lanes = ConcurrencyLimits {
            timeout: Duration::from_millis(20),
            ..ConcurrencyLimits::default()
        };
        let mut held = Vec::new();
        for _ in 0..WRITES {
            held.push(lanes.turn(true).await.unwrap());
        }
        assert_eq!(lanes.load(true), (WRITES, 0));
        assert!(lanes.turn(false).await.is_ok());
        // One more waits, in vain.
        assert_eq!(lanes.turn(true).await.unwrap_err(), Overload);
        held.pop();
        assert!(lanes.turn(true).await.is_ok());
        assert_eq!(lanes.load(true), (WRITES - 1, 0));
    }
}
