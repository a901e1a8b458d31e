//! Tests of the keys, without a terminal and without a store.

use super::*;
use crate::cli::pick::fields::FIELDS;
use crate::cli::pick::panes::{HistoryPane, Values, VersionRow};

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn control(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
}

/// A picker whose list holds `total` memories, `height` of which are seen.
fn picker(purpose: Purpose, total: usize, height: usize) -> Picker {
    let mut picker = Picker::new(purpose, "");
    picker.resize(height);
    load(&mut picker, total);
    picker
}

/// Answers a search as a store of `total` memories does.
fn load(picker: &mut Picker, total: usize) {
    let last = total.min(picker.top + picker.height);
    let row = |place: usize| Row {
        id: format!("{place:08x}"),
        headline: format!("Memory {place}"),
        ..Row::default()
    };
    picker.show((picker.top..last).map(row).collect(), total);
}

#[test]
fn the_window_follows_the_selection() {
    let mut picker = picker(Purpose::Print, 100, 10);
    assert_eq!(picker.press(key(KeyCode::Up)), Effect::None);
    for _ in 0..9 {
        assert_eq!(picker.press(key(KeyCode::Down)), Effect::None);
    }
    assert_eq!(picker.press(control('n')), Effect::Search);
    assert_eq!((picker.top, picker.selected), (1, 10));
    load(&mut picker, 100);
    for _ in 0..20 {
        picker.press(key(KeyCode::PageDown));
    }
    assert_eq!((picker.top, picker.selected), (90, 99));
    load(&mut picker, 100);
    assert_eq!(picker.row().unwrap().id, "00000063");
}

#[test]
fn what_is_typed_begins_a_new_list() {
    let mut picker = picker(Purpose::Print, 100, 10);
    picker.press(key(KeyCode::PageDown));
    assert_eq!(picker.press(key(KeyCode::Char('d'))), Effect::Search);
    assert_eq!((picker.top, picker.selected), (0, 0));
    assert_eq!(picker.asked().words, "d");
    // In words a question mark is one.
    assert_eq!(picker.press(key(KeyCode::Char('?'))), Effect::Search);
    assert_eq!(picker.asked().words, "d?");
    assert_eq!(picker.press(key(KeyCode::Left)), Effect::None);
}

#[test]
fn enter_chooses_and_escape_leaves() {
    let mut picker = picker(Purpose::Print, 3, 10);
    picker.press(key(KeyCode::Down));
    let chosen = Effect::Finish(vec!["00000001".to_owned()]);
    assert_eq!(picker.press(key(KeyCode::Enter)), chosen);
    assert_eq!(picker.press(key(KeyCode::Esc)), Effect::Finish(Vec::new()));
    picker.press(key(KeyCode::Tab));
    assert_eq!(picker.press(key(KeyCode::Esc)), Effect::None);
    assert_eq!(picker.press(control('c')), Effect::Finish(Vec::new()));
    load(&mut picker, 0);
    assert_eq!(picker.press(key(KeyCode::Enter)), Effect::None);
}

#[test]
fn nothing_is_forgotten_without_a_second_key() {
    let mut picker = picker(Purpose::Print, 3, 10);
    assert_eq!(picker.press(control('x')), Effect::None);
    assert_eq!(picker.press(key(KeyCode::Enter)), Effect::None);
    assert_eq!(picker.said.as_deref(), Some("nothing was forgotten"));
    picker.press(control('x'));
    let forgotten = Effect::Forget("00000000".to_owned());
    assert_eq!(picker.press(key(KeyCode::Char('y'))), forgotten);
    // The key alone means nothing.
    assert_eq!(picker.press(key(KeyCode::Char('y'))), Effect::Search);
}

#[test]
fn the_command_forget_asks_too() {
    let mut picker = picker(Purpose::Forget, 3, 10);
    assert_eq!(picker.press(key(KeyCode::Enter)), Effect::None);
    let chosen = Effect::Finish(vec!["00000000".to_owned()]);
    assert_eq!(picker.press(key(KeyCode::Char('y'))), chosen);
}

