//! Memories of other programs come in with their links, once.
//!
//! Each source brings a generated export of [`COUNT`] memories in a ring of links, with one damaged
//! record among them, and says how each memory should look in the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use memdir::engine::{Import, Imported, ops};
use memdir::import;
use memdir::import::Defaults;
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::TestStore;
use crate::support::program::{Home, names};

const COUNT: usize = 1000;

/// The memory that `n` is linked to: a ring, so links lead forward, backward and round.
fn next(n: usize) -> usize {
    (n + 1) % COUNT
}

fn time(n: usize) -> String {
    format!("2026-01-{:02}T{:02}:{:02}:00Z", 1 + n % 28, n % 24, n % 60)
}

fn later(n: usize) -> String {
    time(n).replace("2026", "2027")
}

fn uuid(n: usize) -> String {
    format!("01953a2b-0000-7000-8000-{n:012}")
}

/// An export, and how its memories should look, by their ids there.
struct Case {
    from: &'static str,
    path: PathBuf,
    memories: BTreeMap<String, Value>,
    /// The report, after its first line.
    report: &'static str,
    /// How many records are damaged.
    damaged: usize,
}

impl Case {
    fn expect(&mut self, id: String, mut memory: Value) {
        for (key, usual) in [("agent", "import"), ("user", "mira"), ("topics", "")] {
            let fields = memory.as_object_mut().unwrap();
            if !fields.contains_key(key) {
                let usual = if key == "topics" {
                    json!([])
                } else {
                    json!(usual)
                };
                fields.insert(key.to_owned(), usual);
            }
        }
        self.memories.insert(id, memory);
    }
}

fn link(to: impl Into<String>, relation: &str) -> Value {
    json!([{"to": to.into(), "type": relation}])
}

/// What the store holds, by what it was called where it came from, links by the same names.
fn memories(home: &Home) -> BTreeMap<String, Value> {
    let ran = home.run(&["export", "--to", "jsonl"]);
    let mut all: Vec<Value> = ran
        .lines()
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let source_id = |memory: &Value| memory["metadata"]["source_id"].as_str().map(str::to_owned);
    let called: BTreeMap<String, String> = all
        .iter()
        .map(|memory| {
            let stem = memory["stem"].as_str().unwrap().to_owned();
            (stem, source_id(memory).unwrap())
        })
        .collect();
    let there = |stem: &Value| json!(called[stem.as_str().unwrap()]);
    for memory in &mut all {
        let fields = memory.as_object_mut().unwrap();
        fields.remove("id");
        fields.remove("stem");
        for link in fields
            .get_mut("links")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            link["to"] = there(&link["to"]);
        }
        for old in fields
            .get_mut("supersedes")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            *old = there(old);
        }
        if let Some(newer) = fields.get_mut("superseded_by") {
            *newer = there(newer);
        }
    }
    let found = all.into_iter().map(|mut memory| {
        let id = source_id(&memory).unwrap();
        let metadata = memory["metadata"].as_object_mut().unwrap();
        metadata.remove("source_id");
        metadata.remove("source_hash");
        (id, memory)
    });
    found.collect()
}

/// Every file of the store that somebody wrote, with its bytes.
fn texts(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    bytes_below(&home.files())
        .into_iter()
        .chain(bytes_below(&home.store().join("archive")))
        .chain(bytes_below(&home.store().join("journal")))
        .collect()
}

