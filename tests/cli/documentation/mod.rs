//! Whether the documentation is true: every command that README.md and docs/ show in a block runs
//! in a fresh home, and what appears is what they show.

mod commands;
mod compare;
mod glossary;
mod home;
mod page;
mod scenes;

use std::path::Path;
use std::sync::Mutex;

use home::Home;
use page::{Before, Block, Shown};

/// Blocks that share a home.
type Group = Vec<Block>;

fn groups(blocks: Vec<Block>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for block in blocks {
        match groups.last_mut() {
            Some(group) if block.before == Before::Continues => group.push(block),
            _ => groups.push(vec![block]),
        }
    }
    groups
}

/// What is not as the page shows it.
fn wrong(home: &mut Home, shown: &Shown) -> Option<String> {
    let ran = home.run(&shown.command);
    // A server on standard input answers a client's hello.
    let is_greeted = !shown.command.contains("memdir mcp") || ran.stdout.contains("serverInfo");
    let why = match &shown.answer {
        // What is meant for people goes to standard error.
        Some(answer) if answer.starts_with(['{', '[']) => home.names.differs(answer, &ran.stdout),
        Some(answer) => home
            .names
            .differs(answer, &format!("{}{}", ran.stdout, ran.stderr)),
        None if ran.status.success() && is_greeted => None,
        None => Some(format!("it fails: {ran:?}")),
    };
    why.map(|why| format!("{}: `{}`\n{why}", shown.at, shown.command))
}

fn is_exempt(shown: &Shown) -> bool {
    scenes::EXEMPT
        .iter()
        .any(|(command, _)| shown.command.starts_with(command))
}

fn all_wrong(group: &Group, checkout: &Path) -> Vec<String> {
    let mut home = Home::new(checkout);
    if let Before::Scene(name) = &group[0].before {
        home.set(scenes::named(name));
    }
    let commands = group.iter().flat_map(|block| &block.commands);
    commands
        .filter(|shown| !is_exempt(shown))
        .filter_map(|shown| wrong(&mut home, shown))
        .collect()
}

#[test]
fn what_the_documentation_shows_is_what_appears() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let groups = groups(page::blocks(checkout));
    let waiting = Mutex::new(groups.iter());
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(group) = waiting.lock().unwrap().next() else {
                        break;
                    };
                    let wrong = all_wrong(group, checkout);
                    found.lock().unwrap().extend(wrong);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(
        found.is_empty(),
        "{} are wrong:\n{}",
        found.len(),
        found.join("\n\n")
    );
}

#[test]
fn at_most_one_shown_command_in_ten_is_exempt() {
    let blocks = page::blocks(Path::new(env!("CARGO_MANIFEST_DIR")));
    let shown: Vec<&Shown> = blocks.iter().flat_map(|block| &block.commands).collect();
    let exempt = shown.iter().filter(|shown| is_exempt(shown)).count();
    assert!(shown.len() > 100, "only {} commands are shown", shown.len());
    assert!(exempt * 10 <= shown.len(), "{exempt} of {}", shown.len());
    for (command, reason) in scenes::EXEMPT {
        let is_shown = shown.iter().any(|shown| shown.command.starts_with(command));
        assert!(is_shown && !reason.is_empty(), "`{command}` is not shown");
    }
    for (name, _) in scenes::SCENES {
        let scene = Before::Scene((*name).to_owned());
        let is_set = blocks.iter().any(|block| block.before == scene);
        assert!(is_set, "no block has the scene {name}");
    }
}
