//! `memdir brief --log`: what agents were shown unasked, when, and into which session.

use serde_json::json;

use crate::cli::sessions::pause::sessions;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{DIM, ID};
use crate::cli::wiring::context::{Context, Outcome};

/// Number of first characters of a session's id that are shown to people.
const SESSION_CHARACTERS: usize = 8;

/// Shows the newest `limit` events of sessions, newest first.
pub fn show(context: &mut Context, limit: usize) -> Result<Outcome, Failure> {
    let events = sessions(context)?.newest(limit);
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"events": events}))?;
        return Ok(Outcome::found(!events.is_empty()));
    }
    for event in &events {
        let at = event.at.format("%Y-%m-%d %H:%M:%S");
        let session: String = event.session.chars().take(SESSION_CHARACTERS).collect();
        let line = format!("{} {}: {}", event.client, event.event, event.did);
        let (session, line) = (output.shown(&session), output.shown(&line));
        output.line(format!("{DIM}{at}{DIM:#}  {session}  {line}"))?;
        if !event.shown.is_empty() {
            let ids: Vec<&str> = event.shown.iter().map(|stem| short(stem)).collect();
            output.line(format!("    {ID}{}{ID:#}", output.shown(&ids.join(" "))))?;
        }
        for left_out in &event.left_out {
            let (id, why) = (output.shown(&left_out.id), output.shown(&left_out.why));
            output.line(format!("    {ID}{id}{ID:#} was left out: {why}"))?;
        }
    }
    if events.is_empty() {
        output.note("agents were shown nothing unasked");
    }
    Ok(Outcome::found(!events.is_empty()))
}

/// Returns the handle at the end of a stem; the whole name of a note.
fn short(stem: &str) -> &str {
    let handle = stem.rsplit('_').next().unwrap_or(stem);
    match handle.len() {
        8 => handle,
        _ => stem,
    }
}
