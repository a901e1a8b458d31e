//! Processes that run for long: what they see of others' changes, and who of them leads.

use std::fs;
use std::fs::File;
use std::io::Write;
#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::program::Home;
use crate::support::session::Session;
use crate::support::{TestStore, holding, memory_text, new_memory, until};
use memdir::clock::SystemClock;
use memdir::engine::{Background, Engine, Query, QueryKind, live, ops};
use memdir::files::Lock;

const ONE: &str = "20260101_000000_aaaaaaaa.md";
const TWO: &str = "20260101_000000_bbbbbbbb.md";

fn text(name: &str, content: &str) -> String {
    memory_text(&name[16..24], "2026-01-01T00:00:00Z", content)
}

/// A store of [`ONE`], and an engine on it that runs for long and has looked at everything.
fn running(store: &TestStore) -> (Arc<Engine>, Background) {
    let engine = Engine::open(store.options(), Box::new(SystemClock)).unwrap();
    let engine = Arc::new(engine);
    let background = Background::start(&engine).unwrap();
    (engine, background)
}

fn store_of_one() -> TestStore {
    let store = TestStore::new();
    store.put(ONE, text(ONE, "a heron\n"));
    store
}

#[track_caller]
fn until_holding(engine: &Engine, word: &str, names: &[&str]) {
    until(&format!("{word} in {names:?}"), || {
        holding(engine, word) == names
    });
}

/// Makes a folder with [`TWO`], an egret, elsewhere and moves it in whole: no event tells of the
/// file in it.
fn move_in(store: &TestStore, folder: &str) {
    let elsewhere = store.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(TWO), text(TWO, "an egret\n")).unwrap();
    fs::rename(&elsewhere, store.files().join(folder)).unwrap();
}

/// Who leads, as a process that only looks sees it.
fn leader(home: &Home) -> Value {
    home.run(&["status", "--json"]).json()["watcher"].clone()
}

#[test]
fn what_other_programs_do_is_seen() {
    let store = store_of_one();
    let (engine, _background) = running(&store);
    until_holding(&engine, "heron", &[ONE]);
    store.put(TWO, text(TWO, "an egret\n"));
    until_holding(&engine, "egret", &[TWO]);
    let mut file = fs::File::options()
        .append(true)
        .open(store.files().join(TWO))
        .unwrap();
    file.write_all(b"and a stork\n").unwrap();
    until_holding(&engine, "stork", &[TWO]);
    // On Windows a file stays as long as somebody has it open.
    drop(file);
    fs::rename(store.files().join(TWO), store.files().join("other.md")).unwrap();
    until_holding(&engine, "stork", &["other.md"]);
    fs::remove_file(store.files().join("other.md")).unwrap();
    until_holding(&engine, "stork", &[]);
    assert_eq!(holding(&engine, "heron"), [ONE]);
}

#[test]
fn folders_that_come_and_go_are_seen() {
    let store = store_of_one();
    let (engine, _background) = running(&store);
    until_holding(&engine, "heron", &[ONE]);
    move_in(&store, "2026");
    let inside = format!("2026/{TWO}");
    until_holding(&engine, "egret", &[&inside]);
    fs::write(store.files().join(&inside), text(TWO, "a stork\n")).unwrap();
    until_holding(&engine, "stork", &[&inside]);
    fs::remove_dir_all(store.files().join("2026")).unwrap();
    until_holding(&engine, "stork", &[]);
}

#[test]
fn a_memory_folder_that_is_replaced_is_followed() {
    let store = store_of_one();
    let (engine, _background) = running(&store);
    until_holding(&engine, "heron", &[ONE]);
    fs::rename(store.files(), store.root().join("old")).unwrap();
    until_holding(&engine, "heron", &[]);
    fs::create_dir(store.files()).unwrap();
    store.put(TWO, text(TWO, "an egret\n"));
    until_holding(&engine, "egret", &[TWO]);
    fs::write(store.files().join(TWO), text(TWO, "a stork, in place\n")).unwrap();
    until_holding(&engine, "stork", &[TWO]);
}

#[test]
fn a_change_of_this_process_needs_no_event() {
    let store = store_of_one();
    let (engine, _background) = running(&store);
    for number in 0..50 {
        let word = format!("word{number}x");
        let stem = ops::remember(&engine, new_memory(&word), None)
            .unwrap()
            .stem;
        assert_eq!(holding(&engine, &word), [format!("{stem}.md")]);
        ops::forget(&engine, stem.as_str()).unwrap();
        assert_eq!(holding(&engine, &word), Vec::<String>::new());
    }
}

