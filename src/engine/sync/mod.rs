//! Git: every change of a memory becomes a commit, and goes to the other machines.
//!
//! Promises: writing a memory waits for none of it; only paths of the store are committed;
//! nothing is forced, and what somebody else has staged, begun or not pushed stays as it is. A
//! merge writes files as any edit does, so that the index sees it as such.

mod adopt_notes;
mod commits;
mod past;
mod remote;
mod with;

pub use adopt_notes::Adopted;
pub use adopt_notes::AdoptedNote;
pub use adopt_notes::Writer;
pub use commits::commit::Committed;
pub(super) use commits::committer::Committer;
pub use commits::outgoing_secrets::Leak;
pub(super) use commits::pending::Pending;
pub use commits::quarantine::Quarantined;
pub use commits::words::OneDeed;
pub use past::erase::Erased;
pub use past::erase::RemoteHistory;
pub use past::log::Log;
pub use past::log::PastChange;
pub use past::log::PastError;
pub use past::log::PastText;
pub use past::log::Revision;
pub use past::log::Versions;
pub use past::purge::Purged;
pub use past::purge::Unpurged;
pub use past::rearrange::Rearranged;
pub use past::reset::BroughtBack;
pub use past::reset::Reset;
pub use past::undo::RestoredText;
pub use past::undo::Undone;
pub use past::undo::UndoneFile;
pub use remote::exchange::Accept;
pub use remote::exchange::Exchanged;
pub use remote::exchange::Moved as Exchange;
pub use remote::setup::Setup;
pub use remote::state::GitStatus;
pub use remote::state::RemoteStatus;
pub use remote::state::SyncState;
pub use with::Direction;
pub use with::Taken;
pub use with::With;
pub use with::WithReport;

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
