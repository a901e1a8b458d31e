//! The REST interface as it is documented: lists, searches, recalls and the archive.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::rest::{Api, Said};
use crate::support::{TestStore, memory_text};

/// A store of `count` memories, each a minute after the other.
fn many(count: usize) -> TestStore {
    let store = TestStore::new();
    for number in 0..count {
        put(&store, number);
    }
    store
}

/// Writes the memory of a number, as another program does.
fn put(store: &TestStore, number: usize) {
    let (hour, minute) = (number / 60, number % 60);
    let timestamp = format!("2026-01-14T{hour:02}:{minute:02}:00Z");
    let name = format!("20260114_{hour:02}{minute:02}00_{}.md", handle(number));
    store.put(
        &name,
        memory_text(&handle(number), &timestamp, &format!("Text {number}.")),
    );
}

fn handle(number: usize) -> String {
    format!("c{number:07}")
}

#[track_caller]
fn ids(said: Said) -> Vec<String> {
    said.done(200).texts("memories", "id")
}

#[test]
fn a_list_holds_twenty_and_at_most_two_hundred_the_newest_first() {
    let api = Api::on(many(205));
    let first = api.get("/memories").done(200);
    assert_eq!(
        (&first.body["count"], &first.body["total"]),
        (&json!(20), &json!(205))
    );
    let newest: Vec<String> = (185..205).rev().map(handle).collect();
    assert_eq!(first.texts("memories", "id"), newest);
    for limit in ["200", "201", "99999999"] {
        let said = api.get(&format!("/memories?limit={limit}")).done(200);
        assert_eq!(said.body["count"], 200, "{limit}");
    }
    let said = ids(api.get("/memories?limit=2&offset=20"));
    assert_eq!(said, [handle(184), handle(183)]);
    let past = api.get("/memories?offset=205").done(200).body;
    assert_eq!((&past["count"], &past["total"]), (&json!(0), &json!(205)));
    assert_eq!(past["next_cursor"], Value::Null);
    for bad in [
        "limit=0",
        "limit=-1",
        "limit=many",
        "limit=",
        "offset=-1",
        "offset=x",
    ] {
        api.get(&format!("/memories?{bad}"))
            .is_bad("must be a whole number");
    }
    api.get("/memories?limit=1&limit=2").is_bad("`limit`");
    api.get("/memories?colour=red")
        .is_bad("there is no argument `colour`");
}

#[test]
fn a_list_holds_what_passes_every_condition() {
    let api = Api::start();
    let make = |title: &str, namespace: &str, tier: &str, tags: &[&str], priority: u8| {
        api.make(&json!({
            "title": title, "content": "Text.", "namespace": namespace, "tier": tier,
            "tags": tags, "priority": priority,
        }))
    };
    let one = make("One", "my-app", "long", &["rust", "web"], 9);
    let two = make("Two", "my-app", "mid", &["rust"], 5);
    let three = make("Three", "other", "long", &["web"], 2);
    let check = |query: &str, expected: &[&String]| {
        let found: BTreeSet<String> = ids(api.get(&format!("/memories?{query}")))
            .into_iter()
            .collect();
        let expected: BTreeSet<String> = expected.iter().map(|id| (*id).clone()).collect();
        assert_eq!(found, expected, "{query}");
    };
    check("namespace=my-app", &[&one, &two]);
    check("tier=long", &[&one, &three]);
    check("tags=rust", &[&one, &two]);
    check("tags=rust,web", &[&one]);
    check("tags=rust&tags=web", &[&one]);
    check("min_priority=5", &[&one, &two]);
    check(
        "since=2026-01-01T00:00:00Z&until=2096-12-31T23:59:59Z",
        &[&one, &two, &three],
    );
    check("since=2096-01-01T00:00:00Z", &[]);
    check("until=2026-01-01", &[]);
    let documented = "namespace=my-app&tier=long&limit=20&offset=0&min_priority=5&since=2026-01-01T00:00:00Z&until=2096-12-31T23:59:59Z&tags=rust";
    check(documented, &[&one]);
    for bad in [
        "tier=huge",
        "min_priority=11",
        "since=some-day",
        "until=never",
    ] {
        api.get(&format!("/memories?{bad}")).is_bad("");
    }
}

