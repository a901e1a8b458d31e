//! `memory_recall`, `memory_search`, `memory_list` and `memory_session_start`.

use schemars::JsonSchema;
use serde::Serialize;

use super::shape::{FORMAT, MemoryView};
use super::titles::{ListedMemory, Titles};
use super::tool::tool;
use super::{check, shape};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::{Call, FeatureTier};
use crate::dialect::parameter::{Literal, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::engine::{Hit, Method, Query, Ranking, Recalled, SearchResults, Toward, meaning, ops};
use crate::model::{Filter, Tier};

/// Parameter for the namespace.
pub(super) const NAMESPACE: Parameter =
    Parameter::text("namespace", "Only of this one, and what lies in it");
/// Parameter for the tier.
pub(super) const TIER: Parameter = Parameter::word("tier", check::TIERS, "Only of this tier");
/// Parameter for the tags.
pub(super) const TAGS: Parameter = Parameter::texts("tags", "Only with all of these");
/// Parameter for the earliest time.
pub(super) const SINCE: Parameter = Parameter::text(
    "since",
    "Only made from this time on: RFC3339, yesterday, 3d, last week",
);
/// Parameter for the time before which memories were made.
pub(super) const UNTIL: Parameter = Parameter::text("until", "Only made before it");
/// Parameter for the minimum priority.
pub(super) const MIN_PRIORITY: Parameter =
    Parameter::whole("min_priority", 1, 10, "Only at least so important");

/// Maximum number of results of `memory_recall`.
pub(super) const MOST_RECALLED: u64 = 50;
/// Maximum number of results of a search or a list.
pub(super) const MOST_FOUND: u64 = 200;

/// Tool `memory_recall`.
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
    Hints::reads("Recall memories").at_hand(),
    recall,
);

/// Tool `memory_search`.
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
    Hints::reads("Search memories"),
    search,
);

/// Tool `memory_list`.
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
    Hints::reads("List memories"),
    list,
);

/// Tool `memory_session_start`.
pub(super) const SESSION_START: Tool = tool(
    "memory_session_start",
    "Begin a session: the standards of the namespace, which hold for everything in it, and then its newest memories. Call it once, first. Does not count as use.",
    &[
        NAMESPACE,
        Parameter::whole("limit", 1, MOST_RECALLED, "Without the standards").or(Literal::Whole(10)),
        FORMAT,
    ],
    Hints::reads("Start a session"),
    session_start,
);

