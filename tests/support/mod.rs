//! Stores for tests: folders that vanish, engines on them, and random input that is the same
//! on every run.
//!
//! Every program of tests has this module; the modules below run the real binary and its clients.

#![allow(dead_code, reason = "no program of tests uses all of it")]
#![expect(clippy::print_stderr, reason = "figures that a test shows")]

pub mod dialect;
pub mod fake_host;
pub mod git;
pub mod listener;
pub mod machines;
pub mod memdir_server;
pub mod program;
pub mod rest;
pub mod session;
pub mod texts;
pub mod workspace;

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};
use proptest::test_runner::{Config, RngSeed};
use tempfile::TempDir;

use memdir::clock::{Clock, FixedClock};
use memdir::engine::{Engine, Hit, Options, Query, QueryKind, ops};
use memdir::model::{Filter, NewMemory};

use workspace::Workspace;

/// A store in a folder of its own, gone with the value; where a suite runs on rows, in a workspace, and the folder has
/// what is derived from it.
pub struct TestStore {
    folder: TempDir,
    workspace: Option<Workspace>,
}

/// The moment at which the clocks of these tests stand: long after every file they make by hand.
pub fn noon() -> DateTime<Utc> {
    at("2026-06-01T12:00:00Z")
}

pub fn at(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

impl TestStore {
    /// An empty store.
    pub fn new() -> TestStore {
        match workspace::workspace() {
            None => TestStore::of_folder(),
            workspace => TestStore {
                folder: tempfile::tempdir().unwrap(),
                workspace,
            },
        }
    }

    /// An empty store in a folder, for the reason `why`, whatever the suite runs on.
    pub fn in_folder(why: &str) -> TestStore {
        workspace::needs_a_folder(why);
        TestStore::of_folder()
    }

    pub fn of_folder() -> TestStore {
        let store = TestStore {
            folder: tempfile::tempdir().unwrap(),
            workspace: None,
        };
        fs::create_dir(store.files()).unwrap();
        store
    }

    /// A copy of the fixture `name`, without what other tests need of it.
    pub fn of_fixture(name: &str) -> TestStore {
        let store = TestStore::of_folder();
        copy_folder(&fixture(name).join("files"), &store.files());
        store
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    #[track_caller]
    pub fn files(&self) -> PathBuf {
        let is_folder = self.workspace.is_none();
        assert!(is_folder, "this store lies in rows: TestStore::in_folder");
        self.root().join("files")
    }

    pub fn state(&self) -> PathBuf {
        self.root().join(".memdir")
    }

    /// The one index folder below the state folder.
    pub fn index(&self) -> PathBuf {
        let mut folders = fs::read_dir(self.state())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                path.file_name()
                    .unwrap()
                    .as_encoded_bytes()
                    .starts_with(b"index-")
            });
        let found = folders.next().expect("there is an index");
        assert_eq!(folders.next(), None, "there is one index");
        found
    }

    pub fn options(&self) -> Options {
        Options {
            backend: self.workspace.as_ref().map(Workspace::backend),
            ..Options::new(self.root())
        }
    }

    /// An engine as a new process would open it, at [`noon`].
    pub fn engine(&self) -> Engine {
        self.engine_at(noon())
    }

    pub fn engine_at(&self, now: DateTime<Utc>) -> Engine {
        Engine::open(self.options(), clock(now)).unwrap()
    }

    /// Writes a file as another program does: into place, in one step.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        if let Some(workspace) = &self.workspace {
            return workspace.put(name, bytes.as_ref());
        }
        let path = self.files().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let draft = self.root().join("draft");
        fs::write(&draft, bytes).unwrap();
        fs::rename(draft, path).unwrap();
    }

    /// Writes into a file, which keeps its place; another server of rows has no such way.
    pub fn write_in_place(&self, name: &str, text: &str) {
        match &self.workspace {
            Some(workspace) => workspace.put(name, text.as_bytes()),
            None => fs::write(self.files().join(name), text).unwrap(),
        }
    }

    /// Changes nothing but the time of a file, or puts a copy in its place; in rows, writes the same text again.
    pub fn touch(&self, name: &str, is_copy: bool, time: DateTime<Utc>) {
        if let Some(workspace) = &self.workspace {
            return workspace.put(name, &workspace.read(name));
        }
        let path = self.files().join(name);
        if is_copy {
            let copy = self.root().join("draft");
            fs::copy(&path, &copy).unwrap();
            fs::rename(copy, &path).unwrap();
        }
        touch(&path, time);
    }

    pub fn remove(&self, name: &str) {
        match &self.workspace {
            Some(workspace) => workspace.remove(name),
            None => fs::remove_file(self.files().join(name)).unwrap(),
        }
    }

    /// Renames a folder with all that is in it.
    pub fn rename_folder(&self, from: &str, to: &str) {
        let Some(workspace) = &self.workspace else {
            let files = self.files();
            return fs::rename(files.join(from), files.join(to)).unwrap();
        };
        for name in workspace.names() {
            if let Some(rest) = name.strip_prefix(&format!("{from}/")) {
                workspace.rename(&name, &format!("{to}/{rest}"));
            }
        }
    }

    /// The names of the live memories, sorted.
    pub fn names(&self) -> Vec<String> {
        if let Some(workspace) = &self.workspace {
            return workspace.names();
        }
        let files = self.files();
        let name = |path: PathBuf| {
            path.strip_prefix(&files)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        regular_files(&files).into_iter().map(name).collect()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        match &self.workspace {
            Some(workspace) => workspace.read(name),
            None => fs::read(self.files().join(name)).unwrap(),
        }
    }

    /// Every file of the memory folder with its bytes.
    pub fn texts(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        if let Some(workspace) = &self.workspace {
            let text = |name: String| (PathBuf::from(&name), workspace.read(&name));
            return workspace.names().into_iter().map(text).collect();
        }
        regular_files(&self.files())
            .into_iter()
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    }
}

