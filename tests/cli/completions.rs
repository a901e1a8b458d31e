//! What a shell offers on Tab, asked for as the scripts of `memdir completions` ask.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::support::program::{Home, run};

/// What `shell` offers for the last of `words`, a line each; options are left out.
fn offered(home: &Home, shell: &str, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let mut command = home.command(&[]);
    command
        .env("MEMDIR_COMPLETE", shell)
        .env("_CLAP_COMPLETE_INDEX", index)
        .args(["--", "memdir"])
        .args(words);
    let lines = run(&mut command).done();
    let lines = lines.lines().filter(|line| !line.starts_with("--"));
    lines.map(str::to_owned).collect()
}

/// A store of two memories and a forgotten one; their ids.
fn scene() -> (Home, [&'static str; 3]) {
    let home = Home::new();
    let ids = ["aaaaaaaa", "bbbbbbbb", "cccccccc"];
    let fields = [
        "topics: [deploy, atlas]\nnamespace: atlas\ntitle: \"How we 'deploy': tags\"",
        "topics: [atlas, web]\nnamespace: acme/site\ntitle: Where the site is",
        "topics: [gone]\nnamespace: gone\ntitle: Forgotten",
    ];
    for (day, (id, fields)) in (1..).zip(ids.into_iter().zip(fields)) {
        let text = format!(
            "---\nid: {id}\ntimestamp: 2026-01-0{day}\nagent: a\nuser: u\n{fields}\n---\n\nx\n"
        );
        home.put(&format!("2026010{day}_000000_{id}.md"), text);
    }
    home.run(&["forget", ids[2]]).done();
    (home, ids)
}

#[test]
fn ids_are_offered_with_titles_where_a_memory_is_named() {
    let (home, [one, two, gone]) = scene();
    let live = [
        format!("{two}\tWhere the site is"),
        format!("{one}\tHow we 'deploy': tags"),
    ];
    let places: [&[&str]; 15] = [
        &["recall", ""],
        &["recall", one, ""],
        &["update", ""],
        &["edit", ""],
        &["forget", ""],
        &["inspect", ""],
        &["link", one, ""],
        &["supersede", ""],
        &["resolve", one, "--keep", ""],
        &["log", ""],
        &["diff", ""],
        &["path", ""],
        &["undo", ""],
        &["remember", "--supersedes", ""],
        &["standards", "atlas", "--set", ""],
    ];
    for words in places {
        assert_eq!(offered(&home, "fish", words), live, "{words:?}");
    }
    let archived = [format!("{gone}\tForgotten")];
    for words in [&["restore", ""][..], &["archive", "purge", ""]] {
        assert_eq!(offered(&home, "fish", words), archived, "{words:?}");
    }
    let begun = offered(&home, "fish", &["recall", &one[..5]]);
    assert_eq!(begun, [live[1].clone()]);
    let list = offered(
        &home,
        "fish",
        &["remember", "--supersedes", &format!("{two},{one}")],
    );
    assert_eq!(list, [format!("{two},{one}\tHow we 'deploy': tags")]);
}

#[test]
fn topics_and_namespaces_are_offered_the_commonest_first() {
    let (home, _) = scene();
    let topics = ["atlas\t2", "deploy\t1", "web\t1"];
    assert_eq!(offered(&home, "fish", &["list", "--topics", ""]), topics);
    assert_eq!(
        offered(&home, "fish", &["think", "--topics", "de"]),
        [topics[1]]
    );
    let list = offered(&home, "fish", &["update", "x", "--topics", "-web,+a"]);
    assert_eq!(list, ["-web,+atlas\t2"]);
    let spaces = ["acme/site\t1", "atlas\t1"];
    for words in [&["list", "--namespace", ""][..], &["standards", ""]] {
        assert_eq!(offered(&home, "fish", words), spaces, "{words:?}");
    }
}

#[test]
fn each_shell_is_answered_in_its_form() {
    let (home, [one, two, _]) = scene();
    let words = ["recall", ""];
    assert_eq!(offered(&home, "bash", &words), [two, one]);
    let zsh = [
        format!("{two}:Where the site is"),
        format!("{one}:How we 'deploy': tags"),
    ];
    assert_eq!(offered(&home, "zsh", &words), zsh);
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            offered(&home, shell, &["reca"])[0].starts_with("recall"),
            "{shell}"
        );
    }
}

#[test]
fn a_store_that_is_named_on_the_line_is_the_one_that_is_read() {
    let (home, [one, two, _]) = scene();
    let other = home.make("other/files");
    let other = other.parent().unwrap().to_str().unwrap();
    let words = ["--store", other, "recall", ""];
    assert!(offered(&home, "bash", &words).is_empty());
    let named = format!("--store={}", home.store().display());
    let mut command = home.bare();
    command
        .envs([("MEMDIR_COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", "3")])
        .args(["--", "memdir", &named, "recall", ""]);
    let said = run(&mut command).done();
    assert!(said.starts_with(&format!("{two}\n{one}\n")), "{said}");
}

