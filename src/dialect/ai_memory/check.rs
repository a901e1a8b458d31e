//! Limits of this tool set's arguments, and the error messages.

use chrono::TimeDelta;
use serde_json::Value;

use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::metadata;
use crate::dialect::reply::{ToolError, written};
use crate::engine::{BadEnd, END_FORMS, read_end};
use crate::model::{MetaValue, POSSIBLE_TIMES, Timestamp, is_possible_time};

/// Maximum length of a title, in bytes.
pub(super) const MAX_TITLE: usize = 512;
const MAX_CONTENT: usize = 65_536;
const MAX_NAMESPACE: usize = 128;
const MAX_TAGS: usize = 50;
const MAX_TAG: usize = 128;
const MAX_ID: usize = 128;
const MAX_METADATA: usize = 65_536;
/// Maximum time to live, in seconds: one year.
pub(super) const MAX_TTL: u64 = 31_536_000;
/// Names of the tiers.
pub(super) const TIERS: &[&str] = &["short", "mid", "long"];
/// Valid sources of a memory.
pub(super) const SOURCES: &[&str] = &[
    "user",
    "claude",
    "hook",
    "api",
    "cli",
    "import",
    "consolidation",
    "system",
];
/// Valid relations of a link.
pub(super) const RELATIONS: &[&str] = &["related_to", "supersedes", "contradicts", "derived_from"];

/// Returns the error for a missing text.
pub(super) fn missing(name: &str) -> ToolError {
    ToolError::refused(format!("`{name}` is missing: give a text"))
}

fn refused<T>(why: String) -> Result<T, ToolError> {
    Err(ToolError::Refused(why))
}

/// Checks that a text is not blank, holds no NUL, and is not too long.
fn checked(name: &str, text: String, most: usize) -> Result<String, ToolError> {
    if text.trim().is_empty() {
        return refused(format!("{name} cannot be empty"));
    }
    if text.contains('\0') {
        return refused(format!("{name} contains null bytes"));
    }
    if text.len() > most {
        let length = text.len();
        return refused(format!(
            "{name} exceeds max length ({length} bytes, at most {most})"
        ));
    }
    Ok(text)
}

/// Reads the title, with blanks in place of control characters.
pub(super) fn title(arguments: &Arguments) -> Result<Option<String>, ToolError> {
    let Some(text) = arguments.text("title")? else {
        return Ok(None);
    };
    let text = checked("title", text, MAX_TITLE)?;
    let line = text.replace(char::is_control, " ");
    Ok(Some(line.trim().to_owned()))
}

/// Reads the text in the argument `name`, within the limit of a content.
pub(super) fn content(arguments: &Arguments, name: &str) -> Result<Option<String>, ToolError> {
    let text = arguments.text(name)?;
    text.map(|text| checked(name, text, MAX_CONTENT))
        .transpose()
}

/// Reads the namespace of a write.
pub(super) fn namespace(arguments: &Arguments) -> Result<Option<String>, ToolError> {
    let Some(text) = arguments.text("namespace")? else {
        return Ok(None);
    };
    let text = checked("namespace", text, MAX_NAMESPACE)?;
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\');
    match text.contains(is_bad) {
        true => {
            refused("namespace cannot contain slashes, spaces or control characters".to_owned())
        }
        false => Ok(Some(text)),
    }
}

/// Reads the tags.
pub(super) fn tags(arguments: &Arguments) -> Result<Option<Vec<String>>, ToolError> {
    let given = arguments.values().get("tags").and_then(Value::as_array);
    let is_blank = |tag: &Value| tag.as_str().is_some_and(|tag| tag.trim().is_empty());
    if given.is_some_and(|tags| tags.iter().any(is_blank)) {
        return refused("tags cannot contain empty strings".to_owned());
    }
    let Some(tags) = arguments.list("tags")? else {
        return Ok(None);
    };
    if tags.len() > MAX_TAGS {
        return refused(format!(
            "too many tags ({}, at most {MAX_TAGS})",
            tags.len()
        ));
    }
    let checked = tags.into_iter().map(|tag| {
        let tag = checked("tag", tag, MAX_TAG)?;
        match tag.contains(char::is_control) {
            true => refused("tags cannot contain control characters".to_owned()),
            false => Ok(tag),
        }
    });
    Ok(Some(checked.collect::<Result<_, _>>()?))
}