fn bytes_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut bytes_below(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// A dry run writes nothing, the import brings everything, a second one changes nothing, and what
/// is read stays as it is.
#[track_caller]
fn check(home: &Home, case: &Case) {
    let import = |more: &[&str]| {
        let path = case.path.to_str().unwrap();
        let arguments = ["import", "--from", case.from, path, "--user", "mira"];
        home.run(&[&arguments, more].concat())
    };
    let source = case.path.parent().unwrap();
    let before = bytes_below(source);
    let count = case.memories.len();
    let code = i32::from(case.damaged > 0);

    let ran = import(&["--dry-run"]);
    let report = case.report.replace("links set", "links it would set");
    let damaged = case.damaged;
    assert_eq!(
        (ran.code, ran.text()),
        (
            code,
            format!("would import {count}, known already 0, failed {damaged}\n{report}")
        ),
        "{ran:?}"
    );
    assert_eq!(texts(home), BTreeMap::new());

    let ran = import(&[]);
    assert_eq!(
        (ran.code, ran.text()),
        (
            code,
            format!(
                "imported {count}, known already 0, failed {damaged}\n{}",
                case.report
            )
        ),
        "{ran:?}"
    );
    let found = memories(home);
    assert_eq!(found.len(), count);
    for (id, memory) in &case.memories {
        assert_eq!(found.get(id), Some(memory), "{id}");
    }

    let imported = texts(home);
    let ran = import(&[]);
    assert_eq!(ran.code, code);
    let first = ran.lines().remove(0);
    assert_eq!(
        first,
        format!("imported 0, known already {count}, failed {damaged}")
    );
    assert!(texts(home) == imported, "a second run changed a file");
    assert!(bytes_below(source) == before, "what was read was changed");
}

fn case(from: &'static str, path: PathBuf, report: &'static str, damaged: usize) -> Case {
    Case {
        from,
        path,
        memories: BTreeMap::new(),
        report,
        damaged,
    }
}

#[test]
fn an_export_of_loci_comes_in_whole() {
    let home = Home::new();
    let mut case = case(
        "loci",
        home.root().join("source/loci.json"),
        "links set: 1001\nnot carried over: counts of uses, kept as `access_count` (500), \
         links to what is not there (1), memories that were forgotten there (1), times of links (1000)\n",
        1,
    );
    let (mut all, mut relations) = (Vec::new(), Vec::new());
    for n in 0..COUNT {
        let kind = ["episodic", "semantic", "procedural", "entity"][n % 4];
        let scope = ["group", "global"][n % 2];
        all.push(json!({
            "id": uuid(n), "type": kind, "content": format!("Number {n}.\nMore."),
            "source_group": "atlas", "scope": scope, "confidence": 0.5,
            "access_count": 2 * (n % 2), "last_accessed": null,
            "created_at": time(n), "updated_at": time(n),
            "superseded_by": (n == 3).then(|| uuid(9)), "metadata": {"n": n},
        }));
        relations.push(json!({
            "id": format!("r{n}"), "subject_id": uuid(n), "predicate": "works_at",
            "object_id": uuid(next(n)), "created_at": time(n),
        }));
        let mut memory = json!({
            "timestamp": time(n), "content": format!("Number {n}.\nMore."), "kind": kind,
            "namespace": "atlas", "scope": scope, "confidence": 0.5, "metadata": {"n": n},
            "links": link(uuid(next(n)), "works_at"),
        });
        if n % 2 == 1 {
            memory["metadata"]["access_count"] = json!(2);
        }
        if n == 3 {
            memory["superseded_by"] = json!(uuid(9));
        }
        if n == 9 {
            memory["supersedes"] = json!([uuid(3)]);
        }
        case.expect(uuid(n), memory);
    }
    relations.push(json!({"subject_id": uuid(0), "predicate": "x", "object_id": "nobody"}));
    all.insert(500, json!({"id": "broken", "content": [1]}));
    all.push(json!({"id": "gone", "content": "Forgotten.", "superseded_by": "forgotten"}));
    let export = json!({"relations": relations, "memories": all});
    home.write("source/loci.json", export.to_string());
    check(&home, &case);
}

/// Memories of ai-memory, as its export has them.
fn ai_memories(case: &mut Case) -> (Vec<Value>, Vec<Value>) {
    let (mut all, mut links) = (Vec::new(), Vec::new());
    for n in 0..COUNT {
        let tier = ["short", "mid", "long"][n % 3];
        let expires = (n % 3 < 2).then(|| later(n));
        all.push(json!({
            "id": uuid(n), "tier": tier, "namespace": (["global", "atlas"][n % 2]),
            "title": format!("Title {n}"), "content": format!("Text {n}: \"q\" 'q' é."),
            "tags": ["a b", format!("t{n}")], "priority": 1 + n % 10, "confidence": 0.25,
            "source": "claude", "access_count": 1, "created_at": time(n), "updated_at": later(n),
            "last_accessed_at": later(n), "expires_at": expires, "metadata": {"agent_id": "x"},
        }));
        let relation = ["related_to", "derived_from"][n % 2];
        links.push(json!({"source_id": uuid(n), "target_id": uuid(next(n)), "relation": relation}));
        let mut memory = json!({
            "timestamp": time(n), "content": format!("Text {n}: \"q\" 'q' é."),
            "title": format!("Title {n}"), "topics": ["a b", format!("t{n}")], "tier": tier,
            "importance": 1 + n % 10, "confidence": 0.25, "source": "claude",
            "metadata": {"updated_at": later(n), "agent_id": "x"},
            "links": link(uuid(next(n)), ["related-to", "derived-from"][n % 2]),
        });
        if n % 2 == 1 {
            memory["namespace"] = json!("atlas");
        }
        if let Some(expires) = expires {
            memory["expires"] = json!(expires);
        }
        case.expect(uuid(n), memory);
    }
    (all, links)
}

#[test]
fn an_export_of_ai_memory_comes_in_whole() {
    let home = Home::new();
    let path = home.root().join("source/export.json");
    let mut case = case("ai-memory", path, "links set: 1000\n", 1);
    let (mut all, links) = ai_memories(&mut case);
    all.insert(7, json!({"id": "broken", "title": "No content."}));
    let count = all.len();
    let export = json!({"memories": all, "links": links, "count": count, "exported_at": time(0)});
    home.write(
        "source/export.json",
        serde_json::to_string_pretty(&export).unwrap(),
    );
    check(&home, &case);
    // The last use came along.
    let ran = home.run(&["list", "--all", "--limit", "1", "--json"]);
    let id = ran.json()["memories"][0]["id"].as_str().unwrap().to_owned();
    let inspected = home.run(&["inspect", &id, "--json"]).json();
    assert_eq!(inspected["uses"]["count"], 1, "{inspected}");
}

const SCHEMA: &str = "
    CREATE TABLE memories (
        id TEXT PRIMARY KEY, tier TEXT NOT NULL, namespace TEXT NOT NULL DEFAULT 'global',
        title TEXT NOT NULL, content TEXT NOT NULL, tags TEXT NOT NULL DEFAULT '[]',
        priority INTEGER NOT NULL DEFAULT 5, confidence REAL NOT NULL DEFAULT 1.0,
        source TEXT NOT NULL DEFAULT 'api', access_count INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL, last_accessed_at TEXT,
        expires_at TEXT, embedding BLOB);
    CREATE TABLE memory_links (
        source_id TEXT NOT NULL, target_id TEXT NOT NULL,
        relation TEXT NOT NULL DEFAULT 'related_to', created_at TEXT,
        PRIMARY KEY (source_id, target_id, relation));
    CREATE TABLE archived_memories (id TEXT PRIMARY KEY, content TEXT, archived_at TEXT);
";

/// Fills a database as ai-memory does, and copies it while it is still open.
fn database(home: &Home, case: &mut Case, mode: &str) {
    let path = home.make("made").join("db");
    let connection = Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "journal_mode", mode)
        .unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    if mode == "wal" {
        // What comes now stays in the log.
        connection
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        connection
            .pragma_update(None, "wal_autocheckpoint", 0)
            .unwrap();
    }
    connection
        .execute(
            "ALTER TABLE memories ADD COLUMN metadata TEXT DEFAULT '{}'",
            [],
        )
        .unwrap();
    let (all, links) = ai_memories(case);
    connection.execute_batch("BEGIN").unwrap();
    for (n, memory) in all.iter().enumerate() {
        let text = |key: &str| memory[key].as_str().map(str::to_owned);
        connection
            .execute(
                "INSERT INTO memories (id, tier, namespace, title, content, tags, priority, \
                 confidence, source, access_count, created_at, updated_at, last_accessed_at, \
                 expires_at, embedding, metadata) \
                 VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                rusqlite::params![
                    text("id"),
                    text("tier"),
                    text("namespace"),
                    text("title"),
                    text("content"),
                    memory["tags"].to_string(),
                    memory["priority"].as_i64(),
                    memory["confidence"].as_f64(),
                    text("source"),
                    1,
                    text("created_at"),
                    text("updated_at"),
                    text("last_accessed_at"),
                    text("expires_at"),
                    vec![0_u8; 1536],
                    memory["metadata"].to_string(),
                ],
            )
            .unwrap();
        let link = &links[n];
        let word = |key: &str| link[key].as_str().unwrap();
        connection
            .execute(
                "INSERT INTO memory_links VALUES (?, ?, ?, NULL)",
                [word("source_id"), word("target_id"), word("relation")],
            )
            .unwrap();
    }
    connection
        .execute(
            "INSERT INTO memories (id, tier, title, content, created_at, updated_at) \
             VALUES ('broken', 'long', 'Broken', x'ff00ff', '', '')",
            [],
        )
        .unwrap();
    connection.execute_batch("COMMIT").unwrap();
    // As a killed process leaves it: the log is not moved into the database.
    fs::create_dir_all(case.path.parent().unwrap()).unwrap();
    for end in ["", "-wal"] {
        let from = path.with_file_name(format!("db{end}"));
        let to = case.path.with_file_name(format!("ai memory%.db{end}"));
        if from.exists() {
            fs::copy(from, to).unwrap();
        }
    }
}

