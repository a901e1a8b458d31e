//! `memdir model …` and what the settings say.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::support::fake_host::{Reply, Server};
use crate::support::program::{Home, names, run};
use crate::support::{fixture, real};

const KEY: &str = "sk-test-0123456789";

fn model(home: &Home, arguments: &[&str]) -> Command {
    let mut all = vec!["model"];
    all.extend(arguments);
    home.command(&all)
}

/// The tiny model that the tests have, as somebody copied it.
fn copied(home: &Home, name: &str) -> std::path::PathBuf {
    for file in ["model.onnx", "tokenizer.json"] {
        let bytes = fs::read(fixture("models/tiny").join(file)).unwrap();
        home.write(&format!("{name}/{file}"), bytes);
    }
    real(&home.root().join(name))
}

fn settings(home: &Home) -> String {
    fs::read_to_string(home.root().join("config/memdir/config.toml")).unwrap_or_default()
}

#[test]
fn without_a_model_searches_are_by_words() {
    let home = Home::new();
    let said = "searches are by words and vectors of words (memdir model download)\n";
    assert_eq!(run(&mut model(&home, &["status"])).done(), said);
    let status = home.run(&["status"]).done();
    assert!(status.contains(said), "{status}");
    let status = home.run(&["status", "--json"]).json();
    assert_eq!(status["meaning"]["state"], "off");
    assert!(!home.root().join("cache/memdir/models").exists());
}

#[test]
fn the_list_names_sizes_and_licences() {
    let home = Home::new();
    let list = run(&mut model(&home, &["download", "--list"])).lines();
    assert!(list[0].starts_with("all-MiniLM-L6-v2  "), "{list:?}");
    assert!(list[0].contains("(23 MB, Apache-2.0)"), "{list:?}");
    let list = run(&mut model(&home, &["download", "--list", "--json"])).json();
    assert_eq!(list[0]["bytes"], 23_438_617);
    assert_eq!(list[0]["downloaded"], false);
}

#[test]
fn a_download_asks_the_hub_and_keeps_nothing_wrong() {
    let home = Home::new();
    let server = Server::start(|_| Reply::new(200, "<html>Please log in</html>"));
    let ran = run(model(&home, &["download"]).env("HF_ENDPOINT", server.url("/hub")));
    let host = server.url("/hub");
    ran.complains(
        2,
        &[
            "all-MiniLM-L6-v2 (23 MB, Apache-2.0) from",
            &host,
            "26 bytes, not 22972370",
            "mirror",
        ],
    );
    let asked: Vec<String> = server.asked().into_iter().map(|r| r.path).collect();
    assert_eq!(
        asked,
        [
            "/hub/Xenova/all-MiniLM-L6-v2/resolve/751bff37182d3f1213fa05d7196b954e230abad9/\
          onnx/model_quantized.onnx"
        ]
    );
    let folder = home.root().join("cache/memdir/models/all-MiniLM-L6-v2");
    assert!(names(&folder).is_empty());
    assert_eq!(settings(&home), "", "nothing is used");
}

#[test]
fn a_download_can_break_off_and_go_on() {
    let home = Home::new();
    let bytes = vec![b'x'; 22_972_370];
    let for_server = bytes.clone();
    let server = Server::start(move |request| match request.nth {
        0 => Reply::file(request, &for_server).cut(500_000),
        _ => Reply::new(404, ""),
    });
    let hub = server.url("");
    let ran = run(model(&home, &["download", "--no-use"]).env("HF_ENDPOINT", &hub));
    ran.complains(2, &["answers 404", "a mirror may not have it"]);
    let part = home
        .root()
        .join("cache/memdir/models/all-MiniLM-L6-v2/model_quantized.onnx.part");
    assert_eq!(fs::metadata(part).unwrap().len(), 500_000);
    run(model(&home, &["download", "--no-use"]).env("HF_ENDPOINT", &hub));
    let starts: Vec<Option<usize>> = server.asked().iter().map(|r| r.start()).collect();
    assert_eq!(starts, [None, Some(500_000), Some(500_000)]);
}

