//! Several servers on one workspace, several workspaces in one database, and the operations of the engine.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use memdir::clock::{Clock, SystemClock};
use memdir::engine::{EngineError, Recalled, Revision, live, ops};
use memdir::files::{Lock, Place, Storage, WritableStorage};
use memdir::model::{Change, NewMemory, Patch};
use memdir::rows::Rows;

use crate::postgres::{TestDatabase, engine, query};
use crate::support::{holding, new_memory};

fn name(number: usize) -> String {
    format!("20260101_000000_{number:08x}.md")
}

#[test]
fn the_numbers_of_changes_have_no_gaps_under_eight_writers() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let number = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let rows = Rows::open(&test.open(), "atlas").unwrap();
                for _ in 0..10 {
                    let own = number.fetch_add(1, Ordering::Relaxed);
                    rows.add(Place::Files, &name(own), b"x").unwrap();
                    // A refused write takes no number.
                    rows.add(Place::Files, &name(own), b"x").unwrap_err();
                    let many = [(name(own), vec![]), (name(own + 1000), b"y".to_vec())];
                    rows.add_many(Place::Files, &many);
                }
            });
        }
        // Whoever follows meanwhile sees every change once, in order.
        scope.spawn(|| {
            let follower = Rows::open(&test.open(), "atlas").unwrap();
            let feed = follower.changes(Box::new(|| ())).unwrap();
            let mut known: BTreeSet<String> = BTreeSet::new();
            assert!(feed.take().everything);
            let entries = follower.list(Place::Files).unwrap().entries.into_iter();
            known.extend(entries.map(|entry| entry.name));
            while known.len() < 160 {
                let changed = feed.take();
                assert!(!changed.everything);
                known.extend(changed.names);
            }
        });
    });
    let changes = query(&test.address(), "SELECT seq FROM change ORDER BY seq");
    let changes: Vec<i64> = changes.iter().map(|row| row.get(0)).collect();
    assert_eq!(changes, (1..=160).collect::<Vec<i64>>());
    assert_eq!(rows.head().unwrap(), 160);
    let at_commit = "SELECT FROM memory m JOIN change c USING (workspace, seq) \
         WHERE m.name = c.name AND m.place = c.place AND m.hash = c.hash";
    assert_eq!(query(&test.address(), at_commit).len(), 160);
}

#[test]
fn a_write_at_one_server_is_in_the_next_answer_of_every_other() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let caches = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let engines: Vec<_> = caches
        .iter()
        .map(|cache| {
            let rows = Rows::open(&test.open(), "atlas").unwrap();
            let engine = engine(&rows, cache.path());
            live::follow_events(&engine.live);
            engine
        })
        .collect();
    for round in 0..12 {
        let word = format!("zebra{round}");
        let stored = ops::remember(&engines[round % 3], new_memory(&word), None).unwrap();
        for engine in &engines {
            assert_eq!(holding(engine, &word).len(), 1, "{word}");
        }
        let shorter = Change {
            content: Some("gone".to_owned()),
            ..Change::default()
        };
        let id = stored.stem.as_str();
        ops::update(&engines[(round + 1) % 3], id, &shorter).unwrap();
        for engine in &engines {
            assert!(holding(engine, &word).is_empty(), "{word}");
        }
        ops::forget(&engines[(round + 2) % 3], id).unwrap();
        for engine in &engines {
            assert!(holding(engine, "gone").is_empty());
        }
    }
}

#[test]
fn while_an_index_is_made_every_answer_has_every_change() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let caches = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [one, other] = [0, 1].map(|at: usize| {
        let rows = Rows::open(&test.open(), "atlas").unwrap();
        engine(&rows, caches[at].path())
    });
    live::follow_events(&one.live);
    let lock = caches[0].path().join(".memdir/writer.lock");
    let held = Lock::take(&lock, "the index").unwrap();
    let heron = |number| (name(number), b"heron".to_vec());
    let many: Vec<_> = (0..300).map(heron).collect();
    for added in rows.add_many(Place::Files, &many) {
        added.unwrap();
    }
    assert_eq!(holding(&one, "heron").len(), 300);
    assert!(!live::is_indexed(&one.live));
    for round in 0..12 {
        let word = format!("zebra{round}");
        let stored = ops::remember(&other, new_memory(&word), None).unwrap();
        let last = rows.head().unwrap().unsigned_abs();
        let asked = one.live.call(Some(last), false, || holding(&one, &word));
        let (found, ended) = asked.unwrap();
        assert_eq!(found.len(), 1, "{word}");
        assert!(ended.number >= Some(last), "{ended:?}");
        ops::forget(&other, stored.stem.as_str()).unwrap();
        assert!(holding(&one, &word).is_empty(), "{word}");
    }
    drop(held);
    assert_eq!(holding(&one, "heron").len(), 300);
}

