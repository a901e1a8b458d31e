//! The standards of namespaces: `memory_namespace_set_standard`, `_get_standard`, `_clear_standard`.

use serde::Serialize;

use super::tool::tool;
use super::{check, shape};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::engine::ops;
use crate::model::{Memory, is_same_namespace};

const NAMESPACE: Parameter = Parameter::text("namespace", "").required();

/// Tool `memory_namespace_set_standard`.
pub(super) const SET: Tool = tool(
    "memory_namespace_set_standard",
    "Make a memory the standard of a namespace, in place of another: it holds for everything there, and comes first in memory_session_start and in memory_recall of the namespace. One memory is the standard of one namespace.",
    &[NAMESPACE, Parameter::text("id", "").required()],
    Hints::writes("Set a standard"),
    set,
);

/// Tool `memory_namespace_get_standard`.
pub(super) const GET: Tool = tool(
    "memory_namespace_get_standard",
    "The standard of a namespace, if it has one of its own, and what holds there besides.",
    &[NAMESPACE],
    Hints::reads("Read a standard"),
    get,
);

/// Tool `memory_namespace_clear_standard`.
pub(super) const CLEAR: Tool = tool(
    "memory_namespace_clear_standard",
    "Leave a namespace without a standard. The memory stays.",
    &[NAMESPACE],
    Hints::writes("Clear a standard"),
    clear,
);

fn missing() -> ToolError {
    check::missing("namespace")
}

/// A namespace whose standard was set.
#[derive(Serialize)]
struct SetView {
    set: bool,
    namespace: String,
    standard_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    was_standard_of: Option<String>,
}

fn set(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = check::namespace(arguments)?.ok_or_else(missing)?;
    let id = check::id(arguments, "id")?;
    let before = ops::standards(call.engine)?;
    let stem = ops::set_standard(call.engine, &namespace, &id)?;
    // It is of one namespace at a time.
    let mut before = before.into_iter();
    let was = before.find(|(of, memory)| memory.stem == stem && !is_same_namespace(of, &namespace));
    Ok(Reply::of(&SetView {
        set: true,
        namespace,
        standard_id: call.engine.live.shown_id(&stem),
        was_standard_of: was.map(|(of, _)| of),
    }))
}

/// The standard of a namespace, and those that hold there besides.
#[derive(Serialize)]
struct StandardView {
    namespace: String,
    standard_id: Option<String>,
    title: Option<String>,
    content: Option<String>,
    inherited: Vec<Inherited>,
}

/// The standard of a namespace above.
#[derive(Serialize)]
struct Inherited {
    namespace: String,
    id: String,
}

fn get(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = arguments.set_text("namespace")?.ok_or_else(missing)?;
    let (own, above): (Vec<_>, Vec<_>) = ops::standards_in(call.engine, &namespace)?
        .into_iter()
        .partition(|(of, _)| is_same_namespace(of, &namespace));
    let own = own.into_iter().next().map(|(_, memory)| memory);
    let shown_id = |memory: &Memory| call.engine.live.shown_id(&memory.stem);
    let inherited = above.into_iter().map(|(namespace, memory)| Inherited {
        namespace,
        id: shown_id(&memory),
    });
    Ok(Reply::of(&StandardView {
        namespace,
        standard_id: own.as_ref().map(shown_id),
        title: own.as_ref().map(shape::title),
        inherited: inherited.collect(),
        content: own.map(|memory| memory.content),
    }))
}

/// A namespace without a standard.
#[derive(Serialize)]
struct ClearedView {
    cleared: bool,
    namespace: String,
    ids: Vec<String>,
}

fn clear(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = arguments.set_text("namespace")?.ok_or_else(missing)?;
    let cleared = ops::clear_standard(call.engine, &namespace)?;
    Ok(Reply::of(&ClearedView {
        cleared: !cleared.is_empty(),
        namespace,
        ids: shape::shown_ids(call.engine, &cleared),
    }))
}
