//! `memdir setup`, as people use it.

use std::fs;
use std::path::Path;

use memdir::clients::Words;
use memdir::dialect;

#[cfg(unix)]
use crate::support::make_executable;
use crate::support::program::{Home, run};

/// Every file below a folder but the records of what was changed, with its bytes.
fn files(home: &Home) -> Vec<(String, Vec<u8>)> {
    let root = home.root();
    let files = crate::support::regular_files(&root).into_iter();
    let files = files.filter(|path| !path.starts_with(root.join("state")));
    files
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            (name, fs::read(path).unwrap())
        })
        .collect()
}

/// Makes the folder by which each client is found.
fn with_every_client() -> Home {
    let home = Home::new();
    for folder in [
        ".claude",
        "config/Claude",
        ".codex",
        ".cursor",
        "config/Code/User",
        ".copilot",
        ".codeium/windsurf",
        ".gemini/config",
        ".gemini/antigravity-cli",
        "config/zed",
        "config/opencode",
        "config/goose",
    ] {
        home.make(folder);
    }
    home.write(".gemini/settings.json", "{}\n");
    home
}

#[cfg(target_os = "linux")]
#[test]
fn every_client_that_is_found_is_set_up_and_taken_out() {
    let home = with_every_client();
    let before = files(&home);
    let looked = home.run(&["setup"]);
    assert_eq!(looked.code, 1);
    let lines = looked.lines();
    for client in memdir::clients::CLIENTS {
        assert!(
            lines.iter().any(|line| line.starts_with(client.name)),
            "{}",
            client.name
        );
    }
    assert_eq!(files(&home), before);

    let ran = home.run(&["setup", "--yes", "--json"]);
    let document = ran.json();
    assert_eq!(
        document["clients"].as_array().unwrap().len(),
        memdir::clients::CLIENTS.len()
    );
    // Goose alone has settings that are not changed.
    let left = document["left"].as_array().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["client"], "goose");
    assert!(
        left[0]["snippet"]
            .as_str()
            .unwrap()
            .starts_with("extensions:\n  memdir:\n")
    );
    let after = files(&home);
    assert!(after.len() > before.len() + 15, "{}", after.len());
    assert_eq!(
        home.run(&["setup", "--yes"]).text(),
        "Everything is set up already.\n"
    );
    assert_eq!(files(&home), after);

    assert_eq!(home.run(&["setup", "--uninstall", "--yes"]).code, 0);
    assert_eq!(files(&home), before);
    assert!(!home.root().join(".agents").exists());
    let again = home.run(&["setup", "--uninstall", "--yes"]).done();
    assert_eq!(
        again,
        "Nothing of memdir is in the files of these clients.\n"
    );
}

#[test]
fn each_entry_is_what_its_client_reads() {
    let home = with_every_client();
    let mut command = home.command(&["setup", "--yes"]);
    command.env("PATH", on_path(&home));
    run(&mut command);
    let text = |name: &str| fs::read_to_string(home.root().join(name)).unwrap();
    let json = |name: &str| -> serde_json::Value { serde_json::from_str(&text(name)).unwrap() };
    let entry = serde_json::json!({
        "type": "stdio", "command": "memdir", "args": ["mcp"], "alwaysLoad": true
    });
    assert_eq!(json(".claude.json")["mcpServers"]["memdir"], entry);
    assert_eq!(
        text(".codex/config.toml"),
        "[mcp_servers.memdir]\ncommand = \"memdir\"\nargs = [\"mcp\"]\n"
    );
    let copilot = &json(".copilot/mcp-config.json")["mcpServers"]["memdir"];
    assert_eq!(copilot["deferTools"], "never");
    let gemini = json(".gemini/settings.json");
    assert_eq!(gemini["mcpServers"]["memdir"]["command"], "memdir");
    let hook = &gemini["hooks"]["BeforeAgent"][0]["hooks"][0];
    assert_eq!(hook["command"], "memdir hook prompt --client gemini");
    assert_eq!(hook["timeout"], 5000);
    let cursor = json(".cursor/hooks.json");
    assert_eq!(cursor["version"], 1);
    let start = cursor["hooks"]["sessionStart"][0]["command"]
        .as_str()
        .unwrap();
    assert!(
        start.ends_with(" hook session-start --client cursor"),
        "{start}"
    );
}

