//! The command line of ai-memory, as its users type it: every example of its specification, through a
//! link to the program that is called `ai-memory`, and what appears.
//!
//! In `ai-memory.lines.txt` a line `$ …` is given to bash; `< ` begins each line of its answer, `! ` each
//! line on standard error, and `= ` its exit code where that is not 0. `$1` is the first id that an answer
//! held. Times, sizes and scores stand as `TIME`, `SIZE` and `SCORE`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::program::{Home, Ran, run, run_with};

/// A home with a link called `ai-memory`, the folder of a project, and the ids that were seen.
struct Machine {
    home: Home,
    ids: Vec<String>,
}

impl Machine {
    fn new() -> Machine {
        let home = Home::in_folder("the command line works on a folder");
        home.make("my-app");
        home.make("bin");
        for name in ["ai-memory", "loci", "memdir"] {
            let link = home.root().join("bin").join(name);
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_memdir"), link).unwrap();
        }
        Machine {
            home,
            ids: Vec::new(),
        }
    }

    /// A line of bash in the project's folder.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("bash");
        self.home.surround(&mut command);
        let bin = self.home.root().join("bin");
        let path = std::env::var("PATH").unwrap();
        command
            .args(["-c", line])
            .current_dir(self.home.root().join("my-app"))
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("MEMDIR_STORE", self.home.store())
            .env("MEMDIR_GIT", "off");
        command
    }

    /// Runs a line in which `$1` stands for the first id.
    fn run(&mut self, line: &str) -> Ran {
        let ids = self.ids.iter().enumerate().rev();
        let line = ids.fold(line.to_owned(), |line, (at, id)| {
            line.replace(&format!("${}", at + 1), id)
        });
        run(&mut self.command(&line))
    }

    /// An answer without what is another one each time.
    fn said(&mut self, text: &str) -> String {
        const VARIES: [(&str, &str); 4] = [
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "TIME"),
            (r#""(db_size_bytes|size_bytes)": ?\d+"#, r#""$1":SIZE"#),
            (r"size: \d+ bytes", "size: SIZE bytes"),
            (r#""score":[0-9.]+"#, r#""score":SCORE"#),
        ];
        let mut text = text.replace(self.home.root().to_str().unwrap(), "HOME");
        for (varying, stands) in VARIES {
            let varying = Regex::new(varying).unwrap();
            text = varying.replace_all(&text, stands).into_owned();
        }
        let ids = Regex::new(r"\b(?:[0-9a-f]{8})\b").unwrap();
        for found in ids.find_iter(&text) {
            if !self.ids.iter().any(|id| id == found.as_str()) {
                self.ids.push(found.as_str().to_owned());
            }
        }
        let ids = self.ids.iter().enumerate();
        ids.fold(text, |text, (at, id)| {
            text.replace(id, &format!("${}", at + 1))
        })
    }

    #[track_caller]
    fn json(&mut self, line: &str) -> Value {
        let ran = self.run(line);
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{line}: {ran:?}"))
    }
}

#[test]
fn the_examples_of_the_specification_do_what_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialects/ai-memory.lines.txt");
    let kept = fs::read_to_string(&path).unwrap();
    let mut machine = Machine::new();
    let mut written = String::new();
    let is_of_answers = |line: &&str| !["< ", "! ", "= "].iter().any(|mark| line.starts_with(mark));
    for line in kept.lines().map(str::trim_end).filter(is_of_answers) {
        if ["<", "!"].contains(&line) {
            continue;
        }
        written.push_str(&format!("{line}\n"));
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
        let ran = machine.run(command);
        for (mark, said) in [("<", ran.text()), ("!", ran.stderr)] {
            for line in machine.said(&said).lines() {
                written.push_str(format!("{mark} {line}").trim_end());
                written.push('\n');
            }
        }
        if ran.code != 0 {
            written.push_str(&format!("= {}\n", ran.code));
        }
    }
    if std::env::var_os("MEMDIR_RENEW").is_some() {
        fs::write(&path, &written).unwrap();
    }
    assert!(
        kept == written,
        "the answers are not those of {}: if that is meant, run it with MEMDIR_RENEW=1 and look at \
         what changed. They are:\n{written}",
        path.display()
    );
}

