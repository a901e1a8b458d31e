//! How an address of this interface is written down.

use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::Answer;
use crate::dialect::endpoint::Endpoint;
use crate::dialect::endpoint::ParameterLocation;
use crate::dialect::endpoint::Verb;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Tool;

/// What a tool answers to the same arguments.
pub(super) fn from_tool(
    tool: &Tool,
    call: &Call<'_>,
    arguments: &Arguments,
) -> Result<Answer, ToolError> {
    Ok(Answer::object((tool.run)(call, arguments)?.structured))
}

/// A row of an address that reads, to be filled in.
pub(super) const fn reads(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    run: crate::dialect::endpoint::Run,
    reply: fn() -> serde_json::Value,
) -> Endpoint {
    Endpoint {
        verb: Verb::Get,
        path,
        name,
        summary,
        parameters: &[],
        ignored: &[],
        wrapper: None,
        place: ParameterLocation::Query,
        writes: false,
        is_large: false,
        statuses: &[200],
        reply,
        run,
    }
}

/// The same, of one that writes.
pub(super) const fn writes(
    verb: Verb,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    run: crate::dialect::endpoint::Run,
    reply: fn() -> serde_json::Value,
) -> Endpoint {
    Endpoint {
        verb,
        place: ParameterLocation::Body,
        writes: true,
        ..reads(path, name, summary, run, reply)
    }
}
