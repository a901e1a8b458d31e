//! Commands about a whole store: set it up, trust it, maintain it, empty it.

pub(in crate::cli) mod adopt;
pub(in crate::cli) mod config;
pub(in crate::cli) mod layout;
pub(in crate::cli) mod maintain;
pub(in crate::cli) mod maintenance;
pub(in crate::cli) mod purge;
pub(in crate::cli) mod reset;
pub(in crate::cli) mod resolve;
pub(in crate::cli) mod secrets;
pub(in crate::cli) mod setup;
pub(in crate::cli) mod trust;
