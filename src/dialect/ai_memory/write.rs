//! `memory_store` and `memory_update`.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use super::check;
use super::shape::{MemoryView, Moment};
use super::tool::tool;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::{Call, FeatureTier};
use crate::dialect::parameter::{Literal, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::engine::{
    DuplicatePolicy, Query, Stored, TitleLock, WriteOutcome, WritePolicy, live, ops, tier_rank,
    write,
};
use crate::model::{Change, Filter, Memory, NewMemory, Patch, Stem, Tier};

/// Maximum number of tags that a model gives to a memory without tags.
const TAGS_GIVEN: usize = 5;

/// Tool `memory_store`.
pub(super) const STORE: Tool = tool(
    "memory_store",
    "Store one memory for later conversations, yours and other agents'. Title and namespace name it: the same two again replace its content; what it said before is kept in the archive, and the reply names it. Write content that is understood without this conversation: full names, absolute dates, the why. One subject a memory. Tier short lives 6 hours, mid 7 days (the default), long for ever; use makes lives longer. Never store secrets.",
    &[
        Parameter::text("title", "One line that names it, at most 512 bytes").required(),
        Parameter::text("content", "The memory, at most 65536 bytes").required(),
        Parameter::word("tier", check::TIERS, "").or(Literal::Text("mid")),
        Parameter::text("namespace", "Project or topic, without slashes and spaces")
            .or(Literal::Text("global")),
        Parameter::texts("tags", "At most 50, of 128 bytes"),
        Parameter::whole("priority", 1, 10, "").or(Literal::Whole(5)),
        Parameter::share("confidence", "").or(Literal::Share(1.0)),
        Parameter::word("source", check::SOURCES, "").or(Literal::Text("api")),
        Parameter::text("expires_at", "RFC3339; overrides the tier's time"),
        Parameter::whole(
            "ttl_secs",
            1,
            check::MAX_TTL,
            "Seconds to live, in place of expires_at",
        ),
        Parameter::object("metadata", "What else is to be kept, at most 64 KiB"),
    ],
    Hints::writes("Store a memory").at_hand(),
    store,
);

/// Tool `memory_update`.
pub(super) const UPDATE: Tool = tool(
    "memory_update",
    "Change fields of one memory; what is not given stays. A lower tier ends the memory sooner; the reply says when. A content that is replaced stays in the archive, and the reply names it. Fails if another memory has the title in the namespace.",
    &[
        Parameter::text("id", "").required(),
        Parameter::text("title", ""),
        Parameter::text("content", ""),
        Parameter::word("tier", check::TIERS, "long clears the expiry"),
        Parameter::text("namespace", ""),
        Parameter::texts("tags", "In place of all that it has"),
        Parameter::whole("priority", 1, 10, ""),
        Parameter::share("confidence", ""),
        Parameter::text("expires_at", "RFC3339"),
        Parameter::object("metadata", "Entries to set; null takes one away"),
    ],
    Hints::writes("Update a memory"),
    update,
);

/// Reads the memory in the arguments of `memory_store`, and returns whether a model gave tags to it.
pub(super) fn given(
    call: &Call<'_>,
    arguments: &Arguments,
) -> Result<(NewMemory, bool), ToolError> {
    let title = check::title(arguments)?.ok_or_else(|| check::missing("title"))?;
    let content = check::content(arguments, "content")?.ok_or_else(|| check::missing("content"))?;
    let mut memory = NewMemory {
        agent: call.agent(),
        user: call.preferences.user.clone(),
        topics: check::tags(arguments)?.unwrap_or_default(),
        tier: Some(arguments.word("tier")?.unwrap_or(Tier::Mid)),
        namespace: Some(check::namespace(arguments)?.unwrap_or_else(|| "global".to_owned())),
        importance: arguments.number("priority")?.map(|n| n as u8),
        confidence: arguments.share("confidence")?,
        source: check::source(arguments)?,
        expires: check::expires(call, arguments)?,
        metadata: check::metadata(arguments)?.unwrap_or_default(),
        title: Some(title),
        content,
        ..NewMemory::default()
    };
    let were_given = give_tags(call, &mut memory);
    Ok((memory, were_given))
}

/// Returns the write policy of this tool set: a title that exists is updated.
pub(super) fn policy(call: &Call<'_>) -> WritePolicy {
    WritePolicy {
        duplicates: DuplicatePolicy::SameTitle,
        keeps_importance: true,
        ..call.engine.writer.write_policy().clone()
    }
}

/// A memory that was stored.
#[derive(Serialize, JsonSchema)]
pub(super) struct StoredView {
    id: String,
    #[schemars(extend("enum" = check::TIERS))]
    tier: &'static str,
    namespace: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["updated", "unchanged"]))]
    action: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    potential_contradictions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_text_as: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    life: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn store(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let (memory, were_given) = given(call, arguments)?;
    let remembered = match ops::remember_as(engine, memory, None, &policy(call))? {
        Stored::Written(remembered) => remembered,
        Stored::Suggested(_) => {
            return Err(ToolError::Conflict(
                "another memory may be meant".to_owned(),
            ));
        }
    };
    let stored = MemoryView::of(
        engine,
        &ops::recall_one(engine, remembered.stem.as_str())?.0,
    );
    let (action, earlier) = match &remembered.became {
        WriteOutcome::Added | WriteOutcome::Repeated => (None, None),
        WriteOutcome::Known | WriteOutcome::Updated { earlier: None } => {
            let is_changed = !remembered.changed.is_empty();
            (Some(if is_changed { "updated" } else { "unchanged" }), None)
        }
        WriteOutcome::Updated { earlier } => (Some("updated"), earlier.as_ref()),
    };
    let contradicted = remembered.contradicted.iter();
    Ok(Reply::of(&StoredView {
        id: stored.id,
        tier: stored.tier,
        namespace: stored.namespace,
        title: stored.title,
        action,
        earlier_id: earlier.map(|earlier| engine.live.shown_id(earlier)),
        note: earlier
            .map(|_| "the earlier content is in the archive: memory_archive_list shows it"),
        tags: were_given.then_some(stored.tags),
        potential_contradictions: contradicted
            .map(|one| engine.live.shown_id(&one.stem))
            .collect(),
        same_text_as: remembered
            .same_text
            .as_ref()
            .map(|same| engine.live.shown_id(same)),
        life: remembered
            .lives_on
            .then_some("it lives longer than that, and goes on so"),
        warnings: remembered.screened.warnings(),
    }))
}

