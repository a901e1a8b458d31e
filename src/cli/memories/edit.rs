//! Edits a memory's file in the user's editor.

use std::io::IsTerminal;

use crate::cli::memories::write::edited_json;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::ID;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::cli::wiring::editor::open_editor;
use crate::engine::{Edited, Engine, ops, write};
use crate::files::Draft;

/// Maximum number of times that an editor is started where nobody can be asked.
const MAX_TRIES: usize = 5;

/// Runs `memdir edit`.
pub fn edit(context: &mut Context, id: &str) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let saved = edited(context, &engine, id)?;
    let id = engine.live.shown_id(&saved.memory.stem);
    let output = &mut context.output;
    if output.json {
        output.json(&edited_json(&saved, &id))?;
    } else {
        let what = if saved.changed { "saved" } else { "unchanged" };
        output.line(format!("{what} {ID}{id}{ID:#}"))?;
    }
    context.output.warnings(&saved.screened);
    afterwards::after_writing(context, &engine)?;
    Ok(Outcome::Done)
}

/// Opens a draft beside nothing of the store, checks it on save, and opens it again while it has
/// problems that the memory did not have before. The draft survives a failure.
pub fn edited(context: &Context, engine: &Engine, id: &str) -> Result<Edited, Failure> {
    let (name, version) = ops::open_text(engine, id)?;
    let draft = Draft::new(&name, &version.bytes)
        .map_err(|error| Failure::new("cannot make a draft to edit").because(error))?;
    let mut tried: Option<Vec<u8>> = None;
    let is_asked = std::io::stdin().is_terminal();
    let mut tries = 0;
    let bytes = loop {
        if let Err(failure) = open_editor(context, draft.path()) {
            let is_untouched = draft.read().is_ok_and(|bytes| bytes == version.bytes);
            return Err(match is_untouched {
                true => failure,
                false => failure.hint(kept(draft)),
            });
        }
        let bytes = match draft.read() {
            Ok(bytes) => bytes,
            Err(error) => {
                let failure = Failure::new("cannot read the draft").because(error);
                return Err(failure.hint(kept(draft)));
            }
        };
        let problems = write::new_problems(&engine.writer, &name, &bytes, &version.bytes);
        if problems.is_empty() {
            break bytes;
        }
        let said: Vec<String> = problems
            .iter()
            .map(|problem| format!("{problem}. {}", problem.hint()))
            .collect();
        tries += 1;
        if tried.as_ref() == Some(&bytes) || (!is_asked && tries == MAX_TRIES) {
            // Left as it was: the editor's user has given up. A script may spoil it each time anew.
            let failure = Failure::new(format!("the memory was not saved: {}", said.join(" ")));
            return Err(failure.hint(kept(draft)));
        }
        context.output.note(said.join("\n"));
        if is_asked {
            context.output.note("Press Enter to edit again.");
            let _ = std::io::stdin().read_line(&mut String::new()); // Nothing to wait for at its end.
        }
        tried = Some(bytes);
    };
    ops::save_text(engine, &name, &version, &bytes).map_err(|error| {
        let failure = Failure::from(error);
        let hint = failure.hint.clone().unwrap_or_default();
        failure.hint(format!("{hint} {}", kept(draft)).trim_start().to_owned())
    })
}

/// Keeps the draft, and says where: it may hold what was typed and is nowhere else.
fn kept(draft: Draft) -> String {
    format!("Your draft is kept at {}.", draft.keep().display())
}
