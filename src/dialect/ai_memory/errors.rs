//! Errors of this tool set: one of a few codes, and a message.
//!
//! Both are JSON in the text of a reply that is marked as an error. Details of this machine, such as a
//! full disk, are in the server's log, and the caller gets a general message.

use crate::dialect::endpoint::Refusal;
use crate::dialect::reply::{Reply, ToolError};

/// Returns the reply of a call that failed.
pub(super) fn refuse(error: &ToolError) -> Reply {
    Reply::text(Reply::of(&Refusal::of(error)).text).failed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineError;

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
