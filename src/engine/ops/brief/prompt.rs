//! Memories that fit a prompt which does not ask for any.

use std::collections::HashSet;

use crate::engine::error::EngineError;
use crate::engine::live::read_cache::Shared;
use crate::engine::ops::brief::candidates::above;
use crate::engine::ops::brief::showable::{LeftOut, Showable};
use crate::engine::ops::retrieval::search::Hit;
use crate::engine::ops::retrieval::think;
use crate::engine::parts::Engine;
use crate::index::Query;
use crate::model::{Filter, Talks};

/// Relevance that the best memory must have, or nothing is shown with a prompt. It is higher than the limit
/// of doubt of an answer: nobody has asked, and what is beside the point costs attention. Chosen on one half
/// of the development conversations: of the prompts that are shown something four of five are shown
/// something right (docs/SESSIONS.md).
pub const PROMPT_FLOOR: f32 = 0.2;

/// Share of a prompt's content words, by idf, that one memory must hold, or nothing is shown. In a store of short
/// facts the best of memories that hold none of them leads the others by much, and so looks relevant.
const COVERED: f32 = 0.34;

/// Share of the best relevance that further memories must have.
const FOLLOWING: f32 = 0.1;

/// Maximum number of characters of a prompt that are searched for: what is pasted below a question is no
/// question.
const MAX_PROMPT: usize = 2_000;

/// A prompt, and what its session knows.
#[derive(Debug, Clone)]
pub struct PromptQuery {
    /// Text of the prompt.
    pub text: String,
    /// Namespace of the session; `None` for that of the engine's options.
    pub namespace: Option<String>,
    /// Stems of memories that the session was shown.
    pub known: HashSet<String>,
    /// Maximum number of memories.
    pub limit: usize,
    /// Minimum relevance of the best one.
    pub floor: f32,
}

/// A memory that fits a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptHit {
    /// The memory.
    pub memory: Shared,
    /// Its id, as agents are shown it.
    pub id: String,
    /// Estimated probability that it answers the prompt, 0–1.
    pub relevance: f32,
}

/// Returns the memories that fit a prompt and are not known to its session, best first, and those that may
/// not be shown. Only memories of the session's namespace and of those above it are looked at; without a
/// namespace all.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub fn fitting_prompt(
    engine: &Engine,
    query: &PromptQuery,
) -> Result<(Vec<PromptHit>, Vec<LeftOut>), EngineError> {
    let text: String = query.text.chars().take(MAX_PROMPT).collect();
    if text.trim().is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let namespace = query.namespace.clone().or_else(|| engine.live.namespace());
    let namespaces = match namespace {
        Some(namespace) => [above(&namespace), vec![namespace]].concat(),
        None => Vec::new(),
    };
    let filter = Filter {
        namespaces,
        // They would take the places of memories, and are never shown unasked.
        talks: Talks::Nowhere,
        ..Filter::default()
    };
    // A list of words has no relevance. Every prompt is taken for a question: what is known of its subject?
    let search = Query::text(format!("{text}?"), filter, query.limit + query.known.len());
    let results = think::think(engine, &search)?;
    let mut showable = Showable::new(engine);
    let is_new = |hit: &Hit| !query.known.contains(hit.memory.stem.as_str());
    let hits = results.hits.into_iter().filter(is_new);
    let hits: Vec<(f32, Hit)> = hits
        .filter_map(|hit| Some((hit.relevance()?, hit)))
        .collect();
    let best = best_of(&hits);
    if best < query.floor || covered_by_one(&hits) < COVERED {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut fitting: Vec<(f32, Hit)> = hits
        .into_iter()
        .filter(|(relevance, _)| *relevance >= FOLLOWING * best)
        .filter(|(_, hit)| showable.may_be_shown(&hit.memory))
        .take(query.limit)
        .collect();
    // The best one may not have been among those that may be shown.
    if best_of(&fitting) < query.floor {
        fitting.clear();
    }
    let fitting = fitting.into_iter();
    let hits = fitting.map(|(relevance, hit)| PromptHit {
        id: engine.live.shown_id(&hit.memory.stem),
        memory: hit.memory,
        relevance,
    });
    let hits: Vec<PromptHit> = hits.collect();
    Ok((hits, showable.left_out()))
}

/// Returns the greatest share of the prompt's content words that one memory holds; 0 of no hits.
fn covered_by_one(hits: &[(f32, Hit)]) -> f32 {
    let evidence = hits.iter().filter_map(|(_, hit)| hit.parts?.evidence);
    evidence
        .map(|evidence| evidence.best_covered)
        .fold(0.0, f32::max)
}

/// Returns the best relevance; 0 of no hits.
fn best_of(hits: &[(f32, Hit)]) -> f32 {
    let relevances = hits.iter().map(|(relevance, _)| *relevance);
    relevances.fold(0.0, f32::max)
}
