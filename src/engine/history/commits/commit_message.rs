//! Parses commit messages: the counterpart of `message`.
//!
//! Commits of other programs and of people are parsed the same way; missing parts are empty.

use crate::files::file_of;
use crate::git::Id;

/// A parsed commit message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::engine) struct CommitMessage {
    /// First line.
    pub subject: String,
    /// Agents from the trailers.
    pub agents: Vec<String>,
    /// Users from the trailers.
    pub users: Vec<String>,
    /// Tools from the trailers; empty in commits that memdir did not make.
    pub tools: Vec<String>,
    /// Commits, or changes in them, that this commit undoes.
    pub undoes: Vec<Undoes>,
    /// Change and name of each memory, in the order of the message.
    pub memories: Vec<(String, String)>,
    /// Lines of each operation, oldest first, if the message lists several.
    pub deeds: Vec<Vec<String>>,
}

impl CommitMessage {
    /// Returns the file that a line of an operation is about: of an id without folders, of another name below its
    /// place.
    pub fn file_in(line: &str) -> &str {
        let Some((_, name)) = line.split_once(" memory ") else {
            return line.split_once(' ').map_or(line, |(_, file)| file);
        };
        // `NAME (FOLDER/NAME.md)`, or `ID (NAME.md)`; a name may hold what looks like the middle of it.
        let name = name.strip_suffix(')').unwrap_or(name);
        let parts = name.match_indices(" (").map(|(at, middle)| {
            let (one, file) = (&name[..at], &name[at + middle.len()..]);
            (one, file)
        });
        let mut parts = parts.filter(|(one, file)| file_of(file).strip_suffix(".md") == Some(one));
        match parts.next() {
            Some((_, file)) => file,
            None => name.split_once(" (").map_or(name, |(_, file)| file),
        }
    }
}

/// A commit, or a change of one memory in it, that another commit undoes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct Undoes {
    /// Id of the undone commit.
    pub commit: Id,
    /// Name of the file whose change is undone, as [`CommitMessage::file_in`] returns it; `None`: all files.
    pub file: Option<String>,
}

/// Words of messages for changes of a memory.
const DEEDS: [&str; 6] = ["Add", "Change", "Move", "Forget", "Restore", "Delete"];

/// Key of the trailer that names what a commit undoes.
pub(in crate::engine) const UNDOES: &str = "Undoes";

impl Undoes {
    /// Returns the text for the trailer.
    pub fn written(&self) -> String {
        match &self.file {
            None => self.commit.to_string(),
            Some(file) => format!("{} {file}", self.commit),
        }
    }

    fn read(text: &str) -> Option<Undoes> {
        let (commit, file) = match text.split_once(' ') {
            Some((commit, file)) => (commit, Some(file.to_owned())),
            None => (text, None),
        };
        Some(Undoes {
            commit: Id::parse(commit)?,
            file,
        })
    }
}

/// Parses a commit message.
pub(in crate::engine) fn read(message: &str) -> CommitMessage {
    let message = message.trim();
    let mut said = CommitMessage {
        subject: message.lines().next().unwrap_or_default().to_owned(),
        ..CommitMessage::default()
    };
    // As `message` writes them: `Add memory 1f3a9c02 (20260114_091500_1f3a9c02.md)`.
    said.memories = message
        .lines()
        .filter_map(|line| {
            let (deed, rest) = line.split_once(" memory ")?;
            let (name, file) = rest.split_once(" (")?;
            let is_ours = DEEDS.contains(&deed) && file.ends_with(".md)");
            is_ours.then(|| (deed.to_owned(), name.to_owned()))
        })
        .collect();
    // Trailers are the last paragraph, and never the first.
    let Some((body, last)) = message.rsplit_once("\n\n") else {
        return said;
    };
    let deeds = body.split("\n\n").skip(1);
    said.deeds = deeds
        .map(|deed| deed.lines().map(str::to_owned).collect())
        .collect();
    if said.deeds.len() < 2 {
        said.deeds.clear();
    }
    for line in last.lines() {
        let Some((key, value)) = line.split_once(": ") else {
            continue;
        };
        let value = value.trim().to_owned();
        match key {
            "Agent" => said.agents.push(value),
            "User" => said.users.push(value),
            "Tool" => said.tools.push(value),
            UNDOES => said.undoes.extend(Undoes::read(&value)),
            _ => {}
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789012345678901234567890123456789";

    #[test]
    fn memories_are_read_from_subject_and_body() {
        let one = read("Add memory 1f3a9c02 (20260114_091500_1f3a9c02.md)\n\nAgent: a\n");
        assert_eq!(one.memories, [("Add".into(), "1f3a9c02".into())]);
        let two =
            read("Add 1 memory, forget 1\n\nAdd memory a (a.md)\nForget memory b c (b c.md)\n");
        let forgotten = ("Forget".to_owned(), "b c".to_owned());
        assert_eq!(two.memories, [("Add".into(), "a".into()), forgotten]);
        assert!(read("Fix memory leaks (again)").memories.is_empty());
    }

    #[test]
    fn trailers_are_read_where_git_would_read_them() {
        let said = read(&format!(
            "Undo Add memory a: b\n\nTool: no trailer\n\nAgent: a\nAgent: b: c\nTool: undo\nUndoes: {COMMIT}\nUndoes: {COMMIT} x y.md\nUndoes: z\n"
        ));
        assert_eq!(said.subject, "Undo Add memory a: b");
        assert_eq!(said.agents, ["a", "b: c"]);
        assert_eq!(said.tools, ["undo"]);
        let written: Vec<String> = said.undoes.iter().map(Undoes::written).collect();
        assert_eq!(written, [COMMIT.to_owned(), format!("{COMMIT} x y.md")]);
        assert_eq!(said.deeds, [[""; 0]; 0]);
        let said = read(
            "Add 2 memories\n\nAdd memory a (1) (a (1).md)\nAdd x.toml\n\nAdd memory b (b.md)\nAdd memory c (1) (p (q)/c (1).md)\n\nTool: t\n",
        );
        let files = |deed: &Vec<String>| -> Vec<String> {
            let files = deed
                .iter()
                .map(|line| CommitMessage::file_in(line).to_owned());
            files.collect()
        };
        let files: Vec<Vec<String>> = said.deeds.iter().map(files).collect();
        let second = vec!["b.md", "p (q)/c (1).md"];
        assert_eq!(files, [vec!["a (1).md", "x.toml"], second]);
        assert_eq!(read("Tool: mend").tools, [""; 0]);
        assert_eq!(read(""), CommitMessage::default());
    }
}