const DATABASE_REPORT: &str = "links set: 1000\n";

#[test]
fn a_database_of_ai_memory_comes_in_whole() {
    let home = Home::new();
    let path = home.root().join("source/ai memory%.db");
    let mut case = case("ai-memory", path, DATABASE_REPORT, 1);
    database(&home, &mut case, "delete");
    check(&home, &case);
}

#[test]
fn what_a_database_holds_only_in_its_log_comes_in_and_nothing_is_written_beside_it() {
    let home = Home::new();
    let path = home.root().join("source/ai memory%.db");
    let mut case = case("ai-memory", path, DATABASE_REPORT, 1);
    database(&home, &mut case, "wal");
    let log = case.path.with_file_name("ai memory%.db-wal");
    assert!(fs::metadata(log).unwrap().len() > 1_000_000);
    check(&home, &case);
}

#[test]
fn a_database_that_cannot_be_read_is_named() {
    let home = Home::new();
    let other = home.make("source").join("other.db");
    let connection = Connection::open(&other).unwrap();
    connection
        .execute_batch("CREATE TABLE notes (text TEXT)")
        .unwrap();
    drop(connection);
    let import = |path: &Path| home.run(&["import", "--from", "ai-memory", path.to_str().unwrap()]);
    import(&other).complains(2, &["other.db", "not one of ai-memory"]);
    let torn = home.write("source/torn.db", b"SQLite format 3\0 and no more");
    import(&torn).complains(2, &["torn.db", "cannot be read"]);
    home.write("source/other.db-journal", "half");
    import(&other).complains(2, &["was interrupted"]);
}

#[test]
fn the_entries_of_i_am_come_in_whole() {
    let home = Home::new();
    let path = home.root().join("source/memory.json");
    let mut case = case(
        "i-am",
        path,
        "links set: 1000\nnot carried over: links to what is not there (1)\n",
        1,
    );
    let mut categories = json!({"user": {}, "tools": {}});
    let name = |n: usize| (["user", "tools"][n % 2], format!("key.{n}"));
    let called = |n: usize| format!("{}.{}", name(n).0, name(n).1);
    for n in 0..COUNT {
        let (category, key) = name(n);
        let mut links = vec![json!({"target": called(next(n)), "relation": "elaborates"})];
        if n == 0 {
            links.push(json!({"target": "user.nobody", "relation": "related-to"}));
        }
        categories[category][&key] = json!({
            "value": format!("Value {n}."), "created_at": time(n), "updated_at": later(n),
            "tags": ["x", "y"], "confidence": 0.75, "importance": 1 + n % 10,
            "source": {"type": "user-stated", "detail": "said so"}, "access_count": 12,
            "last_accessed": later(n), "status": "active", "links": links,
        });
        case.expect(
            called(n),
            json!({
                "timestamp": time(n), "content": format!("Value {n}."), "title": key,
                "topics": ["x", "y"], "confidence": 0.75, "importance": 1 + n % 10,
                "source": "user-stated", "status": "active",
                "metadata": {"category": category, "key": key, "source_detail": "said so",
                    "updated_at": later(n)},
                "links": link(called(next(n)), "elaborates"),
            }),
        );
    }
    categories["user"]["broken"] = json!("no entry");
    let file = json!({"schema_version": "1.2", "session_count": 3, "memories": categories});
    home.write("source/memory.json", file.to_string());
    check(&home, &case);
}

