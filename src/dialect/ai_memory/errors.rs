//! How this tool set says what went wrong: a code of four, and a message.
//!
//! Both stand as JSON in the text of a reply that is marked as an error. What is about this machine,
//! such as a disk that is full, is in the server's log, and the caller gets a general message.

use serde_json::json;

use crate::dialect::Reply;
use crate::dialect::ToolError;
use crate::engine::EngineError;

pub(super) const NOT_FOUND: &str = "NOT_FOUND";
const VALIDATION_FAILED: &str = "VALIDATION_FAILED";
const CONFLICT: &str = "CONFLICT";
const DATABASE_ERROR: &str = "DATABASE_ERROR";

/// The reply where a call failed.
pub(super) fn refuse(error: &ToolError) -> Reply {
    let (code, message) = match error {
        ToolError::Argument(_) | ToolError::Refused(_) => (VALIDATION_FAILED, error.to_string()),
        ToolError::Conflict(_) => (CONFLICT, error.to_string()),
        ToolError::Engine(error) => of_engine(error),
    };
    let said = json!({"code": code, "message": message});
    Reply::text(said.to_string()).failed()
}

fn of_engine(error: &EngineError) -> (&'static str, String) {
    match error {
        EngineError::NotFound(id) => (NOT_FOUND, format!("memory not found: {id}")),
        EngineError::Ambiguous { id, candidates } => {
            let ids = candidates.join(", ");
            let message = format!("ambiguous id `{id}`, use one of: {ids}");
            (VALIDATION_FAILED, message)
        }
        EngineError::ReadOnly(_) => (CONFLICT, "this store can only be read".to_owned()),
        EngineError::Invalid(_) | EngineError::Format(_) | EngineError::Secrets(_) => {
            (VALIDATION_FAILED, error.to_string())
        }
        EngineError::ChangedMeanwhile { id, .. } | EngineError::KeptOther { id } => {
            let message =
                format!("somebody else changed `{id}` in the same moment; both texts are kept");
            (CONFLICT, message)
        }
        other => {
            tracing::error!("{}", crate::dialect::reply::full(other));
            (DATABASE_ERROR, "Internal server error".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_this_machine_is_told() {
        let error = EngineError::ReadOnly("/home/mira/store".into());
        let reply = refuse(&ToolError::Engine(error));
        assert!(reply.is_error && reply.structured.is_empty());
        assert!(!reply.text.contains("mira"), "{}", reply.text);
        let error = EngineError::TooManyExpired(3);
        let reply = refuse(&ToolError::Engine(error));
        let general = r#"{"code":"DATABASE_ERROR","message":"Internal server error"}"#;
        assert_eq!(reply.text, general);
    }
}