#[test]
fn what_cannot_be_downloaded_is_told() {
    let home = Home::new();
    run(&mut model(&home, &["download", "gpt"]))
        .complains(2, &["no model is known as gpt", "--list"]);
    run(model(&home, &["download"]).env("HF_ENDPOINT", "hub.example"))
        .complains(2, &["hub.example is no address", "HF_ENDPOINT"]);
    run(model(&home, &["download"]).env("HF_ENDPOINT", "https://me:hush@hub.example"))
        .complains(2, &["may not hold a user name"]);
    let mut command = home.command(&["--read-only", "model", "download"]);
    run(&mut command).complains(2, &["cannot download a model with --read-only"]);
    assert!(!home.root().join("cache/memdir/models").exists());
}

#[cfg(unix)]
#[test]
fn a_file_size_limit_stops_a_download_with_a_word() {
    let home = Home::new();
    let bytes = vec![b'x'; 22_972_370];
    let server = Server::start(move |request| Reply::file(request, &bytes));
    let mut command = Command::new("sh");
    home.surround(&mut command);
    let binary = env!("CARGO_BIN_EXE_memdir");
    command
        .args([
            "-c",
            &format!("ulimit -f 100 && exec '{binary}' model download"),
        ])
        .env("HF_ENDPOINT", server.url(""));
    run(&mut command).complains(
        2,
        &["cannot write", "model_quantized.onnx.part", "Make room"],
    );
}

