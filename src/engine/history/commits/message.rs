//! Writes commit messages.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use crate::engine::texts::{key_of, stem_of};
use crate::files::Place;

/// The kind of change of one memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::engine) enum ChangeKind {
    Add,
    Change,
    Move,
    Forget,
    Restore,
    Delete,
    /// Addition of a file of the store that is no memory, such as its settings.
    AddOther,
    /// Change of such a file.
    ChangeOther,
    /// Uses of memories, in a commit of journals only.
    Use,
}

impl ChangeKind {
    /// Whether the change is of no memory.
    pub fn is_other(self) -> bool {
        matches!(
            self,
            ChangeKind::AddOther | ChangeKind::ChangeOther | ChangeKind::Use
        )
    }

    fn word(self) -> &'static str {
        match self {
            ChangeKind::Add => "Add",
            ChangeKind::Change => "Change",
            ChangeKind::Move => "Move",
            ChangeKind::Forget => "Forget",
            ChangeKind::Restore => "Restore",
            ChangeKind::Delete => "Delete",
            ChangeKind::AddOther | ChangeKind::Use => "Add",
            ChangeKind::ChangeOther => "Change",
        }
    }
}

/// A change of one memory in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct MemoryChange {
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Path below the store's folder.
    pub path: String,
}

/// Agents, users and tools of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::engine) struct Attribution {
    /// Agents of the memories.
    pub agents: BTreeSet<String>,
    /// Users of the memories.
    pub users: BTreeSet<String>,
    /// Tools that made the changes.
    pub tools: BTreeSet<String>,
}

impl Attribution {
    /// Adds the agent and the user of a memory.
    pub fn add(&mut self, agent: String, user: String) {
        self.agents
            .extend(Some(agent).filter(|agent| !agent.is_empty()));
        self.users
            .extend(Some(user).filter(|user| !user.is_empty()));
    }
}

/// Subject and trailers of a commit that is made for one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct Reason {
    /// First line of the message.
    pub subject: String,
    /// Additional trailers, each with its key.
    pub trailers: Vec<(&'static str, String)>,
}

/// Maximum number of lines of a body.
const MAX_LINES: usize = 1000;

/// Maximum number of trailers of one key.
const MAX_DOERS: usize = 8;

