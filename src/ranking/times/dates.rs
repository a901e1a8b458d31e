//! Calendar terms: those of a memory's timestamp, and those in a query.

use std::collections::HashSet;
use std::sync::LazyLock;

use chrono::{Datelike, NaiveDate};
use regex::Regex;

/// Returns the terms of a date: its year, month, year and month, month and day.
pub fn date_terms(date: NaiveDate) -> [String; 4] {
    let (year, month, day) = (date.year(), date.month(), date.day());
    [
        year_term(year),
        month_term(month),
        year_month_term(year, month),
        month_day_term(month, day),
    ]
}

fn year_term(year: i32) -> String {
    format!("y{year}")
}

fn month_term(month: u32) -> String {
    format!("m{month}")
}

fn year_month_term(year: i32, month: u32) -> String {
    format!("ym{year}-{month}")
}

fn month_day_term(month: u32, day: u32) -> String {
    format!("md{month}-{day}")
}

/// Returns whether a calendar term is of one day.
pub(in crate::ranking) fn is_of_day(term: &str) -> bool {
    term.starts_with("md")
}

/// Returns whether a calendar term is of a month of a year, or of a day.
pub(in crate::ranking) fn is_precise(term: &str) -> bool {
    is_of_day(term) || term.starts_with("ym")
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

static ISO: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b((?:19|20)[0-9]{2})-([0-9]{1,2})(?:-([0-9]{1,2}))?\b").expect("it is valid")
});

/// Returns the distinct calendar terms of the dates in a query. English month names.
pub(in crate::ranking) fn query_terms(query: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut add = |term: String| {
        if known.insert(term.clone()) {
            terms.push(term);
        }
    };
    // To compile the expression takes longer than most searches.
    let may_match = query.contains("19") || query.contains("20");
    let found = may_match.then(|| ISO.captures_iter(query));
    for found in found.into_iter().flatten() {
        let number = |at: usize| {
            found
                .get(at)
                .and_then(|text| text.as_str().parse::<u32>().ok())
        };
        let (Some(year), Some(month @ 1..=12)) = (number(1), number(2)) else {
            continue;
        };
        add(year_term(year as i32));
        add(month_term(month));
        add(year_month_term(year as i32, month));
        if let Some(day @ 1..=31) = number(3) {
            add(month_day_term(month, day));
        }
    }
    let words: Vec<&str> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let word = |at: Option<usize>| at.and_then(|at| words.get(at)).copied().unwrap_or("");
    for (at, text) in words.iter().enumerate() {
        if let Some(year) = year(text) {
            add(year_term(year));
        }
        let Some((month, sure)) = month(text) else {
            continue;
        };
        let (before, before_that) = (word(at.checked_sub(1)), word(at.checked_sub(2)));
        let (after, after_that) = (word(Some(at + 1)), word(Some(at + 2)));
        let day = day(after).or_else(|| day(before)).or_else(|| {
            if before == "of" {
                day(before_that)
            } else {
                None
            }
        });
        let year = year(after).or_else(|| {
            let looks_on = day.is_some() || matches!(after, "of" | "in");
            if looks_on { year(after_that) } else { None }
        });
        let capital = at > 0 && text.starts_with(char::is_uppercase);
        if !(sure || day.is_some() || year.is_some() || capital) {
            continue; // "may", "march", "dec": words of their own.
        }
        add(month_term(month));
        if let Some(year) = year {
            add(year_month_term(year, month));
        }
        if let Some(day) = day {
            add(month_day_term(month, day));
        }
    }
    terms
}

/// Returns the month of a word, and whether the word has no other meaning.
fn month(word: &str) -> Option<(u32, bool)> {
    let word = word.to_lowercase();
    let at = MONTHS
        .iter()
        .position(|month| *month == word || month[..3] == word);
    let at = at.or_else(|| (word == "sept").then_some(8))?;
    let sure = word.len() > 4 && word != "march" || matches!(word.as_str(), "june" | "july");
    Some((at as u32 + 1, sure))
}

fn year(word: &str) -> Option<i32> {
    let fits = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    if fits { word.parse().ok() } else { None }
}

fn day(word: &str) -> Option<u32> {
    let lower = word.to_lowercase();
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|end| lower.strip_suffix(end));
    let digits = digits.unwrap_or(&lower);
    if digits.len() > 2 {
        return None;
    }
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_questions_are_read() {
        check("what happened in May 2023?", &["m5", "ym2023-5", "y2023"]);
        check("on 7 May", &["m5", "md5-7"]);
        check(
            "the 3rd of march 2024",
            &["m3", "ym2024-3", "md3-3", "y2024"],
        );
        check("july plans", &["m7"]);
        check("2024-02-29", &["y2024", "m2", "ym2024-2", "md2-29"]);
        check("may I march on", &[]);
        check("dec", &[]);
    }

    #[track_caller]
    fn check(query: &str, expected: &[&str]) {
        assert_eq!(query_terms(query), expected, "{query}");
    }
}
