//! The commands that a page shows, block by block, each with what it shows of their answers.
//!
//! A fenced block of `console` or `sh` holds commands. In a `console`, a command follows `$ ` and
//! its answer stands below it. A comment on the line before the block says what its commands need:
//! `<!-- test: scene NAME -->`, or `<!-- test: continues -->` for the home of the block before.

use std::fs;
use std::path::Path;

/// What is there before the first command of a block.
#[derive(Debug, PartialEq)]
pub enum Before {
    /// A home folder with nothing in it.
    Nothing,
    /// What the block before has left.
    Continues,
    /// A scene of `scenes.rs`.
    Scene(String),
}

#[derive(Debug)]
pub struct Block {
    pub before: Before,
    pub commands: Vec<Shown>,
}

/// One command as the page shows it.
#[derive(Debug)]
pub struct Shown {
    /// `README.md:52`.
    pub at: String,
    pub command: String,
    /// What the page shows of its answer; `None` in a block that shows no answers.
    pub answer: Option<String>,
}

/// The blocks of README.md, of the examples' and of every page in docs/.
pub fn blocks(root: &Path) -> Vec<Block> {
    let mut pages = vec![root.join("README.md"), root.join("examples/README.md")];
    let documents = fs::read_dir(root.join("docs")).unwrap();
    pages.extend(documents.map(|entry| entry.unwrap().path()));
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    pages
        .iter()
        .flat_map(|page| {
            let name = page.strip_prefix(root).unwrap().to_str().unwrap();
            blocks_of(name, &fs::read_to_string(page).unwrap())
        })
        .collect()
}

fn blocks_of(page: &str, text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(language) = lines[at].strip_prefix("```") else {
            at += 1;
            continue;
        };
        let length = lines[at + 1..]
            .iter()
            .position(|line| *line == "```")
            .unwrap_or_else(|| panic!("{page}:{}: the block has no end", at + 1));
        let inside = &lines[at + 1..at + 1 + length];
        if matches!(language, "console" | "sh") {
            let said = at.checked_sub(1).map(|above| lines[above]);
            blocks.push(Block {
                before: before(said.unwrap_or_default()),
                commands: commands(page, at + 2, inside, language == "console"),
            });
        }
        at += length + 2;
    }
    blocks
}

fn before(line: &str) -> Before {
    let said = line
        .strip_prefix("<!-- test: ")
        .and_then(|line| line.strip_suffix(" -->"));
    match said {
        None => Before::Nothing,
        Some("continues") => Before::Continues,
        Some(said) => {
            let name = said.strip_prefix("scene ");
            Before::Scene(name.expect("`continues` or `scene NAME`").to_owned())
        }
    }
}

fn commands(page: &str, first: usize, lines: &[&str], is_console: bool) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut goes_on = false;
    for (number, line) in lines.iter().enumerate() {
        let begun = if is_console {
            line.strip_prefix("$ ")
        } else {
            (!line.is_empty() && !goes_on).then_some(*line)
        };
        if let Some(command) = begun {
            commands.push(Shown {
                at: format!("{page}:{}", first + number),
                command: command.to_owned(),
                answer: is_console.then(String::new),
            });
        } else if let Some(shown) = commands.last_mut() {
            let text = match &mut shown.answer {
                Some(answer) if !goes_on => answer,
                _ => &mut shown.command,
            };
            text.push_str(line);
            text.push('\n');
        }
        goes_on = line.ends_with('\\');
        if goes_on && let Some(shown) = commands.last_mut() {
            shown.command.push('\n');
        }
    }
    commands
}

#[test]
fn a_page_is_read_as_it_is_meant() {
    let page = "Text.\n<!-- test: scene two -->\n```console\n$ memdir a \\\n    b\nit\n  went\n$ memdir c\n```\n\n```json\n$ no\n```\n```sh\nmemdir d  # why\n```\n";
    let blocks = blocks_of("page.md", page);
    assert_eq!(blocks.len(), 2);
    assert_eq!(blocks[0].before, Before::Scene("two".to_owned()));
    assert_eq!(blocks[1].before, Before::Nothing);
    let shown = |block: &Block| -> Vec<(String, String, Option<String>)> {
        let commands = block.commands.iter();
        commands
            .map(|one| {
                (
                    one.at.clone(),
                    one.command.trim().to_owned(),
                    one.answer.clone(),
                )
            })
            .collect()
    };
    let (a, c) = ("memdir a \\\n    b", "memdir c");
    assert_eq!(
        shown(&blocks[0]),
        [
            (
                "page.md:4".to_owned(),
                a.to_owned(),
                Some("it\n  went\n".to_owned())
            ),
            ("page.md:8".to_owned(), c.to_owned(), Some(String::new())),
        ]
    );
    let d = ("page.md:15".to_owned(), "memdir d  # why".to_owned(), None);
    assert_eq!(shown(&blocks[1]), [d]);
}
