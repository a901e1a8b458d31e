//! How many attacks are marked, and how many ordinary notes: two collections in this folder, and
//! the paragraphs of this repository's documents and comments, which are notes of the plainest kind.
//!
//! The figures stand in `docs/SECURITY.md`. They are those of these texts: whoever knows the table of
//! signs writes an attack that has none.

use std::fs;
use std::path::{Path, PathBuf};

use memdir::injection;

const ATTACKS: &str = include_str!("attacks.txt");
const LATER: &str = include_str!("later.txt");
const PLAIN: &str = include_str!("plain.txt");

/// The lines of a collection, with what stands for line ends and odd characters.
fn lines(collection: &str) -> Vec<String> {
    let escape = regex::Regex::new(r"\\u\{([0-9a-f]+)\}|\\n").unwrap();
    let unescaped = |line: &str| {
        let read = |found: &regex::Captures| match found.get(1) {
            Some(code) => {
                let code = u32::from_str_radix(code.as_str(), 16).expect("it is a number");
                char::from_u32(code).expect("it is a character").to_string()
            }
            None => "\n".to_owned(),
        };
        escape.replace_all(line, read).into_owned()
    };
    let is_text = |line: &&str| !line.starts_with("# ") && !line.is_empty();
    collection.lines().filter(is_text).map(unescaped).collect()
}

/// Fails unless exactly those attacks are marked that no `~ ` stands before: both a new miss and a
/// miss that is none any more are to be seen in the collection. Returns how many there are, and how
/// many of them are marked.
#[track_caller]
fn marked_as_noted(collection: &str) -> (usize, usize) {
    let (missed, attacks): (Vec<String>, Vec<String>) = lines(collection)
        .into_iter()
        .partition(|line| line.starts_with("~ "));
    let is_marked = |text: &str| !injection::find(text).is_empty();
    let unmarked: Vec<&String> = attacks.iter().filter(|text| !is_marked(text)).collect();
    assert!(unmarked.is_empty(), "not marked: {unmarked:#?}");
    let found: Vec<&String> = missed.iter().filter(|text| is_marked(&text[2..])).collect();
    assert!(found.is_empty(), "marked by now: {found:#?}");
    (attacks.len() + missed.len(), attacks.len())
}

/// The paragraphs of the documents, and the comments that document the program.
fn paragraphs() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = ["docs", "src", "examples"]
        .map(|name| root.join(name))
        .into();
    let mut files = vec![
        root.join("README.md"),
        root.join("CHANGELOG.md"),
        root.join("CONTRIBUTING.md"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    // These two are about attacks, and quote some.
    let is_about = |path: &PathBuf| {
        path.ends_with("docs/SECURITY.md") || path.to_string_lossy().contains("injection")
    };
    files.retain(|path| !is_about(path));
    files.sort();
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let name = path.to_string_lossy();
        if name.ends_with(".md") {
            found.extend(text.split("\n\n").map(str::to_owned));
        } else if name.ends_with(".rs") {
            let comment = |line: &str| {
                let line = line.trim_start();
                line.strip_prefix("///")
                    .or_else(|| line.strip_prefix("//!"))
                    .map(str::to_owned)
            };
            let commented: Vec<Option<String>> = text.lines().map(comment).collect();
            let groups =
                commented.split(|line| line.as_ref().is_none_or(|line| line.trim().is_empty()));
            found.extend(groups.map(|group| {
                group
                    .iter()
                    .flatten()
                    .map(String::as_str)
                    .collect::<String>()
            }));
        }
    }
    found.retain(|text| text.split_whitespace().count() >= 4);
    found
}

#[test]
fn most_attacks_are_marked() {
    assert_eq!(marked_as_noted(ATTACKS), (232, 222));
}

/// Those that the table was not written with: the figure that is to be told beside the other one.
/// Below a quarter the marks would be of no use.
#[test]
fn of_attacks_that_came_later_a_quarter_is_marked() {
    assert_eq!(marked_as_noted(LATER), (24, 7));
}

#[test]
fn hardly_an_ordinary_note_is_marked() {
    let mut notes = lines(PLAIN);
    notes.extend(paragraphs());
    assert!(notes.len() >= 2_000, "{} notes", notes.len());
    let marked: Vec<(&String, Vec<&str>)> = notes
        .iter()
        .map(|text| (text, injection::find(text)))
        .filter(|(_, reasons)| !reasons.is_empty())
        .collect();
    eprintln!(
        "{} of {} notes are marked: {marked:#?}",
        marked.len(),
        notes.len()
    );
    assert!(marked.is_empty());
}

/// Notes that are as near to attacks as notes come: of these, too, hardly one.
#[test]
fn what_only_sounds_like_an_attack_is_not_marked() {
    let notes = lines(PLAIN);
    assert_eq!(notes.len(), 84);
    let marked: Vec<&String> = notes
        .iter()
        .filter(|text| !injection::find(text).is_empty())
        .collect();
    assert!(marked.is_empty(), "{marked:#?}");
}
