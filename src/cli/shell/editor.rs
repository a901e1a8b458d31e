//! The line editor of the shell: keys, a history that outlives it, completion.
//!
//! The history lies in the user's own folder for state, readable by the user alone; a line that begins
//! with a blank is not kept.

use std::path::{Path, PathBuf};

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

use super::completer::LineCompleter;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::NAME;

/// Lines that are kept.
const KEPT: usize = 1_000;
/// The history's name in the folder for state.
const HISTORY: &str = "shell-history";

/// An editor of lines on the terminal.
pub struct LineEditor {
    editor: Editor<LineCompleter, FileHistory>,
    history: Option<PathBuf>,
}

impl LineEditor {
    /// Opens an editor whose history lies in `folder`; without one it is forgotten at the end.
    pub fn open(folder: Option<&Path>) -> Result<LineEditor, Failure> {
        let config = Config::builder()
            .auto_add_history(true)
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .max_history_size(KEPT)
            .map_err(failed)?
            .build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(LineCompleter));
        let history = folder.and_then(|folder| {
            let made = crate::files::create_private_folder(folder);
            made.is_ok().then(|| folder.join(HISTORY))
        });
        if let Some(history) = history.as_ref().filter(|history| history.exists())
            && let Err(error) = editor.load_history(history)
        {
            tracing::warn!("the history {} is not read: {error}", history.display());
        }
        Ok(LineEditor { editor, history })
    }

    /// Reads a line; `None` at the end of the input.
    pub fn line(&mut self) -> Result<Option<String>, Failure> {
        let plain = "memdir> ".to_owned();
        let coloured = format!("{NAME}memdir>{NAME:#} ");
        loop {
            match self.editor.readline(&(plain.clone(), coloured.clone())) {
                Ok(line) => {
                    self.keep();
                    return Ok(Some(line));
                }
                // Ctrl-C takes back what was typed.
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Adds the last line to the history's file.
    fn keep(&mut self) {
        let Some(history) = &self.history else {
            return;
        };
        if let Err(error) = self.editor.append_history(history) {
            tracing::warn!("the history {} is not kept: {error}", history.display());
            self.history = None;
        }
    }
}

fn failed(error: ReadlineError) -> Failure {
    Failure::new("cannot read a line from the terminal").because(error)
}
