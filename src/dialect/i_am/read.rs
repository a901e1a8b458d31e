//! `recall` and `search`: what is told counts as used.

use serde_json::Value;
use serde_json::json;

use super::entry::Entry;
use super::entry::list;
use super::entry_arguments;
use super::renderer::EntryRenderer;
use super::summary::by_importance;
use super::token_budget::TokenBudget;
use super::vocabulary;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::add_note;
use crate::dialect::reply::object;
use crate::dialect::reply::written;
use crate::engine::Method;
use crate::engine::Query;
use crate::engine::Ranking;
use crate::engine::ops;
use crate::model::estimated_tokens;

/// The most results of a search.
pub(super) const MOST_RESULTS: usize = 20;
/// Maximum number of characters of a query that a reply repeats.
const ECHOED: usize = 200;

pub(super) fn recall(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let category = entry_arguments::category(arguments, "category")?;
    if arguments.set_text("key")?.is_none() {
        return recall_all(call, category);
    }
    let entry = entry_arguments::readable_entry(call, arguments)?;
    count(call, std::slice::from_ref(&entry));
    Ok(Reply::json(json!({
        "category": category,
        "key": entry.key,
        "entry": EntryRenderer::new(call)?.entry(&entry)?,
    })))
}

fn recall_all(call: &Call<'_>, category: &'static str) -> Result<Reply, ToolError> {
    let mut entries = list(call, Some(category))?;
    let total = entries.len();
    by_importance(&mut entries);
    let fitting = fitting(call, &entries, category)?;
    entries.truncate(fitting);
    count(call, &entries);
    let teller = EntryRenderer::of_all(call, Some(category), &entries)?;
    let room = TokenBudget::of(call.preferences.recall_tokens);
    let mut told = JsonObject::new();
    for entry in &entries {
        told.insert(
            entry.key.clone(),
            Value::Object(one_of_many(&teller, &room, entry)?),
        );
    }
    Ok(Reply::json(json!({
        "category": category,
        "entries": told,
        "count": total,
        "total": total,
        "shown": entries.len(),
    })))
}

/// How many of the entries, from the first one on, there is room for.
fn fitting(call: &Call<'_>, entries: &[Entry], category: &'static str) -> Result<usize, ToolError> {
    let teller = EntryRenderer::of_all(call, Some(category), entries)?;
    let mut room = TokenBudget::of(call.preferences.recall_tokens);
    for (fitting, entry) in entries.iter().enumerate() {
        let told = written(&one_of_many(&teller, &room, entry)?);
        if !room.takes(estimated_tokens(&entry.key) + estimated_tokens(&told)) {
            return Ok(fitting);
        }
    }
    Ok(entries.len())
}

/// An entry with as much of its value as one among many may take.
fn one_of_many(
    teller: &EntryRenderer<'_>,
    room: &TokenBudget,
    entry: &Entry,
) -> Result<JsonObject, ToolError> {
    let mut told = teller.entry(entry)?;
    let value = room.value(&entry.memory.content);
    if value.truncated {
        told.insert("value".to_owned(), Value::String(value.text));
        told.insert("truncated".to_owned(), json!(true));
    }
    Ok(told)
}

pub(super) fn search(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let text = arguments.required_text("query")?;
    if text.trim().is_empty() {
        let what = "`query` is empty: give the words to look for";
        return Err(ToolError::refused(what));
    }
    let category = match arguments.set_text("category")? {
        Some(category) => Some(vocabulary::category(&category)?),
        None => None,
    };
    let query = Query {
        ranking: call.preferences.ranking.unwrap_or_else(usual_ranking),
        ..Query::text(&text, vocabulary::filter(category), MOST_RESULTS)
    };
    let found = ops::think(call.engine, &query)?;
    let note = found.note();
    let mut scored = Vec::new();
    for hit in found.hits {
        let (score, found_only_by) = (hit.score, hit.found_only_by());
        scored.push((score, found_only_by, Entry::of_hit(call, hit)?));
    }
    let recalled: Vec<_> = scored.iter().map(|(.., entry)| entry.recalled()).collect();
    call.engine.writer.count_uses(&recalled);
    let teller = EntryRenderer::new(call)?;
    let mut results = Vec::new();
    for (score, found_only_by, entry) in &scored {
        let mut told = teller.called(entry)?;
        let score = (score * 10_000.0).round() / 10_000.0;
        told.insert("score".to_owned(), json!(score));
        if let Some(by) = found_only_by {
            told.insert("found_by".to_owned(), json!(by));
        }
        results.push(Value::Object(told));
    }
    let mut reply = object(json!({
        "query": text.chars().take(ECHOED).collect::<String>(),
        "results": results,
        "count": scored.len(),
        "total": found.total,
    }));
    add_note(&mut reply, note);
    Ok(Reply::object(reply))
}

/// How entries are ranked unless the user says otherwise.
fn usual_ranking() -> Ranking {
    Ranking {
        method: Method::Weighted,
        ..Ranking::default()
    }
}

fn count(call: &Call<'_>, entries: &[Entry]) {
    let recalled: Vec<_> = entries.iter().map(Entry::recalled).collect();
    call.engine.writer.count_uses(&recalled);
}
