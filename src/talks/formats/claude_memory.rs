//! Notes that Claude Code keeps of a project for itself: `projects/PROJECT/memory/*.md`.
//!
//! A note is a session of its own, and each of its paragraphs and points a message without a time: of a note
//! that was edited what is new is added. Its title is the one that its frontmatter has, else its first heading.

use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::talks::Format;
use crate::talks::archive::{files_in, open_file};
use crate::talks::found::{Each, Found, report};
use crate::talks::loose::Text;
use crate::talks::records::Records;
use crate::talks::session::Session;

/// Name of the folder.
const FOLDER: &str = "memory";

/// Maximum size of a note; the rest of a longer one is not read.
const MAX_BYTES: u64 = 4 << 20;

/// Number of lines of a transcript that are looked at for the folder of its project.
const FIRST_LINES: usize = 50;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Line {
    cwd: Text,
}

/// Returns whether a file is such a note, by its place.
pub(in crate::talks) fn is_one(path: &Path) -> bool {
    let called = |above: usize, name: &str| {
        let folder = path.ancestors().nth(above);
        folder
            .and_then(Path::file_name)
            .is_some_and(|known| known == name)
    };
    path.extension().is_some_and(|ending| ending == "md")
        && called(1, FOLDER)
        && called(3, "projects")
}

/// Reads the note at `path`, which was last changed at `changed`.
pub(in crate::talks) fn read(
    input: impl Read,
    path: &Path,
    changed: Option<DateTime<Utc>>,
    each: &mut Each<'_>,
) -> ControlFlow<()> {
    let mut bytes = Vec::new();
    if let Err(error) = input.take(MAX_BYTES).read_to_end(&mut bytes) {
        return report(each, &path.display().to_string(), "", &error.to_string());
    }
    each(Found::Bytes(bytes.len() as u64))?;
    let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    let (head, body) = parted(&text);
    let name = |above: usize| {
        let part = path.ancestors().nth(above).and_then(Path::file_name);
        part.unwrap_or_default().to_string_lossy().into_owned()
    };
    let (file, project) = (name(0), name(2));
    let mut session = Session::new(Format::ClaudeMemory, format!("{project}/{FOLDER}/{file}"));
    let stated = |key: &str| {
        let lines = head.lines();
        let values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let values = values.map(|value| value.trim().trim_matches(['"', '\'']).to_owned());
        values.into_iter().find(|value| !value.is_empty())
    };
    let heading = || body.lines().find_map(|line| line.strip_prefix("# "));
    session.named = stated("description").or_else(|| stated("name"));
    session.named = session.named.or_else(|| heading().map(str::to_owned));
    session.folder = path
        .ancestors()
        .nth(2)
        .and_then(folder_of)
        .or(Some(project));
    session.began = changed;
    let who = session.format.assistant();
    for paragraph in paragraphs(body) {
        session.say(who, None, paragraph);
    }
    match session.messages.is_empty() {
        true => ControlFlow::Continue(()),
        false => each(Found::Session(Box::new(session))),
    }
}

/// Returns the frontmatter of a note, empty if there is none, and what follows.
fn parted(text: &str) -> (&str, &str) {
    let rest = text.strip_prefix("---\n");
    rest.and_then(|rest| rest.split_once("\n---\n"))
        .unwrap_or(("", text))
}

/// Cuts a note at blank lines and before each point of a list, but not inside of code.
fn paragraphs(text: &str) -> Vec<&str> {
    let (mut paragraphs, mut start, mut at, mut is_code) = (Vec::new(), 0, 0, false);
    for line in text.split_inclusive('\n') {
        let begins = line.trim().is_empty() || line.starts_with("- ") || line.starts_with("* ");
        if begins && !is_code {
            paragraphs.push(&text[start..at]);
            start = at;
        }
        is_code ^= line.trim_start().starts_with("```");
        at += line.len();
    }
    paragraphs.push(&text[start..]);
    paragraphs.retain(|paragraph| !paragraph.trim().is_empty());
    paragraphs
}

/// Returns the folder of a project, as the transcripts beside its notes name it.
fn folder_of(project: &Path) -> Option<String> {
    let files = files_in(project).into_iter();
    let mut transcripts = files.filter(|(name, _)| name.ends_with(".jsonl"));
    transcripts.find_map(|(name, _)| {
        let file = open_file(&project.join(name)).ok()?;
        // Lines may be long; the folder stands in one of the first.
        let mut lines = BufReader::new(file).split(b'\n').take(FIRST_LINES);
        lines.find_map(|line| {
            let line = line.ok()?;
            let mut records = Records::new(line.as_slice()).ok()?;
            let line = records.next::<Line>()?.ok()?;
            line.cwd.get().map(str::to_owned)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_cut_into_paragraphs_and_points() {
        let text =
            "# Notes\n\n- One\n  goes on\n- Two\n\nText\nof two lines.\n\n```\na\n\n- b\n```\n";
        let parts: Vec<&str> = paragraphs(text).into_iter().map(str::trim).collect();
        assert_eq!(
            parts,
            [
                "# Notes",
                "- One\n  goes on",
                "- Two",
                "Text\nof two lines.",
                "```\na\n\n- b\n```"
            ]
        );
    }

    #[test]
    fn a_note_is_told_by_its_place() {
        let is = |path: &str| is_one(Path::new(path));
        assert!(is(
            "/home/mira/.claude/projects/-home-mira-atlas/memory/MEMORY.md"
        ));
        assert!(!is(
            "/home/mira/.claude/projects/-home-mira-atlas/MEMORY.md"
        ));
        assert!(!is("/home/mira/notes/memory/a.md"));
    }
}
