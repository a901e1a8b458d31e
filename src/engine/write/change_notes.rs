//! Notes of processes about their changes for the next commit: the tool that changed a file, and
//! the operation, whose changes are undone together.

use std::cell::Cell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::files::{leave_line, take_lines};

/// Tool that a commit names for a change without a note.
pub(in crate::engine) const BY_HAND: &str = "by hand";

/// Tool that a commit names for notes that existed when their store was made.
pub(in crate::engine) const FOUND: &str = "init";

/// Tools that move a file and leave its text.
const MOVING: [&str; 3] = ["forget", "restore", "layout"];

thread_local! {
    /// Number of this thread's operation, and number of its open handles.
    static DEED: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
}

static LAST_DEED: AtomicU64 = AtomicU64::new(0);

/// Groups the changes of this thread until it is dropped: they are undone together.
#[derive(Debug)]
pub struct OneDeed(PhantomData<*const ()>);

impl OneDeed {
    /// Begins an operation, or joins the present one of this thread.
    pub fn begin() -> OneDeed {
        let (deed, depth) = DEED.get();
        let deed = match depth {
            0 => next_deed(),
            _ => deed,
        };
        DEED.set((deed, depth + 1));
        OneDeed(PhantomData)
    }
}

impl Drop for OneDeed {
    fn drop(&mut self) {
        let (deed, depth) = DEED.get();
        DEED.set((deed, depth.saturating_sub(1)));
    }
}

fn next_deed() -> u64 {
    LAST_DEED.fetch_add(1, Ordering::Relaxed) + 1
}

/// Note about one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct ChangeNote {
    /// Tool and client, such as `update (claude-code)`.
    pub tool: String,
    /// Id of the operation, the same for changes that belong together; none in notes of an earlier version.
    pub deed: Option<String>,
}

impl ChangeNote {
    fn is_of_move(&self) -> bool {
        let tool = self.tool.split(' ').next().unwrap_or_default();
        MOVING.contains(&tool)
    }
}

/// Notes about changes that wait for their commit, by the name of the file, oldest first.
#[derive(Debug, Default)]
pub(in crate::engine) struct ChangeNotes {
    path: PathBuf,
    taken: Option<HashMap<String, Vec<ChangeNote>>>,
}

impl ChangeNotes {
    fn all(&mut self) -> &HashMap<String, Vec<ChangeNote>> {
        let path = &self.path;
        self.taken.get_or_insert_with(|| {
            let mut notes: HashMap<String, Vec<ChangeNote>> = HashMap::new();
            for line in take_lines(path) {
                let mut parts = line.splitn(3, '\t');
                if let (Some(tool), Some(name)) = (parts.next(), parts.next()) {
                    let note = ChangeNote {
                        tool: tool.to_owned(),
                        deed: parts.next().map(str::to_owned),
                    };
                    notes.entry(name.to_owned()).or_default().push(note);
                }
            }
            notes
        })
    }

    /// Returns the last note about the file `name`.
    pub fn last(&mut self, name: &str) -> Option<&ChangeNote> {
        self.all().get(name)?.last()
    }

    /// Returns the tool that wrote the text of `name` before its last `count` changes.
    pub fn tool_before(&mut self, name: &str, count: usize) -> Option<String> {
        let notes = self.all().get(name)?.iter();
        let notes: Vec<&ChangeNote> = notes.filter(|note| !note.is_of_move()).collect();
        let at = notes.len().checked_sub(count + 1)?;
        Some(notes[at].tool.clone())
    }

    /// Whether a program moved the file `name` last.
    pub fn was_moved(&mut self, name: &str) -> bool {
        self.last(name).is_some_and(ChangeNote::is_of_move)
    }

    /// Returns the tool that last changed the text of `name`.
    pub fn tool_of_change(&mut self, name: &str) -> Option<String> {
        let mut notes = self.all().get(name)?.iter().rev();
        let note = notes.find(|note| !note.is_of_move())?;
        Some(note.tool.clone())
    }

    /// Drops the notes about the files that `is_waiting` is false of.
    pub fn retain(&mut self, mut is_waiting: impl FnMut(&str) -> bool) {
        if let Some(taken) = &mut self.taken {
            taken.retain(|name, _| is_waiting(name));
        }
    }

    /// Keeps the notes for the next commit, before those that were left meanwhile.
    pub fn put_back(self) {
        let Some(taken) = self.taken.filter(|taken| !taken.is_empty()) else {
            return;
        };
        let mut lines = Vec::new();
        for (name, notes) in taken {
            for ChangeNote { tool, deed } in notes {
                lines.push(match deed {
                    None => format!("{tool}\t{name}"),
                    Some(deed) => format!("{tool}\t{name}\t{deed}"),
                });
            }
        }
        lines.extend(take_lines(&self.path));
        let _ = leave_line(&self.path, &lines.join("\n")); // The commit then says "by hand".
    }
}

/// Writes a note below `state` that `client` changed the file `name` with `tool`, for the next commit.
/// All changes of a process that runs one command are one operation.
pub(in crate::engine) fn leave_note(
    state: &Path,
    client: &str,
    is_command: bool,
    tool: &str,
    name: &str,
) {
    let tool = match client {
        "" => tool.to_owned(),
        client => format!("{tool} ({})", client.replace(['\t', '\n'], " ")),
    };
    let deed = match DEED.get() {
        (deed, 1..) => deed,
        _ if is_command => 0,
        _ => next_deed(),
    };
    let line = format!("{tool}\t{name}\t{:x}-{deed:x}", std::process::id());
    // Without the note the commit names "by hand".
    let _ = leave_line(&notes_of_tools(state), &line);
}

/// Returns the notes below `state`.
pub(in crate::engine) fn change_notes(state: &Path) -> ChangeNotes {
    ChangeNotes {
        path: notes_of_tools(state),
        taken: None,
    }
}

fn notes_of_tools(state: &Path) -> PathBuf {
    state.join("tools.log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_what_no_commit_has_yet_stay_before_later_ones() {
        let folder = tempfile::tempdir().unwrap();
        let leave = |tool: &str, name: &str| leave_note(folder.path(), "", false, tool, name);
        leave("remember", "a.md");
        leave("remember", "b.md");
        let mut notes = change_notes(folder.path());
        assert_eq!(notes.last("a.md").unwrap().tool, "remember");
        // Changed while the commit of the first file is made.
        leave("update", "b.md");
        notes.retain(|name| name != "a.md");
        notes.put_back();
        let mut notes = change_notes(folder.path());
        assert_eq!(notes.last("a.md"), None);
        assert_eq!(notes.last("b.md").unwrap().tool, "update");
        assert_eq!(notes.tool_before("b.md", 1).unwrap(), "remember");
    }
}