/// A PATH that leads to the program, and to nothing else.
#[cfg(unix)]
fn on_path(home: &Home) -> std::path::PathBuf {
    let folder = home.make("programs");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_memdir"), folder.join("memdir")).unwrap();
    folder
}

/// A PATH that leads to the program; a user may make no link there.
#[cfg(not(unix))]
fn on_path(_: &Home) -> std::path::PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_memdir"));
    program.parent().unwrap().to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn clients_of_the_desktop_get_a_path_and_shells_a_name() {
    let home = Home::new();
    let folder = on_path(&home);
    let mut command = home.command(&["setup", "codex", "zed", "--yes"]);
    let ran = run(command.env("PATH", &folder));
    let zed = fs::read_to_string(home.root().join("config/zed/settings.json")).unwrap();
    let path = folder.join("memdir");
    assert!(
        zed.contains(&format!("\"command\": \"{}\"", path.display())),
        "{zed}"
    );
    assert!(
        ran.stderr.contains("Zed is started from the desktop"),
        "{ran:?}"
    );
    let codex = fs::read_to_string(home.root().join(".codex/config.toml")).unwrap();
    assert!(codex.contains("command = \"memdir\""), "{codex}");
    let elsewhere = home.run(&["setup", "gemini", "--yes"]);
    assert!(
        elsewhere.stderr.contains("memdir is not on the PATH"),
        "{elsewhere:?}"
    );
    let gemini = fs::read_to_string(home.root().join(".gemini/settings.json")).unwrap();
    assert!(gemini.contains(env!("CARGO_BIN_EXE_memdir")), "{gemini}");
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone_and_its_text_printed() {
    let home = Home::new();
    let broken = "{\"mcpServers\": {,}}";
    let path = home.write(".cursor/mcp.json", broken);
    let ran = home.run(&["setup", "cursor", "--yes"]);
    ran.complains(
        1,
        &[
            "left alone: ~/.cursor/mcp.json (Cursor, server): it cannot be read as JSON",
            "Put this into it yourself:",
            "\"mcpServers\": {",
        ],
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    assert!(home.root().join(".cursor/hooks.json").exists());
}

#[test]
fn a_dry_run_shows_a_diff_and_writes_nothing() {
    let home = Home::new();
    let path = home.write(".cursor/mcp.json", "{\n  \"mcpServers\": {} // mine\n}\n");
    let before = files(&home);
    let shown = home
        .run(&[
            "setup",
            "cursor",
            "--no-hooks",
            "--no-instructions",
            "--dry-run",
        ])
        .done();
    let path = path.display();
    assert!(
        shown.starts_with(&format!(
            "--- {path}\n+++ {path}\n@@ -1,3 +1,8 @@\n {{\n-  \"mcpServers\": {{}} // mine\n+  \"mcpServers\": {{\n+    \"memdir\": {{\n"
        )),
        "{shown}"
    );
    assert!(shown.contains("+  } // mine\n }\n"), "{shown}");
    assert_eq!(files(&home), before);
}

#[test]
fn texts_for_pasting_are_printed() {
    let home = Home::new();
    let before = files(&home);
    let shown = home.run(&["setup", "goose", "vscode", "--print"]).done();
    assert!(shown.contains("Goose, server: "), "{shown}");
    assert!(shown.contains("    args: [\"mcp\"]"), "{shown}");
    assert!(shown.contains("\"servers\": {"), "{shown}");
    assert_eq!(files(&home), before);
}

#[test]
fn a_project_gets_files_of_its_own() {
    let home = Home::new();
    let project = home.make("work/atlas");
    let mut command = home.command(&[
        "setup",
        "claude-code",
        "codex",
        "vscode",
        "--project",
        "--yes",
    ]);
    assert_eq!(run(command.current_dir(&project)).code, 0);
    let names = [
        ".agents/skills/memdir/SKILL.md",
        ".claude/settings.json",
        ".claude/skills/memdir/SKILL.md",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".mcp.json",
        ".vscode/mcp.json",
        "AGENTS.md",
        "CLAUDE.md",
    ];
    let found = crate::support::regular_files(&project);
    let found: Vec<String> = found
        .iter()
        .map(|path| path.strip_prefix(&project).unwrap().display().to_string())
        .map(|name| name.replace(std::path::MAIN_SEPARATOR, "/"))
        .collect();
    assert_eq!(found, names);
    let mut command = home.command(&["setup", "--project", "--uninstall", "--yes"]);
    assert_eq!(run(command.current_dir(&project)).code, 0);
    assert_eq!(fs::read_dir(&project).unwrap().count(), 0);
}

#[test]
fn an_entry_that_a_person_wrote_keeps_its_command() {
    let home = Home::new();
    let own = "{\"mcpServers\": {\"memdir\": {\"command\": \"/old/memdir\", \"args\": [\"--store\", \"/mine\", \"mcp\"], \"env\": {\"A\": \"b\"}}}}";
    let path = home.write(".claude.json", own);
    let ran = home.run(&[
        "setup",
        "claude-code",
        "--no-hooks",
        "--no-instructions",
        "--yes",
    ]);
    assert!(
        ran.stderr
            .contains("runs a command of your own, which stays"),
        "{ran:?}"
    );
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"command\": \"/old/memdir\", \"args\": [\"--store\", \"/mine\", \"mcp\"], \"env\": {\"A\": \"b\"}"), "{text}");
    assert!(text.contains("\"alwaysLoad\": true"), "{text}");
    home.run(&["setup", "--uninstall", "--yes"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), own);

    let other = own.replace("/old/memdir", "another-server");
    fs::write(&path, &other).unwrap();
    let ran = home.run(&[
        "setup",
        "claude-code",
        "--no-hooks",
        "--no-instructions",
        "--yes",
    ]);
    ran.complains(1, &["it is not memdir's"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), other);
}

