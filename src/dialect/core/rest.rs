//! Further endpoints of the HTTP interface: topics, the history of memories, undoing changes, the store.

use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::{Endpoint, Verb};
use crate::dialect::parameter::{Literal, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::views::{
    ChangeView, DiffView, HistoryView, RestoredView, StatusView, TextView, TopicCount, TopicsView,
    UndoneView, VerificationView, schema_of,
};
use crate::engine::{Engine, PastText, Revision, Toward, history, ops, read_moment};

/// Further endpoints.
pub(in crate::dialect) const ENDPOINTS: &[Endpoint] =
    &[TOPICS, HISTORY, DIFF, RESTORE, UNDO, STATUS, VERIFY];

const MOST_CHANGES: u64 = 1000;
const ID: Parameter = Parameter::text("id", "Its id, or the beginning of it, if unique").required();
const REVISION: Parameter = Parameter::text("revision", "A commit, or a time in RFC3339");

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
        memory_history,
        schema_of::<HistoryView<'_>>,
    )
};

const DIFF: Endpoint = Endpoint {
    parameters: &[ID, REVISION],
    ..Endpoint::new(
        Verb::Get,
        "/memories/{id}/diff",
        "memory_diff",
        "What one memory says now, and said before: by the last change, or as of a commit or a time.",
        diff,
        schema_of::<DiffView<'_>>,
    )
};

const RESTORE: Endpoint = Endpoint {
    parameters: &[ID, REVISION.required()],
    ..Endpoint::new(
        Verb::Post,
        "/memories/{id}/restore",
        "restore_text",
        "Give one memory the text that it had as of a commit or a time, as a new change; one that was forgotten is live again.",
        restore,
        schema_of::<RestoredView<'_>>,
    )
};

const UNDO: Endpoint = Endpoint {
    parameters: &[
        Parameter::text(
            "target",
            "A commit, or a memory, whose last change is meant; without it the last change of the store",
        ),
        Parameter::flag("dry_run", "Only say what would be done").or(Literal::Flag(false)),
    ],
    ..Endpoint::new(
        Verb::Post,
        "/undo",
        "undo",
        "Take a change back, by a new one: what was changed since stays, or nothing is done.",
        undo,
        schema_of::<UndoneView<'_>>,
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

fn memory_history(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
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
    let revision = arguments.set_text("revision")?;
    let revision = revision.map(|text| revision_of(call, text));
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

fn restore(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let id = arguments.required_text("id")?;
    let revision = revision_of(call, arguments.required_text("revision")?);
    commit_first(call.engine);
    let restored = ops::restore_as_of(call.engine, &id, &revision)?;
    Ok(Reply::of(&RestoredView::from(&restored)))
}

fn undo(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let target = arguments.set_text("target")?;
    let is_rehearsal = arguments.flag("dry_run")?.unwrap_or(false);
    commit_first(call.engine);
    let mut undone = ops::undo(call.engine, target.as_deref(), is_rehearsal)?;
    for file in &mut undone.files {
        file.file = call.engine.live.shown_file(&file.file);
    }
    Ok(Reply::of(&UndoneView::new(&undone, is_rehearsal)))
}

/// Has what was changed just before in the history of a store with git.
fn commit_first(engine: &Engine) {
    if !engine.live.is_read_only()
        && let Err(error) = history::commit_everything(&engine.history)
    {
        tracing::info!("what waits was not committed: {error}");
    }
}

fn revision_of(call: &Call<'_>, text: String) -> Revision {
    Revision {
        at: read_moment(&text, call.engine.live.now(), Toward::Past),
        text,
    }
}

fn status(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    Ok(Reply::of(&StatusView::from(&ops::status(call.engine)?)))
}

fn verify(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let proof = ops::verify(call.engine)?;
    Ok(Reply::of(&VerificationView::from(&proof)))
}
