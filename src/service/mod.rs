//! A server that the system starts with the user's session: a systemd user unit, or a launchd agent.
//!
//! Promises: a store has one service, whose name follows from the store. A file of that name which memdir did
//! not write is left alone. The same request twice is the same as once. What fails leaves the file that was
//! there before, or none. The programs of the service manager are started here and nowhere else; what is
//! served, and with which options, is given to it.

mod definition;
mod error;
mod install;
mod launchd;
mod manager;
mod ready;
mod systemd;

pub use definition::Definition;
pub use error::ServiceError;
pub use install::{Folders, Installed, Service};
pub use manager::Manager;
pub use ready::tell_ready;
