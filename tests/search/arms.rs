//! The comparison of a ranking with its parts: `memdir eval --arms`.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::program::Home;

const CORPUS: &str = r#"{"id":"1","timestamp":"2026-01-01T00:00:00Z","user":"ana","text":"Party 84711902 meets at the hut.","scope":"a"}
{"id":"2","timestamp":"2026-01-02T00:00:00Z","user":"ana","text":"Bread and a book.","scope":"a"}"#;
/// Words find both memories.
const EASY: &str = r#"{"qid":"q1","query":"who meets at the hut?","relevant_ids":["1"],"type":"easy"}
{"qid":"q2","query":"bread book","relevant_ids":["2"],"type":"easy"}"#;
/// The second question has a part of a number alone, which only keyword counts find.
const PART: &str = r#"{"qid":"q1","query":"who meets at the hut?","relevant_ids":["1"],"type":"easy"}
{"qid":"q2","query":"4711","relevant_ids":["1"],"type":"part"}"#;

fn set(folder: &Path, questions: &str) {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("corpus.jsonl"), CORPUS).unwrap();
    fs::write(folder.join("queries.jsonl"), questions).unwrap();
}

fn compare(home: &Home, options: &[&str], set: &Path) -> Output {
    let mut command = home.command(options);
    command.args(["eval", "--arms", "--pooled"]).arg(set);
    command.output().unwrap()
}

#[test]
fn a_comparison_passes_where_no_part_is_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let easy = folder.path().join("easy");
    set(&easy, EASY);
    let output = compare(&Home::new(), &[], &easy);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "easy · pooled · 2 questions");
    assert_eq!(lines[2], "fused             100.0    100.0");
    assert_eq!(
        lines[4],
        "bm25              100.0    100.0   +0.0 (+0.0 to +0.0)      +0.0 (+0.0 to +0.0)"
    );
    assert!(lines[5].starts_with("keywords "), "{said}");
    assert!(!said.contains("ahead"), "{said}");
}

#[test]
fn a_comparison_fails_where_a_part_is_ahead_and_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("part");
    set(&part, PART);
    let home = Home::new();
    let output = compare(&home, &[], &part);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let ahead: Vec<&str> = said.lines().filter(|line| line.contains("ahead")).collect();
    assert_eq!(
        ahead,
        [
            "keywords is ahead of fused by 50.0 points in R@10 (not significant)",
            "keywords is ahead of fused by 50.0 points in NDCG@10 (not significant)",
        ]
    );

    let output = compare(&home, &["--json"], &part);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let arms = all[0]["arms"].as_array().unwrap();
    let names: Vec<&str> = arms.iter().filter_map(|arm| arm["arm"].as_str()).collect();
    assert_eq!(names, ["fused", "words", "bm25", "keywords"]);
    let keywords = &arms[3];
    assert_eq!(keywords["types"]["part"]["R@10"], 1.0);
    assert_eq!(arms[0]["types"]["part"]["R@10"], 0.0);
    assert_eq!(keywords["difference"]["R@10"]["mean"], 0.5);
    assert_eq!(keywords["difference"]["R@10"]["low"], 0.0);
    assert_eq!(keywords["difference"]["R@10"]["high"], 1.0);
    assert_eq!(keywords["difference"]["R@10"]["significant"], false);
    assert_eq!(keywords["ahead"][1], "NDCG@10");
    assert_eq!(arms[1]["ahead"].as_array().unwrap().len(), 0);
}

#[cfg(feature = "tract")]
#[test]
fn with_a_model_the_words_and_each_cosine_are_compared_too() {
    let folder = tempfile::tempdir().unwrap();
    let near = folder.path().join("near");
    // Only vectors find this one: the tiny model takes words apart.
    set(
        &near,
        r#"{"qid":"q1","query":"breadous bookous","relevant_ids":["2"],"type":"near"}"#,
    );
    let home = Home::new();
    let compared = |ranking: &str| -> Vec<(String, f64)> {
        let arguments = ["--json", "eval", "--arms", "--pooled", "--ranking", ranking];
        let mut command = home.command(&arguments);
        command.env("MEMDIR_MODEL_DIR", crate::support::fixture("models/tiny"));
        let output = command.arg(&near).output().unwrap();
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        let arms = all[0]["arms"].as_array().unwrap().clone();
        let value = |arm: Value| {
            let name = arm["arm"].as_str().unwrap().to_owned();
            (name, arm["types"]["near"]["NDCG@10"].as_f64().unwrap())
        };
        arms.into_iter().map(value).collect()
    };
    let found = |name: &str, value: f64| (name.to_owned(), value);
    assert_eq!(
        compared("fused"),
        [
            found("fused", 1.0),
            found("cosine", 1.0),
            found("window-cosine", 1.0),
            found("rrf", 1.0),
            found("words", 0.0),
            found("bm25", 0.0),
            found("keywords", 0.0),
        ]
    );
    // A ranking without vectors is compared with such.
    assert_eq!(
        compared("words"),
        [
            found("words", 0.0),
            found("bm25", 0.0),
            found("keywords", 0.0)
        ]
    );
}
