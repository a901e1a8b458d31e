//! Tests of whole stores: several writers in random orders, and what ends a test at any of its disk
//! operations.

pub(crate) mod crash;
mod many;
pub(super) mod schedules;
