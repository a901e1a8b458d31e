//! The command that decides between memories that contradict each other.

use serde_json::Value;
use serde_json::json;

use super::Context;
use super::Outcome;
use super::args::Resolve;
use super::fail::Failure;
use super::output::DIM;
use super::output::ID;
use crate::engine::Conflict;
use crate::engine::Contender;
use crate::engine::Engine;
use crate::model::Stem;

pub(super) fn resolve(context: &mut Context, command: &Resolve) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let resolved = match (&command.id, &command.keep, command.both) {
        (Some(id), Some(keep), _) => engine.keep_one(id, keep)?,
        (Some(id), None, true) => engine.keep_both(id)?,
        (Some(id), None, false) => return show(context, &engine, &engine.conflicts_of(id)?),
        (None, ..) => return show(context, &engine, &engine.conflicts()?),
    };
    let output = &mut context.output;
    if output.json {
        let kept: Vec<Value> = resolved.kept.iter().map(named).collect();
        let forgotten = resolved.forgotten.as_ref().map(named);
        output.json(&json!({"kept": kept, "forgotten": forgotten}))?;
    } else {
        for stem in &resolved.kept {
            output.line(format!("kept {ID}{}{ID:#}", stem.short()))?;
        }
        if let Some(stem) = &resolved.forgotten {
            output.line(format!("forgotten {ID}{}{ID:#}", stem.short()))?;
        }
    }
    super::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

fn named(stem: &Stem) -> Value {
    json!({"id": stem.short(), "stem": stem.as_str()})
}

fn show(
    context: &mut Context,
    engine: &Engine,
    conflicts: &[Conflict],
) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    if output.json {
        let conflicts: Vec<Value> = conflicts
            .iter()
            .map(|conflict| {
                conflict
                    .pair
                    .iter()
                    .map(|side| as_json(engine, side))
                    .collect()
            })
            .collect();
        output.json(&json!({"conflicts": conflicts}))?;
    } else if conflicts.is_empty() {
        output.line("no memories contradict each other")?;
    } else {
        for Conflict { pair } in conflicts {
            for (side, sign) in pair.iter().zip(["", "  conflicts with"]) {
                if !sign.is_empty() {
                    output.line(sign)?;
                }
                let memory = &side.memory;
                let id = engine.shown_id(&memory.stem);
                let headline = output.shown(memory.headline());
                let agent = output.shown(&memory.agent);
                let at = output.shown(memory.timestamp.as_str());
                output.line(format!(
                    "{ID}{id}{ID:#}  {headline}  {DIM}({agent}, {at}){DIM:#}"
                ))?;
            }
            output.line("")?;
        }
        output.line("decide: memdir resolve ID --keep ID, or memdir resolve ID --both")?;
    }
    output.flush()?;
    super::settle(engine);
    Ok(Outcome::Done)
}

fn as_json(engine: &Engine, side: &Contender) -> Value {
    let memory = &side.memory;
    json!({
        "id": engine.shown_id(&memory.stem),
        "stem": memory.stem.as_str(),
        "file": format!("files/{}", side.name),
        "headline": memory.headline(),
        "timestamp": memory.timestamp.as_str(),
        "agent": memory.agent,
    })
}
