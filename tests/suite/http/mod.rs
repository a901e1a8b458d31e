//! The server over HTTP, as clients, strangers and operators meet it.

mod guard;
mod interface;
mod limits;
mod news;
mod operation;
mod server;
