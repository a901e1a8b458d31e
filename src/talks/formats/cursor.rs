//! The store of Cursor: `globalStorage/state.vscdb`, a table of keys and JSON.
//!
//! `composerData:SESSION` lists the messages of a session in order, or holds them, as older versions did;
//! `bubbleId:SESSION:MESSAGE` is a message. Where a session does not say its folder, the stores of the
//! workspaces do, which list their sessions.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess};

use super::block::{self, Input};
use super::row::{self, JsonColumn};
use crate::sqlite;
use crate::talks::Format;
use crate::talks::archive::{files_in, open_file};
use crate::talks::found::{Each, Found, report};
use crate::talks::loose::{Flag, FromAny, List, Moment, Text, read_from_any};
use crate::talks::records::Records;
use crate::talks::session::{Session, USER};

/// Table of keys and values.
const TABLE: &str = "cursorDiskKV";

/// Beginning of the keys of sessions.
const SESSION: &str = "composerData:";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Composer {
    name: Text,
    #[serde(rename = "createdAt")]
    created_at: Moment,
    #[serde(rename = "fullConversationHeadersOnly")]
    headers: List<Header>,
    conversation: List<Bubble>,
    #[serde(rename = "workspaceIdentifier")]
    workspace: Workspace,
    #[serde(rename = "subagentInfo")]
    helper: Option<IgnoredAny>,
    #[serde(rename = "isSubagent")]
    is_helper: Flag,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Header {
    #[serde(rename = "bubbleId")]
    bubble_id: Text,
}

/// Folder of a workspace: `fsPath` of its `uri`.
#[derive(Default)]
struct Workspace(Option<String>);

impl FromAny for Workspace {
    fn map<'de, A: MapAccess<'de>>(mut entries: A) -> Result<Workspace, A::Error> {
        let mut path = None;
        while let Some(key) = entries.next_key::<String>()? {
            match key.as_str() {
                "uri" => path = entries.next_value::<Workspace>()?.0.or(path),
                "fsPath" => path = entries.next_value::<Text>()?.0.or(path),
                _ => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Workspace(path))
    }
}

read_from_any!(Workspace);

#[derive(Deserialize, Default)]
#[serde(default)]
struct Bubble {
    r#type: Text,
    text: Text,
    #[serde(rename = "createdAt")]
    created_at: Moment,
    #[serde(rename = "toolFormerData")]
    tool: Option<Tool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tool {
    name: Text,
    #[serde(rename = "rawArgs")]
    raw_arguments: Input,
    params: Input,
}

/// Returns whether a database is one of Cursor.
pub(in crate::talks) fn is_one(connection: &Connection) -> bool {
    row::has_table(connection, TABLE)
}

/// Reads all sessions in the database at `path`.
pub(in crate::talks) fn read(path: &Path, name: &str, each: &mut Each<'_>) -> ControlFlow<()> {
    let read = || -> rusqlite::Result<(Connection, Vec<String>)> {
        let connection = sqlite::open(path)?;
        let ids = session_ids(&connection)?;
        Ok((connection, ids))
    };
    let (connection, ids) = match read() {
        Ok(read) => read,
        Err(error) => return report(each, name, "", &error.to_string()),
    };
    let folders = folders_of_sessions(path);
    for id in ids {
        let composer = match value::<Composer>(&connection, &format!("{SESSION}{id}")) {
            Ok(Some((composer, bytes))) => {
                each(Found::Bytes(bytes))?;
                composer
            }
            Ok(None) => continue,
            Err(reason) => {
                report(each, name, &format!("{SESSION}{id}"), &reason)?;
                continue;
            }
        };
        if composer.helper.is_some() || composer.is_helper.0 {
            continue;
        }
        let mut session = Session::new(Format::Cursor, id);
        session.named = composer.name.0;
        session.began = composer.created_at.0;
        let stated = composer.workspace.0;
        session.folder = stated.or_else(|| folders.get(&session.id).cloned());
        for bubble in composer.conversation.0 {
            take(&mut session, bubble);
        }
        for header in composer.headers.0 {
            let Some(bubble_id) = header.bubble_id.get() else {
                continue;
            };
            let key = format!("bubbleId:{}:{bubble_id}", session.id);
            match value::<Bubble>(&connection, &key) {
                Ok(Some((bubble, bytes))) => {
                    each(Found::Bytes(bytes))?;
                    take(&mut session, bubble);
                }
                // It was deleted, or never written.
                Ok(None) => {}
                Err(reason) => report(each, name, &key, &reason)?,
            }
        }
        if !session.messages.is_empty() {
            each(Found::Session(Box::new(session)))?;
        }
    }
    ControlFlow::Continue(())
}

fn take(session: &mut Session, bubble: Bubble) {
    let who = match bubble.r#type.0.as_deref() {
        Some("1") => USER,
        Some("2") => session.format.assistant(),
        _ => return,
    };
    let at: Option<DateTime<Utc>> = bubble.created_at.0;
    session.say(who, at, bubble.text.get().unwrap_or_default());
    if let Some(tool) = bubble.tool.filter(|tool| tool.name.get().is_some()) {
        let input = match tool.raw_arguments.0.is_empty() {
            true => tool.params,
            false => tool.raw_arguments,
        };
        let name = tool.name.get().unwrap_or("tool");
        session.call(who, at, &block::line(name, &input));
    }
}

/// Returns the ids of all sessions, in order.
fn session_ids(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let query = format!("SELECT key FROM {TABLE} WHERE key >= ?1 AND key < ?2 ORDER BY key");
    let mut statement = connection.prepare(&query)?;
    let keys = statement.query_map([SESSION, "composerData;"], |row| row.get::<_, String>(0))?;
    let ids = keys.filter_map(Result::ok);
    let ids = ids.filter_map(|key| key.strip_prefix(SESSION).map(str::to_owned));
    Ok(ids.collect())
}

/// Reads the value of a key, with its size.
fn value<T: DeserializeOwned>(
    connection: &Connection,
    key: &str,
) -> Result<Option<(T, u64)>, String> {
    value_in(connection, TABLE, key)
}

fn value_in<T: DeserializeOwned>(
    connection: &Connection,
    table: &str,
    key: &str,
) -> Result<Option<(T, u64)>, String> {
    let stored = JsonColumn {
        connection,
        table,
        column: "value",
    };
    let query = format!("SELECT {} FROM {table} WHERE key = ?1", stored.selected());
    let mut statement = connection
        .prepare(&query)
        .map_err(|error| error.to_string())?;
    let read = statement.query_row([key], |row| Ok(stored.read::<T>(row, 0)));
    match read.optional() {
        Ok(read) => read.unwrap_or(Ok(None)),
        Err(error) => Err(error.to_string()),
    }
}

/// A workspace's list of sessions.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Sessions {
    #[serde(rename = "allComposers")]
    all: List<Listed>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Listed {
    #[serde(rename = "composerId")]
    id: Text,
}

/// A workspace's own file.
#[derive(Deserialize, Default)]
#[serde(default)]
struct WorkspaceFile {
    folder: Text,
}

/// Returns the folder of each session that a workspace lists. What cannot be read there names no folder.
fn folders_of_sessions(path: &Path) -> HashMap<String, String> {
    let mut folders = HashMap::new();
    let Some(user) = path.ancestors().nth(2) else {
        return folders;
    };
    let workspaces = user.join("workspaceStorage");
    for (name, is_folder) in files_in(&workspaces) {
        let workspace = workspaces.join(name);
        if !is_folder {
            continue;
        }
        let Some(folder) = folder_of(&workspace) else {
            continue;
        };
        let Ok(connection) = sqlite::open(&workspace.join("state.vscdb")) else {
            continue;
        };
        let listed = value_in::<Sessions>(&connection, "ItemTable", "composer.composerData");
        let listed = listed.ok().flatten().unwrap_or_default().0;
        let ids = listed.all.0.into_iter().filter_map(|listed| listed.id.0);
        folders.extend(ids.map(|id| (id, folder.clone())));
    }
    folders
}

/// Returns the folder of a workspace.
fn folder_of(workspace: &Path) -> Option<String> {
    let file = open_file(&workspace.join("workspace.json")).ok()?;
    let stated = Records::new(file).ok()?.next::<WorkspaceFile>()?.ok()?;
    let address = stated.folder.0?;
    let path = address.strip_prefix("file://")?;
    Some(decoded(path))
}

/// Returns the path in an address, whose other bytes are written as `%20`.
fn decoded(address: &str) -> String {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = (byte == b'%').then(|| after.get(..2)).flatten();
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_workspace_is_read_of_its_address() {
        assert_eq!(decoded("/home/mira/my%20%C3%A4%zz"), "/home/mira/my ä%zz");
    }
}
