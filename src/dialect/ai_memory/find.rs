//! `memory_recall`, `memory_search`, `memory_list` and `memory_session_start`: which memories there
//! are for something.

use serde_json::Value;
use serde_json::json;

use super::check;
use super::shape;
use super::shape::FORMAT;
use super::titles::Titles;
use super::titles::add_notes;
use super::tool::at_hand;
use super::tool::reads;
use super::tool::tool;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::call::FeatureTier;
use crate::dialect::json::JsonObject;
use crate::dialect::parameter::Literal;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Tool;
use crate::engine::Hit;
use crate::engine::Method;
use crate::engine::Query;
use crate::engine::Ranking;
use crate::engine::Recalled;
use crate::engine::SearchResults;
use crate::engine::Toward;
use crate::engine::meaning;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Memory;
use crate::model::Tier;

pub(super) const NAMESPACE: Parameter =
    Parameter::text("namespace", "Only of this one, and what lies in it");
pub(super) const TIER: Parameter = Parameter::word("tier", check::TIERS, "Only of this tier");
pub(super) const TAGS: Parameter = Parameter::texts("tags", "Only with all of these");
pub(super) const SINCE: Parameter = Parameter::text(
    "since",
    "Only made from this time on: RFC3339, yesterday, 3d, last week",
);
pub(super) const UNTIL: Parameter = Parameter::text("until", "Only made before it");
pub(super) const MIN_PRIORITY: Parameter =
    Parameter::whole("min_priority", 1, 10, "Only at least so important");

pub(super) const MOST_RECALLED: u64 = 50;
pub(super) const MOST_FOUND: u64 = 200;

pub(super) const RECALL: Tool = tool(
    "memory_recall",
    "Find memories for what you are about to do; best first. Call it before answering anything that may depend on earlier work. Any word of the context may match, and what means the same where there is a model. Using a memory lets it live longer. The standards of the namespace that you name come first. The usual format shows titles: read the content with memory_get, or ask for format json.",
    &[
        Parameter::text("context", "What you are about to do or were asked").required(),
        NAMESPACE,
        Parameter::whole("limit", 1, MOST_RECALLED, "").or(Literal::Whole(10)),
        TIER,
        TAGS,
        SINCE,
        UNTIL,
        MIN_PRIORITY,
        FORMAT,
    ],
    at_hand(reads("Recall memories")),
    recall,
);

pub(super) const SEARCH: Tool = tool(
    "memory_search",
    "Find the memories that hold every word of the query, in title, tags or content; best first. Identifiers such as std::path or well-known are found by their words. Does not count as use.",
    &[
        Parameter::text("query", "Words that must all be there").required(),
        NAMESPACE,
        TIER,
        Parameter::whole("limit", 1, MOST_FOUND, "").or(Literal::Whole(20)),
        TAGS,
        SINCE,
        UNTIL,
        MIN_PRIORITY,
        FORMAT,
    ],
    reads("Search memories"),
    search,
);

pub(super) const LIST: Tool = tool(
    "memory_list",
    "List memories, the newest first, page by page. Does not count as use.",
    &[
        NAMESPACE,
        TIER,
        Parameter::whole("limit", 1, MOST_FOUND, "").or(Literal::Whole(20)),
        Parameter::whole("offset", 0, u64::MAX, "Number of memories to skip").or(Literal::Whole(0)),
        TAGS,
        SINCE,
        UNTIL,
        MIN_PRIORITY,
        FORMAT,
    ],
    reads("List memories"),
    list,
);

pub(super) const SESSION_START: Tool = tool(
    "memory_session_start",
    "Begin a session: the standards of the namespace, which hold for everything in it, and then its newest memories. Call it once, first. Does not count as use.",
    &[
        NAMESPACE,
        Parameter::whole("limit", 1, MOST_RECALLED, "Without the standards").or(Literal::Whole(10)),
        FORMAT,
    ],
    reads("Start a session"),
    session_start,
);