#[test]
fn two_workspaces_never_mix() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let caches = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (atlas, beta) = (test.workspace("atlas"), test.workspace("beta"));
    let (one, other) = (
        engine(&atlas, caches[0].path()),
        engine(&beta, caches[1].path()),
    );
    let mine = ops::remember(&one, new_memory("zebra of atlas"), None).unwrap();
    let theirs = ops::remember(&other, new_memory("zebra of beta"), None).unwrap();
    assert_eq!(holding(&one, "zebra").len(), 1);
    assert_eq!(holding(&other, "beta").len(), 1);
    assert!(holding(&one, "beta").is_empty());
    let ids = [theirs.stem.as_str().to_owned()];
    let recalled = ops::recall(&one, &ids);
    assert!(
        matches!(&recalled[..], [Recalled::Failed { .. }]),
        "{recalled:?}"
    );
    assert!(matches!(
        ops::forget(&one, &ids[0]),
        Err(EngineError::NotFound(_))
    ));
    // The same name in both is two memories.
    let name = format!("{}.md", mine.stem);
    beta.add(Place::Files, &name, b"another").unwrap();
    let read = |rows: &Rows| {
        rows.reader(Place::Files)
            .read(&name, u64::MAX)
            .unwrap()
            .bytes
    };
    assert_ne!(read(&atlas), read(&beta));
    assert_eq!((atlas.head().unwrap(), beta.head().unwrap()), (1, 2));
}

#[test]
fn a_memory_is_remembered_found_recalled_changed_forgotten_and_restored() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let cache = tempfile::tempdir().unwrap();
    let engine = engine(&rows, cache.path());
    let stored = ops::remember(&engine, new_memory("The zebra has stripes."), None).unwrap();
    let id = stored.stem.as_str().to_owned();
    assert_eq!(holding(&engine, "stripes").len(), 1);
    let recalled = ops::recall(&engine, std::slice::from_ref(&id));
    let [Recalled::Found { memory, .. }] = &recalled[..] else {
        panic!("{recalled:?}");
    };
    assert_eq!(memory.content, "The zebra has stripes.");
    let change = Change {
        content: Some("The zebra has spots.".to_owned()),
        title: Patch::Set("Zebra".to_owned()),
        ..Change::default()
    };
    assert!(ops::update(&engine, &id, &change).unwrap().changed);
    assert_eq!(holding(&engine, "spots").len(), 1);
    assert!(holding(&engine, "stripes").is_empty());
    // The former text is kept.
    let former = rows
        .former_texts(Place::Files, &format!("{id}.md"))
        .unwrap();
    assert_eq!(former.len(), 1);
    assert!(String::from_utf8_lossy(&former[0].1).contains("stripes"));
    ops::forget(&engine, &id).unwrap();
    assert!(holding(&engine, "spots").is_empty());
    ops::restore(&engine, &id).unwrap();
    assert_eq!(holding(&engine, "spots").len(), 1);
    assert_eq!(ops::status(&engine).unwrap().files, 1);
    let records = live::records_of(&engine.live, &stored.stem).unwrap();
    let did: Vec<&str> = records.iter().map(|record| record.did.as_str()).collect();
    assert_eq!(did, ["remember", "update", "forget", "restore"]);
}

#[test]
fn earlier_texts_are_shown_and_brought_back_without_git() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let cache = tempfile::tempdir().unwrap();
    let engine = engine(&rows, cache.path());
    let stem = ops::remember(&engine, new_memory("zebra"), None)
        .unwrap()
        .stem;
    let id = stem.as_str();
    let change = |content: &str| {
        let change = Change {
            content: Some(content.to_owned()),
            ..Change::default()
        };
        ops::update(&engine, id, &change).unwrap();
    };
    change("zebra with stripes");
    ops::remember(&engine, new_memory("okapi"), None).unwrap();
    ops::forget(&engine, id).unwrap();
    ops::restore(&engine, id).unwrap();
    change("zebra with spots");
    let log = ops::log(&engine, Some(id), 100).unwrap();
    assert_eq!(log.stem.as_ref(), Some(&stem));
    let numbers: Vec<&str> = log.changes.iter().map(|one| one.commit.as_str()).collect();
    assert_eq!(numbers, ["8", "7", "5", "2", "1"]);
    let whole = ops::log(&engine, None, 2).unwrap();
    assert_eq!((whole.changes.len(), whole.has_more), (2, true));
    let at = |text: &str| Revision {
        text: text.to_owned(),
        at: None,
    };
    let text = |revision: &str| {
        let versions = ops::versions(&engine, id, Some(&at(revision))).unwrap();
        let text = String::from_utf8(versions.before.unwrap().bytes).unwrap();
        text.rsplit("---\n\n").next().unwrap().to_owned()
    };
    assert_eq!(text("1"), "zebra");
    assert_eq!(text("2"), "zebra with stripes");
    assert_eq!(text("4"), "zebra with stripes");
    assert_eq!(text("6"), "zebra with stripes");
    assert_eq!(text("8"), "zebra with spots");
    let last = ops::versions(&engine, id, None).unwrap().before.unwrap();
    assert_eq!(last.commit.as_deref(), Some("7"));
    assert!(ops::versions(&engine, id, Some(&at("0"))).is_err());
    let restored = ops::restore_as_of(&engine, id, &at("1")).unwrap();
    assert!(restored.changed);
    assert_eq!(holding(&engine, "zebra").len(), 1);
    assert!(holding(&engine, "spots").is_empty());
    // Also of a memory that is forgotten, and by a beginning of its id.
    ops::forget(&engine, id).unwrap();
    ops::restore_as_of(&engine, stem.short(), &at("8")).unwrap();
    assert_eq!(holding(&engine, "spots").len(), 1);
    // By time: now, every change was made.
    let now = Revision {
        text: "now".to_owned(),
        at: Some(SystemClock.now()),
    };
    assert!(!ops::restore_as_of(&engine, id, &now).unwrap().changed);
}

