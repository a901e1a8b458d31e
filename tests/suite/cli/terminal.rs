//! What a terminal gets to see. `script` of util-linux lends one; without it only the unit test
//! of `cli::output` tells.

use std::process::Command;

use crate::program::Home;
use crate::program::Ran;
use crate::program::run;

/// A text that would write the clipboard, move the cursor and turn the line around.
const HOSTILE: &str = "hostile \u{1b}]52;c;ZXZpbA==\u{7} \u{1b}]0;title\u{7} \u{1b}[2J \u{9b}2J \u{202e}abc\u{2069} \u{200b} \u{8}\u{7f} end";

fn has_terminal() -> bool {
    let has = Command::new("script")
        .arg("--version")
        .output()
        .is_ok_and(|out| out.status.success());
    if !has {
        eprintln!("not tried on a terminal: there is no `script` of util-linux");
    }
    has
}

/// Runs the program on a terminal.
fn on_terminal(home: &Home, arguments: &str) -> Ran {
    let mut command = Command::new("script");
    home.surround(&mut command);
    let line = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_memdir"));
    command
        .args(["-qec", &line, "/dev/null"])
        .env("MEMDIR_STORE", home.store());
    run(command.env("TERM", "xterm-256color"))
}

fn hostile_home() -> Home {
    let home = Home::new();
    let frontmatter = "timestamp: 2026-01-14T09:15:00Z\nagent: a\nuser: u\ntopics: [x]";
    home.put(
        "20260114_091500_1f3a9c02.md",
        format!(
            "---\nid: 1f3a9c02\n{frontmatter}\ntitle: \"{}\"\n---\n\n{HOSTILE}\n",
            HOSTILE.replace('\u{1b}', "\\e")
        ),
    );
    home.put(
        "20260115_091500_2f3a9c02.md",
        format!("---\nid: 2f3a9c02\n{frontmatter}\nno end {HOSTILE}"),
    );
    home
}

#[test]
fn no_command_lets_a_memory_steer_the_terminal() {
    if !has_terminal() {
        return;
    }
    let home = hostile_home();
    home.run(&["sync"]).done();
    let changed = home
        .text_of("1f3a9c02")
        .replace("end\n", "\u{1b}]0;end\u{7}\n");
    home.put("20260114_091500_1f3a9c02.md", changed);
    let check = |arguments: &str| {
        let text = on_terminal(&home, arguments).text();
        // Our own colours are the only sequences.
        let plain = regex::Regex::new("\u{1b}\\[[0-9;]*m")
            .unwrap()
            .replace_all(&text, "");
        let steering: Vec<char> = plain
            .chars()
            .filter(|c| {
                (c.is_control() && !"\r\n\t".contains(*c))
                    || "\u{202e}\u{2069}\u{200b}".contains(*c)
            })
            .collect();
        assert_eq!(steering, [' '; 0], "{arguments}: {plain:?}");
    };
    check("think hostile");
    check("think -k hostile");
    check("think -k hostile --json");
    check("recall 1f3a 2f3a");
    check("recall 1f3a --json");
    check("list");
    check("list --json");
    check("grep hostile");
    check("grep -l hostile");
    check("grep hostile --json");
    check("recall -v 1f3a");
    check("log");
    check("log --json");
    check("diff 1f3a");
    check("diff 1f3a --json");
    check("undo --dry-run");
    check("status");
    check("verify");
    check("export --to markdown");
    check("export --to jsonl");
    check("recall \"$(printf '\\033]0;x\\007')\"");
    check("think \"$(printf 'since:\\033]0;x\\007')\"");
}

#[test]
fn raw_and_pipes_give_the_bytes_as_they_are() {
    let home = hostile_home();
    assert!(
        home.run(&["recall", "1f3a"])
            .text()
            .ends_with(&format!("{HOSTILE}\n"))
    );
    assert!(home.run(&["grep", "hostile"]).text().contains(HOSTILE));
    if has_terminal() {
        assert!(
            on_terminal(&home, "--raw recall 1f3a")
                .text()
                .contains("\u{1b}]52;c;")
        );
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let home = Home::new();
    home.remember(&["--topics", "a", "A needle."]);
    let is_coloured = |ran: Ran| ran.text().contains('\u{1b}');
    assert!(!is_coloured(home.run(&["list"])));
    assert!(is_coloured(home.run(&["list", "--color", "always"])));
    assert!(is_coloured(home.run(&["--color=always", "grep", "needle"])));
    if has_terminal() {
        assert!(is_coloured(on_terminal(&home, "list")));
        assert!(!is_coloured(on_terminal(&home, "list --color never")));
        let mut command = Command::new("script");
        home.surround(&mut command);
        let line = format!("'{}' list", env!("CARGO_BIN_EXE_memdir"));
        command
            .args(["-qec", &line, "/dev/null"])
            .env("MEMDIR_STORE", home.store());
        assert!(!is_coloured(run(command
            .env("TERM", "xterm")
            .env("NO_COLOR", "1"))));
    }
}

#[test]
fn ages_are_for_people_and_moments_for_programs() {
    let home = Home::new();
    home.remember(&["--timestamp", "3h", "A needle."]);
    assert!(home.run(&["list"]).text().contains("T"));
    if has_terminal() {
        let said = on_terminal(&home, "list").text();
        assert!(said.contains("3h ago"), "{said}");
        let more = on_terminal(&home, "think needle --json").text();
        assert!(more.starts_with("[\r\n  {"), "{more}");
    }
}
