//! Folders that are joined to a workspace of a real server: `memdir sync --with URL`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::postgres::TestDatabase;
use crate::serving::{server, token};
use crate::support::machines::{edit, text};
use crate::support::memdir_server::Server;
use crate::support::program::{Home, Ran, names, run};
use crate::support::regular_files;
use crate::support::until;

/// A workspace, and folders that are joined to it.
pub struct Team {
    pub test: TestDatabase,
    pub server: Server,
    pub homes: [Home; 2],
}

pub fn name(id: &str) -> String {
    format!("20260101_000000_{id}.md")
}

/// Runs a sync of `home` with `address`.
pub fn sync(home: &Home, address: &str, token: &str, more: &[&str]) -> Ran {
    let arguments = [&["sync", "--with", address], more].concat();
    run(home.command(&arguments).env("MEMDIR_TOKEN", token))
}

impl Team {
    pub fn new() -> Option<Team> {
        let test = TestDatabase::new()?;
        test.workspace("atlas");
        Some(Team {
            server: server(&test, &[]),
            homes: [Home::new(), Home::new()],
            test,
        })
    }

    pub fn address(&self) -> String {
        format!("http://{}/w/atlas", self.server.address)
    }

    #[track_caller]
    fn sync(&self, at: usize, more: &[&str]) -> Value {
        let more = [more, &["--json"]].concat();
        let ran = sync(
            &self.homes[at],
            &self.address(),
            &token(&self.server),
            &more,
        );
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        ran.json()
    }

    /// Syncs both until there is nothing to do; then both have the same as the workspace.
    #[track_caller]
    fn settle(&self) {
        for at in [0, 1, 0] {
            self.sync(at, &[]);
        }
        for at in [0, 1] {
            assert_eq!(self.sync(at, &[])["in_step"], true);
        }
        let texts = self.homes.each_ref().map(texts);
        assert_eq!(texts[0], texts[1]);
        assert_eq!(texts[0], self.workspace());
    }

    /// Memories and tombstones of the workspace.
    pub fn workspace(&self) -> BTreeMap<String, String> {
        let rows = crate::postgres::query(
            &self.test.address(),
            "SELECT CASE place WHEN 'beside' THEN name ELSE place || '/' || name END, bytes FROM memory",
        );
        let rows = rows.iter();
        let texts = rows.map(|row| (row.get(0), String::from_utf8(row.get(1)).unwrap()));
        texts.collect()
    }
}

/// Memories and tombstones of a folder.
fn texts(home: &Home) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for top in ["files", "archive", "tombstones"] {
        let folder = home.store().join(top);
        for name in if folder.exists() {
            names(&folder)
        } else {
            Vec::new()
        } {
            let text = fs::read_to_string(folder.join(&name)).unwrap();
            texts.insert(format!("{top}/{name}"), text);
        }
    }
    texts
}

