//! `recall_memory`: a search in two steps, previews and then whole memories by their ids.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::arguments::group;
use super::shown;
use super::shown::{GoneView, RelationsView};
use crate::dialect::arguments::Arguments;
use crate::dialect::budget::fit;
use crate::dialect::call::Call;
use crate::dialect::json::{JsonObject, to_object};
use crate::dialect::metadata;
use crate::dialect::reply::{Reply, ToolError, full, written};
use crate::engine::{
    AskedTime, Engine, EngineError, FLAGGED_BELOW, Forgotten, Hit, Method, Query, QueryKind,
    Ranking, Recalled, Relations, ops,
};
use crate::model::{Filter, Kind, Memory, Stem, Timestamp, estimated_tokens};

/// Maximum number of ids of one call.
const MOST_IDS: usize = 100;
/// Maximum number of results of a search.
const MOST_RESULTS: usize = 20;
/// Score of a memory that was requested by its id.
const ASKED_FOR: f64 = 1.0;

/// Options of a search.
struct Options {
    max_results: usize,
    summary_only: bool,
    budget: usize,
}

/// Runs the tool `recall_memory`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let filter = filter(call, arguments)?;
    let ids = arguments.list("ids")?.unwrap_or_default();
    let summary_only = arguments.flag("summary_only")?.unwrap_or(false) && ids.is_empty();
    let usual_budget = match summary_only {
        true => call.preferences.preview_tokens,
        false => call.preferences.recall_tokens,
    };
    let usual_results = call.preferences.max_results.clamp(1, MOST_RESULTS);
    let budget = arguments.number("token_budget")?;
    let max_results = arguments.number("max_results")?;
    let options = Options {
        max_results: max_results.map_or(usual_results, |n| n as usize),
        summary_only,
        budget: budget.map_or(usual_budget, |n| n as usize),
    };
    if !ids.is_empty() {
        let group = filter.seen_from.as_deref();
        return by_ids(call.engine, &ids, group, &options);
    }
    match arguments.set_text("query")? {
        Some(query) => by_query(call, &query, filter, &options),
        None => Err(ToolError::refused(
            "`query` is missing: give a question or words, or `ids` to read memories whole",
        )),
    }
}

fn filter(call: &Call<'_>, arguments: &Arguments) -> Result<Filter, ToolError> {
    let least = arguments.share("min_confidence")?;
    let mut filter = Filter {
        scopes: arguments.word("scope")?.into_iter().collect(),
        seen_from: Some(group(call, arguments.set_text("group")?)?),
        min_confidence: Some(least.unwrap_or(FLAGGED_BELOW)),
        ..Filter::default()
    };
    if let Some(kind) = arguments.word("type")? {
        shown::only(kind, &mut filter);
    }
    Ok(filter)
}

/// Reads whole memories in the order of `ids`, without filters. Archived ones are shown, too, with the
/// time and reason of their archiving.
fn by_ids(
    engine: &Engine,
    ids: &[String],
    group: Option<&str>,
    options: &Options,
) -> Result<Reply, ToolError> {
    if ids.len() > MOST_IDS {
        let what = format!("too many `ids`: give at most {MOST_IDS} at once");
        return Err(ToolError::refused(what));
    }
    let recalled = ops::recall(engine, ids);
    let mut relations = relations(engine, recalled.iter().filter_map(found), group)?;
    let forgotten = forgotten(engine, &recalled)?;
    let total = recalled.iter().filter_map(found).count() + forgotten.len();
    let mut fitting = FittingResults::of(options.budget);
    for one in recalled {
        match &one {
            Recalled::Found { memory, .. } => {
                let newer = ops::newer_than(engine, memory)?;
                let row = Row {
                    superseded_by: newer.map(|newer| engine.live.shown_id(&newer)),
                    relations: take_relations(engine, memory, &mut relations),
                    ..Row::whole(engine, memory, ASKED_FOR)
                };
                fitting.add(row.id.clone(), to_object(&row), Some(one));
            }
            Recalled::Failed { id, error } => match forgotten.get(id) {
                Some(forgotten) => {
                    let (by, gone) = shown::gone(engine, forgotten)?;
                    let row = Row {
                        superseded_by: Some(by),
                        forgotten: Some(gone),
                        ..Row::whole(engine, &forgotten.memory, ASKED_FOR)
                    };
                    fitting.add(row.id.clone(), to_object(&row), None);
                }
                None => {
                    let error = full(error);
                    fitting.add(id.clone(), to_object(&FailedRow { id, error }), None);
                }
            },
        }
    }
    engine.writer.count_uses(&fitting.used);
    Ok(fitting.reply(total, None))
}

fn found(recalled: &Recalled) -> Option<&Memory> {
    match recalled {
        Recalled::Found { memory, .. } => Some(memory),
        Recalled::Failed { .. } => None,
    }
}

