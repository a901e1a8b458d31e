//! Sessions of Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-*.json`, one object, or a line for each
//! message behind a head.

use std::io::Read;
use std::ops::ControlFlow;

use serde::Deserialize;

use super::block::{self, Blocks, Input};
use crate::talks::Format;
use crate::talks::found::{Each, Found, identified, report};
use crate::talks::loose::{List, Moment, Text};
use crate::talks::records::Records;
use crate::talks::session::{Session, USER};

/// A session, its head, or one message of it.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Record {
    #[serde(rename = "sessionId")]
    session_id: Text,
    #[serde(rename = "startTime")]
    start_time: Moment,
    summary: Text,
    messages: List<Message>,
    r#type: Text,
    timestamp: Moment,
    content: Blocks,
    #[serde(rename = "toolCalls")]
    tool_calls: List<Call>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message {
    r#type: Text,
    timestamp: Moment,
    content: Blocks,
    #[serde(rename = "toolCalls")]
    tool_calls: List<Call>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Call {
    name: Text,
    args: Input,
}

/// Reads the session in `input`; `id` is that of one that states none, `project` the folder it lies in.
pub(in crate::talks) fn read(
    input: impl Read,
    (name, id): (&str, &str),
    project: Option<&str>,
    each: &mut Each<'_>,
) -> ControlFlow<()> {
    let mut session = Session::new(Format::Gemini, id.to_owned());
    session.folder = project.map(str::to_owned);
    let mut records = match Records::new(input) {
        Ok(records) => records,
        Err(error) => return report(each, name, "", &error.to_string()),
    };
    while let Some(record) = records.next::<Record>() {
        let record = match record {
            Ok(record) => record,
            Err(bad) => {
                report(each, name, &bad.place, &bad.reason)?;
                continue;
            }
        };
        if let Some(id) = record.session_id.get() {
            id.clone_into(&mut session.id);
        }
        session.began = session.began.or(record.start_time.0);
        session.named = session.named.take().or(record.summary.0);
        let alone = Message {
            r#type: record.r#type,
            timestamp: record.timestamp,
            content: record.content,
            tool_calls: record.tool_calls,
        };
        for message in record.messages.0.into_iter().chain([alone]) {
            take(&mut session, message);
        }
    }
    each(Found::Bytes(records.bytes()))?;
    match identified(session) {
        Some(session) => each(Found::Session(Box::new(session))),
        None => ControlFlow::Continue(()),
    }
}

fn take(session: &mut Session, message: Message) {
    let assistant = session.format.assistant();
    let who = match message.r#type.0.as_deref() {
        Some("user") => USER,
        Some("gemini" | "model" | "assistant") => assistant,
        _ => return,
    };
    let at = message.timestamp.0;
    for block in message
        .content
        .0
        .iter()
        .filter(|block| block.kind == "text")
    {
        session.say(who, at, &block.text);
    }
    for call in message.tool_calls.0 {
        let name = call.name.get().unwrap_or("tool");
        session.call(who, at, &block::line(name, &call.args));
    }
}