#[test]
fn a_purged_or_redacted_text_is_in_no_table() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let cache = tempfile::tempdir().unwrap();
    let engine = engine(&rows, cache.path());
    let holding_word = |word: &str| {
        let sql = format!(
            "SELECT FROM memory WHERE position('{word}'::bytea IN bytes) > 0 \
             UNION ALL SELECT FROM version WHERE position('{word}'::bytea IN bytes) > 0"
        );
        query(&test.address(), &sql).len()
    };
    let change = |id: &str, content: &str| {
        let change = Change {
            content: Some(content.to_owned()),
            ..Change::default()
        };
        ops::update(&engine, id, &change).unwrap();
    };
    let one = ops::remember(&engine, new_memory("zebra"), None)
        .unwrap()
        .stem;
    change(one.as_str(), "zebra with stripes");
    ops::forget(&engine, one.as_str()).unwrap();
    ops::restore(&engine, one.as_str()).unwrap();
    // Two texts, and the second one where it was before it was forgotten and restored.
    assert_eq!(holding_word("zebra"), 4);
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let other = ops::remember(&engine, new_memory(&format!("okapi {key}")), None)
        .unwrap()
        .stem;
    change(other.as_str(), &format!("okapi with {key}"));
    assert_eq!(holding_word("ghp_"), 2);
    ops::purge(&engine, one.as_str()).unwrap();
    assert_eq!(holding_word("zebra"), 0);
    // A purge that was interrupted is finished by its repetition.
    query(
        &test.address(),
        &format!(
            "INSERT INTO version (workspace, place, name, seq, bytes, hash, modified, until) \
             VALUES ('atlas', 'files', '{one}.md', 1, 'zebra', 'x', 0, 0)"
        ),
    );
    assert!(ops::purge(&engine, one.as_str()).is_err());
    assert_eq!(holding_word("zebra"), 0);
    ops::redact_secrets(&engine, other.as_str()).unwrap();
    assert_eq!(holding_word("ghp_"), 0);
    assert_eq!(holding(&engine, "okapi").len(), 1);
}

#[test]
fn what_is_derived_may_be_deleted() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("atlas");
    let before = engine(&rows, &folder);
    for number in 0..40 {
        ops::remember(&before, new_memory(&format!("zebra {number}")), None).unwrap();
    }
    live::reindex(&before.live, false, &mut |_| {}).unwrap();
    let found = holding(&before, "zebra");
    drop(before);
    // Nothing but what is derived lies in the cache.
    let names = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), [".memdir"]);
    std::fs::remove_dir_all(&folder).unwrap();
    let after = engine(&rows, &folder);
    assert_eq!(holding(&after, "zebra"), found);
}

#[test]
fn what_needs_a_folder_says_so() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let cache = tempfile::tempdir().unwrap();
    let engine = engine(&rows, cache.path());
    ops::remember(&engine, new_memory("zebra"), None).unwrap();
    let error = ops::reset(&engine, false).unwrap_err();
    let text =
        "a backup needs a store in a folder, and this one is the workspace atlas of a database";
    assert_eq!(error.to_string(), text);
    assert_eq!(holding(&engine, "zebra").len(), 1);
}

#[test]
fn uses_of_one_server_count_at_the_others() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let caches = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (one, other) = (
        engine(&rows, caches[0].path()),
        engine(&rows, caches[1].path()),
    );
    let stored = ops::remember(&one, new_memory("zebra"), None).unwrap();
    let recalled = ops::recall(&one, &[stored.stem.as_str().to_owned()]);
    one.writer.count_uses(&recalled);
    let (memory, _) = ops::recall_one(&other, stored.stem.as_str()).unwrap();
    let (_, usage) = live::state_of(&other.live, &memory);
    assert_eq!(usage.count(), 1);
}

#[test]
fn a_new_memory_of_every_field_is_kept_as_a_folder_keeps_it() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let memory = NewMemory {
        title: Some("Stripes".to_owned()),
        handle: memdir::model::Handle::parse("0badcafe"),
        ..new_memory("The zebra has stripes.\n\n```\n\u{1f993}\n```")
    };
    let rows = test.workspace("atlas");
    let cache = tempfile::tempdir().unwrap();
    let stored = ops::remember(&engine(&rows, cache.path()), memory.clone(), None).unwrap();
    let store = crate::support::TestStore::new();
    ops::remember(&store.engine(), memory, None).unwrap();
    let name = format!("{}.md", stored.stem);
    let row = rows.reader(Place::Files).read(&name, u64::MAX).unwrap();
    assert_eq!(row.bytes, std::fs::read(store.files().join(&name)).unwrap());
}