#[test]
fn the_last_good_text_stands_while_a_file_is_written_anew() {
    let store = store_of_one();
    let (engine, _background) = running(&store);
    until_holding(&engine, "heron", &[ONE]);
    let path = store.files().join(ONE);
    let new = text(ONE, "an egret\n");
    let mut file = fs::File::create(&path).unwrap(); // As `> file` does: empty from now on.
    assert_eq!(holding(&engine, "heron"), [ONE]);
    let (begun, rest) = new.split_at(30);
    file.write_all(begun.as_bytes()).unwrap();
    assert_eq!(holding(&engine, "heron"), [ONE]);
    file.write_all(rest.as_bytes()).unwrap();
    until_holding(&engine, "egret", &[ONE]);
    assert_eq!(holding(&engine, "heron"), Vec::<String>::new());
}

#[test]
fn a_file_that_stays_half_written_is_taken_for_what_it_is() {
    let store = store_of_one();
    let (engine, _background) = running(&store);
    until_holding(&engine, "heron", &[ONE]);
    fs::write(store.files().join(ONE), "---\nid: aaaaaaaa\nan egret\n").unwrap();
    until_holding(&engine, "heron", &[]);
    assert_eq!(holding(&engine, "egret"), [ONE]);
    let file = format!("files/{ONE}");
    let findings = ops::status(&engine).unwrap().findings;
    assert!(
        findings.iter().any(|finding| finding.file == file),
        "{findings:?}"
    );
}

#[test]
fn a_file_that_is_replaced_by_way_of_a_backup_is_never_missed() {
    let store = store_of_one();
    let (engine, _background) = running(&store);
    until_holding(&engine, "heron", &[ONE]);
    let path = store.files().join(ONE);
    let backup = store.files().join(format!("{ONE}~"));
    let answers = AtomicUsize::new(0);
    let (gone_for_long, missed) = std::thread::scope(|scope| {
        // The times for which the file was gone so long that it may have been taken for deleted, as
        // a machine without time lets it be; other ones are made until there are enough.
        let editor = scope.spawn(|| {
            let (mut short, mut long) = (0, Vec::new());
            while short < 40 {
                let gone = Instant::now();
                fs::rename(&path, &backup).unwrap();
                // What is tested: an editor is not done at once.
                std::thread::sleep(Duration::from_millis(3));
                fs::write(&path, text(ONE, &format!("a heron, {short}\n"))).unwrap();
                fs::remove_file(&backup).unwrap();
                match gone.elapsed() > Duration::from_millis(50) {
                    true => long.push((gone, Instant::now())),
                    false => short += 1,
                }
                assert!(long.len() < 400, "{short} of 40");
                // One that was begun after this.
                let answered = answers.load(Relaxed) + 2;
                until("it answers", || answers.load(Relaxed) >= answered);
            }
            long
        });
        let mut missed = Vec::new();
        while !editor.is_finished() {
            let begun = Instant::now();
            if holding(&engine, "heron") != [ONE] {
                missed.push((begun, Instant::now()));
            }
            answers.fetch_add(1, Relaxed);
        }
        (editor.join().unwrap(), missed)
    });
    for (begun, ended) in missed {
        let is_excused = |(from, to): &(Instant, Instant)| *from < ended && begun < *to;
        assert!(
            gone_for_long.iter().any(is_excused),
            "missed after {:?}",
            ended - begun
        );
    }
}

#[test]
fn a_large_store_without_an_index_is_searched_at_once_and_indexed_in_the_background() {
    let store = TestStore::new();
    for number in 0..400 {
        let name = format!("20260101_000000_c{number:07x}.md");
        store.put(&name, text(&name, &format!("a heron word{number}x\n")));
    }
    let (engine, _background) = running(&store);
    assert_eq!(holding(&engine, "heron").len(), 400);
    assert_eq!(holding(&engine, "word7x").len(), 1);
    until("everything is indexed", || {
        let counts = ops::counts(&engine);
        holding(&engine, "heron").len() == 400 && counts.indexed == 400 && counts.waiting == 0
    });
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
}

#[test]
fn a_damaged_index_that_nobody_may_mend_now_is_done_without() {
    let store = store_of_one();
    let engine = store.engine();
    assert_eq!(holding(&engine, "heron"), [ONE]);
    live::settle(&engine.live, true).unwrap();
    drop(engine);
    fs::write(store.index().join("meta.json"), "{").unwrap();
    let lock = Lock::try_take(&store.state().join("writer.lock")).unwrap();
    assert!(lock.is_some());
    let engine = store.engine();
    assert_eq!(holding(&engine, "heron"), [ONE]);
    assert_eq!(ops::recall(&engine, &["aaaaaaaa".to_owned()]).len(), 1);
    drop(lock);
    let later = store.engine();
    assert_eq!(holding(&later, "heron"), [ONE]);
    live::settle(&later.live, true).unwrap();
    assert_eq!(
        ops::verify(&later).unwrap().index_faults,
        Vec::<String>::new()
    );
}

