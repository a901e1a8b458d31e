//! Commands about sessions of agents: what one begins with, what clients call at its events, and pauses.

pub mod brief;
mod client;
pub mod hook;
pub mod pause;
mod shown;
mod text;
