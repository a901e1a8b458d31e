//! Notification of the service manager that a server answers.

use std::io;

/// Tells the service manager that started this process that it is ready; does nothing without one.
///
/// # Errors
///
/// Fails if the manager's socket cannot be written.
pub fn tell_ready() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let Some(place) = std::env::var_os("NOTIFY_SOCKET") {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram};
        let bytes = place.as_encoded_bytes();
        let address = match bytes.strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(&place)?,
        };
        UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address)?;
    }
    Ok(())
}