#[test]
fn entities_of_the_reference_server_come_in_whole() {
    let home = Home::new();
    let path = home.root().join("source/memory.jsonl");
    let report = "links set: 1000\nnot carried over: links to what is not there (1)\n";
    let mut case = case("server-memory", path, report, 1);
    let name = |n: usize| format!("Entity {n}: é");
    let mut lines = String::from("{\"type\":\"entity\",\"name\":\"broken\n");
    lines += &json!({"type": "relation", "from": name(0), "to": "Nobody", "relationType": "x"})
        .to_string();
    for n in 0..COUNT {
        let relation = json!({"type": "relation", "from": name(n), "to": name(next(n)), "relationType": "works at"});
        let entity = json!({"type": "entity", "name": name(n), "entityType": "person", "observations": ["One.", format!("Two {n}.")]});
        lines += &format!("\n{relation}\n{entity}");
        case.expect(
            name(n),
            json!({
                "content": format!("- One.\n- Two {n}.\n"), "title": name(n), "kind": "entity",
                "metadata": {"name": name(n), "entity_type": "person"},
                "links": link(name(next(n)), "works at"),
            }),
        );
    }
    home.write("source/memory.jsonl", lines);
    // The source states no times, so they are those of the import.
    let import = [
        "import",
        "--from",
        "server-memory",
        case.path.to_str().unwrap(),
        "--user",
        "mira",
    ];
    home.run(&import);
    let found = memories(&home);
    for (id, memory) in &mut case.memories {
        memory["timestamp"] = found[id]["timestamp"].clone();
    }
    let imported = texts(&home);
    let ran = home.run(&import);
    assert_eq!(ran.lines()[0], "imported 0, known already 1000, failed 1");
    assert!(texts(&home) == imported, "a second run changed a file");
    for (id, memory) in &case.memories {
        assert_eq!(found.get(id), Some(memory), "{id}");
    }
    assert_eq!(found.len(), COUNT);
    let fresh = Home::new();
    let path = fresh.write("memory.jsonl", fs::read(&case.path).unwrap());
    let path = path.to_str().unwrap();
    let ran = fresh.run(&["import", "--from", "server-memory", path, "--dry-run"]);
    let report = case.report.replace("links set", "links it would set");
    assert_eq!(
        ran.text(),
        format!("would import 1000, known already 0, failed 1\n{report}")
    );
    assert_eq!(texts(&fresh), BTreeMap::new());
}

#[test]
fn memories_of_mem0_come_in_whole() {
    let home = Home::new();
    let path = home.root().join("source/mem0.json");
    let report = "not carried over: relations of the graph (1)\n";
    let mut case = case("mem0", path, report, 1);
    let mut results = vec![json!({"id": "broken"})];
    for n in 0..COUNT {
        results.push(json!({
            "id": uuid(n), "memory": format!("Fact {n}."), "hash": "0f", "metadata": {"n": n},
            "created_at": time(n), "updated_at": null, "user_id": "alice", "agent_id": "bot",
            "run_id": "r", "categories": ["food"],
        }));
        case.expect(
            uuid(n),
            json!({
                "timestamp": time(n), "content": format!("Fact {n}."), "user": "alice",
                "agent": "bot", "topics": ["food"], "metadata": {"n": n, "run_id": "r"},
            }),
        );
    }
    let relations = json!([{"source": "alice", "relationship": "likes", "target": "tea"}]);
    let file = json!({"results": results, "relations": relations});
    home.write("source/mem0.json", file.to_string());
    check(&home, &case);
}

#[test]
fn an_obsidian_vault_comes_in_whole() {
    let home = Home::new();
    let report = "links set: 1000\nnot carried over: links to what is not there (1), \
                  notes with files that are no notes (1)\n";
    let mut case = case("obsidian", home.root().join("source/vault"), report, 1);
    let name = |n: usize| format!("Folder {}/Note {n}.md", n % 10);
    for n in 0..COUNT {
        let odd = if n == 0 { " ![[a.png]] [[Nobody]]" } else { "" };
        let content = format!("To [[note {}|the next]].{odd}\n", next(n));
        home.write(
            &format!("source/vault/{}", name(n)),
            format!(
                "---\ntags: [x, y/z]\naliases: [N{n}]\ncreated: {}\nupdated: {}\n---\n\n{content}",
                time(n),
                later(n)
            ),
        );
        case.expect(
            name(n),
            json!({
                "timestamp": time(n), "content": content, "title": format!("Note {n}"),
                "topics": ["x", "y/z"], "namespace": format!("Folder {}", n % 10),
                "metadata": {"aliases": [format!("N{n}")], "updated": later(n)},
                "links": link(name(next(n)), "mentions"),
            }),
        );
    }
    home.write("source/vault/.obsidian/app.md", "settings");
    home.write("source/vault/.trash/gone.md", "gone");
    home.write("source/vault/huge.md", vec![b'x'; 3 << 20]);
    check(&home, &case);
}

#[test]
fn a_project_of_basic_memory_comes_in_whole() {
    let home = Home::new();
    let report = "links set: 1000\nnot carried over: links to what is not there (1)\n";
    let mut case = case("basic-memory", home.root().join("source/notes"), report, 1);
    let permalink = |n: usize| format!("specs/note-{n}");
    for n in 0..COUNT {
        let odd = if n == 0 { "- extends [[Nobody]]\n" } else { "" };
        let content = format!(
            "# Note {n}\n\n- [fact] It is {n} #tag (sure)\n- depends_on [[Note: {}]]\n{odd}",
            next(n)
        );
        home.write(
            &format!("source/notes/specs/file {n}.md"),
            format!("---\ntitle: 'Note: {n}'\ntype: note\npermalink: {}\ntags:\n- x\ncreated: {}\n---\n\n{content}", permalink(n), time(n)),
        );
        case.expect(
            permalink(n),
            json!({
                "timestamp": time(n), "content": content, "title": format!("Note: {n}"),
                "topics": ["x"], "namespace": "specs", "metadata": {"type": "note"},
                "links": link(permalink(next(n)), "depends-on"),
            }),
        );
    }
    home.write("source/notes/huge.md", vec![b'x'; 3 << 20]);
    check(&home, &case);
}

