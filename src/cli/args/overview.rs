//! The commands in groups, as `memdir` alone and `memdir --help` show them.
//!
//! Promises: every command stands in one group, and says there what its own help says first.

use std::fmt::Write as _;

use clap::builder::Styles;
use clap::{Command, CommandFactory};

use super::commands::Args;
use crate::cli::terminal::prose::{terminal_width, wrapped};

/// The groups of commands, each with its heading and names. The first is what most people need.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Every day",
        &[
            "remember", "think", "pick", "recall", "list", "grep", "edit", "update", "forget",
            "restore", "undo", "status", "sync",
        ],
    ),
    (
        "A store and who uses it",
        &[
            "init", "setup", "open", "mcp", "serve", "team", "token", "shell", "as", "config",
            "trust", "model", "doctor",
        ],
    ),
    ("Sessions of agents", &["brief", "hook", "pause", "review"]),
    (
        "What belongs together",
        &[
            "inspect",
            "link",
            "unlink",
            "links",
            "resolve",
            "supersede",
            "topics",
            "namespaces",
            "standards",
        ],
    ),
    (
        "Upkeep",
        &[
            "archive",
            "archived",
            "promote",
            "gc",
            "cleanup",
            "compact",
            "consolidate",
            "auto-consolidate",
            "reflect",
            "decay",
            "plans",
            "purge",
            "reset",
            "allow",
            "redact",
        ],
    ),
    (
        "History, import, export",
        &["log", "diff", "git", "import", "mine", "export"],
    ),
    (
        "The files and the index",
        &[
            "reindex",
            "verify",
            "stats",
            "adopt",
            "layout",
            "path",
            "eval",
            "completions",
            "man",
            "version",
            "help",
        ],
    ),
];
/// Where what a command does begins, in columns.
const INDENT: usize = 20;
/// As wide as clap's own texts.
const WIDEST: usize = 100;

/// The program's words, with a help that shows the commands in groups.
pub fn command() -> Command {
    let command = Args::command();
    // To lay it out takes as long as all the rest of a start.
    let is_asked =
        |word: std::ffi::OsString| ["--help", "-h", "help"].iter().any(|help| word == *help);
    if !std::env::args_os().skip(1).any(is_asked) {
        return command;
    }
    let groups = groups(&command, usize::MAX);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{{options}}{{after-help}}"
    ))
}

/// The text that `memdir` alone prints: the commands of every day, and the names of the others.
pub fn overview() -> String {
    let command = Args::command();
    let about = command.get_about().cloned().unwrap_or_default();
    let groups = groups(&command, 1);
    format!(
        "{about}\n\n{groups}`memdir COMMAND --help` shows a command with examples, `memdir --help` all of them."
    )
}

/// The groups as text: the first ones with what each command does, the others by name.
fn groups(command: &Command, with_texts: usize) -> String {
    let header = Styles::styled();
    let (header, literal) = (header.get_header(), header.get_literal());
    let width = terminal_width().unwrap_or(WIDEST);
    let wrapped = |text: &str, indent: &str| wrapped(text, width.min(WIDEST), indent);
    let mut text = String::new();
    for (number, (heading, names)) in GROUPS.iter().enumerate() {
        let _ = writeln!(text, "{header}{heading}:{header:#}");
        if number >= with_texts {
            let _ = writeln!(text, "{}\n", wrapped(&names.join(", "), "  "));
            continue;
        }
        for name in *names {
            let about = match command.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None => "Show the help of a command".to_owned(),
            };
            let about = wrapped(&about, &" ".repeat(INDENT));
            let gap = INDENT - 2 - name.len();
            let about = &about[INDENT..];
            let _ = writeln!(text, "  {literal}{name}{literal:#}{:gap$}{about}", "");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let mut command = Args::command();
        command.build();
        let mut names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        names.sort_unstable();
        assert_eq!(grouped, names);
        assert_eq!(GROUPS[0].1.len(), 13);
    }

    #[test]
    fn every_option_says_what_it_does() {
        fn silent(command: &Command, path: &str, found: &mut Vec<String>) {
            let of = command.get_arguments().map(|argument| {
                let is_said = argument.get_help().is_some();
                (format!("{path} {}", argument.get_id()), is_said)
            });
            let own = (path.to_owned(), command.get_about().is_some());
            let unsaid = of.chain([own]).filter(|(_, is_said)| !is_said);
            found.extend(unsaid.map(|(name, _)| name));
            for command in command.get_subcommands() {
                silent(command, &format!("{path} {}", command.get_name()), found);
            }
        }
        let mut command = Args::command();
        command.build();
        let mut found = Vec::new();
        silent(&command, "memdir", &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}
