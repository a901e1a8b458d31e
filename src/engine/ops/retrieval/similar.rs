//! Memories similar to another.

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, rows, usage};
use crate::engine::meaning::{embedding, models, outage, passages};
use crate::engine::ops::retrieval::search;
use crate::engine::ops::retrieval::search::Hit;
use crate::engine::parts::Engine;
use crate::index::{Embedded, Query, passage};
use crate::model::{Filter, Memory};
use crate::ranking;
use crate::ranking::Method;

/// Measure by which two memories were compared. Values of different measures are not
/// comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// Cosine of their vectors: high for the same meaning in other words.
    Meaning,
    /// Share of common runs of three words: high only for nearly the same words.
    Shingles,
}

/// A memory similar to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Similar {
    /// The memory found.
    pub hit: Hit,
    /// Similarity, at most 1.
    pub similarity: f32,
    /// Measure of the similarity.
    pub by: Likeness,
}

/// Maximum number of memories with shared words that are compared shingle by shingle.
const COMPARED: usize = 50;

/// Maximum number of words of a text that are looked up in others.
const LOOKED_FOR: usize = 60;

/// Returns the memories most similar to `memory`, which need not be in the store, best first:
/// compared by meaning where there is a model, and by word shingles where there is none
/// or where no memory has a vector. `memory` itself is left out, by its stem.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn similar(
    engine: &Engine,
    memory: &Memory,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Similar>, EngineError> {
    let by_meaning = match embed_memory(engine, memory) {
        Some(embedded) => similar_by_meaning(engine, memory, &embedded, filter, limit)?,
        None => Vec::new(),
    };
    if !by_meaning.is_empty() {
        return Ok(by_meaning);
    }
    similar_by_shingles(engine, memory, filter, limit)
}

/// Returns the vectors of the memory's own passage, piece by piece; `None` without a model.
fn embed_memory(engine: &Engine, memory: &Memory) -> Option<Vec<Embedded>> {
    let embedder = models::answering(
        &engine.meaning,
        current_snapshot::snapshot(&engine.live).ok()?.as_ref(),
    )?;
    if outage::is_out(&engine.meaning, embedder.as_ref()) {
        return None;
    }
    let passage = passages::sent(embedder.as_ref(), passage::own(memory));
    let vectors = embedder.passages(&passage::pieces(&passage));
    outage::heard_of(&engine.meaning, embedder.as_ref(), vectors.as_ref().err());
    let vectors = vectors
        .inspect_err(|error| embedding::warn_of_model(&engine.meaning, error))
        .ok()?;
    let model = embedder.id();
    let embedded = vectors.into_iter().flatten().map(|vector| Embedded {
        model: model.to_owned(),
        vector,
        tokens: Vec::new(),
    });
    Some(embedded.collect())
}

fn similar_by_meaning(
    engine: &Engine,
    memory: &Memory,
    embedded: &[Embedded],
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Similar>, EngineError> {
    let near = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let texts = |name: &str| rows::read_memory(&engine.live, name);
        usage::at_once(&engine.live, |moment| {
            Ok(snapshot.nearest(embedded, filter, moment, limit + 1, &texts)?)
        })
    })?;
    let similar = near.into_iter().filter_map(|(name, similarity)| {
        let found = rows::read_memory(&engine.live, &name)?;
        let hit = Hit {
            memory: found.into(),
            name,
            score: f64::from(similarity),
            matched: Vec::new(),
            parts: None,
            lines: None,
        };
        (hit.memory.stem != memory.stem).then_some(Similar {
            hit,
            similarity,
            by: Likeness::Meaning,
        })
    });
    Ok(similar.take(limit).collect())
}

fn similar_by_shingles(
    engine: &Engine,
    memory: &Memory,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Similar>, EngineError> {
    let mut similar = sharing_words(engine, memory, filter)?;
    similar.retain(|similar| similar.similarity > 0.0);
    similar.truncate(limit);
    Ok(similar)
}

/// Returns the memories that share most words with `memory`, compared by their shingles, best first.
pub(in crate::engine) fn sharing_words(
    engine: &Engine,
    memory: &Memory,
    filter: &Filter,
) -> Result<Vec<Similar>, EngineError> {
    let words = memory.content.split_whitespace().take(LOOKED_FOR);
    let text = words.collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = Query::text(text, rows::listed(filter.clone()), COMPARED);
    query.ranking.method = Method::Bm25;
    let hits = search::search(engine, &query)?.hits.into_iter();
    let mut similar: Vec<Similar> = hits
        .filter(|hit| hit.memory.stem != memory.stem)
        .map(|hit| Similar {
            similarity: ranking::resemblance(&memory.content, &hit.memory.content),
            hit,
            by: Likeness::Shingles,
        })
        .collect();
    similar.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
    Ok(similar)
}
