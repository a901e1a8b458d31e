//! Configuration files of clients in many states: 100 of each format, made by a generator that is the same on
//! every run. Whatever the state: nothing is lost, twice is once, and what was put in is taken out to the
//! byte.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use memdir::clients::{
    self, Change, Client, Contents, Folders, Launch, Part, Plan, Program, Records, Request, Scope,
    Words,
};

/// Variants of each format.
const VARIANTS: u64 = 100;

/// A generator of numbers that are the same on every run (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn is(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

fn json(random: &mut Random, key: &str) -> String {
    let newline = random.one_of(&["\n", "\n", "\r\n", ""]);
    let unit = match newline {
        "" => "",
        _ => random.one_of(&["  ", "    ", "\t"]),
    };
    let is_commented = random.is(40) && !newline.is_empty();
    let blank = random.one_of(&[" ", " ", ""]);
    let mut members = vec![format!("\"theme\":{blank}\"dark\"")];
    if random.is(70) {
        let others: Vec<String> = (0..random.below(4))
            .map(|number| {
                let note = if is_commented { " /* a, \"b\" */" } else { "" };
                format!("{newline}{unit}{unit}\"other{number}\":{blank}{{\"command\":{blank}\"x\", \"args\":{blank}[\"}}\", \"//\"]}}{note}")
            })
            .collect();
        let trailing = match is_commented && !others.is_empty() && random.is(30) {
            true => ",",
            false => "",
        };
        let end = if others.is_empty() {
            String::new()
        } else {
            format!("{newline}{unit}")
        };
        members.push(format!(
            "\"{key}\":{blank}{{{}{trailing}{end}}}",
            others.join(",")
        ));
    }
    if random.is(50) {
        members.push(format!("\"numbers\":{blank}[1, 2.50, 1e400, \"\\u00e9é\"]"));
    }
    if random.is(10) {
        members.push(format!("\"filler\":{blank}\"{}\"", "x".repeat(300_000)));
    }
    if random.is(50) {
        members.rotate_left(1);
    }
    let lead = if is_commented {
        "// mine, and \"not\" yours\n"
    } else {
        ""
    };
    let mark = random.one_of(&["", "", "", "\u{feff}"]);
    let note = if is_commented {
        format!("{newline}{unit}// the last word")
    } else {
        String::new()
    };
    let separator = format!(",{newline}{unit}");
    let body = members.join(&separator);
    let end = random.one_of(&[newline, ""]);
    format!("{mark}{lead}{{{newline}{unit}{body}{note}{newline}}}{end}")
}

fn toml(random: &mut Random, _: &str) -> String {
    let newline = random.one_of(&["\n", "\n", "\r\n"]);
    let mut lines = vec![
        "model = \"gpt\"  # mine".to_owned(),
        "approval_policy='never'".to_owned(),
    ];
    if random.is(50) {
        lines.push(format!("{}[mcp_servers.other]", random.one_of(&["", "  "])));
        lines.push("command = \"x\" # [mcp_servers.memdir]".to_owned());
        lines.push("args = [\n  \"a\", # one\n  \"]\",\n]".replace('\n', newline));
    } else if random.is(30) {
        lines.push("mcp_servers = { other = { command = \"x\" } }".to_owned());
    }
    if random.is(50) {
        lines.push(String::new());
        lines.push("[projects.\"/home/mira/[a]\"]".to_owned());
        lines.push("trust_level = \"trusted\"".to_owned());
        lines.push(format!(
            "text = \"\"\"{newline}[mcp_servers.memdir]{newline}\"\"\""
        ));
    }
    if random.is(30) {
        lines.push("[[hooks]]".to_owned());
        lines.push("at = 1979-05-27T07:32:00Z".to_owned());
    }
    if random.is(30) {
        lines.push("# the last word".to_owned());
    }
    if random.is(10) {
        lines.push(format!("filler = \"{}\"", "x".repeat(300_000)));
    }
    lines.join(newline) + random.one_of(&[newline, newline, ""])
}

fn markdown(random: &mut Random, _: &str) -> String {
    let newline = random.one_of(&["\n", "\n", "\r\n"]);
    let mut lines = vec!["# Rules of mine", "", "- Small commits."];
    if random.is(30) {
        lines.push("<!-- other:begin -->");
        lines.push("memdir is nice");
        lines.push("<!-- other:end -->");
    }
    if random.is(30) {
        lines.push("");
    }
    lines.join(newline) + random.one_of(&[newline, newline, ""])
}

/// What is done to a text after it was made.
fn damaged(random: &mut Random, text: String) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    match random.below(12) {
        0 => bytes.clear(),
        1 => bytes.truncate(random.below(bytes.len())),
        2 => {
            let at = random.below(bytes.len());
            bytes[at] = random
                .one_of(&["{", "}", "\"", ",", "\u{0}", "[", "="])
                .as_bytes()[0];
        }
        3 => bytes.extend([0xff, 0xfe]),
        4 => bytes = b"\n".to_vec(),
        _ => {}
    }
    bytes
}

