//! A search answers for the files as they are now, whatever became of the index.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;

use chrono::Duration;
use proptest::collection::vec;

use memdir::engine::{Engine, EngineError, Options, Query, live, ops};
use memdir::model::{Change, Filter, Memory, NewMemory, Timestamp};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::support::texts::{VOCABULARY, sentence};
use crate::support::{
    TestStore, at, clock, found, holding, keywords, memory_text, new_memory, noon, query, random,
    regular_files, touch, workspace,
};

prop_compose! {
    fn memory()(
        content in sentence(),
        user in select(vec!["Caroline", "Marco", "mira"]),
        topics in vec(select(&VOCABULARY[..]), 0..3),
        title in proptest::option::of(sentence()),
        namespace in select(vec![None, Some("atlas"), Some("home")]),
        minutes in 0..20_000_i64,
    ) -> NewMemory {
        let time = at("2026-01-14T09:15:00Z") + Duration::minutes(minutes);
        NewMemory {
            timestamp: Some(Timestamp::from_utc(time)),
            agent: "claude".to_owned(),
            user: user.to_owned(),
            topics: topics.into_iter().map(str::to_owned).collect(),
            title: title.map(|title| title.trim().to_owned()),
            namespace: namespace.map(str::to_owned),
            content,
            ..NewMemory::default()
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Remember(Box<NewMemory>),
    Update(Index, String),
    Forget(Index),
    /// By other programs.
    Overwrite(Index, String),
    Delete(Index),
    /// A copy of the same bytes in its place, or only another time.
    Touch(Index, bool),
    Settle,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let which = any::<Index>;
    prop_oneof![
        6 => memory().prop_map(|memory| Step::Remember(Box::new(memory))),
        1 => (which(), sentence()).prop_map(|(which, text)| Step::Update(which, text)),
        1 => which().prop_map(Step::Forget),
        1 => (which(), sentence()).prop_map(|(which, text)| Step::Overwrite(which, text)),
        1 => which().prop_map(Step::Delete),
        1 => (which(), any::<bool>()).prop_map(|(which, copy)| Step::Touch(which, copy)),
        2 => Just(Step::Settle),
        1 => Just(Step::Reopen),
    ]
}

fn take(store: &TestStore, engine: &mut Engine, step: Step) {
    let name = |which: &Index| -> Option<String> {
        let names = store.names();
        (!names.is_empty()).then(|| which.get(&names).clone())
    };
    let stem = |name: String| {
        let path = Path::new(&name);
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    };
    match step {
        Step::Remember(memory) => drop(ops::remember(engine, *memory, None).unwrap()),
        Step::Update(which, content) => {
            let change = Change {
                content: Some(content),
                ..Change::default()
            };
            name(&which).map(|name| ops::update(engine, &stem(name), &change).unwrap());
        }
        Step::Forget(which) => {
            drop(name(&which).map(|name| ops::forget(engine, &stem(name)).unwrap()));
        }
        Step::Overwrite(which, text) => {
            if let Some(name) = name(&which) {
                store.write_in_place(&name, &format!("no frontmatter any more\n{text}"));
            }
        }
        Step::Delete(which) => drop(name(&which).map(|name| store.remove(&name))),
        Step::Touch(which, is_copy) => {
            if let Some(name) = name(&which) {
                store.touch(&name, is_copy, at("2026-01-15T00:00:00Z"));
            }
        }
        Step::Settle => {
            ops::status(engine).unwrap();
            live::settle(&engine.live, true).unwrap();
        }
        Step::Reopen => *engine = store.engine(),
    }
}

/// What a store answers: all its memories, and the best ten of some questions with their scores.
#[derive(Debug, PartialEq)]
struct Answers {
    memories: BTreeMap<String, Memory>,
    best: Vec<Vec<(String, f64)>>,
}

fn answers(engine: &Engine, questions: &[Query]) -> Answers {
    let all = Query::everything(Filter::default(), 100_000);
    let hits = ops::search(engine, &all).unwrap().hits;
    let best = |search: &Query| {
        let search = Query {
            limit: 10,
            ..search.clone()
        };
        let hits = ops::search(engine, &search).unwrap().hits;
        hits.into_iter().map(|hit| (hit.name, hit.score)).collect()
    };
    Answers {
        memories: hits
            .into_iter()
            .map(|hit| (hit.name, hit.memory.into_memory()))
            .collect(),
        best: questions.iter().map(best).collect(),
    }
}

/// An engine that knows the files only, and has its index elsewhere.
fn engine_from_nothing(store: &TestStore, state: &Path) -> Engine {
    let options = Options {
        state: Some(state.to_owned()),
        ..store.options()
    };
    let engine = Engine::open(options, clock(noon())).unwrap();
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    engine
}

proptest! {
    #![proptest_config(random(12))]

    #[test]
    fn an_index_that_followed_every_change_answers_as_one_made_afresh(
        steps in vec(step(), 1..40),
        texts in vec(sentence(), 25),
        words in vec(select(&VOCABULARY[..]), 25),
    ) {
        let store = TestStore::new();
        let mut engine = store.engine();
        for step in steps {
            take(&store, &mut engine, step);
            // A question between the steps leaves an overlay behind.
            found(&engine, &query(&texts[0]));
        }
        let questions: Vec<Query> = texts
            .iter()
            .map(|text| query(text))
            .chain(words.iter().map(|word| keywords(&[word])))
            .collect();
        let elsewhere = tempfile::tempdir().unwrap();
        let rebuilt = engine_from_nothing(&store, elsewhere.path());
        let expected = answers(&rebuilt, &questions);
        ops::status(&engine).unwrap();
        prop_assert_eq!(&answers(&engine, &questions), &expected);
        live::settle(&engine.live, true).unwrap();
        prop_assert_eq!(&answers(&engine, &questions), &expected);
        prop_assert_eq!(&answers(&store.engine(), &questions), &expected);
        prop_assert_eq!(ops::verify(&engine).unwrap().index_faults, Vec::<String>::new());
    }
}

#[test]
fn another_process_finds_a_new_memory_at_once() {
    let store = TestStore::new();
    let (one, other) = (store.engine(), store.engine());
    assert_eq!(holding(&other, "heron"), Vec::<String>::new());
    let first = ops::remember(&one, new_memory("a heron\n"), None)
        .unwrap()
        .stem;
    assert_eq!(holding(&other, "heron"), [format!("{first}.md")]);
    live::settle(&one.live, true).unwrap();
    let second = ops::remember(&other, new_memory("an egret\n"), None)
        .unwrap()
        .stem;
    assert_eq!(holding(&one, "egret"), [format!("{second}.md")]);
    assert_eq!(holding(&one, "heron"), [format!("{first}.md")]);
}

#[test]
fn a_process_sees_its_own_changes_at_once() {
    let store = TestStore::new();
    let engine = store.engine();
    let stem = ops::remember(&engine, new_memory("a heron\n"), None)
        .unwrap()
        .stem;
    let name = [format!("{stem}.md")];
    assert_eq!(holding(&engine, "heron"), name);
    let change = Change {
        content: Some("an egret\n".to_owned()),
        ..Change::default()
    };
    ops::update(&engine, stem.as_str(), &change).unwrap();
    assert_eq!(holding(&engine, "heron"), Vec::<String>::new());
    assert_eq!(holding(&engine, "egret"), name);
    ops::forget(&engine, stem.as_str()).unwrap();
    assert_eq!(holding(&engine, "egret"), Vec::<String>::new());
    ops::restore(&engine, stem.as_str()).unwrap();
    assert_eq!(holding(&engine, "egret"), name);
}

#[test]
fn a_file_put_in_place_by_another_program_is_found_at_once() {
    let store = TestStore::new();
    let engine = store.engine();
    store.put("notes.md", "a heron");
    assert_eq!(holding(&engine, "heron"), ["notes.md"]);
    store.put("notes.md", "an egret");
    assert_eq!(holding(&engine, "heron"), Vec::<String>::new());
    assert_eq!(holding(&engine, "egret"), ["notes.md"]);
    store.put("folder/more.md", "an egret");
    assert_eq!(holding(&engine, "egret").len(), 2);
    store.rename_folder("folder", "renamed");
    assert_eq!(holding(&engine, "egret").len(), 2);
    store.remove("renamed/more.md");
    assert_eq!(holding(&engine, "egret"), ["notes.md"]);
}

#[test]
fn a_text_that_is_no_longer_in_a_file_is_not_found_in_it() {
    // Changed in place, which no folder's time tells; the hit itself is looked at.
    let store = TestStore::new();
    store.put("notes.md", "a heron");
    let engine = store.engine();
    assert_eq!(holding(&engine, "heron"), ["notes.md"]);
    store.write_in_place("notes.md", "an egret");
    assert_eq!(holding(&engine, "heron"), Vec::<String>::new());
    assert_eq!(holding(&engine, "egret"), ["notes.md"]);
}

const NAME: &str = "20260101_000000_aaaaaaaa.md";

/// A store whose only memory was written at `written`, indexed by a process at `indexed`, and
/// then changed in place without a trace: same size, same modification time, same inode.
fn changed_without_a_trace(written: &str, indexed: &str) -> TestStore {
    let store = TestStore::in_folder("every change of a row has a number, and so leaves a trace");
    store.put(
        NAME,
        memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "a heron\n"),
    );
    let path = store.files().join(NAME);
    touch(&path, at(written));
    let engine = store.engine_at(at(indexed));
    assert_eq!(holding(&engine, "heron"), [NAME]);
    live::settle(&engine.live, true).unwrap();
    let text = memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "a eagle\n");
    fs::write(&path, text).unwrap();
    touch(&path, at(written));
    store
}

