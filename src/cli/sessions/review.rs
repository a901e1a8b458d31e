//! `memdir review`: texts that others wrote, which no agent is shown unasked before they are accepted.

use serde_json::{Value, json};

use crate::cli::args::sessions::Review;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, ID};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, ForeignSource, Recalled, ops};
use crate::model::Memory;

/// Runs `memdir review`.
pub fn review(context: &mut Context, command: &Review) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    if let Some(name) = &command.source {
        return rule(context, &engine, name, true);
    }
    if let Some(name) = &command.revoke {
        return rule(context, &engine, name, false);
    }
    if command.all || !command.accept.is_empty() {
        return accept(context, &engine, command);
    }
    let unreviewed = ops::unreviewed(&engine)?;
    let output = &mut context.output;
    let shown = &unreviewed[..unreviewed.len().min(command.limit)];
    if output.json {
        let one = |(memory, source): &(Memory, ForeignSource)| {
            json!({
                "id": engine.live.shown_id(&memory.stem),
                "stem": memory.stem.as_str(),
                "source": source.as_str(),
                "headline": memory.headline(),
            })
        };
        let memories: Vec<Value> = shown.iter().map(one).collect();
        output.json(&json!({"unreviewed": memories, "total": unreviewed.len()}))?;
    } else {
        for (memory, source) in shown {
            let id = engine.live.shown_id(&memory.stem);
            let headline = output.shown(memory.headline());
            let source = source.as_str();
            output.line(format!("{ID}{id}{ID:#}  {DIM}{source}{DIM:#}  {headline}"))?;
        }
        match unreviewed.len() - shown.len() {
            _ if unreviewed.is_empty() => output.note("there is nothing to review"),
            0 => output.note("`memdir review --accept ID` accepts one, --all all of them."),
            left => output.note(format!("there are {left} more; -n shows them")),
        }
    }
    output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(!unreviewed.is_empty()))
}

/// Accepts the named memories, or all.
fn accept(context: &mut Context, engine: &Engine, command: &Review) -> Result<Outcome, Failure> {
    let mut memories = Vec::new();
    if command.all {
        memories.extend(
            ops::unreviewed(engine)?
                .into_iter()
                .map(|(memory, _)| memory),
        );
    }
    for recalled in ops::recall(engine, &command.accept) {
        match recalled {
            Recalled::Found { memory, .. } => memories.push(*memory),
            Recalled::Failed { error, .. } => return Err(error.into()),
        }
    }
    ops::accept(engine, &memories)?;
    let output = &mut context.output;
    if output.json {
        let ids = memories
            .iter()
            .map(|memory| engine.live.shown_id(&memory.stem));
        output.json(&json!({"accepted": ids.collect::<Vec<_>>()}))?;
    } else {
        let plural = if memories.len() == 1 { "y" } else { "ies" };
        output.line(format!("accepted {} memor{plural}", memories.len()))?;
    }
    Ok(Outcome::found(!memories.is_empty()))
}

/// Makes the rule for a source, or takes it back.
fn rule(
    context: &mut Context,
    engine: &Engine,
    name: &str,
    is_accepted: bool,
) -> Result<Outcome, Failure> {
    let source = ForeignSource::named(name).ok_or_else(|| {
        let names: Vec<&str> = ForeignSource::NAMES.iter().map(|(name, _)| *name).collect();
        Failure::new(format!("`{name}` is no source of memories"))
            .hint(format!("The sources are {}.", names.join(" and ")))
    })?;
    ops::accept_source(engine, source, is_accepted)?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"source": source.as_str(), "accepted": is_accepted}))?;
    } else {
        output.line(match is_accepted {
            true => format!("texts of the source {name} are accepted from now on"),
            false => format!("texts of the source {name} are to be reviewed again"),
        })?;
    }
    Ok(Outcome::Done)
}
