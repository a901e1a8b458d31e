//! `/health`: whether the store can be read and searched.

use serde_json::Value;
use serde_json::json;

use super::reads;
use crate::dialect::Answer;
use crate::dialect::Arguments;
use crate::dialect::Call;
use crate::dialect::Endpoint;
use crate::dialect::ToolError;

pub(super) const HEALTH: Endpoint = Endpoint {
    statuses: &[200, 503],
    ..reads(
        "/health",
        "health",
        "Whether the store can be read and searched.",
        health,
        || {
            json!({
                "type": "object",
                "properties": {
                    "status": {"type": "string", "enum": ["ok", "error"]},
                    "service": {"type": "string"},
                    "server": {"type": "string"},
                    "version": {"type": "string"},
                },
                "required": ["status", "service"],
            })
        },
    )
};

fn health(call: &Call<'_>, _: &Arguments) -> Result<Answer, ToolError> {
    let is_well = call.engine.facet("namespace").is_ok();
    let answer = |status: &str| -> Value {
        json!({
            "status": status,
            // What clients of this interface look for.
            "service": "ai-memory",
            "server": "memdir",
            "version": env!("CARGO_PKG_VERSION"),
        })
    };
    Ok(match is_well {
        true => Answer::json(answer("ok")),
        false => Answer::json(answer("error")).with_status(503),
    })
}