pub fn clock(now: DateTime<Utc>) -> Box<dyn Clock> {
    Box::new(FixedClock(now))
}

/// The folder of a fixture. Copy it before use.
pub fn fixture(name: &str) -> PathBuf {
    real(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures")
            .join(name),
    )
}

/// The path of a folder without links, as people write it: Windows gives a form with `\\?\` before the drive.
pub fn real(folder: &Path) -> PathBuf {
    let path = folder.canonicalize().unwrap();
    let plain = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    let plain = plain.filter(|text| text.as_bytes().get(1) == Some(&b':'));
    plain.map_or_else(|| path.clone(), PathBuf::from)
}

/// The regular files below `folder`; links are not followed.
pub fn regular_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files.extend(regular_files(&entry.path()));
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    files
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in regular_files(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(path, target).unwrap();
    }
}

/// Lets the system run a file as a program; Windows has no such mark, and git runs hooks without it there.
pub fn make_executable(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Gives a file the modification time `at`.
pub fn touch(path: &Path, at: DateTime<Utc>) {
    let since = Duration::from_nanos(at.timestamp_nanos_opt().unwrap().try_into().unwrap());
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + since).unwrap();
}

/// A memory file as a person might write it.
pub fn memory_text(handle: &str, timestamp: &str, content: &str) -> String {
    format!(
        "---\nid: {handle}\ntimestamp: {timestamp}\nagent: claude\nuser: mira\ntopics: [test]\n---\n\n{content}"
    )
}

/// A memory that passes every check.
pub fn new_memory(content: &str) -> NewMemory {
    NewMemory {
        agent: "claude".to_owned(),
        user: "mira".to_owned(),
        topics: vec!["test".to_owned()],
        content: content.to_owned(),
        ..NewMemory::default()
    }
}

pub fn keywords(words: &[&str]) -> Query {
    search(QueryKind::Keywords(
        words.iter().map(|w| (*w).to_owned()).collect(),
    ))
}

pub fn query(text: &str) -> Query {
    search(QueryKind::Text(text.to_owned()))
}

fn search(kind: QueryKind) -> Query {
    Query {
        kind,
        ..Query::everything(Filter::default(), 1000)
    }
}

/// The files a search finds, best first.
#[track_caller]
pub fn found(engine: &Engine, search: &Query) -> Vec<String> {
    let results = ops::search(engine, search).unwrap();
    results.hits.into_iter().map(|hit: Hit| hit.name).collect()
}

/// The files that hold `word`, best first.
#[track_caller]
pub fn holding(engine: &Engine, word: &str) -> Vec<String> {
    found(engine, &keywords(&[word]))
}

/// Says that a test, or a part of it, cannot run on this machine. Where `MEMDIR_SKIP_NO_TEST` is set,
/// as `.ci/run` does once it has found every program that tests need, that is a failure.
#[track_caller]
pub fn skip(why: &str) {
    assert!(
        std::env::var_os("MEMDIR_SKIP_NO_TEST").is_none(),
        "skipped: {why}"
    );
    eprintln!("skipped: {why}");
}

/// Whether `program` can be run with `arguments`; where it cannot, the test is skipped.
#[track_caller]
pub fn can_run(program: &str, arguments: &[&str]) -> bool {
    let ran = Command::new(program).args(arguments).output();
    let can_run = ran.is_ok_and(|output| output.status.success());
    if !can_run {
        skip(&format!("`{program}` is not installed, or cannot run here"));
    }
    can_run
}

/// Whether there is the `script` of util-linux, which gives a program a terminal.
#[track_caller]
pub fn has_terminal() -> bool {
    can_run("script", &["--version"])
}

/// `cases` random cases, the same on every run; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` in the
/// environment ask for others.
pub fn random(cases: u32) -> Config {
    let asked = Config::default();
    let is_set = |name| std::env::var_os(name).is_some();
    Config {
        cases: if is_set("PROPTEST_CASES") {
            asked.cases
        } else {
            cases
        },
        rng_seed: match asked.rng_seed {
            RngSeed::Fixed(seed) => RngSeed::Fixed(seed),
            RngSeed::Random => RngSeed::Fixed(20_260_114),
        },
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..asked
    }
}

/// Waits for something that another thread or process does, longer than it takes on the busiest
/// machine.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
