//! Sources of sessions: which files hold them, in which format, and reading one.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::{fs, io};

use chrono::{DateTime, Utc};

use super::archive::{Archive, files_in, list, open_file};
use super::formats::{
    chatgpt, claude_code, claude_export, claude_memory, codex, cursor, gemini, opencode,
    opencode_database, plain, slack,
};
use super::found::{Each, report};
use super::{Format, Found, Source};
use crate::sqlite;

/// Reason why a path is no source.
#[derive(Debug, thiserror::Error)]
pub enum TalkError {
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} holds no conversation of a known format", path.display())]
    Unknown { path: PathBuf },
}

/// Bytes of a file by which its format is told.
const HEAD: u64 = 256 << 10;

/// Maximum depth of folders that are looked through.
const MAX_DEPTH: usize = 8;

/// Sources at a path.
#[derive(Debug, Default)]
pub struct Sources {
    /// The sources, in the order of their paths.
    pub found: Vec<Source>,
    /// Files and folders on the way that cannot be read, and may be sources.
    pub unreadable: Vec<(PathBuf, io::Error)>,
}

impl Sources {
    /// Adds a source if its format could be told.
    fn add(&mut self, path: &Path, told: io::Result<Option<Format>>) {
        match told {
            Ok(told) => self.found.extend(told.map(|format| source(format, path))),
            Err(error) => self.note(path, error),
        }
    }

    /// Returns what a folder holds.
    fn list(&mut self, folder: &Path) -> Vec<(String, bool)> {
        list(folder).unwrap_or_else(|error| {
            self.note(folder, error);
            Vec::new()
        })
    }

    fn note(&mut self, path: &Path, error: io::Error) {
        // It may be gone again.
        if error.kind() != io::ErrorKind::NotFound {
            self.unreadable.push((path.to_owned(), error));
        }
    }
}

/// Returns the sources at `path`, a file or a folder with any number of them.
/// With a format, every file whose name fits is taken for it; without one, each is looked into.
///
/// # Errors
///
/// Fails if the path cannot be read, or if there is no source.
pub fn sources_at(path: &Path, format: Option<Format>) -> Result<Sources, TalkError> {
    let io_error = |source| TalkError::Io {
        path: path.to_owned(),
        source,
    };
    let metadata = fs::metadata(path).map_err(io_error)?;
    let mut sources = Sources::default();
    if metadata.is_dir() {
        add_folder(path, format, 0, &mut sources);
    } else {
        // A file that was named is read, whatever it is called. A pipe would wait for its other end.
        let told = match format {
            Some(format) => Some(format),
            None => open_file(path)
                .and_then(|_| format_of(path))
                .map_err(io_error)?,
        };
        sources.add(path, Ok(told));
    }
    if !sources.found.is_empty() {
        return Ok(sources);
    }
    match sources.unreadable.into_iter().next() {
        Some((path, source)) => Err(TalkError::Io { path, source }),
        None => Err(TalkError::Unknown {
            path: path.to_owned(),
        }),
    }
}

fn add_folder(folder: &Path, format: Option<Format>, depth: usize, sources: &mut Sources) {
    let files = sources.list(folder);
    let has = |name: &str| files.iter().any(|(file, _)| file == name);
    let is_slack = format.is_none()
        && has("users.json")
        && (has("channels.json") || has("dms.json") || has("groups.json"));
    if is_slack {
        sources.add(folder, Ok(Some(Format::Slack)));
    } else if format == Some(Format::Slack) && depth == 0 && !has_zip(&files) {
        sources.add(folder, Ok(format));
        return;
    }
    for (name, is_folder) in files {
        let path = folder.join(&name);
        if is_folder {
            // A folder in an export of Slack is a channel, unless something else was put beside it.
            let is_channel = is_slack && is_channel(&sources.list(&path));
            if depth < MAX_DEPTH && !is_channel {
                add_folder(&path, format, depth + 1, sources);
            }
            continue;
        }
        let told = match format {
            Some(format) => Ok(Some(format).filter(|format| may_be(*format, &path))),
            None => format_of(&path),
        };
        sources.add(&path, told);
    }
}

/// Returns whether what a folder holds is a channel of Slack: a file a day, or nothing.
fn is_channel(files: &[(String, bool)]) -> bool {
    files.is_empty() || files.iter().any(|(name, _)| slack::is_day(name))
}