pub(super) fn filter(call: &Call<'_>, arguments: &Arguments) -> Result<Filter, ToolError> {
    let tiers: Vec<Tier> = arguments.word("tier")?.into_iter().collect();
    Ok(Filter {
        namespaces: arguments.set_text("namespace")?.into_iter().collect(),
        // What states no tier lives for ever.
        untiered: tiers.contains(&Tier::Long),
        tiers,
        topics: arguments.list("tags")?.unwrap_or_default(),
        since: arguments
            .when("since", call.engine.live.now(), Toward::Past)?
            .map(|at| at.utc()),
        until: arguments
            .when("until", call.engine.live.now(), Toward::Past)?
            .map(|at| at.utc()),
        min_importance: arguments.number("min_priority")?.map(|n| n as u8),
        ..Filter::default()
    })
}

/// How this tool set ranks, unless the user has set another ranking.
fn ranking(call: &Call<'_>, method: Method) -> Ranking {
    call.preferences.ranking.unwrap_or(Ranking {
        method,
        ..Ranking::default()
    })
}

fn recall(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    shape::listed(arguments, recalled(call, arguments)?)
}

/// What is remembered for a context, which counts as its use.
pub(super) fn recalled(call: &Call<'_>, arguments: &Arguments) -> Result<JsonObject, ToolError> {
    let context = arguments.required_text("context")?;
    if context.trim().is_empty() {
        return Err(ToolError::refused("context cannot be empty"));
    }
    // Without meaning at the lowest tier.
    let method = match call.preferences.tier {
        FeatureTier::Keyword => Method::SixFactorWords,
        _ => Method::SixFactor,
    };
    let ranking = ranking(call, method);
    let titles = Titles::of(call)?;
    let filter = titles.narrow(filter(call, arguments)?);
    let query = Query {
        ranking,
        ..Query::text(context, filter, limit(arguments, 10, MOST_RECALLED)?)
    };
    let results = ops::think(call.engine, &query)?;
    let note = results.note();
    let hits = results.hits;
    let used: Vec<Recalled> = hits
        .iter()
        .map(|hit| Recalled::Found {
            memory: Box::new((*hit.memory).clone()),
            name: hit.name.clone(),
        })
        .collect();
    call.engine.writer.count_uses(&used);
    let standards = match arguments.set_text("namespace")? {
        Some(namespace) => standards(call, &namespace)?,
        None => Vec::new(),
    };
    let by_meaning =
        ranking.method.uses_meaning() && meaning::meaning_status(&call.engine.meaning)?.is_some();
    let mode = if by_meaning { "hybrid" } else { "keyword" };
    let mut rows = standards.clone();
    add_hits(call, &mut rows, &hits);
    let named = titles.name_others(call.engine, &mut rows);
    let mut answer = JsonObject::new();
    answer.insert("count".to_owned(), json!(rows.len()));
    answer.insert("memories".to_owned(), json!(rows));
    if !standards.is_empty() {
        answer.insert("standards".to_owned(), json!(standards.len()));
    }
    answer.insert("mode".to_owned(), json!(mode));
    add_notes(&mut answer, [note, named]);
    Ok(answer)
}

fn search(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let query = arguments.required_text("query")?;
    shape::listed(arguments, found(call, arguments, query)?)
}

/// What holds every word of the query.
pub(super) fn found(
    call: &Call<'_>,
    arguments: &Arguments,
    text: String,
) -> Result<JsonObject, ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::refused("query cannot be empty"));
    }
    let titles = Titles::of(call)?;
    let filter = titles.narrow(Filter {
        words: vec![text.clone()],
        ..filter(call, arguments)?
    });
    let query = Query {
        ranking: ranking(call, Method::FiveFactor),
        ..Query::text(&text, filter, limit(arguments, 20, MOST_FOUND)?)
    };
    let results = ops::think(call.engine, &query)?;
    let mut rows: Vec<Value> = results.hits.iter().map(|hit| scored(call, hit)).collect();
    let named = titles.name_others(call.engine, &mut rows);
    let mut answer = JsonObject::new();
    answer.insert("count".to_owned(), json!(rows.len()));
    answer.insert("results".to_owned(), json!(rows));
    answer.insert("query".to_owned(), json!(text));
    add_notes(&mut answer, [results.note(), named]);
    Ok(answer)
}

