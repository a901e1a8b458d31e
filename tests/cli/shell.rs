//! The shell: lines from a pipe, and on a terminal.

use serde_json::Value;

use crate::support::program::{Home, Ran};

fn shell(home: &Home, options: &[&str], lines: &str) -> Ran {
    let arguments = [&["shell"], options].concat();
    home.run_with(&arguments, lines.as_bytes())
}

#[test]
fn the_lines_of_a_pipe_are_answered_in_turn() {
    let home = Home::new();
    let ran = shell(
        &home,
        &[],
        "# what is there?\n\nremember --topics deploy --title 'How we deploy' 'On Tuesdays.'\nsearch tuesdays\nrecall what's next on Tuesdays?\nlist global\nquit\nlist\n",
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let text = ran.text();
    let lines: Vec<&str> = text.lines().collect();
    let id = lines[0];
    assert_eq!(
        lines[1],
        format!("[long/{id}] How we deploy (p=5, ns=global, just now)")
    );
    assert_eq!(lines[3], "1 result(s)");
    assert_eq!(
        lines[4],
        format!("[long/{id}] How we deploy █████░░░░░ (ns=global, 1x, just now)")
    );
    assert_eq!(lines[5], "  On Tuesdays.");
    assert_eq!(lines[7], "1 memory(ies) recalled");
    assert_eq!(lines.last(), Some(&"1 memory(ies)"));
    // Nothing is coloured or prompted.
    assert!(
        !text.contains('\x1b') && !text.contains("memdir>"),
        "{text:?}"
    );
}

#[test]
fn the_commands_of_the_specification_are_there() {
    let home = Home::new();
    let id = home.remember(&["--namespace", "atlas", "Deploys go out on Tuesdays."]);
    let lines = format!("get {id}\nstats\nnamespaces\nhelp\ndelete {id}\n");
    let text = shell(&home, &[], &lines).done();
    for said in [
        "\"content\": \"Deploys go out on Tuesdays.\"",
        "total memories: 1",
        "  atlas: 1 memories",
        "recall CONTEXT",
        "think",
        &format!("deleted: {id}"),
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(home.run(&["archived"]).text().contains(&id));
}

#[test]
fn every_other_command_is_called_by_its_name() {
    let home = Home::new();
    let id = home.remember(&["--topics", "deploy", "Deploys go out on Tuesdays."]);
    let text = shell(
        &home,
        &[],
        &format!(
            "think 'when do deploys' go out\nlist --topics deploy\nrecall {id} --verbose\nupdate {id} --topics +atlas\ntopics\nas ai-memory search tuesdays\nhelp grep\nlist --json\nconfig get limit\n"
        ),
    );
    assert_eq!((text.code, text.stderr.as_str()), (0, ""), "{text:?}");
    let text = text.text();
    assert!(text.contains("atlas"), "{text}");
    assert!(text.contains("Find lines by regular expression"), "{text}");
    assert!(text.contains("1 result(s)"), "{text}");
    let json = text.lines().find(|line| line.starts_with('{')).unwrap();
    let listed: Value = serde_json::from_str(json).unwrap();
    assert!(listed.to_string().contains(&id), "{listed}");
    // It was only that line's.
    assert!(!text.lines().last().unwrap().starts_with('{'), "{text}");
}

#[test]
fn the_exit_code_tells_of_the_worst_line() {
    let home = Home::new();
    home.remember(&["Deploys go out on Tuesdays."]);
    assert_eq!(shell(&home, &[], "search tuesdays\n").code, 0);
    assert_eq!(
        shell(&home, &[], "search zeppelin\nsearch tuesdays\n").code,
        1
    );
    let ran = shell(
        &home,
        &[],
        "get 00000000\nsearch tuesdays\nsearch zeppelin\n",
    );
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("error: line 1: not found"), "{ran:?}");
    assert!(ran.text().contains("1 result(s)"), "{ran:?}");
    for (line, why) in [
        ("frobnicate", "unrecognized subcommand"),
        ("mcp", "takes the terminal"),
        ("list --store elsewhere", "hold for a whole shell"),
        ("remember it's broken", "quotation mark"),
        ("recall", "wants words"),
    ] {
        let ran = shell(&home, &[], line);
        assert_eq!(ran.code, 2, "{line}: {ran:?}");
        assert!(ran.stderr.contains(why), "{line}: {ran:?}");
    }
}

#[test]
fn what_others_write_meanwhile_is_seen() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let home = Home::new();
    home.remember(&["Deploys go out on Tuesdays."]);
    let mut shell = home
        .command(&["--json", "shell"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let mut count = |line: &str| -> Value {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["count"].clone()
    };
    assert_eq!(count("list"), 1);
    home.remember(&["Backups run on Mondays."]);
    assert_eq!(count("list"), 2);
    assert_eq!(count("search mondays"), 1);
    // The store is taken away into a backup, and the shell goes on with what takes its place.
    assert!(count("reset --yes").is_null());
    assert_eq!(count("list"), 0);
    home.remember(&["Another beginning."]);
    assert_eq!(count("list"), 1);
    drop(input);
    assert!(shell.wait().unwrap().code() == Some(1));
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use std::process::Command;

    use crate::support::has_terminal;
    use crate::support::program::{Home, Ran, run_with};

    /// Types at a terminal on which a shell runs.
    fn typed(home: &Home, variables: &[(&str, &str)], keys: &str) -> Ran {
        let mut command = Command::new("script");
        home.surround(&mut command);
        let line = format!("'{}' shell", env!("CARGO_BIN_EXE_memdir"));
        command
            .args(["-qec", &line, "/dev/null"])
            .env("MEMDIR_STORE", home.store())
            .env("TERM", "xterm-256color")
            .envs(variables.iter().copied());
        run_with(&mut command, keys.as_bytes())
    }

    #[test]
    fn tiers_and_priorities_have_colours_unless_they_are_not_wanted() {
        if !has_terminal() {
            return;
        }
        let home = Home::new();
        home.remember(&[
            "--tier",
            "mid",
            "--importance",
            "9",
            "Deploys go out on Tuesdays.",
        ]);
        let text = typed(&home, &[], "recall tuesdays\nquit\n").text();
        assert!(text.contains("memdir>"), "{text:?}");
        assert!(text.contains("[\u{1b}[33mmid/"), "{text:?}");
        assert!(text.contains("\u{1b}[32m█████████░\u{1b}[0m"), "{text:?}");
        let text = typed(&home, &[("NO_COLOR", "1")], "recall tuesdays\nquit\n").text();
        assert!(
            text.contains(" █████████░ ") && text.contains("[mid/"),
            "{text:?}"
        );
        assert!(!text.contains("\u{1b}[32m"), "{text:?}");
    }

    #[test]
    fn tab_completes_commands_and_ids_and_lines_are_kept_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        if !has_terminal() {
            return;
        }
        let home = Home::new();
        let id = home.remember(&["Deploys go out on Tuesdays."]);
        // What begins with a blank is nobody's business.
        let text = typed(&home, &[], " forget nothing\n").text();
        assert!(text.contains("no memory is called `nothing`"), "{text:?}");
        let text = typed(&home, &[], &format!("ge\t {}\t\n", &id[..4])).text();
        assert!(
            text.contains("\"content\": \"Deploys go out on Tuesdays.\""),
            "{text:?}"
        );
        let history = home.root().join("state/memdir/shell-history");
        let kept = std::fs::read_to_string(&history).unwrap();
        assert!(kept.contains(&format!("get {id}")), "{kept:?}");
        assert!(!kept.contains("nothing"), "{kept:?}");
        let mode = std::fs::metadata(&history).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
