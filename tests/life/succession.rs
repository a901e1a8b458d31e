//! Memories that replace each other, step by step: which of them count where one goes.

use crate::support::{TestStore, holding, new_memory};
use memdir::engine::{Engine, live, ops};
use memdir::model::{NewMemory, Stem};

/// Heron 0, and each of the others in place of the one before it.
fn row(engine: &Engine, count: usize) -> Vec<Stem> {
    let mut stems: Vec<Stem> = Vec::new();
    for number in 0..count {
        let before = stems.last().map(|stem| stem.as_str().to_owned());
        let memory = NewMemory {
            supersedes: before.into_iter().collect(),
            ..new_memory(&format!("heron {number}"))
        };
        stems.push(ops::remember(engine, memory, None).unwrap().stem);
    }
    stems
}

/// The handles of the herons that are found, by the index that is there and by a new one.
#[track_caller]
fn herons(store: &TestStore, engine: &Engine) -> Vec<String> {
    let found = holding(engine, "heron");
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    assert_eq!(holding(engine, "heron"), found);
    assert_eq!(holding(&store.engine(), "heron"), found);
    let stems = found
        .iter()
        .map(|name| Stem::from_file_name(name.trim_end_matches(".md")));
    stems.map(|stem| stem.short().to_owned()).collect()
}

#[test]
fn what_was_replaced_stays_hidden_while_a_later_one_lives() {
    let store = TestStore::new();
    let engine = store.engine();
    let stems = row(&engine, 4);
    let head = [stems[3].short().to_owned()];
    for middle in [2, 1] {
        ops::forget(&engine, stems[middle].as_str()).unwrap();
        assert_eq!(herons(&store, &engine), head);
    }
    // Each says what it says when it is back.
    ops::restore(&engine, stems[2].as_str()).unwrap();
    assert_eq!(herons(&store, &engine), head);
    ops::forget(&engine, stems[2].as_str()).unwrap();
    ops::forget(&engine, stems[3].as_str()).unwrap();
    assert_eq!(herons(&store, &engine), [stems[0].short()]);
}

#[test]
fn a_purge_in_the_middle_of_a_row_brings_no_earlier_text_back() {
    let store = TestStore::new();
    let engine = store.engine();
    let stems = row(&engine, 4);
    ops::purge(&engine, stems[2].as_str()).unwrap();
    ops::purge(&engine, stems[1].as_str()).unwrap();
    assert_eq!(herons(&store, &engine), [stems[3].short()]);
    let kept = String::from_utf8(store.read(&format!("{}.md", stems[3]))).unwrap();
    assert!(kept.contains(stems[0].as_str()), "{kept}");
}

#[test]
fn forgetting_many_at_once_brings_none_of_them_back() {
    let store = TestStore::new();
    let engine = store.engine();
    let stems = row(&engine, 4);
    let filter = memdir::model::Filter {
        stems: Some(stems[1..3].to_vec()),
        visibility: memdir::model::Visibility::Everything,
        ..memdir::model::Filter::default()
    };
    assert_eq!(
        ops::forget_all(&engine, &filter, None, false)
            .unwrap()
            .moved
            .len(),
        2
    );
    assert_eq!(herons(&store, &engine), [stems[3].short()]);
}

#[test]
fn a_memory_became_the_last_live_one_of_its_row() {
    let store = TestStore::new();
    let engine = store.engine();
    let stems = row(&engine, 3);
    assert_eq!(ops::current_of(&engine, &stems[0]).unwrap(), stems[2]);
    ops::forget(&engine, stems[1].as_str()).unwrap();
    assert_eq!(ops::current_of(&engine, &stems[0]).unwrap(), stems[2]);
    let ids = stems.iter().map(|stem| stem.as_str().to_owned());
    let ids: Vec<String> = ids.collect();
    assert_eq!(
        ops::current_among(&engine, &ids).unwrap(),
        [stems[2].clone()]
    );
}
