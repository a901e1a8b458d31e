//! `memdir brief`: what a session begins with.

use serde_json::{Value, json};

use crate::cli::args::sessions::Brief as BriefArgs;
use crate::cli::sessions::shown;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, ID};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::dialect::session_text;
use crate::engine::{Brief, BriefEntry, BriefLimits, BriefQuery, LeftOut, ops};
use crate::model::normalized_namespace;

/// Number of events that `--log` shows.
const MOST_EVENTS: usize = 50;

/// Runs `memdir brief`.
pub fn brief(context: &mut Context, command: &BriefArgs) -> Result<Outcome, Failure> {
    if command.log {
        return shown::show(context, command.limit.unwrap_or(MOST_EVENTS));
    }
    let instruction = session_text::start_instruction(context.config.mcp.dialect.as_deref());
    let around = session_text::characters_around(&instruction);
    if command.budget <= around {
        let what = format!("--budget {} leaves no place for a memory", command.budget);
        return Err(Failure::new(what).hint(format!(
            "What stands around the memories has {around} characters."
        )));
    }
    let engine = context.engine()?;
    let namespace = command.namespace.as_deref().map(normalized_namespace);
    let query = BriefQuery {
        namespace: namespace.map(|namespace| namespace.into_owned()),
        limits: BriefLimits {
            characters: command.budget - around,
            items: command.limit.unwrap_or(BriefLimits::default().items),
            ..BriefLimits::default()
        },
        ..BriefQuery::default()
    };
    let brief = ops::brief(&engine, &query)?;
    let lines: Vec<String> = brief.items.iter().map(|item| item.line.clone()).collect();
    let output = &mut context.output;
    if output.json {
        let text = session_text::with_lines(&instruction, &lines);
        output.json(&as_json(&brief, &text))?;
    } else if command.explain {
        for item in &brief.items {
            let line = output.shown(&item.line);
            let BriefEntry { reason, needed, .. } = item;
            output.line(format!(
                "{line}\n    {DIM}{reason}; needed by {needed:.2}{DIM:#}"
            ))?;
        }
        for LeftOut { id, why, .. } in &brief.left_out {
            output.line(format!("{ID}{id}{ID:#} is left out: {}", output.shown(why)))?;
        }
        let count = brief.candidates;
        let (chosen, namespace) = (brief.items.len(), output.shown(&brief.namespace));
        output.line(format!(
            "{chosen} of {count} memories that were looked at, for {namespace}"
        ))?;
    } else if !lines.is_empty() {
        let text = output.shown(&session_text::with_lines(&instruction, &lines));
        output.line(text.trim_end_matches('\n'))?;
    }
    if lines.is_empty() && !output.json {
        output.note(format!(
            "there is nothing to begin with in {}",
            brief.namespace
        ));
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(!lines.is_empty()))
}

fn as_json(brief: &Brief, text: &str) -> Value {
    let item = |item: &BriefEntry| {
        json!({
            "id": item.id,
            "stem": item.memory.stem.as_str(),
            "reason": item.reason.as_str(),
            "timestamp": item.memory.timestamp.as_str(),
            "needed": (f64::from(item.needed) * 1_000.0).round() / 1_000.0,
            "line": item.line,
        })
    };
    let left_out = |one: &LeftOut| json!({"id": one.id, "stem": one.stem.as_str(), "why": one.why});
    json!({
        "namespace": brief.namespace,
        "candidates": brief.candidates,
        "characters": text.chars().count(),
        "text": text,
        "items": brief.items.iter().map(item).collect::<Vec<_>>(),
        "left_out": brief.left_out.iter().map(left_out).collect::<Vec<_>>(),
    })
}
