//! Taking changes back: the same from a folder with git and from a workspace; and what several servers do at once.

use memdir::engine::{EngineError, PastError, Revision, ops};
use memdir::files::{ChangeLog, FileEdit, Place, Storage, WritableStorage};
use memdir::model::Change;
use serde_json::{Value, json};

use crate::postgres::{TestDatabase, engine};
use crate::serving::{server, token};
use crate::support::memdir_server::Server;
use crate::support::{TestStore, holding, new_memory};

/// The REST interface of a store, on a folder or on rows.
struct Api {
    server: Server,
    base: &'static str,
    token: String,
}

/// Tests `check` on a folder with git and on a workspace, both empty.
fn on_both(check: impl Fn(&Api)) {
    let arguments = ["--no-token", "--writes-per-second", "0"];
    check(&Api {
        server: Server::with(TestStore::new(), &arguments, &[("MEMDIR_GIT", "true")]),
        base: "/api/v1",
        token: String::new(),
    });
    if let Some(test) = TestDatabase::new() {
        test.workspace("atlas");
        let server = server(&test, &["--writes-per-second", "0"]);
        check(&Api {
            token: token(&server),
            server,
            base: "/w/atlas/api/v1",
        });
    }
}

impl Api {
    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let path = format!("{}{path}", self.base);
        let bearer = format!("Authorization: Bearer {}", self.token);
        let answered = match body {
            Value::Null => self.server.ask(method, &path, &[&bearer], b""),
            body => self.server.json(method, &path, &self.token, body),
        };
        (answered.status, answered.value())
    }

    #[track_caller]
    fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, value) = self.ask(method, path, body);
        assert!(status < 300, "{method} {path}: {status} {value}");
        value
    }

    /// Stores a memory; its id.
    fn make(&self, content: &str) -> String {
        let body = json!({"title": "One", "content": content, "tier": "long"});
        let made = self.done("POST", "/memories", &body);
        made["id"].as_str().unwrap().to_owned()
    }

    fn update(&self, id: &str, content: &str) {
        self.done(
            "PUT",
            &format!("/memories/{id}"),
            &json!({"content": content}),
        );
    }

    /// The text of a memory; `None` if it is not live.
    fn content(&self, id: &str) -> Option<String> {
        match self.ask("GET", &format!("/memories/{id}"), &Value::Null) {
            (404, _) => None,
            (_, found) => Some(found["memory"]["content"].as_str().unwrap().to_owned()),
        }
    }

    /// The name of the last change of a memory, which is a change by itself from then on.
    fn last(&self, id: &str) -> String {
        let body = json!({"target": id, "dry_run": true});
        let undone = self.done("POST", "/undo", &body);
        assert_eq!(
            (&undone["commit"], &undone["dry_run"]),
            (&Value::Null, &json!(true))
        );
        undone["undone"].as_str().unwrap().to_owned()
    }

    fn undo(&self, target: &str) -> Value {
        self.done("POST", "/undo", &json!({"target": target}))
    }

    #[track_caller]
    fn refused(&self, target: &str, status: u16, words: &str) {
        let (found, body) = self.ask("POST", "/undo", &json!({"target": target}));
        assert_eq!(found, status, "{body}");
        assert!(body["message"].as_str().unwrap().contains(words), "{body}");
    }
}

/// The effect of an undo on its only file.
#[track_caller]
fn effect(undone: &Value) -> &str {
    let files = undone["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{undone}");
    files[0]["done"].as_str().unwrap()
}

