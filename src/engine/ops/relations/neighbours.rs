//! Memories one link away from the hits of a search.

use crate::engine::error::EngineError;
use crate::engine::ops::relations::graph::Relation;
use crate::engine::ops::relations::succession;
use crate::engine::ops::retrieval::search;
use crate::engine::ops::retrieval::search::Hit;
use crate::engine::parts::Engine;
use crate::index::Query;
use crate::model::{Filter, Stem};

/// Returns the memories that pass `filter` and are linked with one of `stems`, in either direction,
/// without `stems` themselves; each once, with its relation, in the order of `stems`, for each stem
/// the targets of its relations first.
///
/// # Errors
///
/// Fails if the store cannot be searched.
pub fn neighbours(
    engine: &Engine,
    stems: &[Stem],
    filter: &Filter,
) -> Result<Vec<(Relation, Hit)>, EngineError> {
    let mut linked: Vec<(Stem, Relation)> = Vec::new();
    let seen_from = filter.seen_from.as_deref();
    let each = succession::current_relations(engine, stems, seen_from)?;
    for relations in each.into_iter().flatten() {
        let to = relations.to.into_iter();
        let to = to.filter_map(|relation| Some((relation.to.clone()?, relation)));
        let from = relations.from.into_iter();
        let from = from.map(|relation| (relation.from.clone(), relation));
        for (other, relation) in to.chain(from) {
            let is_known = linked.iter().any(|(known, _)| *known == other);
            if !is_known && !stems.contains(&other) {
                linked.push((other, relation));
            }
        }
    }
    if let Some(only) = &filter.stems {
        linked.retain(|(other, _)| only.contains(other));
    }
    if linked.is_empty() {
        return Ok(Vec::new());
    }
    let filter = Filter {
        stems: Some(linked.iter().map(|(other, _)| other.clone()).collect()),
        ..filter.clone()
    };
    let query = Query::everything(filter, linked.len());
    let mut hits = search::search(engine, &query)?.hits;
    let found = linked.into_iter().filter_map(|(other, relation)| {
        let at = hits.iter().position(|hit| hit.memory.stem == other)?;
        Some((relation, hits.swap_remove(at)))
    });
    Ok(found.collect())
}
