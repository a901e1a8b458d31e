//! `/memories`: to make, read, change and remove them.

use serde_json::json;

use super::reads;
use super::writes;
use crate::dialect::Answer;
use crate::dialect::Arguments;
use crate::dialect::Call;
use crate::dialect::Endpoint;
use crate::dialect::ToolError;
use crate::dialect::Verb;
use crate::dialect::ai_memory::one;
use crate::dialect::ai_memory::write;

pub(super) const CREATE: Endpoint = Endpoint {
    parameters: write::STORE.parameters,
    statuses: &[201],
    ..writes(
        Verb::Post,
        "/memories",
        "create_memory",
        "Store a memory; the same title and namespace again replace its content.",
        create,
        || json!({"type": "object"}),
    )
};

pub(super) const GET: Endpoint = Endpoint {
    parameters: one::GET.parameters,
    ..reads(
        "/memories/{id}",
        "get_memory",
        "One memory whole, with its links.",
        get,
        || json!({"type": "object"}),
    )
};

fn create(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    let stored = (write::STORE.run)(call, arguments)?;
    Ok(Answer::object(stored.structured))
}

fn get(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    Ok(Answer::object((one::GET.run)(call, arguments)?.structured))
}