/// Everything below `folder`: its text, and when it was changed.
fn everything(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let changed = fs::metadata(&path).unwrap().modified().unwrap();
        if path.is_dir() {
            all.extend(everything(&path));
            all.insert(path, (Vec::new(), changed));
        } else {
            all.insert(path.clone(), (fs::read(&path).unwrap(), changed));
        }
    }
    all
}

#[test]
fn completion_writes_nothing_and_builds_no_index() {
    let (home, _) = scene();
    fs::remove_dir_all(home.store().join(".memdir")).unwrap();
    home.put("notes.md", "A note without frontmatter.\n");
    let before = everything(&home.root());
    for words in [
        &["recall", ""][..],
        &["restore", ""],
        &["list", "--topics", ""],
    ] {
        assert!(!offered(&home, "zsh", words).is_empty());
    }
    assert_eq!(everything(&home.root()), before);
}

#[test]
fn what_a_shell_would_run_is_not_offered() {
    let (home, [one, two, _]) = scene();
    home.put(
        "$(touch pwned).md",
        "---\ntopics: ['$(touch pwned)', fine]\n---\n\nA trap.\n",
    );
    home.put("plain.md", "Title\u{1b}[31m and\nmore.\n");
    let ids = offered(&home, "fish", &["recall", ""]);
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(
        ids[0].starts_with("plain\tTitle") && !ids[0].contains('\u{1b}'),
        "{ids:?}"
    );
    assert!(
        ids[1].starts_with(two) && ids[2].starts_with(one),
        "{ids:?}"
    );
    let topics = offered(&home, "bash", &["list", "--topics", ""]);
    assert_eq!(topics, ["atlas", "deploy", "fine", "web"]);
}

/// Bash itself, with the script that `memdir completions bash` prints.
#[cfg(unix)]
#[test]
fn bash_inserts_ids_and_lists_them_with_titles() {
    let (home, [one, two, _]) = scene();
    let bin = home.make("bin");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_memdir"), bin.join("memdir")).unwrap();
    let reply = |kind: u32, word: &str| -> Vec<String> {
        let script = format!(
            r#"PATH="{bin}:$PATH"; source <(memdir completions bash)
COMP_WORDS=(memdir recall '{word}'); COMP_CWORD=2; COMP_TYPE={kind}
_clap_complete_memdir memdir '{word}' recall
printf '%s\n' "${{COMPREPLY[@]}}""#,
            bin = bin.display()
        );
        let mut bash = Command::new("bash");
        home.surround(&mut bash);
        bash.env("MEMDIR_STORE", home.store()).args(["-c", &script]);
        let lines = run(&mut bash).lines();
        lines
            .into_iter()
            .filter(|line| !line.starts_with("--"))
            .collect()
    };
    let (tab, list) = (9, 63);
    assert_eq!(reply(tab, ""), [two, one]);
    assert_eq!(reply(tab, &one[..6]), [one]);
    let shown = [
        format!("{two}  (Where the site is)"),
        format!("{one}  (How we 'deploy': tags)"),
    ];
    assert_eq!(reply(list, ""), shown);
    assert_eq!(reply(list, &one[..6]), [one]);
}

/// Fish and zsh themselves, where they are installed, read the scripts.
#[test]
fn fish_and_zsh_take_their_scripts() {
    let (home, [one, ..]) = scene();
    let ask = |shell: &str, script: &str| {
        let mut command = Command::new(shell);
        home.surround(&mut command);
        command
            .args(["-c", script])
            .env("MEMDIR_STORE", home.store());
        match command.output() {
            Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
            Err(_) => {
                eprintln!("not tried: {shell} is not installed");
                None
            }
        }
    };
    let bin = env!("CARGO_BIN_EXE_memdir").rsplit_once('/').unwrap().0;
    let fish = format!(
        "set -x PATH {bin} $PATH; memdir completions fish | source; complete -C 'memdir recall '"
    );
    if let Some(said) = ask("fish", &fish) {
        assert!(said.contains(&format!("{one}\tHow we")), "{said}");
    }
    let zsh = format!(
        "PATH={bin}:$PATH; autoload -U compinit; compinit -u; source <(memdir completions zsh); print -r -- ${{_comps[memdir]}}"
    );
    if let Some(said) = ask("zsh", &zsh) {
        assert!(said.contains("_clap_dynamic_completer_memdir"), "{said}");
    }
}
