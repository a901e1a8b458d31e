//! Talks: memories that hold conversations, and the folder they lie in.

use super::{Memory, MetaValue, Stem};

/// Folder below `files/` and `archive/` that holds talks, in one folder a year.
pub const TALKS: &str = "talks";

/// Metadata key that marks a talk; its value is `true`.
pub const TALK: &str = "talk";

/// Folder of new memories in a store of notes.
pub const NEW_NOTES: &str = "memories";

/// Returns the path of a talk below its place, such as `talks/2026/STEM.md`; the year is that of its name.
pub fn talk_name(stem: &Stem) -> String {
    let year = stem.as_str().get(..4).unwrap_or_default();
    format!("{TALKS}/{year}/{stem}.md")
}

/// Returns whether the file `name`, a path below its place, lies in the folder of talks.
pub fn is_talk_name(name: &str) -> bool {
    let below = |name: &str, folder: &str| {
        let name = name.strip_prefix(folder)?.strip_prefix('/')?;
        Some(name.to_owned())
    };
    let own = below(name, NEW_NOTES).unwrap_or_else(|| name.to_owned());
    let year = below(&own, TALKS);
    let year = year.as_deref().and_then(|rest| rest.split_once('/'));
    year.is_some_and(|(year, _)| year.len() == 4 && year.bytes().all(|one| one.is_ascii_digit()))
}

/// Returns the speaker whom a line of a talk's text names, such as `**User** · 2026-03-04 10:00 UTC`.
pub fn speaker(line: &str) -> Option<&str> {
    let (who, rest) = line.strip_prefix("**")?.split_once("**")?;
    let is_time = rest.starts_with(" · ") && rest.ends_with(" UTC");
    (!who.is_empty() && (rest.is_empty() || is_time)).then_some(who)
}

impl Memory {
    /// Returns whether it is marked as a talk.
    pub fn is_talk(&self) -> bool {
        let mut metadata = self.metadata.iter();
        metadata.any(|(key, value)| key == TALK && *value == MetaValue::Bool(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speaker_stands_alone_on_a_line() {
        assert_eq!(speaker("**User** · 2026-03-04 10:00 UTC"), Some("User"));
        assert_eq!(speaker("**Claude**"), Some("Claude"));
        for other in ["**Note** that", "**User", " **User**", "****", "User"] {
            assert_eq!(speaker(other), None, "{other}");
        }
    }

    #[test]
    fn talks_lie_in_a_folder_of_their_year() {
        let stem = Stem::parse("20260609_082911_d07be4a1").unwrap();
        let name = talk_name(&stem);
        assert_eq!(name, "talks/2026/20260609_082911_d07be4a1.md");
        assert!(is_talk_name(&name) && is_talk_name(&format!("memories/{name}")));
        for other in [
            "talks/a.md",
            "talks/mine/2026/a.md",
            "x/talks/2026/a.md",
            "talksy/2026/a.md",
        ] {
            assert!(!is_talk_name(other), "{other}");
        }
    }
}
