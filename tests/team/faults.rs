//! Connections that break in the middle of a write.

use memdir::engine::live;
use memdir::files::{FilesError, Place, Replaced, Storage, WritableStorage};
use memdir::rows::{Database, Rows};

use crate::postgres::{Cut, CutAt, CutBy, Session, TestDatabase, engine, query};
use crate::support::holding;

const ONE: &str = "20260101_000000_aaaaaaaa.md";
const TWO: &str = "20260101_000000_bbbbbbbb.md";

/// Returns the numbers of all changes of the workspace, in order.
fn numbers(test: &TestDatabase) -> Vec<i64> {
    let rows = query(&test.address(), "SELECT seq FROM change ORDER BY seq");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Returns the statement that lists who waits for a lock.
fn waiting_in(test: &TestDatabase) -> String {
    format!(
        "SELECT pid FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock'",
        test.name
    )
}

/// Writes, replaces and moves a memory over a cable that is cut, each time anew.
fn over_a_cut_cable(at: CutAt, by: CutBy) {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let cut_rows = || {
        let cut = Cut::lay(&test.address(), at, by);
        let database = Database::new(&cut.address(&test.address())).unwrap();
        Rows::open(&database, "atlas").unwrap()
    };
    cut_rows().add(Place::Files, ONE, b"first").unwrap();
    let seen = rows.reader(Place::Files).read(ONE, u64::MAX).unwrap();
    assert_eq!(seen.bytes, b"first");
    let replaced = cut_rows()
        .replace_and_keep(Place::Files, ONE, &seen, b"second")
        .unwrap();
    assert_eq!(replaced, Replaced::Done);
    cut_rows()
        .relocate(ONE, Place::Files, Place::Archive)
        .unwrap();
    let now = rows.reader(Place::Archive).read(ONE, u64::MAX).unwrap();
    assert_eq!(now.bytes, b"second");
    // Each write once: an added text, a replaced one, and a move of two changes.
    assert_eq!(numbers(&test), [1, 2, 3, 4]);
    assert_eq!(rows.head().unwrap(), 4);
    let former = [(1, b"first".to_vec()), (2, b"second".to_vec())];
    assert_eq!(rows.former_texts(Place::Files, ONE).unwrap(), former);
}

#[test]
fn a_commit_that_never_arrived_is_made_again() {
    over_a_cut_cable(CutAt::BeforeCommit, CutBy::Close);
    over_a_cut_cable(CutAt::BeforeCommit, CutBy::Error);
}

#[test]
fn a_commit_whose_answer_was_lost_is_not_made_twice() {
    over_a_cut_cable(CutAt::AfterCommit, CutBy::Close);
    over_a_cut_cable(CutAt::AfterCommit, CutBy::Error);
}

#[test]
fn a_commit_that_nobody_answers_ends_with_an_unknown_outcome() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    let written = |workspace: &str, at: CutAt| {
        let cut = Cut::lay(&test.address(), at, CutBy::Silence);
        let database = Database::new(&cut.address(&test.address())).unwrap();
        let rows = Rows::open(&database, workspace).unwrap();
        let Err(FilesError::Io { source, .. }) = rows.add(Place::Files, ONE, b"one") else {
            panic!("a write that nobody answered is done");
        };
        let told = source.to_string();
        assert!(told.contains("whether it was written is unknown"), "{told}");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| written("atlas", CutAt::BeforeCommit));
        written("beta", CutAt::AfterCommit);
    });
    let rows = query(&test.address(), "SELECT workspace FROM memory");
    let written: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(written, ["beta"]);
}

#[test]
fn a_connection_that_is_killed_while_it_waits_for_the_workspace_loses_no_write() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let mut holder = Session::new(&test.address());
    holder
        .execute("BEGIN; UPDATE workspace SET head = head WHERE name = 'atlas'")
        .unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| rows.add(Place::Files, ONE, b"one"));
        let mut killer = Session::new(&test.address());
        let pid: i32 = killer.until(&waiting_in(&test))[0].get(0);
        killer.query(&format!("SELECT pg_terminate_backend({pid}, 5000)"));
        holder.execute("ROLLBACK").unwrap();
        writer.join().unwrap().unwrap();
    });
    assert_eq!(numbers(&test), [1]);
    assert_eq!(rows.list(Place::Files).unwrap().entries.len(), 1);
}

