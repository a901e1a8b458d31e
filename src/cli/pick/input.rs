//! A line that is typed: its text, the cursor, and the keys that change it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// A line with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    text: String,
    /// Byte of the text before which the cursor stands.
    at: usize,
}

impl Input {
    /// Returns a line with this text and the cursor at its end.
    pub fn of(text: &str) -> Input {
        let mut input = Input::default();
        input.insert(text);
        input
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the cursor.
    pub fn before(&self) -> &str {
        &self.text[..self.at]
    }

    /// Puts `text` at the cursor; line ends and other control characters become blanks.
    pub fn insert(&mut self, text: &str) {
        let clean: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        self.text.insert_str(self.at, &clean);
        self.at += clean.len();
    }

    /// Applies a key of line editing; `None` if it is none, else whether the text changed.
    pub fn press(&mut self, key: KeyEvent) -> Option<bool> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let before = self.text.len();
        match key.code {
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.text.len(),
            KeyCode::Char('u') if control => self.remove(0, self.at),
            KeyCode::Char('w') if control => self.remove(self.word_start(), self.at),
            KeyCode::Char('h') if control => self.remove(self.previous(), self.at),
            KeyCode::Char(letter) if !control && !alt => {
                self.insert(letter.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            KeyCode::Left => self.at = self.previous(),
            KeyCode::Right => self.at = self.next(),
            KeyCode::Backspace => self.remove(self.previous(), self.at),
            KeyCode::Delete => self.remove(self.at, self.next()),
            _ => return None,
        }
        Some(self.text.len() != before)
    }

    fn remove(&mut self, start: usize, end: usize) {
        self.text.replace_range(start..end, "");
        self.at = start;
    }

    fn previous(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.at, self.text.len(), true);
        cursor
            .prev_boundary(&self.text, 0)
            .ok()
            .flatten()
            .unwrap_or(0)
    }

    fn next(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.at, self.text.len(), true);
        let next = cursor.next_boundary(&self.text, 0).ok().flatten();
        next.unwrap_or(self.text.len())
    }

    /// Returns where the word before the cursor begins.
    fn word_start(&self) -> usize {
        let trimmed = self.before().trim_end();
        let last = trimmed.split_word_bound_indices().next_back();
        last.map_or(0, |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(input: &mut Input, code: KeyCode, modifiers: KeyModifiers) -> Option<bool> {
        input.press(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn a_character_of_several_code_points_is_removed_as_one() {
        let mut input = Input::of("café e\u{301}");
        assert_eq!(
            press(&mut input, KeyCode::Backspace, KeyModifiers::NONE),
            Some(true)
        );
        assert_eq!(input.text(), "café ");
        assert_eq!(
            press(&mut input, KeyCode::Left, KeyModifiers::NONE),
            Some(false)
        );
        assert_eq!(input.before(), "café");
    }

    #[test]
    fn the_keys_of_shells_edit_the_line() {
        let mut input = Input::of("how we deploy");
        press(&mut input, KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(input.text(), "how we ");
        press(&mut input, KeyCode::Char('a'), KeyModifiers::CONTROL);
        press(&mut input, KeyCode::Char('X'), KeyModifiers::SHIFT);
        assert_eq!(input.text(), "Xhow we ");
        press(&mut input, KeyCode::End, KeyModifiers::NONE);
        press(&mut input, KeyCode::Char('u'), KeyModifiers::CONTROL);
        assert_eq!(input.text(), "");
        assert_eq!(press(&mut input, KeyCode::Up, KeyModifiers::NONE), None);
    }

    #[test]
    fn what_is_pasted_stays_one_line() {
        let mut input = Input::of("a\nb\u{1b}[2J");
        input.insert("\tc");
        assert_eq!(input.text(), "a b [2J c");
    }
}
