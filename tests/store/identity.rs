//! Which memory is which: whatever the clock says, however names look like each other.

use chrono::{DateTime, Utc};

use crate::support::{TestStore, at, found, holding, memory_text, new_memory, noon};
use memdir::engine::{Engine, EngineError, Query, Recalled, live, ops};
use memdir::model::{Change, Filter, Patch};

fn everything() -> Query {
    Query::everything(Filter::default(), 10_000)
}

/// Writes a memory while the clock stands at `now`; returns its file's name.
fn remember(store: &TestStore, now: DateTime<Utc>, content: &str) -> String {
    let engine = store.engine_at(now);
    let stem = ops::remember(&engine, new_memory(content), None)
        .unwrap()
        .stem;
    format!("{stem}.md")
}

/// The content of the memory called `id`.
#[track_caller]
fn recalled(engine: &Engine, id: &str) -> String {
    match ops::recall(engine, &[id.to_owned()]).pop() {
        Some(Recalled::Found { memory, .. }) => memory.content,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_hundred_memories_of_one_second_are_a_hundred_files_in_the_order_of_their_names() {
    let store = TestStore::new();
    let engine = store.engine();
    let mut names: Vec<String> = (0..100)
        .map(|number| {
            let memory = new_memory(&format!("number {number}\n"));
            format!("{}.md", ops::remember(&engine, memory, None).unwrap().stem)
        })
        .collect();
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("20260601_120000_"))
    );
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 100);
    let listed = found(&engine, &everything());
    live::settle(&engine.live, true).unwrap();
    assert_eq!(found(&store.engine(), &everything()), listed);
    // All times are equal, so that the names decide.
    assert_eq!(listed, names);
    assert_eq!(ops::verify(&store.engine()).unwrap().findings, []);
}

#[test]
fn a_clock_that_goes_back_a_year_overwrites_nothing_and_hides_nothing() {
    let store = TestStore::new();
    let first = remember(&store, noon(), "heron one\n");
    let second = remember(&store, at("2025-06-01T12:00:00Z"), "heron two\n");
    let third = remember(&store, at("2026-06-01T12:00:01Z"), "heron three\n");
    // Newest is what its frontmatter says, not what was written last.
    let newest_first = [third, first.clone(), second];
    let engine = store.engine_at(at("2026-06-01T12:00:02Z"));
    assert_eq!(found(&engine, &everything()), newest_first);
    // While the clock is back, what was written before lies in the future, and is shown.
    let back = store.engine_at(at("2025-06-01T12:00:01Z"));
    assert_eq!(found(&back, &everything()), newest_first);
    assert_eq!(holding(&back, "heron").len(), 3);
    let findings = ops::verify(&back).unwrap().findings;
    let told: Vec<&str> = findings.iter().map(|found| found.file.as_str()).collect();
    assert!(
        told.contains(&format!("files/{first}").as_str()),
        "{told:?}"
    );
    assert_eq!(told.len(), 2);
    assert!(ops::verify(&engine).unwrap().is_sound());
}

#[test]
fn a_clock_that_was_a_century_ahead_loses_nothing() {
    let store = TestStore::new();
    let early = remember(&store, noon(), "heron now\n");
    let late = remember(&store, at("2126-06-01T12:00:00Z"), "heron then\n");
    let engine = store.engine();
    assert_eq!(found(&engine, &everything()), [late.clone(), early]);
    assert_eq!(
        recalled(&engine, late.strip_suffix(".md").unwrap()),
        "heron then\n"
    );
    let change = Change {
        title: Patch::Set("Then".to_owned()),
        ..Change::default()
    };
    ops::update(&engine, &late, &change).unwrap();
    ops::forget(&engine, &late).unwrap();
    ops::restore(&engine, &late).unwrap();
    live::settle(&engine.live, true).unwrap();
    assert_eq!(holding(&store.engine(), "heron then"), [late]);
}

