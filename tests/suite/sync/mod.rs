//! Git: what is committed, and what is left alone; looked at with git itself.

mod commits;
mod repository;

pub use repository::Git;
