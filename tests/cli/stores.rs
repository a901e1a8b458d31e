//! Which store a command works on, how one is made, and whose memories go where.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::program::{Home, names, run};
use crate::support::session::Session;
use crate::support::{memory_text, real};

/// The store of a user who names none.
fn usual_store(home: &Home) -> PathBuf {
    let folder = if cfg!(windows) { "config" } else { "data" };
    home.root().join(folder).join("memdir")
}

#[test]
fn the_store_is_the_flags_then_the_environments_then_the_nearest_then_the_users() {
    let home = Home::new();
    let (flag, variable, other) = (home.make("flag"), home.make("variable"), home.make("aiaml"));
    let (near, deep) = (home.make("near"), home.make("near/deep/er"));
    let mut command = home.bare();
    command.current_dir(&deep).arg("path");
    let data = usual_store(&home);
    assert_eq!(run(&mut command).done(), format!("{}\n", data.display()));
    home.write("near/memdir.toml", "");
    let unasked = run(&mut command);
    assert_eq!(unasked.stdout, format!("{}\n", data.display()).as_bytes());
    assert!(
        unasked.stderr.contains("memdir trust"),
        "{}",
        unasked.stderr
    );
    run(home.bare().arg("trust").arg(&near)).done();
    assert_eq!(run(&mut command).done(), format!("{}\n", near.display()));
    command.env("AIAML_MEMORY_DIR", &other);
    assert_eq!(run(&mut command).done(), format!("{}\n", other.display()));
    command.env("MEMDIR_STORE", &variable);
    assert_eq!(
        run(&mut command).done(),
        format!("{}\n", variable.display())
    );
    command.arg("--store").arg(&flag);
    assert_eq!(run(&mut command).done(), format!("{}\n", flag.display()));
}

#[test]
fn a_folder_with_memories_is_a_store_and_a_folder_with_files_is_not() {
    let home = Home::new();
    let deep = home.make("near/deep");
    home.write("near/files/readme.md", "no memory");
    let mut command = home.bare();
    command.current_dir(&deep).arg("path");
    assert_eq!(
        run(&mut command).done(),
        format!("{}\n", usual_store(&home).display())
    );
    home.write("near/files/20260114_091500_1f3a9c02.md", "");
    let near = home.root().join("near");
    run(home.bare().arg("trust").arg(&near)).done();
    assert_eq!(run(&mut command).done(), format!("{}\n", near.display()));
}

#[test]
fn the_users_settings_name_a_store_where_nothing_nearer_does() {
    let home = Home::new();
    home.write("config/memdir/config.toml", "store = \"~/mine\"\n");
    let mine = home.root().join("mine");
    assert_eq!(
        run(home.bare().arg("path")).done(),
        format!("{}\n", mine.display())
    );
}

#[test]
fn init_makes_a_store_once_and_harms_none() {
    let home = Home::new();
    let said = run(home.bare().args(["init", "new/one"])).done();
    assert!(said.ends_with("new/one is a store now\n"), "{said}");
    let store = home.root().join("new/one");
    let made = [".git", ".memdir", "files", "memdir.toml"];
    assert_eq!(names(&store), made);
    home.write("new/one/memdir.toml", "limit = 7\n");
    let said = run(home.bare().args(["init", "new/one"])).done();
    assert!(said.ends_with("is a store already\n"), "{said}");
    let mut command = home.bare();
    command
        .current_dir(store.join("files"))
        .args(["config", "--json"]);
    assert_eq!(run(&mut command).json()["limit"]["value"], "7");
    // Without a folder it is the working folder, or the flag's.
    run(home.bare().current_dir(home.make("here")).arg("init")).done();
    assert!(home.root().join("here/memdir.toml").exists());
    run(home.bare().args(["--store", "there", "init"])).done();
    assert!(home.root().join("there/memdir.toml").exists());
}

