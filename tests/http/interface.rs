//! The description of the REST interface: what is committed is what is served.

use serde_json::{Value, json};

use crate::support::memdir_server::Server;
use crate::support::rest::Api;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");

#[test]
fn the_committed_description_is_the_one_that_is_served() {
    let server = Server::start(&["--no-token"]);
    let served = server.get("/api/v1/openapi.json", "").value();
    assert_eq!(served, memdir::http::document());
    let text = serde_json::to_string_pretty(&served).unwrap() + "\n";
    if std::env::var_os("MEMDIR_RENEW").is_some() {
        std::fs::write(COMMITTED, &text).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
    assert!(
        committed == text,
        "docs/openapi.json is old: MEMDIR_RENEW=1 renews it"
    );
}

#[test]
fn the_description_says_when_a_new_memory_ends() {
    let api = Api::start();
    let document = api.get("/openapi.json").body;
    for path in ["/memories", "/memories/bulk"] {
        let said = document["paths"][path]["post"]["summary"].as_str().unwrap();
        assert!(said.contains("7 days"), "{path}: {said}");
    }
    let stored = api.post("/memories", &json!({"title": "One", "content": "x"}));
    let id = stored.body["id"].as_str().unwrap();
    let memory = api.get(&format!("/memories/{id}")).body["memory"].clone();
    let time = |key: &str| {
        let text = memory[key].as_str().unwrap();
        chrono::DateTime::parse_from_rfc3339(text).unwrap()
    };
    let lives = time("expires_at") - time("created_at");
    assert_eq!(lives.num_days(), 7, "{memory}");
}

#[test]
fn every_operation_has_a_name_of_its_own_and_every_parameter_of_a_path_is_described() {
    let document = memdir::http::document();
    let mut names = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(!names.contains(&name), "{name}");
            names.push(name);
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{name}");
            assert!(
                operation["responses"].as_object().unwrap().len() > 1,
                "{name}"
            );
            let parameters = operation["parameters"].as_array();
            for part in path.split('/').filter_map(|part| part.strip_prefix('{')) {
                let is_it =
                    |one: &&Value| one["in"] == "path" && one["name"] == part.trim_end_matches('}');
                assert!(
                    parameters.unwrap().iter().any(|one| is_it(&one)),
                    "{method} {path}"
                );
            }
        }
    }
    assert!(names.len() > 5);
}
