//! `connections`, `add_link`, `remove_link`.

use serde_json::json;

use super::entry::Entry;
use super::entry::with_stem;
use super::entry_arguments;
use super::renderer::EntryRenderer;
use super::renderer::SUPERSEDES;
use super::vocabulary;
use super::vocabulary::RELATIONS;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::engine::ops;

/// What a mention in a text is: nobody linked it.
const MENTIONS: &str = "mentions";

pub(super) fn connections(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let entry = entry_arguments::readable_entry(call, arguments)?;
    let relations = ops::relations_of(call.engine, entry.memory.stem.as_str())?;
    let teller = EntryRenderer::new(call)?;
    let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
    for relation in relations.to {
        let Some(to) = relation.to.filter(|_| relation.relation != MENTIONS) else {
            continue;
        };
        if let Some(target) = teller.name_of(to.as_str())? {
            outgoing.push(json!({"target": target, "relation": relation.relation}));
        }
    }
    for relation in relations.from {
        if relation.relation == MENTIONS {
            continue;
        }
        if let Some(source) = teller.name_of(relation.from.as_str())? {
            incoming.push(json!({"source": source, "relation": relation.relation}));
        }
    }
    Ok(Reply::json(json!({
        "category": entry.category,
        "key": entry.key,
        "outgoing": outgoing,
        "incoming": incoming,
    })))
}

pub(super) fn add_link(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let relation = arguments.required_text("relation")?;
    let relation = vocabulary::word("relation", &relation, &RELATIONS)?;
    let (source, target) = ends(call, arguments)?;
    if source.memory.stem == target.memory.stem {
        let what = format!("cannot link '{}' to itself", source.name());
        return Err(ToolError::refused(what));
    }
    let is_new = ops::link(call.engine, source.id(), target.id(), relation)?;
    let action = if is_new { "LINK" } else { "NOOP" };
    told(call, action, &source, &target, Some(relation))
}

pub(super) fn remove_link(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let (source, target) = ends(call, arguments)?;
    if cut(call, &source, &target)? == 0 {
        return Err(ToolError::refused(format!(
            "no link from '{}' to '{}'",
            source.name(),
            target.name()
        )));
    }
    told(call, "UNLINK", &source, &target, None)
}

/// The entries that link to this one.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub(super) fn incoming(call: &Call<'_>, entry: &Entry) -> Result<Vec<Entry>, ToolError> {
    let relations = ops::relations_of(call.engine, entry.memory.stem.as_str())?;
    let mut others: Vec<Entry> = Vec::new();
    for relation in relations.from {
        let is_known = others.iter().any(|one| one.memory.stem == relation.from);
        if relation.relation == MENTIONS || is_known {
            continue;
        }
        others.extend(with_stem(call, &relation.from)?);
    }
    Ok(others)
}

/// Removes whatever links one entry to another, which may be forgotten; how many links there were.
///
/// # Errors
///
/// Fails if the first one is gone, or if its file cannot be changed.
pub(super) fn cut(call: &Call<'_>, source: &Entry, target: &Entry) -> Result<usize, ToolError> {
    let (from, to) = (source.id(), target.id());
    let links = ops::unlink(call.engine, from, to, None)?;
    Ok(links + ops::unlink(call.engine, from, to, Some(SUPERSEDES))?)
}

fn ends(call: &Call<'_>, arguments: &Arguments) -> Result<(Entry, Entry), ToolError> {
    // Both names are read before any of them is looked for.
    let target_category = entry_arguments::category(arguments, "target_category")?;
    let target_key = entry_arguments::key(arguments, "target_key")?;
    let source = entry_arguments::entry(call, arguments, "source_category", "source_key")?;
    let target = super::entry::required(call, target_category, &target_key)?;
    Ok((source, target))
}

fn told(
    call: &Call<'_>,
    action: &str,
    source: &Entry,
    target: &Entry,
    relation: Option<&str>,
) -> Result<Reply, ToolError> {
    let now = with_stem(call, &source.memory.stem)?;
    let mut entry = EntryRenderer::new(call)?.entry(now.as_ref().unwrap_or(source))?;
    Ok(Reply::json(json!({
        "action": action,
        "source": source.name(),
        "target": target.name(),
        "relation": relation,
        "links": entry.remove("links"),
    })))
}
