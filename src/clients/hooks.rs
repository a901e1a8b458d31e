//! The entries by which a client calls `memdir hook` at the moments of a session.
//!
//! Promises: only entries whose command is `memdir hook EVENT --client NAME` are changed or removed, wherever
//! they stand among others.

use serde_json::{Map, Value, json};

use super::client::{Client, Scope};
use super::error::EditError;
use super::json::{self, Step};
use super::server::Launch;
use super::style::HookStyle;

/// A moment of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    SessionStart,
    Prompt,
    BeforeCompact,
    Stop,
    SessionEnd,
}

/// Each event with its name for `memdir hook`, and the seconds after which a client gives up.
const EVENTS: [(Event, &str, u64); 5] = [
    (Event::SessionStart, "session-start", 10),
    (Event::Prompt, "prompt", 5),
    (Event::BeforeCompact, "before-compact", 10),
    (Event::Stop, "stop", 10),
    // Codex allows no more.
    (Event::SessionEnd, "session-end", 3),
];

impl HookStyle {
    /// Returns the client's name of an event; `None` where the client has none, or does not show the agent
    /// what a hook says there.
    fn event(self, event: Event) -> Option<&'static str> {
        let names = match self {
            HookStyle::ClaudeCode => [
                "SessionStart",
                "UserPromptSubmit",
                "PreCompact",
                "Stop",
                "SessionEnd",
            ],
            HookStyle::Gemini => [
                "SessionStart",
                "BeforeAgent",
                "PreCompress",
                "AfterAgent",
                "SessionEnd",
            ],
            // What a hook answers to a prompt is shown to the user, or to nobody.
            HookStyle::Cursor => ["sessionStart", "", "preCompact", "stop", "sessionEnd"],
            HookStyle::Copilot => ["sessionStart", "", "preCompact", "agentStop", "sessionEnd"],
        };
        let place = EVENTS.iter().position(|(known, ..)| *known == event)?;
        Some(names[place]).filter(|name| !name.is_empty())
    }

    /// Returns the entry of an event.
    fn entry(self, command: &str, seconds: u64) -> Value {
        match self {
            HookStyle::ClaudeCode => json!({
                "hooks": [{"type": "command", "command": command, "timeout": seconds}]
            }),
            HookStyle::Gemini => json!({
                "hooks": [{
                    "name": "memdir", "type": "command", "command": command,
                    "timeout": seconds * 1000,
                }]
            }),
            HookStyle::Cursor => json!({"command": command, "timeout": seconds}),
            HookStyle::Copilot => json!({
                "type": "command", "bash": command, "powershell": command,
                "timeoutSec": seconds,
            }),
        }
    }

    fn has_version(self) -> bool {
        matches!(self, HookStyle::Cursor | HookStyle::Copilot)
    }
}

/// Returns the entries for a client: its name of each event, and what is listed there.
pub fn entries(
    style: HookStyle,
    launch: &Launch,
    client: &Client,
    scope: Scope,
) -> Vec<(&'static str, Value)> {
    let entries = EVENTS.iter().filter_map(|(event, name, seconds)| {
        let of_client = style.event(*event)?;
        let command = command(launch, client, scope, name);
        Some((of_client, style.entry(&command, *seconds)))
    });
    entries.collect()
}

