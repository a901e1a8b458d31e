//! `memory_inspect`: fields, relations and log of one memory.

use serde::Serialize;
use serde_json::Value;

use super::arguments::{group, needed};
use super::shown;
use super::shown::{GoneView, RelationsView};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::metadata;
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::{Engine, EngineError, Forgotten, Record, live, ops};
use crate::model::{Memory, Timestamp};

/// Fields, relations and log of one memory.
#[derive(Serialize)]
struct InspectView {
    memory: MemoryView,
    #[serde(flatten)]
    relations: RelationsView,
    log: Vec<EntryView>,
}

/// A memory as of now.
#[derive(Serialize)]
struct MemoryView {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    content: String,
    confidence: f64,
    access_count: u32,
    metadata: Value,
    scope: &'static str,
    source_group: String,
    created_at: String,
    last_accessed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expired: Option<bool>,
    superseded_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forgotten: Option<GoneView>,
}

/// An entry of a memory's log.
#[derive(Serialize)]
struct EntryView {
    operation: &'static str,
    memory_id: String,
    details: Details,
    created_at: String,
}

#[derive(Serialize)]
struct Details {
    did: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    client: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Runs the tool `memory_inspect`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let id = needed(arguments, "memory_id")?;
    let with_relations = arguments.flag("include_relations")?.unwrap_or(true);
    let with_log = arguments.flag("include_log")?.unwrap_or(false);
    let (memory, forgotten) = find(engine, &id)?;
    let shown_memory = details(engine, &memory, forgotten.as_ref())?;
    let mut relations = RelationsView::default();
    if with_relations && forgotten.is_none() {
        let group = group(call, None)?;
        let stems = std::slice::from_ref(&memory.stem);
        let current = ops::current_relations(engine, stems, Some(&group))?.pop();
        relations = RelationsView::of(engine, current.flatten().unwrap_or_default());
    }
    let log = match with_log {
        true => live::records_of(&engine.live, &memory.stem)?,
        false => Vec::new(),
    };
    let log = log.into_iter().enumerate();
    let log = log.map(|(at, record)| entry(&shown_memory.id, record, at == 0));
    Ok(Reply::of(&InspectView {
        relations,
        log: log.collect(),
        memory: shown_memory,
    }))
}

/// Returns the memory called `id`, live or forgotten.
fn find(engine: &Engine, id: &str) -> Result<(Memory, Option<Forgotten>), ToolError> {
    let error = match ops::recall_one(engine, id) {
        Ok((memory, _)) => return Ok((*memory, None)),
        Err(error) => error,
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

fn details(
    engine: &Engine,
    memory: &Memory,
    forgotten: Option<&Forgotten>,
) -> Result<MemoryView, ToolError> {
    let (state, usage) = live::state_of(&engine.live, memory);
    let (superseded_by, gone) = match forgotten {
        Some(forgotten) => {
            let (by, gone) = shown::gone(engine, forgotten)?;
            (Some(by), Some(gone))
        }
        None => {
            let newer = ops::newer_than(engine, memory)?;
            (newer.map(|stem| engine.live.shown_id(&stem)), None)
        }
    };
    let time = |at| Timestamp::from_utc(at).as_str().to_owned();
    Ok(MemoryView {
        id: engine.live.shown_id(&memory.stem),
        kind: shown::kind(memory).as_str(),
        content: memory.content.clone(),
        confidence: shown::confidence(engine, memory),
        access_count: usage.count(),
        metadata: metadata::to_json(&memory.metadata),
        scope: memory.scope_or_usual().as_str(),
        source_group: memory.namespace_or_global().to_owned(),
        created_at: memory.timestamp.as_str().to_owned(),
        last_accessed: usage.last().map(time),
        expired: state.is_expired(engine.live.now()).then_some(true),
        superseded_by,
        forgotten: gone,
    })
}

fn entry(id: &str, record: Record, is_first: bool) -> EntryView {
    EntryView {
        operation: operation(&record.did, is_first),
        memory_id: id.to_owned(),
        created_at: Timestamp::from_utc(record.at).as_str().to_owned(),
        details: Details {
            did: record.did,
            client: record.client,
            reason: record.why,
        },
    }
}

/// Returns the kind of a change in the words of this tool set's log; the journal's own word is in its
/// details. Only the first record of a memory can be its creation.
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
