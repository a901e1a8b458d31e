//! The command that brings this machine and the others into step: sync.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::args::sharing::Sync;
use crate::cli::sharing::{git_state, with, workspace};
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::Output;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{
    Accept, Engine, EngineError, Exchanged, GitStatus, Setup, WorkspaceReport, history,
};
use crate::git::{NetworkError, without_credentials};
use crate::trust::WorkspaceConsent;

/// Maximum time to wait for another process that syncs: longer than any step but the network.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of left out files that are named.
const SHOWN: usize = 20;
/// No event tells when another process is done.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs `memdir sync`.
pub fn sync(context: &mut Context, command: &Sync) -> Result<Outcome, Failure> {
    if let Some(address) = command.with.as_deref().and_then(workspace::address) {
        return workspace::sync(context, address, command);
    }
    if let Some(folder) = &command.with {
        if command.join {
            let folder = folder.display();
            return Err(Failure::new(format!("{folder} is no workspace to join"))
                .hint("A workspace is https://HOST/w/NAME; a folder is synchronized by each `sync --with`."));
        }
        return with::sync_with(context, folder, command);
    }
    if command.leave {
        return workspace::leave(context);
    }
    let engine = context.engine()?;
    if command.status {
        return git_state::show(context, &engine);
    }
    if engine.live.is_read_only() {
        return Err(EngineError::ReadOnly(engine.live.root().to_owned()).into());
    }
    if let Some(address) = &command.setup {
        let (local, history) = (command.allow_local, command.accept_history);
        let exchanged = set_up(context, &engine, address, local, history)?;
        tell_of_setup(context, &engine, address);
        return show(context, &engine, &exchanged);
    }
    let accept = Accept {
        deletions: command.accept_deletions,
        other_history: command.accept_history,
        rewritten: command.adopt_remote,
    };
    let exchanged = patiently(|| history::come_into_step(&engine.history, accept, &|| false));
    match history::sync_with_joined(&engine.history, command.accept_deletions) {
        None => show(context, &engine, &exchanged?),
        Some((joined, done)) => show_both(context, &engine, exchanged, &joined, done),
    }
}

/// Says how the exchanges with the remote and with a workspace ended. Neither hinders the other.
fn show_both(
    context: &mut Context,
    engine: &Engine,
    exchanged: Result<Exchanged, EngineError>,
    joined: &WorkspaceConsent,
    done: Result<WorkspaceReport, EngineError>,
) -> Result<Outcome, Failure> {
    let address = &joined.address;
    let outcome = if context.output.json {
        let failed = |error: &EngineError| json!({"state": "failed", "reason": error.to_string()});
        let (mut document, outcome) = match &exchanged {
            Ok(exchanged) => {
                let (state, _, outcome) = described(engine, exchanged)?;
                (as_json(engine, state, exchanged)?, outcome)
            }
            Err(error) => (failed(error), Outcome::Failed),
        };
        document["workspace"] = match &done {
            Ok(done) => workspace::as_json(address, joined.direction, done),
            Err(error) => failed(error),
        };
        context.output.json(&document)?;
        match done.is_ok() && outcome != Outcome::Failed {
            true => Outcome::Done,
            false => Outcome::Failed,
        }
    } else {
        let remote = match exchanged {
            // The workspace is what there is.
            Ok(Exchanged::Off) => Ok(Outcome::Done),
            Ok(exchanged) => show(context, engine, &exchanged),
            Err(error) => Err(error.into()),
        };
        let workspace = match done {
            Ok(done) => {
                if !done.report.is_in_step() {
                    context.output.line(format!("exchanged with {address}"))?;
                }
                workspace::show(context, address, &done)
            }
            Err(error) => Err(error.into()),
        };
        match (remote, workspace) {
            (Err(remote), Err(workspace)) => {
                context.output.error(&remote);
                return Err(workspace);
            }
            (remote, workspace) => {
                let outcome = remote?;
                workspace?;
                outcome
            }
        }
    };
    afterwards::after_writing(context, engine)?;
    Ok(outcome)
}

/// Tries again, for some seconds, while another process is at it: a server is done soon, and one
/// that was killed is gone soon.
fn patiently(
    mut exchange: impl FnMut() -> Result<Exchanged, EngineError>,
) -> Result<Exchanged, EngineError> {
    let started = Instant::now();
    loop {
        match exchange()? {
            Exchanged::Busy if started.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            other => return Ok(other),
        }
    }
}

/// Gives the store at `engine` a remote and comes into step with it.
pub fn set_up(
    context: &Context,
    engine: &Engine,
    address: &str,
    allow_local: bool,
    accept_history: bool,
) -> Result<Exchanged, Failure> {
    let setup = Setup {
        address: Some(address).filter(|address| !address.is_empty()),
        folder: &context.environment.folder,
        allow_local,
        accept_history,
    };
    let before = history::remote_address(&engine.history);
    patiently(|| history::set_up_remote(&engine.history, &setup, &|| false)).map_err(|error| {
        let is_new = history::remote_address(&engine.history) == before;
        let is_offline = matches!(error, EngineError::Network(NetworkError::Offline { .. }));
        let failure = Failure::from(error);
        match is_new && is_offline {
            true => failure.hint(
                "Nothing was set up or changed; run it again when the remote can be reached.",
            ),
            false => failure,
        }
    })
}