#[test]
fn what_is_exported_is_imported_elsewhere_with_its_links() {
    let mut machine = Machine::new();
    let mut store = |title: &str| -> String {
        let line = format!("ai-memory --json store -T {title} -c 'On {title}.' --tier long");
        machine.json(&line)["id"].as_str().unwrap().to_owned()
    };
    let (one, other) = (store("one"), store("other"));
    machine.run(&format!(
        "ai-memory link {one} {other} --relation supersedes"
    ));
    let there = "ai-memory export | ai-memory --db ../there --json import";
    assert_eq!(
        machine.json(there),
        json!({"imported": 2, "errors": [], "known": 0})
    );
    assert_eq!(machine.json(there)["known"], 2);
    let exported = machine.json("ai-memory --db ../there export");
    let links = exported["links"].as_array().unwrap();
    assert_eq!(links.len(), 1);
    assert_eq!(links[0]["relation"], "supersedes");
    // A memory that is none costs only itself.
    let damaged = r#"{"memories": [{"id": "x"}, {"id": "y", "title": "T", "content": "C", "created_at": "2026-01-01T00:00:00Z"}]}"#;
    let ran = run_with(
        &mut machine.command("ai-memory --json import"),
        damaged.as_bytes(),
    );
    let taken: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(taken["imported"], 1, "{ran:?}");
    assert_eq!(taken["errors"].as_array().unwrap().len(), 1, "{ran:?}");
}

#[test]
fn stores_are_brought_into_step_in_every_direction() {
    let mut machine = Machine::new();
    machine.run("ai-memory --db ../other store -T theirs -c 'Of the other one.' --tier long");
    machine.run("ai-memory store -T ours -c 'Of this one.' --tier long");
    let titles = |machine: &mut Machine, db: &str| -> Vec<String> {
        let line = format!("ai-memory {db} --json list");
        let listed = machine.json(&line);
        let rows = listed["memories"].as_array().unwrap().iter();
        let mut titles: Vec<String> = rows
            .map(|row| row["title"].as_str().unwrap().to_owned())
            .collect();
        titles.sort();
        titles
    };
    let ran = machine.run("ai-memory sync ../other --direction pull");
    assert_eq!(ran.done(), "pulled 1 memories from remote\n");
    assert_eq!(titles(&mut machine, ""), ["ours", "theirs"]);
    assert_eq!(titles(&mut machine, "--db ../other"), ["theirs"]);
    let ran = machine.run("ai-memory --json sync ../other --direction push");
    assert_eq!(ran.done(), "{\"direction\":\"push\",\"exported\":1}\n");
    assert_eq!(titles(&mut machine, "--db ../other"), ["ours", "theirs"]);
    let ran = machine.run("ai-memory sync ../other");
    assert_eq!(ran.done(), "merged: pulled 0, pushed 0\n");
}

/// A database as ai-memory makes it, with one memory.
const DATABASE: &str = "
CREATE TABLE memories (id TEXT PRIMARY KEY, tier TEXT NOT NULL, namespace TEXT NOT NULL DEFAULT 'global',
    title TEXT NOT NULL, content TEXT NOT NULL, tags TEXT NOT NULL DEFAULT '[]', priority INTEGER NOT NULL DEFAULT 5,
    confidence REAL NOT NULL DEFAULT 1.0, source TEXT NOT NULL DEFAULT 'api', access_count INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, last_accessed_at TEXT, expires_at TEXT);
CREATE TABLE memory_links (source_id TEXT NOT NULL, target_id TEXT NOT NULL,
    relation TEXT NOT NULL DEFAULT 'related_to', created_at TEXT NOT NULL);
INSERT INTO memories (id, tier, title, content, created_at, updated_at)
    VALUES ('a1b2', 'long', 'From there', 'What the other program kept.',
    '2026-01-01T00:00:00+00:00', '2026-01-01T00:00:00+00:00');
";

