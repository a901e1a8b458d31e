//! `recall` and `search`, which count as a use of the shown entries.

use serde::Serialize;

use super::entry::{Entry, list};
use super::renderer::{EntryRenderer, EntryView};
use super::summary::by_importance;
use super::token_budget::TokenBudget;
use super::{entry_arguments, vocabulary};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::{JsonObject, to_json, to_text};
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::{Method, Query, Ranking, ops};
use crate::model::estimated_tokens;

/// Maximum number of results of a search.
pub(super) const MOST_RESULTS: usize = 20;
/// Maximum number of characters of a query that a reply repeats.
const ECHOED: usize = 200;

/// One entry.
#[derive(Serialize)]
struct RecallView {
    category: &'static str,
    key: String,
    entry: EntryView,
}

/// Runs the tool `recall`.
pub(super) fn recall(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let category = entry_arguments::category(arguments, "category")?;
    if arguments.set_text("key")?.is_none() {
        return recall_all(call, category);
    }
    let entry = entry_arguments::readable_entry(call, arguments)?;
    count(call, std::slice::from_ref(&entry));
    Ok(Reply::of(&RecallView {
        category,
        entry: EntryRenderer::new(call).entry(&entry)?,
        key: entry.key,
    }))
}

/// The most important entries of a category.
#[derive(Serialize)]
struct CategoryView {
    category: &'static str,
    entries: JsonObject,
    count: usize,
    total: usize,
    shown: usize,
}

fn recall_all(call: &Call<'_>, category: &'static str) -> Result<Reply, ToolError> {
    let mut entries = list(call, Some(category))?;
    let total = entries.len();
    by_importance(&mut entries);
    let fitting = fitting(call, &entries, category)?;
    entries.truncate(fitting);
    count(call, &entries);
    let renderer = EntryRenderer::of_all(call, Some(category), &entries)?;
    let budget = TokenBudget::of(call.preferences.recall_tokens);
    let mut shown = JsonObject::new();
    for entry in &entries {
        let view = one_of_many(&renderer, &budget, entry)?;
        shown.insert(entry.key.clone(), to_json(&view));
    }
    Ok(Reply::of(&CategoryView {
        category,
        entries: shown,
        count: total,
        total,
        shown: entries.len(),
    }))
}

/// Returns the number of first entries that fit into the budget.
fn fitting(call: &Call<'_>, entries: &[Entry], category: &'static str) -> Result<usize, ToolError> {
    let renderer = EntryRenderer::of_all(call, Some(category), entries)?;
    let mut budget = TokenBudget::of(call.preferences.recall_tokens);
    for (fitting, entry) in entries.iter().enumerate() {
        let shown = to_text(&one_of_many(&renderer, &budget, entry)?);
        if !budget.takes(estimated_tokens(&entry.key) + estimated_tokens(&shown)) {
            return Ok(fitting);
        }
    }
    Ok(entries.len())
}

/// Returns an entry with its value truncated to the share of one among many.
fn one_of_many(
    renderer: &EntryRenderer<'_>,
    budget: &TokenBudget,
    entry: &Entry,
) -> Result<EntryView, ToolError> {
    let mut view = renderer.entry(entry)?;
    let value = budget.value(&entry.memory.content);
    if value.truncated {
        view.value = value.text;
        view.truncated = Some(true);
    }
    Ok(view)
}

/// The entries that a search found.
#[derive(Serialize)]
struct SearchView {
    query: String,
    results: Vec<FoundEntry>,
    count: usize,
    total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// An entry that was searched for.
#[derive(Serialize)]
struct FoundEntry {
    category: &'static str,
    key: String,
    #[serde(flatten)]
    entry: EntryView,
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<&'static str>,
}

/// Runs the tool `search`.
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
    let renderer = EntryRenderer::new(call);
    let mut results = Vec::new();
    for (score, found_by, entry) in scored {
        results.push(FoundEntry {
            category: entry.category,
            entry: renderer.entry(&entry)?,
            key: entry.key,
            score: (score * 10_000.0).round() / 10_000.0,
            found_by,
        });
    }
    Ok(Reply::of(&SearchView {
        query: text.chars().take(ECHOED).collect(),
        count: results.len(),
        results,
        total: found.total,
        note,
    }))
}

/// Returns the default ranking of this tool set.
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
