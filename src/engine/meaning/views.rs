//! The views whose passages have vectors: of the memories, and of the turns of their talks.

use std::collections::HashSet;
use std::sync::Arc;

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, indexing};
use crate::engine::meaning::models::Meaning;
use crate::engine::meaning::{models, sharing};
use crate::index::{Coverage, Snapshot, Unembedded};
use crate::vectors::VectorKey;

/// A view of the memories with that of their turns.
pub(in crate::engine::meaning) struct Views {
    pub memories: Arc<dyn Snapshot>,
    /// `None` without talks, and while too many of them wait to be indexed.
    turns: Option<Arc<dyn Snapshot>>,
    /// Whether there are turns that these views lack.
    lacks_turns: bool,
}

impl Views {
    /// Returns the views of now.
    pub fn now(meaning: &Meaning) -> Result<Views, EngineError> {
        let live = &meaning.live;
        let memories = current_snapshot::snapshot(live)?;
        let turns = indexing::turns(live, &memories);
        Ok(Views {
            lacks_turns: turns.is_none() && live.has_talks(),
            memories,
            turns,
        })
    }

    fn all(&self) -> impl Iterator<Item = &Arc<dyn Snapshot>> {
        [&self.memories].into_iter().chain(&self.turns)
    }

    /// Returns the first `limit` passages without a vector of `model`.
    pub fn unembedded(&self, model: &str, limit: usize) -> Result<Vec<Unembedded>, EngineError> {
        let mut missing = Vec::new();
        for view in self.all() {
            missing.extend(view.unembedded(model, limit - missing.len())?);
        }
        Ok(missing)
    }

    /// Returns the vector keys of all passages; `None` if some are not known now.
    pub fn vector_keys(&self) -> Result<Option<HashSet<VectorKey>>, EngineError> {
        if self.lacks_turns {
            return Ok(None);
        }
        let mut keys = HashSet::new();
        for view in self.all() {
            keys.extend(view.vector_keys()?);
        }
        Ok(Some(keys))
    }

    /// Returns the numbers of memories and turns, and of their passages, that have vectors of `model`.
    pub fn coverage(&self, model: &str) -> Result<Coverage, EngineError> {
        let mut coverage = self.memories.coverage(model)?;
        if let Some(turns) = &self.turns {
            let of_turns = turns.coverage(model)?;
            coverage.complete += of_turns.complete;
            coverage.memories += of_turns.memories;
            coverage.wanted += of_turns.wanted;
        }
        Ok(coverage)
    }
}

/// Removes unused vectors, if they are many, and those of other models once
/// the configured one has made all of its own; of those that servers share, once a day.
pub(in crate::engine::meaning) fn tidy_vectors(meaning: &Meaning) -> Result<(), EngineError> {
    let Some(embedder) = models::embedder(meaning) else {
        return Ok(());
    };
    let views = Views::now(meaning)?;
    let coverage = views.coverage(embedder.id())?;
    let is_alone = meaning
        .live
        .index
        .models()
        .iter()
        .all(|name| name == embedder.id());
    let is_waste = coverage.kept > 2 * coverage.wanted;
    if coverage.complete < coverage.memories {
        return Ok(());
    }
    if is_alone && !is_waste && !sharing::is_tidy_due(meaning) {
        return Ok(());
    }
    let Some(wanted) = views.vector_keys()? else {
        return Ok(());
    };
    sharing::tidy(meaning, embedder.id(), &wanted);
    let _lock = meaning.live.lock_index()?;
    meaning.live.index.tidy_vectors(&[embedder.id()], &wanted)?;
    models::forget_earlier(meaning);
    Ok(())
}