/// Returns the line that a client gives to a shell.
fn command(launch: &Launch, client: &Client, scope: Scope, event: &str) -> String {
    let mut words = vec![launch.program.word(client, scope)];
    words.extend(launch.options.iter().cloned());
    words.extend(["hook", event, "--client", client.name].map(str::to_owned));
    let quoted = words.iter().map(|word| match cfg!(windows) {
        true if word.contains([' ', '&', '(', ')']) => format!("\"{word}\""),
        true => word.clone(),
        false => match shlex::try_quote(word) {
            Ok(word) => word.into_owned(),
            // A path holds no NUL.
            Err(_) => word.clone(),
        },
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns the text with a client's hooks in it, each once.
///
/// # Errors
///
/// Fails if the text is no JSON or has something else in the place of hooks.
pub fn set(
    text: &str,
    style: HookStyle,
    entries: &[(&'static str, Value)],
) -> Result<String, EditError> {
    let mut text = text.to_owned();
    if style.has_version() && json::value(&text)?.get("version").is_none() {
        text = json::set(&text, &["version"], &json!(1))?;
    }
    for (event, entry) in entries {
        let present = listed(&json::value(&text)?, event);
        if present.contains(entry) {
            continue;
        }
        text = remove_from(&text, event)?;
        text = json::push(&text, &["hooks", event], entry)?;
    }
    Ok(text)
}

/// Returns the text without memdir's hooks. What they leave empty is removed, too, unless `before`, the text
/// as it was before, had it.
///
/// # Errors
///
/// Fails if the text is no JSON.
pub fn remove(text: &str, style: HookStyle, before: Option<&str>) -> Result<String, EditError> {
    let before = before
        .and_then(|text| json::value(text).ok())
        .unwrap_or_default();
    let mut text = text.to_owned();
    for (event, ..) in EVENTS {
        let Some(event) = style.event(event) else {
            continue;
        };
        text = remove_from(&text, event)?;
        let path = [Step::Key("hooks"), Step::Key(event)];
        text = without_empty(&text, &path, &before)?;
    }
    text = without_empty(&text, &[Step::Key("hooks")], &before)?;
    let value = json::value(&text)?;
    if style.has_version() && value == json!({"version": 1}) && before.get("version").is_none() {
        text = json::remove(&text, &[Step::Key("version")])?;
    }
    Ok(text)
}

/// Returns the text without the object or array at `path` if it is empty and `before` has none there.
///
/// # Errors
///
/// Fails if the text is no JSON.
pub fn without_empty(text: &str, path: &[Step<'_>], before: &Value) -> Result<String, EditError> {
    let value = json::value(text)?;
    let is_empty = match json::at(&value, path) {
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(elements)) => elements.is_empty(),
        _ => false,
    };
    match is_empty && json::at(before, path).is_none() {
        true => json::remove(text, path),
        false => Ok(text.to_owned()),
    }
}

/// Returns whether a text has hooks of memdir.
pub fn are_in(text: &str, style: HookStyle) -> bool {
    let Ok(value) = json::value(text) else {
        return false;
    };
    let events = EVENTS.iter().filter_map(|(event, ..)| style.event(*event));
    let mut entries = events.flat_map(|event| listed(&value, event));
    entries.any(|entry| match entry.get("hooks").and_then(Value::as_array) {
        Some(hooks) => hooks.iter().any(is_own),
        None => is_own(&entry),
    })
}

fn listed(value: &Value, event: &str) -> Vec<Value> {
    let listed = value.get("hooks").and_then(|hooks| hooks.get(event));
    listed
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default()
}

/// Removes memdir's hooks of one event, and the groups that hold nothing else.
fn remove_from(text: &str, event: &str) -> Result<String, EditError> {
    let mut text = text.to_owned();
    let entries = listed(&json::value(&text)?, event);
    // From the end, so that the places of those before stay.
    for (place, entry) in entries.iter().enumerate().rev() {
        let path = [Step::Key("hooks"), Step::Key(event), Step::Index(place)];
        let group = entry.get("hooks").and_then(Value::as_array);
        let own = |hooks: &[Value]| hooks.iter().filter(|hook| is_own(hook)).count();
        match group {
            None if is_own(entry) => text = json::remove(&text, &path)?,
            None => {}
            Some(hooks) if !hooks.is_empty() && own(hooks) == hooks.len() => {
                text = json::remove(&text, &path)?;
            }
            Some(hooks) => {
                for (inner, _) in hooks
                    .iter()
                    .enumerate()
                    .rev()
                    .filter(|(_, hook)| is_own(hook))
                {
                    let path = [&path[..], &[Step::Key("hooks"), Step::Index(inner)]].concat();
                    text = json::remove(&text, &path)?;
                }
            }
        }
    }
    Ok(text)
}

/// Returns whether a hook runs `memdir hook … --client …`.
fn is_own(hook: &Value) -> bool {
    let command = ["command", "bash"]
        .into_iter()
        .find_map(|key| hook.get(key)?.as_str());
    command.is_some_and(|command| {
        let before = command
            .split_once(" hook ")
            .filter(|(_, rest)| rest.contains(" --client "));
        before.is_some_and(|(program, _)| program.contains("memdir"))
    })
}

/// Returns the hooks as a file of their own.
pub fn pretty(style: HookStyle, entries: &[(&'static str, Value)]) -> String {
    let mut document = Map::new();
    if style.has_version() {
        document.insert("version".to_owned(), json!(1));
    }
    let events = entries
        .iter()
        .map(|(event, entry)| ((*event).to_owned(), json!([entry])));
    document.insert("hooks".to_owned(), Value::Object(events.collect()));
    format!("{}\n", json::pretty(&Value::Object(document)))
}
