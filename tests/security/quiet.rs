//! What the program asks of the system, as `strace` of Linux records it: no connection, no program,
//! no file outside of the store. Without `strace` nothing is tried, and that is said.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{SETS, home_of_one, tools};
use crate::support::can_run;
use crate::support::program::{Home, run};
use crate::support::session::Session;

fn has_strace() -> bool {
    can_run("strace", &["-qq", "true"])
}

/// The program under `strace`, which writes what each thread calls into a file of its own, `trace`
/// with the number of the thread: in one file for all, calls of two threads cut each other in two.
fn traced(home: &Home, trace: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("strace");
    home.surround(&mut command);
    // `-y` writes the path of a descriptor beside it.
    let options = [
        "-ff",
        "-y",
        "-qq",
        "-e",
        "trace=%network,%file,openat,execve",
    ];
    command.args(options).arg("-o").arg(trace);
    command.arg(env!("CARGO_BIN_EXE_memdir")).args(arguments);
    command.env("MEMDIR_STORE", home.store());
    command
}

/// One call of the system.
struct Made {
    line: String,
}

/// What was called since the last time, by any thread.
fn recorded(trace: &Path) -> Vec<Made> {
    let folder = fs::read_dir(trace.parent().unwrap()).unwrap();
    let mut made = Vec::new();
    for file in folder.map(|entry| entry.unwrap().path()) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        made.extend(text.lines().map(|line| Made {
            line: line.to_owned(),
        }));
        fs::remove_file(file).unwrap();
    }
    assert!(
        made.iter().any(|made| made.is("execve")),
        "nothing was recorded"
    );
    assert!(!made.iter().any(|made| made.line.contains(" resumed>")));
    made
}

impl Made {
    fn is(&self, call: &str) -> bool {
        let name = self.line.split_once('(').map(|(name, _)| name);
        name == Some(call)
    }

    /// Whether it would change a file.
    fn writes(&self) -> bool {
        let opens = ["O_WRONLY", "O_RDWR", "O_CREAT"];
        let changes = [
            "rename", "link", "mkdir", "rmdir", "chmod", "truncate", "chown", "symlink",
        ];
        let (call, _) = self.line.split_once('(').unwrap_or_default();
        opens.iter().any(|how| self.line.contains(how))
            || changes
                .iter()
                .any(|how| call.contains(how) && !call.contains("readlink"))
    }

    fn is_about(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.line.contains(folder))
    }
}

/// Fails if something was asked of a network, a program was started, or anything was written but
/// below the store.
fn check(home: &Home, made: &[Made], what: &str) {
    let store = home.store();
    let may_write = [store.to_str().unwrap(), "/dev/null", "/dev/tty", "/dev/shm"];
    let mut started = 0;
    for made in made {
        let line = &made.line;
        for call in ["connect", "bind", "listen", "sendto", "sendmsg"] {
            assert!(!made.is(call), "{what}: {line}");
        }
        assert!(!line.contains("AF_INET"), "{what}: {line}");
        started += usize::from(made.is("execve") || made.is("execveat"));
        assert!(
            !made.writes() || made.is_about(&may_write),
            "{what}: {line}"
        );
    }
    assert_eq!(started, 1, "{what}: something else was started");
}

#[test]
fn no_tool_connects_starts_a_program_or_writes_outside_of_the_store() {
    if !has_strace() {
        return;
    }
    for set in SETS {
        let (home, id) = home_of_one();
        let traces = tempfile::tempdir().unwrap();
        let trace = traces.path().join("trace");
        let arguments = [&["mcp", "--dialect", set.0], set.1].concat();
        let mut session = Session::open_on(traced(&home, &trace, &arguments));
        let outside = "../../../../../../etc/hostname";
        for tool in tools(&mut session) {
            for given in [
                id.as_str(),
                outside,
                "https://127.0.0.1:9/x",
                "git@127.0.0.1:x",
            ] {
                session.call("quiet", &tool.name, tool.plain(given));
                session.answer("quiet");
            }
        }
        session.close_input();
        assert!(session.wait().success());
        let made = recorded(&trace);
        check(&home, &made, &format!("{set:?}"));
        let mut lines = made.iter().map(|made| &made.line);
        assert_eq!(lines.find(|line| line.contains("etc/hostname")), None);
    }
}