#[test]
fn undoing_goes_back_step_by_step_and_an_undo_is_undone_by_its_name() {
    on_both(|api| {
        let id = api.make("First.");
        api.last(&id);
        api.update(&id, "Second.");
        api.last(&id);
        api.update(&id, "Third.");
        assert_eq!(effect(&api.undo(&id)), "changed back");
        assert_eq!(api.content(&id).unwrap(), "Second.");
        assert_eq!(effect(&api.undo(&id)), "changed back");
        assert_eq!(api.content(&id).unwrap(), "First.");
        let last = api.undo(&id);
        assert_eq!(effect(&last), "forgotten");
        assert_eq!(api.content(&id), None);
        api.refused(&id, 409, "there is nothing to undo");
        let undo = last["commit"].as_str().unwrap();
        assert_eq!(effect(&api.undo(undo)), "restored");
        assert_eq!(api.content(&id).unwrap(), "First.");
        api.refused(undo, 409, "is undone already, by");
        // It holds again, and can be taken back again.
        assert_eq!(effect(&api.undo(&id)), "forgotten");
    });
}

#[test]
fn what_was_changed_since_stays() {
    on_both(|api| {
        let id = api.make("First.\n\nMiddle.\n\nLast.");
        api.last(&id);
        api.update(&id, "First, again.\n\nMiddle.\n\nLast.");
        let change = api.last(&id);
        api.update(&id, "First, again.\n\nMiddle.\n\nLast, later.");
        api.undo(&change);
        let merged = "First.\n\nMiddle.\n\nLast, later.";
        assert_eq!(api.content(&id).unwrap(), merged);
        api.update(&id, "First, by whom?\n\nMiddle.\n\nLast, later.");
        let change = api.last(&id);
        api.update(&id, "First, by me.\n\nMiddle.\n\nLast, later.");
        api.refused(&change, 409, "cannot be undone");
        let kept = "First, by me.\n\nMiddle.\n\nLast, later.";
        assert_eq!(api.content(&id).unwrap(), kept);
    });
}

#[test]
fn forgetting_and_restoring_are_undone() {
    on_both(|api| {
        let id = api.make("First.");
        api.last(&id);
        api.done("DELETE", &format!("/memories/{id}"), &Value::Null);
        assert_eq!(api.content(&id), None);
        assert_eq!(effect(&api.undo(&id)), "restored");
        assert_eq!(api.content(&id).unwrap(), "First.");
        api.done("DELETE", &format!("/memories/{id}"), &Value::Null);
        api.last(&id);
        api.done("POST", &format!("/archive/{id}/restore"), &json!({}));
        assert_eq!(effect(&api.undo(&id)), "forgotten");
        assert_eq!(api.content(&id), None);
    });
}

#[test]
fn of_a_change_of_many_memories_one_is_taken_back_or_all() {
    on_both(|api| {
        let memory = |content: &str| json!({"title": content, "content": content, "tier": "long"});
        let memories = json!([memory("Heron."), memory("Zebra."), memory("Okapi.")]);
        api.done("POST", "/memories/bulk", &memories);
        let listed = api.done("GET", "/memories", &Value::Null);
        let listed = listed["memories"].as_array().unwrap();
        let ids: Vec<&str> = listed
            .iter()
            .map(|one| one["id"].as_str().unwrap())
            .collect();
        let there = || -> Vec<bool> { ids.iter().map(|id| api.content(id).is_some()).collect() };
        let one = api.undo(ids[1]);
        assert_eq!(effect(&one), "forgotten");
        assert!(
            one["what"].as_str().unwrap().contains(" for memory "),
            "{one}"
        );
        assert_eq!(there(), [true, false, true]);
        let all = api.undo(one["undone"].as_str().unwrap());
        assert_eq!(all["files"].as_array().unwrap().len(), 3, "{all}");
        assert_eq!(there(), [false; 3]);
        api.undo(all["commit"].as_str().unwrap());
        assert_eq!(there(), [true, false, true]);
    });
}

