//! `memdir team`: the workspaces of a database.

use serde_json::json;

use crate::cli::args::sharing::{Team, TeamCommand};
use crate::cli::store::purge::is_answered_yes;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::database;
use crate::files::Store;
use crate::rows;
use crate::rows::{Copied, CopyError, Database, Rows, RowsError};

/// Maximum number of paths that are shown.
const SHOWN: usize = 20;

/// Runs `memdir team`.
pub fn team(context: &mut Context, command: &Team) -> Result<Outcome, Failure> {
    let database = database::open(context, command.database.as_deref())?;
    match &command.what {
        TeamCommand::Migrate => migrate(context, &database),
        TeamCommand::List => list(context, &database),
        TeamCommand::Create { name } => {
            database.create_workspace(name).map_err(failure)?;
            context.output.note(format!("made the workspace {name}"));
            Ok(Outcome::Done)
        }
        TeamCommand::Drop { name, yes } => drop_workspace(context, &database, name, *yes),
        TeamCommand::Import { name, folder } => {
            let folder = context.environment.folder.join(folder);
            if !crate::config::is_store(&folder) {
                let what = format!(
                    "{} is no store: there is no folder `files` in it",
                    folder.display()
                );
                return Err(Failure::new(what));
            }
            let rows = Rows::open(&database, name).map_err(failure)?;
            let copied = rows::import(&rows, &Store::at(&folder)).map_err(not_copied)?;
            show(context, &copied)
        }
        TeamCommand::Export { name, folder } => {
            let folder = context.environment.folder.join(folder);
            let rows = Rows::open(&database, name).map_err(failure)?;
            let copied = rows::export(&rows, &Store::at(&folder)).map_err(not_copied)?;
            show(context, &copied)
        }
        TeamCommand::Check { name } => {
            let rows = Rows::open(&database, name).map_err(failure)?;
            check(context, &rows)
        }
    }
}

fn migrate(context: &mut Context, database: &Database) -> Result<Outcome, Failure> {
    let applied = database.migrate().map_err(failure)?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"applied": applied}))?;
    } else if applied.is_empty() {
        output.note("the database is up to date");
    }
    for name in applied.iter().filter(|_| !output.json) {
        output.note(format!("applied the migration `{name}`"));
    }
    Ok(Outcome::Done)
}

fn list(context: &mut Context, database: &Database) -> Result<Outcome, Failure> {
    let workspaces = database.workspaces().map_err(failure)?;
    let output = &mut context.output;
    if output.json {
        let all = workspaces.iter().map(
            |one| json!({"name": one.name, "memories": one.memories, "last_change": one.head}),
        );
        let all: Vec<_> = all.collect();
        output.json(&json!({"workspaces": all}))?;
    } else {
        for one in &workspaces {
            output.line(format!("{:>9}  {}", one.memories, one.name))?;
        }
    }
    Ok(Outcome::found(!workspaces.is_empty()))
}

fn drop_workspace(
    context: &mut Context,
    database: &Database,
    name: &str,
    is_agreed: bool,
) -> Result<Outcome, Failure> {
    let question =
        format!("Remove the workspace {name} with all its memories? Nothing brings them back.");
    if !is_agreed && !is_answered_yes(&context.output, &question)? {
        return Ok(Outcome::Nothing);
    }
    database.drop_workspace(name).map_err(failure)?;
    context.output.note(format!("removed the workspace {name}"));
    Ok(Outcome::Done)
}

/// Shows what was copied; some files that were not are no success.
fn show(context: &mut Context, copied: &Copied) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    if output.json {
        let skipped = copied.skipped.iter();
        let skipped = skipped.map(|one| json!({"file": one.name, "reason": one.reason}));
        let skipped: Vec<_> = skipped.collect();
        output.json(&json!({
            "added": copied.added,
            "known": copied.known,
            "different": copied.different,
            "skipped": skipped,
        }))?;
    } else {
        output.note(format!(
            "copied {} files, {} were there",
            copied.added, copied.known
        ));
        for path in copied.different.iter().take(SHOWN) {
            output.note(format!("not copied: {path} is there with another text"));
        }
        for one in copied.skipped.iter().take(SHOWN) {
            output.note(format!("not copied: {}: {}", one.name, one.reason));
        }
        let left = copied.different.len() + copied.skipped.len();
        if left > 0 {
            output.note(format!("{left} files were not copied"));
        }
    }
    let is_whole = copied.different.is_empty() && copied.skipped.is_empty();
    Ok(Outcome::complete(is_whole))
}

fn check(context: &mut Context, rows: &Rows) -> Result<Outcome, Failure> {
    let checked = rows::check(rows).map_err(failure)?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"files": checked.files, "findings": checked.findings}))?;
    } else {
        for finding in checked.findings.iter().take(SHOWN) {
            output.line(finding)?;
        }
        let count = checked.findings.len();
        output.note(format!("checked {} files: {count} findings", checked.files));
    }
    Ok(Outcome::found(checked.findings.is_empty()))
}

fn failure(error: RowsError) -> Failure {
    database::failure(error)
}

fn not_copied(error: CopyError) -> Failure {
    match error {
        CopyError::Rows(error) => failure(error),
        error => Failure::new("cannot copy the memories").because(error),
    }
}