#[test]
fn a_link_needs_another_memory_and_a_word() {
    let mut picker = picker(Purpose::Print, 3, 10);
    picker.press(control('k'));
    picker.press(key(KeyCode::Enter));
    assert!(picker.said.as_deref().unwrap().contains("another memory"));
    picker.press(key(KeyCode::Down));
    assert_eq!(picker.press(key(KeyCode::Enter)), Effect::None);
    picker.press(control('u'));
    assert_eq!(picker.press(key(KeyCode::Enter)), Effect::None);
    for letter in "depends-on".chars() {
        picker.press(key(KeyCode::Char(letter)));
    }
    let link = Effect::Link {
        from: "00000000".to_owned(),
        to: "00000001".to_owned(),
        relation: "depends-on".to_owned(),
    };
    assert_eq!(picker.press(key(KeyCode::Enter)), link);
    picker.press(control('k'));
    assert_eq!(picker.press(key(KeyCode::Esc)), Effect::None);
    assert_eq!(picker.link_from, None);
}

#[test]
fn the_command_link_gets_both_ends() {
    let mut picker = picker(Purpose::LinkFrom, 3, 10);
    assert_eq!(picker.press(key(KeyCode::Enter)), Effect::None);
    picker.press(key(KeyCode::Down));
    let ends = vec!["00000000".to_owned(), "00000001".to_owned()];
    assert_eq!(picker.press(key(KeyCode::Enter)), Effect::Finish(ends));
}

#[test]
fn filters_are_chosen_by_field_and_value() {
    let mut picker = picker(Purpose::Print, 3, 10);
    picker.press(control('f'));
    assert_eq!(
        picker.press(key(KeyCode::Char('k'))),
        Effect::Values(FIELDS[2])
    );
    picker.open(Pane::Values(Values {
        field: FIELDS[2],
        values: vec![("semantic".to_owned(), 2), ("episodic".to_owned(), 1)],
        typed: Input::default(),
        selected: 0,
    }));
    picker.press(key(KeyCode::Char('e')));
    picker.press(key(KeyCode::Char('p')));
    assert_eq!(picker.press(key(KeyCode::Enter)), Effect::Search);
    let kind = (FIELDS[2], "episodic".to_owned());
    assert_eq!(picker.chosen.equals, [kind]);
    picker.press(control('f'));
    picker.press(key(KeyCode::Char('s')));
    assert_eq!(picker.press(key(KeyCode::Char('s'))), Effect::Search);
    assert_eq!(picker.chosen.span, Some(1));
    assert_eq!(picker.press(key(KeyCode::Esc)), Effect::None);
    picker.press(control('f'));
    picker.press(key(KeyCode::Char('c')));
    assert_eq!(picker.chosen, Chosen::default());
}

#[test]
fn a_memory_stays_selected_when_others_come() {
    let mut picker = picker(Purpose::Print, 3, 10);
    picker.press(key(KeyCode::Down));
    let row = |id: &str| Row {
        id: id.to_owned(),
        ..Row::default()
    };
    let rows = ["ffffffff", "00000000", "00000001", "00000002"].map(row);
    picker.show_again(rows.to_vec(), 4);
    assert_eq!(
        (picker.selected, picker.row().unwrap().id.as_str()),
        (2, "00000001")
    );
}

#[test]
fn in_the_history_up_and_down_change_the_version() {
    let mut picker = picker(Purpose::Print, 3, 10);
    let asked = picker.press(control('r'));
    assert!(matches!(asked, Effect::History { id, .. } if id == "00000000"));
    let version = |commit: &str| VersionRow {
        commit: commit.to_owned(),
        line: commit.to_owned(),
    };
    picker.open(Pane::History(HistoryPane {
        id: "00000000".to_owned(),
        headline: "Memory 0".to_owned(),
        versions: vec![version("new"), version("old")],
        selected: 0,
        scroll: 0,
        difference: Vec::new(),
    }));
    assert_eq!(picker.press(key(KeyCode::Up)), Effect::None);
    assert_eq!(picker.press(key(KeyCode::Down)), Effect::Difference);
    let Pane::History(pane) = &picker.pane else {
        panic!("the history is shown");
    };
    assert_eq!(pane.compared(), Some(("old", None)));
    picker.press(key(KeyCode::Esc));
    assert_eq!(picker.pane, Pane::List);
}
