//! Further endpoints of the HTTP interface: topics, the history of a memory, the store.

use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::{Endpoint, Verb};
use crate::dialect::parameter::{Literal, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::views::{
    ChangeView, DiffView, HistoryView, StatusView, TextView, TopicCount, TopicsView,
    VerificationView, schema_of,
};
use crate::engine::{PastText, Revision, Toward, ops, read_moment};

/// Further endpoints.
pub(in crate::dialect) const ENDPOINTS: &[Endpoint] = &[TOPICS, HISTORY, DIFF, STATUS, VERIFY];

const MOST_CHANGES: u64 = 1000;
const ID: Parameter = Parameter::text("id", "Its id, or the beginning of it, if unique").required();

const TOPICS: Endpoint = Endpoint::new(
    Verb::Get,
    "/topics",
    "list_topics",
    "The topics of the live memories, the commonest first.",
    topics,
    schema_of::<TopicsView>,
);

const HISTORY: Endpoint = Endpoint {
    parameters: &[
        ID,
        Parameter::whole("limit", 1, MOST_CHANGES, "").or(Literal::Whole(50)),
    ],
    ..Endpoint::new(
        Verb::Get,
        "/memories/{id}/history",
        "memory_history",
        "The changes of one memory, the newest first, as git has them; also of one that was forgotten.",
        history,
        schema_of::<HistoryView<'_>>,
    )
};

const DIFF: Endpoint = Endpoint {
    parameters: &[
        ID,
        Parameter::text("revision", "A commit, or a time in RFC3339"),
    ],
    ..Endpoint::new(
        Verb::Get,
        "/memories/{id}/diff",
        "memory_diff",
        "What one memory says now, and said before: by the last change, or as of a commit or a time.",
        diff,
        schema_of::<DiffView<'_>>,
    )
};

const STATUS: Endpoint = Endpoint::new(
    Verb::Get,
    "/status",
    "status",
    "The store in numbers: files, what the index holds, what waits, what cannot be read.",
    status,
    schema_of::<StatusView<'_>>,
);

const VERIFY: Endpoint = Endpoint::new(
    Verb::Get,
    "/verify",
    "verify",
    "Compares every file with the index, and reads the history: slow in large stores.",
    verify,
    schema_of::<VerificationView<'_>>,
);

fn topics(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let topics = ops::facet(call.engine, "topics")?.into_iter();
    let topics = topics.map(|(topic, count)| TopicCount { topic, count });
    Ok(Reply::of(&TopicsView {
        topics: topics.collect(),
    }))
}

fn history(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let id = arguments.required_text("id")?;
    let limit = arguments.at_most("limit", MOST_CHANGES)?.unwrap_or(50);
    let log = ops::log(call.engine, Some(&id), limit as usize)?;
    Ok(Reply::of(&HistoryView {
        id: log.stem.map_or(id, |stem| call.engine.live.shown_id(&stem)),
        changes: log.changes.iter().map(ChangeView::from).collect(),
        more: log.has_more,
    }))
}

fn diff(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let id = arguments.required_text("id")?;
    let revision = arguments.set_text("revision")?.map(|text| Revision {
        at: read_moment(&text, call.engine.live.now(), Toward::Past),
        text,
    });
    let versions = ops::versions(call.engine, &id, revision.as_ref())?;
    let (before, now) = (&versions.before, &versions.now);
    let is_other = |before: &PastText| before.bytes != now.bytes || now.file.is_none();
    Ok(Reply::of(&DiffView {
        id: call.engine.live.shown_id(&versions.stem),
        different: before.as_ref().is_some_and(is_other),
        before: before.as_ref().map(TextView::from),
        after: TextView::from(now),
    }))
}

fn status(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    Ok(Reply::of(&StatusView::from(&ops::status(call.engine)?)))
}

fn verify(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let proof = ops::verify(call.engine)?;
    Ok(Reply::of(&VerificationView::from(&proof)))
}