const SMALL: &str = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["a"]}
{"type":"entity","name":"Acme","entityType":"company","observations":["b"]}
{"type":"entity","name":"Bob","entityType":"person","observations":["c"]}
{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}
{"type":"relation","from":"Bob","to":"Acme","relationType":"works_at"}
{"type":"relation","from":"Bob","to":"Ada","relationType":"knows"}
"#;

/// Imports `text` as a file of the reference server; the ids by name.
fn small(home: &Home, text: &str) -> BTreeMap<String, String> {
    let path = home.write("memory.jsonl", text);
    let ran = home.run(&[
        "import",
        "--from",
        "server-memory",
        path.to_str().unwrap(),
        "--json",
    ]);
    let pairs = ran.json();
    let pairs = pairs.as_array().unwrap().iter();
    let text = |pair: &Value, key: &str| pair[key].as_str().unwrap().to_owned();
    pairs
        .map(|pair| (text(pair, "source_id"), text(pair, "id")))
        .collect()
}

#[test]
fn what_was_changed_or_forgotten_here_is_not_brought_back() {
    let home = Home::new();
    let ids = small(&home, SMALL);
    home.run(&[
        "update",
        &ids["Ada"],
        "--content",
        "By hand.",
        "--title",
        "Countess",
    ])
    .done();
    home.run(&["unlink", &ids["Bob"], &ids["Ada"]]).done();
    home.run(&["forget", &ids["Acme"]]).done();
    let before = texts(&home);
    assert_eq!(small(&home, SMALL), ids);
    assert!(texts(&home) == before, "importing again changed a file");
}

#[test]
fn what_comes_later_is_linked_to_what_came_before() {
    let home = Home::new();
    let first: String = SMALL
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    let before = small(&home, &first);
    let bob = small(&home, SMALL)["Bob"].clone();
    let text = home.text_of(&bob);
    for name in ["Ada", "Acme"] {
        assert!(text.contains(&before[name]), "{text}");
    }
    // A link between two that were there already is left to their owner.
    assert!(!home.text_of(&before["Ada"]).contains("links:"));
}

#[test]
fn one_name_in_two_files_is_two_memories() {
    let home = Home::new();
    let ada = small(&home, SMALL)["Ada"].clone();
    let other = r#"{"type":"entity","name":"Ada","entityType":"ship","observations":["z"]}"#;
    let ship = small(&home, other)["Ada"].clone();
    assert_ne!(ship, ada);
    assert!(home.text_of(&ship).ends_with("- z\n"));
    assert_eq!(small(&home, SMALL)["Ada"], ada);
    assert_eq!(small(&home, other)["Ada"], ship);
}

#[test]
fn of_two_texts_with_one_name_and_time_none_is_lost() {
    let home = Home::new();
    let note =
        |text: &str| format!("---\ntitle: T\npermalink: p\ncreated: 2026-01-01\n---\n\n{text}\n");
    home.write("notes/a.md", note("One."));
    home.write("notes/b.md", note("Two."));
    home.write("notes/c.md", note("One."));
    let path = home.root().join("notes");
    let import = ["import", "--from", "basic-memory", path.to_str().unwrap()];
    let ran = home.run(&import);
    assert_eq!(ran.done(), "imported 2, known already 1, failed 0\n");
    let ran = home.run(&import);
    assert_eq!(ran.done(), "imported 0, known already 3, failed 0\n");
}

#[test]
fn a_source_in_another_namespace_is_another_source() {
    let home = Home::new();
    let note = |text: &str| format!("---\ndate: 2024-01-01\n---\n{text}\n");
    home.write("work/Daily/2024-01-01.md", note("Budget is 40k."));
    home.write("home/Daily/2024-01-01.md", note("No more coffee."));
    let import = |folder: &str, namespace: &str| {
        let path = home.root().join(folder);
        let mut import = vec!["import", "--from", "obsidian", path.to_str().unwrap()];
        if !namespace.is_empty() {
            import.extend(["--namespace", namespace]);
        }
        home.run(&import).done()
    };
    assert_eq!(
        import("work", "work"),
        "imported 1, known already 0, failed 0\n"
    );
    assert_eq!(
        import("work", "work"),
        "imported 0, known already 1, failed 0\n"
    );
    // One path and one day in two vaults: what is left out is told.
    let said = import("home", "");
    assert!(said.contains("known, with another text here: 1 "), "{said}");
    assert_eq!(
        import("home", "home"),
        "imported 1, known already 0, failed 0\n"
    );
    home.run(&["undo"]).done();
    let said = import("home", "home");
    assert!(said.contains("known, and forgotten here: 1 "), "{said}");
    // It may be had elsewhere all the same.
    assert_eq!(
        import("home", "private"),
        "imported 1, known already 0, failed 0\n"
    );
}

#[test]
fn an_export_for_loci_comes_back_as_it_was() {
    let home = Home::new();
    let old = home.remember(&["--kind", "semantic", "--namespace", "atlas", "Tuesdays."]);
    let new = [
        "--kind",
        "semantic",
        "--namespace",
        "atlas",
        "--supersedes",
        &old,
        "Fridays.",
    ];
    home.remember(&new);
    let export = home.run(&["as", "loci", "export"]).done();
    let path = home.write("loci.json", export);
    let import = ["as", "loci", "import", path.to_str().unwrap()];
    home.run(&import).done();
    assert_eq!(names(&home.files()).len(), 2);
    let other = Home::new();
    other.run(&import).done();
    assert_eq!(texts_of(&other), texts_of(&home));
}

/// The names of the files of a store with their texts.
fn texts_of(home: &Home) -> Vec<(String, String)> {
    let files = names(&home.files()).into_iter();
    files
        .map(|name| {
            (
                name.clone(),
                std::fs::read_to_string(home.files().join(name)).unwrap(),
            )
        })
        .collect()
}