#[test]
fn two_folders_have_the_same_through_one_workspace() {
    let Some(team) = Team::new() else {
        return;
    };
    let heron = team.homes[0].remember(&["a heron"]);
    let stork = team.homes[1].remember(&["a stork"]);
    let planned = team.sync(0, &["--dry-run"]);
    assert_eq!(
        planned["sent"]["files"].as_array().unwrap().len(),
        1,
        "{planned}"
    );
    assert!(team.workspace().is_empty());
    team.settle();
    assert!(team.homes[0].text_of(&stork).contains("a stork"));
    assert!(team.homes[1].text_of(&heron).contains("a heron"));
    // What both changed is united; what excludes each other is two memories.
    for id in ["aaaaaaaa", "bbbbbbbb"] {
        team.homes[0].put(&name(id), text(id, "one\n\ntwo\n\nthree\n"));
    }
    team.settle();
    edit(&team.homes[0], "aaaaaaaa", "one", "ONE");
    edit(&team.homes[1], "aaaaaaaa", "three", "THREE");
    edit(&team.homes[0], "bbbbbbbb", "two", "an egret");
    edit(&team.homes[1], "bbbbbbbb", "two", "an ibis");
    team.settle();
    assert!(
        team.homes[0]
            .text_of("aaaaaaaa")
            .ends_with("ONE\n\ntwo\n\nTHREE\n")
    );
    let all = team.workspace();
    for bird in ["an egret", "an ibis"] {
        assert_eq!(
            all.values().filter(|text| text.contains(bird)).count(),
            1,
            "{all:?}"
        );
    }
    // Forgotten here, edited there: the edit wins. Forgotten alone: forgotten everywhere.
    team.homes[0].run(&["forget", "aaaaaaaa", &heron]).done();
    edit(&team.homes[1], "aaaaaaaa", "ONE", "1");
    team.settle();
    assert!(team.homes[0].text_of("aaaaaaaa").contains("1\n"));
    assert_eq!(names(&team.homes[1].store().join("archive")).len(), 1);
    // What an exchange replaced is in the history of the workspace; what it purged is not.
    let former = |word: &str| {
        let sql = format!("SELECT FROM version WHERE position('{word}'::bytea IN bytes) > 0");
        crate::postgres::query(&team.test.address(), &sql).len()
    };
    assert!(former("ONE") > 0);
    let file = team.homes[1].file_of(&stork);
    let edited = fs::read_to_string(&file).unwrap();
    fs::write(&file, edited.replace("a stork", "a stork in May")).unwrap();
    team.settle();
    assert_eq!(former("a stork"), 1);
    // Purged: gone everywhere.
    team.homes[1].run(&["purge", &stork, "--yes"]);
    team.settle();
    assert_eq!(former("a stork"), 0);
    assert!(
        !team
            .workspace()
            .values()
            .any(|text| text.contains("a stork"))
    );
}

#[test]
fn what_was_not_finished_is_finished_by_the_next_exchange() {
    let Some(mut team) = Team::new() else {
        return;
    };
    for number in 0..40 {
        let id = format!("{number:08x}");
        team.homes[0].put(&name(&id), text(&id, &format!("about {number}\n")));
    }
    // The client is killed in the midst of it, wherever it is.
    let address = team.address();
    let mut child = team.homes[0]
        .command(&["sync", "--with", &address])
        .env("MEMDIR_TOKEN", token(&team.server))
        .spawn()
        .unwrap();
    until("something was sent", || {
        !team.workspace().is_empty() || child.try_wait().unwrap().is_some()
    });
    let _ = child.kill();
    child.wait().unwrap();
    // The server is away; edits go on on both sides.
    let token = token(&team.server);
    team.server.signal("KILL");
    team.server.child.wait().unwrap();
    let ran = sync(&team.homes[0], &address, &token, &[]);
    ran.complains(2, &["cannot exchange memories"]);
    edit(&team.homes[0], "00000003", "about", "edited");
    team.homes[0].run(&["forget", "00000004"]).done();
    team.homes[1].remember(&["a stork"]);
    team.server = server(&team.test, &[]);
    // At another address it is the same workspace.
    team.settle();
    let all = team.workspace();
    let holds = |text: &str| all.values().any(|one| one.ends_with(&format!("{text}\n")));
    let lost: Vec<u32> = (0..40)
        .filter(|number| !holds(&format!("about {number}")) && !holds(&format!("edited {number}")))
        .collect();
    assert_eq!(lost, Vec::<u32>::new(), "{all:?}");
    assert!(holds("edited 3"), "{all:?}");
    // From now on both know what they had in common.
    team.homes[0].run(&["forget", "00000005"]).done();
    team.settle();
    let all = team.workspace();
    assert!(
        !all.contains_key(&format!("files/{}", name("00000005"))),
        "{all:?}"
    );
    assert!(
        all.contains_key(&format!("archive/{}", name("00000005"))),
        "{all:?}"
    );
}

