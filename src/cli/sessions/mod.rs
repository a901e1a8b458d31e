//! Commands about sessions of agents: what one begins with, and what clients call at its events.

pub mod brief;
mod client;
pub mod hook;
mod text;
