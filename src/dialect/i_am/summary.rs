//! Summaries: `session_start`, `status`, `about_me`, `about_us`, `reflect`.

use std::collections::HashMap;

use chrono::TimeDelta;
use serde::Serialize;
use serde_json::{Value, json};

use super::entry::{Entry, list};
use super::renderer::{EntryRenderer, moment};
use super::token_budget::TokenBudget;
use super::vocabulary;
use super::vocabulary::{CATEGORIES, SCHEMA_VERSION};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::{JsonObject, to_json};
use crate::dialect::preview;
use crate::dialect::preview::PreviewWords;
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::{Reflection, ops};
use crate::model::{Filter, Patch, Stem, Visibility, estimated_tokens};

/// Maximum number of characters of a value in the summary of a session.
const SHOWN: usize = 80;

/// The beginning of a session.
#[derive(Serialize)]
struct SessionView {
    session_count: usize,
    total: u64,
    categories: JsonObject,
    memories: JsonObject,
    shown: usize,
}

/// An entry in short.
#[derive(Serialize)]
struct ShortEntry<'a> {
    key: &'a str,
    value: String,
    truncated: bool,
    importance: u8,
}

/// Runs the tool `session_start`.
pub(super) fn session_start(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let sessions = ops::begin_session(call.engine)?;
    let counts = counts(call)?;
    let mut entries = active(call, None)?;
    by_importance(&mut entries);
    let mut memories: Vec<(&str, Vec<Value>)> = CATEGORIES.map(|name| (name, Vec::new())).into();
    let mut budget = TokenBudget::of(call.preferences.preview_tokens);
    let mut shown = 0;
    for entry in &entries {
        let value = preview(&entry.memory.content, &PreviewWords::default(), SHOWN);
        let short = to_json(&ShortEntry {
            key: &entry.key,
            value: value.text,
            truncated: value.truncated,
            importance: entry.importance(),
        });
        if !budget.takes(estimated_tokens(&short.to_string())) {
            break;
        }
        shown += 1;
        let mut of_category = memories.iter_mut();
        if let Some((_, list)) = of_category.find(|(name, _)| *name == entry.category) {
            list.push(short);
        }
    }
    memories.retain(|(_, list)| !list.is_empty());
    let memories = memories.into_iter();
    let memories: JsonObject = memories
        .map(|(name, list)| (name.to_owned(), Value::Array(list)))
        .collect();
    Ok(Reply::of(&SessionView {
        session_count: sessions,
        total: sum(&counts),
        categories: counts,
        memories,
        shown,
    }))
}

/// The numbers of a store.
#[derive(Serialize)]
pub(super) struct StatsView {
    total: u64,
    categories: JsonObject,
    session_count: usize,
    file_size: u64,
}

#[derive(Serialize)]
struct StatusView {
    schema_version: &'static str,
    #[serde(flatten)]
    stats: StatsView,
}

/// Runs the tool `status`.
pub(super) fn status(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    Ok(Reply::of(&StatusView {
        schema_version: SCHEMA_VERSION,
        stats: stats(call)?,
    }))
}

/// Returns the numbers of a store.
///
/// # Errors
///
/// Fails if the store or a journal cannot be read.
pub(super) fn stats(call: &Call<'_>) -> Result<StatsView, ToolError> {
    let counts = counts(call)?;
    Ok(StatsView {
        total: sum(&counts),
        categories: counts,
        session_count: ops::sessions(call.engine)?,
        file_size: ops::stats(call.engine, &Filter::default())?.bytes,
    })
}

fn counts(call: &Call<'_>) -> Result<JsonObject, ToolError> {
    let count = |category: &str| -> Result<(String, Value), ToolError> {
        let filter = Filter {
            visibility: Visibility::Everything,
            ..vocabulary::filter(Some(category))
        };
        Ok((category.to_owned(), json!(ops::count(call.engine, filter)?)))
    };
    CATEGORIES.into_iter().map(count).collect()
}

fn sum(counts: &JsonObject) -> u64 {
    counts.values().filter_map(Value::as_u64).sum()
}

/// A profile: active entries of some categories.
#[derive(Serialize)]
struct ProfileView {
    profile: &'static str,
    total: usize,
    shown: usize,
    memories: JsonObject,
    truncated: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_count: Option<usize>,
}