#[test]
fn uses_that_have_raised_a_priority_raise_it_once() {
    let home = Home::new();
    let memory = json!({
        "id": "11111111-1111-4111-8111-111111111111", "tier": "long", "namespace": "global", "title": "T",
        "content": "c", "tags": [], "priority": 8, "confidence": 1.0, "source": "api", "access_count": 30,
        "created_at": "2026-06-01T10:00:00+00:00", "updated_at": "2026-06-01T10:00:00+00:00",
        "last_accessed_at": "2026-07-01T12:00:00+00:00",
    });
    let export = json!({"memories": [memory], "links": []});
    let path = home.write("export.json", export.to_string());
    home.run(&["import", "--from", "ai-memory", path.to_str().unwrap()])
        .done();
    let listed = home.run(&["as", "ai-memory", "--json", "list"]).json();
    assert_eq!(listed["memories"][0]["priority"], 8, "{listed}");
}

#[test]
fn an_import_that_was_killed_before_its_links_is_ended_by_the_next() {
    let home = Home::new();
    let memories: String = SMALL
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    let ids = small(&home, &memories);
    fs::write(home.store().join(".memdir/import-at-work"), "").unwrap();
    assert_eq!(small(&home, SMALL), ids);
    assert!(home.text_of(&ids["Bob"]).contains(&ids["Ada"]));
    assert!(!home.store().join(".memdir/import-at-work").exists());
}

#[test]
fn memories_that_replace_each_other_all_stay_current() {
    let home = Home::new();
    let export = json!({"memories": [
        {"id": "a", "content": "A.", "superseded_by": "b"},
        {"id": "b", "content": "B.", "superseded_by": "c"},
        {"id": "c", "content": "C.", "superseded_by": "a"},
        {"id": "d", "content": "D.", "superseded_by": "d"},
    ]});
    let path = home.write("loci.json", export.to_string());
    let ran = home.run(&["import", "--from", "loci", path.to_str().unwrap()]);
    assert_eq!(
        ran.done(),
        "imported 4, known already 0, failed 0\nlinks set: 2\n\
         not carried over: rings of memories that replace each other (2)\n"
    );
    let found = home.run(&["list", "--json"]).json();
    assert_eq!(found["memories"].as_array().unwrap().len(), 2, "{found}");
}

#[test]
fn more_links_than_a_memory_holds_are_told() {
    let home = Home::new();
    let mut lines =
        String::from("{\"type\":\"entity\",\"name\":\"Hub\",\"observations\":[\"h\"]}\n");
    for n in 0..300 {
        lines += &format!("{{\"type\":\"entity\",\"name\":\"N{n}\",\"observations\":[\"{n}\"]}}\n");
        lines += &format!(
            "{{\"type\":\"relation\",\"from\":\"Hub\",\"to\":\"N{n}\",\"relationType\":\"has\"}}\n"
        );
    }
    let path = home.write("memory.jsonl", lines);
    let ran = home.run(&["import", "--from", "server-memory", path.to_str().unwrap()]);
    assert_eq!(
        ran.done(),
        "imported 301, known already 0, failed 0\nlinks set: 200\n\
         not carried over: links that a memory has no room for (100)\n"
    );
}

#[test]
fn what_has_ended_already_is_told() {
    let home = Home::new();
    let export = json!({"memories": [
        {"id": "a", "content": "A.", "tier": "short", "created_at": "2020-01-01T00:00:00Z"},
        {"id": "b", "content": "B.", "expires_at": "2020-01-01T00:00:00Z"},
        {"id": "c", "content": "C.", "tier": "mid", "created_at": "2020-01-01T00:00:00Z",
         "expires_at": null},
    ]});
    let path = home.write("export.json", export.to_string());
    let import = ["import", "--from", "ai-memory", path.to_str().unwrap()];
    let report = "3, known already 0, failed 0\nexpired already: 2\n";
    let ran = home.run(&[&import[..], &["--dry-run"]].concat());
    assert_eq!(ran.done(), format!("would import {report}"));
    assert_eq!(home.run(&import).done(), format!("imported {report}"));
    let found = home.run(&["list", "--json"]).json();
    assert_eq!(found["total"], 1, "{found}");
    assert_eq!(found["memories"][0]["content_preview"], "C.", "{found}");
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let home = Home::new();
    let path = home.write("memory.jsonl", SMALL);
    let import = |more: &[&str]| {
        let arguments = ["import", "--from", "server-memory", path.to_str().unwrap()];
        home.run(&[&arguments, more].concat())
    };
    import(&[]).done();
    let before = bytes_below(&home.root());
    assert_eq!(
        import(&["--dry-run"]).done(),
        "would import 0, known already 3, failed 0\n"
    );
    assert!(bytes_below(&home.root()) == before);

    fs::remove_dir_all(home.store()).unwrap();
    let report = import(&["--dry-run"]).done();
    assert!(report.starts_with("would import 3, "), "{report}");
    assert!(!home.store().exists());
}

#[test]
fn a_file_of_another_source_is_refused() {
    let home = Home::new();
    let refused = |from: &str, name: &str, bytes: &[u8], why: &str| {
        let path = home.write(name, bytes);
        let ran = home.run(&["import", "--from", from, path.to_str().unwrap()]);
        assert_ne!(ran.code, 0, "{ran:?}");
        assert!(format!("{ran:?}").contains(why), "{ran:?}");
        assert_eq!(texts(&home), BTreeMap::new(), "{from} {name}");
    };
    let of_loci = "this looks like an export of Loci: use `--from loci`";
    let memory = json!({"id": "a", "content": "A.", "source_group": "g"});
    let relation = json!({"subject_id": "a", "predicate": "x", "object_id": "a"});
    let loci = json!({"memories": [memory], "relations": [relation]});
    let turned = json!({"relations": [relation], "memories": [memory]});
    for from in ["ai-memory", "mem0"] {
        refused(from, "loci.json", loci.to_string().as_bytes(), of_loci);
        refused(from, "loci.json", turned.to_string().as_bytes(), of_loci);
    }
    let plain = json!({"memories": [{"id": "a", "content": "A."}], "links": [{"source_id": "a"}]});
    let why = "this source has no list `links`";
    refused("loci", "x.json", plain.to_string().as_bytes(), why);
    let ran = home.run_with(
        &["import", "--from", "ai-memory", "-"],
        loci.to_string().as_bytes(),
    );
    ran.complains(2, &[of_loci]);
    for from in ["obsidian", "basic-memory", "markdown"] {
        refused(from, "x.json", b"{}", "does not end in `.md`");
        refused(from, "x.md", b"a\0b", "it is no text");
        refused(from, "x.md", b"\xff\xfe", "it is no text");
    }
}

