//! A text as a person sees it, and where each piece of it stands in the text as written.
//!
//! A character without width inside a token or a password is not seen, and whoever copies the text
//! has the credential all the same. Blanks and quotation marks of typesetting become those that the
//! rules know.

use std::ops::Range;

/// A text without what is not seen.
pub(super) struct Visible {
    pub text: String,
    pieces: Vec<Piece>,
}

/// A piece of the visible text: copied as it is, or one character that stands for another.
struct Piece {
    start: usize,
    written: Range<usize>,
    is_copied: bool,
}

/// Returns the visible text, if it differs from the text as written.
pub(super) fn of(text: &str) -> Option<Visible> {
    if text.is_ascii() || !text.chars().any(|c| Appearance::of(c) != Appearance::Same) {
        return None;
    }
    let mut visible = Visible {
        text: String::with_capacity(text.len()),
        pieces: Vec::new(),
    };
    let mut copied = 0;
    for (at, character) in text.char_indices() {
        let seen = Appearance::of(character);
        if seen == Appearance::Same {
            continue;
        }
        let end = at + character.len_utf8();
        visible.copy(text, copied..at);
        if let Appearance::As(other) = seen {
            visible.pieces.push(Piece {
                start: visible.text.len(),
                written: at..end,
                is_copied: false,
            });
            visible.text.push(other);
        }
        copied = end;
    }
    visible.copy(text, copied..text.len());
    Some(visible)
}

impl Visible {
    fn copy(&mut self, text: &str, written: Range<usize>) {
        if !written.is_empty() {
            self.pieces.push(Piece {
                start: self.text.len(),
                written: written.clone(),
                is_copied: true,
            });
            self.text.push_str(&text[written]);
        }
    }

    /// Returns the place of a piece of the visible text in the text as written, with all invisible
    /// characters between its first and its last one.
    pub fn written(&self, range: &Range<usize>) -> Range<usize> {
        let piece_at = |at: usize| {
            let next = self.pieces.partition_point(|piece| piece.start <= at);
            &self.pieces[next - 1]
        };
        let first = piece_at(range.start);
        let last = piece_at(range.end - 1);
        let end = match last.is_copied {
            true => last.written.start + (range.end - last.start),
            false => last.written.end,
        };
        first.written.start + (range.start - first.start)..end
    }
}

/// A character as a reader sees it.
#[derive(PartialEq, Eq)]
enum Appearance {
    Same,
    As(char),
    Nothing,
}

impl Appearance {
    fn of(character: char) -> Appearance {
        if character.is_ascii() {
            return Appearance::Same;
        }
        match character {
            // Without width: joiners, marks of direction, fillers, selectors of variants, tags.
            '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}' => Appearance::Nothing,
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
                Appearance::As(' ')
            }
            '„' | '“' | '”' | '«' | '»' => Appearance::As('"'),
            '‘' | '’' | '‚' | '‹' | '›' => Appearance::As('\''),
            // Letters, digits and signs of full width.
            '\u{ff01}'..='\u{ff5e}' => {
                let ascii = u32::from(character) - 0xff01 + 0x21;
                char::from_u32(ascii).map_or(Appearance::Same, Appearance::As)
            }
            _ => Appearance::Same,
        }
    }
}

/// The text without what has no width, for a comparison that such a character does not change.
pub(super) fn without_invisible(text: &str) -> String {
    text.chars()
        .filter(|character| Appearance::of(*character) != Appearance::Nothing)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_text_is_as_written() {
        assert!(of("plain").is_none());
        assert!(of("größer 🦀").is_none());
    }

    #[test]
    fn a_piece_of_the_visible_text_is_found_in_the_text_as_written() {
        let text = "é\u{200b}a\u{200b}b\u{ad}\u{2060}c\u{a0}„d“\u{feff}";
        let visible = of(text).unwrap();
        assert_eq!(visible.text, "éabc \"d\"");
        let written = |piece: &str| {
            let start = visible.text.find(piece).unwrap();
            &text[visible.written(&(start..start + piece.len()))]
        };
        assert_eq!(written("abc"), "a\u{200b}b\u{ad}\u{2060}c");
        assert_eq!(written("b"), "b");
        assert_eq!(written(" \""), "\u{a0}„");
        assert_eq!(written("\"d\""), "„d“");
        assert_eq!(written(&visible.text), &text[..text.len() - 3]);
    }
}
