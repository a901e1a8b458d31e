//! Commands about the credentials that memories hold: allow, redact.

use serde_json::{Value, json};

use crate::cli::args::shared::Ids;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::ID;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::each::each;
use crate::engine::{Engine, EngineError, Settled, ops};

/// Runs `memdir allow`.
pub fn allow(context: &mut Context, command: &Ids) -> Result<Outcome, Failure> {
    settle(context, command, "allowed", ops::allow_secrets)
}

/// Runs `memdir redact`.
pub fn redact(context: &mut Context, command: &Ids) -> Result<Outcome, Failure> {
    settle(context, command, "redacted", ops::redact_secrets)
}

/// Settles each memory; one that cannot be settled does not stop the others.
fn settle(
    context: &mut Context,
    command: &Ids,
    done: &str,
    settle: impl Fn(&Engine, &str) -> Result<Settled, EngineError>,
) -> Result<Outcome, Failure> {
    each(context, &command.ids, done, |engine, id| {
        let Settled { stem, found } = settle(engine, id)?;
        let short = stem.short();
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        let line = match shown.is_empty() {
            true => format!("nothing to do in {ID}{short}{ID:#}"),
            false => format!("{done} in {ID}{short}{ID:#}: {}", shown.join(", ")),
        };
        let found = found.iter();
        let found = found.map(|found| json!({"kind": found.kind, "line": found.line}));
        let found: Vec<Value> = found.collect();
        let json = json!({"id": short, "stem": stem.as_str(), "found": found});
        Ok((json, Some(line)))
    })
}
