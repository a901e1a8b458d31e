//! What may become of the index's own files: locked by a process that was stopped, in the way,
//! damaged without a trace, brought from another machine.

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{TestStore, at, holding, memory_text, new_memory, noon, regular_files, touch};
use memdir::engine::{live, ops};
use memdir::index::embedded::EmbeddedIndex;
use memdir::index::{
    AsOf, Document, Index, IndexError, Indexed, Overlay, Query, QueryKind, SearchModels,
};
use memdir::model::{Filter, Stamp, Stem};
use memdir::words::Language;

fn index(state: &Path) -> EmbeddedIndex {
    EmbeddedIndex::new(state, &[Language::default()])
}

fn name(number: u32) -> String {
    format!("20260114_091500_c{number:07x}.md")
}

fn document(number: u32, content: &str) -> Document {
    let name = name(number);
    let text = memory_text(&name[16..24], "2026-01-14T09:15:00Z", content);
    let stem = Stem::from_file_name(&name[..24]);
    Document {
        indexed: Indexed {
            stamp: Stamp::default(),
            hash: u128::from(number),
            racy: false,
        },
        memory: memdir::format::parse(&stem, text.as_bytes(), noon()),
        bytes: text.into_bytes(),
        name,
    }
}

fn commit(index: &EmbeddedIndex, documents: Vec<Document>) -> Result<(), IndexError> {
    let mut batch = index.batch(documents.len())?;
    batch.upsert_all(documents)?;
    batch
        .commit(noon().timestamp_nanos_opt().unwrap())
        .map(drop)
}

fn found(index: &EmbeddedIndex, word: &str) -> Result<Vec<String>, IndexError> {
    let query = Query::text(word, Filter::default(), 100);
    let snapshot = index.snapshot(&Overlay::default())?;
    let moment = AsOf::unused(noon());
    let hits = snapshot
        .search(&query, moment, SearchModels::default(), &|_| None)?
        .hits;
    let mut names: Vec<String> = hits.into_iter().map(|hit| hit.name).collect();
    names.sort();
    Ok(names)
}

/// A folder with an index of some documents in two segments.
fn committed() -> (TempDir, EmbeddedIndex) {
    let state = tempfile::tempdir().unwrap();
    let index = index(state.path());
    let words = |number: u32| format!("heron egret{number} stork{}\n", number % 3);
    commit(&index, (0..30).map(|n| document(n, &words(n))).collect()).unwrap();
    commit(&index, (30..40).map(|n| document(n, &words(n))).collect()).unwrap();
    (state, index)
}

fn folder(state: &Path) -> PathBuf {
    let mut folders = fs::read_dir(state).unwrap();
    folders.next().unwrap().unwrap().path()
}

#[test]
fn nobody_waits_for_a_process_that_was_stopped_while_it_opened_the_index() {
    let (state, writer) = committed();
    let lock = folder(state.path()).join(".tantivy-meta.lock");
    let held = File::options()
        .create(true)
        .append(true)
        .open(lock)
        .unwrap();
    held.lock().unwrap();
    let begun = Instant::now();
    let reader = index(state.path());
    assert_eq!(found(&reader, "egret7").unwrap(), [name(7)]);
    commit(&writer, vec![document(50, "an ibis\n")]).unwrap();
    assert_eq!(found(&reader, "ibis").unwrap(), [name(50)]);
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_folder_in_the_place_of_a_lock_costs_no_answer() {
    let store = TestStore::new();
    let engine = store.engine();
    ops::remember(&engine, new_memory("a heron\n"), None).unwrap();
    assert_eq!(holding(&engine, "heron").len(), 1);
    live::settle(&engine.live, true).unwrap();
    for lock in [".tantivy-meta.lock", ".tantivy-writer.lock"] {
        let _ = fs::remove_file(store.index().join(lock));
        fs::create_dir(store.index().join(lock)).unwrap();
    }
    let engine = store.engine();
    ops::remember(&engine, new_memory("another heron\n"), None).unwrap();
    assert_eq!(holding(&engine, "heron").len(), 2);
    live::settle(&engine.live, true).unwrap();
    assert_eq!(holding(&engine, "heron").len(), 2);
    let aside = ".tantivy-writer.lock.set-aside-1";
    assert!(store.index().join(aside).is_dir(), "it is the same index");
    live::settle(&engine.live, true).unwrap();
    assert_eq!(holding(&store.engine(), "heron").len(), 2);
}

#[test]
fn readers_find_a_whole_state_while_another_process_commits() {
    let (state, writer) = committed();
    let reader = index(state.path());
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for number in 0..40 {
                commit(&writer, vec![document(number, "a heron again\n")]).unwrap();
            }
        });
        while !writing.is_finished() {
            assert_eq!(found(&reader, "heron").unwrap().len(), 40);
            assert_eq!(found(&index(state.path()), "heron").unwrap().len(), 40);
        }
    });
}