/// Returns the message of a commit of `changes`, which is not empty: groups of changes by operation,
/// oldest first. Each has a paragraph, by which `commit_message` separates them.
pub(in crate::engine) fn message(
    changes: &[Vec<MemoryChange>],
    attribution: &Attribution,
    reason: Option<&Reason>,
) -> String {
    let all: Vec<&MemoryChange> = changes.iter().flatten().collect();
    let memories: Vec<&MemoryChange> = all
        .iter()
        .copied()
        .filter(|one| !one.kind.is_other())
        .collect();
    let given = reason.map(|reason| one_line(&reason.subject));
    let is_apart = given.is_none() && all.len() <= MAX_LINES;
    let mut text = match (all.as_slice(), memories.as_slice()) {
        ([one], _) => given.unwrap_or_else(|| subject(one)),
        (several, memories) => {
            let mut text = match (given, memories) {
                (Some(given), _) => given,
                (None, []) => subject(several[0]),
                (None, [one]) => subject(one),
                (None, _) => counts(memories),
            };
            text.push_str("\n\n");
            for (at, together) in changes.iter().enumerate() {
                if at > 0 && is_apart {
                    text.push('\n');
                }
                let before: usize = changes[..at].iter().map(Vec::len).sum();
                for one in together.iter().take(MAX_LINES.saturating_sub(before)) {
                    let _ = writeln!(text, "{}", subject(one));
                }
            }
            if several.len() > MAX_LINES {
                let _ = writeln!(text, "and {} more", several.len() - MAX_LINES);
            }
            text.truncate(text.trim_end().len());
            text
        }
    };
    text.push_str("\n\n");
    for (key, values) in [
        ("Agent", &attribution.agents),
        ("User", &attribution.users),
        ("Tool", &attribution.tools),
    ] {
        for value in values.iter().take(MAX_DOERS) {
            let _ = writeln!(text, "{key}: {}", one_line(value));
        }
    }
    for (key, value) in reason.iter().flat_map(|reason| &reason.trailers) {
        let _ = writeln!(text, "{key}: {}", one_line(value));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn subject(change: &MemoryChange) -> String {
    let path = one_line(&change.path);
    if change.kind == ChangeKind::Use {
        return format!("{} uses of memories", change.kind.word());
    }
    if change.kind.is_other() {
        return format!("{} {path}", change.kind.word());
    }
    let name = Place::of(&change.path).map_or(change.path.as_str(), |(_, name)| name);
    let stem = stem_of(name);
    let file = one_line(key_of(name));
    let word = change.kind.word();
    format!("{word} memory {} ({file})", one_line(stem.short()))
}

/// Returns a summary such as `Add 3 memories, change 1`.
fn counts(changes: &[&MemoryChange]) -> String {
    let mut counts: HashMap<ChangeKind, usize> = HashMap::new();
    changes
        .iter()
        .for_each(|one| *counts.entry(one.kind).or_default() += 1);
    let mut counts: Vec<(ChangeKind, usize)> = counts.into_iter().collect();
    counts.sort_unstable();
    let mut text = String::new();
    for (at, (kind, count)) in counts.into_iter().enumerate() {
        let noun = if count == 1 { " memory" } else { " memories" };
        let word = kind.word();
        let _ = match at {
            0 => write!(text, "{word} {count}{noun}"),
            _ => write!(text, ", {} {count}", word.to_lowercase()),
        };
    }
    text
}

/// Replaces control characters: names are foreign input, and programs parse messages.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: ChangeKind, path: &str) -> MemoryChange {
        MemoryChange {
            kind,
            path: path.to_owned(),
        }
    }

    #[test]
    fn one_memory_is_named_in_the_subject() {
        let add = change(ChangeKind::Add, "files/20260101_000000_aaaaaaaa.md");
        let attribution = Attribution {
            agents: ["claude".to_owned()].into(),
            users: ["mira".to_owned()].into(),
            tools: ["remember (claude-code)".to_owned()].into(),
        };
        assert_eq!(
            message(&[vec![add]], &attribution, None),
            "Add memory aaaaaaaa (20260101_000000_aaaaaaaa.md)\n\n\
             Agent: claude\nUser: mira\nTool: remember (claude-code)\n"
        );
    }

    #[test]
    fn several_are_counted_and_listed() {
        let all = vec![
            change(ChangeKind::Add, "files/2026-01/20260101_000000_aaaaaaaa.md"),
            change(ChangeKind::Add, "files/a\nb.md"),
            change(ChangeKind::Forget, "archive/20260101_000000_bbbbbbbb.md"),
            change(ChangeKind::Add, "files/plans/index.md"),
            change(ChangeKind::ChangeOther, "memdir.toml"),
        ];
        assert_eq!(
            message(&[all], &Attribution::default(), None),
            "Add 3 memories, forget 1\n\n\
             Add memory aaaaaaaa (20260101_000000_aaaaaaaa.md)\n\
             Add memory a b (a b.md)\n\
             Forget memory bbbbbbbb (20260101_000000_bbbbbbbb.md)\n\
             Add memory index (plans/index.md)\n\
             Change memdir.toml\n"
        );
    }

    #[test]
    fn each_deed_has_a_paragraph() {
        let add = change(ChangeKind::Add, "files/tulips.md");
        let forget = change(ChangeKind::Forget, "archive/20260101_000000_bbbbbbbb.md");
        let attribution = Attribution {
            tools: ["by hand".to_owned()].into(),
            ..Attribution::default()
        };
        assert_eq!(
            message(&[vec![add], vec![forget]], &attribution, None),
            "Add 1 memory, forget 1\n\n\
             Add memory tulips (tulips.md)\n\n\
             Forget memory bbbbbbbb (20260101_000000_bbbbbbbb.md)\n\n\
             Tool: by hand\n"
        );
    }

    #[test]
    fn uses_have_no_names() {
        let uses = vec![change(ChangeKind::Use, "journal")];
        let said = message(&[uses], &Attribution::default(), None);
        assert_eq!(said, "Add uses of memories\n");
    }

    #[test]
    fn a_reason_takes_the_place_of_what_the_files_say() {
        let forget = change(ChangeKind::Forget, "archive/20260101_000000_aaaaaaaa.md");
        let attribution = Attribution {
            tools: ["undo".to_owned()].into(),
            ..Attribution::default()
        };
        let reason = Reason {
            subject: "Undo Add\nmemory".to_owned(),
            trailers: vec![("Undoes", "0123".to_owned())],
        };
        assert_eq!(
            message(&[vec![forget]], &attribution, Some(&reason)),
            "Undo Add memory\n\nTool: undo\nUndoes: 0123\n"
        );
    }
}
