//! The table of `docs/SECURITY.md` is true as far as a program can tell: every line of the list is
//! there, and every test that it names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The list of what a store of memories has to guard, by its numbers.
const LIST: [std::ops::RangeInclusive<u8>; 5] = [1..=17, 21..=25, 31..=36, 41..=48, 51..=55];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The rows of the tables: number, promise, what shows it.
fn rows() -> Vec<(u8, String, String)> {
    let page = fs::read_to_string(root().join("docs/SECURITY.md")).unwrap();
    let cells = |line: &str| -> Option<(u8, String, String)> {
        let line = line.strip_prefix("| S")?.strip_suffix(" |")?;
        let mut cells = line.splitn(3, " | ").map(str::to_owned);
        let number = cells.next()?.parse().ok()?;
        Some((number, cells.next()?, cells.next()?))
    };
    page.lines().filter_map(cells).collect()
}

fn rust_files(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

#[test]
fn every_line_of_the_list_is_there_once() {
    let numbers: Vec<u8> = rows().into_iter().map(|(number, _, _)| number).collect();
    let known: BTreeSet<u8> = numbers.iter().copied().collect();
    assert_eq!(
        numbers.len(),
        known.len(),
        "a line is there twice: {numbers:?}"
    );
    let list: BTreeSet<u8> = LIST.into_iter().flatten().collect();
    let foreign: Vec<&u8> = known.difference(&list).collect();
    assert!(foreign.is_empty(), "no lines of the list: {foreign:?}");
    let missing: Vec<&u8> = list.difference(&known).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    assert!(numbers.is_sorted(), "{numbers:?}");
}

#[test]
fn every_test_that_is_named_exists() {
    let mut files = Vec::new();
    for folder in ["src", "tests"] {
        rust_files(&root().join(folder), &mut files);
    }
    let exists = |name: &str| {
        let parts: Vec<&str> = name.split("::").collect();
        let (first, last) = (parts[0], parts[parts.len() - 1]);
        let definition = format!("fn {last}(");
        files.iter().any(|(path, text)| {
            let inside = path.strip_prefix(root()).unwrap().with_extension("");
            let is_there = inside.iter().any(|part| part == first);
            // Where one test runs by the git program and by the library, a macro names it.
            is_there && (text.contains(&definition) || text.contains(&format!("    {last},\n")))
        })
    };
    let quoted = regex::Regex::new("`([^`]+)`").unwrap();
    let named = regex::Regex::new("^[a-z_0-9]+(::[a-z_0-9]+)+$").unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (number, promise, shown) in rows() {
        assert!(
            !promise.trim().is_empty() && !shown.trim().is_empty(),
            "S{number}"
        );
        for quote in quoted.captures_iter(&shown) {
            let quote = &quote[1];
            let is_wrong = if named.is_match(quote) {
                count += 1;
                !exists(quote)
            } else if quote.contains('/') && quote.contains('.') {
                count += 1;
                !root().join(quote).exists()
            } else {
                false
            };
            if is_wrong {
                wrong.push(format!("S{number}: {quote}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "these do not exist:\n{}",
        wrong.join("\n")
    );
    assert!(count > 60, "{count} tests are named");
}

#[test]
fn the_way_to_report_a_weakness_is_told() {
    let policy = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    assert!(policy.contains("docs/SECURITY.md"));
    let version = env!("CARGO_PKG_VERSION");
    let (line, _) = version.rsplit_once('.').unwrap();
    assert!(
        policy.contains(&format!("{line}.x")),
        "the supported versions do not name {line}.x"
    );
}
