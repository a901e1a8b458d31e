//! What the program can do: one operation a file, and the background loop.
//!
//! Promises: an operation never answers from the index alone, it first looks whether the files
//! changed; writing a memory needs no index; a damaged file or index costs that one thing. The
//! engine never asks who is calling: what differs between callers comes in as values.

mod archive;
mod background;
mod conflicts;
mod error;
mod exchange;
mod freshness;
mod grep;
mod indexing;
mod leader;
mod looking;
mod maintain;
mod meaning;
mod mend;
mod open;
mod reading;
mod recall;
mod reconcile;
mod remember;
mod screen;
mod search;
mod sync;
mod update;
mod verify;
mod watching;

pub use archive::Moved;
pub use background::Background;
pub use conflicts::Conflict;
pub use conflicts::Contender;
pub use conflicts::Resolved;
pub use conflicts::Unmarked;
pub use conflicts::Unmerged;
pub use error::EngineError;
pub use exchange::Import;
pub use exchange::Imported;
pub use grep::GrepLine;
pub use indexing::Progress;
pub use leader::Leader;
pub use maintain::Finding;
pub use maintain::Status;
pub use open::Engine;
pub use open::OpenEmbedder;
pub use open::Options;
pub use recall::Recalled;
pub use remember::Remembered;
pub use screen::FoundSecret;
pub use screen::Screened;
pub use screen::Settled;
pub use search::Counts;
pub use search::Hit;
pub use search::Search;
pub use search::Thought;
pub use search::Wanted;
pub use sync::Accept;
pub use sync::Committed;
pub use sync::Exchange;
pub use sync::Exchanged;
pub use sync::GitOptions;
pub use sync::GitStatus;
pub use sync::HeldBack;
pub use sync::Leak;
pub use sync::Log;
pub use sync::PastChange;
pub use sync::PastError;
pub use sync::PastText;
pub use sync::Purged;
pub use sync::Rearranged;
pub use sync::RemoteStatus;
pub use sync::RestoredText;
pub use sync::Revision;
pub use sync::Setup;
pub use sync::SyncState;
pub use sync::Undone;
pub use sync::UndoneFile;
pub use sync::Versions;
pub use update::Edited;
pub use verify::Proof;

pub use crate::index::Coverage;
pub use crate::ranking::Method;
pub use crate::ranking::Ranking;