/// Returns the archived memories among those that were not found, by the ids in the arguments.
fn forgotten(
    engine: &Engine,
    recalled: &[Recalled],
) -> Result<HashMap<String, Forgotten>, EngineError> {
    let missing = recalled.iter().filter_map(|one| match one {
        Recalled::Failed {
            id,
            error: EngineError::NotFound(_),
        } => Some(id),
        _ => None,
    });
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    let found = ops::forgotten_each(engine, &missing)?;
    let found = missing.into_iter().zip(found);
    Ok(found
        .filter_map(|(id, found)| Some((id.to_owned(), found.ok()?)))
        .collect())
}

/// Searches for a query, then adds memories related to the entities that it names.
fn by_query(
    call: &Call<'_>,
    text: &str,
    mut filter: Filter,
    options: &Options,
) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let entities = Filter {
        kinds: vec![Kind::Entity],
        seen_from: filter.seen_from.clone(),
        ..Filter::default()
    };
    let mut time = None;
    if let Some(asked) = ops::asked_time(engine, text) {
        let stems = ops::of_time(engine, &asked, &filter)?;
        // Where there is nothing of that time, something else may be meant.
        if !stems.is_empty() {
            filter.stems = Some(stems);
            time = Some(asked);
        }
    }
    let asked = time.as_ref().map_or(text, |time| &time.rest);
    let query = Query {
        ranking: call.preferences.ranking.unwrap_or(Ranking {
            method: Method::ReciprocalRank,
            ..Ranking::default()
        }),
        ..Query::text(asked, filter, options.max_results)
    };
    let (hits, total, note) = hits(engine, &query, time.is_some())?;
    let mut results: Vec<(Hit, Option<Stem>)> = hits.into_iter().map(|hit| (hit, None)).collect();
    if results.len() < options.max_results {
        let named = ops::named_in(engine, text, &entities)?;
        for (relation, hit) in ops::neighbours(engine, &named, &query.filter)? {
            let stem = &hit.memory.stem;
            let is_there = results.iter().any(|(known, _)| known.memory.stem == *stem);
            if !is_there && results.len() < options.max_results {
                let of = match relation.from == *stem {
                    true => relation.to,
                    false => Some(relation.from),
                };
                results.push((Hit { score: 0.0, ..hit }, of));
            }
        }
    }
    let mut relations = match options.summary_only {
        true => Vec::new(),
        false => relations(
            engine,
            results.iter().map(|(hit, _)| &*hit.memory),
            entities.seen_from.as_deref(),
        )?,
    };
    let mut fitting = FittingResults::of(options.budget);
    fitting.note = note;
    for (hit, related_to) in results {
        let found_only_by = hit.found_only_by();
        let Hit {
            memory,
            name,
            score,
            ..
        } = hit;
        let row = match options.summary_only {
            true => Row::summary(engine, &memory, score),
            false => Row::whole(engine, &memory, score),
        };
        let row = Row {
            found_by: found_only_by,
            related_to: related_to.map(|entity| engine.live.shown_id(&entity)),
            relations: take_relations(engine, &memory, &mut relations),
            ..row
        };
        let memory = Box::new(memory.into_memory());
        let used = Recalled::Found { memory, name };
        fitting.add(row.id.clone(), to_object(&row), Some(used));
    }
    engine.writer.count_uses(&fitting.used);
    Ok(fitting.reply(total, time.as_ref()))
}

/// Returns the hits, best first, the number of all, and the note beside them. For a query with a time, all
/// other memories of that time follow, newest first.
fn hits(
    engine: &Engine,
    query: &Query,
    is_of_time: bool,
) -> Result<(Vec<Hit>, usize, Option<String>), EngineError> {
    let is_blank = matches!(&query.kind, QueryKind::Text(text) if text.trim().is_empty());
    let (mut hits, mut total, mut note) = (Vec::new(), 0, None);
    if !is_blank {
        let ranked = ops::think(engine, query)?;
        note = ranked.note();
        (hits, total) = (ranked.hits, ranked.total);
    }
    if is_of_time {
        let all = Query::everything(query.filter.clone(), query.limit);
        let all = ops::search(engine, &all)?;
        total = all.total;
        let others = all.hits.into_iter().filter(|hit| {
            let stem = &hit.memory.stem;
            hits.iter().all(|known| known.memory.stem != *stem)
        });
        let others: Vec<Hit> = others.collect();
        hits.extend(others);
        hits.truncate(query.limit);
    }
    Ok((hits, total, note))
}

