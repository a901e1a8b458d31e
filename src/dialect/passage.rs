//! Passages: the lines of a long text that answer a search.

use std::ops::Range;

use super::preview::{Preview, PreviewWords, preview};

/// Minimum size in bytes of a content whose hits name a passage.
const LONG: usize = 4 << 10;

/// Number of bytes, for each character of a preview, from the beginning of a passage that are looked at at least.
const AROUND: usize = 8;

/// Maximum size in bytes of a passage of several lines: what one look takes in.
const MAX_PASSAGE: usize = 600;

/// Lines of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Number of the first line, from 1.
    pub first: usize,
    /// Number of the last line.
    pub last: usize,
    /// Byte offset of the first line.
    start: usize,
    /// Byte offset behind the last line.
    end: usize,
}

impl Passage {
    /// Returns the lines as `recall ID:LINES` takes them.
    pub fn lines(&self) -> String {
        match self.first == self.last {
            true => self.first.to_string(),
            false => format!("{}-{}", self.first, self.last),
        }
    }
}

/// Returns about `length` characters of a hit's content, from the passage that answers best if the content
/// is long; with that passage. Where `lines` of it were found, counted from 1, the passage is in them.
pub fn preview_of_hit(
    content: &str,
    lines: Option<&Range<usize>>,
    words: &PreviewWords,
    length: usize,
) -> (Preview, Option<Passage>) {
    let found = match lines.and_then(|lines| within(content, lines)) {
        Some((text, whole)) => Some(match passage(text, words) {
            Some(part) => Passage {
                first: whole.first + part.first - 1,
                last: whole.first + part.last - 1,
                start: whole.start + part.start,
                end: whole.start + part.end,
            },
            None => whole,
        }),
        None => passage(content, words),
    };
    let Some(passage) = found else {
        return (preview(content, words, length), None);
    };
    // A word that stands further down is none of the passage, and to look for it costs the whole content.
    let end = content.floor_char_boundary(passage.end.max(passage.start + AROUND * length));
    let mut shown = preview(&content[passage.start..end], words, length);
    if passage.start > 0 {
        shown.truncated = true;
        if !shown.text.starts_with('…') {
            shown.text.insert(0, '…');
        }
    }
    (shown, Some(passage))
}

/// Returns these lines of a content, and as a passage; `None` if it has not as many.
fn within<'a>(content: &'a str, lines: &Range<usize>) -> Option<(&'a str, Passage)> {
    let mut starts = memchr::memchr_iter(b'\n', content.as_bytes()).map(|end| end + 1);
    let start = match lines.start.checked_sub(2) {
        None => 0,
        Some(before) => starts.nth(before)?,
    };
    let length = lines.len().checked_sub(1)?;
    let text = &content[start..];
    let size = starts.nth(length).map_or(text.len(), |end| end - start);
    let passage = Passage {
        first: lines.start,
        last: lines.end - 1,
        start,
        end: start + size,
    };
    Some((&text[..size], passage))
}

/// Returns the lines of a long content in which the words of a search stand together, the rarest first;
/// `None` if the content is short or holds none of them.
fn passage(content: &str, words: &PreviewWords) -> Option<Passage> {
    if content.len() < LONG {
        return None;
    }
    let mut lines: Vec<(usize, usize, u64)> = Vec::new();
    let mut start = 0;
    for line in content.split_inclusive('\n') {
        lines.push((start, line.len(), words.held_by(&line.to_lowercase())));
        start += line.len();
    }
    // A word that stands in many lines says little about one of them.
    let weight = |word: u32| {
        let holders = lines.iter().filter(|(_, _, held)| held >> word & 1 == 1);
        1.0 / holders.count().max(1) as f64
    };
    let weights: Vec<f64> = (0..u64::BITS).map(weight).collect();
    let score = |held: u64| -> f64 {
        let words = (0..u64::BITS).filter(|word| held >> word & 1 == 1);
        words.map(|word| weights[word as usize]).sum()
    };
    let mut best: Option<(f64, Passage)> = None;
    for (at, (start, _, held)) in lines.iter().enumerate() {
        if *held == 0 {
            continue;
        }
        let (mut all, mut size, mut last) = (0, 0, at);
        for (further, (_, length, held)) in lines.iter().enumerate().skip(at) {
            size += length;
            if further > at && size > MAX_PASSAGE {
                break;
            }
            if held & !all != 0 {
                (all, last) = (all | held, further);
            }
        }
        let score = score(all);
        let passage = Passage {
            first: at + 1,
            last: last + 1,
            start: *start,
            end: lines[last].0 + lines[last].1,
        };
        // Of passages with the same words the shortest says where they are.
        let is_better = |(known, other): &(f64, Passage)| {
            let is_shorter = last - at < other.last - other.first;
            score > *known || (score == *known && is_shorter)
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some((score, passage));
        }
    }
    best.map(|(_, passage)| passage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::QueryKind;

    #[test]
    fn a_long_content_names_the_lines_that_hold_the_rarest_words_together() {
        let mut lines = vec!["The deploy of atlas runs."; 300];
        lines[200] = "The quokka is green.";
        lines[202] = "It eats the deploy token.";
        let content = lines.join("\n");
        let words = PreviewWords::of(&QueryKind::Text(
            "which deploy token eats quokka".to_owned(),
        ));
        let (shown, passage) = preview_of_hit(&content, None, &words, 200);
        assert_eq!(passage.unwrap().lines(), "201-203");
        assert!(shown.truncated);
        assert!(
            shown.text.starts_with("…The quokka is green."),
            "{}",
            shown.text
        );
    }

    #[test]
    fn a_short_content_and_one_without_the_words_have_none() {
        let words = PreviewWords::of(&QueryKind::Text("quokka".to_owned()));
        assert_eq!(preview_of_hit("A quokka.", None, &words, 100).1, None);
        assert_eq!(
            preview_of_hit(&"nothing\n".repeat(1_000), None, &words, 100).1,
            None
        );
    }

    #[test]
    fn lines_that_were_found_hold_the_passage() {
        let content = "A quokka.\n\nNo quokka here.\nThe quokka is green.\n\nA quokka.\n";
        let words = PreviewWords::of(&QueryKind::Text("quokka".to_owned()));
        let (shown, passage) = preview_of_hit(content, Some(&(3..5)), &words, 20);
        assert_eq!(passage.unwrap().lines(), "3-4");
        assert!(shown.text.starts_with("…No quokka"), "{}", shown.text);
        let long = format!("{content}{}{}", "nothing\n".repeat(1_000), "A quokka.\n");
        let (_, passage) = preview_of_hit(&long, Some(&(6..1_008)), &words, 20);
        assert_eq!(passage.unwrap().lines(), "6");
        let (_, passage) = preview_of_hit(&long, Some(&(7..1_008)), &words, 20);
        assert_eq!(passage.unwrap().lines(), "1007");
        assert_eq!(preview_of_hit(content, Some(&(9..12)), &words, 20).1, None);
    }
}