/// Runs the tool `about_me`.
pub(super) fn about_me(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let profile = profile(call, "about_me", &["user", "relationships", "tools"])?;
    Ok(Reply::of(&profile))
}

/// Runs the tool `about_us`.
pub(super) fn about_us(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let profile = profile(call, "about_us", &["relationships", "assistant", "user"])?;
    Ok(Reply::of(&ProfileView {
        session_count: Some(ops::sessions(call.engine)?),
        ..profile
    }))
}

/// Returns the active entries of some categories, the most important first, as many as fit into an answer.
fn profile(
    call: &Call<'_>,
    name: &'static str,
    categories: &[&str],
) -> Result<ProfileView, ToolError> {
    let mut entries = active(call, None)?;
    entries.retain(|entry| categories.contains(&entry.category));
    by_importance(&mut entries);
    let empty = categories.iter();
    let empty = empty.map(|category| ((*category).to_owned(), json!({})));
    let mut memories: JsonObject = empty.collect();
    let mut budget = TokenBudget::of(call.preferences.preview_tokens);
    let (mut shown, mut truncated) = (0, Vec::new());
    for entry in &entries {
        let value = budget.value(&entry.memory.content);
        let tokens = estimated_tokens(&entry.key) + estimated_tokens(&value.text);
        if !budget.takes(tokens) {
            break;
        }
        shown += 1;
        if value.truncated {
            truncated.push(entry.name());
        }
        memories[entry.category][&entry.key] = Value::String(value.text);
    }
    Ok(ProfileView {
        profile: name,
        total: entries.len(),
        shown,
        memories,
        truncated,
        session_count: None,
    })
}

fn active(call: &Call<'_>, category: Option<&str>) -> Result<Vec<Entry>, ToolError> {
    let entries = list(call, category)?;
    let renderer = EntryRenderer::of_all(call, category, &entries)?;
    let mut active = Vec::new();
    for entry in entries {
        if renderer.status(&entry.memory)? == "active" {
            active.push(entry);
        }
    }
    Ok(active)
}

/// Sorts entries by importance, the highest first; equal ones keep their order.
pub(super) fn by_importance(entries: &mut [Entry]) {
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.importance()));
}

/// The findings of a reflection.
#[derive(Serialize)]
struct ReflectionView<'a> {
    total: usize,
    stale: Vec<BriefEntry<'a>>,
    archival_candidates: Vec<BriefEntry<'a>>,
    confidence_adjustments: Vec<Adjustment<'a>>,
}

/// An entry without its value.
#[derive(Serialize)]
struct BriefEntry<'a> {
    category: &'a str,
    key: &'a str,
    importance: u8,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// Another confidence for an entry.
#[derive(Serialize)]
struct Adjustment<'a> {
    category: &'a str,
    key: &'a str,
    current: Option<f64>,
    proposed: f64,
    reason: &'a str,
}

/// Runs the tool `reflect`.
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
    let stale = stale.filter_map(|memory| Some(brief(entries.get(&memory.stem)?, None)));
    let (mut archival, mut adjustments) = (Vec::new(), Vec::new());
    for proposal in &proposed.plan.proposals {
        for stem in &proposal.archive {
            if let Some(entry) = entries.get(stem) {
                archival.push(brief(entry, Some(&proposal.because)));
            }
        }
        for (stem, change) in &proposal.edit {
            let (Some(entry), Patch::Set(confidence)) = (entries.get(stem), &change.confidence)
            else {
                continue;
            };
            adjustments.push(Adjustment {
                category: entry.category,
                key: &entry.key,
                current: entry.memory.confidence,
                proposed: *confidence,
                reason: &proposal.because,
            });
        }
    }
    Ok(Reply::of(&ReflectionView {
        total: ops::count(call.engine, Filter::default())?,
        stale: stale.collect(),
        archival_candidates: archival,
        confidence_adjustments: adjustments,
    }))
}

fn brief<'a>(entry: &'a Entry, reason: Option<&'a str>) -> BriefEntry<'a> {
    BriefEntry {
        category: entry.category,
        key: &entry.key,
        importance: entry.importance(),
        created_at: moment(entry.memory.timestamp.utc()),
        reason,
    }
}