/// Returns the relations of entities among `memories` that are visible to the group.
fn relations<'a>(
    engine: &Engine,
    memories: impl Iterator<Item = &'a Memory>,
    group: Option<&str>,
) -> Result<Vec<(Stem, Relations)>, EngineError> {
    let entities = memories.filter(|memory| memory.kind == Some(Kind::Entity));
    let stems: Vec<Stem> = entities.map(|memory| memory.stem.clone()).collect();
    let relations = ops::current_relations(engine, &stems, group)?;
    let both = stems.into_iter().zip(relations);
    Ok(both
        .filter_map(|(stem, relations)| Some((stem, relations?)))
        .collect())
}

/// Takes the relations of a memory, so that they are shown once.
fn take_relations(
    engine: &Engine,
    memory: &Memory,
    relations: &mut Vec<(Stem, Relations)>,
) -> Option<RelationsView> {
    let at = relations
        .iter()
        .position(|(stem, _)| *stem == memory.stem)?;
    let (_, relations) = relations.swap_remove(at);
    Some(RelationsView::of(engine, relations))
}

/// One result.
#[derive(Serialize)]
struct Row {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    text: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forgotten: Option<GoneView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    related_to: Option<String>,
    #[serde(flatten)]
    relations: Option<RelationsView>,
}

/// The text of a memory in a result.
#[derive(Serialize)]
#[serde(untagged)]
enum Text {
    Whole {
        content: String,
        confidence: f64,
        score: f64,
        created_at: String,
        metadata: Value,
    },
    Summary {
        preview: String,
        score: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        truncated: Option<bool>,
    },
}

/// An id for which there is no memory.
#[derive(Serialize)]
struct FailedRow<'a> {
    id: &'a str,
    error: String,
}

impl Row {
    fn of(engine: &Engine, memory: &Memory, text: Text) -> Row {
        Row {
            id: engine.live.shown_id(&memory.stem),
            kind: shown::kind(memory).as_str(),
            text,
            superseded_by: None,
            forgotten: None,
            found_by: None,
            related_to: None,
            relations: None,
        }
    }

    fn whole(engine: &Engine, memory: &Memory, score: f64) -> Row {
        let text = Text::Whole {
            content: memory.content.clone(),
            confidence: shown::confidence(engine, memory),
            score: rounded(score),
            created_at: memory.timestamp.as_str().to_owned(),
            metadata: metadata::to_json(&memory.metadata),
        };
        Row::of(engine, memory, text)
    }

    fn summary(engine: &Engine, memory: &Memory, score: f64) -> Row {
        let (preview, is_cut) = shown::preview(&memory.content);
        let text = Text::Summary {
            preview,
            score: rounded(score),
            truncated: is_cut.then_some(true),
        };
        Row::of(engine, memory, text)
    }
}

/// Rounds a score to six digits.
fn rounded(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}

/// The reply to a search.
#[derive(Serialize)]
struct RecallView {
    results: Vec<Value>,
    total_matched: usize,
    token_estimate: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_window: Option<TimeWindow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Time span in a query.
#[derive(Serialize)]
struct TimeWindow {
    since: String,
    until: String,
}

/// Results that fit the budget.
#[derive(Default)]
struct FittingResults {
    budget: usize,
    tokens: usize,
    results: Vec<Value>,
    /// Ids of those that did not fit.
    left_out: Vec<String>,
    /// Memories that count as used.
    used: Vec<Recalled>,
    /// A note beside them.
    note: Option<String>,
}

impl FittingResults {
    fn of(budget: usize) -> FittingResults {
        FittingResults {
            budget,
            ..FittingResults::default()
        }
    }

    /// Adds a result, without its relations if the budget requires it. After the first one that does
    /// not fit, none is added. Only the very first one is cut: a part of it is better than nothing.
    fn add(&mut self, id: String, mut result: JsonObject, used: Option<Recalled>) {
        if !self.left_out.is_empty() {
            self.left_out.push(id);
            return;
        }
        let left = self.budget.saturating_sub(self.tokens);
        let cost = |result: &JsonObject| estimated_tokens(&written(result));
        if cost(&result) > left {
            for key in ["relations", "incoming"] {
                result.remove(key);
            }
        }
        if cost(&result) > left && self.results.is_empty() {
            fit(&mut result, left);
        }
        let tokens = cost(&result);
        if tokens > left && !self.results.is_empty() {
            self.left_out.push(id);
            return;
        }
        self.tokens += tokens;
        self.results.push(Value::Object(result));
        self.used.extend(used);
    }

    fn reply(self, total: usize, time: Option<&AskedTime>) -> Reply {
        let shown = |at| Timestamp::from_utc(at).as_str().to_owned();
        Reply::of(&RecallView {
            results: self.results,
            total_matched: total,
            token_estimate: self.tokens,
            left_out: self.left_out,
            time_window: time.map(|time| TimeWindow {
                since: shown(time.since),
                until: shown(time.until),
            }),
            note: self.note,
        })
    }
}
