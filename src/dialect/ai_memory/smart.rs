//! `memory_expand_query`, `memory_auto_tag` and `memory_detect_contradiction`: by a language model
//! where the user has named one, else from the memories that are there. The reply says which.

use serde::Serialize;

use super::tool::tool;
use super::{check, shape};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::{Assistant, Call};
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::engine::{EngineError, ops};
use crate::model::{Change, Filter, Memory};

/// Maximum number of terms and tags.
const MOST_TERMS: usize = 10;
const MOST_TAGS: usize = 5;
/// Maximum number of tags of a memory.
const MOST_TAGS_IN_ALL: usize = 50;

/// Tool `memory_expand_query`.
pub(super) const EXPAND_QUERY: Tool = tool(
    "memory_expand_query",
    "Further words to search for. By a language model where there is one, else words that stand in the memories which the query finds; the reply says which.",
    &[Parameter::text("query", "").required()],
    Hints::reads("Expand a query"),
    expand_query,
);

/// Tool `memory_auto_tag`.
pub(super) const AUTO_TAG: Tool = tool(
    "memory_auto_tag",
    "Give tags to one memory, beside those it has. By a language model where there is one; else tags that fit are proposed and not stored. The reply says which.",
    &[Parameter::text("id", "").required()],
    Hints::writes("Tag a memory"),
    auto_tag,
);

/// Tool `memory_detect_contradiction`.
pub(super) const DETECT_CONTRADICTION: Tool = tool(
    "memory_detect_contradiction",
    "Whether two memories contradict each other, and why. By a language model where there is one, else by their claims, word by word, and by their titles; the reply says which. To decide between them, link the right one to the other with supersedes.",
    &[
        Parameter::text("id_a", "").required(),
        Parameter::text("id_b", "").required(),
    ],
    Hints::reads("Detect a contradiction"),
    detect_contradiction,
);

/// An answer of the language model, else one from the memories, with its source and a note.
#[derive(Serialize)]
struct Assisted<T> {
    #[serde(flatten)]
    what: T,
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl<T> Assisted<T> {
    /// Returns the reply with `what` in place of the answer, with the same source and note.
    fn reply(&self, what: impl Serialize) -> Reply {
        let (by, note) = (self.by, self.note);
        Reply::of(&Assisted { what, by, note })
    }
}

const BY_MODEL: &str = "model";

/// Calls the language model; answers from the memories where there is none or it fails.
fn assist<T>(
    call: &Call<'_>,
    ask: impl FnOnce(&dyn Assistant) -> Result<T, String>,
    at_hand: impl FnOnce() -> Result<T, ToolError>,
) -> Result<Assisted<T>, ToolError> {
    let note = match call.assistant().map(ask) {
        Some(Ok(what)) => {
            return Ok(Assisted {
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
    Ok(Assisted {
        what: at_hand()?,
        by: "index",
        note: Some(note),
    })
}

/// Further words to search for.
#[derive(Serialize)]
struct ExpandedView<'a> {
    original: &'a str,
    expanded_terms: Vec<&'a String>,
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
    let assisted = assist(call, |assistant| assistant.expand(&query), related)?;
    Ok(assisted.reply(ExpandedView {
        original: &query,
        expanded_terms: assisted.what.iter().take(MOST_TERMS).collect(),
    }))
}

/// The tags of a memory.
#[derive(Serialize)]
struct TaggedView {
    id: String,
    new_tags: Vec<String>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proposed_tags: Option<Vec<String>>,
}

fn auto_tag(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    // Whether something is written depends on who answers; the tool is one that writes.
    if call.engine.live.is_read_only() {
        return Err(EngineError::ReadOnly(call.engine.live.root().to_owned()).into());
    }
    let (memory, name) = ops::recall_one(call.engine, &check::id(arguments, "id")?)?;
    let title = shape::title(&memory);
    let fitting = || Ok(ops::fitting_topics(call.engine, &memory, MOST_TAGS)?);
    let assisted = assist(
        call,
        |assistant| assistant.tags(&title, &memory.content),
        fitting,
    )?;
    let mut tags = memory.topics.clone();
    let mut new_tags = Vec::new();
    for tag in assisted.what.iter().take(MOST_TAGS) {
        let is_known = tags.iter().any(|known| known.eq_ignore_ascii_case(tag));
        if !is_known && tags.len() < MOST_TAGS_IN_ALL {
            tags.push(tag.clone());
            new_tags.push(tag.clone());
        }
    }
    let id = call.engine.live.shown_id(&memory.stem);
    // Tags that only follow from words are proposed: the caller chooses among them.
    if assisted.by != BY_MODEL {
        return Ok(assisted.reply(TaggedView {
            id,
            new_tags: Vec::new(),
            tags: memory.topics,
            proposed_tags: Some(new_tags),
        }));
    }
    if !new_tags.is_empty() {
        let change = Change {
            topics: Some(tags.clone()),
            ..Change::default()
        };
        ops::update(call.engine, &name, &change)?;
    }
    Ok(assisted.reply(TaggedView {
        id,
        new_tags,
        tags,
        proposed_tags: None,
    }))
}

/// Whether two memories contradict each other, and why.
#[derive(Serialize)]
struct ContradictionView<'a> {
    contradicts: bool,
    explanation: &'a str,
    memory_a: NamedMemory,
    memory_b: NamedMemory,
}

#[derive(Serialize)]
struct NamedMemory {
    id: String,
    title: String,
}

fn detect_contradiction(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let one = ops::recall_one(call.engine, &check::id(arguments, "id_a")?)?.0;
    let other = ops::recall_one(call.engine, &check::id(arguments, "id_b")?)?.0;
    if one.stem == other.stem {
        return Err(ToolError::refused("cannot compare a memory with itself"));
    }
    let assisted = assist(
        call,
        |assistant| assistant.contradict(&text(&one), &text(&other)),
        || Ok(at_hand(&one, &other)),
    )?;
    let (contradicts, why) = &assisted.what;
    let named = |memory: &Memory| NamedMemory {
        id: call.engine.live.shown_id(&memory.stem),
        title: shape::title(memory),
    };
    Ok(assisted.reply(ContradictionView {
        contradicts: *contradicts,
        explanation: why,
        memory_a: named(&one),
        memory_b: named(&other),
    }))
}

fn text(memory: &Memory) -> String {
    format!("{}\n{}", shape::title(memory), memory.content)
}

/// By their claims; else the same title over another text says that one of them is out of date.
fn at_hand(one: &Memory, other: &Memory) -> (bool, String) {
    if let Some(evidence) = ops::contradiction_between(one, other) {
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
