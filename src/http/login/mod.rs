//! Logs browsers in: by a code that is valid once ([`codes`]), or by a token of a workspace, a session begins, which is
//! known by a cookie that no script and no other site gets ([`sessions`]).

pub mod codes;
pub(super) mod sessions;
