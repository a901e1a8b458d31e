//! Stores of programs that are databases: of opencode, and of Cursor.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::kept::talks_of;
use crate::support::program::Home;

const OPENCODE: &str = "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT,
        directory TEXT NOT NULL, title TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
        time_updated INTEGER NOT NULL, data TEXT NOT NULL);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
        time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
    INSERT INTO session VALUES ('ses_1', 'p1', NULL, '/home/mira/tapir', 'Tapir colours', 1770000000000, 0),
        ('ses_2', 'p1', 'ses_1', '/home/mira/tapir', 'hidden helper', 1770000000000, 0),
        ('ses_3', 'p1', NULL, '/home/mira/tapir', 'Nothing was said', 1770000000000, 0);";

fn opencode(path: &Path) -> Connection {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = Connection::open(path).unwrap();
    database.execute_batch(OPENCODE).unwrap();
    let message = |id: &str, session: &str, role: &str, at: i64| {
        let data = json!({"role": role, "time": {"created": at}}).to_string();
        let row = (id, session, at, at, data);
        database
            .execute("INSERT INTO message VALUES (?1, ?2, ?3, ?4, ?5)", row)
            .unwrap();
    };
    message("msg_2", "ses_1", "assistant", 1_770_000_002_000);
    message("msg_1", "ses_1", "user", 1_770_000_001_000);
    message("msg_3", "ses_2", "user", 1_770_000_003_000);
    let parts = [
        (
            "prt_1",
            "msg_1",
            json!({"type": "text", "text": "Paint it."}),
        ),
        (
            "prt_2",
            "msg_1",
            json!({"type": "text", "text": "hidden", "synthetic": true}),
        ),
        (
            "prt_3",
            "msg_2",
            json!({"type": "reasoning", "text": "hidden thought"}),
        ),
        (
            "prt_4",
            "msg_2",
            json!({"type": "tool", "tool": "edit", "state": {"input": {"filePath": "tapir.css"}, "output": "hidden"}}),
        ),
        (
            "prt_5",
            "msg_2",
            json!({"type": "text", "text": "It is green \u{1f995}."}),
        ),
        (
            "prt_6",
            "msg_3",
            json!({"type": "text", "text": "hidden helper"}),
        ),
    ];
    for (id, message, data) in parts {
        add_part(&database, id, message, &data.to_string());
    }
    database
}

fn add_part(database: &Connection, id: &str, message: &str, data: &str) {
    database
        .execute(
            "INSERT INTO part VALUES (?1, ?2, 'ses_1', 0, 0, ?3)",
            (id, message, data),
        )
        .unwrap();
}

#[test]
fn the_database_of_opencode_is_read_where_it_lies() {
    let home = Home::new();
    let path = home.root().join("data/opencode/opencode.db");
    drop(opencode(&path));
    let before = fs::read(&path).unwrap();
    let mut command = home.command(&["mine", "--yes", "--json", "--format", "opencode"]);
    command.env("XDG_DATA_HOME", home.root().join("data"));
    let report = crate::support::program::run(&mut command).json();
    assert_eq!(
        (&report["new"], &report["damaged"]),
        (&1.into(), &json!([]))
    );
    let talks = talks_of(&home);
    assert!(
        talks[0].ends_with(
            "**User** · 2026-02-02 02:40 UTC\n\nPaint it.\n\n**Assistant**\n\n- edit: tapir.css\n\nIt is green \u{1f995}.\n"
        ),
        "{}",
        talks[0]
    );
    for line in [
        "title: Tapir colours",
        "namespace: tapir",
        "source: opencode",
    ] {
        assert!(talks[0].contains(line), "{line}: {}", talks[0]);
    }
    assert!(!talks[0].contains("hidden"), "{}", talks[0]);
    assert_eq!(fs::read(&path).unwrap(), before);
    let beside = fs::read_dir(path.parent().unwrap()).unwrap();
    assert_eq!(beside.count(), 1, "a file was made beside the database");
}

