//! The engine: a store with all its operations.
//!
//! Parts, lowest first: `live` (reading), `write` (changing), `meaning` (vectors), `history` (git).
//! Each depends only on those before it. Above them are the operations, `ops`, and the background
//! work of a server, `upkeep`.
//!
//! Promises: an operation never answers from the index alone, it first checks whether the files
//! changed; writing a memory needs no index; a damaged file or index affects only itself.

mod call_scope;
mod error;
pub mod history;
pub mod live;
mod locked;
pub mod meaning;
pub mod ops;
mod options;
mod parts;
mod texts;
pub mod upkeep;
mod workspace_clients;
pub mod write;

pub use crate::files::{EndedCall, SequenceError};
pub use crate::import::{Defaults as ImportDefaults, ai_memory_objects};
pub use crate::index::{Coverage, Query, QueryKind};
pub use crate::journal::Record;
pub use crate::learning::CandidateKind;
pub use crate::lifecycle::{
    ContradictionKind, DuplicatePolicy, Evidence, FLAGGED_BELOW, Reflection, Resemblance, State,
    Suggestion, WritePolicy,
};
pub use crate::ranking::brief::{FENCE_CHARACTERS, fenced, line as brief_line};
pub use crate::ranking::{AskedTime, Method, NamedPerson, Ranking};
pub use call_scope::{Announce, CallScope};
pub use error::{EngineError, FoundSecret, Leak, PastError, Quarantined};
pub use history::commits::commit::Committed;
pub use history::past_commits::{PastText, Revision};
pub use history::remote::exchanged::Transfer;
pub use history::remote::exchanged::{Accept, Exchanged};
pub use history::remote::setup::Setup;
pub use history::remote::state::{GitStatus, RemoteLook, RemoteStatus, SyncState};
pub use history::with::exchange::{
    ChangesAnswer, ChangesQuestion, FileChange, ListedFile, ListingPage, ListingQuestion,
    TextsAnswer, TextsQuestion, WorkspaceState,
};
pub use history::with::joined::WorkspaceStatus;
pub use history::with::report::{Direction, Taken, With, WithReport};
pub use history::with::workspace::{WithWorkspace, WorkspaceReport};
pub use live::changes::Listening;
pub use live::indexing::{Progress, Reindexed};
pub use live::leader::Leader;
pub use live::listeners::Changed;
pub use live::names::{EARLIER_OF, Recalled};
pub use live::read_cache::Shared;
pub use meaning::models::Outage;
pub use meaning::status::MeaningStatus;
pub use ops::adopt_notes::{Adopted, AdoptedNote, NoteAuthor};
pub use ops::brief::prompt::{PROMPT_FLOOR, PromptHit, PromptQuery};
pub use ops::brief::provenance::ForeignSource;
pub use ops::brief::session_start::{
    Brief, BriefEntry, BriefLimits, BriefQuery, BriefReason, LeftOut,
};
pub use ops::conflicts::{Resolved, Unmarked, Unmerged};
pub use ops::finding::Finding;
pub use ops::forget::{Archived, Forgotten, Moved};
pub use ops::hints::Contradicted;
pub use ops::import_export::{Import, Imported, KnownAs, Report};
pub use ops::maintenance::perform::{Performed, TakenBack};
pub use ops::maintenance::proposed::Proposed;
pub use ops::maintenance::record::{PlanState, Recorded};
pub use ops::past::erase::{Erased, RemoteHistory};
pub use ops::past::log::{Log, PastChange, Versions};
pub use ops::past::plan::UndoneFile;
pub use ops::past::purge::{Purged, Unpurged};
pub use ops::past::rearrange::Rearranged;
pub use ops::past::reset::{BroughtBack, Reset};
pub use ops::past::undo::{RestoredText, Undone};
pub use ops::proposals::Proposal;
pub use ops::proposals::pending::KnownOfProposal;
pub use ops::proposals::suggest::{
    MODEL_RULE, MOST_CHARACTERS_ASKED, MOST_SUGGESTED, NoAnswer, Suggested, UnaskedSession,
};
pub use ops::relations::contender::{Conflict, Contender};
pub use ops::relations::graph::{Relation, Relations};
pub use ops::relations::links::Decided;
pub use ops::remember::Stored;
pub use ops::remembered::{Remembered, WriteOutcome};
pub use ops::retrieval::grep::GrepLine;
pub use ops::retrieval::search::{Counts, Hit, SearchResults};
pub use ops::retrieval::similar::{Likeness, Similar};
pub use ops::retrieval::time_filter::{BadEnd, END_FORMS, Toward, read_end, read_moment};
pub use ops::secrets::Settled;
pub use ops::stats::Stats;
pub use ops::status::Status;
pub use ops::talks::{Mined, Mining};
pub use ops::update::tier_rank;
pub use ops::verify::Proof;
pub use options::{Backend, GitOptions, Models, Options, WorkspaceOptions};
pub use parts::Engine;
pub use upkeep::background::Background;
pub use workspace_clients::{WorkspaceClient, WorkspaceClients, WorkspaceError};
pub use write::change_notes::OneDeed;
pub use write::put::Edited;
pub use write::screen::Screened;
pub use write::title_lock::TitleLock;
