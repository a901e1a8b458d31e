//! Erasure of a person: no table and no index has their words or their name afterwards, and what others wrote is as it
//! was.

use std::process::Stdio;
use std::sync::Arc;

use memdir::engine::{Background, Engine, ops};
use memdir::files::{Place, Storage, WritableStorage};
use memdir::model::{Change, NewMemory, Stem};
use memdir::rows::Rows;
use memdir::rows::access::{self, Actor, AuditLog, Role};
use serde_json::{Value, json};

use crate::access::{make, read, write};
use crate::command::team;
use crate::copies::{SECRET, completes, engine};
use crate::postgres::{Session, TestDatabase, query};
use crate::serving::server;
use crate::support::new_memory;
use crate::support::program::Home;
use crate::support::until;

/// The person, as the audit names them.
const ANNA: &str = "annaquist";

/// Returns the tables that hold `text` in a column, as text or as bytes.
fn tables_with(test: &TestDatabase, text: &str) -> Vec<String> {
    let mut session = Session::new(&test.address());
    let tables = "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition \
         AND relnamespace = 'public'::regnamespace ORDER BY 1";
    let tables = session.query(tables);
    let tables = tables.iter().map(|row| row.get::<_, String>(0));
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    tables
        .filter(|table| {
            let sql = format!(
                "SELECT FROM {table} t WHERE position('{text}' IN lower(t::text)) > 0 OR position('{hex}' IN t::text) > 0"
            );
            !session.query(&sql).is_empty()
        })
        .collect()
}

