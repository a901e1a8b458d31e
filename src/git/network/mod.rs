//! Fetches from other machines and pushes to them: by the git program, ssh or HTTP.

pub(in crate::git) mod address;
pub(in crate::git) mod child;
pub(in crate::git) mod connection;
pub(in crate::git) mod credentials;
pub(in crate::git) mod failure;
pub(in crate::git) mod http;
pub(in crate::git) mod job;
pub(in crate::git) mod libgit2;
pub(in crate::git) mod network_settings;
pub(in crate::git) mod program;
pub(in crate::git) mod quarantine;
pub(in crate::git) mod redact;
pub(in crate::git) mod remote;
pub(in crate::git) mod ssh;
pub(in crate::git) mod transport;
