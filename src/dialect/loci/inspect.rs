//! `memory_inspect`: all about one memory.

use serde_json::Value;
use serde_json::json;

use super::arguments::group;
use super::arguments::needed;
use super::shown;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::metadata;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::object;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::Forgotten;
use crate::engine::Recalled;
use crate::engine::Record;
use crate::engine::live;
use crate::engine::ops;
use crate::model::Memory;
use crate::model::Timestamp;

pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let id = needed(arguments, "memory_id")?;
    let with_relations = arguments.flag("include_relations")?.unwrap_or(true);
    let with_log = arguments.flag("include_log")?.unwrap_or(false);
    let (memory, forgotten) = find(engine, &id)?;
    let mut shown_memory = details(engine, &memory)?;
    if let Some(forgotten) = &forgotten {
        shown::put_forgotten(engine, forgotten, &mut shown_memory)?;
    }
    let mut reply = object(json!({"memory": shown_memory, "relations": []}));
    if with_relations && forgotten.is_none() {
        let group = group(call, None)?;
        let stems = std::slice::from_ref(&memory.stem);
        let relations = ops::current_relations(engine, stems, Some(&group))?.pop();
        shown::put_relations(engine, &relations.flatten().unwrap_or_default(), &mut reply);
    }
    let log = match with_log {
        true => live::records_of(&engine.live, &memory.stem)?,
        false => Vec::new(),
    };
    let shown_id = engine.live.shown_id(&memory.stem);
    let log: Vec<Value> = log
        .iter()
        .enumerate()
        .map(|(at, record)| entry(&shown_id, record, at == 0))
        .collect();
    reply.insert("log".to_owned(), json!(log));
    Ok(Reply::object(reply))
}

/// The memory called `id`, live or forgotten.
fn find(engine: &Engine, id: &str) -> Result<(Memory, Option<Forgotten>), ToolError> {
    let error = match ops::recall(engine, &[id.to_owned()]).pop() {
        Some(Recalled::Found { memory, .. }) => return Ok((*memory, None)),
        Some(Recalled::Failed { error, .. }) => error,
        None => EngineError::NotFound(id.to_owned()),
    };
    if !matches!(error, EngineError::NotFound(_)) {
        return Err(error.into());
    }
    match ops::forgotten(engine, id) {
        Ok(forgotten) => Ok((forgotten.memory.clone(), Some(forgotten))),
        Err(EngineError::NotFound(_)) if ops::resolve_purged(engine, id).is_ok() => Err(
            ToolError::refused(format!("memory `{id}` was deleted for good")),
        ),
        Err(EngineError::NotFound(_)) => Err(error.into()),
        Err(other) => Err(other.into()),
    }
}

fn details(engine: &Engine, memory: &Memory) -> Result<JsonObject, ToolError> {
    let (state, usage) = live::state_of(&engine.live, memory);
    let mut object = object(json!({
        "id": engine.live.shown_id(&memory.stem),
        "type": shown::kind(memory).as_str(),
        "content": memory.content,
        "confidence": shown::confidence(engine, memory),
        "access_count": usage.count(),
        "metadata": metadata::to_json(&memory.metadata),
        "scope": memory.scope_or_usual().as_str(),
        "source_group": memory.namespace_or_global(),
        "created_at": memory.timestamp.as_str(),
        "last_accessed": usage.last().map(|at| Timestamp::from_utc(at).as_str().to_owned()),
    }));
    if state.is_expired(engine.live.now()) {
        object.insert("expired".to_owned(), json!(true));
    }
    let newer = ops::newer_than(engine, memory)?;
    object.insert(
        "superseded_by".to_owned(),
        json!(newer.map(|stem| engine.live.shown_id(&stem))),
    );
    Ok(object)
}

fn entry(id: &str, record: &Record, is_first: bool) -> Value {
    let mut details = JsonObject::new();
    details.insert("did".to_owned(), json!(record.did));
    if !record.client.is_empty() {
        details.insert("client".to_owned(), json!(record.client));
    }
    if let Some(why) = &record.why {
        details.insert("reason".to_owned(), json!(why));
    }
    json!({
        "operation": operation(&record.did, is_first),
        "memory_id": id,
        "details": details,
        "created_at": Timestamp::from_utc(record.at).as_str(),
    })
}

/// What was done, in the six words that a log of this tool set knows; the journal's own word stands
/// in its details. What is written again has been there before.
fn operation(did: &str, is_first: bool) -> &'static str {
    match did {
        "remember" | "import" if is_first => "create",
        "supersede" | "forget" => "supersede",
        "decay" => "decay",
        "compact" | "consolidate" => "compact",
        "purge" => "delete",
        _ => "update",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deed_has_one_of_six_words() {
        for (did, word) in [
            ("remember", "create"),
            ("link", "update"),
            ("restore", "update"),
            ("supersede", "supersede"),
            ("forget", "supersede"),
            ("decay", "decay"),
            ("compact", "compact"),
            ("purge", "delete"),
        ] {
            assert_eq!(operation(did, true), word);
        }
        assert_eq!(operation("remember", false), "update");
    }
}