/// Reads the id in the argument `name`, which is required.
pub(super) fn id(arguments: &Arguments, name: &str) -> Result<String, ToolError> {
    checked(name, arguments.required_text(name)?, MAX_ID)
}

/// Reads 2 to 100 ids.
pub(super) fn ids(arguments: &Arguments) -> Result<Vec<String>, ToolError> {
    let ids = arguments.list("ids")?.unwrap_or_default();
    if !(2..=100).contains(&ids.len()) {
        return refused(format!("ids must be from 2 to 100, not {}", ids.len()));
    }
    ids.into_iter()
        .map(|id| checked("id", id, MAX_ID))
        .collect()
}

/// Reads the source.
pub(super) fn source(arguments: &Arguments) -> Result<Option<String>, ToolError> {
    one_of(arguments, "source", SOURCES)
}

/// Reads the relation of a link.
pub(super) fn relation(arguments: &Arguments) -> Result<Option<String>, ToolError> {
    one_of(arguments, "relation", RELATIONS)
}

/// Reads the argument `name`, which is one of `words`.
pub(super) fn one_of(
    arguments: &Arguments,
    name: &str,
    words: &[&str],
) -> Result<Option<String>, ToolError> {
    match arguments.text(name)? {
        Some(text) if !words.contains(&text.as_str()) => {
            let shown: String = text.chars().take(40).collect();
            refused(format!(
                "invalid {name} `{shown}`: must be one of {}",
                words.join(", ")
            ))
        }
        text => Ok(text),
    }
}

/// Reads the expiry of a memory from `expires_at`, else from `ttl_secs`.
pub(super) fn expires(
    call: &Call<'_>,
    arguments: &Arguments,
) -> Result<Option<Timestamp>, ToolError> {
    if let Some(at) = expires_at(call, arguments)? {
        return Ok(Some(at));
    }
    let Some(seconds) = arguments.number("ttl_secs")? else {
        return Ok(None);
    };
    let span = TimeDelta::seconds(seconds.min(MAX_TTL) as i64);
    let end = call.engine.live.now().checked_add_signed(span);
    match end.filter(|end| is_possible_time(*end)) {
        Some(end) => Ok(Some(Timestamp::from_utc(end))),
        None => Err(ToolError::refused("ttl_secs ends beyond the year 9999")),
    }
}

/// Reads the expiry in `expires_at`.
pub(super) fn expires_at(
    call: &Call<'_>,
    arguments: &Arguments,
) -> Result<Option<Timestamp>, ToolError> {
    let Some(text) = arguments.text("expires_at")? else {
        return Ok(None);
    };
    let now = call.engine.live.now();
    match read_end(&text, now, now) {
        Ok(end) => Ok(Some(end)),
        Err(BadEnd::Past(_)) => Err(ToolError::refused("expires_at is in the past")),
        Err(BadEnd::Unreadable) => Err(ToolError::refused(format!(
            "expires_at must be a time {POSSIBLE_TIMES}, in RFC3339 (2026-01-31T09:00:00Z) or seen from now ({END_FORMS}), not `{text}`"
        ))),
    }
}

/// Reads the metadata.
pub(super) fn metadata(
    arguments: &Arguments,
) -> Result<Option<Vec<(String, MetaValue)>>, ToolError> {
    let Some(object) = arguments.object("metadata")? else {
        return Ok(None);
    };
    let length = written(&object).len();
    if length > MAX_METADATA {
        return refused(format!(
            "metadata exceeds max size ({length} bytes, at most {MAX_METADATA})"
        ));
    }
    let object: JsonObject = object;
    Ok(Some(metadata::from_json(object)))
}
