//! Commands that maintain many memories at once: each makes a plan, shows it, and performs it.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::cli::args::maintenance::{
    AutoConsolidate, Cleanup, Compact, Consolidate, Decay, Reflect, Supersede,
};
use crate::cli::memories::{fields, when};
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, ID, Output};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::llm::write_summaries;
use crate::engine::{Engine, PlanState, Proposed, ops};
use crate::lifecycle::{FLAGGED_BELOW, Grouping, Proposal};
use crate::model::{Memory, Stem};

/// Maximum number of sources that are named for one proposal.
const MOST_NAMED: usize = 5;

/// Runs `memdir compact`.
pub fn compact(context: &mut Context, command: &Compact) -> Result<Outcome, Failure> {
    let engine = recovered(context)?;
    let filter = command.filters.filter(context, &engine)?;
    let constants = &context.config.maintenance;
    let mut compaction = constants.compaction.clone();
    if let Some(span) = &command.older_than {
        compaction.age = age(span)?;
    }
    if let Some(min_group) = command.min_group {
        compaction.min_group = at_least_two(min_group, "--min-group")?;
    }
    let observations = constants.observations.clone();
    let mut proposed = ops::plan_compaction(&engine, &filter, &compaction, &observations)?;
    summarize(context, &engine, &mut proposed, command.dry_run)?;
    perform(context, &engine, &proposed, command.dry_run)
}

/// Runs `memdir consolidate`.
pub fn consolidate(context: &mut Context, command: &Consolidate) -> Result<Outcome, Failure> {
    let engine = recovered(context)?;
    let budget = context.config.maintenance.compaction.budget;
    let title = command.title.as_deref();
    let mut proposed = ops::plan_consolidation(&engine, &command.ids, title, budget)?;
    if let Some(text) = &command.content {
        let text = match text.as_str() {
            "-" => fields::standard_input()?,
            text => text.to_owned(),
        };
        for proposal in &mut proposed.plan.proposals {
            proposal.is_summary = false;
            if let Some(new) = &mut proposal.create {
                new.content.clone_from(&text);
            }
        }
    }
    summarize(context, &engine, &mut proposed, command.dry_run)?;
    perform(context, &engine, &proposed, command.dry_run)
}

pub fn auto_consolidate(
    context: &mut Context,
    command: &AutoConsolidate,
) -> Result<Outcome, Failure> {
    let engine = recovered(context)?;
    let filter = command.filters.filter(context, &engine)?;
    let constants = &context.config.maintenance;
    let min_count = command.min_count.unwrap_or(constants.consolidate_min);
    let grouping = Grouping {
        short_only: command.short_only,
        min_count: at_least_two(min_count, "--min-count")?,
        budget: constants.compaction.budget,
    };
    let mut proposed = ops::plan_grouping(&engine, &filter, &grouping)?;
    summarize(context, &engine, &mut proposed, command.dry_run)?;
    perform(context, &engine, &proposed, command.dry_run)
}

/// Runs `memdir cleanup`.
pub fn cleanup(context: &mut Context, command: &Cleanup) -> Result<Outcome, Failure> {
    let engine = recovered(context)?;
    let filter = command.filters.filter(context, &engine)?;
    let proposed = ops::plan_cleanup(&engine, &filter, &context.config.maintenance.cleanup)?;
    if !command.dry_run {
        return perform(context, &engine, &proposed, false);
    }
    // Shown as well: what is as doubtful, and stays because it was used or is not doubtful enough.
    let archived = || (proposed.plan.proposals.iter()).flat_map(|one| &one.archive);
    let mut flagged = ops::flagged(&engine, &filter)?;
    flagged.retain(|stem| !archived().any(|known| known == stem));
    let shown: Vec<&Memory> = flagged
        .iter()
        .filter_map(|stem| proposed.memory(stem))
        .collect();
    let output = &mut context.output;
    if !output.json && !shown.is_empty() {
        output.line(format!("confidence below {FLAGGED_BELOW}, and kept"))?;
        list_named(output, &shown)?;
    }
    let stems: Vec<&str> = flagged.iter().map(Stem::as_str).collect();
    perform_with(context, &engine, &proposed, true, json!({"flagged": stems}))
}

