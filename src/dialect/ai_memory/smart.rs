//! `memory_expand_query`, `memory_auto_tag` and `memory_detect_contradiction`: by a language model
//! where the user has named one, else from the memories that are there. The reply says which.

use serde_json::Value;
use serde_json::json;

use super::check;
use super::shape;
use super::tool::reads;
use super::tool::tool;
use super::tool::writes;
use super::write::found;
use super::write::found_in;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Tool;
use crate::engine::EngineError;
use crate::engine::ops;
use crate::model::Change;
use crate::model::Filter;
use crate::model::Memory;

/// Maximum number of terms and tags.
const MOST_TERMS: usize = 10;
const MOST_TAGS: usize = 5;
/// And so many tags a memory has in all.
const MOST_TAGS_IN_ALL: usize = 50;

pub(super) const EXPAND_QUERY: Tool = tool(
    "memory_expand_query",
    "Further words to search for. By a language model where there is one, else words that stand in the memories which the query finds; the reply says which.",
    &[Parameter::text("query", "").required()],
    reads("Expand a query"),
    expand_query,
);

pub(super) const AUTO_TAG: Tool = tool(
    "memory_auto_tag",
    "Give tags to one memory, beside those it has. By a language model where there is one; else tags that fit are proposed and not stored. The reply says which.",
    &[Parameter::text("id", "").required()],
    writes("Tag a memory"),
    auto_tag,
);

pub(super) const DETECT_CONTRADICTION: Tool = tool(
    "memory_detect_contradiction",
    "Whether two memories contradict each other, and why. By a language model where there is one, else by their claims, word by word, and by their titles; the reply says which. To decide between them, link the right one to the other with supersedes.",
    &[
        Parameter::text("id_a", "").required(),
        Parameter::text("id_b", "").required(),
    ],
    reads("Detect a contradiction"),
    detect_contradiction,
);

/// What the model says, else what is at hand; who says it, and why the model does not.
struct Suggestion<T> {
    what: T,
    by: &'static str,
    note: Option<&'static str>,
}

const BY_MODEL: &str = "model";

fn said<T>(
    call: &Call<'_>,
    ask: impl FnOnce(&dyn crate::dialect::call::Assistant) -> Result<T, String>,
    at_hand: impl FnOnce() -> Result<T, ToolError>,
) -> Result<Suggestion<T>, ToolError> {
    let note = match call.assistant().map(ask) {
        Some(Ok(what)) => {
            return Ok(Suggestion {
                what,
                by: BY_MODEL,
                note: None,
            });
        }
        Some(Err(error)) => {
            // Where it is asked is the user's business.
            tracing::warn!("the language model did not answer: {error}");
            "the language model did not answer: told from the memories that are there"
        }
        None => "there is no language model: told from the memories that are there",
    };
    Ok(Suggestion {
        what: at_hand()?,
        by: "index",
        note: Some(note),
    })
}

/// The reply with who says it.
fn reply<T>(said: &Suggestion<T>, fields: Value) -> Reply {
    let mut object: JsonObject = crate::dialect::reply::object(fields);
    object.insert("by".to_owned(), json!(said.by));
    if let Some(note) = said.note {
        object.insert("note".to_owned(), json!(note));
    }
    Reply::object(object)
}

fn expand_query(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let query = arguments.required_text("query")?;
    if query.trim().is_empty() {
        return Err(ToolError::refused("query cannot be empty"));
    }
    let related = || {
        Ok(ops::related_words(
            call.engine,
            &query,
            &Filter::default(),
            MOST_TERMS,
        )?)
    };
    let said = said(call, |assistant| assistant.expand(&query), related)?;
    let terms: Vec<&String> = said.what.iter().take(MOST_TERMS).collect();
    Ok(reply(
        &said,
        json!({"original": query, "expanded_terms": terms}),
    ))
}

fn auto_tag(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    // Whether something is written depends on who answers; the tool is one that writes.
    if call.engine.live.is_read_only() {
        return Err(EngineError::ReadOnly(call.engine.live.root().to_owned()).into());
    }
    let (memory, name) = found_in(call, &check::id(arguments, "id")?)?;
    let title = shape::title(&memory);
    let fitting = || Ok(ops::fitting_topics(call.engine, &memory, MOST_TAGS)?);
    let said = said(
        call,
        |assistant| assistant.tags(&title, &memory.content),
        fitting,
    )?;
    let mut tags = memory.topics.clone();
    let mut new_tags = Vec::new();
    for tag in said.what.iter().take(MOST_TAGS) {
        let is_known = tags.iter().any(|known| known.eq_ignore_ascii_case(tag));
        if !is_known && tags.len() < MOST_TAGS_IN_ALL {
            tags.push(tag.clone());
            new_tags.push(tag.clone());
        }
    }
    // What only follows from words is proposed: whoever asks knows which of them are of use.
    let is_proposed = said.by != BY_MODEL;
    if is_proposed {
        let id = call.engine.live.shown_id(&memory.stem);
        let fields = json!({
            "id": id, "new_tags": [], "tags": memory.topics, "proposed_tags": new_tags,
        });
        return Ok(reply(&said, fields));
    }
    if !new_tags.is_empty() {
        let change = Change {
            topics: Some(tags.clone()),
            ..Change::default()
        };
        ops::update(call.engine, &name, &change)?;
    }
    let id = call.engine.live.shown_id(&memory.stem);
    Ok(reply(
        &said,
        json!({"id": id, "new_tags": new_tags, "tags": tags}),
    ))
}

fn detect_contradiction(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let one = found(call, &check::id(arguments, "id_a")?)?;
    let other = found(call, &check::id(arguments, "id_b")?)?;
    if one.stem == other.stem {
        return Err(ToolError::refused("cannot compare a memory with itself"));
    }
    let said = said(
        call,
        |assistant| assistant.contradict(&text(&one), &text(&other)),
        || Ok(at_hand(call, &one, &other)),
    )?;
    let (contradicts, why) = &said.what;
    let named = |memory: &Memory| json!({"id": call.engine.live.shown_id(&memory.stem), "title": shape::title(memory)});
    let fields = json!({
        "contradicts": contradicts,
        "explanation": why,
        "memory_a": named(&one),
        "memory_b": named(&other),
    });
    Ok(reply(&said, fields))
}

fn text(memory: &Memory) -> String {
    format!("{}\n{}", shape::title(memory), memory.content)
}

/// By their claims; else the same title over another text says that one of them is out of date.
fn at_hand(call: &Call<'_>, one: &Memory, other: &Memory) -> (bool, String) {
    if let Some(evidence) = ops::contradiction_between(call.engine, one, other) {
        return (true, evidence.to_string());
    }
    let plain = |memory: &Memory| shape::title(memory).to_lowercase();
    let is_same_title = plain(one) == plain(other);
    let is_same_text = one
        .content
        .split_whitespace()
        .eq(other.content.split_whitespace());
    match (is_same_title, is_same_text) {
        (true, false) => (
            true,
            "they have the same title and say something else".to_owned(),
        ),
        (_, true) => (false, "they say the same".to_owned()),
        _ => (
            false,
            "no claim of one speaks against one of the other".to_owned(),
        ),
    }
}