#[test]
#[cfg(unix)]
fn what_is_made_is_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let mut shell = Command::new("sh");
    home.surround(&mut shell);
    let script = r#"umask 000; "$0" init made && cd made && "$0" remember --topics a text && "$0" reindex --full && id=$("$0" remember more) && "$0" forget "$id""#;
    run(shell.args(["-c", script, env!("CARGO_BIN_EXE_memdir")])).done();
    let store = home.root().join("made");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let open: Vec<_> = crate::support::regular_files(&store)
        .into_iter()
        .filter(|path| {
            let is_gits = path.starts_with(store.join(".git"));
            let is_private = mode(path) == 0o600 || (is_gits && mode(path) & 0o077 == 0);
            !is_private || mode(path.parent().unwrap()) != 0o700
        })
        .map(|path| format!("{} {:o}", path.display(), mode(&path)))
        .collect();
    assert_eq!(open, [""; 0]);
    assert_eq!(mode(&store.join("files")), 0o700);
}

#[test]
fn a_store_that_was_named_by_the_environment_is_made_when_first_written_to() {
    let home = Home::new();
    let mut command = home.bare();
    command
        .env("MEMDIR_STORE", "fresh")
        .args(["remember", "A text."]);
    run(&mut command).done();
    assert_eq!(names(&home.root().join("fresh/files")).len(), 1);
    // Reading makes none.
    let mut command = home.bare();
    command
        .env("MEMDIR_STORE", "unread")
        .args(["think", "text"]);
    run(&mut command).complains(2, &["unread is no store", "memdir init"]);
    assert!(!home.root().join("unread").exists());
}

#[test]
fn a_store_that_was_named_on_the_command_line_is_made_where_nothing_is() {
    let home = Home::new();
    let made = run(home.bare().args(["--store", "new", "remember", "x"]));
    assert!(
        made.stderr.contains("there was no store in"),
        "{}",
        made.stderr
    );
    assert_eq!(names(&home.root().join("new/files")).len(), 1);
    fs::create_dir(home.root().join("empty")).unwrap();
    run(home.bare().args(["--store", "empty", "remember", "x"]));
    assert_eq!(names(&home.root().join("empty/files")).len(), 1);
    // Reading makes none, and neither does a slip.
    run(home.bare().args(["--store", "unread", "think", "x"]))
        .complains(2, &["unread is no store"]);
    home.write("full/notes.txt", "mine");
    for slip in ["full", "far/away"] {
        run(home.bare().args(["--store", slip, "remember", "x"])).complains(2, &["is no store"]);
    }
    assert_eq!(names(&home.root().join("full")), ["notes.txt"]);
    assert!(!home.root().join("unread").exists() && !home.root().join("far").exists());
}

#[test]
fn a_server_makes_the_store_that_it_was_given_and_says_so() {
    let home = Home::new();
    let root = home.root().join("fresh");
    let mut server = home.bare();
    server.arg("--store").arg(&root).arg("mcp");
    let mut session = Session::open_on(server);
    let reply = session.tool(
        "remember",
        json!({"content": "a", "agent": "a", "user": "u", "topics": ["a"]}),
    );
    let notice = |reply: &Value| reply["structuredContent"]["notice"].clone();
    let said = notice(&reply);
    assert!(
        said.as_str().unwrap().contains("there was no store in"),
        "{reply}"
    );
    // The text is as it is expected, and once is enough.
    assert_eq!(reply["content"].as_array().unwrap().len(), 1, "{reply}");
    assert!(
        !reply["content"].to_string().contains("no store"),
        "{reply}"
    );
    assert_eq!(names(&root.join("files")).len(), 1);
    assert!(notice(&session.tool("think", json!({"query": "a"}))).is_null());
}

#[test]
fn a_server_tells_agents_that_writes_go_to_another_store() {
    let home = Home::new();
    home.run(&["remember", "x"]).done();
    let mut server = home.bare();
    server.arg("mcp").current_dir(home.make("project/files"));
    let mut session = Session::open_on(server);
    let reply = session.tool("think", json!({"query": "x"}));
    let notice = reply["structuredContent"]["notice"].as_str();
    assert!(
        notice.is_some_and(|notice| notice.contains("looks like a store")),
        "{reply}"
    );
}

