//! Who may read what the program makes: its user, whatever the umask says.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tools;
use crate::support::git::Git;
use crate::support::program::{Home, run};
use crate::support::session::Session;

/// The program by way of a shell that takes no permission away from what is made.
fn open_handed(home: &Home, store: &Path, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    home.surround(&mut shell);
    shell
        .args([
            "-c",
            "umask 000; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_memdir"),
        ])
        .args(arguments)
        .env("MEMDIR_STORE", store);
    shell
}

/// Everything below `folder`, itself too, that somebody else than its owner may use.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut open = Vec::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    let mut look = |path: &Path| {
        let metadata = path.symlink_metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        if !metadata.is_symlink() && mode & 0o077 != 0 {
            open.push(format!("{} {mode:o}", path.display()));
        }
        metadata.is_dir()
    };
    look(folder);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if look(&path) {
                folders.push(path);
            }
        }
    }
    open
}

#[test]
fn whatever_is_made_under_an_open_umask_is_the_owners_alone() {
    let home = Home::new();
    let store = home.root().join("made");
    let made = |arguments: &[&str]| {
        let ran = run(&mut open_handed(&home, &store, arguments));
        assert!(ran.code < 2, "{arguments:?}: {ran:?}");
        assert_eq!(open_to_others(&store), [""; 0], "{arguments:?}");
        ran.text().trim().to_owned()
    };
    made(&["init", "made"]);
    let id = made(&["remember", "--topics", "bird", "A heron."]);
    let other = made(&["remember", "--topics", "bird", "An egret."]);
    made(&["update", &id, "--title", "Heron"]);
    made(&["recall", &id]);
    made(&["link", &id, &other]);
    made(&["forget", &other]);
    made(&["archive", "list"]);
    made(&["restore", &other]);
    made(&["undo"]);
    made(&["layout", "by-month"]);
    made(&["import", "--from", "jsonl", lines(&home).to_str().unwrap()]);
    made(&["reindex", "--full"]);
    made(&["gc", "--dry-run"]);
    made(&["compact", "--dry-run"]);
    made(&["purge", &other, "--yes"]);
    Git::at(&home, home.root()).says(&["init", "-q", "--bare", "remote.git"]);
    let remote = home.root().join("remote.git");
    made(&["sync", "--setup", remote.to_str().unwrap(), "--allow-local"]);
    made(&["sync"]);
    made(&["reset", "--yes"]);
    made(&["status"]);
}

fn lines(home: &Home) -> PathBuf {
    home.write(
        "lines.jsonl",
        "{\"id\":\"a\",\"content\":\"A kestrel.\",\"topics\":[\"bird\"],\"agent\":\"a\",\"user\":\"u\",\"timestamp\":\"2026-01-14T09:15:00Z\"}\n",
    )
}

#[test]
fn whatever_a_server_makes_under_an_open_umask_is_the_owners_alone() {
    for set in super::SETS {
        let home = Home::new();
        let store = home.root().join("made");
        run(&mut open_handed(&home, &store, &["init", "made"])).done();
        let id = run(&mut open_handed(
            &home,
            &store,
            &["remember", "--topics", "x", "A heron."],
        ));
        let id = id.done().trim().to_owned();
        let arguments = [&["mcp", "--dialect", set.0], set.1].concat();
        let mut session = Session::open_on(open_handed(&home, &store, &arguments));
        for tool in tools(&mut session) {
            session.call("made", &tool.name, tool.plain(&id));
            session.answer("made");
        }
        session.close_input();
        session.wait();
        assert_eq!(open_to_others(&store), [""; 0], "{set:?}");
    }
}