#[test]
fn no_command_connects_starts_a_program_or_writes_outside_of_the_store() {
    if !has_strace() {
        return;
    }
    let (home, id) = home_of_one();
    let traces = tempfile::tempdir().unwrap();
    let trace = traces.path().join("trace");
    let quiet = |arguments: &[&str]| {
        let ran = run(&mut traced(&home, &trace, arguments));
        assert!(ran.code < 2, "{arguments:?}: {ran:?}");
        check(&home, &recorded(&trace), &format!("{arguments:?}"));
    };
    quiet(&[
        "remember",
        "--topics",
        "bird",
        "See https://127.0.0.1:9/x and git@127.0.0.1:x.",
    ]);
    quiet(&["think", "river"]);
    quiet(&["recall", &id]);
    quiet(&["list"]);
    quiet(&["grep", "river"]);
    quiet(&["update", &id, "--title", "Heron"]);
    quiet(&["status"]);
    quiet(&["verify"]);
    quiet(&["log"]);
    quiet(&["diff", &id]);
    quiet(&["forget", &id]);
    quiet(&["restore", &id]);
    quiet(&["undo"]);
    quiet(&["sync"]);
    quiet(&["stats"]);
    quiet(&["export", "--to", "jsonl"]);
    quiet(&["reindex", "--full"]);
    quiet(&["--version"]);
    quiet(&["version"]);
}

/// Ids that want to be paths, patterns, numbers or nothing at all.
fn five_hundred_ids() -> Vec<String> {
    let beginnings = [
        "",
        "../",
        "../../../../",
        "/",
        "//",
        "./",
        "files/../../",
        "..\\..\\",
        "%2e%2e%2f",
        "%252e%252e/",
        "．．／",
        "~/",
        "file:///",
        "\\\\?\\",
        "C:\\",
        "\u{202e}",
        "-",
        "--",
        "*/",
        "?/",
    ];
    let ends = [
        "outside-7431",
        "outside-7431.md",
        "outside-7431/",
        "outside-7431\u{0}",
        "outside-7431*",
        "outside-743?",
        "[o]utside-7431",
        "{outside-7431,x}",
        "outside-7431%00",
        "outside-7431\n",
        "$(outside-7431)",
        "outside-7431;x",
        "CON",
        "nul",
        "AUX.md",
        ".",
        "..",
        "...",
        "20260114_091500_1f3a9c0*",
        "20260114_091500_1f3a9c02/../../outside-7431",
        "99999999_999999_ffffffff",
        "1e999999",
        "0x1f3a9c02",
        "𝟙f3a9c02",
        "1F3A9C02",
    ];
    let ids = beginnings
        .iter()
        .flat_map(|begin| ends.iter().map(move |end| format!("{begin}{end}")));
    ids.chain(["x".repeat(10_240), "../".repeat(3_000)])
        .collect()
}

#[test]
fn no_id_opens_a_file_outside_of_the_store() {
    if !has_strace() {
        return;
    }
    let (home, _) = home_of_one();
    home.write("outside-7431", "kestrel");
    home.write("outside-7431.md", "kestrel");
    let traces = tempfile::tempdir().unwrap();
    let trace = traces.path().join("trace");
    let ids = five_hundred_ids();
    assert!(ids.len() > 500);
    let mut session = Session::open_on(traced(&home, &trace, &["mcp"]));
    for some in ids.chunks(100) {
        let result = session.tool("recall", json!({"memory_ids": some}));
        let results = result["structuredContent"]["results"]
            .as_array()
            .unwrap()
            .clone();
        assert_eq!(results.len(), some.len());
        assert!(
            results.iter().all(|one| one["error"].is_string()),
            "{results:?}"
        );
    }
    session.close_input();
    assert!(session.wait().success());
    let asked = recorded(&trace)
        .into_iter()
        .find(|made| made.line.contains("7431"));
    assert!(asked.is_none_or(|made| panic!("{}", made.line)));
}

/// The proof that the tests here can fail: what is asked for by its user is seen.
#[test]
fn a_connection_that_was_asked_for_shows() {
    if !has_strace() {
        return;
    }
    let (home, _) = home_of_one();
    let traces = tempfile::tempdir().unwrap();
    let trace = traces.path().join("trace");
    let arguments = ["sync", "--setup", "https://127.0.0.1:9/x"];
    run(&mut traced(&home, &trace, &arguments));
    assert!(recorded(&trace).iter().any(|made| made.is("connect")));
}

#[test]
fn a_server_without_a_task_asks_nothing_of_a_network() {
    if !has_strace() {
        return;
    }
    let (home, _) = home_of_one();
    let traces = tempfile::tempdir().unwrap();
    let trace = traces.path().join("trace");
    // A remote that is named is asked only where it is set up; the variable of a proxy by nobody.
    let mut command = traced(&home, &trace, &["mcp"]);
    command.env("HTTPS_PROXY", "http://127.0.0.1:9");
    let mut session = Session::open_on(command);
    // The threads of the background are there when the first answer comes.
    session.tool("think", json!({"query": "river"}));
    session.is_alive_and_quiet();
    session.close_input();
    assert!(session.wait().success());
    check(&home, &recorded(&trace), "idle");
}