#[test]
fn the_hour_that_happens_twice_is_told_apart() {
    // Half past two, before and after clocks are put back: the offset decides.
    let store = TestStore::new();
    let summer = "20251026_003000_aaaaaaaa.md";
    let winter = "20251026_013000_bbbbbbbb.md";
    let text = |handle: &str, time: &str| memory_text(handle, time, "half past two\n");
    store.put(winter, text("bbbbbbbb", "2025-10-26T02:30:00+01:00"));
    store.put(summer, text("aaaaaaaa", "2025-10-26T02:30:00+02:00"));
    let engine = store.engine();
    assert_eq!(found(&engine, &everything()), [winter, summer]);
    assert_eq!(ops::verify(&engine).unwrap().findings, []);
    let filter = Filter {
        since: Some(at("2025-10-26T01:00:00Z")),
        ..Filter::default()
    };
    let later = Query {
        filter,
        ..everything()
    };
    assert_eq!(found(&engine, &later), [winter]);
}

#[test]
fn names_that_differ_only_in_case_or_accents_are_different_memories() {
    let store = TestStore::new();
    let composed = "caf\u{e9}.md";
    let decomposed = "cafe\u{301}.md";
    let names = ["Notes.md", "notes.md", "NOTES.md", composed, decomposed];
    let probe = tempfile::tempdir().unwrap();
    for name in names {
        std::fs::write(probe.path().join(name), name).unwrap();
    }
    if std::fs::read_dir(probe.path()).unwrap().count() < names.len() {
        eprintln!("skipped: this file system takes such names for one");
        return;
    }
    for name in names {
        store.put(name, format!("heron of {name}\n"));
    }
    let engine = store.engine();
    assert_eq!(holding(&engine, "heron").len(), names.len());
    for name in names {
        let expected = format!("heron of {name}\n");
        assert_eq!(recalled(&engine, name), expected);
        assert_eq!(
            recalled(&engine, name.strip_suffix(".md").unwrap()),
            expected
        );
    }
    // Nobody wrote it so: it could be any of three.
    let resolved = live::resolve(&engine.live, "nOTES");
    assert!(
        matches!(&resolved, Err(EngineError::Ambiguous { candidates, .. }) if candidates == &["NOTES", "Notes", "notes"]),
        "{resolved:?}"
    );
    ops::forget(&engine, "Notes").unwrap();
    assert_eq!(holding(&engine, "heron").len(), names.len() - 1);
    assert_eq!(recalled(&engine, "notes"), "heron of notes.md\n");
}

#[test]
fn odd_names_keep_their_bytes_through_every_operation() {
    let long = format!("{}.md", "n".repeat(252));
    // Names of devices, of which Windows has no files.
    let devices: &[&str] = match cfg!(windows) {
        true => &[],
        false => &["CON.md", "aux.md"],
    };
    let names = ["a b.md", "100%.md", "-n.md", "größe.md", "$(x).md", &long];
    let names = [devices, &names].concat();
    let store = TestStore::new();
    let text = |name: &str| {
        format!("\u{feff}---\r\nuser: mira\r\nodd:   yes # kept \r\n---\r\n\r\nheron {name}\r\nend")
    };
    for &name in &names {
        store.put(name, text(name));
    }
    let before = store.texts();
    let engine = store.engine();
    for &name in &names {
        let stem = name.strip_suffix(".md").unwrap();
        ops::forget(&engine, stem).unwrap();
        ops::restore(&engine, stem).unwrap();
        let change = |title| Change {
            title,
            ..Change::default()
        };
        ops::update(&engine, stem, &change(Patch::Set("A title".to_owned()))).unwrap();
        let changed = String::from_utf8(store.read(name)).unwrap();
        assert_eq!(
            changed,
            text(name).replace("mira\r\n", "mira\r\ntitle: A title\r\n")
        );
        ops::update(&engine, stem, &change(Patch::Clear)).unwrap();
    }
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    ops::verify(&engine).unwrap();
    assert_eq!(store.texts(), before);
    assert_eq!(holding(&engine, "heron").len(), names.len());
}
