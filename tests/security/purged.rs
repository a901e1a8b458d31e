//! What was purged is nowhere in the store any more: no file, no record, no word of it in the index.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::program::{Home, names};
use crate::support::regular_files;
use crate::support::session::Session;

/// Stands in the memory that goes, and in no other.
const WORD: &str = "zanzibarquux";

/// The files of the store that hold the word as it is.
fn holders(home: &Home) -> Vec<String> {
    let holds = |bytes: &[u8]| {
        let mut runs = bytes.windows(WORD.len());
        runs.any(|run| run.eq_ignore_ascii_case(WORD.as_bytes()))
    };
    let files = regular_files(&home.store()).into_iter();
    let files = files.filter(|path| holds(&std::fs::read(path).unwrap()));
    files.map(|path| path.display().to_string()).collect()
}

/// Every term in the files of the index, also of what no answer shows any more.
fn terms(home: &Home) -> BTreeSet<String> {
    let state = home.store().join(".memdir");
    let is_index = |name: &&String| name.starts_with("index-");
    let folder = names(&state)
        .iter()
        .find(is_index)
        .map(|name| state.join(name));
    let mut found = BTreeSet::new();
    let index = tantivy::Index::open_in_dir(Path::new(&folder.expect("an index"))).unwrap();
    for segment in index.searchable_segments().unwrap() {
        let reader = tantivy::SegmentReader::open(&segment).unwrap();
        for (field, entry) in index.schema().fields() {
            if !entry.is_indexed() {
                continue;
            }
            let inverted = reader.inverted_index(field).unwrap();
            let mut terms = inverted.terms().stream().unwrap();
            while terms.advance() {
                found.insert(String::from_utf8_lossy(terms.key()).into_owned());
            }
        }
    }
    found
}

fn holds_the_word(home: &Home) -> bool {
    terms(home).iter().any(|term| term.contains(&WORD[..9]))
}

/// A store with a memory that holds the word, in all its fields and in its past.
fn home() -> (Home, String) {
    let home = Home::new();
    for text in [
        "Herons stand in the river.",
        "The mill is closed.",
        "Deploys go out on Wednesdays.",
    ] {
        home.remember(&["--topics", "bird", text]);
    }
    let text = format!("The word is {WORD}.");
    let id = home.remember(&["--topics", WORD, "--title", WORD, &text]);
    let text = format!("Now it is {WORD} twice, {WORD}.");
    home.run(&["update", &id, "--content", &text]).done();
    home.run(&["reindex", "--full"]).done();
    assert!(holds_the_word(&home));
    assert_eq!(holders(&home).len(), 1, "{:?}", holders(&home));
    (home, id)
}

#[test]
fn no_file_and_no_index_of_the_store_holds_a_purged_text() {
    let (home, id) = home();
    home.run(&["purge", &id, "--history", "--yes"]);
    assert_eq!(holders(&home), [""; 0]);
    assert!(!holds_the_word(&home), "{:?}", terms(&home));
    assert_eq!(home.run(&["grep", WORD]).code, 1);
    assert_eq!(home.run(&["think", "-k", "heron"]).lines().len(), 1);
    home.run(&["verify"]).done();
}

#[test]
fn the_index_forgets_while_a_server_has_it_open() {
    let (home, id) = home();
    let mut session = Session::on(&home);
    let ask = serde_json::json!({"keywords": ["heron"]});
    assert!(session.tool("think", ask.clone())["isError"].is_null());
    home.run(&["purge", &id, "--yes"]);
    assert!(!holds_the_word(&home), "{:?}", terms(&home));
    let found = session.tool("think", ask)["structuredContent"]["results"].take();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
}
