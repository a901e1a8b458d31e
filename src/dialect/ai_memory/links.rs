//! `memory_link` and `memory_get_links`.

use schemars::JsonSchema;
use serde::Serialize;

use super::shape::LinkView;
use super::tool::tool;
use super::{check, shape};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::parameter::{Literal, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::engine::{live, ops};

/// Tool `memory_link`.
pub(super) const LINK: Tool = tool(
    "memory_link",
    "Link one memory to another. What is superseded is not found any more by recall, search and list, only by its id.",
    &[
        Parameter::text("source_id", "").required(),
        Parameter::text("target_id", "").required(),
        Parameter::word(
            "relation",
            check::RELATIONS,
            "What the source is to the target",
        )
        .or(Literal::Text("related_to")),
    ],
    Hints::writes("Link memories"),
    link,
);

/// Tool `memory_get_links`.
pub(super) const GET_LINKS: Tool = tool(
    "memory_get_links",
    "The links of one memory, in both directions.",
    &[Parameter::text("id", "").required()],
    Hints::reads("Links of a memory"),
    get_links,
);

/// A link that is there now.
#[derive(Serialize, JsonSchema)]
pub(super) struct LinkedView {
    #[schemars(extend("enum" = [true]))]
    linked: bool,
    source_id: String,
    target_id: String,
    #[schemars(extend("enum" = check::RELATIONS))]
    relation: String,
    existed: bool,
}

fn link(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let (source, from) = live::resolve(&engine.live, &check::id(arguments, "source_id")?)?;
    let (target, to) = live::resolve(&engine.live, &check::id(arguments, "target_id")?)?;
    if from == to {
        return Err(ToolError::refused("cannot link a memory to itself"));
    }
    let relation = check::relation(arguments)?;
    let relation = relation.unwrap_or_else(|| "related_to".to_owned());
    let stored = shape::stored_relation(&relation);
    let is_new = ops::link(engine, &from, &to, &stored)?;
    Ok(Reply::of(&LinkedView {
        linked: true,
        source_id: engine.live.shown_id(&source),
        target_id: engine.live.shown_id(&target),
        relation,
        existed: !is_new,
    }))
}

/// The links of one memory.
#[derive(Serialize, JsonSchema)]
pub(super) struct LinksView {
    count: usize,
    links: Vec<LinkView>,
}

fn get_links(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let (_, name) = live::resolve(&call.engine.live, &check::id(arguments, "id")?)?;
    let links = shape::links(call.engine, &name)?;
    Ok(Reply::of(&LinksView {
        count: links.len(),
        links,
    }))
}
