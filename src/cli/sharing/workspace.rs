//! `memdir sync` with a workspace of a team's server: `--with https://HOST/w/NAME`, `--join` and `--leave`.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::args::sharing::Sync;
use crate::cli::sharing::with;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::{afterwards, workspace};
use crate::engine;
use crate::engine::{Taken, WithWorkspace, WorkspaceClient, WorkspaceReport, history};
use crate::trust::{TokenPlace, WorkspaceConsent};

/// Returns the address that `with` is, if it is none of a folder.
pub fn address(with: &Path) -> Option<&str> {
    let text = with.to_str()?;
    let schemes = ["https://", "http://"];
    schemes
        .iter()
        .any(|one| text.starts_with(one))
        .then_some(text)
}

/// Runs `memdir sync --with URL`.
pub fn sync(context: &mut Context, address: &str, command: &Sync) -> Result<Outcome, Failure> {
    let (client, token) = workspace::client(&context.environment, address, command.keep_token)?;
    let engine = context.engine()?;
    let joined = history::joined_workspace(&engine.history);
    let joined = joined.filter(|joined| joined.address == client.address());
    let wanted = WithWorkspace {
        client: &client,
        direction: with::engine_direction(command.direction),
        dry_run: command.dry_run,
        accept_deletions: command.accept_deletions,
        private: &context.config.private,
        identity: joined
            .as_ref()
            .filter(|_| !command.join)
            .map(|joined| joined.identity.as_str()),
    };
    let done = history::sync_with_workspace(&engine.history, &wanted)?;
    let direction = wanted.direction;
    if command.join {
        let joined = WorkspaceConsent {
            address: client.address().to_owned(),
            identity: done.state.workspace.clone(),
            direction,
            token: token.clone(),
        };
        history::join_workspace(&engine.history, joined, Some(&done))?;
    } else if let Some(joined) = joined.filter(|joined| command.keep_token && joined.token != token)
    {
        let joined = WorkspaceConsent {
            token: token.clone(),
            ..joined
        };
        history::join_workspace(&engine.history, joined, None)?;
    }
    if context.output.json {
        let mut document = as_json(client.address(), direction, &done);
        if command.join {
            document["joined"] = json!(true);
        }
        context.output.json(&document)?;
    } else {
        show(context, client.address(), &done)?;
    }
    if command.join {
        tell_joined(context, client.address(), &token);
    }
    if !command.dry_run {
        afterwards::after_writing(context, &engine)?;
    }
    Ok(Outcome::Done)
}

/// Runs `memdir sync --leave`.
pub fn leave(context: &mut Context) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let left = history::leave_workspace(&engine.history)?;
    let output = &mut context.output;
    let address = left.as_ref().map(|left| left.address.as_str());
    if output.json {
        output.json(&json!({"left": address}))?;
    } else {
        output.line(match address {
            Some(address) => format!(
                "left {address}: nothing is exchanged with it any more; the memories stay on both sides"
            ),
            None => "this store is joined to no workspace".to_owned(),
        })?;
        let kept = address.and_then(|address| workspace::kept_token(&context.environment, address));
        if let Some(kept) = kept {
            output.note(format!("the token stays in {}", kept.display()));
        }
    }
    Ok(Outcome::found(address.is_some()))
}

/// Says what a server does from now on.
fn tell_joined(context: &Context, address: &str, token: &TokenPlace) {
    let output = &context.output;
    output.note(format!(
        "joined {address}: a server exchanges with it in the background, and `memdir sync` does"
    ));
    if let TokenPlace::Variable(name) = token {
        output.note(format!(
            "the server needs the token in its variable {name}; --keep-token keeps it for you instead"
        ));
    }
}

/// Returns the report of an exchange with a workspace as JSON.
pub fn as_json(address: &str, direction: engine::Direction, done: &WorkspaceReport) -> Value {
    let mut document = with::report_as_json(address, direction, &done.report);
    document["private"] = json!(done.private);
    document["only_reads"] = json!(done.only_reads);
    document
}

/// Shows the report of an exchange with a workspace in words.
pub fn show(context: &mut Context, address: &str, done: &WorkspaceReport) -> Result<(), Failure> {
    let report = &done.report;
    with::show_report(&mut context.output, address, report)?;
    if report.dry_run {
        names(context, "comes", &report.here)?;
        names(context, "goes", &report.there)?;
    }
    let output = &mut context.output;
    if done.private > 0 {
        output.line(format!("private, and staying here: {}", done.private))?;
    }
    output.flush()?;
    with::tell_skipped(output, report);
    if done.only_reads {
        output.note("nothing was sent: this token only reads");
    }
    Ok(())
}

/// Names each memory that a dry run found, one a line.
fn names(context: &mut Context, what: &str, taken: &Taken) -> Result<(), Failure> {
    let output = &mut context.output;
    let groups = [
        ("", &taken.came),
        (" united", &taken.united),
        (" forgotten", &taken.forgotten),
        (" removed", &taken.removed),
        (" in conflict", &taken.conflicts),
    ];
    for (how, names) in groups {
        for name in names {
            let name = output.shown(name);
            output.line(format!("  {what}{how}: {name}"))?;
        }
    }
    Ok(())
}
