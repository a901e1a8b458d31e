//! Events of a relay: what client and server said, and which of them is gone.

/// Something that happens to a relay.
pub(super) enum Event {
    /// A line of the client, with its line feed.
    Line(Vec<u8>),
    /// The client says nothing more.
    InputEnd,
    /// The client reads nothing more.
    OutputEnd,
    /// The server said that the session is over.
    SessionEnd,
    /// The connection to the server is gone.
    ServerEnd,
}
