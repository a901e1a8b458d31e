//! `memdir mcp` through a server that runs already: the same answers, and none lost when the server goes.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use memdir::engine::{CallScope, ops};
use serde_json::{Value, json};

use crate::support::program::{Home, names};
use crate::support::session::Session;
use crate::support::{TestStore, fixture, new_memory};

/// A server of a home, killed with the value.
struct Server(Child);

impl Server {
    /// Starts `memdir serve` with these further words and variables, and waits until it listens.
    fn start(home: &Home, words: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut command = command(home, &["serve", "--listen", "127.0.0.1:0"], variables);
        let mut child = command.args(words).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("MCP at /mcp") {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the server ended");
        }
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Server(child)
    }

    /// Ends it as `kill -9` does.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill(); // It may have ended.
        let _ = self.0.wait();
    }
}

fn command(home: &Home, words: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = home.command(words);
    command.env("MEMDIR_GIT", "off").env("MEMDIR_USER", "mira");
    command.envs(variables.iter().copied());
    command
}

/// `memdir mcp`, with a log that says which of the two serves.
fn mcp(home: &Home, words: &[&str], variables: &[(&str, &str)]) -> Session {
    let words: Vec<&str> = ["mcp"].iter().chain(words).copied().collect();
    let mut command = command(home, &words, variables);
    Session::open_on_ref(command.env("MEMDIR_LOG", "memdir=debug"))
}

/// Whether the session, which ends, used a server.
fn was_relayed(session: Session) -> bool {
    session.log().contains("using the server in process")
}

/// A home with a store of sample memories.
fn sample() -> Home {
    let home = Home::new();
    for name in names(&fixture("aiaml").join("files")) {
        let text = fs::read(fixture("aiaml").join("files").join(&name)).unwrap();
        home.put(&name, text);
    }
    home
}

/// The socket that a server of `home` offers to `memdir mcp`.
fn socket(home: &Home) -> PathBuf {
    let folder = home.root().join("state/memdir/relay");
    let mut found = names(&folder);
    found.retain(|name| !name.ends_with(".questions"));
    assert_eq!(found.len(), 1, "{found:?}");
    folder.join(&found[0])
}

/// The texts of the memories of `home`, with how often each is there.
fn texts(home: &Home) -> BTreeMap<String, usize> {
    let mut texts = BTreeMap::new();
    for name in names(&home.files()) {
        let text = fs::read_to_string(home.files().join(name)).unwrap();
        let (_, body) = text.split_once("\n---\n").unwrap_or(("", &text));
        *texts.entry(body.trim().to_owned()).or_default() += 1;
    }
    texts
}

fn memory(text: &str) -> Value {
    json!({"agent": "relay", "user": "mira", "topics": ["relay"], "content": text})
}

/// The line with what differs from run to run replaced: the home, ids and moments that are not those of the
/// sample, whose file names are `known`.
fn masked(line: &str, home: &Home, known: &str) -> String {
    let line = line.replace(home.root().to_str().unwrap(), "HOME");
    let is_of_moment = |c: char| c.is_ascii_alphanumeric() || "-_:.+".contains(c);
    let is_new_moment =
        |word: &str| word.starts_with("20") && word.len() >= 15 && !word.starts_with("2026-03");
    let line = replaced(&line, is_of_moment, |word| {
        is_new_moment(word) && !known.contains(word)
    });
    let line = replaced(
        &line,
        |c| c.is_ascii_alphanumeric(),
        |word| {
            // After the `\n` of a text in JSON.
            let word = word.strip_prefix('n').unwrap_or(word);
            let is_hex = word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hex && !known.contains(word)
        },
    );
    without_progress(&line)
}

/// Returns `line` without the number of memories that the index lacks at the moment.
fn without_progress(line: &str) -> String {
    let mut parts = line.split("waiting");
    let first = parts.next().unwrap_or_default().to_owned();
    let is_of_number = |c: char| c.is_ascii_digit() || "\\\":".contains(c);
    let rest = parts.map(|part| format!("waiting{}", part.trim_start_matches(is_of_number)));
    first + &rest.collect::<String>()
}

