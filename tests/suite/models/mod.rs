//! Models: had from a hub, and asked on a host. All hosts are threads of the test.

mod downloads;
mod hosted;
mod server;
