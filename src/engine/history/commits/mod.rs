//! Commits: which files changed, who changed them and how, what is held back, and what a commit says.
//!
//! The leader has a thread that commits: a second after the last change, at most five after the
//! first. A command commits after its answer where nobody leads. Which files may differ from the
//! newest commit is known by name, from events and own writes; where nobody knows, everything is
//! compared, by git's index as far as its stamps can be relied on. A commit is made from the trees
//! of the newest one: no work tree is checked out. Git's index is told in the same step in which
//! the branch moves, under git's own lock, so that whoever commits with git in the next moment
//! commits what is there. Stores of one repository take turns, and in somebody's repository a git
//! that is about to commit goes first. A process that was killed in between is found by what it had
//! prepared. Where somebody moved the branch since a server looked at it, everything is compared.
//! Many new objects are written as one pack; loose ones are packed when there are many, and sixteen
//! packs become one by copying what they hold.

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
