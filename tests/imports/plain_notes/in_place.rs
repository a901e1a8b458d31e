//! `memdir init --here --notes .`: a vault of somebody's is a store, and stays a vault.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{VAULT, texts, vault};
use crate::support::dialect::done;
use crate::support::program::{Home, Ran, run};
use crate::support::session::Session;

/// A home with a vault in `vault` that is opened in place.
struct Vault(Home);

impl Vault {
    fn new() -> Vault {
        let home = Home::new();
        vault(&home.make("vault"));
        let vault = Vault(home);
        let said = vault.run(&["init", "--here", "--notes", "."]).done();
        assert_eq!(said, format!("{} is a store now\n", vault.path().display()));
        vault
    }

    fn path(&self) -> PathBuf {
        self.0.root().join("vault")
    }

    /// Runs the program in the vault, which nothing names.
    fn run(&self, arguments: &[&str]) -> Ran {
        run(self.0.bare().current_dir(self.path()).args(arguments))
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// The notes that [`VAULT`] does not hold as they are.
    fn changed(&self) -> Vec<String> {
        let all = all_texts(&self.path()).into_iter();
        let is_new =
            |(name, text): &(String, String)| !VAULT.contains(&(name.as_str(), text.as_str()));
        all.filter(is_new).map(|(name, _)| name).collect()
    }
}

/// The texts below a vault, those of `.obsidian` and `.trash` as well.
fn all_texts(vault: &Path) -> Vec<(String, String)> {
    let mut all = texts(vault);
    for hidden in [".obsidian", ".trash"] {
        let below = texts(&vault.join(hidden)).into_iter();
        all.extend(below.map(|(name, text)| (format!("{hidden}/{name}"), text)));
    }
    all
}

#[test]
fn a_vault_is_opened_in_place_and_keeps_its_files() {
    let vault = Vault::new();
    assert_eq!(vault.changed(), [""; 0]);
    let names: Vec<String> = crate::support::program::names(&vault.path());
    assert_eq!(
        names,
        [
            ".memdir-store",
            ".obsidian",
            ".trash",
            "Board.canvas",
            "Daily",
            "Garden",
            "Home.md"
        ]
    );
    let found = vault.run(&["think", "roses"]).done();
    assert!(
        found.contains("Roses") && !found.contains("zebra"),
        "{found}"
    );
    assert_eq!(vault.run(&["think", "--keywords", "zebra"]).code, 1);
    assert_eq!(
        vault.run(&["list", "--json"]).json()["memories"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    assert!(
        vault
            .run(&["recall", "Garden/Tulips"])
            .done()
            .contains("Red ones")
    );
    let links = vault.run(&["links", "Tulips"]).done();
    assert!(links.contains("Home") && links.contains("Roses"), "{links}");
    let said = vault.run(&["verify"]).done();
    assert_eq!(said, "4 files compared with the index: sound\n");
    assert_eq!(
        vault.run(&["status", "--json"]).json()["problems"],
        json!([])
    );
    vault.run(&["reindex", "--full"]).done();
    assert_eq!(vault.changed(), [""; 0]);
    // From any folder in it, and by its own path.
    let mut below = vault.0.bare();
    let below = below
        .current_dir(vault.path().join("Garden"))
        .args(["path", "Roses"]);
    assert_eq!(
        run(below).done(),
        format!("{}\n", vault.path().join("Garden/Roses.md").display())
    );
    let named = run(vault
        .0
        .bare()
        .env("MEMDIR_STORE", vault.path())
        .args(["grep", "-l", "Water"]));
    assert_eq!(named.done(), "Garden/Roses.md\n");
}

#[test]
fn everyday_commands_work_in_a_vault() {
    let vault = Vault::new();
    let id = vault
        .run(&[
            "remember",
            "Plant bulbs, see [[Tulips]].",
            "--topics",
            "garden",
        ])
        .done();
    let id = id.trim();
    let path = vault.run(&["path", id]).done();
    let new = Path::new(path.trim()).strip_prefix(vault.path()).unwrap();
    assert!(new.starts_with("memories"), "{new:?}");
    let new = new.to_str().unwrap().replace(MAIN_SEPARATOR, "/");
    assert_eq!(vault.changed(), [new]);
    vault.run(&["update", "Roses", "--importance", "8"]).done();
    let (_, roses) = VAULT[2];
    assert!(vault.read("Garden/Roses.md").ends_with(roses));
    vault.run(&["link", "Home", id]).done();
    vault.run(&["forget", "2024-03-01"]).done();
    assert!(!vault.path().join("Daily/2024-03-01.md").exists());
    assert!(
        vault
            .path()
            .join(".memdir-store/archive/Daily/2024-03-01.md")
            .exists()
    );
    // The archive is no place to find notes in.
    assert_eq!(vault.run(&["think", "--keywords", "[x]"]).code, 1);
    vault.run(&["restore", "2024-03-01"]).done();
    assert_eq!(vault.read("Daily/2024-03-01.md"), VAULT[3].1);
    assert!(vault.run(&["verify"]).done().ends_with(": sound\n"));
    let log = vault.run(&["log"]).done();
    assert!(
        log.contains("Restore memory 2024-03-01") && log.contains("Change memory Roses"),
        "{log}"
    );
    let said = vault.run(&["undo", "Roses"]).done();
    assert!(said.contains("    Garden/Roses.md  "), "{said}");
    assert_eq!(vault.read("Garden/Roses.md"), roses);
    let files = vault.run(&["git", "ls-files"]).done();
    assert!(files.contains("files/Garden/Roses.md\n"), "{files}");
    assert!(
        !files.contains("zebra") && !files.contains(".obsidian"),
        "{files}"
    );
}

#[test]
fn a_hand_edit_in_a_vault_is_seen_and_is_in_the_history() {
    let vault = Vault::new();
    fs::write(
        vault.path().join("Garden/Roses.md"),
        "Climbing roses, a magpie.\n",
    )
    .unwrap();
    assert!(vault.run(&["think", "magpie"]).done().contains("Roses"));
    vault
        .run(&["update", "Roses", "--content", "Only thorns."])
        .done();
    vault.run(&["undo", "Roses"]).done();
    assert_eq!(vault.read("Garden/Roses.md"), "Climbing roses, a magpie.\n");
}

#[test]
fn a_server_follows_a_vault() {
    let vault = Vault::new();
    let mut command = vault.0.bare();
    command.current_dir(vault.path()).arg("mcp");
    let mut session = Session::open_on(command);
    fs::create_dir(vault.path().join("Birds")).unwrap();
    fs::write(vault.path().join("Birds/Magpie.md"), "A magpie.\n").unwrap();
    fs::write(vault.path().join(".trash/Gone.md"), "A magpie.\n").unwrap();
    let found = |session: &mut Session| {
        let found = session.tool("think", json!({"keywords": ["magpie"]}));
        found["structuredContent"].to_string()
    };
    let text = found(&mut session);
    assert!(
        text.contains("\"Magpie\"") && !text.contains("Gone"),
        "{text}"
    );
    fs::remove_file(vault.path().join("Birds/Magpie.md")).unwrap();
    assert!(!found(&mut session).contains("\"Magpie\""));
    let more = json!({"content": "A wren.", "agent": "a", "user": "u", "topics": ["birds"]});
    session.tool("remember", more);
    assert_eq!(texts(&vault.path().join("memories")).len(), 1);
}

#[test]
fn folders_of_a_vault_that_are_called_as_those_of_a_store_are_notes() {
    let home = Home::new();
    for folder in ["archive", "journal", "files", "tombstones"] {
        home.write(&format!("vault/{folder}/My {folder}.md"), "A magpie.\n");
    }
    let vault = Vault(home);
    vault.run(&["init", "--notes", "."]).done();
    assert_eq!(
        vault
            .run(&["think", "--keywords", "magpie"])
            .done()
            .lines()
            .count(),
        4
    );
    assert!(
        vault
            .run(&["verify"])
            .done()
            .ends_with("4 files compared with the index: sound\n")
    );
}

#[cfg(unix)]
#[test]
fn links_in_a_vault_lead_nowhere() {
    let vault = Vault::new();
    vault.0.write("elsewhere/secret.md", "A magpie.\n");
    std::os::unix::fs::symlink(
        vault.0.root().join("elsewhere"),
        vault.path().join("Linked"),
    )
    .unwrap();
    let file = vault.0.root().join("elsewhere/secret.md");
    std::os::unix::fs::symlink(file, vault.path().join("secret.md")).unwrap();
    assert_eq!(vault.run(&["think", "--keywords", "magpie"]).code, 1);
    let refused = vault.run(&["update", "secret", "--importance", "4"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn what_is_no_folder_of_notes_is_not_opened_in_place() {
    let home = Home::new();
    let ran = run(home.bare().args(["init", "--notes", "away"]));
    ran.complains(2, &["cannot open", "there is no such folder"]);
    let ran = run(home.bare().args(["init", "--here", "--notes", "."]));
    ran.complains(2, &["it holds much else than notes"]);
    run(home.bare().args(["init", "plain"])).done();
    let ran = run(home.bare().args(["init", "--notes", "plain"]));
    ran.complains(2, &["it is a store already"]);
    assert!(!home.root().join("plain/.memdir-store").exists());
    // A second time changes nothing.
    let vault = Vault::new();
    let said = vault.run(&["init", "--here", "--notes", "."]).done();
    assert!(said.ends_with("is a store already\n"), "{said}");
    // A folder `files/` next to the notes is the notes' own; `init` without `--notes` is as ever.
    run(home
        .bare()
        .current_dir(home.make("other"))
        .args(["init", "--here"]))
    .done();
    assert!(home.root().join("other/files").is_dir());
}

#[test]
fn a_vault_that_somebody_hands_over_is_used_after_consent() {
    let vault = Vault::new();
    fs::remove_dir_all(vault.0.root().join("state")).unwrap();
    let ran = vault.run(&["think", "--keywords", "roses"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(!ran.text().contains("Roses"), "{ran:?}");
    vault.run(&["trust"]);
    assert!(vault.run(&["think", "roses"]).done().contains("Roses"));
}

#[test]
fn a_vault_and_a_store_on_another_machine_come_into_step() {
    let vault = Vault::new();
    let old = vault.path().join("Garden/Old.md");
    fs::write(&old, "Tulips of another year.\n").unwrap();
    let age = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    fs::File::open(&old).unwrap().set_modified(age).unwrap();
    let remote = vault.0.make("remote.git");
    let bare = git2::Repository::init_bare(&remote).unwrap();
    let address = remote.to_str().unwrap();
    vault
        .run(&["sync", "--setup", address, "--allow-local"])
        .done();
    let there = vault.0.root().join("there");
    run(vault
        .0
        .bare()
        .args(["init", "there", "--remote", address, "--allow-local"]))
    .done();
    assert_eq!(
        fs::read_to_string(there.join("files/Garden/Roses.md")).unwrap(),
        VAULT[2].1
    );
    let came = fs::metadata(there.join("files/Garden/Old.md")).unwrap();
    assert_eq!(came.modified().unwrap(), age);
    let on_there =
        |arguments: &[&str]| run(vault.0.bare().env("MEMDIR_STORE", &there).args(arguments));
    fs::write(there.join("files/Garden/Roses.md"), "Climbing roses.\n").unwrap();
    // What would be a program among somebody's notes is no note.
    fs::create_dir_all(there.join("files/.obsidian/plugins")).unwrap();
    on_there(&["sync"]).done();
    let plugin = [
        ("files/.obsidian/plugins/main.js", "alert()"),
        ("files/Garden/run.sh", "alert"),
    ];
    commit_by_hand(&bare, &plugin);
    vault.run(&["sync"]);
    assert_eq!(vault.read("Garden/Roses.md"), "Climbing roses.\n");
    assert!(!vault.path().join(".obsidian/plugins/main.js").exists());
    assert!(!vault.path().join("Garden/run.sh").exists());
    assert_eq!(vault.read(".obsidian/app.json"), "{}\n");
}

/// Adds files to the branch of a bare repository, as an attacker who may send to it.
fn commit_by_hand(bare: &git2::Repository, files: &[(&str, &str)]) {
    let branch = bare.branches(None).unwrap().next().unwrap().unwrap().0;
    let parent = branch.get().peel_to_commit().unwrap();
    let mut index = git2::Index::new().unwrap();
    index.read_tree(&parent.tree().unwrap()).unwrap();
    let mut update = git2::build::TreeUpdateBuilder::new();
    for (path, text) in files {
        let id = bare.blob(text.as_bytes()).unwrap();
        update.upsert(*path, id, git2::FileMode::Blob);
    }
    let tree = update
        .create_updated(bare, &parent.tree().unwrap())
        .unwrap();
    let tree = bare.find_tree(tree).unwrap();
    let author = git2::Signature::now("mallory", "m@example.org").unwrap();
    let name = branch.get().name().unwrap();
    bare.commit(Some(name), &author, &author, "Notes", &tree, &[&parent])
        .unwrap();
}

#[test]
fn two_vaults_come_into_step_without_git() {
    let vault = Vault::new();
    run(vault.0.bare().args(["init", "plain"])).done();
    vault.run(&["sync", "--with", "../plain"]).done();
    let plain = vault.0.root().join("plain/files");
    assert_eq!(
        fs::read_to_string(plain.join("Garden/Roses.md")).unwrap(),
        VAULT[2].1
    );
    fs::write(plain.join("Garden/Roses.md"), "Climbing roses.\n").unwrap();
    let from = vault.path();
    let plain_store = vault.0.root().join("plain");
    run(vault.0.bare().env("MEMDIR_STORE", plain_store).args([
        "sync",
        "--with",
        from.to_str().unwrap(),
    ]))
    .done();
    assert_eq!(vault.read("Garden/Roses.md"), "Climbing roses.\n");
}

#[test]
fn a_vault_gets_no_second_store() {
    let vault = Vault::new();
    let before = vault.run(&["path"]).done();
    let second = vault.run(&["init", "--here"]);
    second.complains(2, &["cannot make a store", "it is a store already"]);
    let plain = vault.run(&["init", "Garden"]);
    plain.complains(2, &["cannot make a store", "it lies in a store"]);
    let below = || {
        let mut command = vault.0.bare();
        command.current_dir(vault.path().join("Garden"));
        command
    };
    for more in [&["--notes", "."][..], &[]] {
        let ran = run(below().args([&["init", "--here"], more].concat()));
        ran.complains(2, &["cannot make a store", "it lies in a store"]);
    }
    assert_eq!(vault.changed(), [""; 0]);
    assert!(!vault.path().join("files").exists());
    assert!(!vault.path().join("memdir.toml").exists());
    assert!(!vault.path().join("Garden/.memdir-store").exists());
    assert_eq!(vault.run(&["path"]).done(), before);
}

#[test]
fn git_does_not_touch_files_in_a_vault() {
    let vault = Vault::new();
    vault.run(&["update", "Roses", "--importance", "8"]).done();
    for (arguments, instead) in [
        (&["status"][..], "memdir status"),
        (&["diff"], "memdir diff"),
        (&["diff", "HEAD~1"], "memdir diff"),
        (&["commit", "-a", "-m", "x"], "memdir sync"),
        (&["-c", "a.b=c", "checkout", "."], "memdir undo"),
        (&["stash"], "memdir sync"),
        (&["pull"], "memdir sync"),
    ] {
        let ran = vault.run(&[&["git"], arguments].concat());
        ran.complains(
            2,
            &["cannot be run here", "the notes lie in place", instead],
        );
    }
    assert!(!vault.path().join(".memdir-store/files").exists());
    for arguments in [
        &["log", "--oneline"][..],
        &["diff", "HEAD~1", "HEAD"],
        &["show", "HEAD"],
    ] {
        let said = vault.run(&[&["git"], arguments].concat()).done();
        assert!(!said.is_empty(), "{arguments:?}");
    }
    // In an ordinary store git is whole.
    let home = Home::new();
    home.remember(&["A magpie."]);
    home.run(&["git", "status"]).done();
}

/// A vault with two notes of one name, and another note.
fn namesakes() -> Vault {
    let vault = Vault(Home::new());
    let path = vault.0.make("vault");
    fs::create_dir(path.join("d")).unwrap();
    for (name, text) in [("same.md", "A"), ("d/same.md", "B"), ("other.md", "C")] {
        fs::write(path.join(name), format!("{text}\n")).unwrap();
    }
    vault.run(&["init", "--here", "--notes", "."]).done();
    vault
}

#[test]
fn notes_of_one_name_are_told_apart_by_their_whole_names() {
    let vault = namesakes();
    vault
        .run(&["recall", "same"])
        .complains(1, &["d/same.md, same.md"]);
    for (id, text) in [("same.md", "A"), ("d/same.md", "B"), ("d/same", "B")] {
        let said = vault.run(&["recall", id]).done();
        assert!(said.contains(&format!("\n{text}\n")), "{id}: {said}");
    }
    vault.run(&["update", "same.md", "--topics", "root"]).done();
    vault.run(&["update", "d/same", "--topics", "deep"]).done();
    assert!(vault.read("same.md").contains("topics: [root]"));
    assert!(vault.read("d/same.md").contains("topics: [deep]"));
    // A link leads to the one that was named.
    vault.run(&["link", "other", "d/same"]).done();
    vault.run(&["link", "other", "same.md"]).done();
    vault.run(&["link", "d/same", "same.md"]).done();
    let text = vault.read("other.md");
    assert!(text.contains("to: d/same.md"), "{text}");
    assert!(text.contains("to: same.md"), "{text}");
    assert_eq!(vault.run(&["links"]).text(), "");
    let said = vault.run(&["links", "d/same"]).done();
    assert!(said.contains("other"), "{said}");
    // What is said of them is only that they have one name.
    let said = vault.run(&["verify", "--json"]).text();
    assert!(!said.contains("dangling"), "{said}");
    assert!(!said.contains("names the memory itself"), "{said}");
    vault.run(&["unlink", "other", "d/same"]).done();
    let text = vault.read("other.md");
    assert!(
        text.contains("to: same.md") && !text.contains("d/same"),
        "{text}"
    );
    vault.run(&["resolve", "d/same", "other"]).done();
    assert!(vault.read("other.md").contains("superseded_by: d/same.md"));
    vault.run(&["forget", "same.md"]).done();
    assert!(!vault.path().join("same.md").exists());
    vault.run(&["restore", "same.md"]).done();
    assert!(vault.read("same.md").ends_with("A\n"));
}

#[test]
fn a_mention_of_several_notes_of_one_name_means_the_nearest() {
    let vault = namesakes();
    let write = |name: &str, text: &str| vault.0.write(&format!("vault/{name}"), text);
    write("d/near.md", "See [[same]].\n");
    write("e/far.md", "See [[same]].\n");
    write("e/path.md", "See [[d/same]].\n");
    write("e/none.md", "See [[x/same]].\n");
    assert!(vault.run(&["list"]).done().contains("d/same.md"));
    let listed = vault.run(&["list"]).done();
    assert!(
        listed.lines().any(|line| line.starts_with("same.md ")),
        "{listed}"
    );
    let found = vault.run(&["think", "--keywords", "B", "--json"]).text();
    assert!(found.contains("\"d/same.md\""), "{found}");
    let of = |id: &str| vault.run(&["links", id]).text();
    for (id, from, not) in [
        ("d/same", ["near", "path"], "far"),
        ("same.md", ["far", "far"], "near"),
    ] {
        let said = of(id);
        assert!(
            from.iter().all(|from| said.contains(from)) && !said.contains(not),
            "{id}: {said}"
        );
    }
    let missing = vault.run(&["links"]).text();
    assert!(
        missing.contains("x/same") && !missing.contains("near"),
        "{missing}"
    );
    let said = vault.run(&["verify"]).done();
    assert!(said.ends_with(": sound\n"), "{said}");
    // What is adopted is followed by the same rule.
    vault.run(&["adopt", "--yes"]).done();
    let linked = |folder: &str, text: &str| {
        let notes = texts(&vault.path().join(folder)).into_iter();
        let mut notes = notes.filter(|(_, note)| note.contains(text));
        let (name, note) = notes.next().unwrap();
        (name, note)
    };
    let (same, _) = linked("d", "\nB\n");
    let (_, near) = linked("d", "See [[");
    assert!(
        near.contains(&format!("[[{}|same]]", same.strip_suffix(".md").unwrap())),
        "{near}"
    );
    let missing = vault.run(&["links"]).text();
    assert_eq!(missing.lines().count(), 1, "{missing}");
}

#[test]
fn mentions_in_code_are_none_and_aliases_and_attachments_are_known() {
    let vault = Vault(Home::new());
    let path = vault.0.make("vault");
    fs::create_dir_all(path.join("files of mine")).unwrap();
    for (name, text) in [
        (
            "code.md",
            "`[[inline]]`\n\n```sh\n[[ -f x ]] && [[fenced]]\n```\n",
        ),
        (
            "flow.md",
            "---\naliases: [Big Apple, \"NYC\"]\n---\nA town.\n",
        ),
        ("block.md", "---\naliases:\n  - The Coast\n---\nA shore.\n"),
        (
            "talk.md",
            "[[big apple]] [[nyc|it]] [[The Coast]] ![[shot.png]] [[files of mine/plan.pdf]] [[gone.png]]\n",
        ),
    ] {
        fs::write(path.join(name), text).unwrap();
    }
    fs::write(path.join("files of mine/shot.png"), "png").unwrap();
    fs::write(path.join("files of mine/plan.pdf"), "pdf").unwrap();
    vault.run(&["init", "--here", "--notes", "."]).done();
    let missing = vault.run(&["links"]).done();
    assert_eq!(missing.lines().count(), 1, "{missing}");
    assert!(missing.contains("gone.png"), "{missing}");
    for note in ["flow", "block"] {
        let said = vault.run(&["links", note]).done();
        assert!(said.contains("talk"), "{note}: {said}");
    }
    let said = vault.run(&["links", "talk"]).done();
    assert!(
        said.contains("A town.") && said.contains("A shore."),
        "{said}"
    );
}

#[test]
fn tools_tell_notes_of_one_name_apart_by_their_whole_names() {
    let vault = namesakes();
    let mut command = vault.0.bare();
    command.current_dir(vault.path());
    command.args(["mcp", "--dialect", "ai-memory"]);
    let mut session = Session::open_on(command);
    for (id, text) in [("same.md", "A"), ("d/same.md", "B")] {
        let got = done(&mut session, "memory_get", json!({"id": id}));
        assert_eq!(got["memory"]["content"], format!("{text}\n"), "{got}");
        let update = json!({"id": id, "content": format!("new {text}")});
        done(&mut session, "memory_update", update);
        assert!(vault.read(id).ends_with(&format!("new {text}")));
        let link = json!({"source_id": "other", "target_id": id});
        done(&mut session, "memory_link", link);
        let links = done(&mut session, "memory_get_links", json!({"id": id}));
        assert_eq!(links["count"], 1, "{links}");
    }
    done(&mut session, "memory_delete", json!({"id": "d/same.md"}));
    assert!(!vault.path().join("d/same.md").exists());
    assert!(vault.path().join("same.md").exists());
}

#[test]
fn the_links_of_a_note_name_what_is_not_there() {
    let vault = Vault::new();
    let path = vault.path().join("Idea.md");
    fs::write(path, "See [[does not exist]].\n").unwrap();
    let of_all = vault.run(&["links"]).done();
    assert!(of_all.contains("does not exist"), "{of_all}");
    let of_it = vault.run(&["links", "Idea"]).done();
    assert!(of_it.contains("does not exist"), "{of_it}");
}

// Windows has no such names.
#[cfg(unix)]
#[test]
fn a_line_break_in_a_name_is_none_in_lists() {
    let vault = Vault::new();
    fs::write(vault.path().join("two\nlines.md"), "A finch.\n").unwrap();
    for arguments in [&["list"][..], &["adopt"], &["think", "finch"]] {
        let said = vault.run(arguments).text();
        assert!(said.contains("two\\nlines"), "{said}");
        assert!(!said.contains("two\nlines"), "{said}");
    }
}
