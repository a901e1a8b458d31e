//! The state of a picker, and what a key does to it.
//!
//! Pure: [`Picker::press`] changes the state and returns the [`Effect`] that the caller has to carry out, which
//! then tells the result by [`Picker::show`] and its like. Nothing here knows a store or a terminal. All texts
//! of rows are clean already ([`super::source`]).

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::fields::{Asked, Chosen, Field};
use super::input::Input;
use super::panes::{Ask, Pane};
use super::step::Step;

/// One memory in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Id, as people type it.
    pub id: String,
    /// Day of the memory, as `2026-01-14`.
    pub day: String,
    pub headline: String,
    /// Lines about the memory: who, when, namespace, topics, kind.
    pub fields: Vec<String>,
    /// Beginning of its content.
    pub content: String,
    /// Bytes of the content that are left out.
    pub left_out: usize,
}

/// Use of the chosen memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Its id is printed.
    Print,
    /// The command of this name runs on it.
    Command(&'static str),
    /// It is forgotten, after a question.
    Forget,
    /// It is the first memory of a link, and another one is chosen next.
    LinkFrom,
    /// It is the memory that a link leads to.
    LinkTo,
    /// Its versions are shown, and no list.
    Versions,
}

/// A task for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    None,
    /// Draw every cell anew.
    Redraw,
    /// Ask for the rows again and [`Picker::show`] them.
    Search,
    /// Leave with these ids; without one nothing was chosen.
    Finish(Vec<String>),
    Edit(String),
    Copy(String),
    Forget(String),
    Link {
        from: String,
        to: String,
        relation: String,
    },
    /// Load the values of a field.
    Values(Field),
    /// Load the versions of a memory.
    History {
        id: String,
        headline: String,
    },
    /// Load the difference of the version that is selected in the history.
    Difference,
}

/// A picker.
#[derive(Debug, Clone)]
pub struct Picker {
    pub purpose: Purpose,
    pub words: Input,
    pub chosen: Chosen,
    /// Rows of the memories from `top` on.
    pub rows: Vec<Row>,
    pub top: usize,
    /// Number of all memories that match.
    pub total: usize,
    /// Place of the selected memory among all.
    pub selected: usize,
    /// Number of rows that fit on the screen.
    pub height: usize,
    /// The keys move the preview.
    pub is_in_preview: bool,
    /// First line of the preview.
    pub scroll: usize,
    pub pane: Pane,
    /// Memory that a link is to begin at: its id and headline.
    pub link_from: Option<(String, String)>,
    /// Message about the last action, or the last error.
    pub said: Option<String>,
}

impl Picker {
    pub fn new(purpose: Purpose, words: &str) -> Picker {
        Picker {
            purpose,
            words: Input::of(words),
            chosen: Chosen::default(),
            rows: Vec::new(),
            top: 0,
            total: 0,
            selected: 0,
            height: 1,
            is_in_preview: false,
            scroll: 0,
            pane: Pane::List,
            link_from: None,
            said: None,
        }
    }

    pub fn asked(&self) -> Asked {
        Asked {
            words: self.words.text().to_owned(),
            chosen: self.chosen.clone(),
        }
    }

    pub fn row(&self) -> Option<&Row> {
        self.rows.get(self.selected.checked_sub(self.top)?)
    }

    /// Takes the rows of a search; where there are fewer memories than before, the selection moves up.
    pub fn show(&mut self, rows: Vec<Row>, total: usize) {
        self.rows = rows;
        self.total = total;
        self.selected = self.selected.min(total.saturating_sub(1));
    }

    /// Keeps the selection on the memory it was on, where the new rows have it.
    pub fn show_again(&mut self, rows: Vec<Row>, total: usize) {
        let id = self.row().map(|row| row.id.clone());
        self.show(rows, total);
        let place = id.and_then(|id| self.rows.iter().position(|row| row.id == id));
        if let Some(place) = place {
            self.selected = self.top + place;
        }
    }

    /// Takes the number of rows that fit; true if other rows are needed.
    pub fn resize(&mut self, height: usize) -> bool {
        let height = height.max(1);
        let is_other = self.height != height;
        self.height = height;
        is_other | self.follow()
    }

    /// Puts a pasted text into the line that is typed.
    pub fn paste(&mut self, text: &str) -> Effect {
        match &mut self.pane {
            Pane::List => {
                self.words.insert(text);
                self.search_anew()
            }
            Pane::Values(values) => {
                values.typed.insert(text);
                Effect::None
            }
            Pane::Relation { word, .. } => {
                word.insert(text);
                Effect::None
            }
            _ => Effect::None,
        }
    }

