//! Plain transcripts: a line `User:` or `Assistant:` before each message.

use std::io;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;

use chrono::{DateTime, Utc};

use crate::talks::Format;
use crate::talks::found::{Each, Found, identified, report};
use crate::talks::loose::Moment;
use crate::talks::records::MAX_STRING_BYTES;
use crate::talks::session::{Message, Session, USER};

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

/// Maximum size of the messages of a transcript together: they are in memory until its end.
const MAX_BYTES: usize = 32 << 20;

/// Beginning of a message.
struct Turn<'a> {
    is_person: bool,
    /// Name as it is written.
    who: &'a str,
    /// The same with the marks around it.
    form: &'a str,
    at: Option<DateTime<Utc>>,
    rest: &'a str,
}

/// Returns whether a text is a transcript: a person and an assistant both begin lines in it.
pub(in crate::talks) fn is_transcript(text: &str) -> bool {
    let turns: Vec<bool> = text
        .trim_start_matches('\u{feff}')
        .lines()
        .filter_map(turn)
        .map(|turn| turn.is_person)
        .collect();
    turns.contains(&true) && turns.contains(&false)
}

/// Ways of writing the beginnings of messages, as far as they are remembered.
const MAX_FORMS: usize = 64;

/// Message that further lines may belong to.
struct Open {
    who: String,
    at: Option<DateTime<Utc>>,
    text: String,
    /// Mark of the code block that is open.
    fence: Option<String>,
}

impl Open {
    /// Adds a line, as far as there is room for it.
    fn add(&mut self, line: &str) {
        let mut end = line.len().min(MAX_STRING_BYTES - self.text.len());
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        self.text.push_str(&line[..end]);
    }