/// A home with one client.
struct Scene {
    _folder: tempfile::TempDir,
    home: PathBuf,
    folders: Folders,
    records: Records,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let text = home.to_str().unwrap().to_owned();
        let names = ["HOME", "USERPROFILE"].map(|name| (name.to_owned(), text.clone()));
        let folders = Folders::new(&HashMap::from(names), &home.join("project")).unwrap();
        let records = Records::new(&home.join("state"));
        Scene {
            _folder: folder,
            home,
            folders,
            records,
        }
    }

    fn request<'a>(&'a self, clients: &'a [&'static Client], parts: &'a [Part]) -> Request<'a> {
        Request {
            clients,
            scope: Scope::User,
            parts,
            folders: &self.folders,
            records: Some(&self.records),
        }
    }
}

fn contents() -> Contents {
    Contents {
        launch: Launch {
            program: Program {
                path: "/opt/memdir".into(),
                is_on_path: false,
            },
            options: Vec::new(),
            served: Vec::new(),
        },
        words: Words::of("core", false).unwrap(),
        overrides_command: false,
    }
}

fn apply(plan: &Plan, records: &Records) {
    for change in &plan.changes {
        clients::apply(change, Some(records)).unwrap();
    }
}

/// Whether `few` are bytes of `many`, in their order.
fn is_within(few: &[u8], many: &[u8]) -> bool {
    let mut many = many.iter();
    few.iter().all(|byte| many.any(|other| other == byte))
}

fn without_blanks(text: &[u8]) -> Vec<u8> {
    text.iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect()
}

fn changed(plan: &Plan) -> Vec<&Change> {
    plan.changed().collect()
}

/// Tries every variant of the file `name` of a client. Returns how many were changed.
fn try_variants(
    (client, part, name): (&str, Part, &str),
    key: &str,
    make: fn(&mut Random, &str) -> String,
    addition: &str,
) -> usize {
    let client = [clients::named(client).unwrap()];
    let parts = [part];
    let mut count = 0;
    for seed in 0..VARIANTS {
        let mut random = Random(seed);
        let text = make(&mut random, key);
        let old = damaged(&mut random, text);
        let scene = Scene::new();
        let path = scene.home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Drawn everywhere, so that all systems try the same variants.
        let is_linked = random.is(15) && cfg!(unix);
        let file = match is_linked {
            true => scene.home.join("elsewhere"),
            false => path.clone(),
        };
        fs::write(&file, &old).unwrap();
        #[cfg(unix)]
        if is_linked {
            std::os::unix::fs::symlink("../elsewhere", &path)
                .or_else(|_| std::os::unix::fs::symlink(&file, &path))
                .unwrap();
            if fs::canonicalize(&path).ok() != Some(file.clone()) {
                fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink(&file, &path).unwrap();
            }
        }
        let is_read_only = random.is(10);
        let mut mode = fs::metadata(&file).unwrap().permissions();
        mode.set_readonly(is_read_only);
        fs::set_permissions(&file, mode.clone()).unwrap();
        let request = scene.request(&client, &parts);
        let shown = || {
            format!(
                "seed {seed}: {}",
                String::from_utf8_lossy(&old[..old.len().min(2000)])
            )
        };

        let plan = clients::set_up(&request, &contents());
        assert_eq!(plan.left.len() + changed(&plan).len(), 1, "{}", shown());
        if is_read_only {
            assert_eq!(plan.left[0].why, "it is read-only");
        }
        apply(&plan, &scene.records);
        let new = fs::read(&file).unwrap();
        assert_eq!(path.symlink_metadata().unwrap().is_symlink(), is_linked);
        assert_eq!(fs::metadata(&file).unwrap().permissions(), mode);
        if !plan.left.is_empty() {
            assert_eq!(new, old, "{}", shown());
            continue;
        }
        count += 1;
        assert!(
            is_within(&old, &new),
            "{}\n{}",
            shown(),
            String::from_utf8_lossy(&new)
        );
        let again = clients::set_up(&request, &contents());
        assert!(
            again.changes.is_empty() && again.left.is_empty(),
            "{}",
            shown()
        );

        // Somebody else changes it meanwhile.
        let others = [&new[..], addition.as_bytes()].concat();
        fs::write(&file, &others).unwrap();
        apply(&clients::take_out(&request, &contents()), &scene.records);
        let rest = fs::read(&file).unwrap();
        // An empty file has become an empty object, which it is to every client.
        let is_blank = part != Part::Instructions
            && !name.ends_with(".toml")
            && without_blanks(&old).is_empty();
        let kept = if is_blank { b"{}" } else { &old[..] };
        let wanted = [kept, addition.as_bytes()].concat();
        assert_eq!(
            String::from_utf8_lossy(&without_blanks(&rest)),
            String::from_utf8_lossy(&without_blanks(&wanted)),
            "{}",
            shown()
        );

        // Nobody does.
        fs::write(&file, &old).unwrap();
        apply(&clients::set_up(&request, &contents()), &scene.records);
        assert_eq!(fs::read(&file).unwrap(), new, "{}", shown());
        apply(&clients::take_out(&request, &contents()), &scene.records);
        assert_eq!(fs::read(&file).unwrap(), old, "{}", shown());
        assert!(
            clients::take_out(&request, &contents()).changes.is_empty(),
            "{}",
            shown()
        );
        assert_eq!(
            fs::read_dir(scene.home.join("state/setup"))
                .unwrap()
                .count(),
            0
        );
    }
    count
}

