//! What a terminal gets to see. `script` of util-linux lends one; without it only the unit test
//! of `cli::output` tells.

use std::process::Command;

use crate::support::has_terminal;
#[cfg(unix)]
use crate::support::make_executable;
use crate::support::program::{Home, Ran, run};

/// A text that would write the clipboard, move the cursor and turn the line around.
const HOSTILE: &str = "hostile \u{1b}]52;c;ZXZpbA==\u{7} \u{1b}]0;title\u{7} \u{1b}[2J \u{9b}2J \u{202e}abc\u{2069} \u{200b} \u{8}\u{7f} end";

/// Runs the program on a terminal.
fn on_terminal(home: &Home, arguments: &str) -> Ran {
    let mut command = Command::new("script");
    home.surround(&mut command);
    let line = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_memdir"));
    command
        .args(["-qec", &line, "/dev/null"])
        .env("MEMDIR_STORE", home.store());
    let command = command.env("TERM", "xterm-256color");
    run(command.env("MEMDIR_PAGER", ""))
}

fn hostile_home() -> Home {
    let home = Home::new();
    // As YAML writes it between quotation marks, where it is text like any other.
    let quoted = HOSTILE.replace('\u{1b}', "\\e");
    let frontmatter = format!(
        "timestamp: 2026-01-14T09:15:00Z\nagent: \"{quoted}\"\nuser: \"{quoted}\"\ntopics: [x, \"{quoted}\"]\nnamespace: \"{quoted}\"\nsource: \"{quoted}\"\nmetadata:\n  \"{quoted}\": \"{quoted}\""
    );
    home.put(
        "20260114_091500_1f3a9c02.md",
        format!("---\nid: 1f3a9c02\n{frontmatter}\ntitle: \"{quoted}\"\nlinks:\n  - {{to: \"{quoted}\", type: \"{quoted}\"}}\n---\n\n{HOSTILE}\n"),
    );
    home.put(
        "20260115_091500_2f3a9c02.md",
        format!("---\nid: 2f3a9c02\n{frontmatter}\nno end {HOSTILE}"),
    );
    // Where file names may hold what terminals obey, one does.
    #[cfg(unix)]
    home.put(
        "odd \u{1b}]0;title\u{7}\u{9b}2J\u{202e}.md",
        format!("---\nid: odd\n{frontmatter}\n---\n\n{HOSTILE}\n"),
    );
    home
}

/// What a terminal would obey, or what makes a text look like another one, in what it was sent.
fn steering(text: &str) -> Vec<char> {
    // Our own colours are the only sequences, and what takes a progress bar away.
    let colours = regex::Regex::new("\u{1b}\\[(?:[0-9;]*m|2K)").unwrap();
    let is_meant = |c: &char| {
        (c.is_control() && !"\r\n\t".contains(*c))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let plain = colours.replace_all(text, "");
    plain.chars().filter(is_meant).collect()
}

#[test]
fn no_command_lets_a_memory_steer_the_terminal() {
    if !has_terminal() {
        return;
    }
    let home = hostile_home();
    home.run(&["sync"]);
    let changed = home
        .text_of("1f3a9c02")
        .replace("end\n", "\u{1b}]0;end\u{7}\n");
    home.put("20260114_091500_1f3a9c02.md", changed);
    let check = |arguments: &str| {
        let text = on_terminal(&home, arguments).text();
        assert_eq!(steering(&text), [' '; 0], "{arguments}: {text:?}");
    };
    for shown in ["", " --json"] {
        let check = |arguments: &str| check(&format!("{arguments}{shown}"));
        check("think hostile");
        check("think -k hostile");
        check("recall 1f3a 2f3a");
        check("recall -v 1f3a");
        check("recall odd");
        check("list");
        check("grep hostile");
        check("grep -l hostile");
        check("inspect 1f3a");
        check("links 1f3a");
        check("log");
        check("log 1f3a -n 9");
        check("diff 1f3a");
        check("undo --dry-run");
        check("status");
        check("stats");
        check("verify");
        check("sync --status");
        check("config");
        check("gc --dry-run");
        check("compact --dry-run");
        check("maintain --dry-run");
        check("conflicts");
        check("resolve");
        check("archived");
        check("update 1f3a --importance 3");
        check("update 1f3a --importance 11");
        check("promote 1f3a");
        check("redact 1f3a");
        check("allow 1f3a");
        check("layout by-month");
        check("forget 2f3a 1f3a");
        check("archive list");
        check("archived");
        check("restore 1f3a");
        check("export --to jsonl");
        check("import --dry-run --from markdown store/files");
        check("reset --dry-run");
        check("purge 1f3a");
        check("recall \"$(printf '\\033]0;x\\007')\"");
        check("think \"$(printf 'since:\\033]0;x\\007')\"");
        check("forget \"$(printf '\\033]0;x\\007')\"");
    }
    check("think --explain hostile");
    check("status");
    check("export --to markdown");
}

#[cfg(unix)]
#[test]
fn no_name_of_a_file_forges_a_line_of_the_log() {
    let home = Home::new();
    // What an interrupted write left is cleared away, and the log says so.
    let name = ".memdir-x\n ERROR forged \u{1b}]0;title\u{7}\u{9b}2J\u{202e}.tmp";
    home.put(name, "---\nno end");
    let mut command = home.command(&["think", "end"]);
    let ran = run(command.env("MEMDIR_LOG", "trace"));
    assert!(ran.stderr.contains("ERROR forged"), "{ran:?}");
    assert!(!ran.stderr.contains("\n ERROR forged"), "{ran:?}");
    assert_eq!(steering(&ran.stderr), [' '; 0], "{ran:?}");
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
            .env("MEMDIR_STORE", home.store())
            .env("MEMDIR_PAGER", "");
        assert!(!is_coloured(run(command
            .env("TERM", "xterm")
            .env("NO_COLOR", "1"))));
    }
}