#[test]
fn an_empty_file_is_an_error_for_all_sources() {
    let home = Home::new();
    let path = home.write("empty.md", "");
    for from in [
        "aiaml",
        "jsonl",
        "markdown",
        "obsidian",
        "basic-memory",
        "loci",
        "ai-memory",
        "i-am",
        "server-memory",
        "mem0",
    ] {
        let ran = home.run(&["import", "--from", from, path.to_str().unwrap()]);
        ran.complains(2, &["empty.md"]);
        assert_eq!(texts(&home), BTreeMap::new(), "{from}");
    }
}

#[test]
fn what_says_nothing_is_left_out_and_told() {
    let home = Home::new();
    home.write("vault/a/D.md", "One.");
    home.write("vault/b/D.md", "Two.");
    home.write("vault/E.md", " \n");
    home.write("vault/F.md", "[[D]] [[F]] [[Nobody]]");
    let path = home.root().join("vault");
    let ran = home.run(&["import", "--from", "obsidian", path.to_str().unwrap()]);
    assert_eq!(
        ran.done(),
        "imported 3, known already 0, failed 0\n\
         not carried over: links of a memory to itself (1), links to a name that several have (1), \
         links to what is not there (1), memories without text (1)\n"
    );
}

#[test]
fn what_could_not_be_carried_is_told_for_each_memory() {
    let home = Home::new();
    let export = json!({"memories": [
        {"id": "a", "content": "A.", "access_count": 5},
        {"id": "b", "content": "B.", "superseded_by": "forgotten"},
    ]});
    let path = home.write("loci.json", export.to_string());
    let ran = home.run(&["import", "--from", "loci", path.to_str().unwrap(), "--json"]);
    let pairs = ran.json();
    assert_eq!(
        pairs[0]["not_carried"],
        json!(["counts of uses, kept as `access_count`"])
    );
    let left_out =
        json!({"source_id": "b", "id": null, "left_out": "memories that were forgotten there"});
    assert_eq!(pairs[1], left_out);
    ran.complains(0, &["not carried over", "(1)"]);
}

