//! The server over HTTP, as clients, strangers and operators meet it.

mod bridge;
mod bridge_faults;
mod contract;
mod contract_curl;
mod contract_lists;
mod contract_many;
mod doors;
mod guard;
mod interface;
mod limits;
#[cfg(unix)]
mod news;
mod operation;
mod page;
mod page_forms;
mod relay;
mod service;
#[path = "../support/mod.rs"]
mod support;
