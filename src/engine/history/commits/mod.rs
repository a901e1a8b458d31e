//! Commits: changed files, their authors and operations, held-back files, and messages.
//!
//! The leader has a thread that commits: a second after the last change, at most five after the
//! first. A command commits after its answer if there is no leader. Files that may differ from the
//! newest commit are recorded by name, from events and own writes; without such records, everything is
//! compared, by git's index as far as its stamps can be relied on. A commit is made from the trees
//! of the newest one: no work tree is checked out. Git's index is updated in the same step in which
//! the branch moves, under git's own lock, so that a git commit in the next moment commits the
//! present files. Stores of one repository take turns, and in a user's repository a git
//! that is about to commit goes first. A process that was killed in between is detected by the files
//! that it had prepared. If the branch was moved since a server read it, everything is compared.
//! Many new objects are written as one pack; loose ones are packed when there are many, and sixteen
//! packs are joined by copying their objects.

pub(in crate::engine) mod commit;
pub(in crate::engine) mod commit_message;
pub(in crate::engine) mod compare;
pub(in crate::engine) mod dates;
pub(in crate::engine) mod deletions;
pub(in crate::engine) mod journals;
pub(in crate::engine) mod message;
pub(in crate::engine) mod outgoing_secrets;
pub(in crate::engine) mod quarantine;
pub(in crate::engine) mod replaced;
pub(in crate::engine) mod take_over;
pub(in crate::engine) mod unfinished;
