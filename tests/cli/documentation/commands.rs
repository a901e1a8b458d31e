//! Whether the page of commands describes every command that the readme lists. That the readme lists
//! every command of the program is tested beside the command line's arguments.

use std::collections::BTreeSet;

/// The commands in the first column of a page's tables: `update ID`, or `completions SHELL`, `man`.
fn listed(page: &str) -> BTreeSet<&str> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let columns = rows.filter_map(|row| row.split(" | ").next());
    let commands = columns.flat_map(|column| column.split('`').skip(1).step_by(2));
    commands
        .filter_map(|command| command.split(' ').next())
        .collect()
}

#[test]
fn the_page_of_commands_describes_every_command_of_the_readme() {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once("\n## Commands\n").unwrap();
    let (table, _) = rest.split_once("\n## ").unwrap();
    let short = listed(table);
    assert!(short.len() > 40, "only {} are listed", short.len());
    let described = listed(include_str!("../../../docs/COMMANDS.md"));
    let missing: Vec<_> = short.symmetric_difference(&described).collect();
    assert!(missing.is_empty(), "on one page only: {missing:?}");
}
