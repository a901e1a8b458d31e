//! An open connection, which ends when nobody holds it any more.

/// An open connection, closed on drop.
pub struct Open(pub(super) tokio::task::JoinHandle<()>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.abort();
    }
}
