//! `memdir team import` of a folder with git: what its memories said before, when, and by whom.

use std::path::Path;

use memdir::engine::{Engine, PastChange, Revision, ops};
use memdir::files::{Place, Storage, WritableStorage};
use memdir::rows::Rows;
use memdir::rows::check;
use serde_json::{Value, json};

use crate::postgres::{TestDatabase, engine, query};
use crate::support::git::Git;
use crate::support::memory_text;
use crate::support::program::Home;

const NAME: &str = "20260101_000000_aaaaaaaa.md";
const ID: &str = "20260101_000000_aaaaaaaa";

/// What `memdir team` says as JSON to `words`.
#[track_caller]
fn team(home: &Home, test: &TestDatabase, words: &[&str]) -> Value {
    let words = [&["team"], words, &["--json"]].concat();
    let mut command = home.command(&words);
    command.env("MEMDIR_DATABASE", test.address());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{text} {}", String::from_utf8_lossy(&output.stderr)))
}

/// Imports the folder `store` into the workspace atlas; what the command says.
#[track_caller]
fn import(home: &Home, test: &TestDatabase, store: &Path) -> Value {
    team(home, test, &["import", "atlas", store.to_str().unwrap()])
}

fn at(text: &str) -> Revision {
    Revision {
        text: text.to_owned(),
        at: chrono::DateTime::parse_from_rfc3339(text)
            .ok()
            .map(|at| at.to_utc()),
    }
}

/// The changes of a memory, oldest first.
fn changes(engine: &Engine, id: &str) -> Vec<PastChange> {
    let mut changes = ops::log(engine, Some(id), 1000).unwrap().changes;
    changes.reverse();
    changes
}

fn text(engine: &Engine, id: &str, revision: &str) -> Vec<u8> {
    let versions = ops::versions(engine, id, Some(&at(revision))).unwrap();
    versions.before.unwrap().bytes
}

/// The memory's text with this content.
fn memory(content: &str) -> String {
    memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", content)
}

/// A folder with git that some program made: a commit a second from noon on, each of files with their texts.
struct Folder {
    home: Home,
    commits: usize,
}

impl Folder {
    fn new() -> Folder {
        let folder = Folder {
            home: Home::new(),
            commits: 0,
        };
        folder.git().says(&["init", "-q", "-b", "main"]);
        folder
    }

    fn git(&self) -> Git<'_> {
        Git::of(&self.home)
    }

    /// Commits what is there, by `author`.
    fn commit(&mut self, author: &str) {
        let git = self.git();
        git.says(&["add", "-A"]);
        let date = format!("--date=2026-05-01T12:00:{:02}Z", self.commits);
        let author = format!("--author={author} <{author}@example.org>");
        git.says(&["commit", "-qm", "Change", &date, &author]);
        self.commits += 1;
    }

    fn put(&mut self, name: &str, text: &str, author: &str) {
        self.home.write(&format!("store/files/{name}"), text);
        self.commit(author);
    }

    fn import(&self, test: &TestDatabase) -> Value {
        import(&self.home, test, &self.home.store())
    }
}

/// A workspace, an engine over it, and the folder of what that derives.
fn workspace(test: &TestDatabase) -> (Rows, tempfile::TempDir) {
    (test.workspace("atlas"), tempfile::tempdir().unwrap())
}

