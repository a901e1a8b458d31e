//! The audit of a workspace: a line for each call and each change, by the identity of the token.

use memdir::files::{Place, WritableStorage};
use memdir::rows::Rows;
use memdir::rows::access::{self, Actor, AuditLine, AuditLog, Role};
use serde_json::{Value, json};

use crate::access::{make, read, tool, write};
use crate::postgres::{Session, TestDatabase, query};
use crate::serving::{json_of, server, token};
use crate::support::memdir_server::Server;
use crate::support::program::Home;
use crate::support::until;

/// The lines of the audit, once there are so many.
pub fn lines(rows: &Rows, count: usize) -> Vec<AuditLine> {
    let mut lines = Vec::new();
    until(&format!("there are {count} lines"), || {
        lines = access::audit(rows, 0, 0, 1000).unwrap();
        lines.len() >= count
    });
    lines
}

fn audit(server: &Server, query: &str, secret: &str) -> (u16, Value) {
    let answered = server.get(&format!("/w/atlas/api/v1/audit{query}"), secret);
    (answered.status, json_of(&answered))
}

#[test]
fn each_call_has_a_line_by_its_token_whatever_its_arguments_say() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let server = server(&test, &[]);
    let (anna, bert) = (
        make(&test, "atlas", "anna", Role::Writer),
        make(&test, "atlas", "bert", Role::Reader),
    );
    let memory =
        json!({"content": "The okapi.", "topics": ["animals"], "agent": "bert", "user": "bert"});
    let stored = tool(&server, "atlas", &anna, "remember", memory);
    assert!(!stored.contains("\"isError\":true"), "{stored}");
    let names = query(
        &test.address(),
        "SELECT name FROM memory WHERE place = 'files'",
    );
    let id = names[0]
        .get::<_, &str>(0)
        .trim_end_matches(".md")
        .to_owned();
    tool(&server, "atlas", &bert, "think", json!({"query": "okapi"}));
    let headers = [
        &format!("Authorization: Bearer {bert}"),
        "X-Request-Id: question-1",
    ];
    let path = format!("/w/atlas/api/v1/memories/{id}");
    assert_eq!(server.ask("GET", &path, &headers, b"").status, 200);
    assert_eq!(write(&server, "atlas", &bert).status, 403);
    let missing = server.get("/w/atlas/api/v1/memories/20200101_000000_00000000", &bert);
    assert_eq!(missing.status, 404);
    assert_eq!(read(&server, "atlas", &token(&server)), 200);
    let all = lines(&rows, 6);
    let numbers: Vec<i64> = all.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    let who = |line: &AuditLine| (line.identity.clone().unwrap(), line.outcome.clone());
    let of = |identity: &str, outcome: &str| (identity.to_owned(), outcome.to_owned());
    let mut outcomes: Vec<_> = all.iter().map(who).collect();
    outcomes.sort();
    let expected = [
        of("anna", "done"),
        of("bert", "done"),
        of("bert", "done"),
        of("bert", "failed"),
        of("bert", "refused"),
        of("operator:default", "done"),
    ];
    assert_eq!(outcomes, expected, "{all:#?}");
    let of_write = all.iter().find(|line| line.action == "remember").unwrap();
    assert_eq!((of_write.changes, of_write.count), (Some((1, 1)), 1));
    assert_eq!(of_write.memories, std::slice::from_ref(&id));
    let of_search = all.iter().find(|line| line.action == "think").unwrap();
    assert_eq!((of_search.count, of_search.changes), (1, None));
    assert!(id.ends_with(&of_search.memories[0]), "{of_search:?}");
    let of_read = all
        .iter()
        .find(|line| line.request == "question-1")
        .unwrap();
    assert_eq!(of_read.count, 1);
    assert!(id.ends_with(&of_read.memories[0]), "{of_read:?}");
}

#[test]
fn an_address_of_no_workspace_is_no_part_of_a_statement() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let server = server(&test, &[]);
    let operator = token(&server);
    assert_eq!(write(&server, "atlas", &operator).status, 201);
    for name in ["x';TRUNCATE\"memory\";COMMIT;--", "it's", "nowhere"] {
        for part in ["tokens", "groups", "audit", "memories", "topics"] {
            let answered = server.get(&format!("/w/{name}/api/v1/{part}"), &operator);
            assert_eq!(answered.status, 404, "{name} {part}: {answered:?}");
        }
    }
    // Lines that are written after those.
    assert_eq!(read(&server, "atlas", &operator), 200);
    lines(&rows, 2);
    let count = |sql: &str| query(&test.address(), sql)[0].get::<_, i64>(0);
    assert_eq!(count("SELECT count(*) FROM memory"), 1);
    let foreign = "SELECT count(*) FROM audit WHERE workspace <> 'atlas'";
    assert_eq!(count(foreign), 0);
}