#[test]
fn a_search_wraps_between_words_and_marks_what_matched() {
    let home = Home::new();
    let text = "The deployment of atlas goes out on Tuesdays after the backup has ended. ";
    home.remember(&["--title", "Atlas", &text.repeat(2)]);
    if !has_terminal() {
        return;
    }
    let ran = on_terminal(&home, "think atlas deploys").text();
    assert!(ran.contains("\u{1b}[1m\u{1b}[31matlas\u{1b}[0m"), "{ran:?}");
    let mut command = Command::new("script");
    home.surround(&mut command);
    let line = format!(
        "stty rows 50 cols 44; '{}' think atlas --color never",
        env!("CARGO_BIN_EXE_memdir")
    );
    command
        .args(["-qec", &line, "/dev/null"])
        .env("MEMDIR_STORE", home.store())
        .env("MEMDIR_PAGER", "");
    let ran = run(&mut command).text();
    let lines: Vec<&str> = ran.lines().skip(1).map(str::trim_end).collect();
    assert!(lines.len() > 3, "{ran}");
    for line in lines {
        assert!(
            line.starts_with("    ") && line.chars().count() <= 44,
            "{line:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_long_answer_goes_through_the_pager_and_json_and_pipes_do_not() {
    let home = Home::new();
    home.remember(&["A needle."]);
    let pager = home.write("pager", "#!/bin/sh\nsed 's/^/paged: /'\n");
    make_executable(&pager);
    let folder = pager.parent().unwrap().to_owned();
    let path = std::env::join_paths([folder, "/usr/bin".into(), "/bin".into()]).unwrap();
    let mut piped = home.command(&["list"]);
    piped.env("PATH", &path).env("MEMDIR_PAGER", "pager");
    assert!(!run(&mut piped).text().contains("paged: "));
    if !has_terminal() {
        return;
    }
    let paged = |arguments: &str, of_ours: &str, of_all: &str| {
        let mut command = Command::new("script");
        home.surround(&mut command);
        let line = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_memdir"));
        command
            .args(["-qec", &line, "/dev/null"])
            .env("MEMDIR_STORE", home.store())
            .env("PATH", &path)
            .env("MEMDIR_PAGER", of_ours)
            .env("PAGER", of_all);
        let ran = run(&mut command);
        assert!(ran.text().contains("needle"), "{}", ran.text());
        ran.text().contains("paged: ")
    };
    assert!(paged("list", "pager", "cat"));
    assert!(paged("think needle", "pager", ""));
    assert!(!paged("list", "", "pager"));
    assert!(!paged("list", "nothing-there", "pager"));
    assert!(!paged("list --json", "pager", ""));
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
