//! Choice of the memories that a session begins with: the *brief*.
//!
//! Nobody has asked yet, so there is no query. A memory gets a place by a reason, the strongest one that
//! holds: it is a standard, it is pinned, it is of the last session, it is a decision, it is open, it says
//! what is preferred. The places that are left go to those memories of the project whose texts say most.
//! Promises: the same candidates give the same brief; every limit of [`BriefLimits`] holds; of two copies of
//! one text only one is chosen. What may be shown at all is decided by the caller. docs/SESSIONS.md
//! describes it, with the measurements.

mod choice;
mod excerpt;
mod knowledge;
mod reason;

pub use choice::{BriefCandidate, BriefItem, BriefLimits, BriefPlace, choose};
pub use excerpt::{FENCE_CHARACTERS, fenced, line};
pub use reason::BriefReason;
