//! The state of a memory *as of now*: whether it lives, how long, its confidence and importance;
//! the relation of a new one to those that are there; and maintenance, as plans.
//!
//! Functions of what the file states, of its uses and of a moment; nothing is stored, so reading a
//! memory never changes its file, and no run of any maintenance is needed for a value to be right.
//! Promises: a use never shortens a life and never lowers a value; the order in which uses become
//! known does not matter; what a [`Life`] does not ask for does not happen. Where uses are kept
//! is left to `journal`, what follows from a memory that no longer lives to whoever asks.

mod cleanup;
mod compaction;
mod contradiction;
mod duplicate;
mod life;
mod observation;
mod plan;
mod proposal;
mod state;
mod summary;

pub use cleanup::{Cleanup, FLAGGED_BELOW, Reflected, Reflection, clean_up, decay, reflect};
pub use compaction::{
    Compaction, DERIVED_FROM, Grouping, MOST_SOURCES, auto_consolidate, compact, consolidate,
};
pub use contradiction::{Claims, ContradictionKind, Evidence, contradiction};
pub use duplicate::{
    Action, Decision, DuplicateCandidate, DuplicatePolicy, Ends, IDEMPOTENCY_KEY, Resemblance,
    ResemblanceReason, Suggestion, WritePolicy, as_update, changed_fields, decide, is_same_text,
    related_by_topics, replaces_metadata,
};
pub use life::{Decay, Life, Promotion};
pub use observation::{Observations, distil};
pub use plan::{Maintenance, MaintenanceKind, MaintenancePlan};
pub use proposal::{MaintainedMemory, Proposal};
pub use state::{State, Stated, USUAL_CONFIDENCE, USUAL_IMPORTANCE, state};

#[cfg(test)]
mod tests;
