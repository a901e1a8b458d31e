//! The command that makes memories of notes that people wrote by hand.

use serde_json::json;

use crate::cli::args::change::Adopt;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{AdoptedNote, NoteAuthor, ops};

/// Runs `memdir adopt`.
pub fn adopt(context: &mut Context, command: &Adopt) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let folder = engine.live.files_folder();
    let below = |file: &String| {
        let below = std::path::Path::new(file).strip_prefix(&folder);
        below.map_or_else(|_| file.clone(), |below| below.display().to_string())
    };
    let files: Vec<String> = command.files.iter().map(below).collect();
    let config = &context.config;
    let writer = NoteAuthor {
        agent: config.agent.value.clone(),
        user: config.user.value.clone(),
    };
    let adopted = ops::adopt_notes(&engine, &files, &writer, !command.yes)?;
    let path = |name: &str| engine.live.shown_path(name);
    let output = &mut context.output;
    if output.json {
        let note = |note: &AdoptedNote| {
            let mut object = json!({"file": path(&note.name)});
            if command.yes {
                object["new_file"] = json!(path(&note.new_name));
                object["id"] = json!(engine.live.shown_id(&note.stem));
            }
            object
        };
        let left = adopted.left.iter();
        let left = left.map(|(name, reason)| json!({"file": path(name), "reason": reason}));
        output.json(&json!({
            "dry_run": !command.yes,
            "adopted": adopted.notes.iter().map(note).collect::<Vec<_>>(),
            "linking": adopted.linking.iter().map(|name| path(name)).collect::<Vec<_>>(),
            "left": left.collect::<Vec<_>>(),
        }))?;
    } else {
        for note in &adopted.notes {
            let new = match command.yes || note.name == note.new_name {
                true => note.new_name.clone(),
                // The id is drawn when it is done.
                false => note.new_name.replace(note.stem.short(), "…"),
            };
            let (old, new) = (
                output.shown_name(&path(&note.name)),
                output.shown_name(&path(&new)),
            );
            output.line(format!("{old} -> {new}"))?;
        }
        if !adopted.linking.is_empty() {
            let files = match adopted.linking.len() {
                1 => "1 other file".to_owned(),
                count => format!("{count} other files"),
            };
            let verb = if command.yes {
                "followed"
            } else {
                "would follow"
            };
            output.line(format!("links in {files} {verb}"))?;
        }
        for (name, reason) in &adopted.left {
            let said = output.shown_name(&format!("{} stays as it is: {reason}", path(name)));
            output.note(said);
        }
        match (adopted.notes.is_empty(), command.yes) {
            (true, _) => output.note("no note lacks an id or a name"),
            (false, false) => output.note("nothing was done yet; --yes does it"),
            (false, true) => {}
        }
    }
    if command.yes {
        afterwards::after_writing(context, &engine)?;
    }
    Ok(match (adopted.notes.is_empty(), adopted.left.is_empty()) {
        (false, _) => Outcome::Done,
        (true, true) => Outcome::Nothing,
        (true, false) => Outcome::Failed,
    })
}
