//! `export_memories`: every live entry, as markdown or as the JSON of the original's file.

use serde_json::Value;
use serde_json::json;

use super::entry::Entry;
use super::entry::list;
use super::renderer::EntryRenderer;
use super::vocabulary;
use super::vocabulary::CATEGORIES;
use super::vocabulary::FORMATS;
use super::vocabulary::SCHEMA_VERSION;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::engine::ops;

pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let format = arguments.set_text("output_format")?;
    let format = format.as_deref().unwrap_or(FORMATS[0]);
    let format = vocabulary::word("output_format", format, &FORMATS)?;
    let entries = list(call, None)?;
    let teller = EntryRenderer::of_all(call, None, &entries)?;
    match format {
        "json" => json_of(call, &entries, &teller),
        _ => markdown(&entries, &teller),
    }
}

fn json_of(
    call: &Call<'_>,
    entries: &[Entry],
    teller: &EntryRenderer<'_>,
) -> Result<Reply, ToolError> {
    let mut memories = JsonObject::new();
    for category in CATEGORIES {
        let mut told = JsonObject::new();
        for entry in entries.iter().filter(|entry| entry.category == category) {
            told.insert(entry.key.clone(), Value::Object(teller.entry(entry)?));
        }
        memories.insert(category.to_owned(), Value::Object(told));
    }
    Ok(Reply::json(json!({
        "schema_version": SCHEMA_VERSION,
        "session_count": ops::sessions(call.engine)?,
        "memories": memories,
    })))
}

fn markdown(entries: &[Entry], teller: &EntryRenderer<'_>) -> Result<Reply, ToolError> {
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
            for line in facts(entry, &teller.entry(entry)?) {
                text.push_str(&format!("- {line}\n"));
            }
        }
    }
    Ok(Reply::json(json!({
        "format": "markdown",
        "total": entries.len(),
        "content": text,
    })))
}

/// What is known beside the value, a line each.
fn facts(entry: &Entry, told: &JsonObject) -> Vec<String> {
    let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    if !entry.memory.topics.is_empty() {
        lines.push(format!("tags: {}", entry.memory.topics.join(", ")));
    }
    lines.push(format!("importance: {}", entry.importance()));
    if let Some(confidence) = entry.memory.confidence {
        lines.push(format!("confidence: {confidence}"));
    }
    let source = &told["source"];
    let detail = source["detail"]
        .as_str()
        .map(|detail| format!(" ({detail})"));
    lines.push(format!(
        "source: {}{}",
        source["type"].as_str().unwrap_or_default(),
        detail.unwrap_or_default()
    ));
    lines.push(format!("updated: {}", text("updated_at")));
    if told["status"] != "active" {
        lines.push(format!("status: {}", text("status")));
    }
    for link in told["links"].as_array().into_iter().flatten() {
        let (relation, target) = (&link["relation"], &link["target"]);
        lines.push(format!(
            "{}: {}",
            relation.as_str().unwrap_or_default(),
            target.as_str().unwrap_or_default()
        ));
    }
    lines
}
