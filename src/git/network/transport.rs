//! A transport for libgit2 over connections that are made here.
//!
//! libgit2's own transports need OpenSSL and libssh2 on every machine, and cannot be aborted from
//! another thread. This libgit2 is built without TLS and ssh, and finds a transport by the scheme of the
//! address in a table of the process. One scheme is registered there, [`URL`]; a variable of the working
//! thread holds the remote that it means. So libgit2 never parses an address, never follows a redirect,
//! and never opens a connection itself.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream, Transport};
use git2::{Error, Remote};

use crate::git::network::connection::Connection;
use crate::git::network::{http, ssh};

/// Address that libgit2 gets for every remote that is not a folder.
pub(in crate::git) const URL: &str = "memdir://remote";

thread_local! {
    /// Remote that `URL` means in this thread.
    static CURRENT: RefCell<Option<Arc<Connection>>> = const { RefCell::new(None) };
}

/// Calls `work`, in which `URL` means the remote of this connection.
pub(in crate::git) fn with<T>(
    connection: &Arc<Connection>,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    register()?;
    CURRENT.set(Some(Arc::clone(connection)));
    let result = work();
    CURRENT.set(None);
    result
}

/// Registers the scheme in libgit2's table, once for the process.
#[allow(
    unsafe_code,
    reason = "libgit2's table of transports has no lock of its own"
)]
fn register() -> Result<(), Error> {
    static REGISTERED: OnceLock<Result<(), String>> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        // SAFETY: nothing else may change or read the table meanwhile. This is the only place that
        // changes it, once; and it is read when a remote is connected, which happens only inside
        // of `with`, after this line has been passed.
        let registered = unsafe { git2::transport::register("memdir", make) };
        registered.map_err(|error| error.message().to_owned())
    });
    registered
        .clone()
        .map_err(|message| Error::from_str(&message))
}

fn make(remote: &Remote<'_>) -> Result<Transport, Error> {
    let connection = CURRENT.with_borrow(Clone::clone);
    let connection = connection.ok_or_else(|| Error::from_str("no remote is meant"))?;
    let is_stateless = connection.address().is_http();
    Transport::smart(remote, is_stateless, Way { connection })
}

/// Transport to one remote.
struct Way {
    connection: Arc<Connection>,
}

impl SmartSubtransport for Way {
    fn action(&self, _: &str, service: Service) -> Result<Box<dyn SmartSubtransportStream>, Error> {
        let connection = Arc::clone(&self.connection);
        if connection.address().is_http() {
            return Ok(Box::new(http::Exchange::new(connection, service)));
        }
        match ssh::Channel::open(connection, service) {
            Ok(channel) => Ok(Box::new(channel)),
            Err(failure) => Err(self.connection.fails(failure)),
        }
    }

    fn close(&self) -> Result<(), Error> {
        self.connection.close();
        Ok(())
    }
}
