//! How a memory, a relation and an answer with memories look in this tool set.

use chrono::DateTime;
use chrono::SecondsFormat;
use chrono::SubsecRound;
use chrono::Utc;
use serde_json::Value;
use serde_json::json;

use super::check::MAX_TITLE;
use crate::dialect::arguments::Arguments;
use crate::dialect::json::JsonObject;
use crate::dialect::metadata;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::toon;
use crate::dialect::toon::toon;
use crate::engine::Engine;
use crate::engine::Relation;
use crate::engine::live;
use crate::engine::ops;
use crate::model::Memory;
use crate::model::Stem;

/// What a memory counts as that states none.
pub(super) const USUAL_IMPORTANCE: u8 = 5;
const USUAL_CONFIDENCE: f64 = 1.0;
const USUAL_TIER: &str = "long";
const USUAL_SOURCE: &str = "api";
const UNTITLED: &str = "(untitled)";

const FORMATS: &[&str] = &["json", "toon", "toon_compact"];
/// How an answer with memories is written.
pub(super) const FORMAT: Parameter = Parameter::word(
    "format",
    FORMATS,
    "toon_compact (default): titles; toon: more columns; json: contents, too",
);

/// The fifteen fields of a memory, as it is now.
pub(super) fn memory(engine: &Engine, memory: &Memory) -> JsonObject {
    let (state, usage) = live::state_of(&engine.live, memory);
    let created = memory.timestamp.utc();
    let mut object = JsonObject::new();
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("id", json!(engine.live.shown_id(&memory.stem)));
    put(
        "tier",
        json!(state.tier.map_or(USUAL_TIER, |tier| tier.as_str())),
    );
    put("namespace", json!(memory.namespace_or_global()));
    put("title", json!(title(memory)));
    put("content", json!(memory.content));
    put("tags", json!(memory.topics));
    put("priority", json!(state.importance));
    // Here confidence is what was said; that it is asked for often counts as uses, once.
    let confidence = memory.confidence.unwrap_or(USUAL_CONFIDENCE);
    put("confidence", rounded(confidence));
    put(
        "source",
        json!(memory.source.as_deref().unwrap_or(USUAL_SOURCE)),
    );
    put("access_count", json!(usage.count()));
    put("created_at", moment(created));
    put("updated_at", moment(state.changed));
    put("last_accessed_at", usage.last().map_or(Value::Null, moment));
    put("expires_at", state.expires.map_or(Value::Null, moment));
    put("metadata", metadata::to_json(&memory.metadata));
    object
}

/// The title, else what it begins with, at most as long as a title may be.
pub(super) fn title(memory: &Memory) -> String {
    let headline = memory.headline().trim();
    let mut end = headline.len().min(MAX_TITLE);
    while !headline.is_char_boundary(end) {
        end -= 1;
    }
    match &headline[..end] {
        "" => UNTITLED.to_owned(),
        title => title.to_owned(),
    }
}

pub(super) fn moment(at: DateTime<Utc>) -> Value {
    json!(
        at.trunc_subsecs(6)
            .to_rfc3339_opts(SecondsFormat::AutoSi, false)
    )
}

/// To three digits, as scores are shown.
pub(super) fn rounded(number: f64) -> Value {
    json!((number * 1000.0).round() / 1000.0)
}

pub(super) fn shown_ids(engine: &Engine, stems: &[Stem]) -> Vec<String> {
    stems
        .iter()
        .map(|stem| engine.live.shown_id(stem))
        .collect()
}

/// The relation of this tool set as files hold it.
pub(super) fn stored_relation(relation: &str) -> String {
    relation.replace('_', "-")
}

/// One relation, with the words of this tool set. A file does not say when it was made: at the
/// earliest when both memories were there, which is what is shown.
pub(super) fn link(engine: &Engine, relation: &Relation) -> Value {
    let ends = [Some(&relation.from), relation.to.as_ref()];
    let made = ends.into_iter().flatten().filter_map(Stem::time).max();
    let target = match &relation.to {
        Some(stem) => engine.live.shown_id(stem),
        None => relation.written.clone(),
    };
    json!({
        "source_id": engine.live.shown_id(&relation.from),
        "target_id": target,
        "relation": relation.relation.replace('-', "_"),
        "created_at": made.map_or(Value::Null, moment),
    })
}

/// The relations of a memory, from it and then to it.
pub(super) fn links(engine: &Engine, id: &str) -> Result<Vec<Value>, ToolError> {
    let relations = ops::relations_of(engine, id)?;
    let all = relations.to.iter().chain(&relations.from);
    Ok(all.map(|relation| link(engine, relation)).collect())
}

/// An answer that holds memories in the format that was asked for.
pub(super) fn listed(arguments: &Arguments, mut answer: JsonObject) -> Result<Reply, ToolError> {
    let format = super::check::one_of(arguments, "format", FORMATS)?;
    let columns: &[&str] = match format.as_deref() {
        Some("json") => return Ok(Reply::object(answer)),
        Some("toon") => &toon::FULL,
        _ => &toon::COMPACT,
    };
    let is_empty = answer.get("count").is_none_or(|count| *count == json!(0));
    if !is_empty {
        // The columns are titles; who takes them for the memories has not read any.
        let hint = "memory_get ID, or format json";
        answer.insert("contents".to_owned(), json!(hint));
    }
    Ok(Reply::text(toon(&answer, columns)))
}
