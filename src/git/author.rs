//! The author of a commit.

/// The author of a commit, with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Name of the author.
    pub name: String,
    /// Mail address of the author.
    pub email: String,
    /// Time of the commit, in seconds since 1970.
    pub at: i64,
}

impl Author {
    /// Returns an author of whom only the name is known, with an address at `host`.
    pub fn named(name: &str, host: &str, at: i64) -> Author {
        let cleaned: String = name
            .chars()
            .filter(|c| !c.is_control() && !matches!(c, '<' | '>'))
            .collect();
        // Git leaves these away at both ends.
        let is_left = |c: char| c.is_whitespace() || ".,:;\"\\'".contains(c);
        let name = match cleaned.trim_matches(is_left) {
            "" => "memdir",
            name => name,
        };
        let local: String = name
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '.' })
            .collect();
        Author {
            name: name.to_owned(),
            email: format!("{local}@{host}"),
            at,
        }
    }
}
