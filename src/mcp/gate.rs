//! Admission of calls by a transport that many clients share: authorization and limits.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use ::http::Extensions;

use crate::dialect::CallRecord;

/// Admission of each call of a tool and each read of a resource.
pub trait Gate: Send + Sync {
    /// Admits a call, or fails with the reason. It may wait for a turn.
    ///
    /// `request` holds the transport's data of the request with the call.
    fn admit<'a>(&'a self, request: &'a Extensions, writes: bool) -> Admission<'a>;

    /// Returns the record of a call of `action` by the same request, where an audit is kept.
    fn record(&self, _request: &Extensions, _action: &str) -> Option<Box<dyn CallRecord>> {
        None
    }
}

/// Future result of an admission.
pub type Admission<'a> = Pin<Box<dyn Future<Output = Result<Admitted, String>> + Send + 'a>>;

/// An admitted call.
pub struct Admitted {
    /// Value held until the call has ended, also if the client no longer waits for it.
    pub turn: Box<dyn Any + Send>,
    /// Maximum time that the client waits.
    pub timeout: Duration,
}
