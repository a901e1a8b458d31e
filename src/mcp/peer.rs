//! The other end of a socket.

use std::io;
use std::os::unix::net::UnixStream;

/// Returns whether the other end of a socket is a process of this user.
///
/// # Errors
///
/// Fails if the system does not say whose it is.
pub fn is_own(stream: &UnixStream) -> io::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _inside = runtime.enter();
    stream.set_nonblocking(true)?;
    let asked = tokio::net::UnixStream::from_std(stream.try_clone()?);
    let peer = asked.and_then(|stream| stream.peer_cred());
    // Both handles are of one socket.
    stream.set_nonblocking(false)?;
    Ok(peer?.uid() == rustix::process::geteuid().as_raw())
}
