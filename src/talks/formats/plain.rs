//! Plain transcripts: a line `User:` or `Assistant:` before each message.

use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;

use chrono::{DateTime, Utc};

use crate::talks::Format;
use crate::talks::found::{Each, Found, identified, report};
use crate::talks::loose::Moment;
use crate::talks::session::{Session, USER};

/// Names of the person, in lower case.
const PEOPLE: [&str; 6] = ["user", "human", "you", "me", "prompt", "question"];

/// Names of the assistant.
const ASSISTANTS: [&str; 13] = [
    "assistant",
    "ai",
    "bot",
    "model",
    "claude",
    "chatgpt",
    "gpt",
    "gpt-4",
    "gemini",
    "copilot",
    "codex",
    "answer",
    "response",
];

/// Maximum size of a line; a longer one is read as several.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Maximum size of a transcript.
const MAX_BYTES: u64 = 64 << 20;

/// Beginning of a message.
struct Turn<'a> {
    is_person: bool,
    /// Name as it is written.
    who: &'a str,
    at: Option<DateTime<Utc>>,
    rest: &'a str,
}

/// Returns whether a text is a transcript: a person and an assistant both begin lines in it.
pub(in crate::talks) fn is_transcript(text: &str) -> bool {
    let turns: Vec<bool> = text
        .lines()
        .filter_map(turn)
        .map(|turn| turn.is_person)
        .collect();
    turns.contains(&true) && turns.contains(&false)
}

/// Reads the transcript `name` into one session; `title` is its file's name without the ending.
pub(in crate::talks) fn read(
    input: impl Read,
    (name, title): (&str, &str),
    began: Option<DateTime<Utc>>,
    each: &mut Each<'_>,
) -> ControlFlow<()> {
    let mut session = Session::new(Format::Plain, String::new());
    session.named = Some(title.replace(['_', '-'], " "));
    session.began = began;
    let mut input = BufReader::new(input.take(MAX_BYTES));
    let mut open: Option<(String, Option<DateTime<Utc>>, String)> = None;
    let mut bytes = 0;
    loop {
        let mut line = Vec::new();
        let read = input
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(read) => bytes += read as u64,
            Err(error) => {
                report(each, name, "", &error.to_string())?;
                break;
            }
        }
        let line = String::from_utf8_lossy(&line);
        match (turn(&line), &mut open) {
            (Some(turn), _) => {
                if let Some((who, at, text)) = open.take() {
                    session.say(&who, at, &text);
                }
                let who = match turn.is_person {
                    true => USER,
                    false => turn.who,
                };
                open = Some((who.to_owned(), turn.at, turn.rest.to_owned() + "\n"));
            }
            // What stands before the first message is a heading.
            (None, Some((_, _, text))) => text.push_str(&line),
            (None, None) => {}
        }
    }
    if let Some((who, at, text)) = open {
        session.say(&who, at, &text);
    }
    each(Found::Bytes(bytes))?;
    match identified(session) {
        Some(session) => each(Found::Session(Box::new(session))),
        None => report(
            each,
            name,
            "",
            "no line begins with `User:` or `Assistant:`",
        ),
    }
}

/// Reads a line such as `User: text`, `**Assistant:** text`, `## You` or `[2026-01-02 10:00] Human: text`.
fn turn(line: &str) -> Option<Turn<'_>> {
    let line = line.trim();
    let (at, line) = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((time, rest)) => (Moment::parse(time).0, rest.trim_start()),
        None => (None, line),
    };
    let plain = line.trim_start_matches(['#', '*', '_', '>', ' ']);
    let is_heading = line.starts_with('#');
    let (name, rest) = match plain.split_once(':') {
        Some((name, rest)) => (name, rest),
        None if is_heading => (plain, ""),
        None => return None,
    };
    let who = name.trim_matches(['*', '_', ' ']);
    let lower = who.to_lowercase();
    let is_person = PEOPLE.contains(&lower.as_str());
    if !is_person && !ASSISTANTS.contains(&lower.as_str()) {
        return None;
    }
    let rest = rest.trim_start_matches(['*', '_']).trim_start();
    Some(Turn {
        is_person,
        who,
        at,
        rest,
    })
}
