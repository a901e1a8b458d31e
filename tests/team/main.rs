//! Memories in PostgreSQL: the contract of a place for memories, on a directory and on rows; what several servers
//! do to one workspace; and the same answers from both.
//!
//! `tests/team/with_postgres.sh cargo test --features team --test team` starts a server for them. Without
//! `MEMDIR_TEST_POSTGRES` every test here is skipped, and says so.

mod access;
mod answers;
mod audit;
mod away;
mod command;
mod consistency;
mod contract;
mod copies;
mod drain;
mod erasure;
mod examples;
mod faults;
mod history;
mod issuer;
mod joined;
mod journals;
mod local_first;
mod openid;
mod pages;
mod postgres;
mod preferred;
mod quotas;
mod schema;
mod servers;
mod serving;
#[path = "../support/mod.rs"]
mod support;
mod undoing;
mod vectors;
mod walk;
