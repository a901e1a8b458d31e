//! `memory_store` and `memory_update`.

use std::cmp::Ordering;

use serde_json::Value;
use serde_json::json;

use super::check;
use super::shape;
use super::tool::at_hand;
use super::tool::tool;
use super::tool::writes;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::call::FeatureTier;
use crate::dialect::json::JsonObject;
use crate::dialect::parameter::Literal;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Tool;
use crate::engine::DuplicatePolicy;
use crate::engine::Query;
use crate::engine::Recalled;
use crate::engine::Stored;
use crate::engine::TitleLock;
use crate::engine::WriteOutcome;
use crate::engine::WritePolicy;
use crate::engine::live;
use crate::engine::ops;
use crate::engine::tier_rank;
use crate::engine::write;
use crate::model::Change;
use crate::model::Filter;
use crate::model::Memory;
use crate::model::MetaValue;
use crate::model::NewMemory;
use crate::model::Patch;
use crate::model::Stem;
use crate::model::Tier;

/// Maximum number of tags that a model gives to a memory without tags.
const TAGS_GIVEN: usize = 5;

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
    at_hand(writes("Store a memory")),
    store,
);

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
    writes("Update a memory"),
    update,
);

/// The memory that `memory_store` was given, and whether a model gave tags to it.
pub(super) fn given(
    call: &Call<'_>,
    arguments: &Arguments,
) -> Result<(NewMemory, bool), ToolError> {
    let missing = |name: &str| ToolError::refused(format!("`{name}` is missing: give a text"));
    let title = check::title(arguments)?.ok_or_else(|| missing("title"))?;
    let content = check::content(arguments, "content")?.ok_or_else(|| missing("content"))?;
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

/// What is done about titles that are there.
pub(super) fn policy(call: &Call<'_>) -> WritePolicy {
    WritePolicy {
        duplicates: DuplicatePolicy::SameTitle,
        keeps_importance: true,
        ..call.engine.writer.write_policy().clone()
    }
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
    let mut reply = JsonObject::new();
    let mut put = |key: &str, value: Value| drop(reply.insert(key.to_owned(), value));
    put("id", json!(engine.live.shown_id(&remembered.stem)));
    let stored = read(call, remembered.stem.as_str())?;
    put("tier", stored["tier"].clone());
    put("namespace", stored["namespace"].clone());
    put("title", stored["title"].clone());
    match &remembered.became {
        WriteOutcome::Added | WriteOutcome::Repeated => {}
        WriteOutcome::Known | WriteOutcome::Updated { earlier: None } => {
            let is_changed = !remembered.changed.is_empty();
            put(
                "action",
                json!(if is_changed { "updated" } else { "unchanged" }),
            );
        }
        WriteOutcome::Updated {
            earlier: Some(earlier),
        } => {
            put("action", json!("updated"));
            put("earlier_id", json!(engine.live.shown_id(earlier)));
            put(
                "note",
                json!("the earlier content is in the archive: memory_archive_list shows it"),
            );
        }
    }
    if were_given {
        put("tags", stored["tags"].clone());
    }
    if !remembered.contradicted.is_empty() {
        let others = remembered.contradicted.iter();
        let others: Vec<String> = others.map(|one| engine.live.shown_id(&one.stem)).collect();
        put("potential_contradictions", json!(others));
    }
    if let Some(same) = &remembered.same_text {
        put("same_text_as", json!(engine.live.shown_id(same)));
    }
    if remembered.lives_on {
        put("life", json!("it lives longer than that, and goes on so"));
    }
    let warnings = remembered.screened.warnings();
    if !warnings.is_empty() {
        put("warnings", json!(warnings));
    }
    Ok(Reply::object(reply))
}

/// With the tier `autonomous`, the model gives tags to what has none; whether it did. A model that
/// does not answer keeps nothing from being stored.
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

fn update(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let id = check::id(arguments, "id")?;
    let (memory, name) = found_in(call, &id)?;
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
        metadata: match check::metadata(arguments)? {
            None => Patch::Keep,
            Some(entries) => merged(&memory.metadata, entries),
        },
        ..Change::default()
    };
    let before = live::state_of(&engine.live, &memory)
        .0
        .tier
        .unwrap_or(Tier::Long);
    let (edited, earlier) = ops::update_keeping(engine, &name, &change)?;
    let mut reply = read(call, &name)?;
    reply.insert("updated".to_owned(), json!(edited.changed));
    if let Some(earlier) = earlier {
        reply.insert(
            "earlier_id".to_owned(),
            json!(engine.live.shown_id(&earlier)),
        );
    }
    if let Some(note) = wanted.and_then(|tier| retiered(call, before, tier, &edited.memory)) {
        reply.insert("note".to_owned(), json!(note));
    }
    let warnings = edited.screened.warnings();
    if !warnings.is_empty() {
        reply.insert("warnings".to_owned(), json!(warnings));
    }
    Ok(Reply::object(reply))
}

/// What is said of a memory that is of another tier than `before`.
fn retiered(call: &Call<'_>, before: Tier, wanted: Tier, memory: &Memory) -> Option<String> {
    let way = match tier_rank(wanted).cmp(&tier_rank(before)) {
        Ordering::Less => "lowered",
        Ordering::Equal => return None,
        Ordering::Greater => "raised",
    };
    let end = match live::state_of(&call.engine.live, memory).0.expires {
        Some(end) => format!("ends at {}", shape::moment(end)).replace('"', ""),
        None => "does not end".to_owned(),
    };
    Some(format!("it is {way} to {wanted}, and {end}"))
}

fn set<T>(value: Option<T>) -> Patch<T> {
    value.map_or(Patch::Keep, Patch::Set)
}

/// The entries that are there with those that are given; null takes one away. What other tool sets
/// keep there stays.
fn merged(
    known: &[(String, MetaValue)],
    given: Vec<(String, MetaValue)>,
) -> Patch<Vec<(String, MetaValue)>> {
    let mut entries = known.to_vec();
    for (key, value) in given {
        entries.retain(|(other, _)| *other != key);
        if value != MetaValue::Null {
            entries.push((key, value));
        }
    }
    match entries.is_empty() {
        true => Patch::Clear,
        false => Patch::Set(entries),
    }
}

/// The live memory called `id`.
pub(super) fn found(call: &Call<'_>, id: &str) -> Result<Memory, ToolError> {
    Ok(*found_in(call, id)?.0)
}

/// The same, with its file.
pub(super) fn found_in(call: &Call<'_>, id: &str) -> Result<(Box<Memory>, String), ToolError> {
    let mut recalled = ops::recall(call.engine, &[id.to_owned()]);
    match recalled.pop() {
        Some(Recalled::Found { memory, name }) => Ok((memory, name)),
        Some(Recalled::Failed { error, .. }) => Err(error.into()),
        None => Err(ToolError::refused("no id was given")),
    }
}

/// The memory called `id` as this tool set shows it.
pub(super) fn read(call: &Call<'_>, id: &str) -> Result<JsonObject, ToolError> {
    let memory = found(call, id)?;
    Ok(shape::memory(call.engine, &memory))
}

/// Makes sure that no current memory of the user but `except` has the title in the namespace, nor
/// gets it while what is returned is held.
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
    let filter = Filter {
        users: vec![user.to_owned()],
        equals: vec![
            ("title".to_owned(), title.to_owned()),
            ("namespace".to_owned(), namespace.to_owned()),
        ],
        ..Filter::default()
    };
    let query = Query::everything(filter, except.len() + 1);
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