fn has_zip(files: &[(String, bool)]) -> bool {
    files.iter().any(|(name, _)| name.ends_with(".zip"))
}

/// Returns whether a file in a folder may be of a format, by its name and place.
fn may_be(format: Format, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = |ending: &str| name.ends_with(ending);
    match format {
        Format::ClaudeCode => ends(".jsonl") && !name.starts_with("agent-"),
        Format::Codex => ends(".jsonl") && name.starts_with("rollout-"),
        Format::Gemini => ends(".json") || ends(".jsonl"),
        Format::Opencode => ends(".json") && name.starts_with("ses_") || name == "opencode.db",
        Format::Cursor => name == "state.vscdb",
        Format::ClaudeMemory => claude_memory::is_one(path),
        Format::Claude => {
            ends(".zip") || ends(".jsonl") || ends(".json") && is_conversations(&name)
        }
        Format::Chatgpt => ends(".zip") || ends(".json") && name.starts_with("conversations"),
        Format::Slack => ends(".zip"),
        Format::Plain => ends(".txt") || ends(".md"),
    }
}

fn source(format: Format, path: &Path) -> Source {
    let metadata = fs::metadata(path).ok();
    let bytes = match &metadata {
        Some(data) if data.is_dir() => size_below(path, 0),
        data => data.as_ref().map_or(0, fs::Metadata::len),
    };
    let modified = metadata.and_then(|data| data.modified().ok());
    Source {
        format,
        path: path.to_owned(),
        project: project_of(format, path),
        bytes,
        modified: modified.map(DateTime::<Utc>::from),
    }
}

fn size_below(folder: &Path, depth: usize) -> u64 {
    let sizes = files_in(folder).into_iter().map(|(name, is_folder)| {
        let path = folder.join(name);
        match is_folder {
            true if depth < MAX_DEPTH => size_below(&path, depth + 1),
            true => 0,
            false => fs::metadata(path).map_or(0, |data| data.len()),
        }
    });
    sizes.sum()
}

/// Returns the name of the project by the folder of a transcript.
fn project_of(format: Format, path: &Path) -> Option<String> {
    let above = match format {
        Format::Opencode if is_database(path) => return None,
        Format::ClaudeCode | Format::Opencode => 1,
        Format::Gemini | Format::ClaudeMemory => 2,
        _ => return None,
    };
    let folder = path.ancestors().nth(above)?.file_name()?;
    Some(folder.to_string_lossy().into_owned())
}

/// Tells the format of a file by its name and its beginning.
fn format_of(path: &Path) -> io::Result<Option<Format>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".zip") {
        return Ok(format_of_zip(&Archive::open(path)?));
    }
    if is_database(path) {
        return Ok(format_of_database(path));
    }
    if claude_memory::is_one(path) {
        return Ok(Some(Format::ClaudeMemory));
    }
    let is_text = [".json", ".jsonl", ".txt", ".md"]
        .iter()
        .any(|ending| name.ends_with(ending));
    if !is_text || name.starts_with("agent-") {
        return Ok(None);
    }
    let head = head_of(open_file(path)?)?;
    Ok(format_of_text(&name, &head))
}

/// Returns whether a file may be a database, by its name.
fn is_database(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ending == "db" || ending == "vscdb"
}

/// Tells the format of a database by its tables.
fn format_of_database(path: &Path) -> Option<Format> {
    let connection = sqlite::open(path).ok()?;
    match (
        opencode_database::is_one(&connection),
        cursor::is_one(&connection),
    ) {
        (true, _) => Some(Format::Opencode),
        (_, true) => Some(Format::Cursor),
        _ => None,
    }
}

fn format_of_zip(archive: &Archive) -> Option<Format> {
    let names = archive.names();
    let ends = |ending: &str| names.iter().any(|name| name.ends_with(ending));
    if ends("users.json") && (ends("channels.json") || ends("dms.json")) {
        return Some(Format::Slack);
    }
    let told = names
        .iter()
        .filter(|name| is_conversations(name))
        .find_map(|name| {
            let head = head_of(archive.read(name).ok()?).ok()?;
            format_of_text("conversations.json", &head)
        });
    told.filter(|format| matches!(format, Format::Claude | Format::Chatgpt))
}

