//! Resources: one memory's file, the newest memories, the topics.
//!
//! Reading one does not count as a use of a memory.

use std::fmt::Write as _;

use super::listing::{line, on_one_line};
use crate::dialect::call::Call;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Resource;
use crate::engine::{EngineError, Query, ops};
use crate::model::Filter;

/// Number of memories that the list of the newest shows.
const RECENT: usize = 20;
const MARKDOWN: &str = "text/markdown";

/// Resources of the set.
pub(super) const RESOURCES: &[Resource] = &[
    Resource {
        uri: "memory://recent",
        name: "recent",
        title: "Newest memories",
        description: "The 20 newest memories, a line each",
        mime: MARKDOWN,
        ttl_ms: 0,
        read: recent,
    },
    Resource {
        uri: "memory://topics",
        name: "topics",
        title: "Topics",
        description: "Every topic, and how many memories have it, most first",
        mime: MARKDOWN,
        ttl_ms: 0,
        read: topics,
    },
    Resource {
        uri: "memory://{id}",
        name: "memory",
        title: "A memory",
        description: "One memory as it stands in its file",
        mime: MARKDOWN,
        ttl_ms: 0,
        read: memory,
    },
];

fn recent(call: &Call<'_>, _: &str) -> Result<Option<String>, ToolError> {
    let query = Query::everything(Filter::default(), RECENT);
    let results = ops::search(call.engine, &query)?;
    let mut text = "# Newest memories\n\n".to_owned();
    for hit in &results.hits {
        text.push_str(&line(call.engine, &hit.memory));
    }
    Ok(Some(text))
}

fn topics(call: &Call<'_>, _: &str) -> Result<Option<String>, ToolError> {
    let mut topics = ops::facet(call.engine, "topics")?;
    topics.sort_by(|(one, count), (other, than)| than.cmp(count).then(one.cmp(other)));
    let mut text = "# Topics\n\n".to_owned();
    for (topic, count) in topics {
        let topic = on_one_line(&topic);
        let _ = writeln!(text, "- {topic} ({count})"); // A text takes everything.
    }
    Ok(Some(text))
}

fn memory(call: &Call<'_>, id: &str) -> Result<Option<String>, ToolError> {
    match ops::open_text(call.engine, id) {
        Ok((_, version)) => Ok(Some(String::from_utf8_lossy(&version.bytes).into_owned())),
        Err(EngineError::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
