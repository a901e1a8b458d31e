//! The database of opencode: `opencode.db`, with tables of sessions, messages and parts.
//!
//! Messages and parts hold JSON, a session has columns for what an older version held as JSON, too. The JSON
//! is that of the files that [`opencode`](super::opencode) reads.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{Connection, Row};

use super::opencode::{Head, Part, Time, in_order_of_time, take};
use super::row::{self, JsonColumn};
use crate::sqlite;
use crate::talks::Format;
use crate::talks::found::{Each, Found, report};
use crate::talks::loose::{Moment, Text};
use crate::talks::session::{Session, USER};

/// Columns of a session, of which a version may lack some.
const COLUMNS: [&str; 5] = [
    "title",
    "directory",
    "parent_id",
    "time_created",
    "created_at",
];

/// Returns whether a database is one of opencode.
pub(in crate::talks) fn is_one(connection: &Connection) -> bool {
    ["session", "message", "part"]
        .iter()
        .all(|table| row::has_table(connection, table))
}

/// Reads all sessions in the database at `path`.
pub(in crate::talks) fn read(path: &Path, name: &str, each: &mut Each<'_>) -> ControlFlow<()> {
    let read = || -> rusqlite::Result<(Connection, Vec<(String, Head)>)> {
        let connection = sqlite::open(path)?;
        let heads = heads(&connection)?;
        Ok((connection, heads))
    };
    let (connection, heads) = match read() {
        Ok(read) => read,
        Err(error) => return report(each, name, "", &error.to_string()),
    };
    for (id, head) in heads {
        // The session of a helper.
        if head.parent_id.get().is_some() {
            continue;
        }
        let mut session = Session::new(Format::Opencode, id);
        session.named = head.title.0;
        session.folder = head.directory.0;
        session.began = head.time.and_then(|time| time.created.0);
        if let Err(error) = add_messages(&connection, &mut session, name, each)? {
            let place = format!("session {}", session.id);
            report(each, name, &place, &error.to_string())?;
        }
        if !session.messages.is_empty() {
            each(Found::Session(Box::new(session)))?;
        }
    }
    ControlFlow::Continue(())
}

/// Reads what is known of each session, in the order of their ids, which is that of time.
fn heads(connection: &Connection) -> rusqlite::Result<Vec<(String, Head)>> {
    let there = row::columns(connection, "session")?;
    let has = |name: &str| there.iter().any(|known| known == name);
    let columns = COLUMNS.map(|name| if has(name) { name } else { "NULL" });
    let data = JsonColumn {
        connection,
        table: "session",
        column: "data",
    };
    let selected = match has("data") {
        true => data.selected(),
        false => "NULL, NULL, NULL".to_owned(),
    };
    let query = format!(
        "SELECT id, {}, {selected} FROM session ORDER BY id",
        columns.join(", ")
    );
    let mut statement = connection.prepare(&query)?;
    let heads = statement.query_map([], |row| {
        let text = |at: usize| row.get::<_, Option<String>>(at).unwrap_or_default();
        let stored = data.read::<Head>(row, 6).ok().flatten();
        let stored = stored.map(|(head, _)| head).unwrap_or_default();
        let created = [4, 5].into_iter().find_map(|at| {
            let number = row.get::<_, Option<f64>>(at).ok().flatten()?;
            Moment::parse(&number.to_string()).0
        });
        let head = Head {
            id: Text(None),
            title: Text(text(1).or(stored.title.0)),
            directory: Text(text(2).or(stored.directory.0)),
            parent_id: Text(text(3).or(stored.parent_id.0)),
            time: match created {
                Some(created) => Some(Time {
                    created: Moment(Some(created)),
                }),
                None => stored.time,
            },
        };
        Ok((row.get::<_, String>(0)?, head))
    })?;
    // An id that is no text names nothing.
    Ok(heads.filter_map(Result::ok).collect())
}

/// Adds the messages of a session, in the order of time. The error is one of the database.
fn add_messages(
    connection: &Connection,
    session: &mut Session,
    name: &str,
    each: &mut Each<'_>,
) -> ControlFlow<(), rusqlite::Result<()>> {
    let messages = match rows(connection, "message", "session_id", &session.id) {
        Ok(messages) => messages,
        Err(error) => return ControlFlow::Continue(Err(error)),
    };
    let mut said = Vec::new();
    for (id, message) in messages {
        match message {
            Ok((message, bytes)) => {
                each(Found::Bytes(bytes))?;
                said.push((id, message));
            }
            Err(reason) => report(each, name, &format!("message {id}"), &reason)?,
        }
    }
    for (at, id, message) in in_order_of_time(said) {
        let who = match message.role.is("user") {
            true => USER,
            false => session.format.assistant(),
        };
        let parts = match rows::<Part>(connection, "part", "message_id", &id) {
            Ok(parts) => parts,
            Err(error) => return ControlFlow::Continue(Err(error)),
        };
        for (part_id, part) in parts {
            match part {
                Ok((part, bytes)) => {
                    each(Found::Bytes(bytes))?;
                    take(session, who, at, part);
                }
                Err(reason) => report(each, name, &format!("part {part_id}"), &reason)?,
            }
        }
    }
    ControlFlow::Continue(Ok(()))
}

/// A value with its size, or the reason why it cannot be read.
type Read<T> = Result<(T, u64), String>;

/// Reads the rows of a table that belong to `of`, in the order of their ids.
fn rows<T: serde::de::DeserializeOwned>(
    connection: &Connection,
    table: &str,
    column: &str,
    of: &str,
) -> rusqlite::Result<Vec<(String, Read<T>)>> {
    let data = JsonColumn {
        connection,
        table,
        column: "data",
    };
    let selected = data.selected();
    let query = format!("SELECT id, {selected} FROM {table} WHERE {column} = ?1 ORDER BY id");
    let mut statement = connection.prepare(&query)?;
    let read = |row: &Row<'_>| {
        let value = data.read::<T>(row, 1);
        let value = value.and_then(|value| value.ok_or_else(|| "it is empty".to_owned()));
        Ok((row.get::<_, String>(0)?, value))
    };
    let rows = statement.query_map([of], read)?;
    rows.collect()
}