#[test]
fn pages_neither_skip_nor_repeat_what_others_leave_alone() {
    let api = Api::on(many(60));
    let store = &api.server.store;
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    let mut pages = 0;
    loop {
        let path = match cursor.as_str() {
            None => "/memories?limit=7".to_owned(),
            Some(cursor) => format!("/memories?limit=7&cursor={cursor}"),
        };
        let page = api.get(&path).done(200);
        seen.extend(page.texts("memories", "id"));
        cursor = page.body["next_cursor"].clone();
        pages += 1;
        if cursor.is_null() {
            break;
        }
        // Newer ones come, and of those that were shown the last is deleted.
        put(store, 60 + pages);
        let last = seen.last().unwrap();
        api.delete(&format!("/memories/{last}")).done(200);
    }
    let expected: Vec<String> = (0..60).rev().map(handle).collect();
    assert_eq!(seen, expected);
    assert_eq!(pages, 9);
}

#[test]
fn memories_of_one_moment_have_their_order_too() {
    let store = TestStore::new();
    for number in 0..9 {
        let text = memory_text(&handle(number), "2026-01-14T09:15:00.5Z", "Text.");
        store.put(&format!("20260114_091500_{}.md", handle(number)), text);
    }
    let api = Api::on(store);
    let first = api.get("/memories?limit=4").done(200);
    let cursor = first.body["next_cursor"].as_str().unwrap();
    let second = api
        .get(&format!("/memories?limit=5&cursor={cursor}"))
        .done(200);
    let all = [
        first.texts("memories", "id"),
        second.texts("memories", "id"),
    ]
    .concat();
    assert_eq!(all, (0..9).map(handle).collect::<Vec<_>>());
    assert_eq!(
        (&second.body["total"], &second.body["next_cursor"]),
        (&json!(9), &Value::Null)
    );
}

#[test]
fn a_cursor_is_of_one_list_with_its_filters() {
    let api = Api::on(many(5));
    let page = api.get("/memories?limit=2&tags=test").done(200).body;
    let cursor = page["next_cursor"].as_str().unwrap().to_owned();
    let with = |query: &str| api.get(&format!("/memories?{query}&cursor={cursor}"));
    assert_eq!(ids(with("tags=test")), [handle(2), handle(1), handle(0)]);
    assert_eq!(ids(with("tags=test&limit=1")), [handle(2)]);
    for other in [
        "tags=other",
        "tags=test&tier=long",
        "min_priority=1",
        "limit=2",
    ] {
        with(other).is_bad("`cursor` is not of this list");
    }
    api.get(&format!("/archive?cursor={cursor}"))
        .is_bad("`cursor` is not of this list");
    with("tags=test&offset=1").is_bad("`cursor` and `offset`");
    for garbage in [
        "x",
        "00",
        "%F0%9F%98%80",
        &cursor[2..],
        &cursor[..cursor.len() - 2],
    ] {
        let path = format!("/memories?tags=test&cursor={garbage}");
        api.get(&path).is_bad("`cursor` is not of this list");
    }
}