#[test]
fn an_index_is_made_anew_once() {
    let store = TestStore::new();
    for number in 1..=3 {
        let id = format!("{number:07}a");
        let text = memory_text(&id, "2026-01-14T09:15:00Z", "a heron");
        store.put(&format!("20260114_09150{number}_{id}.md"), text);
    }
    let engine = store.engine();
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    let mut done = Vec::new();
    live::reindex(&engine.live, true, &mut |progress| done.push(progress.done)).unwrap();
    assert!(done.is_sorted_by(|one, next| one < next), "{done:?}");
}

#[test]
fn what_another_process_replaces_meanwhile_is_no_damage() {
    let (state, writer) = committed();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for number in 0..80 {
                commit(&writer, vec![document(number % 40, "a heron again\n")]).unwrap();
            }
        });
        while !writing.is_finished() {
            let damaged = index(state.path()).damaged_parts();
            assert_eq!(damaged.unwrap(), [""; 0]);
        }
    });
}

#[test]
fn processes_that_commit_in_turn_leave_no_files_behind() {
    let (state, one) = committed();
    let other = index(state.path());
    for number in 0..20 {
        commit(&one, vec![document(number, "a heron\n")]).unwrap();
        commit(&other, vec![document(number + 20, "a heron\n")]).unwrap();
    }
    drop((one, other));
    let meta = fs::read_to_string(folder(state.path()).join("meta.json")).unwrap();
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    let segments: Vec<String> = meta["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| segment["segment_id"].as_str().unwrap().replace('-', ""))
        .collect();
    for path in regular_files(&folder(state.path())) {
        let file = path.file_name().unwrap().to_str().unwrap();
        let is_known = segments.iter().any(|segment| file.starts_with(segment))
            || ["meta.json", "checked", "table"].contains(&file)
            || file.starts_with('.');
        assert!(is_known, "{file} belongs to none of {segments:?}");
    }
}

/// Every segment file with some places in it to harm.
fn places(state: &Path) -> Vec<(PathBuf, usize)> {
    let files = regular_files(&folder(state)).into_iter();
    files
        .filter(|path| {
            path.extension()
                .is_some_and(|ending| ending != "json" && ending != "lock")
        })
        .flat_map(|path| {
            let length = fs::metadata(&path).unwrap().len() as usize;
            // What lies in the footer is no part of an answer.
            [0, 1, 2, 3, 4].map(|part| (path.clone(), (length - 60) * part / 5))
        })
        .collect()
}

fn flip(path: &Path, place: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[place] ^= 0x10;
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_index_is_found_out_before_it_answers_or_is_written() {
    let (state, _) = committed();
    for (path, place) in places(state.path()) {
        flip(&path, place);
        let read = found(&index(state.path()), "heron");
        let written = commit(&index(state.path()), vec![document(3, "an ibis\n")]);
        for outcome in [read.map(drop), written] {
            let is_found_out = matches!(outcome, Err(IndexError::Unusable { .. }));
            assert!(is_found_out, "{} at {place}: {outcome:?}", path.display());
        }
        flip(&path, place);
    }
    assert_eq!(found(&index(state.path()), "heron").unwrap().len(), 40);
}

/// What is found, with the version of each file and in their order.
fn answers(state: &Path) -> Vec<(String, Indexed)> {
    let snapshot = index(state).snapshot(&Overlay::default()).unwrap();
    let mut answers = Vec::new();
    for name in found(&index(state), "heron").unwrap() {
        let indexed = snapshot.indexed(&name).unwrap();
        answers.push((name, indexed));
    }
    let files = snapshot.files();
    answers.extend(files.map(|(name, indexed)| (name.to_owned(), indexed)));
    answers
}

#[test]
fn the_table_in_its_file_says_what_the_segments_say_or_nothing() {
    let (state, index_of_writer) = committed();
    drop(index_of_writer);
    let table = folder(state.path()).join("table");
    let kept = fs::read(&table).unwrap();
    let by_file = answers(state.path());
    fs::remove_file(&table).unwrap();
    assert_eq!(answers(state.path()), by_file);
    assert!(!table.exists(), "who only reads writes nothing");

    // Damaged or cut, it is as if there were none.
    for place in (0..kept.len()).step_by(97) {
        let mut damaged = kept.clone();
        damaged[place] ^= 0x10;
        fs::write(&table, damaged).unwrap();
        assert_eq!(answers(state.path()), by_file, "damaged at {place}");
        fs::remove_file(&table).unwrap();
        fs::write(&table, &kept[..place]).unwrap();
        assert_eq!(answers(state.path()), by_file, "cut at {place}");
        fs::remove_file(&table).unwrap();
    }

    // Another commit: it is of another state until it is written anew.
    let writer = index(state.path());
    commit(&writer, vec![document(3, "an ibis\n")]).unwrap();
    let now = answers(state.path());
    assert_ne!(now, by_file);
    fs::write(&table, &kept).unwrap();
    assert_eq!(answers(state.path()), now, "that of a former state");
    let enough = Duration::from_secs(60);
    let later = at("2199-12-01T12:00:00Z");
    assert!(writer.check_some(enough, later).unwrap());
    assert_ne!(
        fs::read(&table).unwrap(),
        kept,
        "it is mended when there is time"
    );
    assert_eq!(answers(state.path()), now);
}

#[test]
fn a_few_new_rows_are_not_worth_writing_all_of_them() {
    let state = tempfile::tempdir().unwrap();
    let writer = index(state.path());
    let words = |number: u32| format!("heron egret{number}\n");
    commit(&writer, (0..2100).map(|n| document(n, &words(n))).collect()).unwrap();
    let table = folder(state.path()).join("table");
    let later = at("2199-12-01T12:00:00Z");
    let rest = || {
        assert!(writer.check_some(Duration::from_secs(60), later).unwrap());
        fs::read(&table).unwrap()
    };
    let kept = rest();
    for (number, is_written) in [(3000, false), (3001, false), (3002, true), (3003, false)] {
        let before = fs::read(&table).unwrap();
        commit(&writer, vec![document(number, "an ibis\n")]).unwrap();
        assert_eq!(rest() != before, is_written, "added {number}");
    }
    for (number, is_written) in [(0, false), (1, true), (2, false), (3, false)] {
        let before = fs::read(&table).unwrap();
        let mut batch = writer.batch(1).unwrap();
        batch.delete(&name(number));
        batch.commit(noon().timestamp_nanos_opt().unwrap()).unwrap();
        assert_eq!(rest() != before, is_written, "removed {number}");
    }
    let told = answers(state.path());
    assert_eq!(told.len(), 100 + 2100, "hits and files");
    fs::write(&table, kept).unwrap();
    assert_eq!(answers(state.path()), told, "with rows of a former state");
}

/// Everything that a view says of its rows.
fn told_by(index: &EmbeddedIndex, overlay: &Overlay) -> String {
    let view = index.snapshot(overlay).unwrap();
    let files: Vec<_> = view
        .files()
        .map(|(name, of)| (name.to_owned(), of))
        .collect();
    let mut told = format!("{files:?}");
    for (name, indexed) in &files {
        assert_eq!(view.indexed(name).as_ref(), Some(indexed), "{name}");
    }
    let filter = Filter {
        namespaces: vec!["global".to_owned()],
        ..Filter::default()
    };
    let keywords = vec!["ere".to_owned(), "ibis".to_owned()];
    let asked = [
        "heron",
        "egret7 stork1 alice",
        "an ibis in january",
        "stork2",
    ];
    let asked = asked.iter().map(|text| QueryKind::Text((*text).to_owned()));
    for kind in asked.chain([QueryKind::Everything, QueryKind::Keywords(keywords)]) {
        let query = Query {
            kind,
            ..Query::everything(filter.clone(), 100)
        };
        let found = view
            .search(
                &query,
                AsOf::unused(noon()),
                SearchModels::default(),
                &|_| None,
            )
            .unwrap();
        told += &format!("\n{found:?}");
    }
    let like = view.sharing_rare("egret7 heron", &filter, AsOf::unused(noon()), 9, &|_| None);
    let facets = ["user", "topics", "id"].map(|key| view.facet(key).unwrap());
    told + &format!("\n{like:?}\n{facets:?}\n{}", view.len())
}

#[test]
fn a_view_that_is_made_from_a_former_one_is_as_if_it_were_read() {
    let (state, _) = committed();
    let follower = index(state.path());
    let table = folder(state.path()).join("table");
    let mut stale = fs::read(&table).unwrap();
    let none = Overlay::default();
    let mut made_of_stale = 0;
    for round in 0..30_u32 {
        // Before the commit, so that there is a former view.
        told_by(&follower, &none);
        let documents =
            (0..=round % 3).map(|one| document(round * 2 + one, "a heron and an ibis\n"));
        commit(&index(state.path()), documents.collect()).unwrap();
        if round % 5 == 4 {
            let mut batch = follower.batch(1).unwrap();
            batch.delete(&name(round));
            batch.commit(0).unwrap();
        }
        let newest = fs::read(&table).unwrap();
        let changed = document(round % 40, "an egret7 of stork1\n");
        let added = document(100 + round, "ibis\n");
        let gone = (name(round % 7), None);
        let overlay = Overlay {
            files: [changed, added]
                .map(|document| (document.name.clone(), Some(document.into())))
                .into_iter()
                .chain([gone])
                .collect(),
        };
        for overlay in [&none, &overlay] {
            // From the segments, from the file of a former state, and from a former view.
            fs::remove_file(&table).unwrap();
            let read = told_by(&index(state.path()), overlay);
            let followed = told_by(&follower, overlay);
            assert_eq!(followed, read, "{round}");
            fs::write(&table, &stale).unwrap();
            assert_eq!(told_by(&index(state.path()), overlay), read, "{round}");
            fs::write(&table, &newest).unwrap();
            assert_eq!(told_by(&index(state.path()), overlay), read, "{round}");
        }
        made_of_stale += u32::from(stale != newest);
        if round % 4 == 3 {
            stale = newest;
        }
    }
    assert!(made_of_stale > 10);
}

#[test]
fn damage_without_a_trace_is_found_out_within_a_month() {
    let (state, index_of_writer) = committed();
    let path = regular_files(&folder(state.path()))
        .into_iter()
        .find(|path| path.extension().is_some_and(|ending| ending == "idx"))
        .unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    // In place, as a disk does it.
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, bytes).unwrap();
    touch(&path, modified.into());
    let soon = noon() + chrono::Duration::days(3);
    let later = noon() + chrono::Duration::days(31);
    let enough = Duration::from_secs(60);
    drop(index_of_writer);
    assert!(index(state.path()).check_some(enough, soon).unwrap());
    let found = index(state.path()).check_some(enough, later);
    assert!(
        matches!(found, Err(IndexError::Unusable { .. })),
        "{found:?}"
    );
}

#[test]
fn proving_goes_on_from_call_to_call_and_is_remembered() {
    let (state, _) = committed();
    let later = at("2026-12-01T12:00:00Z");
    let index_of_one = index(state.path());
    let mut calls = 1;
    while !index_of_one.check_some(Duration::ZERO, later).unwrap() {
        calls += 1;
        assert!(calls < 1_000);
    }
    assert!(calls > 5, "a file a call at most");
    let other = index(state.path());
    assert!(other.check_some(Duration::ZERO, later).unwrap());
}

#[test]
fn a_store_copied_from_another_machine_answers_for_its_own_files() {
    let store = TestStore::new();
    for number in 0..20 {
        let content = format!("heron egret{number}x\n");
        store.put(
            &name(number),
            memory_text(&name(number)[16..24], "2026-01-14T09:15:00Z", &content),
        );
    }
    let engine = store.engine();
    assert_eq!(holding(&engine, "heron").len(), 20);
    live::settle(&engine.live, true).unwrap();
    let copy = TestStore::new();
    for path in regular_files(store.root()) {
        let target = copy.root().join(path.strip_prefix(store.root()).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(path, target).unwrap();
    }
    // There, one file was changed and one removed since the index was made.
    copy.put(&name(3), "an ibis");
    fs::remove_file(copy.files().join(name(4))).unwrap();
    let engine = copy.engine();
    assert_eq!(holding(&engine, "heron").len(), 18);
    assert_eq!(holding(&engine, "ibis"), [name(3)]);
    assert_eq!(holding(&engine, "egret7x"), [name(7)]);
    live::settle(&engine.live, true).unwrap();
    let engine = copy.engine();
    assert_eq!(holding(&engine, "heron").len(), 18);
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
}

/// A copy of the index under the name `name`, with files from 2020.
fn left_behind(own: &Path, name: &str) -> PathBuf {
    let left = own.with_file_name(name);
    fs::create_dir(&left).unwrap();
    for path in regular_files(own) {
        let copy = left.join(path.file_name().unwrap());
        fs::copy(path, &copy).unwrap();
        touch(&copy, at("2020-01-01T00:00:00Z"));
    }
    left
}

#[test]
fn only_index_folders_that_nobody_uses_are_removed() {
    let (state, index) = committed();
    let own = folder(state.path());
    // Of an older version, of this one with other languages, and set aside.
    let of_others = format!("{}-german", own.file_name().unwrap().to_string_lossy());
    let old = ["index-v0-english", &of_others, "index-v0-english.old-7"]
        .map(|name| left_behind(&own, name));
    let other = left_behind(&own, "index-backup");
    let without_index = state.path().join("index-v0-french");
    fs::create_dir(&without_index).unwrap();
    fs::write(without_index.join("notes.txt"), "mine").unwrap();
    let recent = left_behind(&own, "index-v999-english");
    let today = chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now());
    let in_days = |days| today + chrono::Duration::days(days);
    // The folders themselves were made today.
    assert_eq!(index.remove_unused(today).unwrap(), 1);
    assert_eq!(index.remove_unused(in_days(8)).unwrap(), 1);
    touch(&recent.join("meta.json"), in_days(8));
    assert_eq!(index.remove_unused(in_days(31)).unwrap(), 1);
    assert!(!old.iter().any(|folder| folder.exists()));
    for kept in [&own, &other, &without_index, &recent] {
        assert!(kept.exists(), "{}", kept.display());
    }
    assert_eq!(found(&index, "heron").unwrap().len(), 40);
}

#[cfg(unix)]
#[test]
fn a_link_that_is_called_like_an_index_is_left_alone() {
    let (state, index) = committed();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("notes.txt"), "mine").unwrap();
    std::os::unix::fs::symlink(
        elsewhere.path(),
        state.path().join("index-v0-english.old-1"),
    )
    .unwrap();
    index.remove_unused(at("2099-01-01T00:00:00Z")).unwrap();
    assert!(elsewhere.path().join("notes.txt").exists());
}

#[test]
fn many_small_commits_leave_few_segments() {
    let (state, index) = committed();
    for number in 100..200 {
        commit(&index, vec![document(number, "a heron\n")]).unwrap();
    }
    let files = regular_files(&folder(state.path()));
    let segments = files
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "idx"));
    assert!(segments.count() <= 9);
    assert_eq!(found(&index, "heron").unwrap().len(), 100);
}
