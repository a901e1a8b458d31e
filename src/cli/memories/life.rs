//! Commands about the life of memories: what one is as of now, what points to it, what was done
//! with it, and what no longer lives. What was forgotten is the business of `archive`.

use serde_json::{Value, json};

use crate::cli::args::life::{Forget, Gc, Inspect, Links, Unlink};
use crate::cli::args::shared::Ids;
use crate::cli::memories::maintenance::recovered;
use crate::cli::memories::write::{edited_json, moved_json, relocate};
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, ID, Output};
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::each::each;
use crate::dialect::core;
use crate::engine::{
    Archived, Engine, EngineError, Moved, Recalled, Record, Relation, Relations, live, ops,
};
use crate::model::{Filter, Visibility};

/// Maximum number of changes that `inspect` shows.
const MOST_RECORDS: usize = 20;

/// Runs `memdir forget`.
pub fn forget(context: &mut Context, command: &Forget) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let mut filter = command.filters.filter(context, &engine)?;
    filter.contains.clone_from(&command.contains);
    let why = command.reason.as_deref();
    let described = filter != Filter::default();
    match (command.named.is_empty(), described) {
        (false, true) => Err(
            Failure::new("memories are either named or described, not both")
                .hint("Leave out the ids, or the conditions."),
        ),
        (true, false) => Err(
            Failure::new("nothing says which memories are to be forgotten")
                .hint("Name them, or describe them: memdir forget --help"),
        ),
        (false, false) if command.dry_run => {
            let stems = command
                .named
                .iter()
                .map(|id| Ok(live::resolve(&engine.live, id)?.0));
            filter.stems = Some(stems.collect::<Result<_, EngineError>>()?);
            filter.visibility = Visibility::Everything;
            let archived = ops::forget_all(&engine, &filter, why, true)?;
            show_archived(context, &engine, archived, None, true)
        }
        (false, false) => relocate(context, &command.named, "forgotten", |engine, id| {
            ops::forget_because(engine, id, why)
        }),
        (true, true) => {
            let dry_run = command.dry_run || !command.yes;
            let archived = match filter.since {
                Some(_) => ops::forget_written_since(&engine, &filter, why, dry_run)?,
                None => ops::forget_all(&engine, &filter, why, dry_run)?,
            };
            if !archived.moved.is_empty() && !command.dry_run && !command.yes {
                context
                    .output
                    .note("nothing was done yet; --yes forgets them");
            }
            show_archived(context, &engine, archived, None, dry_run)
        }
    }
}

/// Runs `memdir promote`.
pub fn promote(context: &mut Context, command: &Ids) -> Result<Outcome, Failure> {
    each(context, &command.ids, "promoted", |engine, id| {
        Ok((edited_json(&ops::promote(engine, id)?, id), None))
    })
}

/// Runs `memdir gc`.
pub fn gc(context: &mut Context, command: &Gc) -> Result<Outcome, Failure> {
    let engine = recovered(context)?;
    let archived = ops::expire(&engine, command.dry_run)?;
    let removed = ops::remove_replaced(&engine, command.dry_run)?;
    show_archived(context, &engine, archived, Some(&removed), command.dry_run)
}

/// Shows what went to the archive, and what was `removed` from it, where that was looked for.
fn show_archived(
    context: &mut Context,
    engine: &Engine,
    archived: Archived,
    removed: Option<&[Moved]>,
    dry_run: bool,
) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    let done = match dry_run {
        true => "would be archived",
        false => "archived",
    };
    if output.json {
        let moved = archived.moved.iter().map(moved_json);
        let failed = archived
            .failed
            .iter()
            .map(|(name, error)| json!({"file": name, "error": error.to_string()}));
        let mut document = json!({
            "dry_run": dry_run,
            "archived": moved.collect::<Vec<_>>(),
            "errors": failed.collect::<Vec<_>>(),
        });
        if let Some(removed) = removed {
            let stems = removed.iter().map(|moved| moved.stem.as_str());
            document["removed"] = stems.collect();
        }
        output.json(&document)?;
    } else {
        for moved in &archived.moved {
            output.line(format!("{done} {ID}{}{ID:#}", moved.stem.short()))?;
        }
        if archived.moved.is_empty() {
            output.note("nothing to archive");
        }
        if let Some(removed) = removed.filter(|removed| !removed.is_empty()) {
            let done = if dry_run { "would leave" } else { "left" };
            let count = removed.len();
            output.line(format!(
                "{count} replaced texts {done} the archive; the history holds them"
            ))?;
        }
    }
    let all_moved = archived.failed.is_empty();
    for (name, error) in archived.failed {
        let what = format!("{name} stays where it is");
        context.output.error(&Failure::new(what).because(error));
    }
    if !dry_run {
        afterwards::after_writing(context, engine)?;
    }
    Ok(Outcome::complete(all_moved))
}

