//! Models: had from a hub. All hosts are threads of the test.

mod downloads;
mod server;
