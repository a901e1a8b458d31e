//! `think`: from arguments to a search, and from hits to previews.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Number, json};

use super::replies::list_reply_as;
use super::suspicious::reasons;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::{to_json, to_text};
use crate::dialect::preview;
use crate::dialect::preview::PreviewWords;
use crate::dialect::reply::{Reply, ToolError, add_note};
use crate::engine::{Engine, EngineError, Hit, Query, QueryKind, SearchResults, Toward, live, ops};
use crate::model::{Budget, Filter, Stem, TopicMatch, estimated_tokens};

/// Maximum number of hits of `think`, by the specification.
pub const MAX_RESULTS: usize = 25;

/// Number of characters of a preview.
const PREVIEW: usize = 200;

/// Runs the tool `think`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let (query, budget) = query(call, arguments)?;
    let results = ops::think(call.engine, &query)?;
    Ok(think_reply(call.engine, &query, results, budget))
}

fn query(call: &Call<'_>, arguments: &Arguments) -> Result<(Query, Budget), ToolError> {
    let engine = call.engine;
    let keywords = arguments.words("keywords")?.unwrap_or_default();
    let kind = match (arguments.set_text("query")?, keywords) {
        (None, keywords) if keywords.is_empty() => {
            let what = "give `keywords` (a list of words) or `query` (a question)";
            return Err(ToolError::refused(what));
        }
        (None, keywords) => QueryKind::Keywords(keywords),
        // Both: the words belong to the question.
        (Some(query), keywords) if keywords.is_empty() => QueryKind::Text(query),
        (Some(query), keywords) => QueryKind::Text(format!("{query} {}", keywords.join(" "))),
    };
    let one = |name: &str| -> Result<Vec<String>, ToolError> {
        Ok(arguments.set_text(name)?.into_iter().collect())
    };
    let topic_match = match arguments.text("topics_match")?.as_deref() {
        None | Some("all") => TopicMatch::All,
        Some("any") => TopicMatch::Any,
        Some(_) => {
            return Err(ToolError::refused(
                "`topics_match` must be \"all\" or \"any\"",
            ));
        }
    };
    let filter = Filter {
        agents: one("agent")?,
        users: one("user")?,
        topics: arguments.list("topics")?.unwrap_or_default(),
        topic_match,
        namespaces: one("namespace")?,
        kinds: arguments.word("kind")?.into_iter().collect(),
        since: arguments
            .when("since", engine.live.now(), Toward::Past)?
            .map(|at| at.utc()),
        until: arguments
            .when("until", engine.live.now(), Toward::Past)?
            .map(|at| at.utc()),
        stems: arguments
            .list_of_either("ids", "memory_ids")?
            .map(|ids| stems(engine, &ids)),
        ..Filter::default()
    };
    // A user may have set more than the usual most.
    let most = engine.default_limit().max(MAX_RESULTS);
    let limit = arguments.at_most("limit", most as u64)?;
    let limit = limit.map_or(engine.default_limit(), |n| n as usize);
    let max_tokens = arguments.number("max_tokens")?.map(|n| n as usize);
    let query = Query {
        kind,
        filter,
        ranking: call.preferences.ranking.unwrap_or_default(),
        limit,
        offset: 0,
    };
    Ok((query, Budget { limit, max_tokens }))
}

/// Returns the stems of `ids`, without unknown ones.
fn stems(engine: &Engine, ids: &[String]) -> Vec<Stem> {
    ids.iter()
        .flat_map(|id| match live::resolve(&engine.live, id) {
            Ok((stem, _)) => vec![stem],
            Err(EngineError::Ambiguous { candidates, .. }) => candidates
                .iter()
                .map(|stem| Stem::from_file_name(stem))
                .collect(),
            Err(_) => Vec::new(),
        })
        .collect()
}

/// Returns the reply to a search: hits with previews, as many as fit the budget.
pub fn think_reply(
    engine: &Engine,
    query: &Query,
    results: SearchResults,
    budget: Budget,
) -> Reply {
    let words = PreviewWords::of(&query.kind);
    let mut tokens = 0;
    let mut hits = Vec::new();
    let mut list = "[".to_owned();
    let note = results.note().or_else(|| results.doubt());
    for hit in results.hits.into_iter().take(budget.limit) {
        let mut shown = hit_view(engine, query, &hit, &words, PREVIEW);
        let mut text = to_text(&shown);
        let mut cost = estimated_tokens(&text);
        if let Some(most) = budget.max_tokens
            && tokens + cost > most
        {
            if !hits.is_empty() {
                break;
            }
            // One hit is better than none: without a preview if need be.
            shown = hit_view(engine, query, &hit, &words, PREVIEW / 4);
            text = to_text(&shown);
            cost = estimated_tokens(&text);
        }
        tokens += cost;
        list.push_str(if hits.is_empty() { "" } else { "," });
        list.push_str(&text);
        hits.push(to_json(&shown));
    }
    list.push(']');
    list_reply_as(list, hits, |structured| {
        structured.insert("total".to_owned(), json!(results.total));
        structured.insert("tokens".to_owned(), json!(tokens));
        // The text is the specification's array, which has no room for it.
        add_note(structured, note);
    })
}

/// A memory that a search found.
#[derive(Serialize, JsonSchema)]
pub(super) struct HitView<'a> {
    id: String,
    timestamp: &'a str,
    relevance_score: Number,
    /// Probability that it answers the query, 0–1.
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance: Option<Number>,
    matching_keywords: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    title: Option<&'a str>,
    /// Why what is shown is to be read with care. What is not shown steers nobody yet; `recall`
    /// looks at the whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    suspicious: Vec<&'static str>,
    content_preview: String,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<&'static str>,
}

fn hit_view<'a>(
    engine: &Engine,
    query: &Query,
    hit: &'a Hit,
    words: &PreviewWords,
    length: usize,
) -> HitView<'a> {
    let memory = &hit.memory;
    let title = memory.title.as_deref();
    let shown = preview(&memory.content, words, length);
    let rounded = |value: f64, parts: f64| Number::from_f64((value * parts).round() / parts);
    let score = match query.kind {
        QueryKind::Keywords(_) => Some(Number::from(hit.score as u64)),
        _ => rounded(hit.score, 1000.0),
    };
    HitView {
        id: live::shown_name(&engine.live, &memory.stem, &hit.name),
        timestamp: memory.timestamp.as_str(),
        relevance_score: score.unwrap_or_else(|| Number::from(0)),
        relevance: hit
            .relevance()
            .and_then(|chance| rounded(f64::from(chance), 100.0)),
        matching_keywords: &hit.matched,
        title,
        suspicious: reasons(title, &shown.text),
        content_preview: shown.text,
        truncated: shown.truncated,
        found_by: hit.found_only_by(),
    }
}
