//! Finds memories of no use any more, and those whose confidence does not fit their use.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};

use super::compaction::has_role;
use super::proposal::{MaintainedMemory, Proposal};
use crate::model::{Change, Patch, plain_id};

/// The confidence below which, as of now, a memory is shown to whoever may want to clean up. Nothing is
/// done to it for that.
pub const FLAGGED_BELOW: f64 = 0.1;

/// Conditions of clean-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleanup {
    /// Confidence below which an unused memory is archived.
    pub confidence: f64,
    /// Time without a use after which a memory is unused.
    pub unused: TimeDelta,
}

impl Default for Cleanup {
    fn default() -> Cleanup {
        Cleanup {
            confidence: 0.05,
            unused: TimeDelta::days(90),
        }
    }
}

/// The proposals to archive what is hardly believed, or was superseded by one of the memories `seen`, and is not used. One
/// that itself supersedes another of them stays until that is gone, which would be current again. What the user has
/// pinned, and the standard of a namespace, stay.
pub fn clean_up(seen: &[MaintainedMemory], cleanup: &Cleanup, now: DateTime<Utc>) -> Vec<Proposal> {
    let chains = Chains::of(seen);
    let mut proposals = Vec::new();
    for one in seen {
        let idle = now - one.touched();
        if idle < cleanup.unused || has_role(one) || chains.hides_another(one) {
            continue;
        }
        let why = if chains.is_superseded(one) {
            "superseded".to_owned()
        } else if one.state.confidence < cleanup.confidence {
            format!("confidence {:.2}", one.state.confidence)
        } else {
            continue;
        };
        proposals.push(Proposal {
            archive: vec![one.memory.stem.clone()],
            ..Proposal::new(format!("{why}, not used for {} days", idle.num_days()))
        });
    }
    proposals
}

/// Names by which memories of a set supersede others of it.
struct Chains {
    /// Stems and handles.
    names: HashSet<String>,
    /// Names that others state as those of the newer one.
    newer: HashSet<String>,
}

impl Chains {
    fn of(seen: &[MaintainedMemory]) -> Chains {
        Chains {
            names: seen.iter().flat_map(names_of).collect(),
            newer: seen.iter().filter_map(newer_than).collect(),
        }
    }

    fn is_superseded(&self, one: &MaintainedMemory) -> bool {
        newer_than(one).is_some_and(|newer| self.names.contains(&newer))
    }

    /// Returns whether another memory would be current again without it.
    fn hides_another(&self, one: &MaintainedMemory) -> bool {
        let mut older = one.memory.supersedes.iter().map(|id| plain_id(id));
        older.any(|id| self.names.contains(&id))
            || names_of(one).iter().any(|name| self.newer.contains(name))
    }
}

fn names_of(one: &MaintainedMemory) -> [String; 2] {
    let stem = &one.memory.stem;
    [stem.as_str().to_lowercase(), stem.short().to_lowercase()]
}

fn newer_than(one: &MaintainedMemory) -> Option<String> {
    one.memory.superseded_by.as_deref().map(plain_id)
}

/// Conditions of a look back at all memories.
#[derive(Debug, Clone, PartialEq)]
pub struct Reflection {
    /// Never used, and not young.
    pub stale: TimeDelta,
    /// The importance up to which a memory that was never used is better in the archive.
    pub unimportant: u8,
    pub unimportant_after: TimeDelta,
    /// Minimum number of uses that raises the confidence of a memory to `proven`.
    pub proven_uses: u32,
    pub proven: f64,
    /// Minimum confidence of what the user has stated.
    pub stated: f64,
    /// Loss of confidence of a memory that nobody uses, down to `least`.
    pub doubt: f64,
    pub least: f64,
}

impl Default for Reflection {
    fn default() -> Reflection {
        Reflection {
            stale: TimeDelta::days(7),
            unimportant: 3,
            unimportant_after: TimeDelta::days(7),
            proven_uses: 5,
            proven: 0.8,
            stated: 0.9,
            doubt: 0.15,
            least: 0.3,
        }
    }
}

