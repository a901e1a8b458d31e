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
}

/// What a commit undoes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Undoes {
    pub commit: Id,
    /// The file name, without folders, of the one memory whose change is undone; `None`: all.
    pub file: Option<String>,
}

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
