//! `think`: from arguments to a search, and from hits to previews.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Number, json};

use super::replies::list_reply_as;
use super::suspicious::reasons;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::{to_json, to_text};
use crate::dialect::passage::{Passage, preview_of_hit};
use crate::dialect::preview::PreviewWords;
use crate::dialect::reply::{Reply, ToolError, add_note};
use crate::dialect::stores::{self, FoundIn, ServedStore};
use crate::engine::{Engine, EngineError, Query, QueryKind, SearchResults, Toward, live, ops};
use crate::model::{Budget, Filter, Stem, TopicMatch, estimated_tokens};

/// Maximum number of hits of `think`, by the specification.
pub const MAX_RESULTS: usize = 25;

/// Number of characters of a preview.
const PREVIEW: usize = 200;

/// Runs the tool `think`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let (query, budget) = query(call, arguments)?;
    let results = ops::think_in_talks(call.engine, &query)?;
    let Some((own, others)) = call.stores.split_first() else {
        return Ok(think_reply(call.engine, &query, results, budget));
    };
    let mut answer = Answer::of(call.engine, Some(&own.name), results);
    for store in others {
        // What it cannot do hides no answer of the others.
        let found = ops::think_in_talks(&store.engine, &query_of(store, call, arguments)?);
        match found {
            Ok(results) => answer.add(Answer::of(&store.engine, Some(&store.name), results)),
            Err(error) => {
                let note = format!("the store {} was not searched: {error}", store.name);
                answer.note = Some(note);
            }
        }
    }
    Ok(reply(&query.kind, answer, budget))
}

/// Returns the query as another store has it: ids are its own.
fn query_of(
    store: &ServedStore,
    call: &Call<'_>,
    arguments: &Arguments,
) -> Result<Query, ToolError> {
    let call = Call {
        engine: &store.engine,
        ..*call
    };
    Ok(query(&call, arguments)?.0)
}

/// Hits of one store or of several.
struct Answer<'a> {
    lists: Vec<Vec<FoundIn<'a>>>,
    total: usize,
    /// Note that the results are not all that was asked for.
    note: Option<String>,
    /// Note that an answer is unlikely.
    doubt: Option<String>,
}

impl<'a> Answer<'a> {
    fn of(engine: &'a Engine, store: Option<&'a str>, results: SearchResults) -> Answer<'a> {
        Answer {
            total: results.total,
            note: results.note(),
            doubt: results.doubt(),
            lists: vec![
                results
                    .hits
                    .into_iter()
                    .map(|hit| FoundIn { engine, store, hit })
                    .collect(),
            ],
        }
    }

    fn add(&mut self, other: Answer<'a>) {
        self.lists.extend(other.lists);
        self.total += other.total;
        self.note = self.note.take().or(other.note);
        // One store that has an answer is enough.
        self.doubt = self.doubt.take().and(other.doubt);
    }
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
    reply(&query.kind, Answer::of(engine, None, results), budget)
}

fn reply(kind: &QueryKind, answer: Answer<'_>, budget: Budget) -> Reply {
    let words = PreviewWords::of(kind);
    let mut tokens = 0;
    let mut hits = Vec::new();
    let mut list = "[".to_owned();
    let Answer {
        lists,
        total,
        note,
        doubt,
    } = answer;
    let found = stores::merge(lists, matches!(kind, QueryKind::Keywords(_)));
    for found in found.into_iter().take(budget.limit) {
        let mut shown = hit_view(&found, kind, &words, PREVIEW);
        let mut text = to_text(&shown);
        let mut cost = estimated_tokens(&text);
        if let Some(most) = budget.max_tokens
            && tokens + cost > most
        {
            if !hits.is_empty() {
                break;
            }
            // One hit is better than none: without a preview if need be.
            shown = hit_view(&found, kind, &words, PREVIEW / 4);
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
        structured.insert("total".to_owned(), json!(total));
        structured.insert("tokens".to_owned(), json!(tokens));
        // The text is the specification's array, which has no room for it.
        add_note(structured, note.or(doubt));
    })
}

/// A memory that a search found.
#[derive(Serialize, JsonSchema)]
pub(super) struct HitView<'a> {
    id: String,
    /// Name of the store that it lies in, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    store: Option<&'a str>,
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
    /// Lines of the passage of a long content, for `recall` as `ID:LINES`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    at: Option<String>,
    content_preview: String,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<&'static str>,
}

fn hit_view<'a>(
    found: &'a FoundIn<'_>,
    kind: &QueryKind,
    words: &PreviewWords,
    length: usize,
) -> HitView<'a> {
    let FoundIn { engine, store, hit } = found;
    let memory = &hit.memory;
    let title = memory.title.as_deref();
    let (shown, passage) = preview_of_hit(&memory.content, hit.lines.as_ref(), words, length);
    let rounded = |value: f64, parts: f64| Number::from_f64((value * parts).round() / parts);
    let score = match kind {
        QueryKind::Keywords(_) => Some(Number::from(hit.score as u64)),
        _ => rounded(hit.score, 1000.0),
    };
    HitView {
        id: live::shown_name(&engine.live, &memory.stem, &hit.name),
        store: *store,
        timestamp: memory.timestamp.as_str(),
        relevance_score: score.unwrap_or_else(|| Number::from(0)),
        relevance: hit
            .relevance()
            .and_then(|chance| rounded(f64::from(chance), 100.0)),
        matching_keywords: &hit.matched,
        title,
        suspicious: reasons(title, &shown.text),
        at: passage.map(|passage: Passage| passage.lines()),
        content_preview: shown.text,
        truncated: shown.truncated,
        found_by: hit.found_only_by(),
    }
}
