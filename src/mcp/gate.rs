//! Who may call, and how many at once: what a transport that many clients share has to say.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use ::http::Extensions;

/// Asked before each call of a tool, and each reading of a resource.
pub trait Gate: Send + Sync {
    /// Lets a call in, or says why not. It may wait for a turn.
    ///
    /// `request` holds what the transport noted about the request that the call came in.
    fn admit<'a>(&'a self, request: &'a Extensions, writes: bool) -> Admission<'a>;
}

/// What becomes of a call, once it is known.
pub type Admission<'a> = Pin<Box<dyn Future<Output = Result<Admitted, String>> + Send + 'a>>;

/// A call that was let in.
pub struct Admitted {
    /// Held until the call has ended, also where nobody waits for it any more.
    pub turn: Box<dyn Any + Send>,
    /// Maximum time the client waits.
    pub patience: Duration,
}