#[test]
fn a_change_without_a_trace_is_found_if_the_file_was_young_when_it_was_indexed() {
    let store = changed_without_a_trace("2026-06-01T11:59:59Z", "2026-06-01T12:00:00Z");
    let engine = store.engine_at(at("2026-06-01T13:00:00Z"));
    assert_eq!(holding(&engine, "eagle"), [NAME]);
    assert_eq!(holding(&engine, "heron"), Vec::<String>::new());
    live::settle(&engine.live, true).unwrap();
    let later = store.engine_at(at("2026-06-01T14:00:00Z"));
    assert_eq!(holding(&later, "eagle"), [NAME]);
    assert_eq!(
        ops::verify(&later).unwrap().index_faults,
        Vec::<String>::new()
    );
}

// Windows has no time of change that nobody sets back.
#[cfg(unix)]
#[test]
fn a_change_behind_a_time_that_was_set_back_is_found() {
    let store = changed_without_a_trace("2026-06-01T11:00:00Z", "2026-06-01T12:00:00Z");
    let engine = store.engine_at(at("2026-06-01T13:00:00Z"));
    assert_eq!(holding(&engine, "eagle"), [NAME]);
    assert_eq!(holding(&engine, "heron"), Vec::<String>::new());
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
}

/// A store of some memories with a committed index, and what it answers.
fn indexed_store() -> (TestStore, Vec<Query>, Answers) {
    let store = TestStore::new();
    let mut numbers = (0..40_usize).cycle();
    for number in 0..60_i64 {
        let words: Vec<&str> = (0..12)
            .map(|step| VOCABULARY[(numbers.next().unwrap() * 7 + step * number as usize) % 40])
            .collect();
        let time = at("2026-01-14T09:15:00Z") + Duration::hours(number);
        let stem = format!("{}_c{number:07x}", time.format("%Y%m%d_%H%M%S"));
        let text = memory_text(&stem[16..], &time.to_rfc3339(), &words.join(" "));
        store.put(&format!("{stem}.md"), text);
    }
    let engine = store.engine();
    let questions: Vec<Query> = VOCABULARY
        .chunks(4)
        .flat_map(|words| [keywords(&words[..1]), query(&words.join(" "))])
        .collect();
    let answers = answers(&engine, &questions);
    live::settle(&engine.live, true).unwrap();
    assert!(
        regular_files(&store.index()).len() > 5,
        "the index is written"
    );
    (store, questions, answers)
}

