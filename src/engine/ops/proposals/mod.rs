//! Proposals: candidates of talks that wait for a person to accept or drop them.

pub(in crate::engine) mod decide;
mod kept;
pub(in crate::engine) mod pending;
pub(in crate::engine) mod propose;
pub(in crate::engine) mod suggest;
pub(in crate::engine) mod withdraw;

pub use kept::Proposal;
