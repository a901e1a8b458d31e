//! Commands about sessions of agents: what one begins with.

pub mod brief;
mod text;
