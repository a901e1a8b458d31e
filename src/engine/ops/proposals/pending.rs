//! Proposals that wait for a decision, and what is known already of what they say.

use crate::engine::error::EngineError;
use crate::engine::ops::hints;
use crate::engine::ops::hints::Contradicted;
use crate::engine::ops::proposals::kept;
use crate::engine::ops::proposals::kept::{Decisions, Proposal};
use crate::engine::ops::retrieval::recall::recall_one;
use crate::engine::ops::retrieval::similar;
use crate::engine::ops::retrieval::similar::Similar;
use crate::engine::parts::Engine;
use crate::injection;
use crate::model::{Filter, Stem, Talks};

/// Share of common runs of three words from which a memory says the same.
const SAME: f32 = 0.6;

/// Memories that say the same as a proposal, or otherwise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KnownOfProposal {
    /// The memory that says the same, with its headline.
    pub duplicate: Option<(Stem, String)>,
    /// Memories that say otherwise.
    pub contradicted: Vec<Contradicted>,
    /// Reasons to read it with care: it may want to steer its reader.
    pub suspicious: Vec<&'static str>,
}

impl KnownOfProposal {
    /// Returns whether nothing speaks against it.
    pub fn is_nothing(&self) -> bool {
        *self == KnownOfProposal::default()
    }
}

/// Returns the proposals that wait for a decision, those of the newest talk first. Those of a talk that is
/// gone are left out.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub fn proposals(engine: &Engine) -> Result<Vec<Proposal>, EngineError> {
    let decisions = Decisions::read(engine)?;
    let mut proposals = kept::read_all(engine)?;
    // A decision is noted before the file is removed.
    proposals.retain(|proposal| !decisions.hold(proposal.talk(), proposal.digest));
    let mut gone: Vec<String> = Vec::new();
    let mut live: Vec<String> = Vec::new();
    for proposal in &proposals {
        let talk = proposal.talk().to_owned();
        if gone.contains(&talk) || live.contains(&talk) {
            continue;
        }
        match recall_one(engine, &talk) {
            Err(EngineError::NotFound(_)) => gone.push(talk),
            _ => live.push(talk),
        }
    }
    proposals.retain(|proposal| !gone.iter().any(|talk| talk == proposal.talk()));
    proposals.sort_by(|one, other| {
        let newest = other
            .memory
            .timestamp
            .utc()
            .cmp(&one.memory.timestamp.utc());
        let by_talk = newest.then_with(|| one.talk().cmp(other.talk()));
        by_talk.then_with(|| one.number.cmp(&other.number))
    });
    Ok(proposals)
}

/// Returns what is known already of what a proposal says.
///
/// # Errors
///
/// Fails if the store cannot be searched.
pub fn known_of_proposal(
    engine: &Engine,
    proposal: &Proposal,
) -> Result<KnownOfProposal, EngineError> {
    let memory = &proposal.memory;
    let contradicted = hints::contradicted_by_unwritten(engine, memory);
    let filter = Filter {
        talks: Talks::Nowhere,
        ..Filter::default()
    };
    let digest = kept::text_digest(&memory.content);
    // Two texts that differ in a number alone resemble each other, and say otherwise.
    let says_otherwise = |stem: &Stem| contradicted.iter().any(|one| one.stem == *stem);
    let is_same = |similar: &Similar| {
        let known = &similar.hit.memory;
        let is_like = similar.similarity >= SAME && !says_otherwise(&known.stem);
        is_like || kept::text_digest(&known.content) == digest
    };
    let mut like = similar::sharing_words(engine, memory, &filter)?.into_iter();
    let duplicate = like.find(is_same).map(|similar| {
        let known = &similar.hit.memory;
        (known.stem.clone(), known.headline().to_owned())
    });
    Ok(KnownOfProposal {
        duplicate,
        contradicted,
        suspicious: injection::find(&memory.content),
    })
}
