//! Makes knowledge of repeated observations.
//!
//! A statement that several episodic memories share is taken for a lasting fact: a semantic memory
//! says it in the words of one of them and is linked to all. They stay, because they know when it
//! happened.

use std::collections::BTreeSet;

use super::compaction::{MOST_SOURCES, common, derived_from, is_summary};
use super::proposal::{MaintainedMemory, Proposal};
use crate::model::{Kind, MetaValue, NewMemory};

/// Conditions under which an observation is repeated.
#[derive(Debug, Clone, PartialEq)]
pub struct Observations {
    /// Minimum number of memories that make the observation.
    pub min_count: usize,
    /// Minimum similarity by vectors: a cosine.
    pub similarity: f32,
    /// Minimum similarity by words, where there are no vectors: the share of common runs of words.
    pub resemblance: f32,
}

impl Default for Observations {
    fn default() -> Observations {
        Observations {
            min_count: 3,
            similarity: 0.88,
            resemblance: 0.6,
        }
    }
}

/// Name of the field with the number of observations that a memory is based on.
const OBSERVED: &str = "observations";

/// Proposes groups of similar memories. Each of `pairs` are the positions in `seen` of two similar
/// memories. A group is a memory and those that are similar to it; no memory is in two groups.
pub fn distil(
    seen: &[MaintainedMemory],
    pairs: &[(usize, usize)],
    observations: &Observations,
) -> Vec<Proposal> {
    let mut like: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); seen.len()];
    for &(one, other) in pairs {
        if one != other {
            like[one].insert(other);
            like[other].insert(one);
        }
    }
    let mut order: Vec<usize> = (0..seen.len()).collect();
    // Whoever is like the most is the middle of its group; among equals the earlier one.
    order.sort_by_key(|&at| (std::cmp::Reverse(like[at].len()), at));
    // A summary is no observation.
    let mut taken: Vec<bool> = seen.iter().map(is_summary).collect();
    let mut proposals = Vec::new();
    for at in order {
        let group = like[at].iter().copied().filter(|&at| !taken[at]);
        let group: Vec<usize> = group.take(MOST_SOURCES - 1).collect();
        if taken[at] || group.len() + 1 < observations.min_count {
            continue;
        }
        taken[at] = true;
        group.iter().for_each(|&at| taken[at] = true);
        let group: Vec<&MaintainedMemory> =
            [at].into_iter().chain(group).map(|at| &seen[at]).collect();
        proposals.push(proposal(&group));
    }
    proposals
}

/// Returns the first of the group gives the words.
fn proposal(group: &[&MaintainedMemory]) -> Proposal {
    let fact = &group[0].memory;
    let topics = fact.topics.clone();
    let new = NewMemory {
        agent: common(group.iter().map(|one| one.memory.agent.as_str())),
        user: common(group.iter().map(|one| one.memory.user.as_str())),
        topics,
        title: fact.title.clone(),
        kind: Some(Kind::Semantic),
        namespace: fact.namespace.clone(),
        scope: fact.scope,
        importance: group.iter().filter_map(|one| one.memory.importance).max(),
        source: Some("inferred".to_owned()),
        confidence: group
            .iter()
            .filter_map(|one| one.memory.confidence)
            .min_by(f64::total_cmp),
        links: group
            .iter()
            .map(|one| derived_from(&one.memory.stem))
            .collect(),
        metadata: vec![(OBSERVED.to_owned(), MetaValue::Int(group.len() as i64))],
        content: fact.content.clone(),
        ..NewMemory::default()
    };
    Proposal {
        create: Some(new),
        ..Proposal::new(format!(
            "{} observations say: {}",
            group.len(),
            fact.headline()
        ))
    }
}
