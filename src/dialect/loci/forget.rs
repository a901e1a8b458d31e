//! `forget_memory`: moves a memory to the archive, or deletes it.

use serde::Serialize;

use super::arguments::needed;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::{Engine, EngineError, ops};
use crate::model::Stem;

/// Outcome of forgetting a memory.
#[derive(Serialize)]
struct ForgottenView {
    id: String,
    forgotten: bool,
    hard_delete: bool,
    /// Whether it was so before.
    already: bool,
    /// Number of links of others to it that went with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    relations_removed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<&'static str>,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    current_again: Vec<String>,
    /// Earlier texts of it that were deleted with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<String>,
}

/// Runs the tool `forget_memory`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let id = needed(arguments, "memory_id")?;
    let reason = arguments.set_text("reason")?;
    let is_hard = arguments.flag("hard_delete")?.unwrap_or(false);
    let replaced = match ops::recall_one(engine, &id) {
        Ok((memory, _)) => memory.supersedes,
        Err(_) => Vec::new(),
    };
    let gone = match is_hard {
        true => delete(engine, &id, reason.as_deref())?,
        false => forget(engine, &id, reason.as_deref())?,
    };
    let current = ops::current_among(engine, &replaced)?;
    Ok(Reply::of(&ForgottenView {
        current_again: shown_ids(engine, &current),
        ..gone
    }))
}

fn shown_ids(engine: &Engine, stems: &[Stem]) -> Vec<String> {
    let ids = stems.iter().map(|stem| engine.live.shown_id(stem));
    ids.collect()
}

fn forget(engine: &Engine, id: &str, reason: Option<&str>) -> Result<ForgottenView, ToolError> {
    let (stem, already) = match ops::forget_because(engine, id, reason) {
        Ok(moved) => (moved.stem, false),
        Err(EngineError::NotFound(_)) => (ops::resolve_forgotten(engine, id)?.0, true),
        Err(error) => return Err(error.into()),
    };
    let shown = engine.live.shown_id(&stem);
    Ok(ForgottenView {
        message: format!(
            "It is not recalled any more, and kept in the archive: `memdir restore {shown}` brings it back"
        ),
        id: shown,
        forgotten: true,
        hard_delete: false,
        already,
        relations_removed: None,
        superseded_by: Some("forgotten"),
        current_again: Vec::new(),
        earlier: Vec::new(),
    })
}

fn delete(engine: &Engine, id: &str, reason: Option<&str>) -> Result<ForgottenView, ToolError> {
    let (stem, already, mut is_in_history) = match ops::purge_because(engine, id, reason) {
        Ok(purged) => (purged.stem, false, purged.is_in_history),
        Err(EngineError::NotFound(_)) => (ops::resolve_purged(engine, id)?, true, false),
        Err(error) => return Err(error.into()),
    };
    // Also where an earlier call was interrupted before this.
    let relations_removed = ops::unlink_from_all(engine, &stem)?;
    let (purged, left) = ops::purge_earlier_texts(engine, &stem)?;
    is_in_history |= purged.iter().any(|one| one.is_in_history);
    let mut message = match purged.is_empty() {
        true => "It is deleted for good",
        false => "It and its `earlier` texts are deleted for good",
    }
    .to_owned();
    if is_in_history {
        message.push_str(". Its text is still in the git history of the store: `memdir purge --history` takes it out of that");
    }
    for (name, error) in left {
        message.push_str(&format!(
            ". An earlier text of it is still in the archive, as {name}: {error}"
        ));
    }
    let earlier: Vec<Stem> = purged.into_iter().map(|one| one.stem).collect();
    Ok(ForgottenView {
        id: engine.live.shown_id(&stem),
        forgotten: true,
        hard_delete: true,
        already,
        relations_removed: Some(relations_removed),
        superseded_by: None,
        message,
        current_again: Vec::new(),
        earlier: shown_ids(engine, &earlier),
    })
}
