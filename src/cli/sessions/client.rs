//! Messages of clients to a hook, and the form in which they take its answer.

use std::path::PathBuf;

use serde_json::{Value, json};

/// Event of a session that a client tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    SessionStart,
    Prompt,
    BeforeCompact,
    Stop,
    SessionEnd,
}

impl HookEvent {
    /// Names of the events.
    pub const NAMES: [(&'static str, HookEvent); 5] = [
        ("session-start", HookEvent::SessionStart),
        ("prompt", HookEvent::Prompt),
        ("before-compact", HookEvent::BeforeCompact),
        ("stop", HookEvent::Stop),
        ("session-end", HookEvent::SessionEnd),
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        let mut names = HookEvent::NAMES.into_iter();
        let named = names.find_map(|(name, event)| (event == self).then_some(name));
        named.expect("every event has a name")
    }

    /// Returns the event called `name`.
    pub fn named(name: &str) -> Option<HookEvent> {
        let mut names = HookEvent::NAMES.into_iter();
        names.find_map(|(known, event)| (known == name).then_some(event))
    }

    /// Returns the name that Claude Code and Codex give to the event.
    fn usual_name(self) -> &'static str {
        match self {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::Prompt => "UserPromptSubmit",
            HookEvent::BeforeCompact => "PreCompact",
            HookEvent::Stop => "Stop",
            HookEvent::SessionEnd => "SessionEnd",
        }
    }
}

/// The fields of a client's message that a hook uses, whatever the client calls them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookInput {
    /// Id of the session.
    pub session: String,
    /// Working folder.
    pub folder: Option<PathBuf>,
    /// Way in which the session began: `startup`, `resume`, `clear`, `compact`.
    pub source: Option<String>,
    /// File in which the client writes the session down.
    pub transcript: Option<String>,
    /// Text of the prompt.
    pub prompt: String,
    /// Name that the client gives to the event.
    event_name: Option<String>,
    /// The session is that of an agent that another one started.
    pub is_subagent: bool,
}

impl HookInput {
    /// Reads a message. What is missing, or of another type, is left out; a text that is no JSON has nothing.
    pub fn read(text: &str) -> HookInput {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        let text = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| message[name].as_str());
            values.find(|text| !text.is_empty()).map(str::to_owned)
        };
        let root = || message["workspace_roots"][0].as_str().map(str::to_owned);
        let folder = text(&["cwd"]).or_else(root);
        let parent = [
            "agent_id",
            "agentId",
            "parent_session_id",
            "parentSessionId",
        ];
        HookInput {
            session: text(&["session_id", "sessionId", "conversation_id"]).unwrap_or_default(),
            folder: folder.map(PathBuf::from),
            // Gemini CLI had another word for it once.
            source: text(&["source", "trigger"]),
            transcript: text(&["transcript_path", "transcriptPath"]),
            prompt: text(&["prompt", "user_prompt"]).unwrap_or_default(),
            event_name: text(&["hook_event_name", "hookEventName"]),
            is_subagent: text(&parent).is_some(),
        }
    }
}

/// Returns what a client is to be sent so that its agent reads `text`.
pub fn answer(client: &str, event: HookEvent, input: &HookInput, text: &str) -> String {
    let answer = match client {
        "cursor" => json!({"additional_context": text}),
        "copilot" => json!({"additionalContext": text}),
        _ => {
            let usual = || event.usual_name().to_owned();
            let name = input.event_name.clone().unwrap_or_else(usual);
            json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})
        }
    };
    answer.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_each_client_are_read() {
        let claude = HookInput::read(
            r#"{"session_id":"a","transcript_path":"/t","cwd":"/p","hook_event_name":"SessionStart","source":"resume"}"#,
        );
        assert_eq!(claude.session, "a");
        assert_eq!(claude.folder, Some(PathBuf::from("/p")));
        assert_eq!(claude.transcript.as_deref(), Some("/t"));
        assert_eq!(claude.source.as_deref(), Some("resume"));
        assert!(!claude.is_subagent);
        let cursor = HookInput::read(
            r#"{"conversation_id":"b","workspace_roots":["/q"],"hook_event_name":"beforeSubmitPrompt","prompt":"why?"}"#,
        );
        assert_eq!(
            (cursor.session.as_str(), cursor.prompt.as_str()),
            ("b", "why?")
        );
        assert_eq!(cursor.folder, Some(PathBuf::from("/q")));
        let copilot =
            HookInput::read(r#"{"sessionId":"c","cwd":"/r","timestamp":1,"source":"new"}"#);
        assert_eq!(copilot.session, "c");
        let subagent = HookInput::read(r#"{"session_id":"a","agent_id":"x"}"#);
        assert!(subagent.is_subagent);
    }

    #[test]
    fn a_message_that_says_nothing_has_nothing() {
        for text in [
            "",
            "nothing",
            "[1]",
            r#"{"session_id":5,"cwd":null,"workspace_roots":{}}"#,
        ] {
            assert_eq!(HookInput::read(text), HookInput::default(), "{text}");
        }
    }

    #[test]
    fn each_client_is_answered_in_its_form() {
        let input = HookInput::default();
        let event = HookEvent::Prompt;
        assert_eq!(
            answer("codex", event, &input, "x"),
            r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"x"}}"#
        );
        assert_eq!(
            answer("cursor", event, &input, "x"),
            r#"{"additional_context":"x"}"#
        );
        assert_eq!(
            answer("copilot", event, &input, "x"),
            r#"{"additionalContext":"x"}"#
        );
        let gemini = HookInput::read(r#"{"hook_event_name":"BeforeAgent"}"#);
        assert!(answer("gemini", event, &gemini, "x").contains("\"BeforeAgent\""));
    }
}