/// The result: memories that nobody has used, and what could be done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reflected {
    /// The memories that were never used, by their places.
    pub stale: Vec<usize>,
    /// Memories that are better in the archive, and those whose confidence should be another.
    pub proposals: Vec<Proposal>,
}

/// The source of what a user has said.
const USER_STATED: &str = "user-stated";

/// Looks back at the memories `seen`. A memory that states no confidence gets none by doubt: nobody
/// has ever said how sure it is.
pub fn reflect(
    seen: &[MaintainedMemory],
    reflection: &Reflection,
    now: DateTime<Utc>,
) -> Reflected {
    let mut reflected = Reflected::default();
    let chains = Chains::of(seen);
    for (place, one) in seen.iter().enumerate() {
        let memory = &one.memory;
        let uses = one.usage.count();
        let age = now - one.touched();
        let is_stale = uses == 0 && age >= reflection.stale;
        if is_stale {
            reflected.stale.push(place);
        }
        let is_ripe = uses == 0 && age >= reflection.unimportant_after;
        let is_unimportant = one.state.importance <= reflection.unimportant;
        if is_ripe && is_unimportant && !has_role(one) && !chains.hides_another(one) {
            reflected.proposals.push(Proposal {
                archive: vec![memory.stem.clone()],
                ..Proposal::new(format!(
                    "importance {}, never used in {} days",
                    one.state.importance,
                    age.num_days()
                ))
            });
            continue;
        }
        let Some(stated) = memory.confidence else {
            continue;
        };
        let (confidence, because) = if memory.source.as_deref() == Some(USER_STATED) {
            (
                stated.max(reflection.stated),
                "stated by the user".to_owned(),
            )
        } else if uses >= reflection.proven_uses {
            (stated.max(reflection.proven), format!("used {uses} times"))
        } else if is_stale && stated > reflection.least {
            let lowered = (stated - reflection.doubt).max(reflection.least);
            // What was lowered once is not lowered by every look.
            if memory.metadata.iter().any(|(key, _)| key == DOUBTED) {
                continue;
            }
            (lowered, format!("never used in {} days", age.num_days()))
        } else {
            continue;
        };
        let confidence = (confidence * 100.0).round() / 100.0;
        if (confidence - stated).abs() > 0.005 {
            reflected.proposals.push(Proposal {
                edit: vec![(memory.stem.clone(), confident(one, confidence, stated))],
                ..Proposal::new(format!("confidence {stated} → {confidence}: {because}"))
            });
        }
    }
    reflected
}

/// Returns the proposals to state the confidence that memories have as of now. It goes on from there: doing
/// so more often changes nothing.
pub fn decay(seen: &[MaintainedMemory]) -> Vec<Proposal> {
    let other = seen.iter().filter_map(|one| {
        let stated = one.memory.confidence.unwrap_or(super::USUAL_CONFIDENCE);
        let now = (one.state.confidence * 10_000.0).round() / 10_000.0;
        let change = Change {
            confidence: Patch::Set(now),
            ..Change::default()
        };
        ((stated - now).abs() >= DIFFERENT).then(|| Proposal {
            edit: vec![(one.memory.stem.clone(), change)],
            ..Proposal::new(format!("confidence {stated} → {now}"))
        })
    });
    other.collect()
}

/// Two confidences that are nearer to each other are the same for everybody.
const DIFFERENT: f64 = 0.001;

/// Marks a memory whose confidence was lowered for want of use.
const DOUBTED: &str = "doubted";

fn confident(seen: &MaintainedMemory, confidence: f64, before: f64) -> Change {
    let mut change = Change {
        confidence: Patch::Set(confidence),
        ..Change::default()
    };
    if confidence < before {
        let mut metadata = seen.memory.metadata.clone();
        metadata.push((DOUBTED.to_owned(), crate::model::MetaValue::Bool(true)));
        change.metadata = Patch::Set(metadata);
    }
    change
}
