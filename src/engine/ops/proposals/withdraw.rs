//! Withdraws the proposals of talks that are purged: nothing of their text stays.

use crate::engine::error::EngineError;
use crate::engine::ops::proposals::kept;
use crate::engine::parts::Engine;
use crate::model::Stem;

/// Removes the proposals of the talk `talk`.
///
/// # Errors
///
/// Fails if a file cannot be read or removed.
pub(in crate::engine) fn withdraw(engine: &Engine, talk: &Stem) -> Result<(), EngineError> {
    for proposal in kept::read_all(engine)? {
        if proposal.talk() == talk.as_str() {
            kept::remove(engine, &proposal.memory.stem)?;
        }
    }
    Ok(())
}