#[test]
fn settings_are_set_and_unset_and_comments_stay() {
    let home = Home::new();
    let file = home.write("config/memdir/config.toml", "# mine\nlimit = 3 # few\n");
    let text = || fs::read_to_string(&file).unwrap();
    home.run(&["config", "set", "limit", "7"]).done();
    home.run(&["config", "set", "user", "mira"]).done();
    home.run(&["config", "set", "life.short", "2h"]).done();
    assert_eq!(
        text(),
        "# mine\nlimit = 7 # few\nuser = \"mira\"\n\n[life]\nshort = \"2h\"\n"
    );
    let settings = home.run(&["config", "--json"]).json();
    assert_eq!(settings["limit"]["value"], "7");
    let before = text();
    home.run(&["config", "set", "limit", "many"])
        .complains(2, &["limit", "Nothing was changed"]);
    home.run(&["config", "set", "capture.exclude", r#"["C:\Users"]"#])
        .complains(2, &["capture.exclude", "is no list", "single ones"]);
    home.run(&["config", "set", "limits", "7"])
        .complains(2, &["`limits` is unknown"]);
    home.run(&["config", "set", "life.shrt", "2h"])
        .complains(2, &["shrt"]);
    assert_eq!(text(), before);
    home.run(&["config", "set", "people.emi", "[\"Kate\", \"K\"]"])
        .done();
    home.run(&["config", "set", "people.akib", "Aqib"]).done();
    let settings = home.run(&["config", "--json"]).json();
    assert_eq!(settings["people"]["value"], "akib = Aqib; emi = Kate, K");
    home.run(&["config", "set", "people.emi", "[]"])
        .complains(2, &["`people` is", "no user with names"]);
    for user in ["people.emi", "people.akib"] {
        home.run(&["config", "unset", user]).done();
    }
    home.run(&["config", "unset", "life.short"]).done();
    home.run(&["config", "unset", "user"]).done();
    assert_eq!(text(), "# mine\nlimit = 7 # few\n\n[life]\n\n[people]\n");
    home.run(&["config", "set", "--in-store", "layout", "by-month"])
        .done();
    let of_store = fs::read_to_string(home.store().join("memdir.toml")).unwrap();
    assert_eq!(of_store, "layout = \"by-month\"\n");
    home.run(&["config", "set", "--in-store", "editor", "vi"])
        .complains(2, &["editor"]);
}

#[test]
fn every_setting_says_where_it_comes_from() {
    let home = Home::new();
    home.write(
        "config/memdir/config.toml",
        "agent = \"mine\"\nuser = \"me\"\nlimit = 3\neditor = \"ed\"\n",
    );
    home.write(
        "store/memdir.toml",
        "user = \"ours\"\nlimit = 4\nlanguages = [\"german\"]\n",
    );
    let mut command = home.command(&["config", "--json"]);
    command
        .env("MEMDIR_LIMIT", "5")
        .env("AIAML_LOG_LEVEL", "ERROR");
    let settings = run(&mut command).json();
    let file = |path: &str| json!(real(&home.root().join(path)));
    let check = |key: &str, value: &str, origin: serde_json::Value| {
        assert_eq!(
            settings[key],
            json!({"value": value, "origin": origin}),
            "{key}"
        );
    };
    check(
        "store",
        home.store().to_str().unwrap(),
        json!("MEMDIR_STORE"),
    );
    check("index_dir", "", json!("default"));
    check("agent", "mine", file("config/memdir/config.toml"));
    check("user", "ours", file("store/memdir.toml"));
    check("namespace", "global", json!("default"));
    check("languages", "german", file("store/memdir.toml"));
    check("limit", "5", json!("MEMDIR_LIMIT"));
    check("editor", "ed", file("config/memdir/config.toml"));
    check("log", "error", json!("AIAML_LOG_LEVEL"));
    assert_eq!(settings.as_object().unwrap().len(), 89);
    let plain = run(home.command(&["config"]).env("MEMDIR_LIMIT", "5")).done();
    let line = plain
        .lines()
        .find(|line| line.starts_with("limit "))
        .unwrap();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["limit", "5", "(MEMDIR_LIMIT)"]
    );
    let column = |line: &str| line.find('(');
    let git = plain.lines().find(|line| line.starts_with("git ")).unwrap();
    assert_eq!(column(line), column(git), "{plain}");
}

#[test]
fn a_wrong_setting_is_named_with_its_place() {
    let home = Home::new();
    let with = |name: &str, value: &str| run(home.command(&["list"]).env(name, value));
    with("MEMDIR_LIMIT", "many").complains(2, &["MEMDIR_LIMIT: `limit` is `many`"]);
    with("MEMDIR_LANGUAGES", "klingon").complains(2, &["MEMDIR_LANGUAGES", "klingon"]);
    home.write("config/memdir/config.toml", "limit = \n");
    home.run(&["list"])
        .complains(2, &["config/memdir/config.toml is no TOML"]);
}

#[test]
fn broken_settings_of_a_store_keep_nobody_from_its_memories() {
    let home = Home::new();
    home.remember(&["A heron."]);
    home.write("store/memdir.toml", "limit = \n");
    home.run(&["list"])
        .complains(0, &["store/memdir.toml is no TOML", "settings are ignored"]);
}

#[test]
fn a_store_that_names_a_command_is_not_obeyed() {
    let home = Home::new();
    home.write(
        "store/memdir.toml",
        "editor = \"touch pwned\"\nindex_dir = \"/nonexistent\"\n",
    );
    let ran = home.run(&["config", "--json"]);
    assert_eq!(ran.json()["editor"]["value"], "");
    assert_eq!(ran.json()["index_dir"]["value"], "");
    ran.complains(
        0,
        &[
            "`editor` may not be set by a store",
            "`index_dir` may not be set by a store",
        ],
    );
}

#[test]
fn the_namespace_is_the_projects() {
    let home = Home::new();
    let project = home.make("work/compass/src/deep");
    let namespace = |command: &mut Command| {
        let id = run(command).text().trim().to_owned();
        home.run(&["recall", &id, "--json"]).json()[0]["namespace"].clone()
    };
    let within = |more: &[&str]| {
        let mut command = home.command(&["remember", "A text."]);
        command.args(more).current_dir(&project);
        command
    };
    assert_eq!(namespace(&mut within(&[])), json!(null));
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        home.surround(&mut git);
        run(git
            .current_dir(home.root().join("work/compass"))
            .args(arguments))
    };
    assert_eq!(git(&["init", "-q"]).code, 0);
    assert_eq!(namespace(&mut within(&[])), json!("compass"));
    assert_eq!(
        git(&["remote", "add", "origin", "git@git.example:team/atlas.git"]).code,
        0
    );
    assert_eq!(namespace(&mut within(&[])), json!("atlas"));
    assert_eq!(
        namespace(&mut within(&["--namespace", "other"])),
        json!("other")
    );
    assert_eq!(
        namespace(&mut within(&["--namespace", "global"])),
        json!(null)
    );
    assert_eq!(
        namespace(within(&[]).env("MEMDIR_NAMESPACE", "global")),
        json!(null)
    );
    assert_eq!(
        namespace(within(&[]).env("MEMDIR_NAMESPACE", "mine")),
        json!("mine")
    );
    let found = home.run(&["list", "--namespace", "atlas", "--json"]).json();
    assert_eq!(found["total"], 1);
}