/// Returns the files that `condition` selects, whole.
fn files(test: &TestDatabase, condition: &str) -> Vec<(String, Vec<u8>, i64)> {
    let sql = format!("SELECT name, bytes, seq FROM memory WHERE {condition} ORDER BY place, name");
    let rows = query(&test.address(), &sql);
    rows.iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

/// A workspace with memories of two people.
struct Shared {
    test: TestDatabase,
    home: Home,
    rows: Rows,
    engine: Arc<Engine>,
    log: AuditLog,
    _cache: tempfile::TempDir,
}

impl Shared {
    fn new() -> Option<Shared> {
        let test = TestDatabase::new()?;
        let rows = test.workspace("atlas");
        let cache = tempfile::tempdir().unwrap();
        Some(Shared {
            engine: Arc::new(engine(&rows, cache.path())),
            log: AuditLog::new(&test.open()),
            home: Home::new(),
            _cache: cache,
            rows,
            test,
        })
    }

    /// Does `work` as a call of `who`.
    fn by<T>(&self, who: &str, work: impl Fn(&Engine) -> T) -> T {
        let actor = Actor {
            identity: who.to_owned(),
            action: "test".to_owned(),
            request: format!("{who}-1"),
        };
        let mut done = None;
        self.log.run(&Arc::from("atlas"), actor, &mut || {
            done = Some(work(&self.engine));
            (true, Vec::new())
        });
        self.log.flush().unwrap();
        done.unwrap()
    }

    fn remember(&self, who: &str, content: &str) -> Stem {
        self.by(who, |engine| {
            let memory = NewMemory {
                user: "somebody".to_owned(),
                ..new_memory(content)
            };
            ops::remember(engine, memory, None).unwrap().stem
        })
    }

    fn change(&self, who: &str, memory: &Stem, content: &str) {
        let change = Change {
            content: Some(content.to_owned()),
            ..Change::default()
        };
        self.by(who, |engine| {
            ops::update(engine, memory.as_str(), &change).unwrap();
        });
    }

    fn erase(&self, arguments: &[&str]) -> (i32, String, String) {
        let words = [&["erase", "atlas"], arguments].concat();
        team(&self.home, &self.test, &words)
    }
}

#[test]
fn a_person_is_in_no_table_and_no_index_afterwards() {
    let Some(shared) = Shared::new() else {
        return;
    };
    let secret = format!("It is {SECRET}.");
    let kept = shared.remember("bert", "Bert saw a zebra.");
    let [one, changed, forgotten] =
        [1, 2, 3].map(|number| shared.remember(ANNA, &format!("{number}. {secret}")));
    shared.change(ANNA, &changed, &format!("No, {SECRET} it was."));
    shared.change("bert", &changed, "Bert says otherwise.");
    // An update that keeps the earlier text, as a memory of its own in the archive.
    let change = Change {
        content: Some("Bert corrects that, too.".to_owned()),
        ..Change::default()
    };
    let earlier = shared.by("bert", |engine| {
        ops::update_keeping(engine, one.as_str(), &change, &[])
            .unwrap()
            .1
    });
    assert!(earlier.is_some());
    shared.by(ANNA, |engine| {
        let why = format!("as {SECRET} is over");
        ops::forget_because(engine, forgotten.as_str(), Some(&why)).unwrap();
    });
    // In a memory of another one, between two texts of theirs.
    let others = shared.remember("bert", "Bert likes okapis.");
    shared.change(ANNA, &others, &format!("Bert likes {SECRET}."));
    shared.change("bert", &others, "Bert likes okapis again.");
    shared.by(ANNA, |_| {
        let path = "proposals/20260101_000000_aaaaaaaa.md";
        let proposal = shared.rows.put_beside(path, None, Some(secret.as_bytes()));
        proposal.unwrap();
    });
    make(&shared.test, "atlas", ANNA, Role::Writer);
    let other_token = make(&shared.test, "atlas", "bert", Role::Writer);
    let background = Background::start(&shared.engine).unwrap();
    until("the words are indexed", || completes(&shared.engine));
    let of_bert = format!("name IN ('{kept}.md', '{others}.md')");
    let before = files(&shared.test, &of_bert);
    assert_eq!(before.len(), 2);
    // As an import of a history names authors; and a vector, of which nobody knows whose words are in it.
    for sql in [
        format!("UPDATE change SET author = '{ANNA}' WHERE seq = 1"),
        format!(
            "INSERT INTO vector (workspace, model, key, bytes) \
             VALUES ('atlas', 'tiny', decode(repeat('00', 16), 'hex'), '{SECRET}')"
        ),
    ] {
        query(&shared.test.address(), &sql);
    }
    let with_words = ["journal", "memory", "vector", "version"];
    assert_eq!(tables_with(&shared.test, SECRET), with_words);
    assert_eq!(
        tables_with(&shared.test, ANNA),
        ["audit", "change", "token"]
    );

    let (code, shown, told) = shared.erase(&["--person", ANNA]);
    assert_eq!(code, 0, "{told}");
    assert!(shown.contains("3  memories to purge"), "{shown}");
    assert!(shown.contains("1  proposals to remove"), "{shown}");
    assert!(shown.contains("1  tokens to end"), "{shown}");
    assert!(shown.contains(one.as_str()), "{shown}");
    assert!(shown.contains("changed by others, too"), "{shown}");
    assert!(told.contains("--yes does it"), "{told}");
    assert!(
        told.contains(&format!("{others} is of others and stays")),
        "{told}"
    );
    assert_eq!(tables_with(&shared.test, SECRET), with_words);

    let (code, shown, told) = shared.erase(&["--person", ANNA, "--yes", "--backups", "30d"]);
    assert_eq!(code, 0, "{told}{shown}");
    assert!(shown.contains("4  memories purged"), "{shown}");
    for place in [
        "WAL",
        "VACUUM FULL",
        "pg_last_wal_replay_lsn",
        "--cache",
        "joined folder",
        "on none has the data",
    ] {
        assert!(shown.contains(place), "{place}: {shown}");
    }
    assert_eq!(tables_with(&shared.test, SECRET), [""; 0]);
    assert_eq!(tables_with(&shared.test, ANNA), [""; 0]);
    assert_eq!(files(&shared.test, &of_bert), before);
    assert_eq!(files(&shared.test, "place <> 'beside'").len(), 2);
    let (code, found, _) = team(&shared.home, &shared.test, &["check", "atlas"]);
    assert_eq!((code, found.as_str()), (0, ""));
    until("the index has no such words", || !completes(&shared.engine));
    drop(background);
    // One pseudonym, and a line of the erasure that names nobody.
    let names = "SELECT DISTINCT identity FROM audit WHERE identity LIKE 'erased:%'";
    assert_eq!(query(&shared.test.address(), names).len(), 1);
    let lines = access::audit(&shared.rows, 0, 0, 1000).unwrap();
    let last = lines.last().unwrap();
    assert_eq!(
        (last.action.as_str(), last.identity.as_deref(), last.count),
        ("erase", None, 4)
    );
    let numbers: Vec<i64> = lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, (1..=lines.len() as i64).collect::<Vec<_>>());
    let tokens = access::AccessTokens::new(&shared.test.open());
    assert!(tokens.holder("atlas", &other_token).unwrap().is_some());
    let (code, shown, _) = shared.erase(&["--person", ANNA]);
    assert_eq!(code, 1, "{shown}");
}

#[test]
fn names_in_frontmatter_count_where_they_are_given() {
    let Some(shared) = Shared::new() else {
        return;
    };
    // As an import writes them: by no identity.
    let text = |user: &str, agent: &str| {
        format!("---\nuser: {user}\nagent: {agent}\n---\n\nIt is {SECRET}.\n")
    };
    let names =
        ["aaaaaaaa", "bbbbbbbb", "cccccccc"].map(|hand| format!("20260101_000000_{hand}.md"));
    let texts = [
        text("Anna", "x"),
        text("Bert", "anna-agent"),
        text("Bert", "x"),
    ];
    for (name, text) in names.iter().zip(&texts) {
        shared
            .rows
            .add(Place::Files, name, text.as_bytes())
            .unwrap();
    }
    let data = |arguments: &[&str]| -> Value {
        let (_, shown, told) = shared.erase(&[arguments, &["--json"]].concat());
        serde_json::from_str(&shown).unwrap_or_else(|_| panic!("{shown}{told}"))
    };
    let ids = |of: &[usize]| -> Value {
        let ids = of.iter().map(|at| names[*at].trim_end_matches(".md"));
        json!(ids.collect::<Vec<_>>())
    };
    assert_eq!(data(&["--user", "Anna"])["memories"], ids(&[0]));
    assert_eq!(data(&["--user", "anna"])["memories"], ids(&[]));
    let both = ["--user", "Anna", "--agent", "anna-agent"];
    assert_eq!(data(&both)["memories"], ids(&[0, 1]));
    assert_eq!(shared.erase(&[]).0, 2);
    let done = data(&[&both[..], &["--yes"]].concat());
    assert_eq!(
        (&done["erased"], &done["memories"]),
        (&json!(true), &ids(&[0, 1]))
    );
    assert!(
        done["log_position"].as_str().unwrap().contains('/'),
        "{done}"
    );
    let left = files(&shared.test, "place <> 'beside'");
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].0, names[2]);
}

