//! Finds the parts of a memory file, as byte ranges; the only code that knows about lines.

use std::ops::Range;

use super::scalar;

/// A top-level key with all its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyEntry {
    pub key: String,
    /// From the key's first byte to the end of its last line, line end included.
    pub lines: Range<usize>,
    /// The rest of the key's line after the colon, without line end, untrimmed.
    pub value: Range<usize>,
    /// The lines below that belong to the key.
    pub below: Range<usize>,
}

/// The parts of a file. Ranges index the bytes that were given to [`FileLayout::of`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileLayout {
    pub newline: &'static str,
    /// In the order of the file.
    pub entries: Vec<KeyEntry>,
    /// Lines that are neither a key, a comment nor blank.
    pub stray: Vec<Range<usize>>,
    /// From the place of the first key to the beginning of the closing line.
    pub keys: Range<usize>,
    /// The body: everything after the closing line and one blank line.
    pub content: Range<usize>,
    pub frontmatter: Frontmatter,
}

/// Whether a file has the block of keys at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frontmatter {
    Whole,
    NotClosed,
    Absent,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl FileLayout {
    /// Finds the parts of `bytes`. A file without a whole frontmatter is all content.
    pub fn of(bytes: &[u8]) -> FileLayout {
        let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let all_content = |frontmatter| FileLayout {
            newline: "\n",
            entries: Vec::new(),
            stray: Vec::new(),
            keys: start..start,
            content: start..bytes.len(),
            frontmatter,
        };
        let opening = line_at(bytes, start);
        if !is_fence(&bytes[opening.clone()]) || opening.end == bytes.len() {
            return all_content(Frontmatter::Absent);
        }
        let newline = if bytes[opening.clone()].ends_with(b"\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let mut layout = FileLayout {
            newline,
            ..all_content(Frontmatter::NotClosed)
        };
        let mut at = opening.end;
        while at < bytes.len() {
            let line = line_at(bytes, at);
            if is_fence(&bytes[line.clone()]) {
                layout.keys = opening.end..line.start;
                layout.frontmatter = Frontmatter::Whole;
                layout.content = content_start(bytes, line.end)..bytes.len();
                layout.find_entries(bytes);
                return layout;
            }
            at = line.end;
        }
        layout
    }

    /// Returns the first entry of `key`: the one that counts.
    pub fn entry(&self, key: &str) -> Option<&KeyEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn find_entries(&mut self, bytes: &[u8]) {
        let mut at = self.keys.start;
        // How far the line is indented that opened a text of several lines, where `#` is a letter.
        let mut text_below: Option<usize> = None;
        while at < self.keys.end {
            let line = line_at(bytes, at);
            at = line.end;
            let text = trim_line_end(&bytes[line.clone()]);
            let blanks = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
            if blanks == text.len() {
                continue;
            }
            if text_below.is_none_or(|opener| blanks <= opener) {
                text_below = None;
                // Indented or not, a comment stays where it is when the key above it changes.
                if text[blanks] == b'#' {
                    continue;
                }
                if opens_text(text) {
                    text_below = Some(blanks);
                }
            }
            if continues(text) {
                // Blank lines and comments before it were passed over; they lie inside the value.
                match self.entries.last_mut() {
                    Some(entry) => {
                        entry.below.end = line.end;
                        entry.lines.end = line.end;
                    }
                    None => self.stray.push(line.start..line.start + text.len()),
                }
                continue;
            }
            match text.iter().position(|&b| b == b':') {
                Some(colon) if colon > 0 => self.entries.push(KeyEntry {
                    key: key_text(&text[..colon]),
                    value: line.start + colon + 1..line.start + text.len(),
                    below: line.end..line.end,
                    lines: line,
                }),
                _ => self.stray.push(line.start..line.start + text.len()),
            }
        }
    }
}

/// Returns whether a line belongs to the key above: indented, a list item, or the end of a flow value.
fn continues(line: &[u8]) -> bool {
    matches!(line[0], b' ' | b'\t' | b']' | b'}') || line == b"-" || line.starts_with(b"- ")
}

/// Returns whether the lines below belong to a text: after `|` or `>`, or inside of open quotes.
fn opens_text(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    let head = line.split(" #").next().unwrap_or(&line).trim_end();
    let head = head.trim_end_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    if head.ends_with(['|', '>']) {
        return true;
    }
    let value = line
        .split_once(':')
        .map_or("", |(_, value)| scalar::trim_blank(value));
    value.starts_with(['"', '\'']) && scalar::unquote(value).is_none()
}

fn key_text(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let text = text.trim();
    let unquoted = |quote| text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
    unquoted('"')
        .or_else(|| unquoted('\''))
        .unwrap_or(text)
        .to_owned()
}

/// Returns the line that begins at `start`, its line end included.
fn line_at(bytes: &[u8], start: usize) -> Range<usize> {
    let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |at| start + at + 1);
    start..end
}

fn trim_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// `---`, with blanks after it forgiven.
fn is_fence(line: &[u8]) -> bool {
    line.starts_with(b"---") && line[3..].iter().all(u8::is_ascii_whitespace)
}

/// The blank line after the closing `---` is frame, not content.
fn content_start(bytes: &[u8], after_fence: usize) -> usize {
    let rest = &bytes[after_fence..];
    if rest.starts_with(b"\r\n") {
        after_fence + 2
    } else if rest.starts_with(b"\n") {
        after_fence + 1
    } else {
        after_fence
    }
}