    /// Notes the beginning or the end of a code block.
    fn note_fence(&mut self, line: &str) {
        let line = line.trim();
        let is_mark = |one: &char| matches!(one, '`' | '~');
        let mark: String = line.chars().take_while(is_mark).collect();
        match &self.fence {
            Some(fence) if mark.starts_with(fence.as_str()) && mark.len() == line.len() => {
                self.fence = None;
            }
            // Behind a mark of code within a line there is its end.
            None if mark.len() >= 3 && !line[mark.len()..].contains('`') => self.fence = Some(mark),
            _ => {}
        }
    }
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
    let mut input = BufReader::new(input);
    let mut open: Option<Open> = None;
    // Within a code block a line begins a message only if it looks as those before: `user: root` is no speaker, but
    // after a block that is never closed the next one speaks.
    let mut forms: Vec<String> = Vec::new();
    let mut number = 0;
    let mut kept = 0;
    let mut line = Vec::new();
    loop {
        let bytes = match read_line(&mut input, &mut line) {
            Ok(0) => break,
            Ok(bytes) => bytes,
            Err(error) => {
                let place = format!("behind line {number}");
                report(each, name, &place, &format!("it cannot be read: {error}"))?;
                break;
            }
        };
        number += 1;
        each(Found::Bytes(bytes))?;
        let line = String::from_utf8_lossy(&line);
        let line = match number {
            1 => line.trim_start_matches('\u{feff}'),
            _ => &line,
        };
        let is_code = open.as_ref().is_some_and(|open| open.fence.is_some());
        let turn = turn(line).filter(|turn| {
            let is_indented = || line.starts_with(char::is_whitespace);
            !is_code || !is_indented() && forms.iter().any(|form| form == turn.form)
        });
        match (turn, &mut open) {
            (Some(turn), _) => {
                if !forms.iter().any(|form| form == turn.form) && forms.len() < MAX_FORMS {
                    forms.push(turn.form.to_owned());
                }
                kept += open.take().map_or(0, |open| say(&mut session, open));
                if kept > MAX_BYTES {
                    let place = format!("line {number}");
                    let reason = format!("the messages before it have {} MB", MAX_BYTES >> 20);
                    let reason = format!("{reason}: this and what follows is left out");
                    report(each, name, &place, &reason)?;
                    break;
                }
                let who = match turn.is_person {
                    true => USER,
                    false => turn.who,
                };
                let mut next = Open {
                    who: who.to_owned(),
                    at: turn.at,
                    text: String::new(),
                    fence: None,
                };
                next.note_fence(turn.rest);
                next.add(turn.rest);
                next.add("\n");
                open = Some(next);
            }
            // What stands before the first message is a heading.
            (None, Some(open)) => {
                open.note_fence(line);
                open.add(line);
            }
            (None, None) => {}
        }
    }
    open.map(|open| say(&mut session, open));
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

/// Adds a message to the session, and returns the size that it has there.
fn say(session: &mut Session, open: Open) -> usize {
    let before = session.messages.len();
    session.say(&open.who, open.at, &open.text);
    let added = &session.messages[before..];
    added
        .iter()
        .map(|one| one.text.len() + size_of::<Message>())
        .sum()
}

/// Reads a line into `line`, of a long one the beginning, and returns the number of bytes that it has in the
/// input; 0 at the end.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut bytes = 0;
    loop {
        let chunk = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let end = memchr::memchr(b'\n', chunk).map(|at| at + 1);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let room = MAX_STRING_BYTES.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let read = part.len();
        bytes += read as u64;
        input.consume(read);
        if end.is_some() || read == 0 {
            return Ok(bytes);
        }
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
    let form = &line[..line.len() - rest.len()];
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
        form,
        at,
        rest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the session of a transcript, what is reported as damaged, and the number of bytes read.
    fn read_all(text: &str) -> (Option<Session>, Vec<String>, u64) {
        let (mut session, mut damaged, mut bytes) = (None, Vec::new(), 0);
        let each = &mut |found| {
            match found {
                Found::Session(found) => session = Some(*found),
                Found::Damaged { place, reason } => damaged.push(format!("{place}: {reason}")),
                Found::Bytes(more) => bytes += more,
            }
            ControlFlow::Continue(())
        };
        let _ = read(text.as_bytes(), ("a.txt", "a"), None, each);
        (session, damaged, bytes)
    }

    #[test]
    fn a_long_line_is_one_message_and_the_next_one_is_read() {
        let long = "x y ".repeat(MAX_STRING_BYTES);
        let more = format!("{}User: no turn\n", " ".repeat(MAX_STRING_BYTES - 1)).repeat(3);
        let text = format!("{long}\nUser: {long}User: no turn\n{more}Bot: yes\nHuman: no");
        let (session, damaged, bytes) = read_all(&text);
        let messages = session.unwrap().messages;
        let shown: Vec<(&str, &str)> = messages
            .iter()
            .map(|one| (one.who.as_str(), &one.text[..one.text.len().min(3)]))
            .collect();
        assert_eq!(shown, [(USER, "x y"), ("Bot", "yes"), (USER, "no")]);
        assert!(messages[0].text.ends_with("bytes left out]"));
        assert_eq!((damaged, bytes), (Vec::new(), text.len() as u64));
    }

    #[test]
    fn keys_in_code_are_no_speakers() {
        let text = "\u{feff}User: How?\r\nBot: So:\r\n```yaml\r\nuser: root\nanswer: 42\n  Bot: no\n```\r\nuser: Thanks.\n\
            Bot: ```ls```\nMe: So?\nBot: ```\nme: open\nUser: And now?\n~~~\nyou: x\n~~~\nAI: Yes.\n";
        let (session, damaged, _) = read_all(text);
        let messages = session.unwrap().messages;
        let shown: Vec<(&str, &str)> = messages
            .iter()
            .map(|one| (one.who.as_str(), one.text.as_str()))
            .collect();
        let code = "So:\n```yaml\nuser: root\nanswer: 42\n  Bot: no\n```";
        assert_eq!(
            shown,
            [
                (USER, "How?"),
                ("Bot", code),
                (USER, "Thanks."),
                ("Bot", "```ls```"),
                (USER, "So?"),
                ("Bot", "```\nme: open\n\n```"),
                (USER, "And now?\n~~~\nyou: x\n~~~"),
                ("AI", "Yes."),
            ]
        );
        assert!(damaged.is_empty());
    }

    #[test]
    fn what_follows_too_many_messages_is_left_out_and_named() {
        let line = format!("User: {}\nBot: yes\n", "long ".repeat(6_000));
        let text = line.repeat(MAX_BYTES / 30_000 + 100);
        let (session, damaged, _) = read_all(&text);
        let kept: usize = session
            .unwrap()
            .messages
            .iter()
            .map(|one| one.text.len())
            .sum();
        assert!(kept < MAX_BYTES + (1 << 20) && kept > MAX_BYTES / 2);
        assert_eq!(damaged.len(), 1);
        assert!(
            damaged[0].contains("have 32 MB: this and what follows is left out"),
            "{damaged:?}"
        );
    }
}
