//! Formats of conversations.

use std::fmt;
use std::str::FromStr;

/// Format of a transcript or an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Transcripts of Claude Code: one JSON object a line.
    ClaudeCode,
    /// Transcripts of Codex: one JSON object a line.
    Codex,
    /// Sessions of Gemini CLI.
    Gemini,
    /// The folder of opencode, with a file for each session, message and part; or its database.
    Opencode,
    /// The store of Cursor: a database of keys and JSON.
    Cursor,
    /// A note of Claude Code's own memory of a project: markdown.
    ClaudeMemory,
    /// The export of Claude: `conversations.json`, `projects.json`, or the zip.
    Claude,
    /// The export of ChatGPT: `conversations.json`, split or whole, or the zip.
    Chatgpt,
    /// The export of Slack: a zip, or its folder.
    Slack,
    /// Text with `User:` and `Assistant:` before the messages.
    Plain,
}

impl Format {
    /// Formats with their names.
    pub const NAMES: [(&'static str, Format); 10] = [
        ("claude-code", Format::ClaudeCode),
        ("codex", Format::Codex),
        ("gemini", Format::Gemini),
        ("opencode", Format::Opencode),
        ("cursor", Format::Cursor),
        ("claude-memory", Format::ClaudeMemory),
        ("claude", Format::Claude),
        ("chatgpt", Format::Chatgpt),
        ("slack", Format::Slack),
        ("plain", Format::Plain),
    ];

    /// Returns its name, which is the `source` of its memories.
    pub fn as_str(self) -> &'static str {
        let mut names = Format::NAMES.into_iter();
        let named = names.find(|(_, format)| *format == self);
        named.map_or("", |(name, _)| name)
    }

    /// Returns the name of the assistant in its talks.
    pub(super) fn assistant(self) -> &'static str {
        match self {
            Format::ClaudeCode | Format::Claude | Format::ClaudeMemory => "Claude",
            Format::Codex => "Codex",
            Format::Gemini => "Gemini",
            Format::Chatgpt => "ChatGPT",
            Format::Cursor => "Cursor",
            Format::Opencode | Format::Slack | Format::Plain => "Assistant",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        let named = Format::NAMES.iter().find(|(name, _)| *name == text);
        named.map(|(_, format)| *format).ok_or_else(|| {
            let names: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
            format!("`{text}` is none of {}", names.join(", "))
        })
    }
}
