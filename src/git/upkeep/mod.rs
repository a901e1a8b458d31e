//! Keeps a repository sound: packs, damage, and rewriting a history on request.

pub(in crate::git) mod packing;
pub(in crate::git) mod repair;
pub(in crate::git) mod repair_packs;
pub(in crate::git) mod repair_references;
pub(in crate::git) mod rewrite;
