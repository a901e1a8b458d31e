//! Converts a dialect's tools and replies to the protocol's types.
//!
//! The list has the same bytes for every session, whatever the store holds, in the table's order: clients
//! cache prompts by it. Reply texts pass unchanged.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, ErrorData, MetaObject};
use rmcp::model::{Tool as ListedTool, ToolAnnotations};
use serde_json::{Value, json};

use crate::dialect::{JsonObject, Reply, Tool, schema};

/// Returns `tools` for `tools/list`, in the same order.
pub(super) fn listed(tools: &[Tool]) -> Vec<ListedTool> {
    tools.iter().map(listed_tool).collect()
}

fn listed_tool(tool: &Tool) -> ListedTool {
    let hints = &tool.hints;
    let annotations = ToolAnnotations::with_title(hints.title)
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(false);
    let mut listed = ListedTool::new(tool.name, tool.description, schema(tool.parameters))
        .with_annotations(annotations);
    if let Some(result) = tool.result {
        listed = listed.with_raw_output_schema(Arc::new(result()));
    }
    if hints.at_hand {
        let meta = JsonObject::from_iter([("anthropic/alwaysLoad".to_owned(), json!(true))]);
        listed = listed.with_meta(MetaObject::from(meta));
    }
    listed
}

/// Returns `reply`, of `tool`, as the result of `tools/call`. The `notice`, if there is one, is added to
/// the first structured reply: texts keep their form.
pub(super) fn result(tool: &Tool, mut reply: Reply, notice: &mut Option<String>) -> CallToolResult {
    // What is a text alone must not bring an empty object along: clients would check it against the
    // output schema and report that instead of an error, or show it instead of the text.
    let is_text = reply.is_error || tool.result.is_none();
    let has_data = !(is_text && reply.structured.is_empty());
    if has_data
        && !reply.is_error
        && let Some(notice) = notice.take()
    {
        reply.structured.insert("notice".to_owned(), json!(notice));
    }
    let mut result = CallToolResult::default();
    result.content = vec![ContentBlock::text(reply.text)];
    result.structured_content = has_data.then_some(Value::Object(reply.structured));
    result.is_error = reply.is_error.then_some(true);
    result
}

/// Returns the error for a call of the unknown tool `name`.
pub(super) fn unknown_tool(name: &str, tools: &[Tool]) -> ErrorData {
    let names: Vec<_> = tools.iter().map(|tool| tool.name).collect();
    // Cut, because nothing else bounds a name that a client made up.
    let message = format!(
        "unknown tool `{name:.64}`, the tools are: {}",
        names.join(", ")
    );
    ErrorData::invalid_params(message, None)
}

/// Returns the reply of a tool that panicked.
pub(super) fn broken_down(tool: &Tool) -> Reply {
    Reply {
        is_error: true,
        ..Reply::text(format!(
            "internal error, `{}` did not finish: please report it with what the server wrote to stderr",
            tool.name
        ))
    }
}
