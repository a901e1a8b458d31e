//! Commands about the credentials that memories hold: allow, redact.

use serde_json::Value;
use serde_json::json;

use crate::cli::args::shared::Ids;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::ID;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::Context;
use crate::cli::wiring::context::Outcome;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::Settled;
use crate::engine::ops;

pub fn allow(context: &mut Context, command: &Ids) -> Result<Outcome, Failure> {
    settle(context, command, "allowed", ops::allow_secrets)
}

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
    let engine = context.engine()?;
    let (mut settled, mut failed) = (Vec::new(), Vec::new());
    for id in &command.ids {
        match settle(&engine, id) {
            Ok(one) => {
                let short = one.stem.short();
                let found = one.found.iter();
                if context.output.json {
                    let found: Vec<Value> = found
                        .map(|found| json!({"kind": found.kind, "line": found.line}))
                        .collect();
                    settled.push(json!({"id": short, "stem": one.stem.as_str(), "found": found}));
                } else if one.found.is_empty() {
                    let line = format!("nothing to do in {ID}{short}{ID:#}");
                    context.output.line(line)?;
                } else {
                    let found: Vec<String> = found.map(ToString::to_string).collect();
                    let found = found.join(", ");
                    let line = format!("{done} in {ID}{short}{ID:#}: {found}");
                    context.output.line(line)?;
                }
            }
            Err(error) => {
                let failure = Failure::from(error);
                failed.push(json!({"id": id, "error": failure.what.clone()}));
                if !context.output.json {
                    context.output.error(&failure);
                }
            }
        }
    }
    let outcome = Outcome::complete(failed.is_empty());
    if context.output.json {
        let mut document = serde_json::Map::new();
        document.insert(done.to_owned(), Value::Array(settled));
        document.insert("errors".to_owned(), Value::Array(failed));
        context.output.json(&Value::Object(document))?;
    }
    afterwards::after_writing(context, &engine)?;
    Ok(outcome)
}
