//! `store_relation`: a link between two entities.

use serde::Serialize;

use super::arguments::needed;
use super::shown;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::ops;
use crate::model::{Kind, Stem};

/// A stored relation.
#[derive(Serialize)]
struct RelatedView<'a> {
    subject_id: String,
    predicate: &'a str,
    object_id: String,
    deduplicated: bool,
}

/// Runs the tool `store_relation`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let subject = needed(arguments, "subject_id")?;
    let predicate = needed(arguments, "predicate")?;
    let predicate = predicate.trim();
    let object = needed(arguments, "object_id")?;
    if predicate == "supersedes" {
        let what =
            "`supersedes` is no relation of entities: store the new memory with `supersedes`";
        return Err(ToolError::refused(what));
    }
    let subject = entity(call, "subject_id", &subject)?;
    let object = entity(call, "object_id", &object)?;
    let is_new = ops::link(call.engine, subject.as_str(), object.as_str(), predicate)?;
    Ok(Reply::of(&RelatedView {
        subject_id: call.engine.live.shown_id(&subject),
        predicate,
        object_id: call.engine.live.shown_id(&object),
        deduplicated: !is_new,
    }))
}

/// Returns the entity called `id`.
fn entity(call: &Call<'_>, argument: &str, id: &str) -> Result<Stem, ToolError> {
    let (memory, _) = ops::recall_one(call.engine, id)?;
    match memory.kind {
        Some(Kind::Entity) => Ok(memory.stem),
        _ => Err(ToolError::refused(format!(
            "`{argument}` must be an entity: {id} is of type {}",
            shown::kind(&memory)
        ))),
    }
}
