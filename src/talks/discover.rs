//! Finds the transcripts that programs keep on this machine.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::Format;
use super::source::{Sources, TalkError, sources_at};

/// Folders in which programs keep transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Each with the format of what lies in it.
    folders: Vec<(Format, PathBuf)>,
}

impl Places {
    /// Returns the folders of a user with this home; `variable` reads a path from the environment.
    pub fn of(home: &Path, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Places {
        let or_home = |name: &str, below: &str| variable(name).unwrap_or_else(|| home.join(below));
        let claude = or_home("CLAUDE_CONFIG_DIR", ".claude");
        let codex = or_home("CODEX_HOME", ".codex");
        let gemini = or_home("GEMINI_CLI_HOME", "").join(".gemini");
        let data = or_home("XDG_DATA_HOME", ".local/share");
        let settings = match std::env::consts::OS {
            "macos" => home.join("Library/Application Support"),
            "windows" => or_home("APPDATA", "AppData/Roaming"),
            _ => or_home("XDG_CONFIG_HOME", ".config"),
        };
        Places {
            folders: vec![
                (Format::ClaudeCode, claude.join("projects")),
                (Format::ClaudeMemory, claude.join("projects")),
                (Format::Codex, codex.join("sessions")),
                (Format::Codex, codex.join("archived_sessions")),
                (Format::Gemini, gemini.join("tmp")),
                (Format::Opencode, data.join("opencode/storage/session")),
                (Format::Opencode, data.join("opencode/opencode.db")),
                (
                    Format::Cursor,
                    settings.join("Cursor/User/globalStorage/state.vscdb"),
                ),
            ],
        }
    }

    /// Returns the folders, and the databases.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        let mut folders: Vec<&Path> = self.folders.iter().map(|(_, one)| one.as_path()).collect();
        folders.dedup();
        folders.into_iter()
    }
}

/// Returns the transcripts in the places, in the order of their paths; of one format if that is given.
pub fn discover(places: &Places, format: Option<Format>) -> Sources {
    let wanted = places.folders.iter();
    let wanted = wanted.filter(|(known, _)| format.is_none_or(|format| format == *known));
    let mut all = Sources::default();
    for (format, folder) in wanted {
        // Of other files in it each is looked into.
        let stated = Some(*format).filter(|format| *format != Format::Gemini);
        match sources_at(folder, stated) {
            Ok(mut sources) => {
                sources.found.retain(|source| source.format == *format);
                all.found.append(&mut sources.found);
                all.unreadable.append(&mut sources.unreadable);
            }
            Err(TalkError::Io { path, source }) if source.kind() != ErrorKind::NotFound => {
                all.unreadable.push((path, source));
            }
            // A program that is not used here.
            Err(_) => {}
        }
    }
    let found = &mut all.found;
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup_by(|one, other| one.path == other.path);
    // The notes of Claude Code lie beside its transcripts.
    all.unreadable.sort_by(|one, other| one.0.cmp(&other.0));
    all.unreadable.dedup_by(|one, other| one.0 == other.0);
    all
}