#[test]
fn the_changes_of_a_folder_come_along_with_times_and_authors() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (rows, cache) = workspace(&test);
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&["First."]);
    let mut texts = vec![home.text_of(&id)];
    for content in ["Second.", "Third."] {
        home.run(&["update", &id, "--content", content]).done();
        texts.push(home.text_of(&id));
    }
    home.run(&["forget", &id]).done();
    home.run(&["restore", &id]).done();
    home.remember(&["Another."]);
    let copied = import(&home, &test, &home.store());
    assert_eq!(copied["notes"], json!([]), "{copied}");
    assert_eq!(copied["earlier"], 4, "{copied}");
    assert_eq!(check(&rows).unwrap().findings, [""; 0]);

    let engine = engine(&rows, cache.path());
    let there = changes(&engine, &id);
    let log = git.says(&["log", "--reverse", "--format=%at %an", "--", "*.md"]);
    let mut log: Vec<&str> = log.lines().collect();
    // That of the other memory.
    log.pop();
    let shown: Vec<String> = there
        .iter()
        .map(|one| format!("{} {}", one.at.timestamp(), one.author))
        .collect();
    assert_eq!(shown, log);
    let tools: Vec<&str> = there.iter().map(|one| one.tools[0].as_str()).collect();
    assert_eq!(tools, ["remember", "update", "update", "forget", "restore"]);
    let deeds: Vec<&str> = there.iter().map(|one| one.memories[0].0.as_str()).collect();
    assert_eq!(deeds, ["write", "write", "write", "forget", "restore"]);
    for (change, expected) in there.iter().zip(&texts) {
        assert_eq!(text(&engine, &id, &change.commit), expected.as_bytes());
    }
    let restored = ops::restore_as_of(&engine, &id, &at(&there[0].commit)).unwrap();
    assert!(restored.changed);
    ops::undo(&engine, Some(&id), false).unwrap();
    let last = ops::versions(&engine, &id, None).unwrap();
    assert_eq!(last.now.bytes, texts[2].as_bytes());

    // Once more: nothing.
    let head = rows.head().unwrap();
    let again = import(&home, &test, &home.store());
    assert_eq!(
        (&again["added"], &again["earlier"]),
        (&json!(0), &json!(0)),
        "{again}"
    );
    assert_eq!(rows.head().unwrap(), head);
}

/// Exports the workspace `name` with its history into `folder` of the home; what the command says.
#[track_caller]
fn export(home: &Home, test: &TestDatabase, name: &str, folder: &Path) -> Value {
    let folder = folder.to_str().unwrap();
    team(home, test, &["export", name, folder, "--history"])
}

#[test]
fn the_changes_of_a_workspace_become_commits_and_come_back() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (rows, cache) = workspace(&test);
    let mut folder = Folder::new();
    let other = NAME.replace("aaaaaaaa", "bbbbbbbb");
    folder.put(NAME, &memory("First."), "Anna");
    folder.put(&other, "First of another.", "Ben");
    folder.put(NAME, &memory("Second."), "Ben");
    folder.put(&other, "Second of another.", "Anna");
    folder.import(&test);
    let here = engine(&rows, cache.path());
    let reader = rows.reader(Place::Files);
    let version = reader.read(NAME, u64::MAX).unwrap();
    let third = memory("Third.");
    rows.replace_and_keep(Place::Files, NAME, &version, third.as_bytes())
        .unwrap();
    ops::forget(&here, &other[..24]).unwrap();

    let home = Home::new();
    let copy = home.root().join("copy");
    let copied = export(&home, &test, "atlas", &copy);
    assert_eq!(copied["earlier"], 4, "{copied}");
    let git = Git::at(&home, copy.clone());
    let log = git.says(&["log", "--reverse", "--format=%at %an %s", "--", "*.md"]);
    let log: Vec<&str> = log.lines().collect();
    // Both changes of now may be of one second.
    assert!((5..=6).contains(&log.len()), "{log:?}");
    let at = |second: i64| 1_777_636_800 + second;
    assert_eq!(
        log[..4],
        [
            format!("{} Anna Add memory aaaaaaaa ({NAME})", at(0)),
            format!("{} Ben Add memory bbbbbbbb ({other})", at(1)),
            format!("{} Ben Change memory aaaaaaaa ({NAME})", at(2)),
            format!("{} Anna Change memory bbbbbbbb ({other})", at(3)),
        ]
    );
    let path = format!("files/{NAME}");
    let commits = git.says(&["log", "--reverse", "--format=%H", "--", &path]);
    let texts = commits
        .lines()
        .map(|id| git.says(&["show", &format!("{id}:{path}")]));
    let texts: Vec<String> = texts.collect();
    assert_eq!(texts, [memory("First."), memory("Second."), third.clone()]);
    assert_eq!(git.says(&["status", "--porcelain"]), "");
    git.says(&["fsck", "--strict"]);

    // The copy has the same history in another workspace, and in the folder.
    let again = test.workspace("again");
    let mut command = home.command(&["team", "import", "again", copy.to_str().unwrap()]);
    command.env("MEMDIR_DATABASE", test.address());
    assert!(command.status().unwrap().success());
    let cache_again = tempfile::tempdir().unwrap();
    let there = engine(&again, cache_again.path());
    for id in [ID, &other[..24]] {
        let told = |engine: &Engine| -> Vec<_> {
            let all = changes(engine, id).into_iter();
            all.map(|one| (one.at.timestamp(), one.memories)).collect()
        };
        assert_eq!(told(&there), told(&here), "{id}");
        let authors = changes(&there, id).into_iter().map(|one| one.author);
        let authors: Vec<String> = authors.take(2).collect();
        let expected: Vec<String> = changes(&here, id)
            .into_iter()
            .map(|one| one.author)
            .take(2)
            .collect();
        assert_eq!(authors, expected);
    }
    assert_eq!(check(&again).unwrap().findings, [""; 0]);
}

