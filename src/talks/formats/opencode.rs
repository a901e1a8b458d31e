//! The folder of opencode: `storage/session/PROJECT/ses_….json`, and a file for each message and each
//! part of one.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::block::{self, Input};
use crate::talks::Format;
use crate::talks::archive::{list, open_file};
use crate::talks::found::{Each, Found, report};
use crate::talks::loose::{Flag, Moment, Text};
use crate::talks::records::Records;
use crate::talks::session::{Session, USER};

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Head {
    pub id: Text,
    pub title: Text,
    pub directory: Text,
    #[serde(rename = "parentID")]
    pub parent_id: Text,
    pub time: Option<Time>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Time {
    pub created: Moment,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Message {
    id: Text,
    pub role: Text,
    pub time: Option<Time>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Part {
    r#type: Text,
    text: Text,
    synthetic: Flag,
    ignored: Flag,
    tool: Text,
    filename: Text,
    state: Option<State>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct State {
    input: Input,
}

/// Reads the session in the file `path`, which lies in `storage/session/PROJECT`.
pub(in crate::talks) fn read(path: &Path, name: &str, each: &mut Each<'_>) -> ControlFlow<()> {
    let (head, bytes) = match object::<Head>(path) {
        Ok(read) => read,
        Err(reason) => return report(each, name, "", &reason),
    };
    each(Found::Bytes(bytes))?;
    // The session of a helper.
    if head.parent_id.get().is_some() {
        return ControlFlow::Continue(());
    }
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let id = head.id.0.or(stem).unwrap_or_default();
    let mut session = Session::new(Format::Opencode, id);
    session.named = head.title.0;
    session.folder = head.directory.0;
    session.began = head.time.and_then(|time| time.created.0);
    let Some(storage) = path.ancestors().nth(3) else {
        return ControlFlow::Continue(());
    };
    let folder = storage.join("message").join(&session.id);
    let mut messages: Vec<(String, Message)> = Vec::new();
    for (file, _) in listed(&folder, &format!("message/{}", session.id), each)? {
        match object::<Message>(&folder.join(&file)) {
            Ok((message, bytes)) => {
                each(Found::Bytes(bytes))?;
                messages.push((file, message));
            }
            Err(reason) => report(each, &format!("message/{}/{file}", session.id), "", &reason)?,
        }
    }
    for (at, file, message) in in_order_of_time(messages) {
        let id = message.id.get().unwrap_or(file.trim_end_matches(".json"));
        let folder = storage.join("part").join(id);
        let who = match message.role.is("user") {
            true => USER,
            false => session.format.assistant(),
        };
        for (file, _) in listed(&folder, &format!("part/{id}"), each)? {
            match object::<Part>(&folder.join(&file)) {
                Ok((part, bytes)) => {
                    each(Found::Bytes(bytes))?;
                    take(&mut session, who, at, part);
                }
                Err(reason) => report(each, &format!("part/{id}/{file}"), "", &reason)?,
            }
        }
    }
    match session.messages.is_empty() {
        true => ControlFlow::Continue(()),
        false => each(Found::Session(Box::new(session))),
    }
}

/// Returns names in a folder, which is named if it cannot be read; none if there is no such folder.
fn listed(folder: &Path, name: &str, each: &mut Each<'_>) -> ControlFlow<(), Vec<(String, bool)>> {
    match list(folder) {
        Ok(files) => ControlFlow::Continue(files),
        Err(error) if error.kind() == ErrorKind::NotFound => ControlFlow::Continue(Vec::new()),
        Err(error) => {
            report(each, name, "", &error.to_string())?;
            ControlFlow::Continue(Vec::new())
        }
    }
}

/// Puts messages in the order of their times, each with that; they come in the order of their ids. One without a
/// time follows the one before it.
pub(super) fn in_order_of_time(
    messages: Vec<(String, Message)>,
) -> Vec<(Option<DateTime<Utc>>, String, Message)> {
    let mut last = None;
    let messages = messages.into_iter().map(|(id, message)| {
        let at = message.time.as_ref().and_then(|time| time.created.0);
        last = at.or(last);
        (last, (at, id, message))
    });
    let mut messages: Vec<_> = messages.collect();
    messages.sort_by_key(|(place, _)| *place);
    messages.into_iter().map(|(_, message)| message).collect()
}

/// Adds a part of a message.
pub(super) fn take(session: &mut Session, who: &str, at: Option<DateTime<Utc>>, part: Part) {
    match part.r#type.0.as_deref() {
        Some("text") if !part.synthetic.0 && !part.ignored.0 => {
            session.say(who, at, part.text.get().unwrap_or_default());
        }
        Some("tool") => {
            let input = part.state.unwrap_or_default().input;
            let name = part.tool.get().unwrap_or("tool");
            session.call(who, at, &block::line(name, &input));
        }
        Some("file") if !part.synthetic.0 => {
            let name = part.filename.get().unwrap_or("without a name");
            session.say(who, at, &format!("[file: {name}]"));
        }
        _ => {}
    }
}

/// Reads the object in a file, and returns it with the file's size.
fn object<T: DeserializeOwned>(path: &Path) -> Result<(T, u64), String> {
    let mut records = open_file(path)
        .and_then(Records::new)
        .map_err(|error| error.to_string())?;
    match records.next::<T>() {
        Some(Ok(object)) => Ok((object, records.bytes())),
        Some(Err(bad)) => Err(bad.reason),
        None => Err("it is empty".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_a_time_follows_the_one_before_it() {
        let message = |(id, created): (&str, &str)| {
            let json = format!("{{\"time\": {{\"created\": {created}}}}}");
            (id.to_owned(), serde_json::from_str(&json).unwrap())
        };
        let messages = [
            ("a", "3e9"),
            ("b", "null"),
            ("c", "1e9"),
            ("d", "0"),
            ("e", "2e9"),
        ];
        let ordered = in_order_of_time(messages.map(message).into());
        let ids: Vec<&str> = ordered.iter().map(|(_, id, _)| id.as_str()).collect();
        assert_eq!(ids, ["c", "d", "e", "a", "b"]);
        assert!(ordered[1].0.is_none() && ordered[2].0.is_some());
    }
}
