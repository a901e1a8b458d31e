//! Git: what is committed, what is left alone, and how several machines sync; looked at with
//! git itself.

mod beside;
mod bytes;
mod commits;
mod dating;
mod erasing;
mod exchange;
mod git_network;
mod journals;
mod layout;
mod namesakes;
mod one_memory;
mod others;
mod past;
mod purging;
mod refused;
mod repairing;
mod replaced;
mod resolving;
mod secrets;
mod settings;
#[cfg(unix)]
mod setup;
#[path = "../support/mod.rs"]
mod support;
mod undoing;
#[cfg(unix)]
mod unlisted;
mod with;
