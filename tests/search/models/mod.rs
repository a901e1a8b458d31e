//! Models: had from a hub, chosen, and asked on a host. All hosts are threads of the test.

mod commands;
mod downloads;
mod hosted;