#[test]
fn no_id_in_a_reply_keeps_lines_from_being_written() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let server = server(&test, &[]);
    let reader = make(&test, "atlas", "reader", Role::Reader);
    for id in ["a\0b", "a\nb"] {
        tool(
            &server,
            "atlas",
            &reader,
            "recall",
            json!({"memory_ids": [id]}),
        );
    }
    assert_eq!(read(&server, "atlas", &reader), 200);
    let all = lines(&rows, 3);
    assert!(all.iter().all(|line| line.memories.is_empty()), "{all:?}");
    // Values that the database refuses whatever is done cost their own lines, and no others.
    let log = AuditLog::new(&test.open());
    let actor = |identity: &str| Actor {
        identity: identity.to_owned(),
        action: "think".to_owned(),
        request: "1".to_owned(),
    };
    test.workspace("beta");
    log.run(&"beta".into(), actor("a\0b"), &mut || (true, Vec::new()));
    log.run(&rows.name().into(), actor("anna"), &mut || {
        (true, Vec::new())
    });
    log.flush().unwrap();
    assert_eq!(lines(&rows, 4)[3].identity.as_deref(), Some("anna"));
}

#[test]
fn a_call_that_ends_before_it_is_run_has_a_line() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let server = server(&test, &[]);
    let writer = make(&test, "atlas", "writer", Role::Writer);
    let headers = [
        &format!("Authorization: Bearer {writer}"),
        "Content-Type: application/json",
    ];
    let answered = server.ask("POST", "/w/atlas/api/v1/memories", &headers, b"{");
    assert_eq!(answered.status, 400, "{answered:?}");
    assert_eq!(lines(&rows, 1)[0].outcome, "failed");
}

#[test]
fn the_line_of_a_change_is_committed_with_it() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let log = AuditLog::new(&test.open());
    let actor = Actor {
        identity: "anna".to_owned(),
        action: "remember".to_owned(),
        request: "1".to_owned(),
    };
    let name = "20260101_000000_aaaaaaaa.md";
    log.run(&rows.name().into(), actor.clone(), &mut || {
        rows.add(Place::Files, name, b"x").unwrap();
        // There at once, not in the background.
        let lines = access::audit(&rows, 0, 0, 10).unwrap();
        assert_eq!(lines[0].identity.as_deref(), Some("anna"));
        assert_eq!(lines[0].memories, ["20260101_000000_aaaaaaaa"]);
        rows.add(Place::Files, name, b"x").unwrap_err();
        (true, Vec::new())
    });
    log.flush().unwrap();
    assert_eq!(access::audit(&rows, 0, 0, 10).unwrap().len(), 1);
    // A change that is not committed has none; a call that breaks down has one.
    let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        log.run(&rows.name().into(), actor, &mut || panic!("of a test"));
    }));
    assert!(broken.is_err());
    log.flush().unwrap();
    let last = access::audit(&rows, 1, 0, 10).unwrap();
    assert_eq!(last.len(), 1);
    assert_eq!(
        (last[0].outcome.as_str(), last[0].changes),
        ("failed", None)
    );
    // What no call does has no identity.
    rows.add(Place::Files, "20260101_000000_bbbbbbbb.md", b"x")
        .unwrap();
    let last = access::audit(&rows, 2, 0, 10).unwrap();
    assert_eq!(
        (last[0].identity.as_deref(), last[0].changes),
        (None, Some((2, 2)))
    );
}

#[test]
fn an_owner_sees_the_audit_page_by_page_and_others_do_not() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    test.workspace("beta");
    let mut server = server(&test, &[]);
    let owner = make(&test, "atlas", "olga", Role::Owner);
    let writer = make(&test, "atlas", "anna", Role::Writer);
    let foreign = make(&test, "beta", "olga", Role::Owner);
    for _ in 0..3 {
        assert_eq!(write(&server, "atlas", &writer).status, 201);
    }
    lines(&rows, 3);
    assert_eq!(audit(&server, "", &writer).0, 403);
    assert_eq!(audit(&server, "", &foreign).0, 401);
    let (status, page) = audit(&server, "?limit=2", &owner);
    assert_eq!(status, 200, "{page}");
    let numbers = |page: &Value| -> Vec<i64> {
        let lines = page["lines"].as_array().unwrap().iter();
        lines.map(|line| line["number"].as_i64().unwrap()).collect()
    };
    assert_eq!(numbers(&page), [1, 2]);
    assert_eq!(page["lines"][0]["identity"], json!("anna"));
    assert_eq!(audit(&server, "?limit=many", &owner).0, 400);
    let (_, page) = audit(&server, "?after=2&limit=1", &owner);
    assert_eq!(numbers(&page), [3]);
    // Looking at it is in it, also what was refused; the end of a server writes what waits.
    assert_eq!(server.end(), Some(0));
    let seen = access::audit(&rows, 0, 0, 1000).unwrap();
    let of = |who: &str, outcome: &str| {
        let lines = seen.iter().filter(|line| line.action == "audit");
        let lines = lines.filter(|line| line.identity.as_deref() == Some(who));
        lines.filter(|line| line.outcome == outcome).count()
    };
    assert_eq!(
        (of("anna", "refused"), of("olga", "done")),
        (1, 2),
        "{seen:#?}"
    );
}

