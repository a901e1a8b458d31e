//! Decides about proposals: one becomes a memory, or is not proposed again.

use crate::engine::error::EngineError;
use crate::engine::ops::proposals::kept;
use crate::engine::ops::proposals::kept::{Decided, Proposal};
use crate::engine::ops::proposals::pending;
use crate::engine::ops::remember::remember;
use crate::engine::ops::remembered::Remembered;
use crate::engine::parts::Engine;

/// Returns the proposal called `id`, by its handle or its stem, among those that wait for a decision.
///
/// # Errors
///
/// Fails if there is none, or if the store cannot be read.
pub fn proposal_called(engine: &Engine, id: &str) -> Result<Proposal, EngineError> {
    let mut proposals = pending::proposals(engine)?;
    proposals.retain(|proposal| kept::is_called(proposal, id));
    let candidates = || {
        proposals
            .iter()
            .map(|one| one.memory.stem.as_str().to_owned())
    };
    match proposals.len() {
        0 => Err(EngineError::NotFound(id.to_owned())),
        1 => Ok(proposals.remove(0)),
        _ => Err(EngineError::Ambiguous {
            id: id.to_owned(),
            candidates: candidates().collect(),
        }),
    }
}

/// Stores a proposal as a memory, with `text` in place of its own if that is given; the memory says from which
/// passage it was learned. A second call, also after a crash, writes no second memory.
///
/// # Errors
///
/// Fails if the memory cannot be written; the proposal is still there then.
pub fn accept_proposal(
    engine: &Engine,
    proposal: &Proposal,
    text: Option<&str>,
) -> Result<Remembered, EngineError> {
    let mut memory = kept::as_new(&proposal.memory);
    if let Some(text) = text {
        memory.content = format!("{}\n", text.trim());
    }
    memory.metadata = vec![kept::stated(kept::LEARNED_FROM, proposal.passage.clone())];
    let key = format!(
        "proposal {:032x}",
        kept::passage_digest(proposal.talk(), proposal.digest)
    );
    let remembered = remember(engine, memory, Some(&key))?;
    settle(engine, proposal, Decided::Accepted)?;
    Ok(remembered)
}

/// Drops a proposal: it is not made again from its talk, and with `for_ever` from none.
///
/// # Errors
///
/// Fails if the decision cannot be written; the proposal is still there then.
pub fn drop_proposal(
    engine: &Engine,
    proposal: &Proposal,
    for_ever: bool,
) -> Result<(), EngineError> {
    engine.writer.check_writable()?;
    let decided = match for_ever {
        true => Decided::Never,
        false => Decided::Dropped,
    };
    settle(engine, proposal, decided)
}

/// Accepts those proposals whose confidence is at least `least` and against which nothing speaks: no memory
/// says the same or otherwise, and it does not want to steer its reader. Returns them with their memories.
///
/// # Errors
///
/// Fails if the store cannot be searched, or a memory cannot be written; those before it stay.
pub fn accept_likely_proposals(
    engine: &Engine,
    proposals: Vec<Proposal>,
    least: f64,
) -> Result<Vec<(Proposal, Remembered)>, EngineError> {
    let mut accepted = Vec::new();
    for proposal in proposals {
        let is_likely = proposal.confidence >= least;
        if is_likely && pending::known_of_proposal(engine, &proposal)?.is_nothing() {
            let remembered = accept_proposal(engine, &proposal, None)?;
            accepted.push((proposal, remembered));
        }
    }
    Ok(accepted)
}

/// Notes a decision, then removes the file: in between, the proposal counts as decided.
fn settle(engine: &Engine, proposal: &Proposal, decided: Decided) -> Result<(), EngineError> {
    kept::note(engine, proposal, decided)?;
    kept::remove(engine, &proposal.memory.stem)
}