#[test]
fn a_search_finds_what_holds_every_word() {
    let api = Api::start();
    let make = |title: &str, content: &str, tier: &str| {
        api.make(&json!({"title": title, "content": content, "namespace": "my-app", "tier": tier}))
    };
    let one = make("Database", "The migration runs at start.", "mid");
    make("Database", "The schema of the database.", "long");
    let search = |query: &str| api.get(&format!("/search?{query}"));
    let said = search("q=database+migration&namespace=my-app&tier=mid&limit=10").done(200);
    assert_eq!(said.body["query"], "database migration");
    assert_eq!(
        said.body["count"].as_u64(),
        Some(said.texts("results", "id").len() as u64)
    );
    // The second took the title over, and what it said before is archived.
    assert_eq!(said.body["count"], 0);
    let two = make(
        "Migrations",
        "The migration of the database runs at start.",
        "mid",
    );
    assert_ne!(one, two);
    let said = search("q=database%20migration&namespace=my-app").done(200);
    assert_eq!(said.texts("results", "id"), [two.as_str()]);
    assert!(said.body["results"][0]["score"].is_number());
    assert_eq!(search("q=migration&tags=none").done(200).body["count"], 0);
    assert_eq!(search("q=migration&limit=201").done(200).body["count"], 1);
    for odd in [
        "%22",
        "*",
        "%3A%28%29",
        "-NOT",
        "a%00b",
        "%F0%9F%98%80",
        "%5E%7B%7D%5B%5D%7C%5C",
    ] {
        assert_eq!(
            search(&format!("q={odd}")).done(200).body["count"],
            0,
            "{odd}"
        );
    }
    search("limit=3").is_bad("`q` is missing");
    search("q=+").is_bad("cannot be empty");
    search("q=a&limit=0").is_bad("at least 1");
    assert_eq!(api.memory(&two)["access_count"], 0);
}

#[test]
fn a_recall_finds_any_word_and_is_a_use() {
    let api = Api::start();
    let body = json!({
        "title": "Auth", "content": "Tokens are JWT.", "namespace": "my-app", "tags": ["auth"],
    });
    let id = api.make(&body);
    let query = "context=auth+flow+jwt&namespace=my-app&limit=10&tags=auth&since=2026-01-01T00:00:00Z&until=2096-12-31T23:59:59Z";
    let got = api.get(&format!("/recall?{query}")).done(200);
    assert_eq!(
        (got.texts("memories", "id"), &got.body["count"]),
        (vec![id.clone()], &json!(1))
    );
    let body = json!({"context": "auth flow jwt", "namespace": "my-app", "limit": 10});
    assert_eq!(
        api.post("/recall", &body).done(200).texts("memories", "id"),
        [id.as_str()]
    );
    let memory = api.memory(&id);
    assert_eq!(memory["access_count"], 2);
    assert!(memory["last_accessed_at"].is_string());
    api.get("/recall").is_bad("`context` is missing");
    api.get("/recall?context=").is_bad("cannot be empty");
    api.post("/recall", &json!({}))
        .is_bad("`context` is missing");
    api.post_nothing("/recall").is_bad("`context` is missing");
    api.post("/recall", &json!({"context": "x", "limit": 0}))
        .is_bad("at least 1");
    let none = api
        .get("/recall?context=nothing+of+it&namespace=elsewhere")
        .done(200);
    assert_eq!(none.body["count"], 0);
}

#[test]
fn a_recall_holds_ten_and_at_most_fifty() {
    let api = Api::on(many(60));
    assert_eq!(api.get("/recall?context=text").done(200).body["count"], 10);
    let body = json!({"context": "text", "limit": 51});
    assert_eq!(api.post("/recall", &body).done(200).body["count"], 50);
}

