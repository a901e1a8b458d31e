//! The command that moves memories into other folders.

use serde_json::json;

use crate::cli::args::change::Rearrange;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::{afterwards, layout_offer};
use crate::engine::ops;

/// Runs `memdir layout`.
pub fn layout(context: &mut Context, command: &Rearrange) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let Some(layout) = command.layout else {
        let layout = context.config.layout.value;
        let elsewhere = ops::out_of_place(&engine, layout)?;
        let output = &mut context.output;
        if output.json {
            output.json(&json!({"layout": layout.as_str(), "elsewhere": elsewhere}))?;
        } else {
            output.line(layout.as_str())?;
            if elsewhere > 0 {
                output.line(format!(
                    "{} elsewhere: `memdir layout {layout}` moves them",
                    files(elsewhere)
                ))?;
            }
            if let Some(offer) = layout_offer::offer(&engine, ops::in_no_folder(&engine)?) {
                output.note(offer);
            }
        }
        return Ok(Outcome::Done);
    };
    let done = ops::rearrange(&engine, layout)?;
    let output = &mut context.output;
    if output.json {
        output.json(&json!({"layout": layout.as_str(), "moved": done.moved, "left": done.left}))?;
    } else {
        output.line(format!("{layout}: moved {}", files(done.moved)))?;
        if done.left > 0 {
            output.note(format!(
                "{} stay: another file has the name; `memdir verify` names them",
                files(done.left)
            ));
        }
    }
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        _ => format!("{count} files"),
    }
}
