//! Reads memories by what they are called.

use crate::engine::live::names;
use crate::engine::live::names::Recalled;
use crate::engine::parts::Engine;
use crate::engine::texts::parse;

/// Reads the memories called `ids`, in that order, with one entry for each.
pub fn recall(engine: &Engine, ids: &[String]) -> Vec<Recalled> {
    ids.iter()
        .map(|id| match names::read(&engine.live, id) {
            Ok((name, version)) => {
                let memory = Box::new(parse(&version.entry, &version.bytes));
                Recalled::Found { memory, name }
            }
            Err(error) => Recalled::Failed {
                id: id.clone(),
                error,
            },
        })
        .collect()
}
