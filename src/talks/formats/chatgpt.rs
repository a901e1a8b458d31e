//! The export of ChatGPT: `conversations.json`, whole or split into several files.
//!
//! A conversation is a tree; the branch that ends at `current_node` is what was read last. Hidden
//! messages, thoughts and outputs of tools are left out.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Read;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::block::{self, Block, Input};
use crate::talks::Format;
use crate::talks::found::{Each, Found, identified, report};
use crate::talks::loose::{Flag, List, Moment, Text};
use crate::talks::records::Records;
use crate::talks::session::{Session, USER};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Conversation {
    id: Text,
    conversation_id: Text,
    title: Text,
    create_time: Moment,
    current_node: Text,
    mapping: Option<Mapping>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Node {
    parent: Text,
    message: Option<Message>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message {
    author: Option<Author>,
    create_time: Moment,
    content: Option<Content>,
    recipient: Text,
    weight: Text,
    metadata: Option<Metadata>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Author {
    role: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Content {
    content_type: Text,
    parts: List<Block>,
    text: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    is_visually_hidden_from_conversation: Flag,
    is_user_system_message: Flag,
    attachments: List<Attachment>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Attachment {
    name: Text,
}

/// Nodes in the order of the file.
#[derive(Default)]
struct Mapping(Vec<(String, Node)>);

impl<'de> Deserialize<'de> for Mapping {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Mapping, D::Error> {
        struct Nodes;
        impl<'de> Visitor<'de> for Nodes {
            type Value = Mapping;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("nodes by their ids")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Mapping, A::Error> {
                let mut nodes = Vec::new();
                while let Some((id, node)) = entries.next_entry::<String, Option<Node>>()? {
                    nodes.push((id, node.unwrap_or_default()));
                }
                Ok(Mapping(nodes))
            }
        }
        from.deserialize_map(Nodes)
    }
}

/// Reads the conversations in `input`.
pub(in crate::talks) fn read(input: impl Read, name: &str, each: &mut Each<'_>) -> ControlFlow<()> {
    let mut records = match Records::new(input) {
        Ok(records) => records,
        Err(error) => return report(each, name, "", &error.to_string()),
    };
    let mut told = 0;
    while let Some(record) = records.next::<Conversation>() {
        let conversation = match record {
            Ok(Conversation { mapping: None, .. }) if records.is_after_damage() => {
                records.note_fragment();
                continue;
            }
            Ok(conversation) => conversation,
            Err(bad) => {
                report(each, name, &bad.place, &bad.reason)?;
                continue;
            }
        };
        records.note_whole();
        each(Found::Bytes(records.bytes() - told))?;
        told = records.bytes();
        match session(conversation) {
            Ok(Some(session)) => each(Found::Session(Box::new(session)))?,
            Ok(None) => {}
            Err(reason) => report(each, name, &records.place(), reason)?,
        }
    }
    each(Found::Bytes(records.bytes() - told))
}

fn session(conversation: Conversation) -> Result<Option<Session>, &'static str> {
    let ids = [&conversation.conversation_id, &conversation.id];
    let id = ids.into_iter().find_map(|id| id.get());
    let mut session = Session::new(Format::Chatgpt, id.unwrap_or_default().to_owned());
    session.named = conversation.title.get().map(str::to_owned);
    session.began = conversation.create_time.0;
    let mapping = conversation.mapping;
    let nodes = mapping
        .ok_or("it is no conversation: it has no `mapping`")?
        .0;
    for message in branch(nodes, conversation.current_node.get()) {
        take(&mut session, message);
    }
    Ok(identified(session))
}

/// Returns the messages from the root to `current`, else to the newest node that is no node's parent.
fn branch(mut nodes: Vec<(String, Node)>, current: Option<&str>) -> Vec<Message> {
    let ids: HashMap<String, usize> = nodes
        .iter()
        .enumerate()
        .map(|(at, (id, _))| (id.clone(), at))
        .collect();
    let newest_leaf = || {
        let parents: HashSet<&str> = nodes
            .iter()
            .filter_map(|(_, node)| node.parent.get())
            .collect();
        let leaves = nodes.iter().enumerate();
        let leaves = leaves.filter(|(_, (id, _))| !parents.contains(id.as_str()));
        leaves
            .max_by_key(|(at, (_, node))| {
                let message = node.message.as_ref();
                (message.and_then(|message| message.create_time.0), *at)
            })
            .map(|(at, _)| at)
    };
    let current = current.and_then(|current| ids.get(current).copied());
    let mut next = current.or_else(newest_leaf);
    let (mut seen, mut messages) = (HashSet::new(), Vec::new());
    while let Some(at) = next.filter(|at| seen.insert(*at)) {
        let node = &mut nodes[at].1;
        messages.extend(node.message.take());
        let parent = node.parent.get();
        next = parent.and_then(|parent| ids.get(parent).copied());
    }
    messages.reverse();
    messages
}

fn take(session: &mut Session, message: Message) {
    let metadata = message.metadata.unwrap_or_default();
    let author = message.author.unwrap_or_default();
    let content = message.content.unwrap_or_default();
    let is_hidden = metadata.is_visually_hidden_from_conversation.0
        || metadata.is_user_system_message.0
        || message.weight.is("0");
    let who = match author.role.0.as_deref() {
        Some("user") => USER,
        Some("assistant") => session.format.assistant(),
        _ => return,
    };
    if is_hidden {
        return;
    }
    let at = message.create_time.0;
    let recipient = message.recipient.get().unwrap_or("all");
    let kind = content.content_type.get().unwrap_or("text");
    if recipient != "all" {
        let text = content.text.get();
        let part = || content.parts.0.first().map(|part| part.text.as_str());
        let input =
            <Input as crate::talks::loose::FromAny>::text(text.or_else(part).unwrap_or_default());
        session.call(who, at, &block::line(recipient, &input));
        return;
    }
    for file in &metadata.attachments.0 {
        if let Some(name) = file.name.get() {
            session.say(who, at, &format!("[file: {name}]"));
        }
    }
    match kind {
        "text" | "multimodal_text" => {
            for part in content.parts.0 {
                match part.kind.as_str() {
                    "image_asset_pointer" => session.say(who, at, "[image]"),
                    "audio_asset_pointer" | "real_time_user_audio_video_asset_pointer" => {}
                    _ => session.say(who, at, &part.text),
                }
            }
        }
        "code" => {
            let code = content.text.get().unwrap_or_default();
            session.say(who, at, &format!("```\n{code}\n```"));
        }
        _ => {}
    }
}
