//! Commands about sessions of agents: what one begins with, what clients call at its events, pauses, and the
//! review of what others wrote and of what talks propose.

pub mod brief;
mod capture;
mod client;
pub mod hook;
pub mod pause;
mod proposals;
pub mod question;
pub mod review;
mod shown;