#[test]
fn read_only_refuses_every_change_of_memories() {
    let home = Home::new();
    home.put(
        "20260114_091500_1f3a9c02.md",
        memory_text("1f3a9c02", "2026-01-14T09:15:00Z", "A needle."),
    );
    let refused = |arguments: &[&str]| {
        let ran = home.run(&[arguments, &["--read-only"]].concat());
        assert_ne!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains("can only be read"), "{ran:?}");
    };
    refused(&["remember", "x"]);
    refused(&["update", "1f3a", "--title", "x"]);
    refused(&["edit", "1f3a"]);
    refused(&["forget", "1f3a"]);
    home.run(&["init", "new", "--read-only"])
        .complains(2, &["cannot be made with --read-only"]);
    home.run(&["--read-only", "think", "needle"]).done();
    home.run(&["--read-only", "recall", "1f3a"]).done();
    home.run(&["--read-only", "grep", "needle"]).done();
    home.run(&["--read-only", "reindex"]).done();
    home.run(&["--read-only", "verify"]).done();
    // The index is no memory, and a store that can be written keeps its own.
    assert_eq!(names(&home.store()), [".memdir", "files"]);
    assert_eq!(names(&home.files()), ["20260114_091500_1f3a9c02.md"]);
    let mut command = home.bare();
    command
        .env("MEMDIR_STORE", "fresh")
        .args(["--read-only", "remember", "x"]);
    assert_eq!(run(&mut command).code, 2);
    assert!(!home.root().join("fresh").exists() && !home.root().join("new").exists());
}

