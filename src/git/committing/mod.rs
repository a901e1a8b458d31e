//! Writes commits, and moves the branch and git's index to them.

pub(in crate::git) mod branch_update;
pub(in crate::git) mod commit;
pub(in crate::git) mod foreign_files;
pub(in crate::git) mod index_file;
pub(in crate::git) mod local_commits;
pub(in crate::git) mod staging;
