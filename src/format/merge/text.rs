//! One text of a merge, and where its parts lie.

use std::borrow::Cow;

use crate::format::layout::{FileLayout, Frontmatter};

/// The bytes of a file, and where its parts lie.
pub(super) struct Text<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) layout: FileLayout,
}

impl<'a> Text<'a> {
    pub(super) fn of(bytes: Cow<'a, [u8]>) -> Text<'a> {
        let layout = FileLayout::of(&bytes);
        Text { bytes, layout }
    }

    /// Returns the bytes between the `---` lines.
    pub(super) fn keys(&self) -> &[u8] {
        &self.bytes[self.layout.keys.clone()]
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.bytes[self.layout.content.clone()]
    }

    /// Returns whether both have a frontmatter, or both have none.
    pub(super) fn is_like(&self, other: &Text<'_>) -> bool {
        self.layout.frontmatter == other.layout.frontmatter
    }

    /// Returns the same text, below a frontmatter without keys if it has none.
    pub(super) fn with_frontmatter(&self) -> Text<'_> {
        if self.layout.frontmatter != Frontmatter::Absent {
            return Text::of(Cow::Borrowed(&self.bytes));
        }
        let (mark, text) = self.bytes.split_at(self.layout.content.start);
        Text::of(Cow::Owned([mark, b"---\n---\n\n", text].concat()))
    }

    /// Returns the same lines with the line ends of `other`, if their frontmatters differ in them: who
    /// changed nothing else changed no line.
    pub(super) fn with_line_ends_of(self, other: &Text<'_>) -> Text<'a> {
        let newline = other.layout.newline;
        if self.layout.frontmatter != Frontmatter::Whole || self.layout.newline == newline {
            return self;
        }
        let mut styled = Vec::with_capacity(self.bytes.len());
        for line in self.bytes.split_inclusive(|&byte| byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(text) => {
                    styled.extend_from_slice(text.strip_suffix(b"\r").unwrap_or(text));
                    styled.extend_from_slice(newline.as_bytes());
                }
                None => styled.extend_from_slice(line),
            }
        }
        Text::of(Cow::Owned(styled))
    }
}
