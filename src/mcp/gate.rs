//! Admission of calls by a transport that many clients share: who may call, and how many at once.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use ::http::Extensions;

/// Admits each call of a tool and each read of a resource.
pub trait Gate: Send + Sync {
    /// Admits a call, or fails with the reason. It may wait for a turn.
    ///
    /// `request` holds what the transport noted about the request that the call came in.
    fn admit<'a>(&'a self, request: &'a Extensions, writes: bool) -> Admission<'a>;
}

/// The future outcome of a request for admission.
pub type Admission<'a> = Pin<Box<dyn Future<Output = Result<Admitted, String>> + Send + 'a>>;

/// An admitted call.
pub struct Admitted {
    /// Held until the call has ended, also where nobody waits for it any more.
    pub turn: Box<dyn Any + Send>,
    /// Maximum time the client waits.
    pub timeout: Duration,
}
