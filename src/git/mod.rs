//! Repositories: reading, committing, remotes, upkeep.
//!
//! Guarantees: nothing is forced; no work tree is checked out, no hook or filter is run, and the index
//! is changed only for what was committed. The module works with paths, bytes and references, not with
//! memories: callers decide what is committed and how versions are merged.

mod author;
mod committing;
mod error;
mod id;
mod network;
mod project;
mod reading;
mod repository;
mod settings;
mod upkeep;

pub use author::Author;
pub use committing::branch_update::{
    IndexVersion, advance_reference, finish_branch_move, index_version, move_branch,
};
pub use committing::commit::{NewText, TextOf, write_commit};
pub use committing::foreign_files::{
    ForeignChange, foreign_changes, foreign_files_differ, merge_foreign_files,
    stage_foreign_changes,
};
pub use committing::local_commits::{forget_local_commits, is_local_commit};
pub use committing::staging::{KnownFiles, Staged, Stamped, known_files, make_index};
pub use error::GitError;
use error::To;
pub use id::Id;
pub use network::address::{Address, AddressError, Scheme};
pub use network::child::{Limits, end_children};
pub use network::credentials::{ASKPASS, Variables, askpass};
pub use network::failure::NetworkError;
pub use network::job::{Pushed, RemoteBranches};
pub use network::network_settings::{GitProgram, NetworkSettings};
pub use network::redact::without_credentials;
pub use network::remote::{Means, Network};
pub use project::project_name;
pub use reading::history::{
    CommitInfo, commit_info, commits, descends_from, diff, last_commit_time, merge_base,
    reflog_commits,
};
pub use reading::inspect::{LeftOut, inspect};
pub use reading::last_changes::{LastChanges, each_change, last_changes};
pub use reading::revisions::{
    ComparedLine, LineKind, NamedCommit, Places, commit_ids, compare_texts, entries_at, parents,
    places, resolve_revision,
};
pub use reading::trees::{Trees, trees};
pub use reading::words::{MarkedLine, mark_words};
pub use repository::locks::{ClearedLocks, clear_locks};
pub use repository::opening::{Obstacle, Owner, Repository};
pub use repository::packs::remove_unfinished_packs;
pub use repository::path_change::PathChange;
pub use repository::paths::{PathRejection, STORE_PARTS, path_rejection};
pub use repository::processes::is_git_committing;
pub use repository::umask::make_private;
pub use settings::{GitSetting, Honoured, foreign_settings, has_remote};
pub use upkeep::packing::{join_packs, pack_loose_objects};
pub use upkeep::repair::{RESUME, Repaired, repair, replace_repository, repository_faults};
pub use upkeep::rewrite::{IsGone, Rewritten, rewrite_obstacle, rewrite_without};