/// Returns whether a file of an export holds conversations or projects.
fn is_conversations(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let is_json = file.ends_with(".json") || file.ends_with(".jsonl");
    is_json && (file.starts_with("conversations") || file.starts_with("projects"))
}

fn head_of(file: impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn format_of_text(name: &str, head: &str) -> Option<Format> {
    let has = |key: &str| head.contains(&format!("\"{key}\""));
    let start = head.trim_start_matches('\u{feff}').trim_start();
    let is_list = |rest: &str| rest.trim_start().starts_with(['{', ']', '"']);
    // A transcript may begin with a time in brackets.
    let is_json = start.starts_with('{') || start.strip_prefix('[').is_some_and(is_list);
    if !is_json {
        let may_be_plain = name.ends_with(".txt") || name.ends_with(".md");
        return (may_be_plain && plain::is_transcript(head)).then_some(Format::Plain);
    }
    if name.starts_with("ses_") && has("projectID") {
        return Some(Format::Opencode);
    }
    if has("chat_messages") || has("prompt_template") && has("docs") {
        return Some(Format::Claude);
    }
    if has("mapping") && (has("current_node") || has("parent")) {
        return Some(Format::Chatgpt);
    }
    if name.starts_with("rollout-") || has("session_meta") || has("response_item") {
        return Some(Format::Codex);
    }
    if has("sessionId") && has("projectHash") {
        return Some(Format::Gemini);
    }
    let is_line = has("parentUuid") || has("sessionId") || has("leafUuid");
    (name.ends_with(".jsonl") && is_line).then_some(Format::ClaudeCode)
}

/// Reads a source and calls `each` with what is found, in its order. It ends when `each` says so.
pub fn read(source: &Source, each: &mut dyn FnMut(Found) -> ControlFlow<()>) -> ControlFlow<()> {
    let path = &source.path;
    let name = path.display().to_string();
    if source.bytes == 0 {
        return report(each, &name, "", "it is empty");
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match source.format {
        Format::Slack => {
            return match Archive::open(path) {
                Ok(archive) => slack::read(&archive, &name, each),
                Err(error) => report(each, &name, "", &error.to_string()),
            };
        }
        Format::Opencode if is_database(path) => return opencode_database::read(path, &name, each),
        Format::Opencode => return opencode::read(path, &name, each),
        Format::Cursor => return cursor::read(path, &name, each),
        Format::Claude | Format::Chatgpt if is_zip(path) => {
            return read_zip(source.format, path, &name, each);
        }
        _ => {}
    }
    let input = match open_file(path) {
        Ok(input) => input,
        Err(error) => return report(each, &name, "", &error.to_string()),
    };
    match source.format {
        Format::ClaudeCode => claude_code::read(input, &name, &stem, each),
        Format::Codex => {
            let id = stem.strip_prefix("rollout-").unwrap_or(&stem);
            codex::read(input, &name, id, each)
        }
        Format::Gemini => gemini::read(input, (&name, &stem), source.project.as_deref(), each),
        Format::Claude => claude_export::read(input, &name, each),
        Format::Chatgpt => chatgpt::read(input, &name, each),
        Format::ClaudeMemory => claude_memory::read(input, path, source.modified, each),
        Format::Plain => plain::read(input, (&name, &stem), source.modified, each),
        Format::Slack | Format::Opencode | Format::Cursor => ControlFlow::Continue(()),
    }
}

fn is_zip(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = open_file(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && &start == b"PK\x03\x04"
}

/// Reads the conversations in a zip.
fn read_zip(format: Format, path: &Path, name: &str, each: &mut Each<'_>) -> ControlFlow<()> {
    let archive = match Archive::open(path) {
        Ok(archive) => archive,
        Err(error) => return report(each, name, "", &error.to_string()),
    };
    for file in archive.names().iter().filter(|file| is_conversations(file)) {
        let shown = format!("{name}: {file}");
        match archive.read(file) {
            Ok(input) if format == Format::Claude => claude_export::read(input, &shown, each)?,
            Ok(input) => chatgpt::read(input, &shown, each)?,
            Err(error) => report(each, &shown, "", &error.to_string())?,
        }
    }
    ControlFlow::Continue(())
}