#[test]
fn a_write_that_the_database_chooses_to_end_a_deadlock_is_made_again() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    rows.add(Place::Files, ONE, b"one").unwrap();
    let seen = rows.reader(Place::Files).read(ONE, u64::MAX).unwrap();
    let mut holder = Session::new(&test.address());
    holder
        .execute("BEGIN; UPDATE memory SET place = place")
        .unwrap();
    std::thread::scope(|scope| {
        let writer =
            scope.spawn(|| rows.replace_and_keep(Place::Files, ONE, &seen, b"changed text"));
        let mut looker = Session::new(&test.address());
        looker.until(&waiting_in(&test));
        // The one that waits longest looks for deadlocks first, and is ended: the writer.
        holder.execute("UPDATE workspace SET head = head").unwrap();
        holder.execute("COMMIT").unwrap();
        assert_eq!(writer.join().unwrap().unwrap(), Replaced::Done);
    });
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let mut looker = Session::new(&test.address());
    looker.until(&format!("{deadlocks} AND deadlocks = 1"));
    assert_eq!(numbers(&test), [1, 2]);
}

#[test]
fn connections_that_were_killed_while_idle_are_replaced() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let feed = rows.changes(Box::new(|| ())).unwrap();
    assert!(feed.take().everything);
    let kill = format!(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
         WHERE datname = '{}' AND pid <> pg_backend_pid()",
        test.name
    );
    query(&test.address(), &kill);
    rows.add(Place::Files, ONE, b"one").unwrap();
    query(&test.address(), &kill);
    assert_eq!(rows.list(Place::Files).unwrap().entries.len(), 1);
    query(&test.address(), &kill);
    let changed = feed.take();
    assert_eq!(changed.names.into_iter().collect::<Vec<_>>(), [ONE]);
    assert!(!changed.everything);
}

#[test]
fn what_was_told_and_could_not_be_indexed_is_told_again_and_claimed_by_no_answer() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    rows.add(Place::Files, TWO, b"two").unwrap();
    let sequence = rows.sequence().unwrap();
    let claimed = || sequence.end(sequence.begin(None, false).unwrap()).number;
    let feed = rows.changes(Box::new(|| ())).unwrap();
    assert!(feed.take().everything);
    feed.note_indexed(true);
    assert_eq!(claimed(), Some(1));
    rows.add(Place::Files, ONE, b"one").unwrap();
    for is_indexed in [false, false, true] {
        let changed = feed.take();
        assert_eq!(changed.names.into_iter().collect::<Vec<_>>(), [ONE]);
        feed.note_indexed(is_indexed);
        assert_eq!(claimed(), Some(if is_indexed { 2 } else { 1 }));
    }
    assert_eq!(feed.take().events, 0);
}

#[test]
fn an_answer_of_an_earlier_time_lacks_no_memory_that_was_renamed_since() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let cache = tempfile::tempdir().unwrap();
    let engine = engine(&rows, cache.path());
    live::follow_events(&engine.live);
    rows.add(Place::Files, ONE, b"heron").unwrap();
    let first = holding(&engine, "heron");
    assert_eq!(first.len(), 1);
    let moved = format!("birds/{ONE}");
    let other = Rows::open(&test.open(), "atlas").unwrap();
    let (from, to) = ((Place::Files, ONE), (Place::Files, moved.as_str()));
    other.rename(from, to).unwrap();
    let find = || engine.live.call(None, false, || holding(&engine, "heron"));
    // Names and numbers can be asked for, texts cannot: by names of the feed, and by all names.
    query(
        &test.address(),
        "ALTER TABLE memory RENAME COLUMN hash TO hash_away",
    );
    for _ in 0..2 {
        let (found, ended) = find().unwrap();
        // The text that is found is gone, and the new one cannot be read: that is said, or it is still known.
        assert!(found == first || ended.is_incomplete, "{found:?} {ended:?}");
        assert!(ended.age.is_some(), "{ended:?}");
    }
    query(
        &test.address(),
        "ALTER TABLE memory RENAME COLUMN hash_away TO hash",
    );
    let (found, ended) = find().unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((ended.age, ended.is_incomplete), (None, false));
}

#[test]
fn a_database_that_is_gone_is_an_error_and_no_empty_store() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    rows.add(Place::Files, ONE, b"one").unwrap();
    let feed = rows.changes(Box::new(|| ())).unwrap();
    feed.take();
    drop(test);
    assert!(feed.take().everything);
    assert!(rows.list(Place::Files).is_err());
    assert!(rows.reader(Place::Files).read(ONE, u64::MAX).is_err());
    assert!(rows.add(Place::Files, ONE, b"one").is_err());
    assert!(rows.folders_changed(Place::Files, &[(String::new(), 1)]));
}
