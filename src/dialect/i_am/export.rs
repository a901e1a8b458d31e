//! `export_memories`: every live entry, as markdown or as the JSON of the original's file.

use serde::Serialize;
use serde_json::Value;

use super::entry::{Entry, list};
use super::renderer::{EntryRenderer, EntryView};
use super::vocabulary;
use super::vocabulary::{CATEGORIES, FORMATS, SCHEMA_VERSION};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::{JsonObject, to_json};
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::ops;

/// Runs the tool `export_memories`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let format = arguments.set_text("output_format")?;
    let format = format.as_deref().unwrap_or(FORMATS[0]);
    let format = vocabulary::word("output_format", format, &FORMATS)?;
    let entries = list(call, None)?;
    let renderer = EntryRenderer::of_all(call, None, &entries)?;
    match format {
        "json" => json_of(call, &entries, &renderer),
        _ => markdown(&entries, &renderer),
    }
}

/// The JSON of the original's file.
#[derive(Serialize)]
struct JsonExport {
    schema_version: &'static str,
    session_count: usize,
    memories: JsonObject,
}

fn json_of(
    call: &Call<'_>,
    entries: &[Entry],
    renderer: &EntryRenderer<'_>,
) -> Result<Reply, ToolError> {
    let mut memories = JsonObject::new();
    for category in CATEGORIES {
        let mut shown = JsonObject::new();
        for entry in entries.iter().filter(|entry| entry.category == category) {
            shown.insert(entry.key.clone(), to_json(&renderer.entry(entry)?));
        }
        memories.insert(category.to_owned(), Value::Object(shown));
    }
    Ok(Reply::of(&JsonExport {
        schema_version: SCHEMA_VERSION,
        session_count: ops::sessions(call.engine)?,
        memories,
    }))
}

/// All entries as a text.
#[derive(Serialize)]
struct MarkdownExport {
    format: &'static str,
    total: usize,
    content: String,
}

fn markdown(entries: &[Entry], renderer: &EntryRenderer<'_>) -> Result<Reply, ToolError> {
    let mut text = "# Memories\n".to_owned();
    for category in CATEGORIES {
        let of_category: Vec<&Entry> = entries
            .iter()
            .filter(|entry| entry.category == category)
            .collect();
        if !of_category.is_empty() {
            text.push_str(&format!("\n## {category}\n"));
        }
        for entry in of_category {
            let value = entry.memory.content.trim_end();
            text.push_str(&format!("\n### {}\n\n{value}\n\n", entry.key));
            for line in facts(entry, &renderer.entry(entry)?) {
                text.push_str(&format!("- {line}\n"));
            }
        }
    }
    Ok(Reply::of(&MarkdownExport {
        format: "markdown",
        total: entries.len(),
        content: text,
    }))
}

/// Returns the fields of an entry beside its value, a line each.
fn facts(entry: &Entry, view: &EntryView) -> Vec<String> {
    let mut lines = Vec::new();
    if !entry.memory.topics.is_empty() {
        lines.push(format!("tags: {}", entry.memory.topics.join(", ")));
    }
    lines.push(format!("importance: {}", entry.importance()));
    if let Some(confidence) = entry.memory.confidence {
        lines.push(format!("confidence: {confidence}"));
    }
    lines.push(match &view.source.detail {
        Some(detail) => format!("source: {} ({detail})", view.source.kind),
        None => format!("source: {}", view.source.kind),
    });
    lines.push(format!("updated: {}", view.updated_at));
    if view.status != "active" {
        lines.push(format!("status: {}", view.status));
    }
    let links = view.links.iter();
    lines.extend(links.map(|link| format!("{}: {}", link.relation, link.target)));
    lines
}
