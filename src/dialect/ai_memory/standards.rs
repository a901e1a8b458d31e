//! The standards of namespaces: `memory_namespace_set_standard`, `_get_standard`, `_clear_standard`.

use serde_json::Value;
use serde_json::json;

use super::check;
use super::shape;
use super::tool::reads;
use super::tool::tool;
use super::tool::writes;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::object;
use crate::dialect::tool_set::Tool;
use crate::engine::ops;
use crate::model::is_same_namespace;

const NAMESPACE: Parameter = Parameter::text("namespace", "").required();

pub(super) const SET: Tool = tool(
    "memory_namespace_set_standard",
    "Make a memory the standard of a namespace, in place of another: it holds for everything there, and comes first in memory_session_start and in memory_recall of the namespace. One memory is the standard of one namespace.",
    &[NAMESPACE, Parameter::text("id", "").required()],
    writes("Set a standard"),
    set,
);

pub(super) const GET: Tool = tool(
    "memory_namespace_get_standard",
    "The standard of a namespace, if it has one of its own, and what holds there besides.",
    &[NAMESPACE],
    reads("Read a standard"),
    get,
);

pub(super) const CLEAR: Tool = tool(
    "memory_namespace_clear_standard",
    "Leave a namespace without a standard. The memory stays.",
    &[NAMESPACE],
    writes("Clear a standard"),
    clear,
);

fn missing() -> ToolError {
    ToolError::refused("`namespace` is missing: give a text")
}

fn set(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = check::namespace(arguments)?.ok_or_else(missing)?;
    let id = check::id(arguments, "id")?;
    let before = ops::standards(call.engine)?;
    let stem = ops::set_standard(call.engine, &namespace, &id)?;
    let mut reply = object(json!({
        "set": true,
        "namespace": namespace,
        "standard_id": call.engine.live.shown_id(&stem),
    }));
    let is_other = |of: &str| !is_same_namespace(of, &namespace);
    let mut before = before.into_iter();
    if let Some((of, _)) = before.find(|(of, memory)| memory.stem == stem && is_other(of)) {
        // It is of one namespace at a time.
        reply.insert("was_standard_of".to_owned(), json!(of));
    }
    Ok(Reply::object(reply))
}

fn get(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = arguments.set_text("namespace")?.ok_or_else(missing)?;
    let is_it = |of: &str| is_same_namespace(of, &namespace);
    let (own, above): (Vec<_>, Vec<_>) = ops::standards_in(call.engine, &namespace)?
        .into_iter()
        .partition(|(of, _)| is_it(of));
    let own = own.into_iter().next().map(|(_, memory)| memory);
    let shown = own
        .as_ref()
        .map(|memory| call.engine.live.shown_id(&memory.stem));
    let inherited: Vec<Value> = above
        .into_iter()
        .map(|(of, memory)| json!({"namespace": of, "id": call.engine.live.shown_id(&memory.stem)}))
        .collect();
    Ok(Reply::json(json!({
        "namespace": namespace,
        "standard_id": shown,
        "title": own.as_ref().map(shape::title),
        "content": own.as_ref().map(|memory| memory.content.clone()),
        "inherited": inherited,
    })))
}

fn clear(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = arguments.set_text("namespace")?.ok_or_else(missing)?;
    let cleared = ops::clear_standard(call.engine, &namespace)?;
    Ok(Reply::json(json!({
        "cleared": !cleared.is_empty(),
        "namespace": namespace,
        "ids": shape::shown_ids(call.engine, &cleared),
    })))
}
