//! Reads memories by their names.

use crate::engine::error::EngineError;
use crate::engine::live::names;
use crate::engine::live::names::Recalled;
use crate::engine::parts::Engine;
use crate::engine::texts::parse;
use crate::model::Memory;

/// Reads the memories called `ids`, in that order, with one result for each.
pub fn recall(engine: &Engine, ids: &[String]) -> Vec<Recalled> {
    let read = |id: &String| match recall_one(engine, id) {
        Ok((memory, name)) => Recalled::Found { memory, name },
        Err(error) => Recalled::Failed {
            id: id.clone(),
            error,
        },
    };
    ids.iter().map(read).collect()
}

/// Reads the memory called `id`; returns it with its file's name.
///
/// # Errors
///
/// Fails if no memory or several have the name, or if the file cannot be read.
pub fn recall_one(engine: &Engine, id: &str) -> Result<(Box<Memory>, String), EngineError> {
    let (name, version) = names::read(&engine.live, id)?;
    let memory = parse(&version.entry, &version.bytes);
    Ok((Box::new(memory), name))
}
