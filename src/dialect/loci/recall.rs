//! `recall_memory`: a search in two steps, previews and then whole memories by their ids.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::json;

use super::arguments::group;
use super::shown;
use crate::dialect::arguments::Arguments;
use crate::dialect::budget::fit;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::metadata;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::add_note;
use crate::dialect::reply::full;
use crate::dialect::reply::object;
use crate::dialect::reply::written;
use crate::engine::AskedTime;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::FLAGGED_BELOW;
use crate::engine::Forgotten;
use crate::engine::Hit;
use crate::engine::Method;
use crate::engine::Query;
use crate::engine::QueryKind;
use crate::engine::Ranking;
use crate::engine::Recalled;
use crate::engine::Relations;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Kind;
use crate::model::Memory;
use crate::model::Stem;
use crate::model::Timestamp;
use crate::model::estimated_tokens;

/// The most ids of one call.
const MOST_IDS: usize = 100;
/// The most results of a search.
const MOST_RESULTS: usize = 20;
/// The score of what was asked for by its id.
const ASKED_FOR: f64 = 1.0;

/// How an answer is wanted.
struct Options {
    max_results: usize,
    summary_only: bool,
    budget: usize,
}

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

/// Whole memories in the order asked; filters do not count. Those that lie in the archive are shown,
/// too, with what is known of their going: whoever asks for one has seen its id somewhere.
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
    let mut answer = Answer::of(options.budget);
    for one in recalled {
        match &one {
            Recalled::Found { memory, .. } => {
                let id = engine.live.shown_id(&memory.stem);
                let mut shown = whole(engine, memory, ASKED_FOR);
                put_newer(engine, memory, &mut shown)?;
                put_relations(engine, memory, &mut relations, &mut shown);
                answer.add(id, shown, Some(one));
            }
            Recalled::Failed { id, error } => match forgotten.get(id) {
                Some(forgotten) => {
                    let mut shown = whole(engine, &forgotten.memory, ASKED_FOR);
                    shown::put_forgotten(engine, forgotten, &mut shown)?;
                    answer.add(engine.live.shown_id(&forgotten.memory.stem), shown, None);
                }
                None => {
                    let shown = json!({"id": id, "error": full(error)});
                    answer.add(id.clone(), object(shown), None);
                }
            },
        }
    }
    engine.writer.count_uses(&answer.used);
    Ok(answer.reply(total, None))
}

fn found(recalled: &Recalled) -> Option<&Memory> {
    match recalled {
        Recalled::Found { memory, .. } => Some(memory),
        Recalled::Failed { .. } => None,
    }
}

/// Of what was asked for and is not live, what lies in the archive, by the ids that were asked for.
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

/// What is found for a query, and then what has to do with the entities that it names.
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
    let mut answer = Answer::of(options.budget);
    answer.note = note;
    for (hit, related_to) in results {
        let found_only_by = hit.found_only_by();
        let Hit {
            memory,
            name,
            score,
            ..
        } = hit;
        let id = engine.live.shown_id(&memory.stem);
        let mut shown = match options.summary_only {
            true => summary(engine, &memory, score),
            false => whole(engine, &memory, score),
        };
        if let Some(by) = found_only_by {
            shown.insert("found_by".to_owned(), json!(by));
        }
        if let Some(entity) = related_to {
            shown.insert(
                "related_to".to_owned(),
                json!(engine.live.shown_id(&entity)),
            );
        }
        put_relations(engine, &memory, &mut relations, &mut shown);
        let memory = Box::new(memory.into_memory());
        answer.add(id, shown, Some(Recalled::Found { memory, name }));
    }
    engine.writer.count_uses(&answer.used);
    Ok(answer.reply(total, time.as_ref()))
}

/// The hits, best first, how many there are in all, and what is to be told beside them. Where the query asks for a time, the rest
/// of that time follows, newest first.
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

/// The relations of those that are entities, as far as the group sees them.
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

fn put_relations(
    engine: &Engine,
    memory: &Memory,
    relations: &mut Vec<(Stem, Relations)>,
    shown: &mut JsonObject,
) {
    if let Some(at) = relations.iter().position(|(stem, _)| *stem == memory.stem) {
        let (_, relations) = relations.swap_remove(at);
        shown::put_relations(engine, &relations, shown);
    }
}

fn whole(engine: &Engine, memory: &Memory, score: f64) -> JsonObject {
    object(json!({
        "id": engine.live.shown_id(&memory.stem),
        "type": shown::kind(memory).as_str(),
        "content": memory.content,
        "confidence": shown::confidence(engine, memory),
        "score": rounded(score),
        "created_at": memory.timestamp.as_str(),
        "metadata": metadata::to_json(&memory.metadata),
    }))
}

fn summary(engine: &Engine, memory: &Memory, score: f64) -> JsonObject {
    let (preview, is_cut) = shown::preview(&memory.content);
    let mut summary = object(json!({
        "id": engine.live.shown_id(&memory.stem),
        "type": shown::kind(memory).as_str(),
        "preview": preview,
        "score": rounded(score),
    }));
    if is_cut {
        summary.insert("truncated".to_owned(), json!(true));
    }
    summary
}

fn put_newer(engine: &Engine, memory: &Memory, shown: &mut JsonObject) -> Result<(), EngineError> {
    if let Some(newer) = ops::newer_than(engine, memory)? {
        shown.insert(
            "superseded_by".to_owned(),
            json!(engine.live.shown_id(&newer)),
        );
    }
    Ok(())
}

/// In millionths: enough to tell ranks apart.
fn rounded(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}

/// Results as far as they fit.
struct Answer {
    budget: usize,
    tokens: usize,
    results: Vec<Value>,
    /// The ids of those that did not fit.
    left_out: Vec<String>,
    /// Those that count as used.
    used: Vec<Recalled>,
    /// A note beside them.
    note: Option<String>,
}

impl Answer {
    fn of(budget: usize) -> Answer {
        Answer {
            budget,
            tokens: 0,
            results: Vec::new(),
            left_out: Vec::new(),
            used: Vec::new(),
            note: None,
        }
    }

    /// Adds a result, without its relations if need be. After the first one that does not fit none
    /// is added, and only the very first one is cut: a part of it is better than nothing.
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
        let mut reply = object(json!({
            "results": self.results,
            "total_matched": total,
            "token_estimate": self.tokens,
        }));
        if !self.left_out.is_empty() {
            reply.insert("left_out".to_owned(), json!(self.left_out));
        }
        if let Some(time) = time {
            let shown = |at| Timestamp::from_utc(at).as_str().to_owned();
            let window = json!({"since": shown(time.since), "until": shown(time.until)});
            reply.insert("time_window".to_owned(), window);
        }
        add_note(&mut reply, self.note);
        Reply::object(reply)
    }
}
