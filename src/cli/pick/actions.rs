//! Actions of the picker on memories, by the same operations as the commands.

use super::panes::Pane;
use super::source::{Source, one_line};
use super::state::Picker;
use crate::cli::memories::edit;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::engine::ops;

/// Opens a memory in the user's editor; the terminal must be free.
pub fn edit(context: &Context, source: &Source, id: &str) -> Result<String, Failure> {
    let saved = edit::edited(context, &source.engine, id)?;
    let what = if saved.changed { "saved" } else { "unchanged" };
    let mut said = format!("{what} {id}");
    for warning in saved.screened.warnings() {
        said.push_str(&format!("; warning: {warning}"));
    }
    Ok(one_line(&said))
}

/// Moves a memory to the archive.
pub fn forget(source: &Source, id: &str) -> Result<String, Failure> {
    ops::forget_because(&source.engine, id, None)?;
    Ok(format!("forgot {id}; memdir restore {id} brings it back"))
}

/// Links two memories.
pub fn link(source: &Source, (from, to): (&str, &str), relation: &str) -> Result<String, Failure> {
    let is_new = ops::link(&source.engine, from, to, relation)?;
    Ok(match is_new {
        true => one_line(&format!("{from} {relation} {to}")),
        false => "they are linked already".to_owned(),
    })
}

/// Shows the versions of a memory, with the difference of the newest.
pub fn show_history(
    context: &Context,
    source: &Source,
    picker: &mut Picker,
    (id, headline): (String, String),
) -> Result<(), Failure> {
    let mut pane = source.history(context, id, headline)?;
    pane.difference = source.difference(&pane)?;
    picker.open(Pane::History(pane));
    Ok(())
}

/// Loads the difference of the version that is selected.
pub fn show_difference(source: &Source, picker: &mut Picker) -> Result<(), Failure> {
    if let Pane::History(pane) = &mut picker.pane {
        pane.difference = source.difference(pane)?;
    }
    Ok(())
}

/// Returns a failure as one line.
pub fn as_line(failure: &Failure) -> String {
    let causes = failure.causes.iter().map(|cause| format!(": {cause}"));
    let hint = failure.hint.iter().map(|hint| format!(". {hint}"));
    let text: String = std::iter::once(failure.what.clone())
        .chain(causes)
        .chain(hint)
        .collect();
    one_line(&text)
}
