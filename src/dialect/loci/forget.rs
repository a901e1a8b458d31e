//! `forget_memory`: out of sight, or gone for good.

use serde_json::json;

use super::arguments::needed;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::object;
use crate::engine::EngineError;
use crate::engine::Recalled;
use crate::engine::ops;
use crate::model::Stem;

/// What became of a memory.
struct Gone {
    stem: Stem,
    /// It was so before.
    already: bool,
    /// Links of others to it that went with it.
    relations_removed: usize,
    /// Earlier texts of it that were deleted with it.
    earlier: Vec<Stem>,
    message: String,
}

pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let id = needed(arguments, "memory_id")?;
    let reason = arguments.set_text("reason")?;
    let is_hard = arguments.flag("hard_delete")?.unwrap_or(false);
    let replaced = match ops::recall(call.engine, std::slice::from_ref(&id)).pop() {
        Some(Recalled::Found { memory, .. }) => memory.supersedes.clone(),
        _ => Vec::new(),
    };
    let gone = match is_hard {
        true => delete(call, &id, reason.as_deref())?,
        false => forget(call, &id, reason.as_deref())?,
    };
    let shown = call.engine.live.shown_id(&gone.stem);
    let mut reply = object(match is_hard {
        true => json!({
            "id": shown,
            "forgotten": true,
            "hard_delete": true,
            "already": gone.already,
            "relations_removed": gone.relations_removed,
            "message": gone.message,
        }),
        false => json!({
            "id": shown,
            "forgotten": true,
            "hard_delete": false,
            "already": gone.already,
            "superseded_by": "forgotten",
            "message": gone.message,
        }),
    });
    let mut put = |key: &str, stems: &[Stem]| {
        if !stems.is_empty() {
            let ids = stems.iter().map(|stem| call.engine.live.shown_id(stem));
            reply.insert(key.to_owned(), json!(ids.collect::<Vec<String>>()));
        }
    };
    put(
        "current_again",
        &ops::current_among(call.engine, &replaced)?,
    );
    put("earlier", &gone.earlier);
    Ok(Reply::object(reply))
}

fn forget(call: &Call<'_>, id: &str, reason: Option<&str>) -> Result<Gone, ToolError> {
    let engine = call.engine;
    let (stem, already) = match ops::forget_because(engine, id, reason) {
        Ok(moved) => (moved.stem, false),
        Err(error @ EngineError::NotFound(_)) => match ops::resolve_forgotten(engine, id) {
            Ok((stem, _)) => (stem, true),
            Err(EngineError::NotFound(_)) => return Err(error.into()),
            Err(other) => return Err(other.into()),
        },
        Err(error) => return Err(error.into()),
    };
    let shown = engine.live.shown_id(&stem);
    Ok(Gone {
        message: format!(
            "It is not recalled any more, and kept in the archive: `memdir restore {shown}` brings it back"
        ),
        stem,
        already,
        relations_removed: 0,
        earlier: Vec::new(),
    })
}

fn delete(call: &Call<'_>, id: &str, reason: Option<&str>) -> Result<Gone, ToolError> {
    let engine = call.engine;
    let (stem, already, mut is_in_history) = match ops::purge_because(engine, id, reason) {
        Ok(purged) => (purged.stem, false, purged.is_in_history),
        Err(error @ EngineError::NotFound(_)) => match ops::resolve_purged(engine, id) {
            Ok(stem) => (stem, true, false),
            Err(EngineError::NotFound(_)) => return Err(error.into()),
            Err(other) => return Err(other.into()),
        },
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
    Ok(Gone {
        stem,
        already,
        relations_removed,
        earlier: purged.into_iter().map(|one| one.stem).collect(),
        message,
    })
}