#[test]
fn what_a_person_changed_of_others_goes_only_if_that_is_said() {
    let Some(shared) = Shared::new() else {
        return;
    };
    let memory = shared.remember("bert", "Bert likes okapis.");
    shared.change(ANNA, &memory, &format!("Bert likes {SECRET}."));
    // Moving it is no writing.
    let moved = shared.remember("bert", "Bert saw a zebra.");
    shared.by(ANNA, |engine| {
        ops::forget(engine, moved.as_str()).unwrap();
        ops::restore(engine, moved.as_str()).unwrap();
    });
    let (code, _, told) = shared.erase(&["--person", ANNA]);
    assert_eq!(code, 0);
    assert!(told.contains("the present text is theirs"), "{told}");
    assert!(!told.contains(moved.as_str()), "{told}");
    let (code, shown, _) = shared.erase(&["--person", ANNA, "--edited", "--yes"]);
    assert_eq!(code, 0, "{shown}");
    assert_eq!(tables_with(&shared.test, SECRET), [""; 0]);
    let left = files(&shared.test, "place <> 'beside'");
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].0, format!("{moved}.md"));
    let former = shared.rows.former_texts(Place::Files, &left[0].0).unwrap();
    assert_eq!(former.len(), 1);
}

#[test]
fn a_killed_erasure_goes_on_when_it_is_repeated() {
    let Some(shared) = Shared::new() else {
        return;
    };
    let mut memories =
        [1, 2, 3].map(|number| shared.remember(ANNA, &format!("{number}. It is {SECRET}.")));
    memories.sort();
    shared.change(ANNA, &memories[1], &format!("It is {SECRET} still."));
    // The second one can be removed, and its former text cannot.
    let mut lock = Session::new(&shared.test.address());
    lock.execute("BEGIN; SELECT FROM version FOR UPDATE")
        .unwrap();
    let mut command = shared
        .home
        .command(&["team", "erase", "atlas", "--yes", "--person", ANNA]);
    command.env("MEMDIR_DATABASE", shared.test.address());
    let mut killed = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Session::new(&shared.test.address()).until(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    killed.kill().unwrap();
    killed.wait().unwrap();
    // What it had sent would be done, once the lock is free.
    query(
        &shared.test.address(),
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    lock.execute("ROLLBACK").unwrap();
    let live = files(&shared.test, "place = 'files'");
    let live: Vec<&str> = live.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(live, [format!("{}.md", memories[2])]);
    assert!(tables_with(&shared.test, SECRET).contains(&"version".to_owned()));
    assert_eq!(tables_with(&shared.test, ANNA), ["audit"]);
    let (code, shown, told) = shared.erase(&["--person", ANNA, "--yes"]);
    assert_eq!(code, 0, "{told}");
    assert!(shown.contains("1  memories purged"), "{shown}");
    assert_eq!(tables_with(&shared.test, SECRET), [""; 0]);
    assert_eq!(tables_with(&shared.test, ANNA), [""; 0]);
    let stones = shared.rows.names_beside("tombstones").unwrap();
    assert_eq!(stones.len(), 3);
}

#[test]
fn the_last_calls_of_a_token_lose_their_name_too() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let server = server(&test, &[]);
    let secret = make(&test, "atlas", ANNA, Role::Writer);
    assert_eq!(write(&server, "atlas", &secret).status, 201);
    assert_eq!(read(&server, "atlas", &secret), 200);
    let words = ["erase", "atlas", "--person", ANNA, "--yes"];
    let (code, shown, told) = team(&Home::new(), &test, &words);
    assert_eq!(code, 0, "{told}");
    assert!(shown.contains("1  memories purged"), "{shown}");
    assert!(shown.contains("1  tokens ended"), "{shown}");
    assert_eq!(read(&server, "atlas", &secret), 401);
    assert_eq!(tables_with(&test, ANNA), [""; 0]);
    assert!(rows.list(Place::Files).unwrap().entries.is_empty());
    let lines = access::audit(&rows, 0, 0, 1000).unwrap();
    let hers = lines.iter().filter(|line| {
        let who = line.identity.as_deref().unwrap_or_default();
        who.starts_with("erased:") && line.request.is_empty()
    });
    assert_eq!(hers.count(), 2, "{lines:#?}");
}
