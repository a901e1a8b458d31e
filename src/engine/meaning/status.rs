//! State of the search by meaning.

use crate::engine::error::EngineError;
use crate::engine::meaning::models::{Meaning, Outage, embedder};
use crate::engine::meaning::views::Views;
use crate::engine::meaning::{models, outage};
use crate::index::Coverage;

/// Model and coverage of the search by meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeaningStatus {
    /// Id of the configured model.
    pub model: String,
    /// Numbers of memories and of turns of talks that have vectors of it.
    pub coverage: Coverage,
    /// Id of another model whose vectors are used meanwhile.
    pub answered_by: Option<String>,
    /// Outage of its host; searches are without it meanwhile.
    pub outage: Option<Outage>,
}

/// Returns the state of the search by meaning; `None` if no model is configured.
///
/// # Errors
///
/// Fails if the index cannot be read.
pub fn meaning_status(meaning: &Meaning) -> Result<Option<MeaningStatus>, EngineError> {
    let Some(embedder) = self::embedder(meaning) else {
        return Ok(None);
    };
    let views = Views::now(meaning)?;
    let earlier = models::earlier(meaning, embedder.id(), views.memories.as_ref())?;
    Ok(Some(MeaningStatus {
        model: embedder.id().to_owned(),
        coverage: views.coverage(embedder.id())?,
        answered_by: earlier.map(|earlier| earlier.id().to_owned()),
        outage: outage::outage(meaning),
    }))
}
