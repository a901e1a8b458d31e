//! The command that takes all memories away into a backup, and brings a backup back.

use std::io::IsTerminal;

use serde_json::{Value, json};

use crate::cli::args::change::Reset;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{BroughtBack, Engine, EngineError, Reset as Done, ops};
use crate::files::Medium;

/// Runs `memdir reset`.
pub fn reset(context: &mut Context, command: &Reset) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    if engine.live.is_read_only() && !command.dry_run {
        return Err(EngineError::ReadOnly(engine.live.root().to_owned()).into());
    }
    if let Some(backup) = &command.from {
        let back = ops::bring_back(&engine, backup, command.dry_run)?;
        return show_back(context, &engine, command.dry_run, &back);
    }
    let planned = ops::reset(&engine, true)?;
    let count = planned.live + planned.forgotten;
    if command.dry_run || count == 0 {
        return show(context, &engine, &planned, command.dry_run);
    }
    if !command.yes && !is_confirmed(context, &engine, &planned)? {
        context.output.line("nothing was done")?;
        return Ok(Outcome::Nothing);
    }
    let done = ops::reset(&engine, false)?;
    show(context, &engine, &done, false)
}

/// Asks the user to type the number of memories, or the store's name: neither is typed by mistake.
fn is_confirmed(context: &mut Context, engine: &Engine, planned: &Done) -> Result<bool, Failure> {
    if context.output.json || !std::io::stdin().is_terminal() {
        return Err(
            Failure::new("all memories would be taken away, and nobody can be asked here")
                .hint("Say --yes if that is meant; --dry-run says how many they are."),
        );
    }
    let root = engine.live.root();
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let count = planned.live + planned.forgotten;
    let output = &mut context.output;
    output.note(format!(
        "{} live and {} forgotten memories of {} go into a backup in its folder `backup`.",
        planned.live,
        planned.forgotten,
        root.display()
    ));
    for line in what_follows(engine, planned) {
        output.note(line);
    }
    output.note(format!("Type {count}, or `{name}`, to go on:"));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::new("cannot read the answer").because(error))?;
    let answer = answer.trim();
    Ok(answer == count.to_string() || answer == name)
}

/// Notes about the effect on other machines.
fn what_follows(engine: &Engine, reset: &Done) -> Vec<&'static str> {
    let mut lines = Vec::new();
    if reset.has_remote {
        lines.push(
            "The remote and other machines keep them: `memdir sync` stops before it sends this, until you say `memdir sync --accept-deletions`; then they go everywhere.",
        );
    }
    if let Medium::Synced(_) = crate::files::medium(engine.live.root()) {
        lines.push("A service copies this folder: it takes the files away on other machines, too.");
    }
    lines
}

fn show(
    context: &mut Context,
    engine: &Engine,
    reset: &Done,
    dry_run: bool,
) -> Result<Outcome, Failure> {
    let count = reset.live + reset.forgotten;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "dry_run": dry_run,
            "live": reset.live,
            "forgotten": reset.forgotten,
            "backup": reset.backup.as_ref().map(|folder| folder.display().to_string()),
            "commit": reset.commit,
            "remote": reset.has_remote,
            "left": pairs(&reset.left),
        }))?;
    } else if count == 0 && reset.backup.is_none() {
        output.note("there are no memories");
    } else {
        let done = match dry_run {
            true => "would take away",
            false => "took away",
        };
        output.line(format!(
            "{done} {} live and {} forgotten memories",
            reset.live, reset.forgotten
        ))?;
        if let Some(folder) = &reset.backup {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            output.line(format!("the backup is {}", folder.display()))?;
            output.line(format!("`memdir reset --from {name}` brings it back"))?;
        }
        for line in what_follows(engine, reset) {
            output.line(line)?;
        }
    }
    tell_left(context, &reset.left);
    if !dry_run && count > 0 {
        afterwards::after_writing(context, engine)?;
    }
    Ok(match count {
        _ if reset.backup.is_some() && !reset.left.is_empty() => Outcome::Failed,
        0 => Outcome::Nothing,
        _ => Outcome::Done,
    })
}

fn show_back(
    context: &mut Context,
    engine: &Engine,
    dry_run: bool,
    back: &BroughtBack,
) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    if output.json {
        output.json(&json!({
            "dry_run": dry_run,
            "brought": back.brought,
            "known": back.known,
            "left": pairs(&back.left),
        }))?;
    } else {
        let done = match dry_run {
            true => "would bring back",
            false => "brought back",
        };
        output.line(format!(
            "{done} {} files; {} are there as they were",
            back.brought.len(),
            back.known
        ))?;
    }
    tell_left(context, &back.left);
    if !dry_run {
        afterwards::after_writing(context, engine)?;
    }
    Ok(match (back.left.is_empty(), back.brought.is_empty()) {
        (false, _) => Outcome::Failed,
        (true, true) => Outcome::Nothing,
        (true, false) => Outcome::Done,
    })
}

fn tell_left(context: &mut Context, left: &[(String, String)]) {
    if context.output.json {
        return;
    }
    for (path, reason) in left {
        let path = context.output.shown(path);
        let reason = context.output.shown(reason);
        context.output.note(format!("{path} stays: {reason}"));
    }
}

fn pairs(left: &[(String, String)]) -> Vec<Value> {
    let one = |(path, reason): &(String, String)| json!({"file": path, "reason": reason});
    left.iter().map(one).collect()
}
