//! The prefixed tool set with a language model, which is a thread of the test.

use serde_json::{Value, json};

use super::ai_memory::{get, json_of, store};
use crate::support::fake_host::{Reply, Server};
use crate::support::program::Home;
use crate::support::session::Session;
use crate::support::{fixture, until};

fn home_of(server: &Server) -> Home {
    let home = Home::in_folder("has settings of its own");
    let url = server.url("/");
    let settings = format!(
        "secrets = \"off\"\n[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\nendpoint = \"{url}\"\n\
         timeout = \"5s\"\n"
    );
    home.write("config/memdir/config.toml", settings);
    home
}

fn open(home: &Home, tier: &str) -> Session {
    Session::open_on(home.command(&["mcp", "--dialect", "ai-memory", "--tier", tier]))
}

/// A model that answers by what it is told to do.
fn model() -> Server {
    Server::start(|request| {
        let body = request.json();
        let told = body["messages"][0]["content"].as_str().unwrap();
        let said = match told {
            told if told.contains("searches") => "1. release\n2. roll out",
            told if told.contains("lower-case words") => "Ports, Network",
            told if told.contains("contradict each other, else") => "NO. The ports differ.",
            _ => "Atlas moved from 8080 to 9090.",
        };
        Reply::json(&json!({"message": {"content": said}}))
    })
}

#[test]
fn the_model_answers_what_it_is_asked_and_sees_no_credentials() {
    let server = model();
    let home = home_of(&server);
    let mut session = open(&home, "smart");
    let said = json_of(&mut session, "capabilities", json!({}));
    assert_eq!(
        (&said["tier"], &said["models"]["llm"]),
        (&json!("smart"), &json!("tiny"))
    );
    assert_eq!(said["features"]["query_expansion"], true);
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let query = format!("deploy {token}");
    let said = json_of(&mut session, "expand_query", json!({"query": query}));
    assert_eq!(
        (&said["expanded_terms"], &said["by"]),
        (&json!(["release", "roll out"]), &json!("model"))
    );
    let one = store(
        &mut session,
        "Port",
        &format!("It is 8080, the token {token}."),
        json!({}),
    );
    let two = store(&mut session, "Port now", "It is 9090.", json!({}));
    assert_eq!(
        get(&mut session, &one)["tags"],
        json!([]),
        "nothing happens unasked"
    );
    let said = json_of(&mut session, "auto_tag", json!({"id": one}));
    assert_eq!(
        (&said["new_tags"], &said["by"]),
        (&json!(["ports", "network"]), &json!("model"))
    );
    assert_eq!(get(&mut session, &one)["tags"], json!(["ports", "network"]));
    let said = json_of(
        &mut session,
        "detect_contradiction",
        json!({"id_a": one, "id_b": two}),
    );
    assert_eq!(
        (&said["contradicts"], &said["explanation"]),
        (&json!(true), &json!("The ports differ."))
    );
    let said = json_of(
        &mut session,
        "consolidate",
        json!({"ids": [one, two], "title": "Ports"}),
    );
    assert_eq!(said["summary_by"], "model");
    let memory = get(&mut session, said["id"].as_str().unwrap());
    assert_eq!(memory["content"], "Atlas moved from 8080 to 9090.\n");
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    for request in asked {
        let body = String::from_utf8(request.body).unwrap();
        assert!(!body.contains("ghp_"), "{body}");
    }
}

#[test]
fn the_highest_tier_tags_what_is_stored_without() {
    let server = model();
    let home = home_of(&server);
    let mut session = open(&home, "autonomous");
    let said = json_of(
        &mut session,
        "store",
        json!({"title": "Port", "content": "It is 8080."}),
    );
    assert_eq!(said["tags"], json!(["ports", "network"]));
    store(
        &mut session,
        "Host",
        "It is atlas.",
        json!({"tags": ["own"]}),
    );
    assert_eq!(server.asked().len(), 1, "who gives tags is not asked about");
}

#[test]
fn a_model_that_fails_costs_an_answer_nothing() {
    let server = Server::start(|_| Reply::new(401, "/home/mira/secret"));
    let home = home_of(&server);
    let mut session = open(&home, "autonomous");
    let id = store(&mut session, "Port", "It is 8080.", json!({}));
    let said = json_of(&mut session, "expand_query", json!({"query": "port"}));
    assert_eq!(said["by"], "index");
    let note = said["note"].as_str().unwrap();
    assert!(
        note.contains("did not answer") && !note.contains("http"),
        "{note}"
    );
    let two = store(&mut session, "Host", "It is atlas.", json!({}));
    let said = json_of(
        &mut session,
        "consolidate",
        json!({"ids": [id, two], "title": "Both"}),
    );
    assert_eq!(said["summary_by"], "sentences");
}

#[test]
fn no_text_leaves_without_the_tier() {
    let server = model();
    let home = home_of(&server);
    let mut session = open(&home, "semantic");
    let said = json_of(&mut session, "expand_query", json!({"query": "port"}));
    assert_eq!(
        (&said["by"], &said["expanded_terms"]),
        (&json!("index"), &Value::Array(Vec::new()))
    );
    assert!(server.asked().is_empty());
}

#[test]
fn the_highest_tier_re_ranks_where_a_cross_encoder_is_set_up() {
    let home = Home::in_folder("has settings of its own");
    let model = fixture("models/tiny_cross");
    let settings = format!(
        "[rerank]\nmodel = '{}'\nbudget_ms = 60000\n",
        model.display()
    );
    home.write("config/memdir/config.toml", settings);
    let first_titles = |tier: &str| {
        let mut session = open(&home, tier);
        for (title, content) in [
            ("Words", "the cold river was cold"),
            (
                "Parts",
                "a train and a street, a cold city and a river: zxqvous zxqvous",
            ),
        ] {
            store(&mut session, title, content, json!({}));
        }
        for number in 0..8 {
            let content = format!("a river {number} {}", "train street ".repeat(20));
            store(
                &mut session,
                &format!("Other {number}"),
                &content,
                json!({}),
            );
        }
        let said = json_of(&mut session, "capabilities", json!({}));
        let features = (
            said["features"]["cross_encoder_reranking"].clone(),
            said["models"]["cross_encoder"].clone(),
        );
        let mut recall = || {
            let context = json!({"context": "cold river zxqv", "format": "json"});
            json_of(&mut session, "recall", context)["memories"][0]["title"].clone()
        };
        // It is loaded in the background.
        if tier == "autonomous" {
            until("it re-ranks", || recall() == "Parts");
        }
        (features, recall())
    };
    let semantic = first_titles("semantic");
    assert_eq!(semantic, ((json!(false), json!("none")), json!("Words")));
    let autonomous = first_titles("autonomous");
    assert_eq!(
        autonomous,
        ((json!(true), json!("tiny_cross")), json!("Parts"))
    );
}
