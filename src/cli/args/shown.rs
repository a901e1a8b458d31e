//! Whether the commands that the documentation shows are commands of the program.

use std::path::Path;

/// The command lines that a document shows, each with its line: in fenced blocks those that begin
/// with `memdir`, in sentences those in backticks.
fn shown(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        if is_fenced {
            let command = trimmed.strip_prefix("$ ").unwrap_or(trimmed);
            // What stands behind several blanks, or a `#`, explains it.
            let command = command.split("  ").next().unwrap_or_default();
            for part in command.split(['|', ';', '&', '(', ')']) {
                found.push((number + 1, part.trim().to_owned()));
            }
        } else {
            let spans = line.split('`').skip(1).step_by(2);
            found.extend(spans.map(|span| (number + 1, span.to_owned())));
        }
    }
    found.retain(|(_, command)| command.starts_with("memdir "));
    found
}

/// Why clap refuses the command; `None` for one that it takes, or that stands for several.
fn refusal(command: &str) -> Option<String> {
    // `…`, `<FILE>`, `COMMAND`: what stands for something else.
    let is_pattern = |word: &String| {
        let is_name = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
        is_name || word.contains(['…', '[', '<', '>', '|']) || word == "\\"
    };
    let words: Vec<String> = shlex::split(command)?;
    let end = words
        .iter()
        .position(|word| word.starts_with('#') || is_pattern(word));
    let whole = end.is_none();
    let words = &words[..end.unwrap_or(words.len())];
    match super::command().try_get_matches_from(words) {
        Ok(_) => None,
        Err(error) => {
            use clap::error::ErrorKind;
            let is_unknown = matches!(
                error.kind(),
                ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand
            );
            let is_help = matches!(
                error.kind(),
                ErrorKind::DisplayHelp
                    | ErrorKind::DisplayVersion
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                    | ErrorKind::MissingRequiredArgument
                    | ErrorKind::MissingSubcommand
            );
            // In sentences a command is named without what it needs, and words stand for values.
            let is_value = matches!(
                error.kind(),
                ErrorKind::ValueValidation | ErrorKind::InvalidValue
            ) && (command.chars().any(char::is_uppercase)
                || words.last().is_some_and(|word| word.starts_with("--")));
            let is_wrong = is_unknown || !(is_help || is_value) && whole;
            is_wrong.then(|| {
                error
                    .to_string()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            })
        }
    }
}

#[test]
fn every_command_that_the_documentation_shows_is_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md"), root.join("CHANGELOG.md")];
    let documents = std::fs::read_dir(root.join("docs")).unwrap();
    pages.extend(documents.map(|entry| entry.unwrap().path()));
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        for (line, command) in shown(&text) {
            count += 1;
            if let Some(why) = refusal(&command) {
                wrong.push(format!("{name}:{line}: `{command}`: {why}"));
            }
        }
    }
    assert!(count > 200, "only {count} commands were found");
    assert!(wrong.is_empty(), "of {count}:\n{}", wrong.join("\n"));
}

#[test]
fn the_readme_lists_every_command() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let (_, rest) = text.split_once("\n## Commands\n").unwrap();
    let (table, _) = rest.split_once("\n## ").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    // The first column: `update ID`, or `completions SHELL`, `man`.
    let listed: Vec<&str> = rows
        .flat_map(|row| {
            row.split(" | ")
                .next()
                .unwrap()
                .split('`')
                .skip(1)
                .step_by(2)
        })
        .map(|command| command.split(' ').next().unwrap())
        .collect();
    let commands = super::command();
    let missing: Vec<&str> = commands
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
        .filter(|name| !listed.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn what_is_no_command_is_refused() {
    let page = "Say `memdir thnk x`, or `memdir think x`.\n```sh\n$ memdir think --nothing y  # so\necho | memdir list\n```\n";
    let commands: Vec<String> = shown(page)
        .into_iter()
        .map(|(_, command)| command)
        .collect();
    assert_eq!(
        commands,
        [
            "memdir thnk x",
            "memdir think x",
            "memdir think --nothing y",
            "memdir list"
        ]
    );
    let refused = commands.iter().map(|command| refusal(command).is_some());
    assert_eq!(refused.collect::<Vec<_>>(), [true, false, true, false]);
}
