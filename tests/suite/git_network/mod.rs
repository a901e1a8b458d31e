//! Other copies of a repository: what is accepted as their address, and how they are reached.

mod addresses;
