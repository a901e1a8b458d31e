//! The command that decides between memories that contradict each other.

use serde_json::Value;
use serde_json::json;

use super::Context;
use super::Outcome;
use super::args::Resolve;
use super::fail::Failure;
use super::output::DIM;
use super::output::ID;
use super::output::Output;
use crate::engine::Conflict;
use crate::engine::Contender;
use crate::engine::Engine;
use crate::engine::Unmarked;
use crate::engine::Unmerged;
use crate::model::Stem;

pub(super) fn resolve(context: &mut Context, command: &Resolve) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    if let (Some(winner), Some(loser)) = (&command.id, &command.loser) {
        return decide(context, &engine, winner, loser);
    }
    if let Some(id) = &command.id
        && let Some(done) = engine.take_out_markers(id)?
    {
        return tell_unmarked(context, &engine, &done);
    }
    let resolved = match (&command.id, &command.keep, command.both) {
        (Some(id), Some(keep), _) => engine.keep_one(id, keep)?,
        (Some(id), None, true) => engine.keep_both(id)?,
        (Some(id), None, false) => return show(context, &engine, &engine.conflicts_of(id)?, &[]),
        (None, ..) => {
            let pairs = [engine.conflicts()?, engine.title_conflicts()?];
            return show(context, &engine, &pairs, &engine.unmerged()?);
        }
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

/// Says that one memory holds, and that it replaces the other.
fn decide(
    context: &mut Context,
    engine: &Engine,
    winner: &str,
    loser: &str,
) -> Result<Outcome, Failure> {
    let decided = engine.decide_between(winner, loser)?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "kept": [named(&decided.winner)],
            "superseded": named(&decided.loser),
            "unlinked": decided.unlinked,
            "forgotten": null,
        }))?;
    } else {
        let (winner, loser) = (
            engine.shown_id(&decided.winner),
            engine.shown_id(&decided.loser),
        );
        let already = if decided.is_new { "" } else { " already" };
        output.line(format!(
            "{ID}{winner}{ID:#} supersedes {ID}{loser}{ID:#}{already}"
        ))?;
        if decided.unlinked > 0 {
            output.line("the link that says they contradict is gone")?;
        }
    }
    super::after_writing(context, engine)?;
    Ok(Outcome::Done)
}

/// Tells what became of a memory in which git had left its conflict markers.
fn tell_unmarked(
    context: &mut Context,
    engine: &Engine,
    done: &Unmarked,
) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    let id = done.stem.short();
    if output.json {
        let aside = done.aside.as_ref().map(named);
        output.json(&json!({"merged": named(&done.stem), "aside": aside}))?;
    } else if let Some(aside) = &done.aside {
        let aside = aside.short();
        output.line(format!(
            "the sides of {ID}{id}{ID:#} contradict: one of them is {ID}{aside}{ID:#} now"
        ))?;
        output.line(DECIDE)?;
    } else {
        output.line(format!("merged both sides of {ID}{id}{ID:#}"))?;
    }
    super::after_writing(context, engine)?;
    Ok(Outcome::Done)
}

const DECIDE: &str = "decide: memdir resolve ID --keep ID, or memdir resolve ID --both";
const DECIDE_TITLE: &str =
    "decide: memdir resolve ID --keep ID, or memdir update ID --title ANOTHER-TITLE";

fn named(stem: &Stem) -> Value {
    json!({"id": stem.short(), "stem": stem.as_str()})
}

fn show(
    context: &mut Context,
    engine: &Engine,
    [conflicts, same_title]: &[Vec<Conflict>; 2],
    unmerged: &[Unmerged],
) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    if output.json {
        let pairs = |pairs: &[Conflict]| -> Vec<Value> {
            let sides = |Conflict { pair }: &Conflict| {
                pair.iter().map(|side| as_json(engine, side)).collect()
            };
            pairs.iter().map(sides).collect()
        };
        let (conflicts, same_title) = (pairs(conflicts), pairs(same_title));
        let unmerged: Vec<Value> = unmerged
            .iter()
            .map(|one| {
                json!({
                    "id": engine.shown_id(&one.stem),
                    "stem": one.stem.as_str(),
                    "file": engine.shown_path(&one.name),
                    "line": one.line,
                })
            })
            .collect();
        output.json(&json!({
            "conflicts": conflicts,
            "same_title": same_title,
            "unmerged": unmerged,
        }))?;
    } else if conflicts.is_empty() && same_title.is_empty() && unmerged.is_empty() {
        output.line("no memories contradict each other")?;
    } else {
        show_pairs(output, engine, conflicts, "  conflicts with", DECIDE)?;
        show_pairs(
            output,
            engine,
            same_title,
            "  has the title of",
            DECIDE_TITLE,
        )?;
        for Unmerged { stem, line, .. } in unmerged {
            let id = engine.shown_id(stem);
            output.line(format!(
                "{ID}{id}{ID:#}  has git's conflict markers on line {line}: memdir resolve {id}"
            ))?;
        }
    }
    output.flush()?;
    super::settle(engine);
    Ok(Outcome::Done)
}

/// Shows each pair with `sign` between its sides, and then what can be done.
fn show_pairs(
    output: &mut Output,
    engine: &Engine,
    pairs: &[Conflict],
    sign: &str,
    decide: &str,
) -> Result<(), Failure> {
    for Conflict { pair } in pairs {
        for (side, sign) in pair.iter().zip(["", sign]) {
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
    if !pairs.is_empty() {
        output.line(decide)?;
    }
    Ok(())
}

fn as_json(engine: &Engine, side: &Contender) -> Value {
    let memory = &side.memory;
    json!({
        "id": engine.shown_id(&memory.stem),
        "stem": memory.stem.as_str(),
        "file": engine.shown_path(&side.name),
        "headline": memory.headline(),
        "timestamp": memory.timestamp.as_str(),
        "agent": memory.agent,
    })
}