#[test]
fn a_session_is_the_same_in_the_files_and_in_the_database_of_opencode() {
    let home = Home::new();
    for (name, text) in super::sources::opencode() {
        home.write(&format!("old/{name}"), text);
    }
    drop(opencode(&home.root().join("new/opencode.db")));
    let mine = |folder: &str| home.run(&["mine", folder, "--json"]).json();
    assert_eq!(mine("old")["new"], 1);
    let report = mine("new");
    assert_eq!(
        (
            &report["new"],
            report["known"].as_u64().unwrap() + report["continued"].as_u64().unwrap()
        ),
        (&0.into(), 1),
        "{report}"
    );
}

#[test]
fn what_is_only_in_the_log_of_an_open_database_is_read() {
    let home = Home::new();
    let path = home.root().join("opencode.db");
    let database = opencode(&path);
    database.pragma_update(None, "journal_mode", "wal").unwrap();
    let text = json!({"type": "text", "text": "And a second coat."}).to_string();
    add_part(&database, "prt_7", "msg_2", &text);
    assert!(path.with_extension("db-wal").metadata().unwrap().len() > 0);
    home.run(&["mine", "opencode.db"]);
    assert!(talks_of(&home)[0].contains("And a second coat."));
}

#[test]
fn damaged_rows_of_opencode_are_named_and_the_others_read() {
    let broken = [
        "",
        "null and more",
        "{\"type\": \"text\", \"text\": \"cut o",
        "[1, 2",
        "{\"type\" \"text\"}",
        "7 8",
    ];
    for damage in broken {
        let home = Home::new();
        let database = opencode(&home.root().join("opencode.db"));
        database
            .execute("UPDATE part SET data = ?1 WHERE id = 'prt_4'", [damage])
            .unwrap();
        drop(database);
        let ran = home.run(&["mine", "opencode.db", "--json"]);
        let report = ran.json();
        let place = report["damaged"][0]["place"].as_str();
        assert!(
            place.is_some_and(|place| place.ends_with("opencode.db, part prt_4")),
            "{damage}: {report}"
        );
        assert_eq!((ran.code, &report["new"]), (1, &1.into()), "{damage}");
        let talk = talks_of(&home).concat();
        assert!(
            talk.contains("Paint it.") && talk.contains("It is green"),
            "{talk}"
        );
    }
}

/// The store of Cursor with sessions of both shapes, and a workspace that lists one of them.
fn cursor(user: &Path) -> Connection {
    fs::create_dir_all(user.join("globalStorage")).unwrap();
    let database = Connection::open(user.join("globalStorage/state.vscdb")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
            CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);",
        )
        .unwrap();
    let bubble = |kind: u8, text: &str| json!({"type": kind, "bubbleId": "x", "text": text});
    let mut tool = bubble(2, "");
    tool["toolFormerData"] = json!({
        "name": "run_terminal_cmd", "rawArgs": "{\"command\":\"npm test\"}", "result": "hidden", "status": "completed"});
    let mut thought = bubble(2, "");
    thought["thinking"] = json!({"text": "hidden thought"});
    let headers = ["b1", "b2", "b3", "b4", "gone"].map(|id| json!({"bubbleId": id, "type": 1}));
    put(
        &database,
        "composerData:c1",
        &json!({
        "_v": 10, "composerId": "c1", "name": "Capybara tests", "createdAt": 1_770_000_000_000_i64,
        "fullConversationHeadersOnly": headers, "conversation": [], "isAgentic": true}),
    );
    put(
        &database,
        "bubbleId:c1:b1",
        &bubble(1, "Why does the capybara test fail?"),
    );
    put(&database, "bubbleId:c1:b2", &thought);
    put(&database, "bubbleId:c1:b3", &tool);
    let mut last = bubble(2, "It waits for a port.");
    last["createdAt"] = json!("2026-02-02T03:00:00.000Z");
    put(&database, "bubbleId:c1:b4", &last);
    put(
        &database,
        "bubbleId:c1:b9",
        &bubble(1, "hidden: not in the list"),
    );
    // As an older version kept it, as JSON in a text; with the folder, and in the session itself.
    let old = json!({
        "composerId": "c2", "createdAt": null, "workspaceIdentifier": {"id": "w", "uri": {"fsPath": "/home/mira/otter"}},
        "conversation": [bubble(1, "Is the otter awake?"), bubble(2, "Yes.")]});
    put(
        &database,
        "composerData:c2",
        &Value::String(old.to_string()),
    );
    put(
        &database,
        "composerData:c3",
        &json!({"composerId": "c3", "subagentInfo": {"parentComposerId": "c1"},
        "conversation": [bubble(1, "hidden helper")]}),
    );
    put(
        &database,
        "composerData:c4",
        &json!({"composerId": "c4", "fullConversationHeadersOnly": []}),
    );
    put(
        &database,
        "messageRequestContext:c1:b1",
        &json!({"hidden": true}),
    );
    let workspace = user.join("workspaceStorage/abc");
    fs::create_dir_all(&workspace).unwrap();
    let folder = json!({"folder": "file:///home/mira/my%20capybara"}).to_string();
    fs::write(workspace.join("workspace.json"), folder).unwrap();
    let listed = Connection::open(workspace.join("state.vscdb")).unwrap();
    listed
        .execute_batch("CREATE TABLE ItemTable (key TEXT, value BLOB)")
        .unwrap();
    let all = json!({"allComposers": [{"composerId": "c1"}]}).to_string();
    listed
        .execute(
            "INSERT INTO ItemTable VALUES ('composer.composerData', ?1)",
            [all.as_bytes()],
        )
        .unwrap();
    database
}

