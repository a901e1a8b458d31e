//! Divides the work of a model between servers: a passage that one of them has embedded, or is embedding, is embedded by
//! no other one.
//!
//! Promises: whatever goes wrong has a vector made twice, and changes no answer. It leaves to the place of shared vectors
//! when a claim ends.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::embed::Embedder;
use crate::engine::error::EngineError;
use crate::engine::locked::locked;
use crate::engine::meaning::models::Meaning;
use crate::index::Unembedded;
use crate::vectors::{VectorEntry, VectorKey};

/// Time between two removals of shared vectors that no memory needs.
const TIDY_AGAIN: Duration = Duration::from_secs(24 * 3600);

/// Passages without a vector, divided between servers.
pub(in crate::engine::meaning) struct Division {
    /// Passages that are to be embedded here.
    pub own: Vec<Unembedded>,
    /// Keys of those whose vectors were fetched and stored.
    pub there: Vec<VectorKey>,
    /// Keys of those that another server is embedding.
    pub others: Vec<VectorKey>,
}

/// Fetches and stores vectors of `missing` that are there, and claims what nobody is embedding. Without a place of shared
/// vectors, or while it cannot be reached, all are to be embedded here.
///
/// # Errors
///
/// Fails if vectors cannot be stored.
pub(in crate::engine::meaning) fn divide(
    meaning: &Meaning,
    embedder: &dyn Embedder,
    missing: Vec<Unembedded>,
) -> Result<Division, EngineError> {
    let all = |own| Division {
        own,
        there: Vec::new(),
        others: Vec::new(),
    };
    let Some(shared) = &meaning.shared else {
        return Ok(all(missing));
    };
    let keys: Vec<VectorKey> = missing.iter().map(|one| one.key).collect();
    let mut answer = match shared.fetch_or_claim(embedder.id(), &keys) {
        Ok(answer) => answer,
        Err(error) => {
            tracing::info!("vectors are not shared with other servers now: {error}");
            return Ok(all(missing));
        }
    };
    let mut claimed: HashSet<VectorKey> = answer.claimed.into_iter().collect();
    let dimensions = embedder.dimensions();
    answer.made.retain(|entry| {
        let fits = entry.pieces.iter().all(|piece| piece.len() == dimensions);
        // Such a one is made again here.
        if !fits {
            claimed.insert(entry.key);
        }
        fits
    });
    let there: Vec<VectorKey> = answer.made.iter().map(|entry| entry.key).collect();
    if !there.is_empty() {
        let _lock = meaning.live.lock_index()?;
        meaning
            .live
            .index
            .keep_vectors(embedder.id(), answer.made)?;
    }
    let (own, rest): (Vec<_>, Vec<_>) = missing
        .into_iter()
        .partition(|one| claimed.contains(&one.key));
    let known: HashSet<VectorKey> = there.iter().copied().collect();
    let others = rest.iter().map(|one| one.key);
    Ok(Division {
        own,
        others: others.filter(|key| !known.contains(key)).collect(),
        there,
    })
}

/// Has other servers get vectors that were made here.
pub(in crate::engine::meaning) fn keep(meaning: &Meaning, model: &str, vectors: &[VectorEntry]) {
    if let Some(shared) = &meaning.shared
        && let Err(error) = shared.keep(model, vectors)
    {
        tracing::info!(
            "other servers make {} vectors again: {error}",
            vectors.len()
        );
    }
}

/// Returns whether it is time to look for shared vectors that no memory needs: a server that fetches what it needs has none
/// of them by itself.
pub(in crate::engine::meaning) fn is_tidy_due(meaning: &Meaning) -> bool {
    let tidied = *locked(&meaning.shared_tidied);
    meaning.shared.is_some() && tidied.is_none_or(|at| at.elapsed() >= TIDY_AGAIN)
}

/// Removes shared vectors that are not `wanted` any more.
pub(in crate::engine::meaning) fn tidy(
    meaning: &Meaning,
    model: &str,
    wanted: &HashSet<VectorKey>,
) {
    *locked(&meaning.shared_tidied) = Some(Instant::now());
    if let Some(shared) = &meaning.shared
        && let Err(error) = shared.tidy(model, wanted)
    {
        tracing::info!("unused vectors stay with the servers' database: {error}");
    }
}
