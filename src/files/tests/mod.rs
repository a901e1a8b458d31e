//! Tests of whole stores: killed at any call of the file system, and several writers in every order.

pub(crate) mod crash;
pub(super) mod schedules;
