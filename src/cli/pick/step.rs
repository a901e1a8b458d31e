//! Moves through lists and texts.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

/// A move through a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
}

impl Step {
    /// Returns the move that a key means in every list.
    pub fn of(key: KeyEvent, control: bool) -> Option<Step> {
        Some(match key.code {
            KeyCode::Up => Step::Up,
            KeyCode::Down => Step::Down,
            KeyCode::Char('p') if control => Step::Up,
            KeyCode::Char('n') if control => Step::Down,
            KeyCode::PageUp => Step::PageUp,
            KeyCode::PageDown => Step::PageDown,
            _ => return None,
        })
    }

    /// Returns the place after the move, where `page` rows are seen at once; it may lie after the last.
    pub fn from(self, place: usize, page: usize) -> usize {
        match self {
            Step::Up => place.saturating_sub(1),
            Step::Down => place + 1,
            Step::PageUp => place.saturating_sub(page),
            Step::PageDown => place + page,
        }
    }
}