#[test]
fn a_commit_is_by_the_user_of_its_memories_and_holds_no_credential() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (rows, _cache) = workspace(&test);
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let of =
        |user: &str, content: &str| memory(content).replace("user: mira", &format!("user: {user}"));
    let name = |letter: char| NAME.replace("aaaaaaaa", &letter.to_string().repeat(8));
    // All within about a second.
    for (letter, user, content) in [
        ('b', "Ben", "Of Ben."),
        ('c', "Anna", "Of Anna."),
        ('d', "'.'", "Of a name that git does not take."),
        ('e', "Ben", &format!("With {key}.")),
    ] {
        let text = of(user, content);
        rows.add(Place::Files, &name(letter), text.as_bytes())
            .unwrap();
    }
    let seen = rows
        .reader(Place::Files)
        .read(&name('e'), u64::MAX)
        .unwrap();
    let text = of("Ben", "Without.");
    rows.replace_and_keep(Place::Files, &name('e'), &seen, text.as_bytes())
        .unwrap();
    let talk = "talks/2026/20260101_000000_ffffffff.md";
    rows.add(Place::Files, talk, memory("A talk.").as_bytes())
        .unwrap();
    let home = Home::new();
    let copy = home.root().join("copy");
    let copied = export(&home, &test, "atlas", &copy);
    let notes = copied["notes"].to_string();
    assert!(
        notes.contains("1 texts were left: they hold credentials"),
        "{notes}"
    );
    let git = Git::at(&home, copy.clone());
    let by = |letter: char| {
        let path = format!("files/{}", name(letter));
        git.says(&["log", "--format=%an", "--", &path])
            .trim()
            .to_owned()
    };
    assert_eq!([by('b'), by('c'), by('d')], ["Ben", "Anna", "memdir"]);
    let all = git.says(&["log", "-p"]);
    assert!(!all.contains(&key) && !all.contains("A talk."), "{all}");
    let files = [
        "files/talks/2026/20260101_000000_ffffffff.md".to_owned(),
        format!("files/{}", name('e')),
    ];
    assert!(files.iter().all(|file| copy.join(file).exists()));
}

#[test]
fn an_erased_text_is_in_no_history() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (rows, cache) = workspace(&test);
    let mut folder = Folder::new();
    let other = NAME.replace("aaaaaaaa", "bbbbbbbb");
    folder.put(NAME, &memory("First."), "Anna");
    folder.put(NAME, &memory("Second."), "Anna");
    folder.put(&other, "Stays.", "Ben");
    folder.import(&test);
    ops::purge(&engine(&rows, cache.path()), ID).unwrap();
    let home = Home::new();
    let copy = home.root().join("copy");
    export(&home, &test, "atlas", &copy);
    let git = Git::at(&home, copy.clone());
    let all = git.says(&["log", "-p", "--format=%an"]);
    assert!(all.contains("Stays.") && all.contains("Ben"), "{all}");
    assert!(!all.contains("First.") && !all.contains("Second."), "{all}");
    // A folder in another repository, and one that holds something.
    Git::at(&home, home.root().clone()).says(&["init", "-q", "-b", "main", "outer"]);
    let inner = home.root().join("outer/copy");
    let words = [
        "team",
        "export",
        "atlas",
        inner.to_str().unwrap(),
        "--history",
    ];
    let mut command = home.command(&words);
    command.env("MEMDIR_DATABASE", test.address());
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && told.contains("is in the git repository"),
        "{told}"
    );
    assert!(!inner.exists());
    let words = [
        "team",
        "export",
        "atlas",
        copy.to_str().unwrap(),
        "--history",
    ];
    let mut command = home.command(&words);
    command.env("MEMDIR_DATABASE", test.address());
    assert!(!command.output().unwrap().status.success());
}

