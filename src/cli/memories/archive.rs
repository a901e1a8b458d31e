//! Commands about forgotten memories: list them, bring them back, take them away for good.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::args::archive::{Archive, ArchivePurge};
use crate::cli::args::life::Counted;
use crate::cli::memories::life::record_line;
use crate::cli::memories::when::{Direction, moment};
use crate::cli::memories::write;
use crate::cli::store::purge;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, ID};
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, EngineError, Forgotten, Unpurged, ops};
use crate::model::Stem;

/// Runs `memdir archive`.
pub fn archive(context: &mut Context, command: &Archive) -> Result<Outcome, Failure> {
    match command {
        Archive::List(command) => list(context, command),
        Archive::Restore(command) => write::restore(context, command),
        Archive::Purge(command) => purge(context, command),
        Archive::Stats => stats(context),
    }
}

/// Counts the forgotten memories: how many, of which namespaces, their bytes, the first and the last.
fn stats(context: &mut Context) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let forgotten = ops::archived(&engine)?;
    let mut namespaces: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &forgotten {
        let namespace = one.memory.namespace_or_global();
        *namespaces.entry(namespace).or_default() += 1;
    }
    let bytes: u64 = forgotten.iter().map(|one| one.bytes).sum();
    let moments = || forgotten.iter().map(|one| one.at);
    let [oldest, newest] =
        [moments().min(), moments().max()].map(|at| at.map(|at| at.to_rfc3339()));
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "archived": forgotten.len(),
            "namespaces": namespaces,
            "bytes": bytes,
            "oldest": oldest,
            "newest": newest,
        }))?;
        return Ok(Outcome::Done);
    }
    let counts = namespaces.iter();
    let counts: Vec<String> = counts
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let rows = [
        ("archived", forgotten.len().to_string()),
        ("namespaces", counts.join(", ")),
        ("bytes", bytes.to_string()),
        ("oldest", oldest.unwrap_or_default()),
        ("newest", newest.unwrap_or_default()),
    ];
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let value = output.shown(value);
        output.line(format!("{DIM}{name:<10}{DIM:#} {value}"))?;
    }
    Ok(Outcome::Done)
}

/// Returns the forgotten memories, each with the last record of its going.
pub fn list(context: &mut Context, command: &Counted) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let mut forgotten = ops::archived(&engine)?;
    let has_more = forgotten.len() > command.limit;
    forgotten.truncate(command.limit);
    let output = &mut context.output;
    let found = !forgotten.is_empty();
    let mut listed = Vec::new();
    for Forgotten { memory, record, .. } in &forgotten {
        if output.json {
            listed.push(json!({
                "id": memory.stem.short(),
                "stem": memory.stem.as_str(),
                "headline": memory.headline(),
                "topics": memory.topics,
                "archived_at": record.as_ref().map(|record| record.at.to_rfc3339()),
                "why": record.as_ref().and_then(|record| record.why.clone()),
            }));
            continue;
        }
        let headline = output.shown(memory.headline());
        let mut line = format!("{ID}{}{ID:#}  {headline}", memory.stem.short());
        if let Some(record) = record {
            let line_of = record_line(output, record);
            line.push_str(&format!("  {line_of}"));
        }
        output.line(line)?;
    }
    if output.json {
        output.json(&json!({"archived": listed, "more": has_more}))?;
    } else if !found {
        output.note("nothing was forgotten");
    }
    Ok(Outcome::found(found))
}

fn purge(context: &mut Context, command: &ArchivePurge) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    if engine.live.is_read_only() && !command.dry_run {
        return Err(EngineError::ReadOnly(engine.live.root().to_owned()).into());
    }
    if command.ids.is_empty() && command.older_than.is_none() {
        return Err(
            Failure::new("nothing says which forgotten memories are to be purged").hint(
                "Name them, or say how long ago: --older-than 90d; `--older-than 0d` means all.",
            ),
        );
    }
    let (chosen, not_found) = chosen(context, &engine, command)?;
    let all_found = not_found.is_empty();
    if command.dry_run {
        show_chosen(context, &chosen, &not_found)?;
        return Ok(match (all_found, chosen.is_empty()) {
            (false, _) => Outcome::Failed,
            (true, true) => Outcome::Nothing,
            (true, false) => Outcome::Done,
        });
    }
    if !command.yes {
        // Somebody must see what it is before it is gone.
        purge::check_can_ask(context)?;
    }
    if chosen.is_empty() && all_found {
        if context.output.json {
            context.output.json(&json!({"purged": [], "errors": []}))?;
        } else {
            context.output.note("nothing was forgotten so long ago");
        }
        return Ok(Outcome::Nothing);
    }
    if !command.yes {
        for one in &chosen {
            let headline = context.output.shown(one.memory.headline());
            let stem = one.memory.stem.as_str();
            context.output.note(format!("{stem}  {headline}"));
        }
        let question = "Take this away for good? It cannot be restored.";
        if !chosen.is_empty() && !purge::is_answered_yes(&context.output, question)? {
            context.output.line("nothing was purged")?;
            return Ok(Outcome::Nothing);
        }
    }
    let wanted: Vec<(Stem, String)> = chosen
        .into_iter()
        .map(|one| (one.memory.stem, one.name))
        .collect();
    let (purged, failed) = ops::purge_forgotten(&engine, &wanted)?;
    let failed = not_found.into_iter().chain(failed);
    purge::show(context, &engine, &purged, failed.collect())
}

/// Returns the forgotten memories that the command means, and the ids that mean none.
fn chosen(
    context: &Context,
    engine: &Engine,
    command: &ArchivePurge,
) -> Result<(Vec<Forgotten>, Unpurged), Failure> {
    let now = context.now();
    let before = match &command.older_than {
        Some(text) => Some(moment("--older-than", text, now, Direction::Past)?),
        None => None,
    };
    let (mut names, mut not_found) = (Vec::new(), Vec::new());
    for id in &command.ids {
        match ops::resolve_forgotten(engine, id) {
            Ok((_, name)) => names.push(name),
            Err(error) => not_found.push((id.clone(), error)),
        }
    }
    let mut chosen = ops::archived(engine)?;
    chosen.retain(|one| {
        let is_named = command.ids.is_empty() || names.contains(&one.name);
        is_named && before.is_none_or(|before| one.settled <= before)
    });
    Ok((chosen, not_found))
}

fn show_chosen(
    context: &mut Context,
    chosen: &[Forgotten],
    not_found: &Unpurged,
) -> Result<(), Failure> {
    let output = &mut context.output;
    if output.json {
        let would: Vec<Value> = chosen
            .iter()
            .map(|one| {
                json!({
                    "id": one.memory.stem.short(),
                    "stem": one.memory.stem.as_str(),
                    "files": [format!("archive/{}", one.name)],
                    "archived_at": one.at.to_rfc3339(),
                })
            })
            .collect();
        let errors = not_found
            .iter()
            .map(|(id, error)| json!({"id": id, "error": error.to_string()}));
        let errors: Vec<Value> = errors.collect();
        output.json(&json!({"dry_run": true, "would_purge": would, "errors": errors}))?;
        return Ok(());
    }
    for one in chosen {
        let headline = output.shown(one.memory.headline());
        let short = one.memory.stem.short();
        let at = one.at.format("%Y-%m-%d");
        output.line(format!(
            "would purge {ID}{short}{ID:#}  {headline}  forgotten {at}"
        ))?;
    }
    for (id, error) in not_found {
        output.note(format!("{}: {error}", output.shown(id)));
    }
    if chosen.is_empty() {
        output.note("nothing to purge");
    }
    Ok(())
}