#[test]
fn an_earlier_text_is_brought_back_by_the_name_of_its_change() {
    on_both(|api| {
        let id = api.make("First.");
        let first = api.last(&id);
        api.update(&id, "Second.");
        api.last(&id);
        api.done("DELETE", &format!("/memories/{id}"), &Value::Null);
        let path = format!("/memories/{id}/restore");
        let restored = api.done("POST", &path, &json!({"revision": first}));
        assert_eq!(restored["changed"], true, "{restored}");
        assert_eq!(api.content(&id).unwrap(), "First.");
        let restored = api.done("POST", &path, &json!({"revision": first}));
        assert_eq!(restored["changed"], false, "{restored}");
        let (status, body) = api.ask("POST", &path, &json!({"revision": "gone"}));
        assert_eq!(status, 404, "{body}");
    });
}

#[test]
fn an_undo_of_a_workspace_names_what_it_undoes() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let cache = tempfile::tempdir().unwrap();
    let engine = engine(&rows, cache.path());
    let unnamed = ops::undo(&engine, None, false).unwrap_err();
    assert!(matches!(unnamed, EngineError::Invalid(_)), "{unnamed}");
    for unknown in ["7", "12345678", "zebra"] {
        let error = ops::undo(&engine, Some(unknown), false).unwrap_err();
        assert!(
            matches!(error, EngineError::Past(PastError::UnknownTarget(_))),
            "{error}"
        );
    }
    let stem = ops::remember(&engine, new_memory("zebra"), None)
        .unwrap()
        .stem;
    let undone = ops::undo(&engine, Some("1"), false).unwrap();
    // A memory moves by two changes of one transaction.
    assert_eq!(
        (undone.undone.as_str(), undone.commit.as_deref()),
        ("1", Some("3"))
    );
    let log = ops::log(&engine, Some(stem.as_str()), 9).unwrap();
    let tools: Vec<&str> = log
        .changes
        .iter()
        .map(|one| one.memories[0].0.as_str())
        .collect();
    assert_eq!(tools, ["undo", "write"]);
    let undos = rows.undos().unwrap();
    assert_eq!((undos.len(), undos[0].undoes), (1, Some(1)));
    assert!(memdir::rows::check(&rows).unwrap().findings.is_empty());
}

#[test]
fn an_undo_is_made_whole_or_not_at_all() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let names = ["20260101_000000_aaaaaaaa.md", "20260101_000000_bbbbbbbb.md"];
    for name in names {
        rows.add(Place::Files, name, b"zebra").unwrap();
    }
    let edit = |name: &str, seen: &[u8]| FileEdit {
        path: format!("files/{name}"),
        seen: Some(memdir::files::digest(seen)),
        bytes: Some(b"okapi".to_vec()),
        modified: None,
    };
    let edits = [edit(names[0], b"zebra"), edit(names[1], b"heron")];
    assert_eq!(rows.undo(1, &edits).unwrap(), None);
    assert_eq!(rows.head().unwrap(), 2);
    for name in names {
        let read = rows.reader(Place::Files).read(name, u64::MAX).unwrap();
        assert_eq!(read.bytes, b"zebra");
    }
    let edits = [edit(names[0], b"zebra"), edit(names[1], b"zebra")];
    assert_eq!(rows.undo(1, &edits).unwrap(), Some(4));
}