fn put(database: &Connection, key: &str, value: &Value) {
    put_bytes(database, key, value.to_string().as_bytes());
}

fn put_bytes(database: &Connection, key: &str, value: &[u8]) {
    database
        .execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", (key, value))
        .unwrap();
}

#[test]
fn the_store_of_cursor_is_read_in_both_shapes() {
    let home = Home::new();
    drop(cursor(&home.root().join("Cursor/User")));
    let ran = home.run(&["mine", "Cursor/User/globalStorage", "--json"]);
    let report = ran.json();
    assert_eq!((ran.code, &report["new"]), (0, &2.into()), "{report}");
    let talks = talks_of(&home).concat();
    for part in [
        "**User**\n\nWhy does the capybara test fail?\n\n**Cursor**\n\n- run_terminal_cmd: npm test",
        "It waits for a port.",
        "title: Capybara tests",
        "namespace: my capybara",
        "Is the otter awake?\n\n**Cursor**\n\nYes.",
        "namespace: otter",
        "source: cursor",
    ] {
        assert!(talks.contains(part), "{part}: {talks}");
    }
    assert!(!talks.contains("hidden"), "{talks}");
    let again = home.run(&["mine", "Cursor", "--json"]).json();
    assert_eq!(
        (&again["new"], &again["known"]),
        (&0.into(), &2.into()),
        "{again}"
    );
}

#[test]
fn damaged_values_of_cursor_are_named_and_the_others_read() {
    let broken: [(&str, &[u8]); 8] = [
        ("bubbleId:c1:b3", b"{\"type\": 2, \"text\": \"cut o"),
        ("bubbleId:c1:b3", b"not JSON"),
        ("bubbleId:c1:b3", b"\xff\xfe{"),
        ("bubbleId:c1:b3", b"{\"type\":2,,}"),
        ("bubbleId:c1:b3", b"\"{\\\"type\\\": \""),
        (
            "composerData:c0",
            b"{\"fullConversationHeadersOnly\": [{\"bubbleId\"",
        ),
        ("composerData:c0", b"\x00\x01\x02"),
        ("composerData:c0", b"\"a text\""),
    ];
    for (key, value) in broken {
        let home = Home::new();
        let database = cursor(&home.root().join("User"));
        put_bytes(&database, key, value);
        drop(database);
        let ran = home.run(&["mine", "User", "--json"]);
        let report = ran.json();
        let place = report["damaged"][0]["place"].as_str();
        assert!(
            place.is_some_and(|place| place.ends_with(&format!("state.vscdb, {key}"))),
            "{key}, {value:?}: {report}"
        );
        assert_eq!((ran.code, &report["new"]), (1, &2.into()), "{report}");
        assert!(talks_of(&home).concat().contains("It waits for a port."));
    }
}