#[test]
fn what_is_private_never_leaves() {
    let Some(team) = Team::new() else {
        return;
    };
    let home = &team.homes[0];
    fs::create_dir_all(home.root().join("config/memdir")).unwrap();
    let rules = "[team]\nprivate = [\"personal\", \"topic:health\"]\n";
    home.write("config/memdir/config.toml", rules);
    home.remember(&["a heron"]);
    home.remember(&["--namespace", "personal/diary", "a secret heron"]);
    home.remember(&["--topics", "health", "a secret stork"]);
    let purged = home.remember(&["--namespace", "personal", "a secret egret"]);
    let forgotten = home.remember(&["--namespace", "personal", "a secret ibis"]);
    home.run(&["purge", &purged, "--yes"]);
    home.run(&["forget", &forgotten]).done();
    let planned = sync(home, &team.address(), &token(&team.server), &["--dry-run"]).done();
    assert!(
        planned.contains("private, and staying here: 3"),
        "{planned}"
    );
    assert_eq!(planned.matches("goes").count(), 1, "{planned}");
    // Memories without a namespace are global ones, wherever the program runs.
    home.write(
        "config/memdir/config.toml",
        rules.replace("topic:health", "topic:health\", \"global"),
    );
    let planned = sync(home, &team.address(), &token(&team.server), &["--dry-run"]).done();
    assert!(
        planned.contains("private, and staying here: 4"),
        "{planned}"
    );
    // Of a text that is no rule nobody knows what it was to keep.
    home.write(
        "config/memdir/config.toml",
        "[team]\nprivate = [\"scope:usr\"]\n",
    );
    let ran = sync(home, &team.address(), &token(&team.server), &[]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("`scope:usr` is no rule"), "{ran:?}");
    assert!(team.workspace().is_empty());
    home.write("config/memdir/config.toml", rules);
    // The store's own settings loosen nothing.
    home.write("store/memdir.toml", "[team]\nprivate = []\n");
    let ran = sync(home, &team.address(), &token(&team.server), &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let all = team.workspace();
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all.values().all(|text| text.contains("a heron")), "{all:?}");
    assert_eq!(names(&home.files()).len(), 3);
}

#[test]
fn a_token_that_only_reads_fetches_and_sends_nothing() {
    let Some(team) = Team::new() else {
        return;
    };
    let stork = team.homes[1].remember(&["a stork"]);
    team.sync(1, &[]);
    team.homes[0].remember(&["a heron"]);
    let owner = token(&team.server);
    let tokens = team.server.store.root().join("cache/tokens");
    let secret = "r".repeat(43);
    let mut all = fs::read_to_string(&tokens).unwrap();
    all.push_str(&format!("reader read-only {secret}\n"));
    fs::write(&tokens, all).unwrap();
    let ran = sync(&team.homes[0], &team.address(), &secret, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("only reads"), "{ran:?}");
    assert!(team.homes[0].text_of(&stork).contains("a stork"));
    assert_eq!(team.workspace().len(), 1);
    let push = sync(
        &team.homes[0],
        &team.address(),
        &secret,
        &["--direction", "push"],
    );
    push.complains(2, &["only reads"]);
    let change = json!({"changes": [{"path": "files/a.md", "text": "x"}]});
    let path = "/w/atlas/api/v1/exchange/changes";
    assert_eq!(team.server.json("POST", path, &secret, &change).status, 403);
    for path in [
        "memdir.toml",
        "files/../a.md",
        "/etc/a.md",
        "journal/a.md",
        "files/talks/2026/a.md",
    ] {
        let change = json!({"changes": [{"path": path, "text": "x"}]});
        let answered =
            team.server
                .json("POST", "/w/atlas/api/v1/exchange/changes", &owner, &change);
        assert_eq!(answered.status, 400, "{path}: {answered:?}");
    }
    assert_eq!(team.workspace().len(), 1);
}

#[test]
fn a_kept_token_is_the_users_alone() {
    let Some(team) = Team::new() else {
        return;
    };
    team.homes[0].remember(&["a heron"]);
    team.sync(0, &["--keep-token"]);
    let folder = team.homes[0].root().join("state/memdir/tokens");
    let kept = folder.join(&names(&folder)[0]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = || fs::metadata(&kept).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&kept, fs::Permissions::from_mode(0o644)).unwrap();
        team.sync(0, &["--keep-token"]);
        assert_eq!(mode(), 0o600);
    }
    let ran = team.homes[0].run(&["sync", "--with", &team.address()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // The variable wins, and no token goes over plain http to another machine.
    sync(&team.homes[0], &team.address(), &"x".repeat(43), &[]).complains(2, &["401"]);
    sync(&team.homes[0], "http://team.example/w/atlas", "x", &[])
        .complains(2, &["nothing was sent"]);
}

/// Answers each question of an exchange with a text of the test's, and collects what it was sent.
fn hostile(answers: &[(&'static str, Value)]) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/w/atlas", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (answers, kept) = (answers.to_vec(), Arc::clone(&asked));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = reply(stream, &answers, &kept); // The client has gone.
        }
    });
    (address, asked)
}

