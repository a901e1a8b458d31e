//! `memdir review`: texts that others wrote, which no agent is shown unasked before they are accepted, and
//! proposals of what talks say, which are no memories before.

use serde_json::{Value, json};

use crate::cli::args::sessions::Review;
use crate::cli::sessions::proposals;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, ID, Output};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, ForeignSource, Proposal, Recalled, ops};
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
    if command.decides() {
        let decisions = proposals::decide(context, &engine, command)?;
        return decided(context, &engine, &decisions);
    }
    let unreviewed = ops::unreviewed(&engine)?;
    let mut waiting = ops::proposals(&engine)?;
    let total = waiting.len();
    waiting.truncate(command.limit);
    let is_found = total > 0 || !unreviewed.is_empty();
    show(
        &mut context.output,
        &engine,
        command,
        &unreviewed,
        (&waiting, total),
    )?;
    if !waiting.is_empty() && context.output.is_asked() {
        let decisions = proposals::ask(context, &engine, &waiting)?;
        return decided(context, &engine, &decisions);
    }
    context.output.flush()?;
    afterwards::settle(&engine);
    Ok(Outcome::found(is_found))
}

/// Shows what was decided about proposals.
fn decided(
    context: &mut Context,
    engine: &Engine,
    decisions: &proposals::Decisions,
) -> Result<Outcome, Failure> {
    decisions.show(&mut context.output)?;
    match decisions.is_changed() {
        true => afterwards::after_writing(context, engine)?,
        false => context.output.flush()?,
    }
    Ok(Outcome::Done)
}

/// Shows what waits: unreviewed texts, and proposals, of which there are `total`. Where each is asked about,
/// proposals are shown then.
fn show(
    output: &mut Output,
    engine: &Engine,
    command: &Review,
    unreviewed: &[(Memory, ForeignSource)],
    (waiting, total): (&[Proposal], usize),
) -> Result<(), Failure> {
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
        let waiting = waiting
            .iter()
            .map(|proposal| proposals::as_json(engine, proposal));
        output.json(&json!({
            "unreviewed": memories,
            "total": unreviewed.len(),
            "proposals": waiting.collect::<Result<Vec<_>, _>>()?,
            "proposals_total": total,
        }))?;
    } else {
        for (memory, source) in shown {
            let id = engine.live.shown_id(&memory.stem);
            let headline = output.shown(memory.headline());
            let source = source.as_str();
            output.line(format!("{ID}{id}{ID:#}  {DIM}{source}{DIM:#}  {headline}"))?;
        }
        match unreviewed.len() - shown.len() {
            _ if unreviewed.is_empty() && total == 0 => output.note("there is nothing to review"),
            _ if unreviewed.is_empty() => {}
            0 => output.note("`memdir review --accept ID` accepts one, --all all of them."),
            left => output.note(format!("there are {left} more; -n shows them")),
        }
        if total > 0 {
            let plural = if total == 1 { "proposal" } else { "proposals" };
            output.note(format!("{total} {plural} of talks"));
        }
        // On a terminal each is shown when it is asked about.
        if !output.is_asked() {
            for proposal in waiting {
                proposals::show(output, engine, proposal)?;
            }
            if total > 0 {
                output.note("--accept, --edit, --drop or --never with an id decides about one.");
            }
        }
    }
    Ok(())
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
    let mut called = Vec::new();
    let mut ids = Vec::new();
    for id in &command.accept {
        match proposals::called(engine, id)? {
            Some(proposal) => called.push(proposal),
            None => ids.push(id.clone()),
        }
    }
    for recalled in ops::recall(engine, &ids) {
        match recalled {
            Recalled::Found { memory, .. } => memories.push(*memory),
            Recalled::Failed { error, .. } => return Err(error.into()),
        }
    }
    ops::accept(engine, &memories)?;
    let mut decisions = proposals::Decisions::default();
    for proposal in &called {
        decisions.accept(engine, proposal, None)?;
    }
    let reviewed = memories
        .iter()
        .map(|memory| engine.live.shown_id(&memory.stem));
    let accepted: Vec<String> = reviewed.chain(decisions.accepted).collect();
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"accepted": accepted}))?;
    } else {
        let plural = if accepted.len() == 1 { "y" } else { "ies" };
        output.line(format!("accepted {} memor{plural}", accepted.len()))?;
    }
    if !called.is_empty() {
        afterwards::after_writing(context, engine)?;
    }
    Ok(Outcome::found(!accepted.is_empty()))
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
