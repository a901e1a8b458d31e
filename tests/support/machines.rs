//! Several machines, each a home of its own, and a repository that they share.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use super::git::Git;
use super::program::{Home, Ran, run};
use super::{memory_text, real};

/// The first is made with the remote, the others join.
pub struct Machines {
    pub homes: Vec<Home>,
    shared: TempDir,
}

impl Machines {
    pub fn new(count: usize) -> Machines {
        let shared = tempfile::tempdir().unwrap();
        let machines = Machines {
            homes: (0..count)
                .map(|_| Home::in_folder("machines that exchange by git"))
                .collect(),
            shared,
        };
        let home = &machines.homes[0];
        let made = ["init", "-q", "--bare", "-b", "main", "remote.git"];
        Git::at(home, machines.folder()).says(&made);
        for home in &machines.homes {
            machines.join(home);
        }
        machines
    }

    fn folder(&self) -> PathBuf {
        real(self.shared.path())
    }

    pub fn remote(&self) -> PathBuf {
        self.folder().join("remote.git")
    }

    /// Git in the shared repository.
    pub fn shared(&self) -> Git<'_> {
        Git::at(&self.homes[0], self.remote())
    }

    /// Another copy of it, as of somebody who uses git alone.
    pub fn copy(&self) -> Git<'_> {
        let folder = self.folder().join("copy");
        if !folder.exists() {
            let remote = self.remote();
            let git = Git::at(&self.homes[0], self.folder());
            git.says(&["clone", "-q", remote.to_str().unwrap(), "copy"]);
        }
        Git::at(&self.homes[0], folder)
    }

    /// Pushes a commit that adds a text at `path`, whatever it is called.
    #[track_caller]
    pub fn push_text(&self, path: &str, text: &[u8]) {
        let shared = self.shared();
        let blob = shared.says_with(&["hash-object", "-w", "--stdin"], text);
        self.push_entry(path, &format!("100644 blob {}", blob.trim()));
    }

    /// The same of an entry of any kind: its mode, type and id.
    #[track_caller]
    pub fn push_entry(&self, path: &str, entry: &str) {
        let shared = self.shared();
        let mut entry = entry.to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        for at in (0..parts.len()).rev() {
            let above = format!("main:{}", parts[..at].join("/"));
            let known = shared.tries(&["ls-tree", &above]).unwrap_or_default();
            let ending = format!("\t{}", parts[at]);
            let others = known.lines().filter(|line| !line.ends_with(&ending));
            let lines = others.map(str::to_owned).chain([entry + &ending]);
            let lines: String = lines.map(|line| line + "\n").collect();
            let tree = shared.says_with(&["mktree"], lines.as_bytes());
            entry = format!("040000 tree {}", tree.trim());
        }
        let tree = entry.rsplit(' ').next().unwrap();
        let commit = shared.says(&["commit-tree", tree, "-p", "main", "-m", "Odd"]);
        shared.says(&["update-ref", "refs/heads/main", commit.trim()]);
    }

    #[track_caller]
    pub fn join(&self, home: &Home) -> String {
        let remote = self.remote();
        let remote = remote.to_str().unwrap();
        let mut command = home.bare();
        command.arg("init").arg(home.store());
        run(command.args(["--remote", remote, "--allow-local"])).done()
    }

    /// What `sync` says on machine `at`; it must be in step afterwards.
    #[track_caller]
    pub fn sync(&self, at: usize) -> Value {
        let ran = self.homes[at].run(&["sync", "--json"]);
        let said = ran.json();
        assert_eq!(said["state"], "in-step", "{said} {}", ran.stderr);
        said
    }

    /// What `sync` says on machine `at` where it must pause, and why.
    #[track_caller]
    pub fn pauses(&self, at: usize) -> String {
        let ran = self.homes[at].run(&["sync", "--json"]);
        let said = ran.json();
        assert_eq!(
            (ran.code, &said["state"]),
            (2, &Value::from("paused")),
            "{said}"
        );
        said["reason"].as_str().unwrap().to_owned()
    }

    /// Syncs every machine; then all hold the same, and nothing is wrong with it.
    #[track_caller]
    pub fn settle(&self) -> Vec<(String, String)> {
        for _ in 0..2 {
            (0..self.homes.len()).for_each(|at| drop(self.sync(at)));
        }
        let all: Vec<_> = self.homes.iter().map(texts).collect();
        for (at, home) in self.homes.iter().enumerate() {
            assert_eq!(all[at], all[0]);
            Git::of(home).assert_sound();
            assert_eq!(
                home.run(&["verify"]).code,
                0,
                "{}",
                home.run(&["verify"]).text()
            );
        }
        all.into_iter().next().unwrap()
    }
}

/// Every memory of a store, live and forgotten, with its text.
pub fn texts(home: &Home) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for folder in ["files", "archive"] {
        let folder = home.store().join(folder);
        if !folder.exists() {
            continue;
        }
        for path in super::regular_files(&folder) {
            let name = path
                .strip_prefix(home.store())
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            texts.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    texts
}

/// A memory file for `id`.
pub fn text(id: &str, content: &str) -> String {
    memory_text(id, "2026-01-01T00:00:00Z", content)
}

/// Changes a text in a memory's file, as an editor does.
pub fn edit(home: &Home, id: &str, from: &str, to: &str) {
    let path = home.file_of(id);
    let before = fs::read_to_string(&path).unwrap();
    assert!(before.contains(from), "{before}");
    fs::write(path, before.replace(from, to)).unwrap();
}

/// The message of a failed run.
pub fn failure(ran: &Ran) -> String {
    assert_eq!(ran.code, 2, "{}", ran.text());
    ran.stderr.clone()
}
