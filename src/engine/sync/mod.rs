//! Git: every change of a memory becomes a commit, and goes to the other machines.
//!
//! Promises: writing a memory waits for none of it; only paths of the store are committed;
//! nothing is forced, and what somebody else has staged, begun or not pushed stays as it is. A
//! merge writes files as any edit does, so that the index sees it as such.

mod adopt;
mod adopt_notes;
mod apply;
mod commit;
mod commit_message;
mod committer;
mod consent;
mod dates;
mod deletions;
mod erase;
mod exchange;
mod exchanger;
mod foreign_files;
mod journals;
mod kept;
mod log;
mod message;
mod outgoing_secrets;
mod pending;
mod plan;
mod purge;
mod quarantine;
mod rearrange;
mod repair;
mod replaced;
mod reset;
mod setup;
mod sources;
mod state;
mod three_way_merge;
mod tidy;
mod tombstones;
mod undo;
mod unfinished;
mod with;
mod words;

pub use adopt_notes::Adopted;
pub use adopt_notes::AdoptedNote;
pub use adopt_notes::Writer;
pub use commit::Committed;
pub(super) use committer::Committer;
pub use erase::Erased;
pub use erase::RemoteHistory;
pub use exchange::Accept;
pub use exchange::Exchanged;
pub use exchange::Moved as Exchange;
pub use log::Log;
pub use log::PastChange;
pub use log::PastError;
pub use log::PastText;
pub use log::Revision;
pub use log::Versions;
pub use outgoing_secrets::Leak;
pub(super) use pending::Pending;
pub use purge::Purged;
pub use purge::Unpurged;
pub use quarantine::Quarantined;
pub use rearrange::Rearranged;
pub use reset::BroughtBack;
pub use reset::Reset;
pub use setup::Setup;
pub use state::GitStatus;
pub use state::RemoteStatus;
pub use state::SyncState;
pub use undo::RestoredText;
pub use undo::Undone;
pub use undo::UndoneFile;
pub use with::Direction;
pub use with::Taken;
pub use with::With;
pub use with::WithReport;
pub use words::OneDeed;

use std::time::Duration;

/// The file that holds the store's settings.
const SETTINGS: &str = "memdir.toml";

/// What git is to know of whoever uses the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOptions {
    /// Who commits where git's configuration names nobody.
    pub user: String,
    /// How often a server looks at the remote.
    pub interval: Duration,
    /// The remote to come into step with where the store names none; empty: the one that its
    /// repository names.
    pub remote: Option<String>,
}
