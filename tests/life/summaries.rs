//! Summaries that a language model writes, asked in the words of both protocols.

use serde_json::json;

use crate::support::fake_host::{Reply, Server};
use crate::support::program::{Home, run};

/// Three old memories, one of which holds a credential, and settings that name the server.
fn home_of(provider: &str, server: &Server) -> Home {
    let home = Home::new();
    let url = server.url("/");
    let settings = format!(
        "secrets = \"off\"\n[llm]\nprovider = \"{provider}\"\nmodel = \"tiny\"\n\
         endpoint = \"{url}\"\napi_key_env = \"THE_KEY\"\ntimeout = \"5s\"\n"
    );
    home.write("config/memdir/config.toml", settings);
    home.remember(&["--title", "Ports", "Atlas listens on 8080."]);
    home.remember(&["Mira moved it to 9090 on Friday."]);
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    home.remember(&[&format!("The token is {token}.")]);
    home
}

fn consolidate(home: &Home, more: &[&str]) -> crate::support::program::Ran {
    let listed = home.run(&["list", "--json"]).json();
    let memories = listed["memories"].as_array().unwrap().clone();
    let ids: Vec<String> = memories
        .iter()
        .map(|memory| memory["id"].as_str().unwrap().to_owned())
        .collect();
    let mut words = vec!["consolidate", "--json"];
    words.extend(ids.iter().map(String::as_str));
    words.extend(more);
    run(home.command(&words).env("THE_KEY", "sesame"))
}

/// What it printed, whatever it told its user besides.
fn printed(done: &crate::support::program::Ran) -> serde_json::Value {
    assert_eq!(done.code, 0, "{}", done.stderr);
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The text of the memory that was made.
fn made(home: &Home, document: &serde_json::Value) -> String {
    let name = format!("{}.md", document["created"][0].as_str().unwrap());
    std::fs::read_to_string(home.files().join(name)).unwrap()
}

const SAID: &str = "Atlas listened on 8080, since Friday on 9090 (Mira).";

#[test]
fn a_model_of_this_machine_writes_the_summary() {
    let server = Server::start(|_| Reply::json(&json!({"message": {"content": SAID}})));
    let home = home_of("ollama", &server);
    consolidate(&home, &["--dry-run"]).done();
    assert!(
        server.asked().is_empty(),
        "a plan that is shown is sent to nobody"
    );
    let done = consolidate(&home, &[]);
    let document = printed(&done);
    let text = made(&home, &document);
    assert!(text.ends_with(&format!("\n\n{SAID}\n")), "{text}");
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/api/chat");
    let body = asked[0].json();
    assert_eq!(
        (&body["model"], &body["stream"]),
        (&json!("tiny"), &json!(false))
    );
    let sent = body["messages"][1]["content"].as_str().unwrap();
    assert!(sent.contains("Atlas listens on 8080."), "{sent}");
    assert!(!sent.contains("ghp_"), "{sent}");
}

#[test]
fn whatever_speaks_as_openai_does_may_write_it_too() {
    let server = Server::start(|_| {
        Reply::json(
            &json!({"choices": [{"message": {"content": format!("<think>x</think>{SAID}")}}]}),
        )
    });
    let home = home_of("openai", &server);
    let document = printed(&consolidate(&home, &[]));
    let text = made(&home, &document);
    assert!(text.ends_with(&format!("\n\n{SAID}\n")), "{text}");
    let asked = server.asked();
    assert_eq!(asked[0].path, "/chat/completions");
    let key = asked[0].headers.get("authorization").map(String::as_str);
    assert_eq!(key, Some("Bearer sesame"));
    let shown = run(home.command(&["config"]).env("THE_KEY", "sesame")).done();
    assert!(
        shown.contains("THE_KEY (is set)") && !shown.contains("sesame"),
        "{shown}"
    );
}

#[test]
fn a_model_that_fails_costs_no_memory() {
    for reply in [
        || Reply::new(401, "no"),
        || Reply::json(&json!({"message": {"content": " "}})),
        || Reply::new(200, "no json"),
    ] {
        let server = Server::start(move |_| reply());
        let home = home_of("ollama", &server);
        let done = consolidate(&home, &[]);
        let document = printed(&done);
        let text = made(&home, &document);
        assert!(text.contains("Atlas listens on 8080."), "{text}");
        assert!(
            done.stderr.contains("sentences of its sources"),
            "{}",
            done.stderr
        );
    }
    let server = Server::start(|_| Reply::new(500, ""));
    let home = home_of("ollama", &server);
    home.write(
        "config/memdir/config.toml",
        "[llm]\nprovider = \"ollama\"\n",
    );
    consolidate(&home, &[]).complains(2, &["ollama cannot be used", "Name a model"]);
    assert!(server.asked().is_empty());
}

#[test]
fn a_store_names_no_model() {
    let server = Server::start(|_| Reply::json(&json!({"message": {"content": SAID}})));
    let home = home_of("off", &server);
    let url = server.url("/");
    let evil = format!("[llm]\nprovider = \"ollama\"\nmodel = \"m\"\nendpoint = \"{url}\"\n");
    home.write("store/memdir.toml", evil);
    let done = consolidate(&home, &[]);
    assert!(done.stderr.contains("llm"), "{}", done.stderr);
    assert!(server.asked().is_empty());
}