/// Runs `memdir reflect`.
pub fn reflect(context: &mut Context, command: &Reflect) -> Result<Outcome, Failure> {
    let engine = recovered(context)?;
    let filter = command.filters.filter(context, &engine)?;
    let constants = context.config.maintenance.reflection.clone();
    let (proposed, stale) = ops::plan_reflection(&engine, &filter, &constants)?;
    let output = &mut context.output;
    if !output.json {
        for memory in &stale {
            let headline = output.shown(memory.headline());
            let id = memory.stem.short();
            output.line(format!(
                "{ID}{id}{ID:#}  {DIM}never used:{DIM:#} {headline}"
            ))?;
        }
    }
    let stale: Vec<&str> = stale.iter().map(|memory| memory.stem.as_str()).collect();
    let more = json!({"stale": stale});
    perform_with(context, &engine, &proposed, !command.apply, more)
}

/// Shows the confidence of memories as of now, where it is another than they state; states it on
/// request.
pub fn decay(context: &mut Context, command: &Decay) -> Result<Outcome, Failure> {
    let engine = recovered(context)?;
    let filter = command.filters.filter(context, &engine)?;
    let proposed = ops::plan_decay(&engine, &filter)?;
    perform(context, &engine, &proposed, !command.apply)
}

/// Runs `memdir supersede`.
pub fn supersede(context: &mut Context, command: &Supersede) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let added = ops::link(&engine, &command.new, &command.old, "supersedes")?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"superseded": command.old, "by": command.new, "changed": added}))?;
    } else if !added {
        output.note("it was superseded by it already");
    }
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

/// Lists the plans of this machine.
pub fn plans(context: &mut Context) -> Result<Outcome, Failure> {
    let engine = recovered(context)?;
    let plans = ops::plans(&engine)?;
    let output = &mut context.output;
    let state = |state| match state {
        PlanState::Begun => "begun",
        PlanState::Done => "done",
        PlanState::TakenBack => "taken back",
    };
    if output.json {
        let plans = plans.iter().map(|plan| {
            let [created, edited, archived] = plan.counts();
            json!({
                "id": plan.id,
                "at": plan.at.to_rfc3339(),
                "operation": plan.operation,
                "state": state(plan.state),
                "created": created,
                "edited": edited,
                "archived": archived,
            })
        });
        let plans: Vec<Value> = plans.collect();
        output.json(&json!({"plans": plans}))?;
    } else {
        for plan in &plans {
            let [created, edited, archived] = plan.counts();
            let at = when::local(plan.at);
            output.line(format!(
                "{ID}{}{ID:#}  {at}  {}: {created} made, {edited} changed, {archived} archived  \
                 {DIM}{}{DIM:#}",
                plan.id,
                plan.operation,
                state(plan.state)
            ))?;
        }
        if plans.is_empty() {
            output.note("nothing was maintained yet");
        }
    }
    Ok(Outcome::found(!plans.is_empty()))
}

/// Takes back a plan.
pub fn take_back(
    context: &mut Context,
    engine: &Engine,
    id: &str,
    dry_run: bool,
) -> Result<Outcome, Failure> {
    let taken = ops::take_back(engine, id, dry_run)?;
    let output = &mut context.output;
    let shown = |stems: &[crate::model::Stem]| -> Vec<Value> {
        stems.iter().map(|stem| json!(stem.as_str())).collect()
    };
    if output.json {
        output.json(&json!({
            "plan": taken.id,
            "dry_run": dry_run,
            "restored": shown(&taken.restored),
            "changed": shown(&taken.edited),
            "removed": shown(&taken.removed),
            "kept": taken.kept,
        }))?;
    } else {
        let (restored, changed) = (taken.restored.len(), taken.edited.len());
        let removed = taken.removed.len();
        let done = if dry_run { "would undo" } else { "undid" };
        output.line(format!(
            "{done} {ID}{id}{ID:#}: {restored} restored, {changed} as before, {removed} removed"
        ))?;
    }
    if !dry_run {
        afterwards::after_writing(context, engine)?;
    }
    Ok(Outcome::Done)
}

/// The store, without what an interrupted plan has left half done.
pub fn recovered(context: &Context) -> Result<Engine, Failure> {
    let engine = context.engine()?;
    ops::recover_plans(&engine)?;
    Ok(engine)
}

/// Nothing is sent for a plan that is only to be shown.
fn summarize(
    context: &mut Context,
    engine: &Engine,
    proposed: &mut Proposed,
    dry_run: bool,
) -> Result<(), Failure> {
    match dry_run {
        true => Ok(()),
        false => write_summaries(context, engine, proposed),
    }
}

fn perform(
    context: &mut Context,
    engine: &Engine,
    proposed: &Proposed,
    dry_run: bool,
) -> Result<Outcome, Failure> {
    perform_with(context, engine, proposed, dry_run, json!({}))
}