#[test]
fn databases_that_are_none_are_named() {
    let home = Home::new();
    drop(opencode(&home.root().join("whole/opencode.db")));
    let whole = fs::read(home.root().join("whole/opencode.db")).unwrap();
    for (what, bytes) in [
        (
            "no database",
            b"SQLite format 3\0 and then nothing".to_vec(),
        ),
        ("cut off", whole[..whole.len() / 3].to_vec()),
        ("zeros", vec![0; 8192]),
        ("text", b"User: a\nAssistant: b\n".to_vec()),
    ] {
        home.write("opencode.db", bytes);
        let ran = home.run(&["mine", "--format", "opencode", "opencode.db"]);
        assert!(
            ran.code == 1 && ran.stderr.contains("opencode.db"),
            "{what}: {ran:?}"
        );
    }
    drop(Connection::open(home.root().join("other.db")).unwrap());
    let ran = home.run(&["mine", "other.db"]);
    ran.complains(2, &["other.db holds no conversation of a known format"]);
}

/// Limit of the memory of a run that reads values of 100 MB, in KiB.
#[cfg(target_os = "linux")]
const MEMORY_KIB: usize = 250_000;

/// JSON around a string of 100 MB, for SQL.
#[cfg(target_os = "linux")]
fn long_json(beginning: &str) -> String {
    format!("'{beginning}' || replace(hex(zeroblob(25000000)), '00', 'long') || '\"}}'")
}

#[test]
#[cfg(target_os = "linux")]
fn a_value_of_100_mb_is_read_in_little_memory() {
    let home = Home::new();
    let database = opencode(&home.root().join("opencode.db"));
    let text = long_json("{\"type\": \"text\", \"text\": \"Very ");
    database
        .execute_batch(&format!(
            "UPDATE part SET data = {text} WHERE id = 'prt_1'; UPDATE part SET data = x'00' WHERE id = 'prt_4';
            UPDATE part SET data = '\"' || data || '\"' WHERE id = 'prt_2';
            UPDATE part SET data = '\"' || (SELECT data FROM part WHERE id = 'prt_1') WHERE id = 'prt_3';"
        ))
        .unwrap();
    drop(database);
    let database = cursor(&home.root().join("User"));
    let bubble = long_json("{\"type\": 1, \"text\": \"Very ");
    database
        .execute_batch(&format!(
            "INSERT INTO cursorDiskKV VALUES ('bubbleId:c1:b1', {bubble})"
        ))
        .unwrap();
    drop(database);
    for (path, bad) in [
        (
            "opencode.db",
            vec!["part prt_2", "part prt_3", "part prt_4"],
        ),
        ("User", vec![]),
    ] {
        let limited = format!("ulimit -d {MEMORY_KIB} && exec \"$0\" mine {path} --json");
        let mut command = std::process::Command::new("sh");
        home.surround(&mut command);
        command.env("MEMDIR_STORE", home.store());
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_memdir")]);
        let ran = crate::support::program::run(&mut command);
        let report = ran.json();
        let damaged: Vec<&str> = report["damaged"]
            .as_array()
            .unwrap()
            .iter()
            .map(|damage| {
                damage["place"]
                    .as_str()
                    .unwrap()
                    .rsplit(", ")
                    .next()
                    .unwrap()
            })
            .collect();
        assert_eq!(damaged, bad, "{ran:?}");
        if let Some(reason) = report["damaged"][1]["reason"].as_str() {
            assert_eq!(
                reason,
                "it is a string of 100000034 bytes, more than 1048576"
            );
        }
    }
    let talks = talks_of(&home).concat();
    for part in ["Very longlong", "It is green", "It waits for a port."] {
        assert!(talks.contains(part), "{part}");
    }
}