/// Returns `text` with `_` for each word that `is_masked`.
fn replaced(
    text: &str,
    is_of_word: impl Fn(char) -> bool,
    is_masked: impl Fn(&str) -> bool,
) -> String {
    let mut masked = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if is_of_word(c) {
            word.push(c);
            continue;
        }
        masked.push_str(if is_masked(&word) { "_" } else { &word });
        word.clear();
        masked.push(c);
    }
    masked
}

/// Arguments for a tool with this schema: an example for each that is required, or a question.
fn arguments(schema: &Value) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let named = schema["properties"].as_object().unwrap();
    let wanted = required
        .iter()
        .map(|name| name.as_str().unwrap().to_owned());
    let question = named.keys().find(|name| *name == "query").cloned();
    let example = |name: &str| match name {
        "topics" => json!(["relay"]),
        "ids" | "memory_ids" => json!(["aab32389", "c20ad4d7"]),
        "to" | "target_id" | "object_id" | "id_b" => json!("c20ad4d7"),
        name if name.ends_with("id") || ["from", "id_a"].contains(&name) => json!("aab32389"),
        "type" => json!("semantic"),
        "category" | "source_category" | "target_category" => json!("preferences"),
        "predicate" | "relation" => json!("related_to"),
        _ => json!("postgres"),
    };
    wanted
        .chain(question)
        .map(|name| (name.clone(), example(&name)))
        .collect()
}

/// Every line with which a session of `home` answers: lists, each tool without arguments and with some, and
/// what is no call.
fn transcript(home: &Home, session: &mut Session, known: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut ask = |session: &mut Session, method: &str, params: Value| {
        session.request(lines.len() as u64, method, params);
        let line = session.line();
        let answer: Value = serde_json::from_str(&line).unwrap();
        lines.push(masked(&line, home, known));
        answer
    };
    for list in [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ] {
        ask(session, list, json!({}));
    }
    let tools = ask(session, "tools/list", json!({}))["result"]["tools"].take();
    for tool in tools.as_array().unwrap() {
        let with = arguments(&tool["inputSchema"]);
        for arguments in [json!({}), with] {
            let call = json!({"name": tool["name"], "arguments": arguments});
            ask(session, "tools/call", call);
        }
    }
    ask(session, "no/such/method", json!({}));
    session.send_line(b"no json at all");
    lines.push(session.line());
    lines
}

#[track_caller]
fn answers_are_equal(words: &[&str]) {
    let (one, other) = (sample(), sample());
    let known = names(&one.files()).concat();
    let _server = Server::start(&one, words, &[]);
    let mut relayed = mcp(&one, words, &[]);
    let mut alone = mcp(&other, words, &[("MEMDIR_RELAY", "off")]);
    let answers = transcript(&one, &mut relayed, &known);
    let expected = transcript(&other, &mut alone, &known);
    for (answer, expected) in answers.iter().zip(&expected) {
        assert_eq!(answer, expected);
    }
    assert_eq!(answers.len(), expected.len());
    assert!(was_relayed(relayed) && !was_relayed(alone));
}

#[test]
fn every_tool_of_the_usual_set_answers_as_without_a_server() {
    answers_are_equal(&["--tools", "all"]);
}

#[test]
fn every_tool_of_the_other_sets_answers_as_without_a_server() {
    answers_are_equal(&["--dialect", "loci"]);
    answers_are_equal(&["--dialect", "i-am"]);
    answers_are_equal(&["--dialect", "ai-memory"]);
}