/// The whole files of an index, to be harmed one at a time.
struct IndexFiles {
    folder: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl IndexFiles {
    fn of(store: &TestStore) -> IndexFiles {
        let folder = store.index();
        let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
        let files = regular_files(&folder).into_iter().map(read).collect();
        IndexFiles { folder, files }
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().map(|(path, _)| path)
    }

    /// Puts all files back and harms one. They are new files each time: a map of the old ones
    /// must not be cut short.
    fn harmed(&self, path: &Path, harm: impl Fn(&Path)) {
        fs::remove_dir_all(&self.folder).unwrap();
        fs::create_dir(&self.folder).unwrap();
        for (path, bytes) in &self.files {
            fs::write(path, bytes).unwrap();
        }
        harm(path);
    }
}

/// Harms one file of the index after the other; each time a new process must answer as before.
#[track_caller]
fn check_each_index_file(harm: impl Fn(&Path)) {
    let (store, questions, expected) = indexed_store();
    let index = IndexFiles::of(&store);
    for path in index.paths() {
        index.harmed(path, &harm);
        let engine = store.engine();
        assert_eq!(answers(&engine, &questions), expected, "{}", path.display());
        live::reindex(&engine.live, false, &mut |_| {}).unwrap();
        assert_eq!(
            answers(&store.engine(), &questions),
            expected,
            "{}",
            path.display()
        );
    }
}

#[test]
fn a_missing_index_file_changes_no_answer() {
    check_each_index_file(|path| fs::remove_file(path).unwrap());
}

#[test]
fn an_empty_index_file_changes_no_answer() {
    check_each_index_file(|path| fs::write(path, "").unwrap());
}

#[test]
fn half_an_index_file_changes_no_answer() {
    check_each_index_file(|path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    });
}