#[test]
fn another_tool_set_is_served_and_named() {
    let home = Home::new();
    let text = |name: &str| fs::read_to_string(home.root().join(name)).unwrap();
    home.run(&["setup", "codex", "--dialect", "loci", "--yes"]);
    assert!(text(".codex/config.toml").contains("args = [\"mcp\", \"--dialect\", \"loci\"]"));
    assert!(text(".codex/AGENTS.md").contains("`store_memory`"));
    let ran = home.run(&["setup", "codex", "--tools", "forget", "--yes"]);
    assert!(
        ran.stderr.contains("Agents get the tool `forget`, too"),
        "{ran:?}"
    );
    assert!(text(".codex/config.toml").contains("args = [\"mcp\", \"--tools\", \"forget\"]"));
    assert!(text(".codex/AGENTS.md").contains("`forget`"));
    assert!(!text(".codex/AGENTS.md").contains("`store_memory`"));
    home.run(&["setup", "codex", "--yes"]);
    assert!(text(".codex/config.toml").contains("args = [\"mcp\"]"));
    home.run(&["setup", "codex", "--tools", "fly", "--yes"])
        .complains(2, &["fly"]);
    home.run(&["setup", "codex", "--dialect", "loci", "--tools", "forget"])
        .complains(2, &["--tools adds to `core` only"]);
}

