//! How other machines are spoken to: the git program, ssh, http, credentials.

pub(in crate::git) mod child;
pub(in crate::git) mod connection;
pub(in crate::git) mod credentials;
pub(in crate::git) mod failure;
pub(in crate::git) mod http;
pub(in crate::git) mod program;
pub(in crate::git) mod redact;
pub(in crate::git) mod ssh;
pub(in crate::git) mod transport;
pub(in crate::git) mod umask;