/// With the tier `autonomous`, lets the model give tags to a memory without any; returns whether it did.
/// The memory is stored even if the model fails.
fn give_tags(call: &Call<'_>, memory: &mut NewMemory) -> bool {
    let is_asked = call.preferences.tier == FeatureTier::Autonomous && memory.topics.is_empty();
    let Some(assistant) = call.assistant().filter(|_| is_asked) else {
        return false;
    };
    let title = memory.title.as_deref().unwrap_or_default();
    match assistant.tags(title, &memory.content) {
        Ok(tags) => memory.topics = tags.into_iter().take(TAGS_GIVEN).collect(),
        Err(error) => tracing::warn!("a memory is stored without tags: {error}"),
    }
    !memory.topics.is_empty()
}

/// A memory after a change of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct UpdatedView {
    #[serde(flatten)]
    memory: MemoryView,
    updated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn update(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let id = check::id(arguments, "id")?;
    let (memory, name) = ops::recall_one(engine, &id)?;
    let title = check::title(arguments)?;
    let namespace = check::namespace(arguments)?;
    let mut _held = None;
    // What it is called already, it may go on being called, whoever else is.
    let is_renamed = title
        .as_deref()
        .is_some_and(|new| memory.title.as_deref() != Some(new))
        || namespace
            .as_deref()
            .is_some_and(|new| new != memory.namespace_or_global());
    if is_renamed {
        let title = title.clone().or_else(|| memory.title.clone());
        let namespace = namespace.as_deref().unwrap_or(memory.namespace_or_global());
        _held = check_free(
            call,
            title.as_deref(),
            namespace,
            &memory.user,
            std::slice::from_ref(&memory.stem),
        )?;
    }
    let wanted: Option<Tier> = arguments.word("tier")?;
    let change = Change {
        title: set(title),
        content: check::content(arguments, "content")?,
        tier: set(wanted),
        namespace: match namespace.as_deref() {
            Some("global") => Patch::Clear,
            _ => set(namespace),
        },
        topics: check::tags(arguments)?,
        importance: set(arguments.number("priority")?.map(|n| n as u8)),
        confidence: set(arguments.share("confidence")?),
        expires: set(check::expires_at(call, arguments)?),
        ..Change::default()
    };
    let entries = check::metadata(arguments)?.unwrap_or_default();
    let before = live::state_of(&engine.live, &memory)
        .0
        .tier
        .unwrap_or(Tier::Long);
    let (edited, earlier) = ops::update_keeping(engine, &name, &change, &entries)?;
    Ok(Reply::of(&UpdatedView {
        memory: MemoryView::of(engine, &ops::recall_one(engine, &name)?.0),
        updated: edited.changed,
        earlier_id: earlier.map(|earlier| engine.live.shown_id(&earlier)),
        note: wanted.and_then(|tier| retiered(call, before, tier, &edited.memory)),
        warnings: edited.screened.warnings(),
    }))
}

/// Returns the note about a change of the tier.
fn retiered(call: &Call<'_>, before: Tier, wanted: Tier, memory: &Memory) -> Option<String> {
    let way = match tier_rank(wanted).cmp(&tier_rank(before)) {
        Ordering::Less => "lowered",
        Ordering::Equal => return None,
        Ordering::Greater => "raised",
    };
    let end = match live::state_of(&call.engine.live, memory).0.expires {
        Some(end) => format!("ends at {}", Moment::from(end)),
        None => "does not end".to_owned(),
    };
    Some(format!("it is {way} to {wanted}, and {end}"))
}

fn set<T>(value: Option<T>) -> Patch<T> {
    value.map_or(Patch::Keep, Patch::Set)
}

/// Checks that no current memory of the user but `except` has the title in the namespace, and returns the
/// lock that keeps it so.
pub(super) fn check_free(
    call: &Call<'_>,
    title: Option<&str>,
    namespace: &str,
    user: &str,
    except: &[Stem],
) -> Result<Option<TitleLock>, ToolError> {
    let Some(title) = title.map(str::trim) else {
        return Ok(None);
    };
    let held = write::hold_title(&call.engine.writer, title)?;
    let named = Filter {
        users: vec![user.to_owned()],
        equals: vec![
            ("title".to_owned(), title.to_owned()),
            ("namespace".to_owned(), namespace.to_owned()),
        ],
        ..Filter::default()
    };
    let query = Query::everything(named, except.len() + 1);
    let hits = ops::search(call.engine, &query)?.hits.into_iter();
    let mut others = hits.filter(|hit| !except.contains(&hit.memory.stem));
    match others.next() {
        None => Ok(Some(held)),
        Some(other) => Err(ToolError::Conflict(format!(
            "title `{title}` is taken in namespace `{namespace}` by {}",
            call.engine.live.shown_id(&other.memory.stem)
        ))),
    }
}
