//! Commands about a whole store: set it up, trust it, maintain it, empty it.

pub mod adopt;
pub mod config;
#[cfg(feature = "team")]
pub mod erase;
pub mod layout;
pub mod purge;
pub mod reset;
pub mod secrets;
pub mod setup;
pub mod status;
#[cfg(feature = "team")]
pub mod team;
pub mod trust;
