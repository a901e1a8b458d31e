//! The user's editor, on a draft.

use std::path::Path;
use std::process::Command;

use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;

/// The fallback where neither setting nor environment names an editor.
const DEFAULT_EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Runs the editor and waits for it. Its setting is split as a shell would, without a shell.
pub fn open_editor(context: &Context, draft: &Path) -> Result<(), Failure> {
    let setting = &context.config.editor;
    let line = setting
        .value
        .clone()
        .unwrap_or_else(|| DEFAULT_EDITOR.to_owned());
    let words = shlex::split(&line)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| {
            Failure::new(format!(
                "cannot read the editor setting `{line}` ({})",
                setting.origin
            ))
        })?;
    let status = Command::new(&words[0])
        .args(&words[1..])
        .arg(draft)
        .status()
        .map_err(|error| {
            Failure::new(format!("cannot start the editor `{}`", words[0]))
                .because(error)
                .hint("Set VISUAL or EDITOR to one that is installed.")
        })?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the editor `{}` ended with {status}; nothing was saved",
        words[0]
    )))
}