/// Runs `memdir inspect`.
pub fn inspect(context: &mut Context, command: &Inspect) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let recalled = ops::recall(&engine, std::slice::from_ref(&command.id));
    let (memory, name) = match recalled.into_iter().next() {
        Some(Recalled::Found { memory, name }) => (memory, name),
        Some(Recalled::Failed { error, .. }) => return Err(error.into()),
        None => return Err(EngineError::NotFound(command.id.clone()).into()),
    };
    let (state, usage) = live::state_of(&engine.live, &memory);
    let relations = ops::relations_of(&engine, &name)?;
    let records = live::records_of(&engine.live, &memory.stem)?;
    let fields = core::memory_view(&engine, &memory);
    let output = &mut context.output;
    if output.json {
        let mut document = json!(fields);
        document["stem"] = json!(memory.stem.as_str());
        document["now"] = json!({
            "tier": state.tier.map(|tier| tier.as_str()),
            "expires": state.expires.map(|at| at.to_rfc3339()),
            "importance": state.importance,
            "confidence": state.confidence,
        });
        document["uses"] = json!({
            "count": usage.count(),
            "days": usage.days().count(),
            "last": usage.last().map(|at| at.to_rfc3339()),
        });
        document["relations"] = relations_as_json(&engine, &relations);
        document["records"] = records.iter().map(record_as_json).collect();
        output.json(&document)?;
        return Ok(Outcome::Done);
    }
    for (key, text) in output.fields(&fields) {
        output.line(format!("{DIM}{key}:{DIM:#} {text}"))?;
    }
    let tier = state.tier.map_or("none", |tier| tier.as_str());
    let expires = match state.expires {
        Some(at) => format!("until {}", at.format("%Y-%m-%d %H:%M UTC")),
        None => "for ever".to_owned(),
    };
    output.line(format!(
        "{DIM}now:{DIM:#} tier {tier}, lives {expires}, importance {}, confidence {:.2}",
        state.importance, state.confidence
    ))?;
    let last = match usage.last() {
        Some(at) => format!(", the last on {}", at.format("%Y-%m-%d %H:%M UTC")),
        None => String::new(),
    };
    output.line(format!(
        "{DIM}uses:{DIM:#} {} on {} days{last}",
        usage.count(),
        usage.days().count()
    ))?;
    show_relations(&engine, output, &relations)?;
    for record in records.iter().rev().take(MOST_RECORDS) {
        let line = record_line(output, record);
        output.line(line)?;
    }
    Ok(Outcome::Done)
}

/// Shows the records of the journal, as `log --audit`.
pub fn audit(context: &mut Context, id: Option<&str>, limit: usize) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let mut records = match id {
        // What was purged or forgotten is asked for by its whole stem, or found by its handle.
        Some(id) => {
            let stem = live::resolve(&engine.live, id)
                .map_or_else(|_| id.to_owned(), |(stem, _)| stem.as_str().to_owned());
            let mut records = live::records_since(&engine.live, None)?;
            records.retain(|record| {
                let is_it = |of: &String| *of == stem || of.ends_with(&format!("_{stem}"));
                record.of.iter().any(is_it)
            });
            records
        }
        None => live::records_since(&engine.live, None)?,
    };
    records.reverse();
    let has_more = records.len() > limit;
    records.truncate(limit);
    let output = &mut context.output;
    let found = !records.is_empty();
    if output.json {
        let records: Vec<Value> = records.iter().map(record_as_json).collect();
        output.json(&json!({"records": records, "more": has_more}))?;
    } else {
        for record in &records {
            let line = record_line(output, record);
            let of: Vec<&str> = record.of.iter().map(String::as_str).collect();
            output.line(format!("{line}  {ID}{}{ID:#}", output.shown(&of.join(" "))))?;
        }
        if !found {
            output.note("nothing found");
        }
        if has_more && output.is_terminal {
            output.note("there are older ones; more with -n");
        }
    }
    Ok(Outcome::found(found))
}