#[test]
fn only_a_server_with_the_same_settings_is_used() {
    let home = sample();
    let _server = Server::start(&home, &[], &[]);
    assert!(was_relayed(mcp(&home, &[], &[])));
    assert!(!was_relayed(mcp(&home, &["--dialect", "loci"], &[])));
    assert!(!was_relayed(mcp(&home, &["--tools", "all"], &[])));
    assert!(!was_relayed(mcp(&home, &["--group", "atlas"], &[])));
    assert!(!was_relayed(mcp(&home, &[], &[("MEMDIR_USER", "noor")])));
    assert!(!was_relayed(mcp(&home, &[], &[("OPENAI_API_KEY", "k")])));
    assert!(!was_relayed(mcp(&home, &[], &[("MEMDIR_RELAY", "off")])));
    let store = home.store();
    let mut read_only = command(&home, &["--read-only", "mcp"], &[("MEMDIR_LOG", "debug")]);
    assert!(!was_relayed(Session::open_on_ref(&mut read_only)));
    // A change of the settings since the server began.
    home.write("config/memdir/config.toml", "secrets = \"refuse\"\n");
    assert!(!was_relayed(mcp(&home, &[], &[])));
    fs::remove_file(home.root().join("config/memdir/config.toml")).unwrap();
    assert!(was_relayed(mcp(&home, &[], &[])));
    home.run(&["trust", store.to_str().unwrap()]).done();
    assert!(
        !was_relayed(mcp(&home, &[], &[])),
        "what the user agreed to is another"
    );
}

