//! Standards of namespaces: memories that apply to everything in a namespace.
//!
//! A memory names in its own metadata the namespace that it is the standard of, so that this is stored
//! in its file; of several for one namespace the newest counts.

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, names, rows, usage};
use crate::engine::ops::update;
use crate::engine::parts::Engine;
use crate::model::{
    Change, Memory, MetaValue, Patch, Stem, is_same_namespace, normalized_namespace,
};

/// Metadata key that holds the namespace.
const STANDARD_OF: &str = "standard_of";

/// Returns the standards that apply in `namespace`, the most general first: of `global`, of the parent
/// namespaces, and its own; each with its namespace.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn standards_in(
    engine: &Engine,
    namespace: &str,
) -> Result<Vec<(String, Memory)>, EngineError> {
    let mut all = standards(engine)?;
    let namespace = normalized_namespace(namespace).to_lowercase();
    let is_above = |above: &str| {
        let above = above.to_lowercase();
        above == "global"
            || namespace
                .strip_prefix(&above)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    all.retain(|(above, _)| is_above(above));
    let depth = |namespace: &str| match namespace.to_lowercase().as_str() {
        "global" => 0,
        other => 1 + other.matches('/').count(),
    };
    all.sort_by_key(|(namespace, _)| depth(namespace));
    Ok(all)
}

/// Returns all standards with their namespaces, sorted by namespace.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn standards(engine: &Engine) -> Result<Vec<(String, Memory)>, EngineError> {
    let key = format!("metadata.{STANDARD_OF}");
    let holders =
        current_snapshot::with_snapshot(&engine.live, |snapshot| Ok(snapshot.holders(&key)?))?;
    let mut found: Vec<(String, Memory)> = holders
        .into_iter()
        .filter_map(|(_, name)| {
            let memory = rows::read_memory(&engine.live, &name)?;
            // An expired memory does not apply.
            if usage::state_of(&engine.live, &memory)
                .0
                .is_expired(engine.live.clock.now())
            {
                return None;
            }
            let of = normalized_namespace(standard_of(&memory)?).into_owned();
            Some((of, memory))
        })
        .collect();
    let newest = |(of, memory): &(String, Memory)| {
        let age = std::cmp::Reverse((memory.timestamp.utc(), memory.stem.clone()));
        (of.to_lowercase(), age)
    };
    found.sort_by_key(newest);
    found.dedup_by_key(|(of, _)| of.to_lowercase());
    Ok(found)
}

/// Makes the memory called `id` the standard of `namespace`, in place of all others.
///
/// # Errors
///
/// Fails if there is no such memory, or if a file cannot be changed.
pub fn set_standard(engine: &Engine, namespace: &str, id: &str) -> Result<Stem, EngineError> {
    if namespace.trim().is_empty() {
        let what = "a standard is of a namespace, and none is named".to_owned();
        return Err(EngineError::Invalid(what));
    }
    let (stem, name) = names::resolve(&engine.live, id)?;
    let edited = update::update_with(engine, "standard", &name, |memory| {
        let mut metadata = without_standard(memory);
        let of = MetaValue::Text(normalized_namespace(namespace).into_owned());
        metadata.push((STANDARD_OF.to_owned(), of));
        Ok(Change {
            metadata: Patch::Set(metadata),
            ..Change::default()
        })
    })?;
    // The new one is set before the others are cleared.
    clear_but(engine, namespace, Some(&stem))?;
    Ok(edited.memory.stem)
}

/// Removes the standards of `namespace` and returns them; the memories stay.
///
/// # Errors
///
/// Fails if a file cannot be changed.
pub fn clear_standard(engine: &Engine, namespace: &str) -> Result<Vec<Stem>, EngineError> {
    clear_but(engine, namespace, None)
}

fn clear_but(
    engine: &Engine,
    namespace: &str,
    kept: Option<&Stem>,
) -> Result<Vec<Stem>, EngineError> {
    let key = format!("metadata.{STANDARD_OF}");
    let holders =
        current_snapshot::with_snapshot(&engine.live, |snapshot| Ok(snapshot.holders(&key)?))?;
    let mut cleared = Vec::new();
    for memory in holders
        .iter()
        .filter_map(|(_, name)| rows::read_memory(&engine.live, name))
    {
        let is_of = |of: &str| is_same_namespace(of, namespace);
        if kept == Some(&memory.stem) || !standard_of(&memory).is_some_and(is_of) {
            continue;
        }
        update::update_with(engine, "standard", memory.stem.as_str(), |memory| {
            let metadata = without_standard(memory);
            let metadata = match metadata.is_empty() {
                true => Patch::Clear,
                false => Patch::Set(metadata),
            };
            Ok(Change {
                metadata,
                ..Change::default()
            })
        })?;
        cleared.push(memory.stem);
    }
    Ok(cleared)
}

fn standard_of(memory: &Memory) -> Option<&str> {
    let mut metadata = memory.metadata.iter();
    metadata.find_map(|(key, value)| match value {
        MetaValue::Text(of) if key == STANDARD_OF => Some(of.as_str()),
        _ => None,
    })
}

fn without_standard(memory: &Memory) -> Vec<(String, MetaValue)> {
    let metadata = memory.metadata.iter();
    metadata
        .filter(|(key, _)| key != STANDARD_OF)
        .cloned()
        .collect()
}
