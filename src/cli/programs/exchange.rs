//! `sync` and `import` of ai-memory: memories of another store, of its export, or of its database.

use std::path::Path;

use serde_json::json;

use super::ai_memory::is_database;
use crate::cli::args::programs::ai_memory::Sync;
use crate::cli::args::sharing::{self, Direction};
use crate::cli::sharing::with;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::visible;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, Import, Imported, Taken, ops};
use crate::import;
use crate::import::Defaults;

/// Brings the store and another one into step.
pub fn sync(context: &mut Context, command: &Sync) -> Result<Outcome, Failure> {
    let path = context.environment.folder.join(&command.remote);
    if is_database(&path) {
        return take_in(context, &path, command);
    }
    let wanted = sharing::Sync {
        with: Some(command.remote.clone()),
        direction: command.direction,
        dry_run: command.dry_run,
        ..sharing::Sync::default()
    };
    let (engine, report) = with::bring_into_step(context, &command.remote, &wanted)?;
    let count = |taken: &Taken| taken.came.len() + taken.united.len();
    let (pulled, pushed) = (count(&report.here), count(&report.there));
    let output = &mut context.output;
    if output.json {
        let mut document = match command.direction {
            Direction::Pull => json!({"direction": "pull", "imported": pulled}),
            Direction::Push => json!({"direction": "push", "exported": pushed}),
            Direction::Merge => json!({"direction": "merge", "pulled": pulled, "pushed": pushed}),
        };
        if command.dry_run {
            document["dry_run"] = json!(true);
        }
        output.json(&document)?;
    } else {
        let would = if command.dry_run { "dry run — " } else { "" };
        output.line(match command.direction {
            Direction::Pull => format!("{would}pulled {pulled} memories from remote"),
            Direction::Push => format!("{would}pushed {pushed} memories to remote"),
            Direction::Merge => format!("{would}merged: pulled {pulled}, pushed {pushed}"),
        })?;
    }
    output.flush()?;
    with::tell_skipped(output, &report);
    if !command.dry_run && !engine.live.is_read_only() {
        afterwards::after_writing(context, &engine)?;
    }
    Ok(Outcome::Done)
}

/// Brings in the memories of ai-memory's own database, which is only read.
fn take_in(context: &mut Context, path: &Path, command: &Sync) -> Result<Outcome, Failure> {
    let shown = command.remote.display();
    if command.direction != Direction::Pull {
        let what = "is a database of ai-memory, and memdir only reads those";
        return Err(Failure::new(format!("{shown} {what}")).hint(format!(
            "`--direction pull` brings its memories in; `ai-memory export | OTHER-AI-MEMORY --db {shown} import` takes these there."
        )));
    }
    let engine = match command.dry_run {
        true => context.engine()?,
        false => context.engine_for_writing()?,
    };
    let taken = take(context, &engine, path, command.dry_run)?;
    let output = &mut context.output;
    if output.json {
        let mut document =
            json!({"direction": "pull", "imported": taken.added, "known": taken.known});
        document["errors"] = json!(taken.errors);
        output.json(&document)?;
    } else {
        let would = if command.dry_run { "dry run — " } else { "" };
        output.line(format!(
            "{would}pulled {} memories from remote",
            taken.added
        ))?;
    }
    finish(context, &engine, &taken)
}

/// Brings in the JSON of an export; `-` is standard input.
pub fn import(context: &mut Context, path: &Path) -> Result<Outcome, Failure> {
    let engine = context.engine_for_writing()?;
    let taken = take(context, &engine, path, false)?;
    let output = &mut context.output;
    if output.json {
        let (added, known) = (taken.added, taken.known);
        output.json(&json!({"imported": added, "errors": taken.errors, "known": known}))?;
    } else {
        output.line(format!("imported: {}", taken.added))?;
    }
    finish(context, &engine, &taken)
}

/// Outcome for the memories of a source.
#[derive(Default)]
struct TakenIn {
    added: usize,
    known: usize,
    errors: Vec<String>,
    warnings: Vec<String>,
}

fn take(
    context: &Context,
    engine: &Engine,
    path: &Path,
    dry_run: bool,
) -> Result<TakenIn, Failure> {
    let defaults = Defaults {
        agent: "import".to_owned(),
        user: context.config.user.value.clone(),
        namespace: None,
    };
    let items = import::ai_memory(path, &defaults)?;
    let mut taken = TakenIn::default();
    let options = Import {
        dry_run,
        ..Import::default()
    };
    let report = ops::import(engine, items, options, &mut |one| match one {
        Imported::Added { stem, screened, .. } => {
            taken.added += 1;
            let id = stem.map(|stem| engine.live.shown_id(&stem));
            let id = id.unwrap_or_default();
            let found = screened.warnings().into_iter();
            taken
                .warnings
                .extend(found.map(|found| format!("{id}: {found}")));
        }
        Imported::Known { .. } => taken.known += 1,
        Imported::LeftOut { source_id, what } => {
            let id = source_id.unwrap_or_default();
            taken.errors.push(format!("{id}: {what} are left out"));
        }
        Imported::Failed { source, reason, .. } => match reason.starts_with(&source) {
            true => taken.errors.push(reason),
            false => taken.errors.push(format!("{source}: {reason}")),
        },
    })?;
    let not_carried = report.not_carried.iter();
    taken
        .warnings
        .extend(not_carried.map(|(what, count)| format!("not carried over: {what} ({count})")));
    Ok(taken)
}

/// Tells what was not taken in, and commits what was.
fn finish(context: &mut Context, engine: &Engine, taken: &TakenIn) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    output.flush()?;
    if !output.json {
        if taken.known > 0 {
            output.note(format!("known already: {}", taken.known));
        }
        for error in &taken.errors {
            output.note(format!("  {}", visible(error)));
        }
    }
    for warning in &taken.warnings {
        output.note(format!("warning: {warning}"));
    }
    if taken.added > 0 {
        afterwards::after_writing(context, engine)?;
    }
    Ok(Outcome::Done)
}