#[test]
fn each_session_keeps_its_namespace_and_its_name() {
    let home = sample();
    let _server = Server::start(&home, &[], &[]);
    let mut atlas = mcp(&home, &[], &[("MEMDIR_NAMESPACE", "atlas")]);
    let mut plain = mcp(&home, &[], &[]);
    let id = |answer: Value| {
        answer["structuredContent"]["memory_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let of_atlas = id(atlas.tool("remember", memory("of the project")));
    let of_all = id(plain.tool("remember", memory("of no project")));
    assert!(home.text_of(&of_atlas).contains("\nnamespace: atlas\n"));
    assert!(!home.text_of(&of_all).contains("namespace:"));
    assert!(was_relayed(atlas) && was_relayed(plain));
}

#[test]
fn what_another_could_have_put_there_is_not_used() {
    let home = sample();
    let mut server = Server::start(&home, &[], &[]);
    let socket = socket(&home);
    let folder = socket.parent().unwrap();
    let set = |path: &std::path::Path, mode| {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    for (path, wrong, right) in [(socket.as_path(), 0o666, 0o600), (folder, 0o755, 0o700)] {
        set(path, wrong);
        assert!(!was_relayed(mcp(&home, &[], &[])), "{}", path.display());
        set(path, right);
        assert!(was_relayed(mcp(&home, &[], &[])));
    }
    // Nobody listens there any more, then a file, a link and a stranger to the protocol are there.
    server.kill();
    assert!(socket.exists());
    assert!(!was_relayed(mcp(&home, &[], &[])));
    fs::rename(&socket, home.root().join("moved")).unwrap();
    home.write("state/memdir/relay/file", "");
    fs::rename(folder.join("file"), &socket).unwrap();
    set(&socket, 0o600);
    assert!(!was_relayed(mcp(&home, &[], &[])));
    fs::remove_file(&socket).unwrap();
    let stranger = UnixListener::bind(&socket).unwrap();
    set(&socket, 0o600);
    let closes = std::thread::spawn(move || drop(stranger.accept().unwrap()));
    assert!(!was_relayed(mcp(&home, &[], &[])));
    closes.join().unwrap();
    // The next server takes the place of a dead socket.
    let _server = Server::start(&home, &[], &[]);
    assert!(was_relayed(mcp(&home, &[], &[])));
}

#[test]
fn a_server_that_begins_later_is_not_used_and_one_that_ends_in_order_leaves_no_socket() {
    let home = sample();
    let mut session = mcp(&home, &[], &[]);
    let mut server = Server::start(&home, &[], &[]);
    session.tool("think", json!({"query": "postgres"}));
    let socket = socket(&home);
    Command::new("kill")
        .arg(server.0.id().to_string())
        .status()
        .unwrap();
    server.0.wait().unwrap();
    assert!(!socket.exists());
    session.tool("think", json!({"query": "postgres"}));
    assert!(!was_relayed(session));
}

/// Kills the server when so many of 200 calls are answered.
#[track_caller]
fn no_call_is_lost(answered: usize) {
    let home = sample();
    let before = texts(&home);
    let mut server = Server::start(&home, &[], &[]);
    let mut session = mcp(&home, &[], &[]);
    for call in 0..200u64 {
        match call % 2 {
            0 => session.call(call, "remember", memory(&format!("note {}", call / 4))),
            _ => session.call(call, "think", json!({"query": "which note?"})),
        }
    }
    let mut counts = BTreeMap::new();
    let mut acknowledged = BTreeSet::new();
    for at in 0..200 {
        if at == answered {
            server.kill();
        }
        let answer = session.next();
        assert!(
            answer["error"].is_null() && answer["result"]["isError"].is_null(),
            "{answer}"
        );
        let id = answer["result"]["structuredContent"]["memory_id"].as_str();
        acknowledged.extend(id.map(|id| home.file_of(id)));
        *counts.entry(answer["id"].as_u64().unwrap()).or_insert(0) += 1;
    }
    assert_eq!(counts, (0..200).map(|call| (call, 1)).collect());
    assert_eq!(acknowledged.len(), 100);
    session.is_alive_and_quiet();
    // Each text was stored twice on purpose: two calls with one text are two memories.
    let mut after = texts(&home);
    after.retain(|text, _| !before.contains_key(text));
    let expected = (0..50).map(|note| (format!("note {note}"), 2)).collect();
    assert_eq!(after, expected);
    let log = session.log();
    assert!(log.contains("using the server in process"), "{log}");
    assert!(log.contains("goes on with the session"), "{log}");
}

#[test]
fn a_server_that_is_killed_loses_no_call_and_doubles_none() {
    for answered in [0, 1, 20, 60, 150] {
        no_call_is_lost(answered);
    }
}

#[test]
fn a_memory_that_was_written_unanswered_is_found_again_and_answered() {
    let store = TestStore::new();
    let announced = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = announced.clone();
    let first = CallScope {
        announce: Some(std::sync::Arc::new(move |stem: &str| {
            told.lock().unwrap().push(stem.to_owned());
        })),
        ..CallScope::default()
    };
    let memory = || new_memory("the launch moved to May");
    let written = first.run(|| ops::remember(&store.engine(), memory(), None).unwrap());
    let earlier = announced.lock().unwrap().clone();
    assert_eq!(earlier, [written.stem.as_str()]);
    let again = CallScope {
        earlier,
        ..CallScope::default()
    };
    again.run(|| {
        let engine = store.engine();
        // Another text was not written before, and the same one counts once.
        let other = ops::remember(&engine, new_memory("another text"), None).unwrap();
        assert_ne!(other.stem, written.stem);
        let found = ops::remember(&engine, memory(), None).unwrap();
        assert_eq!((&found.stem, found.became), (&written.stem, written.became));
        let third = ops::remember(&engine, memory(), None).unwrap();
        assert_ne!(third.stem, written.stem);
    });
    assert_eq!(names(&store.files()).len(), 3);
}

#[test]
fn a_session_goes_on_with_its_client_its_subscriptions_and_no_second_hello() {
    let home = sample();
    let mut server = Server::start(&home, &[], &[]);
    let mut session = mcp(&home, &[], &[("MEMDIR_NAMESPACE", "atlas")]);
    let listed = session.result("list", "resources/list", json!({}));
    let uri = listed["resources"][0]["uri"].clone();
    session.result("follow", "resources/subscribe", json!({"uri": uri}));
    server.kill();
    let stored = session.tool(
        "remember",
        json!({
            "user": "mira", "topics": ["relay"], "content": "after the server", "agent": "relay",
        }),
    );
    let id = stored["structuredContent"]["memory_id"].as_str().unwrap();
    assert!(home.text_of(id).contains("\nnamespace: atlas\n"));
    // Whoever follows is told that it may have changed, and of what changes now.
    let is_news = |message: &Value| message["method"] == "notifications/resources/updated";
    if session.take_early(is_news).is_none() {
        let message = session.next();
        assert!(is_news(&message), "{message}");
    }
    let hello = session.rest().iter().find(|answer| answer["id"] == "init");
    assert_eq!(hello, None);
    let relayed = session
        .rest()
        .iter()
        .any(|answer| answer.to_string().contains("memdir relay"));
    assert!(!relayed);
}

#[test]
fn the_end_of_the_client_ends_the_relay_and_not_the_server() {
    let home = sample();
    let _server = Server::start(&home, &[], &[]);
    let mut session = mcp(&home, &[], &[]);
    session.tool("remember", memory("the last word"));
    session.close_input();
    assert!(session.wait().success());
    assert_eq!(texts(&home)["the last word"], 1);
    assert!(was_relayed(mcp(&home, &[], &[])));
}

/// Output of a hook of a session, and whether it asked a server.
fn hook(home: &Home, event: &str, message: Value) -> (String, bool) {
    let words = ["hook", event, "--client", "claude-code"];
    let mut command = command(home, &words, &[("MEMDIR_LOG", "memdir=debug")]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(message.to_string().as_bytes()).unwrap();
    drop(input);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success());
    let log = String::from_utf8(ended.stderr).unwrap();
    let asked = log.contains("asking the server in process");
    (String::from_utf8(ended.stdout).unwrap(), asked)
}

#[test]
fn hooks_ask_a_server_that_runs_and_are_answered_as_without_it() {
    let home = sample();
    let root = home.root().clone();
    let begin = |session: &str| json!({"session_id": session, "cwd": &root, "source": "startup"});
    let ask = |session: &str| {
        let prompt = "On which disk does the build cache live?";
        json!({"session_id": session, "cwd": &root, "prompt": prompt})
    };
    let (brief, asked) = hook(&home, "session-start", begin("alone"));
    assert!(!asked && brief.contains("memories"), "{brief}");
    let (fitting, asked) = hook(&home, "prompt", ask("alone-prompt"));
    assert!(!asked && fitting.contains("second disk"), "{fitting}");

    let server = Server::start(&home, &[], &[]);
    let relayed = (brief.clone(), true);
    assert_eq!(hook(&home, "session-start", begin("relayed")), relayed);
    let relayed = (fitting.clone(), true);
    assert_eq!(hook(&home, "prompt", ask("relayed-prompt")), relayed);
    // What a session was shown is known to the next question, whoever answered the last one.
    assert_eq!(
        hook(&home, "prompt", ask("relayed-prompt")),
        (String::new(), true)
    );
    // A memory that another process has just written is there.
    home.remember(&["The ferry leaves at ten past eight."]);
    let (newer, asked) = hook(&home, "session-start", begin("newer"));
    assert!(asked && newer.contains("ferry"), "{newer}");

    // A server that does not answer costs the hook a moment, and no answer.
    let signal = |signal: &str| {
        let mut kill = Command::new("kill");
        let kill = kill.arg(signal).arg(server.0.id().to_string());
        assert!(kill.status().unwrap().success());
    };
    signal("-STOP");
    let stopped = hook(&home, "session-start", begin("stopped"));
    assert_eq!(stopped, (newer.clone(), false));
    signal("-CONT");
    drop(server);
    assert_eq!(hook(&home, "session-start", begin("gone")), (newer, false));
}

#[test]
fn status_and_doctor_say_where_a_server_runs() {
    let home = sample();
    let run = |words: &[&str]| crate::support::program::run(&mut command(&home, words, &[]));
    assert_eq!(run(&["status", "--json"]).json()["served"], json!([]));
    let _server = Server::start(&home, &[], &[]);
    let served = run(&["status", "--json"]).json()["served"].take();
    assert!(
        served[0].as_str().unwrap().starts_with("http://127.0.0.1:"),
        "{served}"
    );
    assert!(run(&["status"]).text().contains("served"));
    let line = run(&["doctor"]).text();
    assert!(
        line.contains("a server runs at http://127.0.0.1:"),
        "{line}"
    );
}