#[test]
fn a_flipped_bit_at_the_end_of_an_index_file_changes_no_answer() {
    check_each_index_file(|path| flip(path, |length| length - 1));
}

#[test]
fn a_flipped_bit_at_the_start_of_an_index_file_changes_no_answer() {
    check_each_index_file(|path| flip(path, |_| 0));
}

#[test]
fn a_flipped_bit_within_an_index_file_changes_no_answer() {
    for part in [2, 3, 5] {
        check_each_index_file(|path| flip(path, |length| length / part));
    }
}

fn flip(path: &Path, place: impl Fn(usize) -> usize) {
    let mut bytes = fs::read(path).unwrap();
    if !bytes.is_empty() {
        let place = place(bytes.len());
        bytes[place] ^= 0x10;
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_deleted_index_changes_no_answer_of_a_running_process() {
    let (store, questions, expected) = indexed_store();
    let engine = store.engine();
    assert_eq!(answers(&engine, &questions), expected);
    fs::remove_dir_all(store.state()).unwrap();
    ops::status(&engine).unwrap();
    assert_eq!(answers(&engine, &questions), expected);
    live::settle(&engine.live, true).unwrap();
    assert_eq!(answers(&engine, &questions), expected);
    assert_eq!(answers(&store.engine(), &questions), expected);
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
}

#[test]
fn an_index_made_anew_by_another_process_changes_no_answer() {
    let (store, questions, expected) = indexed_store();
    let (one, other) = (store.engine(), store.engine());
    assert_eq!(answers(&one, &questions), expected);
    live::reindex(&other.live, true, &mut |_| {}).unwrap();
    ops::status(&one).unwrap();
    assert_eq!(answers(&one, &questions), expected);
    ops::remember(&one, new_memory("a heron\n"), None).unwrap();
    ops::status(&one).unwrap();
    live::settle(&one.live, true).unwrap();
    assert_eq!(holding(&other, "heron").len(), 1);
}

#[test]
fn the_folder_of_derived_things_is_always_hidden_from_git() {
    let store = TestStore::in_folder("a server's cache lies in no repository");
    let ignored = || fs::read_to_string(store.state().join(".gitignore")).unwrap();
    let engine = store.engine();
    ops::remember(&engine, new_memory("a heron\n"), None).unwrap();
    assert!(ignored().contains("\n*\n"));
    fs::remove_dir_all(store.state()).unwrap();
    holding(&engine, "heron");
    ops::status(&engine).unwrap();
    live::settle(&engine.live, true).unwrap();
    drop(engine);
    holding(&store.engine(), "heron");
    assert!(ignored().contains("\n*\n"));
}

#[test]
fn two_processes_that_index_at_once_do_not_disturb_each_other() {
    let store = TestStore::new();
    for number in 0..400 {
        // So many that the first look indexes them at once.
        let handle = format!("c{number:07x}");
        let name = format!("20260101_000000_{handle}.md");
        let content = format!("common word{number}x\n");
        store.put(
            &name,
            memory_text(&handle, "2026-01-01T00:00:00Z", &content),
        );
    }
    let start = Barrier::new(3);
    let work = |first: usize| {
        let engine = store.engine();
        start.wait();
        for round in 0..10 {
            let number = first + round;
            assert_eq!(holding(&engine, "common").len(), 400);
            assert_eq!(holding(&engine, &format!("word{number}x")).len(), 1);
            live::settle(&engine.live, true).unwrap();
            ops::remember(&engine, new_memory(&format!("own{number}x\n")), None).unwrap();
            assert_eq!(holding(&engine, &format!("own{number}x")).len(), 1);
        }
    };
    std::thread::scope(|scope| {
        let threads = [0, 100, 200].map(|first| scope.spawn(move || work(first)));
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
    let engine = store.engine();
    assert_eq!(holding(&engine, "own").len(), 30);
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
}

#[test]
fn a_store_that_may_only_be_read_is_searched_and_stays_as_it_is() {
    workspace::needs_a_folder("what is not written to is the folder itself");
    let store = TestStore::of_fixture("obsidian");
    let elsewhere = tempfile::tempdir().unwrap();
    let options = Options {
        read_only: true,
        git: None,
        state: Some(elsewhere.path().join("state")),
        ..store.options()
    };
    let engine = Engine::open(options, clock(noon())).unwrap();
    let before = store.texts();
    assert_eq!(holding(&engine, "litres"), ["20260406_081200_0badcafe.md"]);
    live::settle(&engine.live, true).unwrap();
    assert_eq!(holding(&engine, "litres"), ["20260406_081200_0badcafe.md"]);
    assert_eq!(ops::status(&engine).unwrap().waiting, 0);
    let refused = ops::remember(&engine, new_memory("a heron\n"), None);
    assert!(
        matches!(refused, Err(EngineError::ReadOnly(_))),
        "{refused:?}"
    );
    let refused = ops::forget(&engine, "0badcafe");
    assert!(
        matches!(refused, Err(EngineError::ReadOnly(_))),
        "{refused:?}"
    );
    let change = Change {
        user: Some("tom".to_owned()),
        ..Change::default()
    };
    let refused = ops::update(&engine, "0badcafe", &change);
    assert!(
        matches!(refused, Err(EngineError::ReadOnly(_))),
        "{refused:?}"
    );
    assert_eq!(store.texts(), before);
    let names: Vec<_> = fs::read_dir(store.root())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["files"]);
}
