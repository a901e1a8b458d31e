//! Memories as ai-memory shows them to people: a line each, with the tier in its colour and the priority
//! as a bar.

use std::io;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::cli::terminal::output::{BOLD, DIM, LONG, MID, NAME, Output, PLAIN, Paint, SHORT};

/// Characters of a content that are shown of what was recalled.
const PREVIEW: usize = 200;
/// Cells of a priority bar, one for each step.
const CELLS: usize = 10;

/// Fields of a memory that are shown.
#[derive(Deserialize)]
pub struct Row {
    id: String,
    tier: String,
    namespace: String,
    title: String,
    content: String,
    priority: u8,
    confidence: f64,
    access_count: u32,
    updated_at: String,
}

/// Shows what was recalled, each with the beginning of its content.
pub fn recalled(output: &mut Output, rows: &[Row], now: DateTime<Utc>) -> io::Result<()> {
    for row in rows {
        let confidence = match row.confidence < 1.0 {
            true => format!(" conf={:.0}%", row.confidence * 100.0),
            false => String::new(),
        };
        let bar = bar(row.priority);
        let (label, title) = (label(row), line(output, &row.title));
        let namespace = line(output, &row.namespace);
        let (uses, age) = (row.access_count, age(row, now));
        output.line(format!(
            "[{label}] {BOLD}{title}{BOLD:#} {bar} (ns={NAME}{namespace}{NAME:#}, {uses}x, {DIM}{age}{DIM:#}{confidence})"
        ))?;
        let preview: String = row.content.chars().take(PREVIEW).collect();
        let preview = line(output, &preview);
        output.line(format!("  {DIM}{preview}{DIM:#}\n"))?;
    }
    output.line(format!("{} memory(ies) recalled", rows.len()))
}

/// Shows what was found or listed, and how many `things` these are.
pub fn listed(
    output: &mut Output,
    rows: &[Row],
    things: &str,
    now: DateTime<Utc>,
) -> io::Result<()> {
    for row in rows {
        let (label, title) = (label(row), line(output, &row.title));
        let (priority, namespace) = (row.priority, line(output, &row.namespace));
        let age = age(row, now);
        output.line(format!(
            "[{label}] {title} (p={priority}, ns={NAME}{namespace}{NAME:#}, {DIM}{age}{DIM:#})"
        ))?;
    }
    output.line(format!("\n{} {things}", rows.len()))
}

/// A text on one line, safe for the output.
pub fn line(output: &Output, text: &str) -> String {
    output.shown(&text.replace(['\n', '\r'], " "))
}

/// The name of a tier in its colour.
pub fn tier(name: &str) -> String {
    let paint = paint(name);
    format!("{paint}{name}{paint:#}")
}

fn label(row: &Row) -> String {
    let paint = paint(&row.tier);
    format!("{paint}{}/{}{paint:#}", row.tier, row.id)
}

fn paint(tier: &str) -> Paint {
    match tier {
        "short" => SHORT,
        "mid" => MID,
        "long" => LONG,
        _ => PLAIN,
    }
}

fn bar(priority: u8) -> String {
    let full = usize::from(priority).min(CELLS);
    let paint = match priority {
        8.. => LONG,
        5..8 => MID,
        _ => SHORT,
    };
    let (full, empty) = ("█".repeat(full), "░".repeat(CELLS - full));
    format!("{paint}{full}{empty}{paint:#}")
}

fn age(row: &Row, now: DateTime<Utc>) -> String {
    match DateTime::parse_from_rfc3339(&row.updated_at) {
        Ok(at) => crate::cli::terminal::output::age(at.to_utc(), now),
        Err(_) => row.updated_at.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_a_cell_for_each_step() {
        assert_eq!(bar(5), "█████░░░░░");
        assert_eq!(bar(10), "██████████");
        assert_eq!(bar(1), "█░░░░░░░░░");
    }
}
