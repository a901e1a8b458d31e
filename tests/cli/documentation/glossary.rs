//! Whether the glossary speaks of the code as it is: each type that it names exists, and its words
//! are in alphabetical order.

use std::fs;
use std::path::Path;

use regex::Regex;

/// The words of the glossary, each with what is said of it.
fn entries(page: &str) -> Vec<(String, String)> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.strip_suffix(" |")?.split_once(" | "));
    cells
        .filter(|(word, _)| *word != "word" && *word != "---")
        .map(|(word, meaning)| (word.to_owned(), meaning.to_owned()))
        .collect()
}

/// The types that a meaning names, without their modules.
fn types(meaning: &str) -> Vec<String> {
    let names = Regex::new(r"`(?:\w+::)*([A-Z]\w*[a-z]\w*)`").unwrap();
    let found = names.captures_iter(meaning);
    found.map(|name| name[1].to_owned()).collect()
}

fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_type_that_the_glossary_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/GLOSSARY.md")).unwrap();
    let mut code = String::new();
    sources(&root.join("src"), &mut code);
    let named: Vec<String> = entries(&page)
        .iter()
        .flat_map(|(_, meaning)| types(meaning))
        .collect();
    assert!(named.len() > 40, "only {} types are named", named.len());
    let missing: Vec<&String> = named
        .iter()
        .filter(|name| {
            let defines = format!(r"\b(struct|enum|trait|type) {name}\b");
            !Regex::new(&defines).unwrap().is_match(&code)
        })
        .collect();
    assert!(missing.is_empty(), "no type is called {missing:?}");
}

#[test]
fn the_words_of_the_glossary_are_in_alphabetical_order() {
    let page = include_str!("../../../docs/GLOSSARY.md");
    let words: Vec<String> = entries(page).into_iter().map(|(word, _)| word).collect();
    assert!(words.len() > 60, "only {} words were found", words.len());
    assert!(words.is_sorted(), "{words:?}");
}