/// Reads the filter from the arguments.
pub(super) fn filter(call: &Call<'_>, arguments: &Arguments) -> Result<Filter, ToolError> {
    let tiers: Vec<Tier> = arguments.word("tier")?.into_iter().collect();
    Ok(Filter {
        namespaces: arguments.set_text("namespace")?.into_iter().collect(),
        // A memory without a tier is permanent.
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

/// Returns the user's ranking, else that of this tool set.
fn ranking(call: &Call<'_>, method: Method) -> Ranking {
    call.preferences.ranking.unwrap_or(Ranking {
        method,
        ..Ranking::default()
    })
}

fn recall(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    shape::listed(arguments, &recalled(call, arguments)?)
}

/// A memory that was searched for.
#[derive(Serialize, JsonSchema)]
pub(super) struct FoundMemory {
    #[serde(flatten)]
    memory: MemoryView,
    /// Absent of a standard that was not found by the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_title: Option<Vec<String>>,
}

impl FoundMemory {
    fn of(call: &Call<'_>, titles: &Titles, hit: &Hit) -> FoundMemory {
        FoundMemory {
            score: Some(shape::rounded(hit.score)),
            found_by: hit.found_only_by(),
            ..FoundMemory::standard(titles.listed(call.engine, &hit.memory))
        }
    }

    fn standard(listed: ListedMemory) -> FoundMemory {
        FoundMemory {
            memory: listed.memory,
            score: None,
            found_by: None,
            same_title: listed.same_title,
        }
    }
}

/// The memories for a context.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecallView {
    count: usize,
    memories: Vec<FoundMemory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1))]
    standards: Option<usize>,
    #[schemars(extend("enum" = ["hybrid", "keyword"]))]
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Recalls the memories for a context, which counts as a use of each.
pub(super) fn recalled(call: &Call<'_>, arguments: &Arguments) -> Result<RecallView, ToolError> {
    let context = arguments.required_text("context")?;
    if context.trim().is_empty() {
        return Err(ToolError::refused("context cannot be empty"));
    }
    // Without meaning at the lowest tier.
    let method = match call.preferences.tier {
        FeatureTier::Keyword => Method::SixFactorWords,
        // Where a cross-encoder is set up.
        FeatureTier::Autonomous => Method::SixFactorReranked,
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
    let used: Vec<Recalled> = results
        .hits
        .iter()
        .map(|hit| Recalled::Found {
            memory: Box::new((*hit.memory).clone()),
            name: hit.name.clone(),
        })
        .collect();
    call.engine.writer.count_uses(&used);
    let standards = match arguments.set_text("namespace")? {
        Some(namespace) => standards(call, &titles, &namespace)?,
        None => Vec::new(),
    };
    let standard_count = standards.len();
    let by_meaning =
        ranking.method.uses_meaning() && meaning::meaning_status(&call.engine.meaning)?.is_some();
    // Each memory once, the standards first.
    let mut memories: Vec<FoundMemory> = standards.into_iter().map(FoundMemory::standard).collect();
    for hit in &results.hits {
        let hit = FoundMemory::of(call, &titles, hit);
        let mut standards = memories[..standard_count].iter_mut();
        match standards.find(|row| row.memory.id == hit.memory.id) {
            Some(row) => *row = hit,
            None => memories.push(hit),
        }
    }
    Ok(RecallView {
        count: memories.len(),
        standards: Some(standard_count).filter(|count| *count > 0),
        mode: if by_meaning { "hybrid" } else { "keyword" },
        note: note(&titles, results.note(), &memories),
        memories,
    })
}

fn search(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let query = arguments.required_text("query")?;
    shape::listed(arguments, &found(call, arguments, query)?)
}

/// The memories that hold every word of a query.
#[derive(Serialize, JsonSchema)]
pub(super) struct FoundView {
    count: usize,
    results: Vec<FoundMemory>,
    query: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Searches the memories that hold every word of the query.
pub(super) fn found(
    call: &Call<'_>,
    arguments: &Arguments,
    text: String,
) -> Result<FoundView, ToolError> {
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
    let hits = results.hits.iter();
    let rows: Vec<FoundMemory> = hits
        .map(|hit| FoundMemory::of(call, &titles, hit))
        .collect();
    Ok(FoundView {
        count: rows.len(),
        note: note(&titles, results.note(), &rows),
        results: rows,
        query: text,
    })
}

/// Returns the note beside the results of a search.
fn note(titles: &Titles, ranked: Option<String>, rows: &[FoundMemory]) -> Option<String> {
    let titles = titles.note(rows.iter().map(|row| row.memory.id.as_str()));
    let notes: Vec<String> = ranked.into_iter().chain(titles).collect();
    (!notes.is_empty()).then(|| notes.join(". "))
}

/// Memories that were listed.
#[derive(Serialize)]
struct ListView {
    count: usize,
    memories: Vec<ListedMemory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standards: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl ListView {
    fn of(titles: &Titles, memories: Vec<ListedMemory>) -> ListView {
        ListView {
            count: memories.len(),
            total: None,
            standards: None,
            mode: None,
            note: titles.note(memories.iter().map(|row| row.memory.id.as_str())),
            memories,
        }
    }
}

fn list(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let limit = limit(arguments, 20, MOST_FOUND)?;
    let offset = arguments.number("offset")?.unwrap_or(0);
    let titles = Titles::of(call)?;
    let filter = titles.narrow(filter(call, arguments)?);
    let page = newest(call, filter, limit, offset as usize)?;
    let answer = ListView {
        total: Some(page.total),
        ..ListView::of(&titles, rows(call, &titles, &page))
    };
    shape::listed(arguments, &answer)
}

fn session_start(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = arguments.set_text("namespace")?;
    let titles = Titles::of(call)?;
    let mut memories = standards(call, &titles, namespace.as_deref().unwrap_or("global"))?;
    let standards = memories.len();
    let filter = titles.narrow(Filter {
        namespaces: namespace.into_iter().collect(),
        ..Filter::default()
    });
    let limit = limit(arguments, 10, MOST_RECALLED)?;
    // Those that stand first are not shown again.
    let newest = newest(call, filter, limit + standards, 0)?;
    for row in rows(call, &titles, &newest) {
        let is_other = |standard: &ListedMemory| standard.memory.id != row.memory.id;
        if memories.len() < standards + limit && memories[..standards].iter().all(is_other) {
            memories.push(row);
        }
    }
    let answer = ListView {
        standards: Some(standards),
        mode: Some("session_start"),
        ..ListView::of(&titles, memories)
    };
    shape::listed(arguments, &answer)
}

/// Reads the number of results: `usual` by default, `most` at most.
pub(super) fn limit(arguments: &Arguments, usual: u64, most: u64) -> Result<usize, ToolError> {
    let limit = arguments.at_most("limit", most)?;
    Ok(limit.unwrap_or(usual) as usize)
}

/// Returns a page of the newest memories that pass `filter`.
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

/// Returns the rows of a page in this tool set's form.
pub(super) fn rows(call: &Call<'_>, titles: &Titles, page: &SearchResults) -> Vec<ListedMemory> {
    let hits = page.hits.iter();
    hits.map(|hit| titles.listed(call.engine, &hit.memory))
        .collect()
}

/// Returns the standards that apply to a namespace, the most general first.
fn standards(
    call: &Call<'_>,
    titles: &Titles,
    namespace: &str,
) -> Result<Vec<ListedMemory>, ToolError> {
    let standards = ops::standards_in(call.engine, namespace)?.into_iter();
    Ok(standards
        .map(|(_, memory)| titles.listed(call.engine, &memory))
        .collect())
}
