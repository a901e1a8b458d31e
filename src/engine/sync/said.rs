//! Reads what a commit says of itself: the other direction of `message`.
//!
//! Commits of other programs and of people are read the same way; what they do not say is absent.

use crate::git::Id;

/// What a commit says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Said {
    /// Its first line.
    pub subject: String,
    pub agents: Vec<String>,
    pub users: Vec<String>,
    /// With what it was made; none says that memdir did not make it.
    pub tools: Vec<String>,
    pub undoes: Vec<Undoes>,
    /// What the memories are called that it is about, in its order; what was done to each is in front.
    pub memories: Vec<(String, String)>,
}

/// What a commit undoes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Undoes {
    pub commit: Id,
    /// The file name, without folders, of the one memory whose change is undone; `None`: all.
    pub file: Option<String>,
}

/// What is done to a memory, as messages call it.
const DEEDS: [&str; 6] = ["Add", "Change", "Move", "Forget", "Restore", "Delete"];
/// The key of the trailer that says what a commit undoes.
pub(super) const UNDOES: &str = "Undoes";

impl Undoes {
    /// As it stands in the trailer.
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

/// Reads a commit's message.
pub(super) fn read(message: &str) -> Said {
    let message = message.trim();
    let mut said = Said {
        subject: message.lines().next().unwrap_or_default().to_owned(),
        ..Said::default()
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
    let Some((_, last)) = message.rsplit_once("\n\n") else {
        return said;
    };
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
        assert_eq!(read("Tool: mend").tools, [""; 0]);
        assert_eq!(read(""), Said::default());
    }
}
