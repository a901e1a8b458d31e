//! The command that brings two stores on this machine into step: `sync --with`.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::args::sharing::{Direction, Sync};
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::Output;
use crate::cli::wiring::context::{Context, Outcome, open};
use crate::cli::wiring::{afterwards, no_store};
use crate::config::{Config, Flags};
use crate::engine;
use crate::engine::{Engine, EngineError, GitOptions, Options, Taken, With, WithReport, history};

/// Runs `memdir sync --with`.
pub fn sync_with(context: &mut Context, folder: &Path, command: &Sync) -> Result<Outcome, Failure> {
    let (engine, report) = bring_into_step(context, folder, command)?;
    show(context, folder, command.direction, &report)?;
    if !command.dry_run && !engine.live.is_read_only() {
        afterwards::after_writing(context, &engine)?;
    }
    Ok(Outcome::Done)
}

/// Brings the store and the one in `folder` into step, or plans it. Returns the store, and what changed in
/// both.
pub fn bring_into_step(
    context: &Context,
    folder: &Path,
    command: &Sync,
) -> Result<(Engine, WithReport), Failure> {
    let engine = context.engine()?;
    let folder = crate::config::store_at(&context.environment.folder.join(folder));
    if !holds_memories(&folder) {
        return Err(no_store::no_store(&folder));
    }
    let direction = command.direction;
    let is_written = direction != Direction::Pull && !command.dry_run;
    let other = match is_written {
        true => Some(open_other(context, &folder)?),
        false => None,
    };
    check_writable(&engine, other.as_ref(), command)?;
    let with = With {
        folder: &folder,
        direction: engine_direction(direction),
        dry_run: command.dry_run,
        accept_deletions: command.accept_deletions,
    };
    let report = history::sync_with(
        &engine.history,
        &with,
        other.as_ref().map(|other| &*other.history),
    )?;
    Ok((engine, report))
}

/// Returns a direction of the command line as one of the engine.
pub fn engine_direction(direction: Direction) -> engine::Direction {
    match direction {
        Direction::Pull => engine::Direction::Pull,
        Direction::Push => engine::Direction::Push,
        Direction::Merge => engine::Direction::Merge,
    }
}

fn holds_memories(folder: &Path) -> bool {
    let in_place = crate::files::notes_around(folder).is_some();
    folder.join("files").is_dir() || (in_place && folder.is_dir())
}

/// Opens the other store with its own settings, to be written.
fn open_other(context: &Context, folder: &Path) -> Result<Engine, Failure> {
    let flags = Flags {
        store: Some(folder.to_owned()),
        read_only: context.config.read_only,
    };
    let config = Config::read(&flags, &context.environment)?;
    let (environment, output) = (context.environment.clone(), context.output.share());
    let other = Context::new(config, environment, output);
    let options = other.options(folder);
    let options = Options {
        // A place that was named for this store's derived things is not the other one's.
        state: None,
        models: None,
        git: options.git.map(|git| GitOptions {
            remote: None,
            ..git
        }),
        ..options
    };
    open(options)
}

fn check_writable(engine: &Engine, other: Option<&Engine>, command: &Sync) -> Result<(), Failure> {
    let failed = |engine: &Engine, hint: &str| {
        let error = EngineError::ReadOnly(engine.live.root().to_owned());
        Err(Failure::from(error).hint(hint))
    };
    if command.dry_run {
        return Ok(());
    }
    if command.direction != Direction::Push && engine.live.is_read_only() {
        return failed(engine, "`--direction push` only reads this store.");
    }
    match other {
        Some(other) if other.live.is_read_only() => {
            failed(other, "`--direction pull` only reads that store.")
        }
        _ => Ok(()),
    }
}

fn show(
    context: &mut Context,
    folder: &Path,
    direction: Direction,
    report: &WithReport,
) -> Result<(), Failure> {
    let folder = crate::config::store_at(&context.environment.folder.join(folder));
    let place = folder.display().to_string();
    let output = &mut context.output;
    if output.json {
        output.json(&report_as_json(&place, engine_direction(direction), report))?;
        return Ok(());
    }
    show_report(output, &place, report)?;
    output.flush()?;
    tell_skipped(output, report);
    Ok(())
}

/// Returns the report of a sync with `place` as JSON.
pub fn report_as_json(place: &str, direction: engine::Direction, report: &WithReport) -> Value {
    let skipped = report.skipped.iter().map(|skipped| {
        let store = match skipped.is_here {
            true => "here",
            false => "there",
        };
        json!({"store": store, "file": skipped.path, "reason": skipped.reason})
    });
    json!({
        "with": place,
        "direction": direction.as_str(),
        "dry_run": report.dry_run,
        "in_step": report.is_in_step(),
        "brought": as_json(&report.here),
        "sent": as_json(&report.there),
        "skipped": skipped.collect::<Vec<_>>(),
    })
}

/// Shows the report of a sync with `place` in words.
pub fn show_report(output: &mut Output, place: &str, report: &WithReport) -> Result<(), Failure> {
    if report.is_in_step() {
        output.line(format!("in step with {place}"))?;
    }
    let would = match report.dry_run {
        true => "would be ",
        false => "",
    };
    show_taken(output, &format!("{would}brought"), &report.here)?;
    show_taken(output, &format!("{would}sent"), &report.there)?;
    Ok(())
}

/// Says which files were left out, a line each.
pub fn tell_skipped(output: &Output, report: &WithReport) {
    for skipped in &report.skipped {
        let place = match skipped.is_here {
            true => "here",
            false => "there",
        };
        let path = output.shown(&skipped.path);
        let reason = output.shown(&skipped.reason);
        output.note(format!("skipped {path} {place}: {reason}"));
    }
}

fn show_taken(output: &mut Output, what: &str, taken: &Taken) -> Result<(), Failure> {
    if *taken == Taken::default() {
        return Ok(());
    }
    let counts = [
        (taken.came.len(), "came"),
        (taken.united.len(), "united"),
        (taken.forgotten.len(), "forgotten"),
        (taken.removed.len(), "removed"),
        (taken.conflicts.len(), "kept aside"),
        (taken.journals, "journals"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    output.line(format!("{what}: {}", counts.join(", ")))?;
    for stem in &taken.conflicts {
        let stem = output.shown(stem);
        output.line(format!(
            "changed on two sides, and two memories now: {stem}"
        ))?;
    }
    Ok(())
}

fn as_json(taken: &Taken) -> Value {
    json!({
        "files": taken.came,
        "united": taken.united,
        "forgotten": taken.forgotten,
        "removed": taken.removed,
        "conflicts": taken.conflicts,
        "journals": taken.journals,
    })
}
