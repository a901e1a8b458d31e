//! `memory_link` and `memory_get_links`.

use serde_json::json;

use super::check;
use super::shape;
use super::tool::reads;
use super::tool::tool;
use super::tool::writes;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::parameter::Literal;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Tool;
use crate::engine::live;
use crate::engine::ops;

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
    writes("Link memories"),
    link,
);

pub(super) const GET_LINKS: Tool = tool(
    "memory_get_links",
    "The links of one memory, in both directions.",
    &[Parameter::text("id", "").required()],
    reads("Links of a memory"),
    get_links,
);

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
    Ok(Reply::json(json!({
        "linked": true,
        "source_id": engine.live.shown_id(&source),
        "target_id": engine.live.shown_id(&target),
        "relation": relation,
        "existed": !is_new,
    })))
}

fn get_links(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let (_, name) = live::resolve(&call.engine.live, &check::id(arguments, "id")?)?;
    let links = shape::links(call.engine, &name)?;
    Ok(Reply::json(json!({"count": links.len(), "links": links})))
}