#[test]
fn one_process_leads_and_the_next_takes_over_when_it_is_killed() {
    let home = Home::new();
    home.put(ONE, text(ONE, "a heron\n"));
    let mut first = Session::on(&home);
    let process = json!(first.child.id());
    until("the first leads", || leader(&home)["process"] == process);
    let second = Session::on(&home);
    assert_eq!(leader(&home)["process"], process);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let process = json!(second.child.id());
    until("the second leads", || leader(&home)["process"] == process);
    assert!(
        leader(&home)["mode"]
            .as_str()
            .is_some_and(|mode| mode == "events")
    );
}

#[test]
fn the_word_of_a_leader_that_is_gone_counts_for_nothing() {
    let home = Home::new();
    home.put(ONE, text(ONE, "a heron\n"));
    for number in 0..5 {
        let mut session = Session::on(&home);
        until("it leads", || {
            leader(&home)["process"] == json!(session.child.id())
        });
        // It has just said that everything is indexed; now it is gone, and a file changes in place.
        session.child.kill().unwrap();
        session.child.wait().unwrap();
        fs::write(
            home.files().join(ONE),
            text(ONE, &format!("an egret{number}x\n")),
        )
        .unwrap();
        let word = format!("egret{number}x");
        assert_eq!(home.run(&["think", "-k", &word]).code, 0, "{word}");
    }
    assert_eq!(leader(&home), Value::Null);
}

// On Windows files that are mapped cannot be deleted.
#[cfg(unix)]
#[test]
fn a_folder_of_derived_things_that_is_deleted_comes_back() {
    let store = store_of_one();
    let (engine, _background) = running(&store);
    until("it leads", || {
        ops::status(&engine).unwrap().leader.is_some()
    });
    // It may be writing at this moment; `rm -r` is repeated then, too.
    until("it is deleted", || {
        fs::remove_dir_all(store.state()).is_ok()
    });
    store.put(TWO, text(TWO, "an egret\n"));
    until_holding(&engine, "egret", &[TWO]);
    assert_eq!(holding(&engine, "heron"), [ONE]);
    until("it leads again", || {
        ops::status(&engine).unwrap().leader.is_some()
    });
    until("everything is indexed", || {
        ops::status(&engine).unwrap().waiting == 0
    });
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
}

#[test]
fn answers_say_what_they_rest_on() {
    let home = Home::new();
    home.put(ONE, text(ONE, "a heron\n"));
    fs::create_dir(home.files().join("folder.md")).unwrap();
    let ran = home.run(&["think", "-k", "heron", "--json"]);
    let said: Value = serde_json::from_str(ran.stderr.trim()).unwrap();
    assert_eq!(said["files"], 2);
    assert_eq!(said["unreadable"], 1);
    let sum = said["indexed"].as_u64().unwrap() + said["waiting"].as_u64().unwrap();
    assert_eq!(sum, 1);
    let status = home.run(&["status", "--json"]).json();
    assert_eq!(status["unreadable"], 1);
    assert_eq!(status["watcher"], Value::Null);
}

#[test]
fn folders_below_a_folder_that_was_replaced_are_watched_again() {
    let store = store_of_one();
    let inside = format!("sub/{TWO}");
    store.put(&inside, text(TWO, "an egret\n"));
    let (engine, _background) = running(&store);
    until_holding(&engine, "egret", &[&inside]);
    fs::rename(store.files(), store.root().join("old")).unwrap();
    store.put(&inside, text(TWO, "a stork\n"));
    until_holding(&engine, "stork", &[&inside]);
    until("it is watched again", || {
        holding(&engine, "stork");
        let leader = ops::status(&engine).unwrap().leader;
        leader.is_some_and(|leader| leader.watching == "events")
    });
    for word in ["plover", "curlew", "dunlin"] {
        fs::write(
            store.files().join(&inside),
            text(TWO, &format!("a {word}\n")),
        )
        .unwrap();
        until_holding(&engine, word, &[&inside]);
    }
}

// On Windows no folder is renamed in which a file is open.
#[cfg(unix)]
#[test]
fn a_store_that_was_replaced_is_not_taken_for_the_one_that_was_watched() {
    let home = Home::new();
    home.put(ONE, text(ONE, "a heron\n"));
    let session = Session::on(&home);
    let process = json!(session.child.id());
    until("it leads", || leader(&home)["process"] == process);
    // Another store of the same files, put in place in one step for each.
    let (store, other) = (home.store(), home.root().join("other"));
    fs::create_dir_all(other.join("files")).unwrap();
    fs::copy(home.files().join(ONE), other.join("files").join(ONE)).unwrap();
    fs::rename(&store, home.root().join("aside")).unwrap();
    fs::rename(&other, &store).unwrap();
    for number in 0..3 {
        let word = format!("egret{number}x");
        fs::write(home.files().join(ONE), text(ONE, &format!("an {word}\n"))).unwrap();
        assert_eq!(home.run(&["think", "-k", &word]).code, 0, "{word}");
        until("it leads here", || leader(&home)["process"] == process);
    }
}

