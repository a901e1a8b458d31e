//! `connections`, `add_link`, `remove_link`.

use serde::Serialize;

use super::entry::{Entry, with_stem};
use super::renderer::{EntryRenderer, LinkView, SUPERSEDES};
use super::vocabulary::RELATIONS;
use super::{entry_arguments, vocabulary};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::{Relation, ops};

/// Relation of a mention in a text, which is no link.
const MENTIONS: &str = "mentions";

/// The links of an entry.
#[derive(Serialize)]
struct ConnectionsView {
    category: &'static str,
    key: String,
    outgoing: Vec<LinkView>,
    incoming: Vec<IncomingView>,
}

/// A link from another entry.
#[derive(Serialize)]
struct IncomingView {
    source: String,
    relation: String,
}

/// Runs the tool `connections`.
pub(super) fn connections(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let entry = entry_arguments::readable_entry(call, arguments)?;
    let relations = ops::relations_of(call.engine, entry.memory.stem.as_str())?;
    let renderer = EntryRenderer::new(call);
    let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
    for Relation { to, relation, .. } in relations.to {
        let Some(to) = to.filter(|_| relation != MENTIONS) else {
            continue;
        };
        if let Some(target) = renderer.name_of(to.as_str())? {
            outgoing.push(LinkView { target, relation });
        }
    }
    for Relation { from, relation, .. } in relations.from {
        if relation == MENTIONS {
            continue;
        }
        if let Some(source) = renderer.name_of(from.as_str())? {
            incoming.push(IncomingView { source, relation });
        }
    }
    Ok(Reply::of(&ConnectionsView {
        category: entry.category,
        key: entry.key,
        outgoing,
        incoming,
    }))
}

/// A link that was made or removed.
#[derive(Serialize)]
struct ChangedLinkView<'a> {
    action: &'a str,
    source: String,
    target: String,
    relation: Option<&'a str>,
    /// All links of the source that are there now.
    links: Vec<LinkView>,
}

/// Runs the tool `add_link`.
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
    reply(call, action, &source, &target, Some(relation))
}

/// Runs the tool `remove_link`.
pub(super) fn remove_link(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let (source, target) = ends(call, arguments)?;
    if cut(call, &source, &target)? == 0 {
        return Err(ToolError::refused(format!(
            "no link from '{}' to '{}'",
            source.name(),
            target.name()
        )));
    }
    reply(call, "UNLINK", &source, &target, None)
}

/// Returns the entries that link to this one.
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

/// Removes all links from one entry to another, which may be forgotten; returns their number.
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

fn reply(
    call: &Call<'_>,
    action: &str,
    source: &Entry,
    target: &Entry,
    relation: Option<&str>,
) -> Result<Reply, ToolError> {
    let now = with_stem(call, &source.memory.stem)?;
    let entry = EntryRenderer::new(call).entry(now.as_ref().unwrap_or(source))?;
    Ok(Reply::of(&ChangedLinkView {
        action,
        source: source.name(),
        target: target.name(),
        relation,
        links: entry.links,
    }))
}