fn reply(
    mut stream: TcpStream,
    answers: &[(&str, Value)],
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first)?;
    while reader.read_line(&mut line)? > 2 {
        let header = line.to_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    asked
        .lock()
        .unwrap()
        .push(format!("{first}{}", String::from_utf8_lossy(&body)));
    let known = answers
        .iter()
        .find(|(name, _)| first.contains(&format!("/exchange/{name} ")));
    let body = known
        .map_or(Value::Null, |(_, answer)| answer.clone())
        .to_string();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[test]
fn a_hostile_server_writes_nowhere_else_and_overwrites_nothing_unseen() {
    let home = Home::new();
    let own = home.remember(&["a heron"]);
    let settings = home.write("store/memdir.toml", "limit = 7\n");
    home.run(&["sync"]);
    let heron = home.text_of(&own);
    let evil = "an evil text\n";
    let hash = format!(
        "{:032x}",
        u128::from_le_bytes(
            blake3::hash(evil.as_bytes()).as_bytes()[..16]
                .try_into()
                .unwrap()
        )
    );
    let listed = |path: &str, hash: &str, bytes: u64| json!({"path": path, "hash": hash, "bytes": bytes, "modified": 0});
    let stem = home
        .file_of(&own)
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let paths = [
        "../evil.md",
        "files/../../evil.md",
        "/tmp/evil.md",
        "memdir.toml",
        "files/a\\..\\evil.md",
        ".memdir/evil.md",
        "files/.git/evil.md",
        "journal/evil.md",
        "tombstones/../evil.md",
        "config/evil.md",
    ];
    let mut files: Vec<Value> = paths.iter().map(|path| listed(path, &hash, 13)).collect();
    files.push(listed(
        &format!("files/{}", name("bbbbbbbb")),
        &hash,
        1 << 60,
    ));
    files.push(listed(
        &format!("files/{}", name("cccccccc")),
        &"0".repeat(32),
        13,
    ));
    // A text of the same name: both are kept.
    files.push(listed(&format!("files/{stem}"), &hash, 13));
    let state = json!({"workspace": "w", "number": 1, "may_write": true});
    let before: Vec<_> = regular_files(&home.root())
        .into_iter()
        .filter(|path| !path.starts_with(home.store()))
        .collect();
    let answers = [
        ("state", state),
        (
            "listing",
            json!({"workspace": "w", "number": 1, "files": files, "has_more": false}),
        ),
        ("texts", json!({"texts": [evil, evil]})),
        ("changes", json!({"done": [true]})),
    ];
    let (address, asked) = hostile(&answers);
    let ran = sync(
        &home,
        &address,
        "a-token",
        &["--direction", "pull", "--json"],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let said = ran.json();
    assert_eq!(
        said["skipped"].as_array().unwrap().len(),
        paths.len() + 1,
        "{said}"
    );
    assert_eq!(fs::read_to_string(&settings).unwrap(), "limit = 7\n");
    let texts = texts(&home);
    assert_eq!(
        texts
            .values()
            .filter(|text| **text == heron || text.contains("a heron"))
            .count(),
        1,
        "{texts:?}"
    );
    assert!(
        texts
            .keys()
            .all(|path| !path.contains("evil") && !path.contains("cccccccc")),
        "{texts:?}"
    );
    let is_new =
        |path: &&std::path::PathBuf| !before.contains(path) && !path.starts_with(home.store());
    let all = regular_files(&home.root());
    let new: Vec<_> = all
        .iter()
        .filter(is_new)
        .filter(|path| path.to_string_lossy().contains("evil"))
        .collect();
    assert!(new.is_empty(), "{new:?}");
    let asked = asked.lock().unwrap().join("\n");
    assert!(!asked.contains("evil"), "{asked}");
    // A listing without end, and what is no answer at all.
    let endless = json!({"workspace": "w", "number": 1, "files": [], "has_more": true});
    let state = (
        "state",
        json!({"workspace": "w", "number": 1, "may_write": true}),
    );
    let (address, _) = hostile(&[state.clone(), ("listing", endless)]);
    sync(&home, &address, "a-token", &[]).complains(2, &["has no end"]);
    let (address, _) = hostile(&[state]);
    sync(&home, &address, "a-token", &[]).complains(2, &["cannot exchange memories"]);
}

/// Asks the workspace for a listing.
fn listing(team: &Team, question: &Value) -> Value {
    let path = "/w/atlas/api/v1/exchange/listing";
    let answered = team
        .server
        .json("POST", path, &token(&team.server), question);
    assert_eq!(answered.status, 200, "{answered:?}");
    serde_json::from_slice(&answered.body).unwrap()
}

/// Paths in a listing.
fn paths(listing: &Value, member: &str) -> Vec<String> {
    let all = listing[member].as_array().into_iter().flatten();
    let path = |one: &Value| one.as_str().or(one["path"].as_str()).unwrap().to_owned();
    all.map(path).collect()
}

#[test]
fn a_listing_is_asked_for_what_changed_since() {
    let Some(team) = Team::new() else {
        return;
    };
    for id in ["aaaaaaaa", "bbbbbbbb", "cccccccc"] {
        team.homes[0].put(&name(id), text(id, "a heron\n"));
    }
    team.settle();
    let all = listing(&team, &json!({}));
    let live = |id: &str| format!("files/{}", name(id));
    assert_eq!(
        paths(&all, "files"),
        ["aaaaaaaa", "bbbbbbbb", "cccccccc"].map(live)
    );
    let after = listing(&team, &json!({"after": live("aaaaaaaa")}));
    assert_eq!(paths(&after, "files"), ["bbbbbbbb", "cccccccc"].map(live));
    let since = &all["mark"];
    let nothing = listing(&team, &json!({"since": since}));
    assert_eq!(nothing["since"], *since);
    assert!(paths(&nothing, "files").is_empty(), "{nothing}");

    edit(&team.homes[1], "bbbbbbbb", "heron", "stork");
    team.homes[1].run(&["forget", "cccccccc"]).done();
    team.settle();
    let changed = listing(&team, &json!({"since": since}));
    let archived = format!("archive/{}", name("cccccccc"));
    assert_eq!(paths(&changed, "files"), [archived, live("bbbbbbbb")]);
    assert_eq!(paths(&changed, "removed"), [live("cccccccc")]);
    // A change that was lost in a failover has its number, and is not that one.
    let lost = all["mark"].as_str().unwrap().split('.').next().unwrap();
    let everything = listing(&team, &json!({"since": format!("{lost}.7")}));
    assert_eq!(everything["since"], Value::Null);
    assert_eq!(paths(&everything, "files").len(), 3);
}

#[test]
fn changes_that_a_failover_lost_are_listed_anew() {
    let Some(team) = Team::new() else {
        return;
    };
    team.homes[0].put(&name("aaaaaaaa"), text("aaaaaaaa", "a heron\n"));
    team.homes[0].put(&name("bbbbbbbb"), text("bbbbbbbb", "a stork\n"));
    team.settle();
    // The change of the second one was another, as in a standby that was behind.
    crate::postgres::query(
        &team.test.address(),
        "UPDATE change SET token = token + 1 WHERE seq = (SELECT head FROM workspace)",
    );
    crate::postgres::query(
        &team.test.address(),
        "UPDATE memory SET bytes = convert_to(replace(convert_from(bytes, 'UTF8'), 'stork', 'ibis!'), 'UTF8') \
         WHERE name LIKE '%bbbbbbbb.md'",
    );
    let bytes = team.workspace()[&format!("files/{}", name("bbbbbbbb"))].clone();
    let hash = memdir::files::digest(bytes.as_bytes()).to_le_bytes();
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    for table in ["memory", "change"] {
        crate::postgres::query(
            &team.test.address(),
            &format!(
                "UPDATE {table} SET hash = decode('{hash}', 'hex') WHERE name LIKE '%bbbbbbbb.md'"
            ),
        );
    }
    team.settle();
    assert!(team.homes[1].text_of("bbbbbbbb").contains("a ibis!"));
}
