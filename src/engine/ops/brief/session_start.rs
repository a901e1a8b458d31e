//! Memories that a session begins with.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::ops::brief::candidates;
use crate::engine::ops::brief::showable::Showable;
use crate::engine::parts::Engine;
use crate::model::{GLOBAL, Memory};
use crate::ranking::brief::choose;
use crate::words::Analyzer;

pub use super::showable::LeftOut;
pub use crate::ranking::brief::{BriefLimits, BriefReason};

/// Question for a brief.
#[derive(Debug, Clone, Default)]
pub struct BriefQuery {
    /// Namespace of the session; `None` for that of the engine's options.
    pub namespace: Option<String>,
    /// Limits.
    pub limits: BriefLimits,
    /// Only memories from this moment on; standards and pinned ones, too.
    pub since: Option<DateTime<Utc>>,
    /// Stems of memories that are known to the session and get no place.
    pub known: HashSet<String>,
}

/// What a session begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// Namespace that it is for.
    pub namespace: String,
    /// Items in their order.
    pub items: Vec<BriefEntry>,
    /// Memories that would have had a place and may not be shown unasked.
    pub left_out: Vec<LeftOut>,
    /// Number of memories that were candidates.
    pub candidates: usize,
}

/// An item of a brief.
#[derive(Debug, Clone, PartialEq)]
pub struct BriefEntry {
    /// The memory.
    pub memory: Memory,
    /// Its id, as agents are shown it.
    pub id: String,
    /// Reason for its place.
    pub reason: BriefReason,
    /// How likely it is needed; compares within one brief.
    pub needed: f32,
    /// Its line.
    pub line: String,
}

/// Returns the memories that a session begins with. Nothing is counted as a use.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub fn brief(engine: &Engine, query: &BriefQuery) -> Result<Brief, EngineError> {
    let namespace = query.namespace.clone().or_else(|| engine.live.namespace());
    let namespace = namespace.unwrap_or_else(|| GLOBAL.to_owned());
    let mut read = candidates::read(engine, &namespace)?;
    read.extend(candidates::ending(engine, &namespace)?);
    let mut candidates = candidates::candidates(engine, &read);
    candidates.retain(|one| {
        let is_new = |since| one.memory.timestamp.utc() >= since;
        query.since.is_none_or(is_new) && !query.known.contains(one.memory.stem.as_str())
    });
    let mut showable = Showable::new(engine);
    let mut analyzer = Analyzer::new(&engine.live.languages);
    let chosen = choose(&candidates, query.limits, &mut analyzer, &mut |memory| {
        showable.may_be_shown(memory)
    });
    let entries = chosen.into_iter().map(|item| BriefEntry {
        memory: item.memory.clone(),
        id: item.id,
        reason: item.reason,
        needed: item.needed,
        line: item.line,
    });
    Ok(Brief {
        namespace,
        items: entries.collect(),
        left_out: showable.left_out(),
        candidates: candidates.len(),
    })
}
