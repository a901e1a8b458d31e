//! Transcripts of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`.
//!
//! What is said stands in `response_item` lines; `event_msg` lines repeat it. Older versions wrote the
//! items without an envelope.

use std::io::Read;
use std::ops::ControlFlow;

use serde::Deserialize;

use super::block::{self, Blocks, Input};
use crate::talks::Format;
use crate::talks::clean::without_element;
use crate::talks::found::{Each, Found, report};
use crate::talks::loose::{Moment, Text};
use crate::talks::records::Records;
use crate::talks::session::{Session, USER};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Line {
    r#type: Text,
    timestamp: Moment,
    payload: Option<Item>,
    // Of a line without an envelope.
    id: Text,
    role: Text,
    content: Blocks,
    name: Text,
    arguments: Input,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Item {
    r#type: Text,
    id: Text,
    timestamp: Moment,
    cwd: Text,
    role: Text,
    content: Blocks,
    name: Text,
    arguments: Input,
    input: Input,
    action: Input,
}

/// Elements that the client puts into what the user wrote.
const ADDED: [&str; 5] = [
    "environment_context",
    "user_instructions",
    "permissions instructions",
    "collaboration_mode",
    "turn_aborted",
];

/// Beginning of a message with the instructions of a project.
const INSTRUCTIONS: &str = "# AGENTS.md instructions";

/// Reads the transcript `name`; `id` is that of a session which states none.
pub(in crate::talks) fn read(
    input: impl Read,
    name: &str,
    id: &str,
    each: &mut Each<'_>,
) -> ControlFlow<()> {
    let mut session = Session::new(Format::Codex, id.to_owned());
    let mut records = match Records::new(input) {
        Ok(records) => records,
        Err(error) => return report(each, name, "", &error.to_string()),
    };
    let mut is_named = false;
    while let Some(line) = records.next::<Line>() {
        let line = match line {
            Ok(line) => line,
            Err(bad) => {
                report(each, name, &bad.place, &bad.reason)?;
                continue;
            }
        };
        let at = line.timestamp.0;
        match (line.payload, line.r#type.0.as_deref()) {
            (Some(item), Some("session_meta")) => {
                // A session that was forked states the other one's head, too, behind its own.
                if let Some(id) = item.id.get().filter(|_| !is_named) {
                    id.clone_into(&mut session.id);
                    is_named = true;
                }
                session.began = session.began.or(item.timestamp.0).or(at);
                session.folder = session.folder.take().or(item.cwd.0);
            }
            (Some(item), Some("response_item")) => take(&mut session, at, item),
            (Some(item), Some("turn_context")) => {
                session.folder = session.folder.take().or(item.cwd.0);
            }
            (Some(_), _) => {}
            (None, None) => {
                if let Some(id) = line.id.get().filter(|_| !is_named) {
                    id.clone_into(&mut session.id);
                    is_named = true;
                }
                session.began = session.began.or(at);
            }
            (None, Some(_)) => take(
                &mut session,
                at,
                Item {
                    r#type: line.r#type,
                    role: line.role,
                    content: line.content,
                    name: line.name,
                    arguments: line.arguments,
                    ..Item::default()
                },
            ),
        }
    }
    each(Found::Bytes(records.bytes()))?;
    match session.messages.is_empty() {
        true => ControlFlow::Continue(()),
        false => each(Found::Session(Box::new(session))),
    }
}

fn take(session: &mut Session, at: Option<chrono::DateTime<chrono::Utc>>, item: Item) {
    let assistant = session.format.assistant();
    match item.r#type.0.as_deref() {
        Some("message") => {
            let who = match item.role.0.as_deref() {
                Some("user") => USER,
                Some("assistant") => assistant,
                _ => return,
            };
            for block in item.content.0 {
                match block.kind.as_str() {
                    "input_text" | "output_text" | "text" => {
                        session.say(who, at, &typed(&block.text));
                    }
                    "input_image" => session.say(who, at, "[image]"),
                    _ => {}
                }
            }
        }
        Some("function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call") => {
            let name = item.name.get().unwrap_or("shell");
            let inputs = [&item.arguments, &item.input, &item.action];
            let input = inputs.into_iter().find(|input| !input.0.is_empty());
            let line = block::line(name, input.unwrap_or(&Input::default()));
            session.call(assistant, at, &line);
        }
        _ => {}
    }
}

fn typed(text: &str) -> String {
    if text.trim_start().starts_with(INSTRUCTIONS) {
        return String::new();
    }
    let mut text = text.to_owned();
    for element in ADDED {
        text = without_element(&text, element);
    }
    text
}