/// The texts name tools that exist.
#[test]
fn the_tools_that_instructions_name_are_served() {
    for name in dialect::NAMES {
        let words = Words::of(name, false).unwrap();
        let served = served(name);
        for tool in words.tools() {
            assert!(
                served.iter().any(|one| one == tool),
                "{name} serves no {tool}: {served:?}"
            );
        }
    }
    let more = Words::of("core", true).unwrap();
    assert!(more.tools().contains(&"forget"));
}

fn served(name: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialects");
    let file = match name {
        "core" => "core-all.tools.json".to_owned(),
        name => format!("{name}.tools.json"),
    };
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tools = document
        .get("tools")
        .unwrap_or(&document)
        .as_array()
        .unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn on_a_machine_without_clients_the_names_are_shown() {
    let home = Home::new();
    let mut command = home.command(&["setup"]);
    let ran = run(command.env("PATH", home.make("programs")));
    assert_eq!(ran.code, 1);
    assert!(
        ran.text().contains("claude-code, claude-desktop, codex"),
        "{ran:?}"
    );
    let mut command = home.command(&["--read-only", "setup", "codex", "--yes"]);
    run(&mut command).complains(2, &["--read-only"]);
}

/// The plugins of the examples hold what `setup --print` prints; `MEMDIR_RENEW=1` writes it there.
#[test]
fn the_plugins_hold_what_setup_prints() {
    let home = Home::new();
    let programs = on_path(&home);
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plugins");
    for client in ["claude-code", "codex"] {
        let mut command = home.command(&["setup", client, "--print", "--json"]);
        let printed = run(command.env("PATH", &programs)).json();
        for (part, file) in [
            ("hooks", "hooks/hooks.json"),
            ("skill", "skills/memdir/SKILL.md"),
        ] {
            let snippets = printed["snippets"].as_array().unwrap();
            let snippet = snippets
                .iter()
                .find(|snippet| snippet["part"] == part)
                .unwrap();
            let text = snippet["text"].as_str().unwrap();
            let path = plugins.join(client).join(file);
            if std::env::var_os("MEMDIR_RENEW").is_some() {
                fs::write(&path, text).unwrap();
            }
            assert_eq!(
                fs::read_to_string(&path).unwrap(),
                text,
                "{}",
                path.display()
            );
        }
        let manifest = plugins.join(client).join(match client {
            "codex" => ".codex-plugin/plugin.json",
            _ => ".claude-plugin/plugin.json",
        });
        let manifest: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(manifest).unwrap()).unwrap();
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn in_a_terminal_it_asks_which_clients_to_set_up() {
    use crate::support::{has_terminal, program::run_with};
    let home = Home::new();
    home.make(".cursor");
    home.make(".codex");
    if !has_terminal() {
        return;
    }
    let mut command = std::process::Command::new("script");
    home.surround(&mut command);
    let line = format!("'{}' setup --no-hooks", env!("CARGO_BIN_EXE_memdir"));
    command.args(["-qec", &line, "/dev/null"]);
    let ran = run_with(&mut command, b"nobody\ncursor\n");
    let text = ran.text();
    assert!(text.contains("There is no client `nobody`."), "{text}");
    assert!(text.contains("make    ~/.cursor/mcp.json"), "{text}");
    assert!(!home.root().join(".codex/config.toml").exists());
}

#[cfg(unix)]
#[test]
fn doctor_says_which_clients_know_this_program_and_that_their_hooks_answer() {
    let home = Home::new();
    let folder = on_path(&home);
    home.make(".codex");
    home.make(".cursor");
    let doctor = |code: i32| {
        let mut command = home.command(&["doctor", "--json"]);
        let ran = run(command.env("PATH", &folder));
        assert_eq!(ran.code, code, "{ran:?}");
        ran.json()["checks"].as_array().unwrap().clone()
    };
    let of = |checks: &[serde_json::Value], name: &str| -> Vec<String> {
        let checks = checks.iter().filter(|check| check["name"] == name);
        checks
            .map(|check| format!("{} {}", check["well"], check["what"].as_str().unwrap()))
            .collect()
    };
    home.remember(&["Atlas is deployed on Fridays."]);
    let checks = doctor(1);
    assert_eq!(
        of(&checks, "client"),
        ["false none knows memdir; found here: codex, cursor"]
    );
    assert!(of(&checks, "hooks").is_empty());

    let mut command = home.command(&["setup", "codex", "--yes"]);
    assert_eq!(run(command.env("PATH", &folder)).code, 0);
    let checks = doctor(0);
    assert_eq!(
        of(&checks, "client"),
        [
            "true Codex: `memdir mcp` in ~/.codex/config.toml",
            "true found, and not set up: cursor; `memdir setup NAME` does it"
        ]
    );
    let hooks = of(&checks, "hooks").join("\n");
    assert!(hooks.starts_with("true codex: session-start "), "{hooks}");
    assert!(hooks.contains("(1 memory of "), "{hooks}");
    home.run(&["brief", "--log"])
        .complains(1, &["nothing unasked"]);

    let gone = "[mcp_servers.memdir]\ncommand = \"/gone/memdir\"\nargs = [\"mcp\"]\n";
    home.write(".codex/config.toml", gone);
    let wrong = "false Codex: ~/.codex/config.toml starts `/gone/memdir`, which is not there";
    assert_eq!(of(&doctor(1), "client")[0], wrong);
    home.write(".codex/config.toml", "[mcp_servers");
    let wrong = "false Codex: ~/.codex/config.toml cannot be read: it cannot be read as TOML";
    assert!(of(&doctor(1), "client")[0].starts_with(wrong));
}

/// The list of a client is a script here, which says what its argument says; `tests/clients/setup.py` asks
/// the clients themselves.
#[cfg(unix)]
#[test]
fn doctor_repeats_what_the_list_of_a_client_says() {
    let home = Home::new();
    let folder = on_path(&home);
    let mut command = home.command(&["setup", "codex", "--yes"]);
    assert_eq!(run(command.env("PATH", &folder)).code, 0);
    home.remember(&["Atlas is deployed on Fridays."]);
    let program = folder.join("codex");
    for (script, well, what) in [
        (
            "echo 'memdir: Connected'",
            true,
            "connected by its own list",
        ),
        ("echo 'memdir  enabled'", true, "known by its own list"),
        (
            "echo 'memdir: Failed to connect'",
            false,
            "memdir: failed to connect",
        ),
        ("echo 'other: Connected'", false, "it does not name memdir"),
        ("echo broken >&2; exit 3", false, "`codex mcp list`: broken"),
    ] {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        make_executable(&program);
        let mut command = home.command(&["doctor", "--json"]);
        let path = format!("{}:/usr/bin:/bin", folder.display());
        let found = run(command.env("PATH", path)).json();
        let checks = found["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "client");
        let check = check.unwrap();
        assert_eq!(check["well"], well, "{script}: {check}");
        assert!(check["what"].as_str().unwrap().contains(what), "{check}");
    }
}

#[test]
fn an_entry_that_set_up_did_not_write_is_not_taken_out() {
    let home = Home::new();
    let own = "{\"mcpServers\": {\"memdir\": {\"command\": \"/opt/my/memdir\", \"args\": [\"mcp\", \"--store\", \"/data/x\"], \"alwaysLoad\": true, \"type\": \"stdio\"}}}";
    let path = home.write(".claude.json", own);
    let toml = "[mcp_servers.memdir]\ncommand = \"/old/memdir\"\nargs = [\"mcp\"]";
    let codex = home.write(".codex/config.toml", toml);
    let ran = home.run(&["setup", "--uninstall", "--yes"]);
    assert!(ran.stderr.contains("runs a command of your own"), "{ran:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), own);
    assert_eq!(fs::read_to_string(&codex).unwrap(), toml);
}