#[test]
fn lines_of_several_servers_have_numbers_without_gaps() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let test = &test;
            scope.spawn(move || {
                let rows = Rows::open(&test.open(), "atlas").unwrap();
                let log = AuditLog::new(&test.open());
                for number in 0..20 {
                    let actor = Actor {
                        identity: format!("{thread}"),
                        action: "think".to_owned(),
                        request: format!("{number}"),
                    };
                    log.run(&rows.name().into(), actor, &mut || {
                        if number % 2 == 0 {
                            let name = format!("20260101_000000_{thread:04x}{number:04x}.md");
                            rows.add(Place::Files, &name, b"x").unwrap();
                        }
                        (true, vec!["20260101_000000_00000000".to_owned()])
                    });
                }
                log.flush().unwrap();
            });
        }
    });
    let lines = access::audit(&rows, 0, 0, 1000).unwrap();
    let numbers: Vec<i64> = lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, (1..=80).collect::<Vec<i64>>());
    assert_eq!(
        lines.iter().filter(|line| line.changes.is_some()).count(),
        40
    );
}

#[test]
fn servers_add_lines_and_remove_only_those_whose_time_is_over() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    rows.add(Place::Files, "20260101_000000_aaaaaaaa.md", b"x")
        .unwrap();
    rows.add(Place::Files, "20260101_000000_bbbbbbbb.md", b"x")
        .unwrap();
    let mut session = Session::new(&test.address());
    session.query("UPDATE audit SET at = at - interval '100 days' WHERE number = 1");
    let begin = "BEGIN; SET LOCAL ROLE memdir_server; SET LOCAL memdir.workspace = 'atlas'";
    session.execute(begin).unwrap();
    assert!(session.query("DELETE FROM audit RETURNING 1").is_empty());
    for sql in [
        "UPDATE audit SET identity = 'eve'",
        "UPDATE workspace SET audit_days = 1",
    ] {
        let error = session.execute(&format!("SAVEPOINT s; {sql}")).unwrap_err();
        let message = error.as_db_error().unwrap().message().to_owned();
        assert!(message.contains("permission denied"), "{sql}: {message}");
        session.execute("ROLLBACK TO s").unwrap();
    }
    session.execute("ROLLBACK").unwrap();
    access::keep_audit(&test.open(), "atlas", 90).unwrap();
    let log = AuditLog::new(&test.open());
    let actor = Actor {
        identity: "anna".to_owned(),
        action: "think".to_owned(),
        request: String::new(),
    };
    log.refuse(&rows.name().into(), actor);
    log.flush().unwrap();
    let numbers = access::audit(&rows, 0, 0, 10).unwrap();
    let numbers: Vec<i64> = numbers.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [2, 3]);
}

#[test]
fn the_command_prints_the_audit_and_sets_how_long_it_is_kept() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    rows.add(Place::Files, "20260101_000000_aaaaaaaa.md", b"x")
        .unwrap();
    let home = Home::new();
    let team = |arguments: &[&str]| {
        let mut command = home.command(&[&["team", "audit"], arguments].concat());
        command.env("MEMDIR_DATABASE", test.address());
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), told)
    };
    let (code, told) = team(&["atlas"]);
    assert_eq!((code, told.lines().count()), (0, 1), "{told}");
    assert!(
        told.ends_with("-  program  done  20260101_000000_aaaaaaaa\n"),
        "{told}"
    );
    let (code, told) = team(&["atlas", "--json"]);
    let line: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (code, &line["identity"], &line["last_change"]),
        (0, &Value::Null, &json!(1))
    );
    assert_eq!(team(&["atlas", "--keep", "90d"]).0, 0);
    let days = query(&test.address(), "SELECT audit_days FROM workspace");
    assert_eq!(days[0].get::<_, i32>(0), 90);
    assert_eq!(team(&["nowhere"]).0, 2);
}