#[test]
fn of_many_who_undo_one_change_at_once_one_does() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let caches = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let engines = caches.each_ref().map(|cache| engine(&rows, cache.path()));
    let id = ops::remember(&engines[0], new_memory("zebra"), None)
        .unwrap()
        .stem;
    let change = Change {
        content: Some("okapi".to_owned()),
        ..Change::default()
    };
    ops::update(&engines[0], id.as_str(), &change).unwrap();
    let made: usize = std::thread::scope(|scope| {
        let undo = |engine| {
            scope.spawn(move || match ops::undo(engine, Some("2"), false) {
                Ok(undone) => usize::from(undone.commit.is_some()),
                Err(EngineError::Past(PastError::UndoneAlready { .. })) => 0,
                Err(error) => panic!("{error}"),
            })
        };
        let all: Vec<_> = engines.iter().map(undo).collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(made, 1);
    assert_eq!(rows.head().unwrap(), 3);
    assert_eq!(holding(&engines[3], "zebra").len(), 1);
}

#[test]
fn a_text_that_is_not_kept_is_not_brought_back() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let cache = tempfile::tempdir().unwrap();
    let engine = engine(&rows, cache.path());
    let refused = |target: &str, words: &str| {
        let error = ops::undo(&engine, Some(target), false).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    };
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let one = ops::remember(&engine, new_memory(&format!("okapi {key}")), None)
        .unwrap()
        .stem;
    ops::redact_secrets(&engine, one.as_str()).unwrap();
    refused(one.as_str(), "had a text that is not kept");
    assert_eq!(holding(&engine, "okapi").len(), 1);
    let other = ops::remember(&engine, new_memory("zebra"), None)
        .unwrap()
        .stem;
    ops::forget(&engine, other.as_str()).unwrap();
    let forgotten = rows.head().unwrap().to_string();
    ops::purge(&engine, other.as_str()).unwrap();
    refused(&forgotten, "had a text that is not kept");
}

#[test]
fn a_text_that_no_database_holds_is_the_name_of_nothing() {
    on_both(|api| {
        let id = api.make("The zebra.");
        let asked = [
            ("GET", format!("/memories/{id}%00"), Value::Null),
            ("GET", format!("/memories/{id}%00/history"), Value::Null),
            (
                "POST",
                format!("/memories/{id}%00/restore"),
                json!({"revision": "1"}),
            ),
            (
                "POST",
                format!("/memories/{id}/restore"),
                json!({"revision": "1\u{0}"}),
            ),
            ("POST", "/undo".to_owned(), json!({"change": "1\u{0}"})),
        ];
        for (method, path, body) in asked {
            let (status, value) = api.ask(method, &path, &body);
            assert!((400..500).contains(&status), "{path}: {status} {value}");
        }
    });
}

#[test]
fn the_history_of_a_note_and_an_undo_of_it_are_not_about_its_namesakes() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let names = ["p1/index.md", "p2/index.md", "index.md"];
    for name in names {
        rows.add(Place::Files, name, name.as_bytes()).unwrap();
    }
    // The last change is that of the first.
    for name in names.iter().rev() {
        let seen = rows.reader(Place::Files).read(name, u64::MAX).unwrap();
        let text = format!("{name} later");
        rows.replace_and_keep(Place::Files, name, &seen, text.as_bytes())
            .unwrap();
    }
    let cache = tempfile::tempdir().unwrap();
    let engine = engine(&rows, cache.path());
    let texts = || {
        names.map(|name| {
            let version = rows.reader(Place::Files).read(name, u64::MAX).unwrap();
            String::from_utf8(version.bytes).unwrap()
        })
    };
    for name in names {
        assert_eq!(ops::log(&engine, Some(name), 10).unwrap().changes.len(), 2);
        let versions = ops::versions(&engine, name, None).unwrap();
        assert_eq!(versions.before.unwrap().bytes, name.as_bytes());
        let later = format!("{name} later");
        assert_eq!(versions.now.bytes, later.as_bytes());
    }
    let revision = Revision {
        text: "3".to_owned(),
        at: None,
    };
    ops::restore_as_of(&engine, "p2/index.md", &revision).unwrap();
    let later = ["p1/index.md later", "p2/index.md", "index.md later"];
    assert_eq!(texts(), later);
    ops::undo(&engine, Some("index.md"), false).unwrap();
    let later = ["p1/index.md later", "p2/index.md", "index.md"];
    assert_eq!(texts(), later);
    // One that is gone is found where it lay.
    let seen = rows.reader(Place::Files).read(names[0], u64::MAX).unwrap();
    rows.remove(Place::Files, names[0], &seen).unwrap();
    ops::restore_as_of(&engine, "p1/index.md", &revision).unwrap();
    assert_eq!(texts(), names);
}