/// Says what the repository was taken at its word for, and for what it was not.
fn tell_of_setup(context: &Context, engine: &Engine, named: &str) {
    let is_to_be_told = context.output.is_terminal && named.is_empty();
    if let (true, Some(address)) = (is_to_be_told, history::remote_address(&engine.history)) {
        let address = crate::git::without_credentials(&address);
        context.output.note(format!("the remote is {address}"));
    }
    let unfollowed = history::unfollowed_settings(&engine.history).unwrap_or_default();
    if !unfollowed.is_empty() {
        let keys: Vec<&str> = unfollowed.iter().map(|one| one.key.as_str()).collect();
        context.output.note(format!(
            "settings of the repository that are not followed: {} (`memdir trust --show` shows them, `memdir trust --git-settings` agrees to them)",
            keys.join(", ")
        ));
    }
}

/// Says how it ended.
pub fn show(
    context: &mut Context,
    engine: &Engine,
    exchanged: &Exchanged,
) -> Result<Outcome, Failure> {
    let (state, text, outcome) = described(engine, exchanged)?;
    if context.output.json {
        context.output.json(&as_json(engine, state, exchanged)?)?;
    } else if outcome == Outcome::Failed {
        return Err(Failure::new(text));
    } else {
        let output = &mut context.output;
        output.line(text)?;
        show_left(output, exchanged)?;
        output.flush()?;
        output.held_back(&history::held_back(&engine.history)?);
    }
    Ok(outcome)
}

/// Returns how it ended: a word, a sentence, and the outcome of the command.
fn described(
    engine: &Engine,
    exchanged: &Exchanged,
) -> Result<(&'static str, String, Outcome), EngineError> {
    Ok(match exchanged {
        Exchanged::InStep(moved) => (
            "in-step",
            match (moved.pulled, moved.pushed) {
                (0, 0) => "in step with the remote".to_owned(),
                (pulled, pushed) => {
                    format!("in step with the remote: {pulled} files came, {pushed} commits went")
                }
            },
            Outcome::Done,
        ),
        Exchanged::NoRemote => (
            "no-remote",
            match (history::forgotten_remote(&engine.history), history::unagreed_remote(&engine.history)) {
                (Some(forgotten), _) => format!("everything is committed; {forgotten}"),
                (None, Some(address)) => format!(
                    "everything is committed; the repository names the remote {}, and you have not agreed to it: `memdir sync --setup`",
                    without_credentials(&address)
                ),
                (None, None) => "everything is committed; there is no remote (`memdir sync --setup ADDRESS` names one)".to_owned(),
            },
            // Who agreed to a remote expects that it has the memories.
            match history::forgotten_remote(&engine.history) {
                Some(_) => Outcome::Failed,
                None => Outcome::Done,
            },
        ),
        Exchanged::Busy => (
            "busy",
            "another process is at it, or git is at work in the repository; try again in a moment"
                .to_owned(),
            Outcome::Failed,
        ),
        Exchanged::Off => (
            "off",
            match history::git_status(&engine.history)? {
                GitStatus::Off(why) => format!("this store is not committed: {why}"),
                GitStatus::On { .. } => "this store was not committed; try again".to_owned(),
            },
            Outcome::Nothing,
        ),
        Exchanged::Paused(reason) => (
            "paused",
            format!("nothing is exchanged at present: {reason}"),
            Outcome::Failed,
        ),
    })
}

fn as_json(engine: &Engine, state: &str, exchanged: &Exchanged) -> Result<Value, EngineError> {
    let held_back = git_state::held_back_json(&history::held_back(&engine.history)?);
    let mut document = json!({"state": state, "held_back": held_back});
    match exchanged {
        Exchanged::InStep(moved) => {
            document["pulled"] = json!(moved.pulled);
            document["pushed"] = json!(moved.pushed);
            document["conflicts"] = json!(moved.conflicts);
            document["kept"] = json!(moved.kept);
            let left_out = moved.left_out.iter();
            let left_out = left_out.map(|one| json!({"path": one.path, "reason": one.reason}));
            document["left_out"] = left_out.collect();
        }
        Exchanged::Paused(reason) => document["reason"] = json!(reason),
        _ => {}
    }
    Ok(document)
}

/// Names what is two now, or was left as it is.
fn show_left(output: &mut Output, exchanged: &Exchanged) -> std::io::Result<()> {
    let Exchanged::InStep(moved) = exchanged else {
        return Ok(());
    };
    for stem in &moved.conflicts {
        output.line(format!(
            "changed on two sides, and two memories now: {stem}"
        ))?;
    }
    for path in &moved.kept {
        output.line(format!(
            "no memory, changed on two sides, and kept as it is here: {path}"
        ))?;
    }
    for one in moved.left_out.iter().take(SHOWN) {
        let (path, reason) = (&one.path, &one.reason);
        output.line(format!("left out of what the remote has: {path}: {reason}"))?;
    }
    let more = moved.left_out.len().saturating_sub(SHOWN) + moved.unnamed;
    if more > 0 {
        output.line(format!("left out of what the remote has: {more} more"))?;
    }
    Ok(())
}