#[test]
fn the_index_lies_where_it_is_told_to() {
    let home = Home::new();
    home.remember(&["A needle."]);
    std::fs::remove_dir_all(home.store().join(".memdir")).unwrap();
    let mut command = home.command(&["reindex"]);
    run(command.env("MEMDIR_INDEX_DIR", home.root().join("elsewhere"))).done();
    assert_eq!(names(&home.store()), [".git", "files", "journal"]);
    assert!(home.root().join("elsewhere").is_dir());
}

#[test]
fn a_remote_that_cannot_be_had_leaves_no_store() {
    let home = Home::new();
    let init = |folder: &str| {
        let mut command = home.bare();
        command.args([
            "init",
            folder,
            "--remote",
            "./no-such-remote",
            "--allow-local",
        ]);
        run(&mut command)
    };
    assert_ne!(init("deep/new").code, 0);
    assert!(!home.root().join("deep").exists());
    // What was there before stays, and nothing is beside it.
    home.write("notes/files/a.md", "A note of somebody.");
    home.write("notes/other.txt", "x");
    assert_ne!(init("notes").code, 0);
    assert_eq!(names(&home.root().join("notes")), ["files", "other.txt"]);
    assert_eq!(names(&home.root().join("notes/files")), ["a.md"]);
    let mut command = home.bare();
    let said = run(command.args(["trust", "--json"]));
    assert!(!said.stderr.contains("notes"));
    assert!(!String::from_utf8_lossy(&said.stdout).contains("notes"));
}

#[test]
fn a_write_that_goes_elsewhere_than_the_folder_suggests_says_so() {
    let home = Home::new();
    home.make("half/.memdir");
    let inside = home.make("half/deeper");
    let remember = |folder: &std::path::Path| {
        let mut command = home.bare();
        command.current_dir(folder).args(["remember", "A needle."]);
        let ran = run(&mut command);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stderr
    };
    let said = remember(&inside);
    assert!(said.contains("half looks like a store"), "{said}");
    assert!(said.contains("memdir init"), "{said}");
    assert_eq!(names(&home.root().join("half")), [".memdir", "deeper"]);
    let other = home.make("other");
    assert!(!remember(&other).contains("looks like"));
    // Who names a store knows where it goes.
    let mut command = home.command(&["remember", "Another needle."]);
    let said = run(command.current_dir(&inside));
    assert!(!said.stderr.contains("looks like"), "{said:?}");
}

