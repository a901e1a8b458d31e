//! Git: what is committed, and what is left alone; looked at with git itself.

mod beside;
mod bytes;
mod commits;
mod dating;
mod erasing;
mod exchange;
mod journals;
mod layout;
pub mod machines;
mod others;
mod past;
mod purging;
mod refused;
mod repairing;
mod replaced;
pub mod repository;
mod resolving;
mod secrets;
mod settings;
#[cfg(unix)]
mod setup;
mod undoing;

pub use repository::Git;

use std::time::Duration;
use std::time::Instant;

/// Waits for something that another process does, longer than it takes on the busiest machine.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
