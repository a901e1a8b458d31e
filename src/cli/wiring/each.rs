//! Commands that do one thing to each of several memories.

use serde_json::{Value, json};

use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, EngineError};

/// Does `act` to the memory of each id; one that fails does not stop the others.
///
/// `act` returns what was done to a memory: as JSON, which stands in a list called `done`, and as a
/// line for people, where there is something to say.
pub fn each(
    context: &mut Context,
    ids: &[String],
    done: &str,
    act: impl Fn(&Engine, &str) -> Result<(Value, Option<String>), EngineError>,
) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let output = &mut context.output;
    let (mut results, mut errors) = (Vec::new(), Vec::new());
    for (at, id) in ids.iter().enumerate() {
        // One that is named twice is done once.
        if ids[..at].contains(id) {
            continue;
        }
        match act(&engine, id) {
            Ok((result, line)) => {
                results.push(result);
                if let Some(line) = line.filter(|_| !output.json) {
                    output.line(line)?;
                }
            }
            Err(error) => {
                let failure = Failure::from(error);
                if !output.json {
                    output.error(&failure);
                }
                errors.push(json!({"id": id, "error": failure.what}));
            }
        }
    }
    let is_complete = errors.is_empty();
    if output.json {
        output.json(&json!({done: results, "errors": errors}))?;
    }
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::complete(is_complete))
}
