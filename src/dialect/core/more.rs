//! Further tools that `--tools` adds: the description of each takes tokens of every conversation, and
//! three tools are enough for most.

use schemars::JsonSchema;
use serde::Serialize;

use super::replies::failure_object;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::dialect::views;
use crate::engine::{EngineError, Query, live, ops};
use crate::model::{Filter, Stem};

/// Maximum number of memories that one `list` returns.
const MOST_LISTED: u64 = 100;
/// Maximum number of problems that `status` lists, beside their number.
const MOST_PROBLEMS: usize = 20;

/// The further tools.
pub(super) const MORE: &[Tool] = &[
    Tool {
        name: "forget",
        description: "Take one memory out of all searches, because it is wrong, no longer true, or the user wants it gone. It moves to the archive with the reason and can be brought back. If something else is true now, call `remember` with the old id in `supersedes` instead.",
        parameters: &[
            Parameter::text("memory_id", "Its id").required(),
            Parameter::text("reason", "Why, for whoever looks into the archive"),
        ],
        result: Some(views::reply_schema::<ForgetView>),
        hints: Hints {
            title: "Forget",
            read_only: false,
            destructive: true,
            idempotent: true,
            at_hand: false,
        },
        is_short: false,
        run: forget,
        refuse: failure_object,
    },
    Tool {
        name: "link",
        description: "Say how one memory relates to another: it then shows with the other one. `supersedes` hides the other one from all searches. Use relations such as related-to, elaborates, contradicts, depends-on, or a verb such as works-at.",
        parameters: &[
            Parameter::text("from", "Id of the memory that holds the link").required(),
            Parameter::text("to", "Id of the other one").required(),
            Parameter::text("relation", "Default related-to"),
        ],
        result: Some(views::reply_schema::<LinkedView>),
        hints: Hints {
            title: "Link",
            read_only: false,
            destructive: false,
            idempotent: true,
            at_hand: false,
        },
        is_short: false,
        run: link,
        refuse: failure_object,
    },
    Tool {
        name: "list",
        description: "List memories, newest first, a headline each; for looking around, not for finding: that is `think`.",
        parameters: &[
            Parameter::texts("topics", "Only with these topics"),
            Parameter::text("namespace", "Only of this project"),
            Parameter::text("user", "Only of this user"),
            Parameter::whole("limit", 1, MOST_LISTED, "Default 20"),
            Parameter::whole("offset", 0, u64::MAX, "Number of results to skip"),
        ],
        result: Some(views::reply_schema::<ListView<'_>>),
        hints: Hints {
            title: "List",
            read_only: true,
            destructive: false,
            idempotent: true,
            at_hand: false,
        },
        is_short: false,
        run: list,
        refuse: failure_object,
    },
    Tool {
        name: "status",
        description: "How many memories there are, how fresh the index is, and what is wrong with any file.",
        parameters: &[],
        result: Some(views::reply_schema::<StatusSummary>),
        hints: Hints {
            title: "Status",
            read_only: true,
            destructive: false,
            idempotent: true,
            at_hand: false,
        },
        is_short: false,
        run: status,
        refuse: failure_object,
    },
];

fn forget(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let id = arguments.required_text("memory_id")?;
    let reason = arguments.set_text("reason")?;
    let engine = call.engine_of(&id);
    let (stem, what) = match ops::forget_because(engine, &id, reason.as_deref()) {
        Ok(moved) => (moved.stem, "Forgotten"),
        // Twice is once.
        Err(EngineError::NotFound(unknown)) => match ops::resolve_forgotten(engine, &id) {
            Ok((stem, _)) => (stem, "It was forgotten already"),
            Err(_) => return Err(EngineError::NotFound(unknown).into()),
        },
        Err(error) => return Err(error.into()),
    };
    let shown = engine.live.shown_id(&stem);
    Ok(Reply::of(&ForgetView {
        message: format!("{what}. The user can bring it back: memdir restore {shown}"),
        memory_id: shown,
    }))
}

fn link(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    // A link is a line of the memory that it begins at, and leads to another one of its store.
    let engine = call.engine_of(&arguments.required_text("from")?);
    let end = |name: &str| -> Result<(Stem, String), ToolError> {
        let id = arguments.required_text(name)?;
        Ok(live::resolve(&engine.live, &id)?)
    };
    let ((from, from_name), (to, to_name)) = (end("from")?, end("to")?);
    let relation = arguments.set_text("relation")?;
    let relation = relation.unwrap_or_else(|| "related-to".to_owned());
    let created = ops::link(engine, &from_name, &to_name, &relation)?;
    Ok(Reply::of(&LinkedView {
        from: engine.live.shown_id(&from),
        to: engine.live.shown_id(&to),
        relation,
        created,
    }))
}

fn list(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let one = |name: &str| -> Result<Vec<String>, ToolError> {
        Ok(arguments.set_text(name)?.into_iter().collect())
    };
    let filter = Filter {
        topics: arguments.list("topics")?.unwrap_or_default(),
        namespaces: one("namespace")?,
        users: one("user")?,
        ..Filter::default()
    };
    let limit = arguments.at_most("limit", MOST_LISTED)?.unwrap_or(20) as usize;
    let query = Query {
        offset: arguments.number("offset")?.unwrap_or(0) as usize,
        ..Query::everything(filter, limit)
    };
    let results = ops::search(call.engine, &query)?;
    let memories = results.hits.iter().map(|hit| ListedMemory {
        id: call.engine.live.shown_id(&hit.memory.stem),
        timestamp: hit.memory.timestamp.as_str(),
        headline: hit.memory.headline(),
        topics: &hit.memory.topics,
    });
    Ok(Reply::of(&ListView {
        memories: memories.collect(),
        total: results.total,
    }))
}

fn status(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let status = ops::status(call.engine)?;
    let problems = status.findings.iter();
    let problems = problems.map(|finding| format!("{}: {}", finding.file, finding.problem));
    Ok(Reply::of(&StatusSummary {
        problem_count: status.findings.len(),
        memories: status.files,
        archived: status.archived,
        waiting: status.waiting,
        unreadable: status.unreadable,
        conflicts: status.conflicts,
        problems: problems.take(MOST_PROBLEMS).collect(),
    }))
}

/// The reply of `forget`.
#[derive(Serialize, JsonSchema)]
struct ForgetView {
    memory_id: String,
    message: String,
}

/// The reply of `link`.
#[derive(Serialize, JsonSchema)]
struct LinkedView {
    from: String,
    to: String,
    relation: String,
    created: bool,
}

/// The reply of `list`.
#[derive(Serialize, JsonSchema)]
struct ListView<'a> {
    memories: Vec<ListedMemory<'a>>,
    total: usize,
}

/// One memory of a list.
#[derive(Serialize, JsonSchema)]
struct ListedMemory<'a> {
    id: String,
    timestamp: &'a str,
    headline: &'a str,
    topics: &'a [String],
}

/// The reply of `status`.
#[derive(Serialize, JsonSchema)]
struct StatusSummary {
    problem_count: usize,
    memories: usize,
    archived: usize,
    waiting: usize,
    unreadable: usize,
    conflicts: usize,
    problems: Vec<String>,
}