#[test]
fn a_copied_folder_is_used_from_anywhere() {
    let home = Home::new();
    home.write("config/memdir/config.toml", "# mine\nlimit = 7 # few\n");
    let folder = copied(&home, "stick/tiny");
    let ran = run(&mut model(&home, &["use", "stick/tiny"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    // Without escapes where the path holds backslashes.
    let quote = if cfg!(windows) { '\'' } else { '"' };
    let expected = format!(
        "# mine\nlimit = 7 # few\n\n[embedding]\nprovider = \"local\"\nmodel = {quote}{}{quote}\n",
        folder.display()
    );
    assert_eq!(settings(&home), expected);
    let status = run(&mut model(&home, &["status", "--json"]));
    assert_eq!(status.code, 0, "{status:?}");
    let status = status.json();
    assert_eq!(status["state"], "local");
    assert_eq!(status["folder"], folder.display().to_string());
    assert!(
        status["origin"].as_str().unwrap().ends_with("config.toml"),
        "{status}"
    );
    assert!(!status["id"].as_str().unwrap().is_empty(), "{status}");
    assert!(status["dimensions"].is_u64(), "{status}");
    let status = home.run(&["status"]).done();
    assert!(status.contains("by words and meaning, by"), "{status}");
}

#[test]
fn a_model_in_the_folder_of_models_goes_by_its_name() {
    let home = Home::new();
    copied(&home, "cache/memdir/models/mine");
    let ran = run(&mut model(&home, &["use", "mine"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        settings(&home).contains("model = \"mine\""),
        "{}",
        settings(&home)
    );
    let status = home.run(&["status"]).done();
    assert!(status.contains("by mine on this machine"), "{status}");
}

#[test]
fn none_goes_back_to_words() {
    let home = Home::new();
    copied(&home, "tiny");
    run(&mut model(&home, &["use", "tiny"]));
    assert_eq!(
        run(&mut model(&home, &["use", "none"])).done(),
        "searches are by words and vectors of words from now on\n"
    );
    let status = run(&mut model(&home, &["status"])).text();
    assert!(
        status.starts_with("searches are by words and vectors of words ("),
        "{status}"
    );
    assert!(status.contains("config.toml says so"), "{status}");
}

#[test]
fn the_settings_reach_the_model() {
    let home = Home::new();
    let folder = copied(&home, "tiny");
    let id = |line: &str| {
        let text = format!("[embedding]\nmodel = '{}'\n{line}\n", folder.display());
        home.write("config/memdir/config.toml", text);
        let ran = run(&mut model(&home, &["status", "--json"]));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()["id"].as_str().unwrap().to_owned()
    };
    let plain = id("");
    assert_eq!(id("threads = 1"), plain);
    assert_ne!(id("query_prefix = \"q: \""), plain);
    assert_ne!(id("passage_prefix = \"p: \""), plain);
    assert_ne!(id("pooling = \"cls\""), plain);
    assert_ne!(id("max_tokens = 20"), plain);
    assert_ne!(id("dimensions = 8"), plain);
}

#[cfg(unix)]
#[test]
fn a_settings_file_elsewhere_stays_there_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let file = home.write("dotfiles/memdir.toml", "limit = 7\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    home.make("config/memdir");
    let link = home.root().join("config/memdir/config.toml");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(run(&mut model(&home, &["use", "none"])).code, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o644
    );
    assert_eq!(
        settings(&home),
        "limit = 7\n\n[embedding]\nprovider = \"off\"\n"
    );
}

#[test]
fn another_model_is_not_used_as_the_one_before() {
    let home = Home::new();
    let text = "[embedding]\nmodel = \"/old\"\npooling = \"cls\" # bge\nquery_prefix = \"q\"\nthreads = 1\n";
    home.write("config/memdir/config.toml", text);
    copied(&home, "tiny");
    let ran = run(&mut model(&home, &["use", "tiny"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let settings = settings(&home);
    assert!(
        !settings.contains("pooling") && !settings.contains("query_prefix"),
        "{settings}"
    );
    assert!(settings.contains("threads = 1"), "{settings}");
}

#[test]
fn what_is_no_model_is_not_used() {
    let home = Home::new();
    home.make("empty");
    copied(&home, "broken");
    home.write("broken/model.onnx", "no graph");
    run(&mut model(&home, &["use", "empty"])).complains(2, &["empty", "model"]);
    run(&mut model(&home, &["use", "broken"])).complains(2, &["broken", "Nothing was changed"]);
    run(&mut model(&home, &["use", "nowhere"])).complains(2, &["there is no model in", "--list"]);
    run(&mut model(&home, &["use", "all-MiniLM-L6-v2"]))
        .complains(2, &["memdir model download all-MiniLM-L6-v2 gets it"]);
    assert_eq!(settings(&home), "");
}

#[test]
fn a_missing_folder_costs_a_line_and_not_the_search() {
    let home = Home::new();
    home.remember(&["--topics", "a", "The backup runs at night."]);
    home.write(
        "config/memdir/config.toml",
        "[embedding]\nmodel = \"bge-small-en-v1.5\"\n",
    );
    let ran = run(&mut model(&home, &["status"]));
    assert_eq!(ran.code, 1);
    assert!(
        ran.text()
            .contains("memdir model download bge-small-en-v1.5 gets it"),
        "{ran:?}"
    );
    let status = home.run(&["status", "--json"]).json();
    assert_eq!(status["meaning"]["state"], "unusable");
    assert_eq!(home.run(&["think", "backup"]).code, 0);
}

#[test]
fn a_variable_names_a_folder_for_one_run() {
    let home = Home::new();
    let folder = copied(&home, "tiny");
    let ran = run(model(&home, &["status", "--json"]).env("MEMDIR_MODEL_DIR", &folder));
    assert_eq!(ran.json()["origin"], "MEMDIR_MODEL_DIR");
    let mut command = model(&home, &["status", "--json"]);
    command
        .env("MEMDIR_MODEL_DIR", &folder)
        .env("MEMDIR_EMBEDDING", "off");
    assert_eq!(run(&mut command).json()["state"], "off");
}

#[test]
fn a_store_does_not_choose_the_model_or_the_host() {
    let home = Home::new();
    let server = Server::start(|_| Reply::new(500, ""));
    let endpoint = server.url("/v1");
    home.write(
        "store/memdir.toml",
        format!(
            "[embedding]\nprovider = \"openai\"\nmodel = \"m\"\ndimensions = 2\n\
             endpoint = \"{endpoint}\"\napi_key_env = \"MY_KEY\"\n"
        ),
    );
    let mut command = model(&home, &["status", "--json"]);
    let ran = run(command.env("MY_KEY", KEY).env("OPENAI_API_KEY", KEY));
    ran.complains(0, &["`embedding` may not be set by a store"]);
    assert_eq!(ran.json()["provider"], "off");
    assert_eq!(
        home.run(&["config", "--json"]).json()["embedding.endpoint"]["value"],
        ""
    );
    let text = "Nothing of this goes anywhere.";
    let ran = home.run(&["remember", "--topics", "a", text]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(home.run(&["think", "nothing"]).code, 0);
    assert!(server.asked().is_empty());
}

#[test]
fn a_hosted_model_is_told_of_and_its_key_is_not() {
    let home = Home::new();
    home.write(
        "config/memdir/config.toml",
        "[embedding]\nprovider = \"voyage\"\nmodel = \"voyage-3.5\"\n",
    );
    let with = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command
            .env("VOYAGE_API_KEY", KEY)
            .env("MEMDIR_LOG", "trace");
        let ran = run(&mut command);
        assert!(!format!("{ran:?}").contains(KEY), "{ran:?}");
        ran
    };
    let status = with(&["model", "status"]).text();
    assert!(status.contains("are sent to api.voyageai.com"), "{status}");
    assert!(status.contains("VOYAGE_API_KEY is set"), "{status}");
    assert!(
        with(&["status"])
            .text()
            .contains("are sent to api.voyageai.com")
    );
    let status = with(&["status", "--json"]).json();
    assert_eq!(status["meaning"]["sends_to"], "api.voyageai.com");
    let config = with(&["config", "--json"]).json();
    assert_eq!(
        config["embedding.api_key_env"]["value"],
        "VOYAGE_API_KEY (is set)"
    );
    let ran = run(&mut model(&home, &["status"]));
    assert!(
        ran.text()
            .contains("the variable VOYAGE_API_KEY is not set"),
        "{ran:?}"
    );
    assert_eq!(ran.code, 1);
}

#[test]
fn a_host_can_be_tried_and_hears_one_sentence() {
    let home = Home::new();
    let server = Server::start(|request| match request.nth {
        0 => Reply::json(&json!({"data": [{"index": 0, "embedding": [1.0, 0.0]}]})),
        _ => Reply::new(401, json!({"error": {"message": KEY}}).to_string()),
    });
    let endpoint = server.url("/v1");
    let text = format!(
        "[embedding]\nprovider = \"openai\"\nmodel = \"org/m\"\ndimensions = 2\n\
         endpoint = \"{endpoint}\"\napi_key_env = \"MY_KEY\"\n"
    );
    home.write("config/memdir/config.toml", text);
    let check = || {
        let mut command = model(&home, &["status", "--check"]);
        command.env("MY_KEY", KEY).env("RUST_LOG", "trace");
        let ran = run(&mut command);
        assert!(!format!("{ran:?}").contains(KEY), "{ran:?}");
        ran
    };
    let ran = check();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("are sent to 127.0.0.1"), "{ran:?}");
    let asked = &server.asked()[0];
    assert_eq!(asked.headers["authorization"], format!("Bearer {KEY}"));
    let sent = asked.json();
    assert_eq!(sent["model"], "org/m");
    assert_eq!(
        sent["input"],
        json!(["A model that can be used makes a vector of this."])
    );
    let ran = check();
    assert_eq!(ran.code, 1);
    assert!(ran.text().contains("answers 401"), "{ran:?}");
    assert!(ran.text().contains("is the key right?"), "{ran:?}");
}

#[test]
fn a_folder_that_cannot_be_made_is_told() {
    let home = Home::new();
    home.write("cache/memdir/models", "a file");
    run(&mut model(&home, &["download"])).complains(2, &["cannot make the folder", "models"]);
}

#[test]
fn a_bad_setting_is_an_error_that_names_it() {
    let home = Home::new();
    home.write(
        "config/memdir/config.toml",
        "[embedding]\nprovider = \"cloud\"\n",
    );
    home.run(&["status"])
        .complains(2, &["`embedding.provider` is `cloud`"]);
    let ran = run(home
        .command(&["config", "--json"])
        .env("MEMDIR_EMBEDDING", "off"));
    let expected = json!({"value": "off", "origin": "MEMDIR_EMBEDDING"});
    assert_eq!(ran.json()["embedding.provider"], expected);
}