fn record_as_json(record: &Record) -> Value {
    json!({
        "at": record.at.to_rfc3339(),
        "did": record.did,
        "of": record.of,
        "client": record.client,
        "why": record.why,
    })
}

pub fn record_line(output: &Output, record: &Record) -> String {
    let at = record.at.format("%Y-%m-%d %H:%M:%S");
    let mut line = format!("{DIM}{at}{DIM:#}  {}", output.shown(&record.did));
    if !record.client.is_empty() {
        line.push_str(&format!(" by {}", output.shown(&record.client)));
    }
    if let Some(why) = &record.why {
        line.push_str(&format!(": {}", output.shown(&why.replace('\n', " "))));
    }
    line
}

/// Runs `memdir link`.
pub fn link(
    context: &mut Context,
    (from, to): (String, String),
    relation: &str,
) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let is_new = ops::link(&engine, &from, &to, relation)?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"linked": is_new}))?;
    } else if !is_new {
        output.note("they are linked already");
    }
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

/// Runs `memdir unlink`.
pub fn unlink(context: &mut Context, command: &Unlink) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let relation = command.relation.as_deref();
    let removed = ops::unlink(&engine, &command.from, &command.to, relation)?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"removed": removed}))?;
    } else if removed == 0 {
        output.note(match relation {
            None => "there is no such link; `--type supersedes` takes a supersession back",
            Some(_) => "there is no such link",
        });
    }
    afterwards::after_writing(context, &engine)?;
    Ok(match removed {
        0 => Outcome::Nothing,
        _ => Outcome::Done,
    })
}

/// Runs `memdir links`.
pub fn links(context: &mut Context, command: &Links) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let relations = match &command.id {
        Some(id) => {
            let (_, name) = live::resolve(&engine.live, id)?;
            let mut relations = ops::relations_of(&engine, &name)?;
            let mut to_nothing = ops::dangling_of(&engine, &name)?;
            to_nothing.retain(|one| !relations.to.contains(one));
            relations.to.extend(to_nothing);
            relations
        }
        None => ops::dangling(&engine)?,
    };
    let output = &mut context.output;
    let is_empty = relations.to.is_empty() && relations.from.is_empty();
    if output.json {
        let document = relations_as_json(&engine, &relations);
        output.json(&document)?;
    } else {
        show_relations(&engine, output, &relations)?;
        if is_empty {
            output.note(match command.id {
                Some(_) => "no links",
                None => "every link points to a memory",
            });
        }
    }
    Ok(Outcome::found(!(is_empty && command.id.is_some())))
}

fn relations_as_json(engine: &Engine, relations: &Relations) -> Value {
    let one = |relation: &Relation| {
        json!({
            "type": relation.relation,
            "from": engine.live.shown_id(&relation.from),
            "to": relation.to.as_ref().map_or_else(
                || relation.written.clone(),
                |to| engine.live.shown_id(to),
            ),
            "dangling": relation.to.is_none(),
            "headline": relation.headline,
        })
    };
    json!({
        "to": relations.to.iter().map(one).collect::<Vec<_>>(),
        "from": relations.from.iter().map(one).collect::<Vec<_>>(),
    })
}

fn show_relations(
    engine: &Engine,
    output: &mut Output,
    relations: &Relations,
) -> Result<(), Failure> {
    for relation in &relations.to {
        let from = engine.live.shown_id(&relation.from);
        let kind = output.shown(&relation.relation);
        let (to, said) = match &relation.to {
            Some(to) => (engine.live.shown_id(to), output.shown(&relation.headline)),
            None => (
                output.shown(&relation.written),
                "there is no such memory".to_owned(),
            ),
        };
        output.line(format!("{ID}{from}{ID:#} {kind} {ID}{to}{ID:#}  {said}"))?;
    }
    for relation in &relations.from {
        let from = engine.live.shown_id(&relation.from);
        let kind = output.shown(&relation.relation);
        let said = output.shown(&relation.headline);
        output.line(format!("{ID}{from}{ID:#} {kind} this  {said}"))?;
    }
    Ok(())
}
