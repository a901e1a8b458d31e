//! The export of Claude: `conversations.json` (an array, or one conversation a line), `projects.json`.
//!
//! Of a conversation with edited messages, the branch that was read last is taken.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::block::{self, Blocks};
use crate::talks::Format;
use crate::talks::found::{Each, Found, identified, report};
use crate::talks::loose::{List, Moment, Text};
use crate::talks::records::Records;
use crate::talks::session::{Session, USER};

/// A conversation or a project.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Record {
    uuid: Text,
    name: Text,
    created_at: Moment,
    chat_messages: Option<Vec<Message>>,
    current_leaf_message_uuid: Text,
    project: Option<Project>,
    prompt_template: Text,
    docs: Option<Vec<Document>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Project {
    name: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message {
    uuid: Text,
    parent_message_uuid: Text,
    sender: Text,
    text: Text,
    content: Blocks,
    created_at: Moment,
    attachments: List<File>,
    files: List<File>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct File {
    file_name: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Document {
    filename: Text,
    content: Text,
    created_at: Moment,
}

/// Reads the conversations or projects in `input`.
pub(in crate::talks) fn read(input: impl Read, name: &str, each: &mut Each<'_>) -> ControlFlow<()> {
    let mut records = match Records::new(input) {
        Ok(records) => records,
        Err(error) => return report(each, name, "", &error.to_string()),
    };
    let mut told = 0;
    while let Some(record) = records.next::<Record>() {
        let session = match record {
            Ok(Record {
                chat_messages: None,
                docs: None,
                ..
            }) if records.is_after_damage() => {
                records.note_fragment();
                continue;
            }
            Ok(record) => {
                records.note_whole();
                session(record)
            }
            Err(bad) => {
                report(each, name, &bad.place, &bad.reason)?;
                continue;
            }
        };
        each(Found::Bytes(records.bytes() - told))?;
        told = records.bytes();
        match session {
            Ok(Some(session)) => each(Found::Session(Box::new(session)))?,
            Ok(None) => {}
            Err(reason) => report(each, name, &records.place(), reason)?,
        }
    }
    each(Found::Bytes(records.bytes() - told))
}

/// Returns the session of a record; `None` if nothing was said in it.
fn session(record: Record) -> Result<Option<Session>, &'static str> {
    let id = record.uuid.get().unwrap_or_default().to_owned();
    let mut session = Session::new(Format::Claude, id);
    session.began = record.created_at.0;
    session.named = record.name.get().map(str::to_owned);
    session.folder = record.project.and_then(|project| project.name.0);
    match (record.chat_messages, record.docs) {
        (Some(messages), _) => {
            let leaf = record.current_leaf_message_uuid.get();
            for message in branch(messages, leaf) {
                take(&mut session, message);
            }
        }
        (None, Some(docs)) => {
            session.folder = session.named.clone();
            let template = record.prompt_template.get().unwrap_or_default();
            session.say(USER, record.created_at.0, template);
            for doc in docs {
                let (name, text) = (doc.filename.get(), doc.content.get());
                let text = format!(
                    "{}\n\n{}",
                    name.unwrap_or("document"),
                    text.unwrap_or_default()
                );
                session.say(USER, doc.created_at.0, &text);
            }
        }
        (None, None) => return Err("it is no conversation: it has no `chat_messages`"),
    }
    Ok(identified(session))
}

fn take(session: &mut Session, message: Message) {
    let at: Option<DateTime<Utc>> = message.created_at.0;
    let who = match message.sender.0.as_deref() {
        Some("human" | "user") => USER,
        _ => session.format.assistant(),
    };
    let has_text = message
        .content
        .0
        .iter()
        .any(|block| block.kind == "text" && !block.text.is_empty());
    for file in message.attachments.0.iter().chain(&message.files.0) {
        if let Some(name) = file.file_name.get() {
            session.say(who, at, &format!("[file: {name}]"));
        }
    }
    if let Some(text) = message.text.get().filter(|_| !has_text) {
        session.say(who, at, text);
    }
    for block in message.content.0 {
        match block.kind.as_str() {
            "text" => session.say(who, at, &block.text),
            "tool_use" => {
                let name = block.name.as_deref().unwrap_or("tool");
                session.call(who, at, &block::line(name, &block.input));
            }
            _ => {}
        }
    }
}

/// Returns the messages from the first one to `leaf`, else to the last one, if some have the same parent;
/// else all of them.
fn branch(messages: Vec<Message>, leaf: Option<&str>) -> Vec<Message> {
    let ids: HashMap<&str, usize> = messages
        .iter()
        .enumerate()
        .filter_map(|(at, message)| Some((message.uuid.get()?, at)))
        .collect();
    let mut parents = HashSet::new();
    let is_branched = messages
        .iter()
        .filter_map(|message| message.parent_message_uuid.get())
        .any(|parent| !parents.insert(parent));
    if !is_branched {
        return messages;
    }
    let mut next = leaf.and_then(|leaf| ids.get(leaf).copied());
    next = next.or(messages.len().checked_sub(1));
    let mut taken = HashSet::new();
    while let Some(at) = next.filter(|at| taken.insert(*at)) {
        let parent = messages[at].parent_message_uuid.get();
        next = parent.and_then(|parent| ids.get(parent).copied());
    }
    let numbered = messages.into_iter().enumerate();
    let on_branch = numbered.filter(|(at, _)| taken.contains(at));
    on_branch.map(|(_, message)| message).collect()
}