    /// Applies a key.
    pub fn press(&mut self, key: KeyEvent) -> Effect {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Effect::Finish(Vec::new());
        }
        if control && key.code == KeyCode::Char('l') {
            return Effect::Redraw;
        }
        match self.pane {
            Pane::List => self.press_in_list(key, control),
            Pane::Keys => self.close(),
            Pane::Fields => self.press_in_fields(key),
            Pane::Values(_) => self.press_in_values(key, control),
            Pane::Ask(_) => self.answer(key),
            Pane::Relation { .. } => self.press_in_relation(key),
            Pane::History(_) => self.press_in_history(key, control),
        }
    }

    fn press_in_list(&mut self, key: KeyEvent, control: bool) -> Effect {
        self.said = None;
        if let Some(moved) = Step::of(key, control) {
            return match self.is_in_preview {
                true => self.scroll_by(moved),
                false => self.move_by(moved),
            };
        }
        match key.code {
            KeyCode::Enter => self.choose(),
            KeyCode::Esc => self.escape(),
            KeyCode::Tab => {
                self.is_in_preview = !self.is_in_preview;
                Effect::None
            }
            KeyCode::F(1) => self.open(Pane::Keys),
            KeyCode::Char('?') if self.words.text().is_empty() => self.open(Pane::Keys),
            KeyCode::Char('f') if control => self.open(Pane::Fields),
            KeyCode::Char('o') if control => self.on_row(|row| Effect::Edit(row.id.clone())),
            KeyCode::Char('y') if control => self.on_row(|row| Effect::Copy(row.id.clone())),
            KeyCode::Char('x') if control => self.ask_to_forget(),
            KeyCode::Char('k') if control => self.begin_link(),
            KeyCode::Char('r') if control => self.on_row(|row| Effect::History {
                id: row.id.clone(),
                headline: row.headline.clone(),
            }),
            _ => match self.words.press(key) {
                Some(true) => self.search_anew(),
                _ => Effect::None,
            },
        }
    }

    /// Shows a pane over the list.
    pub fn open(&mut self, pane: Pane) -> Effect {
        self.pane = pane;
        Effect::None
    }

    /// Goes back to the list.
    pub fn close(&mut self) -> Effect {
        self.open(Pane::List)
    }

    /// Begins a new list, from its start.
    pub fn search_anew(&mut self) -> Effect {
        (self.top, self.selected, self.scroll) = (0, 0, 0);
        Effect::Search
    }

    fn on_row(&self, effect: impl Fn(&Row) -> Effect) -> Effect {
        self.row().map_or(Effect::None, effect)
    }

    fn choose(&mut self) -> Effect {
        let Some(row) = self.row().cloned() else {
            return Effect::None;
        };
        if let Some((from, _)) = &self.link_from {
            if *from == row.id {
                self.said = Some("choose another memory: this one is the first".to_owned());
                return Effect::None;
            }
            if self.purpose == Purpose::LinkFrom {
                return Effect::Finish(vec![from.clone(), row.id]);
            }
            return self.open(Pane::Relation {
                to: row.id,
                word: Input::of("related-to"),
            });
        }
        match self.purpose {
            Purpose::Forget => self.ask_to_forget(),
            Purpose::LinkFrom => self.begin_link(),
            _ => Effect::Finish(vec![row.id]),
        }
    }

    /// Leaves what was begun last; with nothing begun, the picker.
    fn escape(&mut self) -> Effect {
        if self.is_in_preview {
            self.is_in_preview = false;
            return Effect::None;
        }
        match self.link_from.take() {
            Some(_) => Effect::None,
            None => Effect::Finish(Vec::new()),
        }
    }

    fn begin_link(&mut self) -> Effect {
        self.link_from = self.row().map(|row| (row.id.clone(), row.headline.clone()));
        Effect::None
    }

    fn ask_to_forget(&mut self) -> Effect {
        let ask = self.row().map(|row| Ask {
            id: row.id.clone(),
            headline: row.headline.clone(),
        });
        match ask {
            Some(ask) => self.open(Pane::Ask(ask)),
            None => Effect::None,
        }
    }

    fn move_by(&mut self, step: Step) -> Effect {
        let last = self.total.saturating_sub(1);
        self.selected = step.from(self.selected, self.height).min(last);
        self.scroll = 0;
        match self.follow() {
            true => Effect::Search,
            false => Effect::None,
        }
    }

    fn scroll_by(&mut self, step: Step) -> Effect {
        self.scroll = step.from(self.scroll, self.height);
        Effect::None
    }

    /// Moves the window so that it holds the selection; true if it moved.
    fn follow(&mut self) -> bool {
        let top = self.top;
        if self.selected < self.top {
            self.top = self.selected;
        } else if self.selected >= self.top + self.height {
            self.top = self.selected + 1 - self.height;
        }
        self.top != top
    }
}

#[cfg(test)]
mod tests;