#[test]
fn json_files_in_every_state_lose_nothing() {
    let server = ("cursor", Part::Server, ".cursor/mcp.json");
    let count = try_variants(server, "mcpServers", json, "\n");
    assert!(count > 50, "only {count} were changed");
}

// On Windows the settings of Zed lie in another folder.
#[cfg(unix)]
#[test]
fn settings_with_comments_lose_nothing() {
    let server = ("zed", Part::Server, ".config/zed/settings.json");
    let count = try_variants(server, "context_servers", json, "\n// later\n");
    assert!(count > 50, "only {count} were changed");
}

#[test]
fn files_of_hooks_in_every_state_lose_nothing() {
    let hooks = ("claude-code", Part::Hooks, ".claude/settings.json");
    let count = try_variants(hooks, "other", json, "\n");
    assert!(count > 50, "only {count} were changed");
}

#[test]
fn toml_files_in_every_state_lose_nothing() {
    let server = ("codex", Part::Server, ".codex/config.toml");
    let count = try_variants(server, "", toml, "\n[tui]\nx = 1 # later\n");
    assert!(count > 50, "only {count} were changed");
}

#[test]
fn instructions_in_every_state_lose_nothing() {
    let rules = ("codex", Part::Instructions, ".codex/AGENTS.md");
    let count = try_variants(rules, "", markdown, "\n- Later.\n");
    assert!(count > 50, "only {count} were changed");
}

/// A file as a link is not changed while somebody else writes it.
#[test]
fn a_file_that_changed_since_the_plan_is_left_alone() {
    let scene = Scene::new();
    let path = scene.home.join(".cursor/mcp.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{}").unwrap();
    let client = [clients::named("cursor").unwrap()];
    let plan = clients::set_up(&scene.request(&client, &[Part::Server]), &contents());
    fs::write(&path, "{\"a\": 1}").unwrap();
    let error = clients::apply(&plan.changes[0], Some(&scene.records)).unwrap_err();
    assert!(
        error.to_string().contains("changed by another program"),
        "{error}"
    );
    assert_eq!(read(&path), "{\"a\": 1}");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn hooks_of_others_stay_beside_and_in_groups_with_ours() {
    let scene = Scene::new();
    let path = scene.home.join(".claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let before = r#"{
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "beep" }] }
    ]
  }
}
"#;
    fs::write(&path, before).unwrap();
    let client = [clients::named("claude-code").unwrap()];
    let parts = [Part::Hooks];
    let request = scene.request(&client, &parts);
    apply(&clients::set_up(&request, &contents()), &scene.records);
    let with = read(&path);
    assert_eq!(with.matches("/opt/memdir hook ").count(), 5, "{with}");
    // Somebody moves ours into his group.
    let moved = with.replace(
        "\"command\": \"beep\" }",
        "\"command\": \"beep\" }, { \"type\": \"command\", \"command\": \"memdir hook stop --client claude-code\" }",
    );
    fs::write(&path, moved).unwrap();
    apply(&clients::take_out(&request, &contents()), &scene.records);
    assert_eq!(read(&path), before);
}

#[test]
fn a_file_of_two_clients_stays_until_the_second_is_taken_out() {
    let scene = Scene::new();
    let path = scene.home.join(".gemini/GEMINI.md");
    let parts = [Part::Instructions];
    let [gemini, other] = ["gemini", "antigravity"].map(|name| [clients::named(name).unwrap()]);
    for client in [&gemini, &other] {
        apply(
            &clients::set_up(&scene.request(client, &parts), &contents()),
            &scene.records,
        );
    }
    let text = read(&path);
    apply(
        &clients::take_out(&scene.request(&gemini, &parts), &contents()),
        &scene.records,
    );
    assert_eq!(read(&path), text);
    apply(
        &clients::take_out(&scene.request(&other, &parts), &contents()),
        &scene.records,
    );
    assert!(!path.parent().unwrap().exists());
}
