//! The frontmatter as a row of keys, each with the comments above it.

use std::collections::HashSet;

use crate::format::comment::comment_of;
use crate::format::layout::FileLayout;
use crate::format::limits::{MAX_FRONTMATTER_BYTES, MAX_KEYS};
use crate::format::markers::has_conflict_markers;

/// One key with all its lines.
#[derive(Debug)]
pub(super) struct FrontKey<'a> {
    pub name: String,
    /// Comments and blank lines between the key before and this one.
    pub above: Vec<&'a str>,
    /// From the line's beginning to the colon, with it.
    pub head: &'a str,
    /// The rest of the line, without its end.
    pub value: &'a str,
    /// The lines below that belong to the key.
    pub below: &'a str,
    /// All of its lines.
    pub whole: &'a str,
}

/// The lines between the two `---` lines, as keys.
#[derive(Debug)]
pub(super) struct Front<'a> {
    pub keys: Vec<FrontKey<'a>>,
    /// Comments and blank lines after the last key.
    pub tail: Vec<&'a str>,
}

impl<'a> Front<'a> {
    /// Takes the frontmatter apart; `None` if that needs a guess: lines that are no key's, a key
    /// that stands twice, conflict markers, bytes that are no text, or more than the format allows.
    pub fn read(bytes: &'a [u8], layout: &FileLayout) -> Option<Front<'a>> {
        let text = std::str::from_utf8(&bytes[layout.keys.clone()]).ok()?;
        if !layout.stray.is_empty()
            || has_conflict_markers(text.as_bytes())
            || text.len() > MAX_FRONTMATTER_BYTES
            || layout.entries.len() > MAX_KEYS
        {
            return None;
        }
        let start = layout.keys.start;
        let part = |range: std::ops::Range<usize>| &text[range.start - start..range.end - start];
        let lines = |range| part(range).split_inclusive('\n').collect::<Vec<&str>>();
        let mut names = HashSet::new();
        let mut at = start;
        let mut keys = Vec::new();
        for entry in &layout.entries {
            if !names.insert(&entry.key) {
                return None;
            }
            keys.push(FrontKey {
                name: entry.key.clone(),
                above: lines(at..entry.lines.start),
                head: part(entry.lines.start..entry.value.start),
                value: part(entry.value.clone()),
                below: part(entry.below.clone()),
                whole: part(entry.lines.clone()),
            });
            at = entry.lines.end;
        }
        let tail = lines(at..layout.keys.end);
        Some(Front { keys, tail })
    }

    pub fn key(&self, name: &str) -> Option<&FrontKey<'a>> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns the comments on lines of their own that belong to no key.
    pub fn comment_lines(&self) -> HashSet<&'a str> {
        self.keys
            .iter()
            .flat_map(|key| &key.above)
            .chain(&self.tail)
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .collect()
    }

    /// Everything that may be a comment, wherever it stands.
    pub fn comments(&self) -> HashSet<String> {
        let after_values = self.keys.iter().map(|key| {
            // The format drops a comment after `links` when they change; a merge does not.
            let name = if key.name == "links" {
                "topics"
            } else {
                &key.name
            };
            comment_of(name, key.value)
        });
        let below = self.keys.iter().flat_map(|key| key.below.lines());
        let below = below.filter_map(|line| {
            let hash = [" #", "\t#"]
                .iter()
                .filter_map(|mark| line.find(mark))
                .min();
            match hash {
                _ if line.starts_with('#') => Some(line),
                Some(at) => Some(&line[at..]),
                None => None,
            }
        });
        after_values
            .chain(below.map(str::to_owned))
            .chain(self.comment_lines().into_iter().map(str::to_owned))
            .map(|comment| comment.trim().to_owned())
            .filter(|comment| !comment.is_empty())
            .collect()
    }
}