#[test]
fn what_a_memory_said_at_a_time_is_found_by_its_own_changes() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (rows, cache) = workspace(&test);
    let mut folder = Folder::new();
    let other = NAME.replace("aaaaaaaa", "bbbbbbbb");
    folder.put(NAME, &memory("First."), "Anna");
    folder.put(&other, "First of another.", "Ben");
    folder.put(NAME, &memory("Second."), "Ben");
    folder.put(&other, "Second of another.", "Anna");
    // Not committed: a change of now.
    folder.home.put(NAME, memory("Third."));
    let copied = folder.import(&test);
    assert_eq!(
        (&copied["added"], &copied["earlier"]),
        (&json!(2), &json!(3))
    );
    let engine = engine(&rows, cache.path());
    let authors: Vec<String> = changes(&engine, ID)
        .into_iter()
        .map(|one| one.author)
        .collect();
    assert_eq!(authors, ["Anna", "Ben", ""]);
    let read = |id: &str, second: usize| {
        let moment = format!("2026-05-01T12:00:{second:02}Z");
        String::from_utf8(text(&engine, id, &moment)).unwrap()
    };
    assert_eq!(read(ID, 0), memory("First."));
    assert_eq!(read(ID, 1), memory("First."));
    assert_eq!(read(ID, 2), memory("Second."));
    assert_eq!(read(&other[..24], 2), "First of another.");
    assert_eq!(read(&other[..24], 3), "Second of another.");
    let before = at("2026-05-01T11:59:59Z");
    assert!(ops::versions(&engine, ID, Some(&before)).is_err());
    let file = rows.reader(Place::Files).read(NAME, u64::MAX).unwrap();
    assert_eq!(file.bytes, memory("Third.").as_bytes());
    assert_eq!(check(&rows).unwrap().findings, [""; 0]);
}

#[test]
fn a_memory_is_followed_to_other_folders_and_a_note_by_its_path() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (rows, cache) = workspace(&test);
    let mut folder = Folder::new();
    folder.put(NAME, &memory("First."), "Anna");
    folder.home.make("store/files/sub");
    let (from, to) = (format!("files/{NAME}"), format!("files/sub/{NAME}"));
    folder.git().says(&["mv", &from, &to]);
    folder.commit("Ben");
    folder.put("notes.md", "one", "Anna");
    folder.put("sub/notes.md", "another", "Anna");
    let copied = folder.import(&test);
    assert_eq!(copied["notes"], json!([]), "{copied}");
    let engine = engine(&rows, cache.path());
    let there = changes(&engine, ID);
    let deeds: Vec<&str> = there.iter().map(|one| one.memories[0].0.as_str()).collect();
    assert_eq!(deeds, ["write", "move"]);
    let first = ops::versions(&engine, ID, Some(&at(&there[0].commit))).unwrap();
    assert_eq!(first.before.unwrap().file.unwrap(), format!("files/{NAME}"));
    // Two files of one name: nobody could tell their changes apart.
    let notes = query(
        &test.address(),
        "SELECT author FROM change WHERE name LIKE '%notes.md' AND author IS NULL",
    );
    assert_eq!(notes.len(), 2);
    assert_eq!(check(&rows).unwrap().findings, [""; 0]);
}

#[test]
fn a_text_with_a_credential_stays_in_the_folder() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (rows, cache) = workspace(&test);
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let mut folder = Folder::new();
    folder.put(NAME, &memory("First."), "Anna");
    folder.put(NAME, &memory(&format!("Second, {key}.")), "Anna");
    folder.put(NAME, &memory("Third."), "Anna");
    let copied = folder.import(&test);
    assert_eq!(copied["earlier"], 1, "{copied}");
    let note = "1 earlier texts were left: they hold credentials";
    assert_eq!(copied["notes"], json!([note]));
    let held = "SELECT FROM version WHERE position('ghp_'::bytea IN bytes) > 0";
    assert!(query(&test.address(), held).is_empty());
    let engine = engine(&rows, cache.path());
    assert_eq!(changes(&engine, ID).len(), 2);
}