/// A random export of Loci: ids that repeat, links to anywhere, odd values.
fn exports() -> impl Strategy<Value = String> {
    let id = "[a-e]";
    let memory = (
        id,
        "[xy]{0,2}",
        prop::option::of("[a-f]"),
        prop::option::of(0..3_u8),
    )
        .prop_map(|(id, content, newer, day)| {
            let day = day.map(|day| format!("2026-01-0{}T00:00:00Z", day + 1));
            json!({"id": id, "content": content, "superseded_by": newer, "created_at": day})
        });
    let relation = (id, "[a-f]", "[rs]").prop_map(
        |(from, to, word)| json!({"subject_id": from, "predicate": word, "object_id": to}),
    );
    let all = (
        prop::collection::vec(memory, 0..8),
        prop::collection::vec(relation, 0..8),
    );
    all.prop_map(|(memories, relations)| {
        json!({"memories": memories, "relations": relations}).to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn importing_twice_is_importing_once(export in exports()) {
        let store = TestStore::new();
        let path = store.root().join("loci.json");
        fs::write(&path, export).unwrap();
        let run = || {
            let (mut added, mut failed) = (0, 0);
            let defaults = Defaults {
                agent: "a".to_owned(),
                user: "u".to_owned(),
                namespace: None,
            };
            let items = import::loci(&path, &defaults).unwrap();
            let options = Import::default();
            ops::import(&store.engine(), items, options, &mut |imported| match imported {
                    Imported::Added { .. } => added += 1,
                    Imported::Failed { .. } => failed += 1,
                    Imported::Known { .. } | Imported::LeftOut { .. } => {}
                })
                .unwrap();
            (added, failed)
        };
        let first = run();
        let texts = store.texts();
        prop_assert_eq!(texts.len(), first.0);
        prop_assert_eq!(run(), (0, first.1));
        prop_assert_eq!(store.texts(), texts);
    }
}

#[test]
fn what_lives_no_more_in_i_am_comes_into_the_archive() {
    let home = Home::new();
    let entry = |value: &str, status: &str| {
        json!({
            "value": value, "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-02-01T00:00:00Z", "status": status, "access_count": 3,
            "last_accessed": "2026-03-01T00:00:00Z",
        })
    };
    let mut newer = entry("Newer.", "active");
    newer["links"] = json!([{"target": "user.older", "relation": "supersedes"}]);
    let file = json!({"memories": {"user": {
        "put-aside": entry("Put aside.", "archived"),
        "lost": entry("Replaced by nobody knows what.", "superseded"),
        "older": entry("Older.", "superseded"),
        "newer": newer,
    }}});
    home.write("memory.json", file.to_string());
    home.run(&["import", "--from", "i-am", "memory.json"])
        .done();
    let texts = |folder: &str| -> Vec<String> {
        let folder = home.store().join(folder);
        let names = crate::support::program::names(&folder).into_iter();
        let read = |name: String| fs::read_to_string(folder.join(name)).unwrap();
        let mut texts: Vec<String> = names
            .map(read)
            .map(|text| text.rsplit("---\n").next().unwrap().trim().to_owned())
            .collect();
        texts.sort();
        texts
    };
    assert_eq!(texts("files"), ["Newer.", "Older."]);
    assert_eq!(
        texts("archive"),
        ["Put aside.", "Replaced by nobody knows what."]
    );
    let listed = home.run(&["archive", "list", "--json"]).text();
    assert!(listed.contains("archived in i-am"), "{listed}");
    // Again, nothing comes back.
    let said = home
        .run(&["import", "--from", "i-am", "memory.json"])
        .text();
    assert!(said.starts_with("imported 0"), "{said}");
    assert_eq!(texts("files"), ["Newer.", "Older."]);
    let arguments = ["mcp", "--dialect", "i-am"];
    let mut session = crate::support::session::Session::open_on(home.command(&arguments));
    let reply = session.tool("recall", json!({"category": "user", "key": "newer"}));
    let entry = &reply["structuredContent"]["entry"];
    assert_eq!(entry["access_count"], 4, "{reply}");
    let updated = entry["updated_at"].as_str().unwrap();
    assert!(updated.starts_with("2026-02-01T00:00:00"), "{reply}");
}

#[test]
fn sessions_counted_by_i_am_are_added_to_those_here_once_for_each_source() {
    let home = Home::new();
    let import = |file: &str, sessions: u64, keys: &[&str]| {
        let entries = keys.iter().map(|key| {
            let entry =
                json!({"value": format!("Of {key}."), "created_at": "2026-01-01T00:00:00Z"});
            ((*key).to_owned(), entry)
        });
        let user: serde_json::Map<String, serde_json::Value> = entries.collect();
        let source = json!({"session_count": sessions, "memories": {"user": user}});
        home.write(file, source.to_string());
        home.run(&["import", "--from", "i-am", file]).done();
    };
    let counted = || {
        let mut session =
            crate::support::session::Session::open_on(home.command(&["mcp", "--dialect", "i-am"]));
        let status = session.tool("status", json!({}));
        status["structuredContent"]["session_count"].as_u64()
    };
    home.write(
        "dry.json",
        r#"{"session_count": 9, "memories": {"user": {"a": {"value": "x"}}}}"#,
    );
    home.run(&["import", "--from", "i-am", "dry.json", "--dry-run"])
        .done();
    import("one.json", 41, &["a", "b"]);
    assert_eq!(counted(), Some(41));
    import("one.json", 41, &["a", "b"]);
    assert_eq!(counted(), Some(41), "the same again");
    import("copy.json", 45, &["b", "c"]);
    assert_eq!(
        counted(),
        Some(45),
        "the same source, later, from elsewhere"
    );
    import("two.json", 5, &["d"]);
    assert_eq!(counted(), Some(50), "another source");
    let mut session =
        crate::support::session::Session::open_on(home.command(&["mcp", "--dialect", "i-am"]));
    let started = session.tool("session_start", json!({}));
    assert_eq!(started["structuredContent"]["session_count"], 51);
    let entry = session.tool("recall", json!({"category": "user", "key": "a"}));
    let entry = &entry["structuredContent"]["entry"];
    assert_eq!(entry["created_at"], entry["updated_at"], "{entry}");
}

#[test]
fn identical_texts_that_come_in_at_one_import_are_told() {
    let home = Home::new();
    let entry = |value: &str| json!({"value": value, "created_at": "2026-01-01T00:00:00Z"});
    let entries = json!({"a": entry("Twice."), "b": entry("Once."), "c": entry("Twice.\n")});
    let file = json!({"memories": {"user": entries}});
    home.write("memory.json", file.to_string());
    let import = ["import", "--from", "i-am", "memory.json"];
    let pairs = home.run(&[&import[..], &["--json"]].concat()).json();
    let same: Vec<_> = pairs.as_array().unwrap().iter().collect();
    assert_eq!(same[0].get("same_text_as"), None, "{pairs}");
    assert_eq!(same[1].get("same_text_as"), None, "{pairs}");
    assert_eq!(same[2]["same_text_as"], same[0]["id"], "{pairs}");
    let fresh = Home::new();
    fresh.write("memory.json", file.to_string());
    let said = fresh.run(&import).text();
    assert!(said.contains("with the text of another one: 1"), "{said}");
    let said = fresh.run(&import).text();
    assert!(!said.contains("with the text"), "known already: {said}");
}

#[test]
fn what_ai_memory_archived_comes_into_the_archive_with_its_uses() {
    let home = Home::new();
    let path = home.make("source").join("old.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT, access_count INTEGER,
                created_at TEXT, updated_at TEXT, last_accessed_at TEXT);
            INSERT INTO memories VALUES ('a', 'Lives.', 7, '2026-01-01T00:00:00Z',
                '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z');
            CREATE TABLE archived_memories (id TEXT PRIMARY KEY, content TEXT, created_at TEXT,
                archived_at TEXT, archive_reason TEXT);
            INSERT INTO archived_memories VALUES ('b', 'Ended.', '2026-01-01T00:00:00Z',
                '2026-02-01T00:00:00Z', 'gc');",
        )
        .unwrap();
    drop(connection);
    home.run(&["import", "--from", "ai-memory", path.to_str().unwrap()])
        .done();
    assert_eq!(crate::support::program::names(&home.files()).len(), 1);
    let listed = home.run(&["archive", "list", "--json"]).text();
    assert!(
        listed.contains("archived in ai-memory: gc, 2026-02-01T00:00:00Z"),
        "{listed}"
    );
    let arguments = ["mcp", "--dialect", "ai-memory"];
    let mut session = crate::support::session::Session::open_on(home.command(&arguments));
    let reply = session.tool("memory_list", json!({"format": "json"}));
    let said = reply.to_string();
    assert!(
        said.contains("access_count\\\":7") || said.contains("access_count\":7"),
        "{said}"
    );
}