fn list(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let limit = limit(arguments, 20, MOST_FOUND)?;
    let offset = arguments.number("offset")?.unwrap_or(0);
    let titles = Titles::of(call)?;
    let filter = titles.narrow(filter(call, arguments)?);
    let results = newest(call, filter, limit, offset as usize)?;
    let mut rows = rows(call, &results);
    let named = titles.name_others(call.engine, &mut rows);
    let mut answer = JsonObject::new();
    answer.insert("count".to_owned(), json!(rows.len()));
    answer.insert("memories".to_owned(), json!(rows));
    answer.insert("total".to_owned(), json!(results.total));
    add_notes(&mut answer, [named]);
    shape::listed(arguments, answer)
}

fn session_start(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = arguments.set_text("namespace")?;
    let standards = standards(call, namespace.as_deref().unwrap_or("global"))?;
    let titles = Titles::of(call)?;
    let filter = titles.narrow(Filter {
        namespaces: namespace.into_iter().collect(),
        ..Filter::default()
    });
    let limit = limit(arguments, 10, MOST_RECALLED)?;
    // Those that stand first are not shown again.
    let newest = newest(call, filter, limit + standards.len(), 0)?;
    let is_other = |row: &Value| !standards.iter().any(|standard| standard["id"] == row["id"]);
    let others = rows(call, &newest).into_iter().filter(is_other).take(limit);
    let mut rows = standards.clone();
    rows.extend(others);
    let named = titles.name_others(call.engine, &mut rows);
    let mut answer = JsonObject::new();
    answer.insert("count".to_owned(), json!(rows.len()));
    answer.insert("memories".to_owned(), json!(rows));
    answer.insert("standards".to_owned(), json!(standards.len()));
    answer.insert("mode".to_owned(), json!("session_start"));
    add_notes(&mut answer, [named]);
    shape::listed(arguments, answer)
}

pub(super) fn limit(arguments: &Arguments, usual: u64, most: u64) -> Result<usize, ToolError> {
    let limit = arguments.at_most("limit", most)?;
    Ok(limit.unwrap_or(usual) as usize)
}

/// The newest memories that pass.
pub(super) fn newest(
    call: &Call<'_>,
    filter: Filter,
    limit: usize,
    offset: usize,
) -> Result<SearchResults, ToolError> {
    let query = Query {
        offset,
        ..Query::everything(filter, limit)
    };
    Ok(ops::search(call.engine, &query)?)
}

/// Memories as this tool set shows them.
pub(super) fn rows(call: &Call<'_>, results: &SearchResults) -> Vec<Value> {
    let hits = results.hits.iter();
    hits.map(|hit| shown(call, &hit.memory)).collect()
}

/// The standards that hold in a namespace, the most general first.
fn standards(call: &Call<'_>, namespace: &str) -> Result<Vec<Value>, ToolError> {
    let standards = ops::standards_in(call.engine, namespace)?.into_iter();
    Ok(standards.map(|(_, memory)| shown(call, &memory)).collect())
}

/// Adds hits to standards, each memory once.
fn add_hits(call: &Call<'_>, rows: &mut Vec<Value>, hits: &[Hit]) {
    let count = rows.len();
    for hit in hits {
        let hit = scored(call, hit);
        match rows[..count].iter_mut().find(|row| row["id"] == hit["id"]) {
            Some(row) => *row = hit,
            None => rows.push(hit),
        }
    }
}

pub(super) fn shown(call: &Call<'_>, memory: &Memory) -> Value {
    Value::Object(shape::memory(call.engine, memory))
}

fn scored(call: &Call<'_>, hit: &Hit) -> Value {
    let mut row = shape::memory(call.engine, &hit.memory);
    row.insert("score".to_owned(), shape::rounded(hit.score));
    if let Some(by) = hit.found_only_by() {
        row.insert("found_by".to_owned(), json!(by));
    }
    Value::Object(row)
}