#[test]
fn a_folder_that_is_no_store_says_why_and_what_to_do() {
    let home = Home::new();
    home.write("file", "somebody's");
    let parts = [
        "a store in",
        "file is no folder",
        "hint: Name another folder",
    ];
    for store in ["file", "file/below", "file/far/below"] {
        run(home.bare().args(["--store", store, "init"])).complains(2, &parts);
        for arguments in [&["remember", "x"][..], &["list"], &["mcp"], &["serve"]] {
            run(home.bare().args(["--store", store]).args(arguments)).complains(2, &parts);
            run(home.bare().env("MEMDIR_STORE", store).args(arguments)).complains(2, &parts);
        }
    }
    let parts = [
        "no store: neither it nor the folder",
        "far exists",
        "memdir init",
    ];
    for arguments in [&["remember", "x"][..], &["list"], &["mcp"], &["serve"]] {
        run(home
            .bare()
            .args(["--store", "far/away/new"])
            .args(arguments))
        .complains(2, &parts);
    }
    run(home.bare().args(["--store", "near", "list"])).complains(
        2,
        &["near is no store: there is nothing yet", "memdir init"],
    );
    assert_eq!(fs::read(home.root().join("file")).unwrap(), b"somebody's");
    assert!(!home.root().join("far").exists());
}

#[test]
fn init_refuses_two_folders_for_one_store() {
    let home = Home::new();
    home.make("notes");
    let init =
        |store: &str, more: &[&str]| run(home.bare().args(["--store", store, "init"]).args(more));
    for more in [&["--notes", "notes"][..], &["--here"], &["other"]] {
        init("x", more).complains(
            2,
            &["cannot make one store in two folders", "Leave --store out"],
        );
    }
    assert_eq!(names(&home.root().join("notes")), [""; 0]);
    assert!(!home.root().join("x").exists() && !home.root().join("other").exists());
    // The same folder under both names is one.
    init("notes", &["--notes", "./notes"]).done();
    assert!(home.root().join("notes/.memdir-store/memdir.toml").exists());
    init("same", &["./same"]).done();
    assert!(home.root().join("same/memdir.toml").exists());
}

#[test]
fn a_log_level_that_nobody_knows_is_told_and_hides_no_warning() {
    let home = Home::new();
    let ran = run(home.command(&["list"]).env("MEMDIR_LOG", "loud"));
    let told = ran.stderr.matches("MEMDIR_LOG is `loud`").count();
    assert_eq!(told, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("`warn` is taken"), "{}", ran.stderr);
}

/// Runs all commands at once; each must say that it is done.
fn at_once(home: &Home, commands: &[Vec<String>]) {
    let commands = commands.iter().map(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        home.command(&words)
    });
    let begun: Vec<_> = commands.map(|mut one| one.spawn().unwrap()).collect();
    for mut one in begun {
        assert!(one.wait().unwrap().success());
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn of_settings_and_tokens_that_are_changed_at_once_none_is_lost() {
    let home = Home::new();
    home.remember(&["One."]);
    let each = |command: &str| -> Vec<Vec<String>> {
        (0..8)
            .map(|n| words(&command.replace('N', &n.to_string())))
            .collect()
    };
    at_once(&home, &each("config set people.nN vN"));
    let settings = fs::read_to_string(home.root().join("config/memdir/config.toml")).unwrap();
    at_once(
        &home,
        &["layout by-month", "namespace x", "limit 3"]
            .map(|one| words(&format!("config set --in-store {one}"))),
    );
    let of_store = fs::read_to_string(home.store().join("memdir.toml")).unwrap();
    assert!(
        of_store.contains("by-month")
            && of_store.contains("namespace")
            && of_store.contains("limit"),
        "{of_store}"
    );
    at_once(&home, &each("token new tN"));
    let mut changes: Vec<_> = (0..4)
        .map(|n| words(&format!("token remove t{n}")))
        .collect();
    changes.extend((0..4).map(|n| words(&format!("token new u{n}"))));
    at_once(&home, &changes);
    let tokens = home.run(&["token"]).text();
    for n in 0..8 {
        assert!(settings.contains(&format!("n{n} = \"v{n}\"")), "{settings}");
        assert_eq!(tokens.contains(&format!("t{n}")), n >= 4, "{tokens}");
        assert_eq!(tokens.contains(&format!("u{n}")), n < 4, "{tokens}");
    }
}
