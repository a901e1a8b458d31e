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

pub use cleanup::Cleanup;
pub use cleanup::FLAGGED_BELOW;
pub use cleanup::Reflected;
pub use cleanup::Reflection;
pub use cleanup::clean_up;
pub use cleanup::decay;
pub use cleanup::reflect;
pub use compaction::Compaction;
pub use compaction::DERIVED_FROM;
pub use compaction::Grouping;
pub use compaction::MOST_SOURCES;
pub use compaction::auto_consolidate;
pub use compaction::compact;
pub use compaction::consolidate;
pub use contradiction::Claims;
pub use contradiction::ContradictionKind;
pub use contradiction::Evidence;
pub use contradiction::contradiction;
pub use duplicate::Action;
pub use duplicate::Decision;
pub use duplicate::DuplicateCandidate;
pub use duplicate::DuplicatePolicy;
pub use duplicate::Ends;
pub use duplicate::IDEMPOTENCY_KEY;
pub use duplicate::Resemblance;
pub use duplicate::ResemblanceReason;
pub use duplicate::Suggestion;
pub use duplicate::WritePolicy;
pub use duplicate::as_update;
pub use duplicate::changed_fields;
pub use duplicate::decide;
pub use duplicate::is_same_text;
pub use duplicate::related_by_topics;
pub use duplicate::replaces_metadata;
pub use life::Decay;
pub use life::Life;
pub use life::Promotion;
pub use observation::Observations;
pub use observation::distil;
pub use plan::Maintenance;
pub use plan::MaintenanceKind;
pub use plan::MaintenancePlan;
pub use proposal::MaintainedMemory;
pub use proposal::Proposal;
pub use state::State;
pub use state::Stated;
pub use state::USUAL_CONFIDENCE;
pub use state::USUAL_IMPORTANCE;
pub use state::state;

#[cfg(test)]
mod tests;