/// Shows the first of some memories, and how many more there are.
fn list_named(output: &mut Output, memories: &[&Memory]) -> std::io::Result<()> {
    for memory in memories.iter().take(MOST_NAMED) {
        let headline = output.shown(memory.headline());
        let id = memory.stem.short();
        output.line(format!("    {ID}{id}{ID:#}  {headline}"))?;
    }
    if memories.len() > MOST_NAMED {
        let more = memories.len() - MOST_NAMED;
        output.line(format!("    {DIM}and {more} more{DIM:#}"))?;
    }
    Ok(())
}

/// Shows a plan and, unless it is only to be shown, performs it. `document` is what else there is to
/// say in JSON.
fn perform_with(
    context: &mut Context,
    engine: &Engine,
    proposed: &Proposed,
    dry_run: bool,
    mut document: Value,
) -> Result<Outcome, Failure> {
    let performed = match dry_run {
        true => None,
        false => ops::perform_plan(engine, proposed)?,
    };
    let output = &mut context.output;
    let plan = &proposed.plan;
    if output.json {
        let proposals: Vec<Value> = plan.proposals.iter().map(as_json).collect();
        document["operation"] = json!(plan.operation.as_str());
        document["dry_run"] = json!(dry_run);
        document["proposals"] = json!(proposals);
        let left_out = proposed.left_out.iter();
        let left_out = left_out.map(|(because, why)| json!({"because": because, "why": why}));
        document["left_out"] = left_out.collect();
        document["damaged"] = json!(proposed.damaged);
        if let Some(done) = &performed {
            let created = done.created.iter().map(|stem| json!(stem.as_str()));
            document["plan"] = json!(done.id);
            document["created"] = created.collect();
        }
        output.json(&document)?;
    } else {
        for proposal in &plan.proposals {
            output.line(output.shown(&proposal.because))?;
            let touched = proposal
                .archive
                .iter()
                .chain(proposal.edit.iter().map(|(id, _)| id));
            let memories: Vec<&Memory> = touched.filter_map(|id| proposed.memory(id)).collect();
            list_named(output, &memories)?;
        }
        for (because, why) in &proposed.left_out {
            output.note(format!("left as it is: {because}: {why}"));
        }
        if proposed.damaged > 0 {
            let damaged = proposed.damaged;
            output.note(format!(
                "left alone: {damaged}, whose files are not as memdir writes them, such as notes without frontmatter"
            ));
        }
        match &performed {
            Some(done) => {
                let ids = done.created.iter().map(|stem| stem.short().to_owned());
                let made = match done.created.len() {
                    0 => String::new(),
                    1..=MOST_NAMED => format!(", made {}", ids.collect::<Vec<_>>().join(" ")),
                    many => format!(", {many} made"),
                };
                output.line(format!(
                    "{} archived, {} changed{made}; memdir undo {} takes it back",
                    done.archived.len(),
                    done.edited.len(),
                    done.id
                ))?;
            }
            None if plan.is_empty() => output.note("nothing to do"),
            None => output.note("nothing was done yet"),
        }
    }
    if let Some(done) = &performed {
        for screened in &done.screened {
            output.warnings(screened);
        }
        afterwards::after_writing(context, engine)?;
    }
    Ok(Outcome::found(!plan.is_empty()))
}

fn as_json(proposal: &Proposal) -> Value {
    let archive: Vec<&str> = proposal.archive.iter().map(|stem| stem.as_str()).collect();
    let change: Vec<&str> = proposal
        .edit
        .iter()
        .map(|(stem, _)| stem.as_str())
        .collect();
    let create = proposal.create.as_ref().map(|new| {
        json!({
            "title": new.title,
            "kind": new.kind.map(|kind| kind.as_str()),
            "namespace": new.namespace,
            "topics": new.topics,
            "content": new.content,
        })
    });
    json!({
        "because": proposal.because,
        "create": create,
        "archive": archive,
        "change": change,
    })
}

/// Returns an amount of time in the past.
fn age(text: &str) -> Result<TimeDelta, Failure> {
    crate::config::span(text).map_err(|what| {
        Failure::new(format!("`{text}` is {what}")).hint("Write it as 30d, 12h or 4w.")
    })
}

fn at_least_two(number: usize, option: &str) -> Result<usize, Failure> {
    match number {
        0 | 1 => Err(Failure::new(format!("{option} must be at least 2"))),
        number => Ok(number),
    }
}