/// `folder` and what lies below it, nothing if it does not exist.
#[cfg(unix)]
fn everything_below(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = folder.exists().then(|| folder.into()).into_iter().collect();
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        let entries = fs::read_dir(path).into_iter().flatten();
        found.extend(entries.map(|entry| entry.unwrap().path()));
        at += 1;
    }
    found
}

#[cfg(unix)]
#[test]
fn a_store_that_is_moved_away_is_not_made_anew() {
    let store = store_of_one();
    let root = store.root().join("inner");
    fs::create_dir(&root).unwrap();
    fs::rename(store.files(), root.join("files")).unwrap();
    let options = memdir::engine::Options {
        root: root.clone(),
        ..store.options()
    };
    let engine = Arc::new(Engine::open(options, Box::new(SystemClock)).unwrap());
    let _background = Background::start(&engine).unwrap();
    // What it has begun, it ends: it is moved away once nothing is left to do.
    let heartbeat = root.join(".memdir/heartbeat");
    until("everything is indexed", || {
        fs::read_to_string(&heartbeat).is_ok_and(|text| text.contains("\nstate "))
    });
    let aside = store.root().join("aside");
    fs::rename(&root, &aside).unwrap();
    assert!(ops::search(&engine, &crate::support::keywords(&["heron"])).is_err());
    assert!(ops::remember(&engine, new_memory("an egret\n"), None).is_err());
    let lock = aside.join(".memdir/leader.lock");
    until("it leads no more", || {
        Lock::try_take(&lock).is_ok_and(|taken| taken.is_some())
    });
    let anew = everything_below(&root);
    assert!(anew.is_empty(), "made anew: {anew:?}");
    // Where anything was made anew since, this fails.
    fs::rename(&aside, &root).unwrap();
    until_holding(&engine, "heron", &[ONE]);
    ops::remember(&engine, new_memory("an egret\n"), None).unwrap();
}

#[test]
fn folders_named_like_backups_are_followed() {
    let store = store_of_one();
    let (engine, _background) = running(&store);
    until_holding(&engine, "heron", &[ONE]);
    move_in(&store, "backup~");
    let inside = format!("backup~/{TWO}");
    until_holding(&engine, "egret", &[&inside]);
    fs::write(store.files().join(&inside), text(TWO, "a stork\n")).unwrap();
    until_holding(&engine, "stork", &[&inside]);
    fs::rename(store.files().join("backup~"), store.root().join("away")).unwrap();
    until_holding(&engine, "stork", &[]);
}

#[cfg(unix)]
#[test]
fn a_change_by_another_name_of_the_file_is_found() {
    let store = store_of_one();
    let other_name = store.root().join("other name");
    fs::hard_link(store.files().join(ONE), &other_name).unwrap();
    let (engine, _background) = running(&store);
    until_holding(&engine, "heron", &[ONE]);
    fs::write(&other_name, text(ONE, "an egret\n")).unwrap();
    until_holding(&engine, "egret", &[ONE]);
}

#[test]
fn a_hit_that_was_shown_before_is_shown_as_it_is_now() {
    let store = store_of_one();
    // A day later no file is in doubt, and what was read may be kept.
    let later = chrono::Utc::now() + chrono::Duration::days(1);
    let engine = Arc::new(store.engine_at(later));
    let _background = Background::start(&engine).unwrap();
    until_holding(&engine, "heron", &[ONE]);
    let shown = || -> Vec<String> {
        let search = Query {
            kind: QueryKind::Everything,
            ..crate::support::query("")
        };
        let hits = ops::think(&engine, &search).unwrap().hits.into_iter();
        hits.map(|hit| hit.memory.content.clone()).collect()
    };
    assert_eq!([shown(), shown()], [["a heron\n"], ["a heron\n"]]);
    let path = store.files().join(ONE);
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    // Of the same size, with the same time, in the same file.
    fs::write(&path, text(ONE, "a stork\n")).unwrap();
    File::options()
        .append(true)
        .open(&path)
        .and_then(|file| file.set_modified(written))
        .unwrap();
    assert_eq!([shown(), shown()], [["a stork\n"], ["a stork\n"]]);
    let beside = store.root().join("beside");
    fs::write(&beside, text(ONE, "a goose\n")).unwrap();
    fs::rename(&beside, &path).unwrap();
    assert_eq!([shown(), shown()], [["a goose\n"], ["a goose\n"]]);
    fs::remove_file(&path).unwrap();
    assert!(shown().is_empty());
}
