//! The state of the search by meaning.

use crate::engine::error::EngineError;
use crate::engine::live::current_snapshot;
use crate::engine::meaning::models::{Meaning, Outage, embedder};
use crate::engine::meaning::{models, outage};
use crate::index::Coverage;

/// The number of memories that have vectors, and the model that answers until all have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeaningStatus {
    /// The model that is set.
    pub model: String,
    pub coverage: Coverage,
    /// Another one whose vectors answer meanwhile.
    pub answered_by: Option<String>,
    /// That its host does not answer, so that words alone do.
    pub outage: Option<Outage>,
}

/// The state of the search by meaning; `None` if no model is set.
///
/// # Errors
///
/// Fails if the index cannot be read.
pub fn meaning_status(meaning: &Meaning) -> Result<Option<MeaningStatus>, EngineError> {
    let Some(embedder) = self::embedder(meaning) else {
        return Ok(None);
    };
    let snapshot = current_snapshot::snapshot(&meaning.live)?;
    let earlier = models::earlier(meaning, embedder.id(), snapshot.as_ref())?;
    Ok(Some(MeaningStatus {
        model: embedder.id().to_owned(),
        coverage: snapshot.coverage(embedder.id())?,
        answered_by: earlier.map(|earlier| earlier.id().to_owned()),
        outage: outage::outage(meaning),
    }))
}