#[test]
fn a_memory_that_is_or_was_there_gets_no_other_past() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (rows, cache) = workspace(&test);
    let engine = engine(&rows, cache.path());
    let other = NAME.replace("aaaaaaaa", "bbbbbbbb");
    rows.add(Place::Files, NAME, b"of the team").unwrap();
    rows.add(Place::Files, &other, b"of the team").unwrap();
    ops::purge(&engine, &other[..24]).unwrap();
    let head = rows.head().unwrap();
    let mut folder = Folder::new();
    folder.put(NAME, &memory("First."), "Anna");
    folder.put(NAME, &memory("Second."), "Anna");
    folder.put(&other, "First of another.", "Ben");
    folder.put(&other, "Second of another.", "Ben");
    let copied = folder.import(&test);
    assert_eq!(copied["different"], json!([format!("files/{NAME}")]));
    assert_eq!(
        (&copied["added"], &copied["earlier"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(rows.head().unwrap(), head + 1);
}

#[test]
fn a_history_that_cannot_be_read_is_left_with_a_word() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let mut folder = Folder::new();
    folder.put(NAME, &memory("First."), "Anna");
    folder.put(NAME, &memory("Second."), "Anna");
    let lost = folder.git().says(&["rev-parse", "HEAD~1"]);
    let (home, store) = (&folder.home, folder.home.store());
    let url = format!("file://{}", store.display());
    let clone = ["clone", "-q", "--depth", "1", &url, "shallow"];
    Git::at(home, home.root()).says(&clone);
    home.make("bare/files");
    home.write(&format!("bare/files/{NAME}"), memory("Second."));
    let object = format!("store/.git/objects/{}/{}", &lost[..2], lost[2..].trim());
    std::fs::remove_file(home.root().join(object)).unwrap();
    for (name, why) in [
        ("shallow", "its git repository is a shallow one"),
        ("bare", "the folder is in no git repository"),
        ("store", "cannot read"),
    ] {
        let copied = import(home, &test, &home.root().join(name));
        assert_eq!(
            (&copied["added"], &copied["earlier"]),
            (&json!(1), &json!(0)),
            "{copied}"
        );
        let note = copied["notes"][0].as_str().unwrap();
        assert!(note.starts_with("no earlier texts: "), "{note}");
        assert!(note.contains(why), "{note}");
        let read = rows.reader(Place::Files).read(NAME, u64::MAX).unwrap();
        assert_eq!(read.bytes, memory("Second.").as_bytes());
        assert!(rows.former_texts(Place::Files, NAME).unwrap().is_empty());
        query(
            &test.address(),
            "WITH gone AS (DELETE FROM memory) UPDATE workspace SET memories = 0, bytes = 0",
        );
    }
}

#[test]
fn a_text_that_is_lost_costs_itself_alone() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let mut folder = Folder::new();
    for content in ["First.", "Second.", "Third."] {
        folder.put(NAME, &memory(content), "Anna");
    }
    let lost = folder
        .git()
        .says(&["rev-parse", &format!("HEAD~1:files/{NAME}")]);
    let object = format!("store/.git/objects/{}/{}", &lost[..2], lost[2..].trim());
    std::fs::remove_file(folder.home.root().join(object)).unwrap();
    let copied = folder.import(&test);
    assert_eq!(copied["earlier"], 1, "{copied}");
    let note = copied["notes"][0].as_str().unwrap();
    assert!(note.starts_with("some earlier texts were left: "), "{note}");
    let former = rows.former_texts(Place::Files, NAME).unwrap();
    assert_eq!(former.len(), 1);
    assert_eq!(former[0].1, memory("First.").as_bytes());
}

#[test]
fn of_a_memory_with_very_many_changes_the_last_ones_are_taken() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let folder = Folder::new();
    let mut commands = String::new();
    for number in 0..600 {
        let text = format!("Text {number:04}");
        commands.push_str(&format!(
            "commit refs/heads/main\ncommitter Anna <a@example.org> {} +0000\ndata 6\nChange\n\
             M 100644 inline files/{NAME}\ndata {}\n{text}\n",
            1_777_000_000 + number,
            text.len(),
        ));
    }
    let git = folder.git();
    git.says_with(&["fast-import", "--quiet"], commands.as_bytes());
    git.says(&["reset", "-q", "--hard", "main"]);
    let copied = folder.import(&test);
    assert_eq!(copied["earlier"], 499, "{copied}");
    let note = copied["notes"][0].as_str().unwrap();
    assert!(note.starts_with("100 earlier texts were left: "), "{note}");
    let former = rows.former_texts(Place::Files, NAME).unwrap();
    assert_eq!(former.len(), 499);
    assert_eq!(former[0].1, b"Text 0100");
    let file = rows.reader(Place::Files).read(NAME, u64::MAX).unwrap();
    assert_eq!(file.bytes, b"Text 0599");
    assert_eq!(check(&rows).unwrap().findings, [""; 0]);
}
