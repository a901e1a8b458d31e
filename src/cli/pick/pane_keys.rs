//! Keys in the panes over the list: the fields and their values, a question, the relation of a link, the history.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::fields::{Chosen, FIELDS, SPANS};
use super::panes::{Ask, Pane};
use super::state::{Effect, Picker, Purpose};
use super::step::Step;

impl Picker {
    pub(super) fn press_in_fields(&mut self, key: KeyEvent) -> Effect {
        let KeyCode::Char(letter) = key.code else {
            return self.close();
        };
        if let Some(field) = FIELDS.iter().find(|field| field.key == letter) {
            return Effect::Values(*field);
        }
        match letter {
            's' => {
                let next = self.chosen.span.map_or(0, |span| span + 1);
                self.chosen.span = (next < SPANS.len()).then_some(next);
            }
            'a' => self.chosen.everything = !self.chosen.everything,
            'c' => self.chosen = Chosen::default(),
            _ => return self.close(),
        }
        // Several presses choose the span.
        if letter != 's' {
            self.close();
        }
        self.search_anew()
    }

    pub(super) fn press_in_values(&mut self, key: KeyEvent, control: bool) -> Effect {
        let page = self.height;
        let Pane::Values(values) = &mut self.pane else {
            return Effect::None;
        };
        if let Some(step) = Step::of(key, control) {
            let last = values.offered().len().saturating_sub(1);
            values.selected = step.from(values.selected, page).min(last);
            return Effect::None;
        }
        match key.code {
            KeyCode::Esc => self.close(),
            KeyCode::Enter => {
                let chosen = values
                    .offered()
                    .get(values.selected)
                    .map(|(value, _)| value.clone());
                let field = values.field;
                self.close();
                let Some(value) = chosen else {
                    return Effect::None;
                };
                // A memory has several topics, and one value of any other field.
                let equals = &mut self.chosen.equals;
                equals.retain(|(known, of)| {
                    known.name != field.name || field.name == "topics" && *of != value
                });
                equals.push((field, value));
                self.search_anew()
            }
            _ => {
                if values.typed.press(key) == Some(true) {
                    values.selected = 0;
                }
                Effect::None
            }
        }
    }

    /// `y` forgets; any other key does not.
    pub(super) fn answer(&mut self, key: KeyEvent) -> Effect {
        let pane = std::mem::replace(&mut self.pane, Pane::List);
        let Pane::Ask(Ask { id, .. }) = pane else {
            return Effect::None;
        };
        match (key.code, self.purpose) {
            (KeyCode::Char('y' | 'Y'), Purpose::Forget) => Effect::Finish(vec![id]),
            (KeyCode::Char('y' | 'Y'), _) => Effect::Forget(id),
            _ => {
                self.said = Some("nothing was forgotten".to_owned());
                Effect::None
            }
        }
    }

    pub(super) fn press_in_relation(&mut self, key: KeyEvent) -> Effect {
        let Pane::Relation { to, word } = &mut self.pane else {
            return Effect::None;
        };
        match key.code {
            KeyCode::Esc => self.close(),
            KeyCode::Enter if !word.text().trim().is_empty() => {
                let (to, relation) = (to.clone(), word.text().trim().to_owned());
                self.close();
                match self.link_from.take() {
                    Some((from, _)) => Effect::Link { from, to, relation },
                    None => Effect::None,
                }
            }
            _ => {
                word.press(key);
                Effect::None
            }
        }
    }

    pub(super) fn press_in_history(&mut self, key: KeyEvent, control: bool) -> Effect {
        let page = (self.height / 2).max(1);
        let Pane::History(pane) = &mut self.pane else {
            return Effect::None;
        };
        match Step::of(key, control) {
            Some(step @ (Step::PageUp | Step::PageDown)) => {
                let last = pane.difference.len().saturating_sub(1);
                pane.scroll = step.from(pane.scroll, page).min(last);
                Effect::None
            }
            Some(step) => {
                let last = pane.versions.len().saturating_sub(1);
                let place = step.from(pane.selected, page).min(last);
                if place == pane.selected {
                    return Effect::None;
                }
                (pane.selected, pane.scroll) = (place, 0);
                Effect::Difference
            }
            None => match key.code {
                KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => self.close(),
                KeyCode::Char('r') if control => self.close(),
                _ => Effect::None,
            },
        }
    }
}
