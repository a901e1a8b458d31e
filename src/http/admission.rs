//! Admits calls by right, rate and load, for REST and MCP alike.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::{CallQuota, Client};
use super::concurrency::{ConcurrencyLimits, Turn};
use super::metrics::Metrics;
use super::rate::{CallCounts, NotCounted, Rates};
use crate::dialect::{CallOutcome, CallRecord, Recorder};
use crate::mcp::{Admission, Admitted, Gate};

/// Maximum time of a call before its client is told to retry.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Admission of calls: checks rights, rate and load.
pub struct AdmissionControl {
    /// Rate limits of clients.
    pub rates: Rates,
    /// Rate limits of the store's owner.
    pub owner_rates: Rates,
    /// Limits of calls that run at once.
    pub concurrency: ConcurrencyLimits,
    /// Calls of workspaces with a quota.
    pub calls: CallCounts,
    /// Held while calls are leased.
    pub leasing: tokio::sync::Mutex<()>,
    pub metrics: Arc<Metrics>,
}

/// Reason why a call was refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AdmissionError {
    #[error("this token may only read: ask the store's owner for one that may write")]
    OnlyReads,
    #[error("too many calls: try again in {:.2} s", .0.as_secs_f64())]
    TooOften(Duration),
    #[error("the workspace may be called {a_minute} times a minute, and was: try again in {} s, or ask its operator for more", wait.as_secs_f64().ceil())]
    OverQuota {
        /// Number of calls.
        a_minute: u64,
        /// Time to wait.
        wait: Duration,
    },
    #[error("too much is going on: try again in a second")]
    Overload,
}

impl AdmissionError {
    /// Returns the layer that refused, for the metrics.
    pub fn layer(self) -> &'static str {
        match self {
            AdmissionError::OnlyReads => "rights",
            AdmissionError::TooOften(_) => "rate",
            AdmissionError::OverQuota { .. } => "quota",
            AdmissionError::Overload => "load",
        }
    }
}

/// Makes the records of a request, where an audit is kept.
#[derive(Clone)]
pub struct Recording(pub Arc<dyn Recorder>);

/// Returns the record of a call of `action` by a request, where an audit is kept.
pub fn recorded(request: &::http::Extensions, action: &str) -> Option<Box<dyn CallRecord>> {
    let recording = request.get::<Recording>()?;
    Some(recording.0.record(action))
}

/// Runs `act`, and keeps its outcome in the record of the call, if there is one: `outcome` of what it returns.
pub fn run_recorded<T, E>(
    record: Option<Box<dyn CallRecord>>,
    act: impl FnOnce() -> Result<T, E>,
    outcome: impl Fn(&T) -> CallOutcome,
) -> Result<T, E> {
    let Some(record) = record else {
        return act();
    };
    let (mut act, mut done) = (Some(act), None);
    record.run(&mut || {
        done = act.take().map(|act| act());
        match &done {
            Some(Ok(value)) => outcome(value),
            _ => CallOutcome::of(false, ""),
        }
    });
    done.expect("a record runs its call")
}

impl AdmissionControl {
    /// Waits for the turn of a call of `client`.
    ///
    /// # Errors
    ///
    /// Fails if the call is refused.
    pub async fn enter(&self, client: &Client, writes: bool) -> Result<Turn, AdmissionError> {
        let entered = self.try_enter(client, writes).await;
        entered.inspect_err(|closed| self.metrics.refused(closed.layer()))
    }

    async fn try_enter(&self, client: &Client, writes: bool) -> Result<Turn, AdmissionError> {
        if writes && !client.may_write() {
            return Err(AdmissionError::OnlyReads);
        }
        let rates = match client.is_owner {
            true => &self.owner_rates,
            false => &self.rates,
        };
        let rated = rates.take(&client.name, writes, Instant::now());
        rated.map_err(AdmissionError::TooOften)?;
        if let Some(quota) = &client.quota {
            self.count(quota).await?;
        }
        let turn = self.concurrency.turn(writes).await;
        turn.map_err(|_| AdmissionError::Overload)
    }

    /// Counts a call against a quota that all servers of the workspace share.
    async fn count(&self, quota: &CallQuota) -> Result<(), AdmissionError> {
        let a_minute = quota.calls_a_minute;
        let take = || match self.calls.take(quota, Instant::now()) {
            Ok(()) => Ok(None),
            Err(NotCounted::Unleased(wanted)) => Ok(Some(wanted)),
            Err(NotCounted::UsedUp(wait)) => Err(AdmissionError::OverQuota { a_minute, wait }),
        };
        if take()?.is_none() {
            return Ok(());
        }
        // One at a time: they would lease more than they need, and a slow database would hold all threads.
        let _alone = self.leasing.lock().await;
        while let Some(wanted) = take()? {
            let (of, asked) = (quota.clone(), Instant::now());
            let lease = move || of.leases.lease(&of.workspace, a_minute, wanted);
            let lease = tokio::task::spawn_blocking(lease).await.ok().flatten();
            self.calls.add(quota, asked, lease);
        }
        Ok(())
    }
}

impl Gate for AdmissionControl {
    fn record(&self, request: &::http::Extensions, action: &str) -> Option<Box<dyn CallRecord>> {
        recorded(request, action)
    }

    fn admit<'a>(&'a self, request: &'a ::http::Extensions, writes: bool) -> Admission<'a> {
        Box::pin(async move {
            // Every request that came through the guard has one.
            let Some(client) = request.get::<Client>() else {
                return Err("nobody said who calls".to_owned());
            };
            let turn = self.enter(client, writes).await;
            let turn = turn.map_err(|closed| closed.to_string())?;
            Ok(Admitted {
                turn: Box::new(turn),
                timeout: CALL_TIMEOUT,
            })
        })
    }
}