#[test]
fn a_database_of_ai_memory_is_imported_once_and_never_written() {
    let mut machine = Machine::new();
    let database = machine.home.root().join("my-app/ai-memory.db");
    let connection = Connection::open(&database).unwrap();
    connection.execute_batch(DATABASE).unwrap();
    drop(connection);
    let before = fs::read(&database).unwrap();
    let ran = machine.run("ai-memory --db ai-memory.db list");
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .contains("`memdir import --from ai-memory ai-memory.db`"),
        "{ran:?}"
    );
    let ran = machine.run("ai-memory sync ai-memory.db --direction merge");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("--direction pull"), "{ran:?}");
    let pull = "ai-memory --json sync ai-memory.db --direction pull";
    let first = machine.json(pull);
    assert_eq!(first["imported"], 1, "{first}");
    let second = machine.json(pull);
    assert_eq!(
        (&second["imported"], &second["known"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(fs::read(&database).unwrap(), before);
    // The variable names a database that is not followed, or a store.
    let mut named = machine.command("ai-memory --json list");
    let ran = run(named.env("AI_MEMORY_DB", &database));
    assert!(ran.stderr.contains("is not followed"), "{ran:?}");
    let mut named = machine.command("ai-memory --json list");
    let empty = machine.home.make("empty/files");
    let ran = run(named.env("AI_MEMORY_DB", empty.parent().unwrap()));
    let listed: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(listed["count"], 0, "{ran:?}");
}

#[test]
fn a_list_may_be_longer_than_a_page_of_the_tool() {
    let mut machine = Machine::new();
    let memories: Vec<Value> = (0..450)
        .map(|number| {
            json!({
                "id": format!("m{number}"),
                "title": format!("Number {number}"),
                "content": format!("The text of number {number}."),
                "created_at": "2026-01-01T00:00:00Z",
                "tier": "long",
            })
        })
        .collect();
    let all = json!({"memories": memories}).to_string();
    let ran = run_with(&mut machine.command("ai-memory import"), all.as_bytes());
    assert_eq!(ran.text(), "imported: 450\n");
    let count = |machine: &mut Machine, options: &str| {
        let listed = machine.json(&format!("ai-memory --json list {options}"));
        let count = listed["count"].as_u64().unwrap();
        assert_eq!(listed["memories"].as_array().unwrap().len() as u64, count);
        count
    };
    assert_eq!(count(&mut machine, ""), 20);
    assert_eq!(count(&mut machine, "--limit 400"), 400);
    assert_eq!(count(&mut machine, "--limit 1000"), 450);
    assert_eq!(count(&mut machine, "--limit 1000 --offset 440"), 10);
}

#[test]
fn the_server_of_agents_has_the_tools_of_that_program() {
    let machine = Machine::new();
    let hello = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        "\n"
    );
    for line in [
        "ai-memory mcp",
        "ai-memory mcp --tier semantic",
        "memdir as ai-memory mcp --tier keyword",
    ] {
        let ran = run_with(&mut machine.command(line), hello.as_bytes());
        assert!(
            ran.text().contains("memory_session_start"),
            "{line}: {ran:?}"
        );
    }
    let ran = run_with(&mut machine.command("loci serve"), hello.as_bytes());
    assert!(ran.text().contains("store_memory"), "{ran:?}");
}

#[test]
fn serve_listens_where_it_is_told() {
    use std::io::{BufRead, BufReader, Read, Write};
    let machine = Machine::new();
    for host in ["127.0.0.1", "localhost"] {
        let line = format!("exec ai-memory serve --host {host} --port 0 --no-token");
        let mut server = machine.command(&line);
        server.stdin(Stdio::null()).stdout(Stdio::null());
        let mut server = server.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let said = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, rest) = line.split_once("http://")?;
            Some(rest.split(char::is_whitespace).next()?.to_owned())
        });
        let address = said.expect("it says where it listens");
        // Nobody waits for the reader of what else is logged.
        std::thread::spawn(move || lines.for_each(drop));
        let address = address.trim_end_matches('/');
        let (_, port) = address.rsplit_once(':').unwrap();
        let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        let head = format!("Host: {address}\r\nConnection: close\r\n\r\n");
        write!(stream, "GET /api/v1/health HTTP/1.1\r\n{head}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{host}: {answer}");
    }
}

#[test]
fn a_line_of_loci_is_one_of_memdir() {
    let mut machine = Machine::new();
    machine.home.remember(&["Deploys go out on Tuesdays."]);
    let ran = machine.run("loci search when do deploys go out");
    assert!(ran.text().contains("Deploys go out"), "{ran:?}");
    let exported = machine.json("loci export");
    assert_eq!(exported["memories"].as_array().unwrap().len(), 1);
    assert!(machine.run("loci stats").text().contains("memories"));
    assert_eq!(machine.run("loci reset --dry-run").code, 0);
    // There is nothing to clean up, which memdir says in its own way.
    let [there, here] = ["memdir as loci", "memdir"]
        .map(|program| machine.run(&format!("{program} cleanup --dry-run")));
    assert_eq!((there.code, &there.stdout), (1, &here.stdout));
    let ran = machine.run("memdir as other list");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("ai-memory, loci"), "{ran:?}");
}
