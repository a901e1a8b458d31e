//! Git: every change of a memory becomes a commit, and goes to the other machines.
//!
//! Promises: writing a memory waits for none of it; only paths of the store are committed;
//! nothing is forced, and what somebody else has staged, begun or not pushed stays as it is. A
//! merge writes files as any edit does, so that the index sees it as such.

mod adopt;
mod adopt_notes;
mod apply;
mod commit;
mod committer;
mod consent;
mod dates;
mod deletions;
mod erase;
mod exchange;
mod exchanger;
mod held;
mod journals;
mod kept;
mod leaks;
mod message;
mod others;
mod past;
mod pending;
mod plan;
mod purge;
mod rearrange;
mod repair;
mod replaced;
mod reset;
mod said;
mod setup;
mod sources;
mod state;
mod tidy;
mod tombstones;
mod undo;
mod unfinished;
mod unite;
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
pub use held::HeldBack;
pub use leaks::Leak;
pub use past::Log;
pub use past::PastChange;
pub use past::PastError;
pub use past::PastText;
pub use past::Revision;
pub use past::Versions;
pub(super) use pending::Pending;
pub use purge::Purged;
pub use purge::Unpurged;
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