#[test]
fn the_archive_is_listed_restored_and_purged() {
    let api = Api::start();
    let empty = api.get("/archive/stats").done(200).body;
    assert_eq!(
        (&empty["archived_total"], &empty["oldest_archived_at"]),
        (&json!(0), &Value::Null)
    );
    let mut gone = Vec::new();
    for (title, namespace) in [("One", "my-app"), ("Two", "my-app"), ("Three", "other")] {
        let id = api.make(&json!({"title": title, "content": "Text.", "namespace": namespace}));
        api.delete(&format!("/memories/{id}")).done(200);
        gone.push(id);
    }
    let list = api.get("/archive").done(200);
    assert_eq!(
        (&list.body["count"], &list.body["total"]),
        (&json!(3), &json!(3))
    );
    let all: BTreeSet<String> = list.texts("archived", "id").into_iter().collect();
    assert_eq!(all, gone.iter().cloned().collect());
    assert_eq!(list.body["archived"][0]["archive_reason"], "forget");
    let of = api.get("/archive?namespace=my-app").done(200);
    assert_eq!(of.body["total"], 2);
    let stats = api.get("/archive/stats").done(200).body;
    let namespaces =
        json!([{"namespace": "my-app", "count": 2}, {"namespace": "other", "count": 1}]);
    assert_eq!(
        (&stats["archived_total"], &stats["by_namespace"]),
        (&json!(3), &namespaces)
    );

    let restored = api
        .post_nothing(&format!("/archive/{}/restore", gone[0]))
        .done(200);
    assert_eq!(restored.body, json!({"restored": true, "id": gone[0]}));
    assert_eq!(api.memory(&gone[0])["title"], "One");
    api.post_nothing(&format!("/archive/{}/restore", gone[0]))
        .is_not_there();
    api.make(&json!({"title": "Two", "content": "Another.", "namespace": "my-app"}));
    api.post_nothing(&format!("/archive/{}/restore", gone[1]))
        .is_conflict("is taken");

    assert_eq!(
        api.delete("/archive?dry_run=true").done(200).body["would_purge"],
        2
    );
    assert_eq!(
        api.delete("/archive?older_than_days=1").done(200).body["purged"],
        0
    );
    for bad in ["older_than_days=-1", "older_than_days=x", "dry_run=maybe"] {
        api.delete(&format!("/archive?{bad}")).is_bad("");
    }
    assert_eq!(api.get("/archive").done(200).body["total"], 2);
    assert_eq!(api.delete("/archive").done(200).body["purged"], 2);
    assert_eq!(api.get("/archive").done(200).body["total"], 0);
    api.post_nothing(&format!("/archive/{}/restore", gone[1]))
        .is_not_there();
}

#[test]
fn the_archive_has_pages_that_go_on_where_they_ended() {
    let api = Api::on(many(12));
    for number in 0..10 {
        api.delete(&format!("/memories/{}", handle(number)))
            .done(200);
    }
    let page = api.get("/archive?limit=4").done(200);
    let mut seen = page.texts("archived", "id");
    let mut cursor = page.body["next_cursor"].clone();
    // Another comes, and one that was shown goes.
    api.delete(&format!("/memories/{}", handle(10))).done(200);
    api.post_nothing(&format!("/archive/{}/restore", seen[3]))
        .done(200);
    while let Some(from) = cursor.as_str() {
        let page = api
            .get(&format!("/archive?limit=4&cursor={from}"))
            .done(200);
        seen.extend(page.texts("archived", "id"));
        cursor = page.body["next_cursor"].clone();
    }
    assert_eq!(seen, (0..10).rev().map(handle).collect::<Vec<_>>());
    let page = api.get("/archive?limit=1").done(200).body;
    let from = page["next_cursor"].as_str().unwrap();
    let other = format!("/archive?namespace=other&cursor={from}");
    api.get(&other).is_bad("`cursor` is not of this list");
}

#[test]
fn a_cursor_serves_filters_of_relative_times() {
    let api = Api::on(many(0));
    for title in ["One", "Two", "Three"] {
        api.make(&json!({"title": title, "content": "Text."}));
    }
    for filter in ["since=3d", "until=now&namespace=global"] {
        let path = format!("/memories?limit=2&{filter}");
        let first = api.get(&path).done(200);
        let cursor = first.body["next_cursor"].as_str().unwrap().to_owned();
        let rest = ids(api.get(&format!("{path}&cursor={cursor}")));
        assert_eq!(rest.len(), 1, "{filter}");
        api.get(&format!("/memories?limit=2&since=2d&cursor={cursor}"))
            .is_bad("is not of this list");
    }
}
