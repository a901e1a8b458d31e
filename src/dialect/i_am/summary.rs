//! What there is, in sum: `session_start`, `status`, `about_me`, `about_us`, `reflect`.

use std::collections::HashMap;

use chrono::TimeDelta;
use serde_json::Value;
use serde_json::json;

use super::entry::Entry;
use super::entry::list;
use super::renderer::EntryRenderer;
use super::renderer::moment;
use super::renderer::total;
use super::token_budget::TokenBudget;
use super::vocabulary;
use super::vocabulary::CATEGORIES;
use super::vocabulary::SCHEMA_VERSION;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::preview;
use crate::dialect::preview::PreviewWords;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::object;
use crate::engine::Reflection;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Patch;
use crate::model::Stem;
use crate::model::Visibility;
use crate::model::estimated_tokens;

/// Maximum number of characters of a value in the summary of a session.
const SHOWN: usize = 80;

pub(super) fn session_start(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let sessions = ops::begin_session(call.engine)?;
    let counts = counts(call)?;
    let mut entries = active(call, None)?;
    by_importance(&mut entries);
    let mut memories: Vec<(&str, Vec<Value>)> = CATEGORIES.map(|name| (name, Vec::new())).into();
    let mut room = TokenBudget::of(call.preferences.preview_tokens);
    let mut shown = 0;
    for entry in &entries {
        let value = preview(&entry.memory.content, &PreviewWords::default(), SHOWN);
        let told = json!({
            "key": entry.key,
            "value": value.text,
            "truncated": value.truncated,
            "importance": entry.importance(),
        });
        if !room.takes(estimated_tokens(&told.to_string())) {
            break;
        }
        shown += 1;
        let mut of_category = memories.iter_mut();
        if let Some((_, list)) = of_category.find(|(name, _)| *name == entry.category) {
            list.push(told);
        }
    }
    memories.retain(|(_, list)| !list.is_empty());
    let memories = memories.into_iter();
    let memories: JsonObject = memories
        .map(|(name, list)| (name.to_owned(), Value::Array(list)))
        .collect();
    Ok(Reply::json(json!({
        "session_count": sessions,
        "total": sum(&counts),
        "categories": counts,
        "memories": memories,
        "shown": shown,
    })))
}

pub(super) fn status(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let mut status = object(json!({"schema_version": SCHEMA_VERSION}));
    status.extend(stats(call)?);
    Ok(Reply::object(status))
}

/// The numbers of a store.
///
/// # Errors
///
/// Fails if the store or a journal cannot be read.
pub(super) fn stats(call: &Call<'_>) -> Result<JsonObject, ToolError> {
    let counts = counts(call)?;
    Ok(object(json!({
        "total": sum(&counts),
        "categories": counts,
        "session_count": ops::sessions(call.engine)?,
        "file_size": ops::stats(call.engine, &Filter::default())?.bytes,
    })))
}

fn counts(call: &Call<'_>) -> Result<JsonObject, ToolError> {
    let count = |category: &str| -> Result<(String, Value), ToolError> {
        let filter = Filter {
            visibility: Visibility::Everything,
            ..vocabulary::filter(Some(category))
        };
        Ok((category.to_owned(), json!(total(call, filter)?)))
    };
    CATEGORIES.into_iter().map(count).collect()
}

fn sum(counts: &JsonObject) -> u64 {
    counts.values().filter_map(Value::as_u64).sum()
}

pub(super) fn about_me(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    about(call, "about_me", &["user", "relationships", "tools"])
}

pub(super) fn about_us(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let mut reply = about(call, "about_us", &["relationships", "assistant", "user"])?;
    let sessions = json!(ops::sessions(call.engine)?);
    reply
        .structured
        .insert("session_count".to_owned(), sessions);
    Ok(Reply::object(reply.structured))
}

/// The active entries of some categories, the most important first, as many as there is room for.
fn about(call: &Call<'_>, what: &str, categories: &[&str]) -> Result<Reply, ToolError> {
    let mut entries = active(call, None)?;
    entries.retain(|entry| categories.contains(&entry.category));
    by_importance(&mut entries);
    let profile = categories.iter();
    let profile = profile.map(|category| ((*category).to_owned(), json!({})));
    let mut profile: JsonObject = profile.collect();
    let mut room = TokenBudget::of(call.preferences.preview_tokens);
    let (mut shown, mut truncated) = (0, Vec::new());
    for entry in &entries {
        let value = room.value(&entry.memory.content);
        let tokens = estimated_tokens(&entry.key) + estimated_tokens(&value.text);
        if !room.takes(tokens) {
            break;
        }
        shown += 1;
        if value.truncated {
            truncated.push(Value::String(entry.name()));
        }
        profile[entry.category][&entry.key] = Value::String(value.text);
    }
    Ok(Reply::json(json!({
        "profile": what,
        "total": entries.len(),
        "shown": shown,
        "memories": profile,
        "truncated": truncated,
    })))
}

fn active(call: &Call<'_>, category: Option<&str>) -> Result<Vec<Entry>, ToolError> {
    let entries = list(call, category)?;
    let teller = EntryRenderer::of_all(call, category, &entries)?;
    let mut active = Vec::new();
    for entry in entries {
        if teller.status(&entry.memory)? == "active" {
            active.push(entry);
        }
    }
    Ok(active)
}

/// Among equals as they are listed.
pub(super) fn by_importance(entries: &mut [Entry]) {
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.importance()));
}

pub(super) fn reflect(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let reflection = Reflection {
        // However young: it is only said, nothing is done.
        unimportant_after: TimeDelta::zero(),
        ..Reflection::default()
    };
    let (proposed, unused) = ops::plan_reflection(call.engine, &Filter::default(), &reflection)?;
    let entries = list(call, None)?;
    let entries: HashMap<&Stem, &Entry> = entries
        .iter()
        .map(|entry| (&entry.memory.stem, entry))
        .collect();
    let stale = unused.iter();
    let stale: Vec<JsonObject> = stale
        .filter_map(|memory| Some(brief(entries.get(&memory.stem)?)))
        .collect();
    let (mut archival, mut adjustments) = (Vec::new(), Vec::new());
    for proposal in &proposed.plan.proposals {
        for stem in &proposal.archive {
            if let Some(entry) = entries.get(stem) {
                let mut told = brief(entry);
                told.insert("reason".to_owned(), json!(proposal.because));
                archival.push(told);
            }
        }
        for (stem, change) in &proposal.edit {
            let (Some(entry), Patch::Set(confidence)) = (entries.get(stem), &change.confidence)
            else {
                continue;
            };
            adjustments.push(json!({
                "category": entry.category,
                "key": entry.key,
                "current": entry.memory.confidence,
                "proposed": confidence,
                "reason": proposal.because,
            }));
        }
    }
    Ok(Reply::json(json!({
        "total": total(call, Filter::default())?,
        "stale": stale,
        "archival_candidates": archival,
        "confidence_adjustments": adjustments,
    })))
}

fn brief(entry: &Entry) -> JsonObject {
    object(json!({
        "category": entry.category,
        "key": entry.key,
        "importance": entry.importance(),
        "created_at": moment(entry.memory.timestamp.utc()),
    }))
}
