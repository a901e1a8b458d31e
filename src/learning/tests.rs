//! Measures the rules on the labelled talks of `fixtures/proposals/`.
//!
//! Rules were chosen on the talks up to number 38; the bars are about those behind it. Of these only counts
//! are looked at, so no failure names one of their sentences.

use std::fs;
use std::path::Path;

use super::*;

/// A sentence that is worth keeping.
struct Label {
    kinds: Vec<CandidateKind>,
    sentence: String,
}

/// Counts over talks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    candidates: usize,
    /// Candidates whose sentence is labelled.
    right: usize,
    /// Those with a kind that the label names, too.
    right_kind: usize,
    labels: usize,
    /// Labels whose sentence is a candidate.
    found: usize,
}

/// Returns the text of a labelled talk as `mine` writes it, its company, and its labels.
fn read(text: &str) -> (String, Company, Vec<Label>) {
    let (mut content, mut labels) = (String::new(), Vec::new());
    let mut last = "";
    for line in text.lines().skip(1) {
        if let Some(label) = line.strip_prefix("@ ") {
            let mut parts = label.split(" | ");
            let kinds = parts.next().unwrap().split_whitespace();
            labels.push(Label {
                kinds: kinds
                    .map(|name| CandidateKind::named(name).unwrap())
                    .collect(),
                sentence: parts.next().unwrap().to_owned(),
            });
            continue;
        }
        match line
            .split_once(": ")
            .filter(|(who, _)| who.chars().all(char::is_alphabetic))
        {
            Some((who, said)) => {
                if who != last {
                    content.push_str(&format!("\n**{who}**\n"));
                }
                content.push_str(&format!("\n{said}\n"));
                last = who;
            }
            None => content.push_str(&format!("{line}\n")),
        }
    }
    let company = match content.contains("**Assistant**") {
        true => Company::WithAssistant,
        false => Company::People,
    };
    (content, company, labels)
}

/// Number of the last talk that rules were chosen on.
const LAST_CHOSEN_ON: usize = 38;

/// Counts over the talks that rules were chosen on, or over the others.
fn measure(is_chosen_on: bool) -> Counts {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/proposals");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let mut counts = Counts::default();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        if (name[..2].parse::<usize>().unwrap() <= LAST_CHOSEN_ON) != is_chosen_on {
            continue;
        }
        let (content, company, labels) = read(&fs::read_to_string(&path).unwrap());
        let found = candidates(&content, company);
        let is_of = |one: &Candidate, label: &Label| {
            one.quote.contains(&label.sentence) || label.sentence.contains(&one.quote)
        };
        counts.candidates += found.len();
        counts.labels += labels.len();
        for one in &found {
            let mut kinds = labels.iter().filter(|label| is_of(one, label)).peekable();
            counts.right += usize::from(kinds.peek().is_some());
            counts.right_kind += usize::from(kinds.any(|label| label.kinds.contains(&one.kind)));
        }
        let is_found = |label: &&Label| found.iter().any(|one| is_of(one, label));
        counts.found += labels.iter().filter(is_found).count();
    }
    counts
}

#[test]
fn rules_hold_on_the_talks_that_they_were_not_chosen_on() {
    let counts = measure(false);
    assert!(
        counts.right * 100 >= counts.candidates * 80,
        "precision: {counts:?}"
    );
    assert!(
        counts.found * 100 >= counts.labels * 50,
        "coverage: {counts:?}"
    );
}

/// The counts that docs/MINING.md reports; whoever changes a rule changes them there.
#[test]
fn the_counts_are_those_that_the_documentation_reports() {
    let unseen = Counts {
        candidates: 70,
        right: 59,
        right_kind: 40,
        labels: 101,
        found: 59,
    };
    assert_eq!(measure(false), unseen);
    let chosen_on = Counts {
        candidates: 168,
        right: 146,
        right_kind: 117,
        labels: 187,
        found: 146,
    };
    assert_eq!(measure(true), chosen_on);
}
