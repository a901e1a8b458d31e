//! Moves the files of memories into the folders of a layout, and stores the layout in the settings.
//!
//! Promises: nothing is replaced, and only files in a folder of one of the program's layouts are
//! moved: files in other folders, or with other names, stay. An interrupted run is finished by the
//! next one.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::error::EngineError;
use crate::engine::history::commits::message::Reason;
use crate::engine::history::turn;
use crate::engine::options::SETTINGS;
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::files::{FilesError, Place, Replaced};
use crate::model::Layout;

/// Result of a rearrangement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rearranged {
    /// Number of files that were moved.
    pub moved: usize,
    /// Number of files that stay because another file has their new name.
    pub left: usize,
}

/// Old and new names of files, by the folders that they move from and to.
type Moves = BTreeMap<(String, String), Vec<(String, String)>>;

/// Maximum number of times the settings are read again because another process writes them.
const MAX_TRIES: usize = 8;

/// Counts the files that are not where `layout` puts them.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub fn out_of_place(engine: &Engine, layout: Layout) -> Result<usize, EngineError> {
    let mut count = 0;
    for place in [Place::Files, Place::Archive] {
        count += moves(engine, place, layout)?
            .values()
            .map(Vec::len)
            .sum::<usize>();
    }
    Ok(count)
}

/// Counts the live memories that lie in no folder below `files/`.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub fn in_no_folder(engine: &Engine) -> Result<usize, EngineError> {
    let entries = engine.live.store.list(Place::Files)?.entries;
    let is_in_none = |name: &str| !name.contains('/');
    Ok(entries
        .iter()
        .filter(|entry| is_in_none(&entry.name))
        .count())
}

/// Moves the memories, live and forgotten, to where `layout` puts them, and writes it into the
/// store's settings; one commit, after pending changes got their own.
///
/// # Errors
///
/// Fails if files cannot be moved. Then it can be done again.
pub fn rearrange(engine: &Engine, layout: Layout) -> Result<Rearranged, EngineError> {
    engine.writer.check_writable()?;
    let turn = match engine.history.git {
        None => None,
        Some(_) => Some(turn::take_turn(&engine.history)?),
    };
    let mut done = Rearranged { moved: 0, left: 0 };
    let mut names = BTreeSet::new();
    for place in [Place::Files, Place::Archive] {
        for ((from, to), moves) in self::moves(engine, place, layout)? {
            for (old, new) in moves {
                match engine.writer.rename((place, &old), (place, &new)) {
                    Ok(()) => {
                        done.moved += 1;
                        engine.writer.note_change("layout", &old);
                        engine.writer.note_change("layout", &new);
                        names.extend([old, new]);
                    }
                    Err(FilesError::Missing { .. }) => {} // Forgotten or moved meanwhile.
                    Err(FilesError::Taken { .. }) => done.left += 1,
                    Err(error) => return Err(error.into()),
                }
            }
            // The new names first: a power cut in between leaves two names, never none.
            engine.writer.sync_folder(place, &to)?;
            engine.writer.sync_folder(place, &from)?;
            engine.writer.remove_if_empty(place, &from);
        }
    }
    set_layout(engine, layout)?;
    if let Some((_lock, user)) = turn {
        let subject = match done.moved {
            0 => format!("Change {SETTINGS}"),
            1 => "Move 1 memory".to_owned(),
            count => format!("Move {count} memories"),
        };
        let reason = Reason {
            subject,
            trailers: Vec::new(),
        };
        names.insert(SETTINGS.to_owned());
        turn::commit_as(&engine.history, names, user, &reason)?;
    }
    Ok(done)
}

/// Returns the moves that put the files of `place` where `layout` puts them.
fn moves(engine: &Engine, place: Place, layout: Layout) -> Result<Moves, EngineError> {
    let folder_of = |name: &str| {
        let folder = name.rsplit_once('/').map(|(folder, _)| folder);
        folder.unwrap_or_default().to_owned()
    };
    let mut moves = Moves::new();
    for entry in engine.live.store.list(place)?.entries {
        let stem = stem_of(&entry.name);
        let is_ours = engine.live.is_placed(&stem, &entry.name);
        let wanted = engine.live.placed(layout, &stem);
        if is_ours && wanted != entry.name {
            let folders = (folder_of(&entry.name), folder_of(&wanted));
            moves.entry(folders).or_default().push((entry.name, wanted));
        }
    }
    Ok(moves)
}

/// Writes `layout` into the settings that are shared with the store.
fn set_layout(engine: &Engine, layout: Layout) -> Result<(), EngineError> {
    for _ in 0..MAX_TRIES {
        let seen = engine.live.store.version_at(SETTINGS)?;
        let before = seen.as_ref().map_or(&[][..], |seen| &seen.bytes);
        let Ok(before) = std::str::from_utf8(before) else {
            return Err(EngineError::Invalid(format!(
                "{SETTINGS} is not UTF-8, so `layout = \"{layout}\"` was not written into it"
            )));
        };
        let after = with_layout(before, layout);
        if after == before {
            return Ok(());
        }
        let bytes = Some(after.as_bytes());
        if engine.writer.put_beside(SETTINGS, seen.as_ref(), bytes)? == Replaced::Done {
            engine.writer.leave_note("layout", SETTINGS);
            return Ok(());
        }
    }
    Err(EngineError::Invalid(format!(
        "{SETTINGS} changes faster than it can be written"
    )))
}

/// Returns the settings with the line of the layout changed, or added before the first table.
fn with_layout(settings: &str, layout: Layout) -> String {
    let newline = if settings.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let line = format!("layout = \"{layout}\"");
    let (mut text, mut is_done) = (String::new(), false);
    for old in settings.split_inclusive('\n') {
        // As TOML has it: behind the mark of an editor, or in quotes.
        let key = old.trim_start_matches('\u{feff}').split('=').next();
        let key = key.unwrap_or_default().trim().trim_matches(['"', '\'']);
        if !is_done && old.trim_start().starts_with('[') {
            text.push_str(&format!("{line}{newline}"));
            is_done = true;
        }
        if is_done || key != "layout" {
            text.push_str(old);
            continue;
        }
        let comment = old.trim_end().find('#').map(|at| &old.trim_end()[at..]);
        text.push_str(&line);
        text.extend(comment.map(|comment| format!("  {comment}")));
        text.push_str(newline);
        is_done = true;
    }
    if !is_done {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(newline);
        }
        text.push_str(&format!("{line}{newline}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        assert_eq!(with_layout(before, Layout::ByMonth), after);
    }

    #[test]
    fn only_the_line_of_the_layout_changes() {
        check("", "layout = \"by-month\"\n");
        check("# x\nlimit = 3", "# x\nlimit = 3\nlayout = \"by-month\"\n");
        check(
            "layout = \"flat\"  # small\nlimit = 3\n",
            "layout = \"by-month\"  # small\nlimit = 3\n",
        );
        check(
            "# layout = \"flat\"\r\nlayout=\"flat\"\r\n",
            "# layout = \"flat\"\r\nlayout = \"by-month\"\r\n",
        );
        check("\"layout\" = 'flat'\n", "layout = \"by-month\"\n");
        check("\u{feff}layout = \"flat\"\n", "layout = \"by-month\"\n");
        check(
            "a = 1\n[t]\nlayout = \"flat\"\n",
            "a = 1\nlayout = \"by-month\"\n[t]\nlayout = \"flat\"\n",
        );
    }

    #[test]
    fn settings_that_say_it_stay_as_they_are() {
        let settings = "limit = 3\nlayout = \"by-month\"\n";
        check(settings, settings);
    }
}
