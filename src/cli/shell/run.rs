//! The loop of the shell: a line, its answer, the next line.

use std::io::{self, IsTerminal};

use clap::FromArgMatches;

use super::editor::LineEditor;
use super::line::{self, COMMANDS, Line};
use crate::cli::args::setup::As;
use crate::cli::args::{self, Args, Command};
use crate::cli::complete;
use crate::cli::programs;
use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{BOLD, Color};
use crate::cli::terminal::prose::wrapped;
use crate::cli::wiring::context::{Context, Outcome};
use crate::config::{Config, Flags};

/// Runs one of memdir's own commands.
type Perform = fn(&mut Context, Command) -> Result<Outcome, Failure>;

/// Width of the text that `help` shows.
const WIDTH: usize = 100;

/// A shell on one store.
struct Shell<'a> {
    context: &'a mut Context,
    flags: &'a Flags,
    perform: Perform,
    /// The words of memdir's command line, laid out once.
    words: clap::Command,
    /// Every answer is JSON.
    json: bool,
}

/// Answers commands until there are no more, or one is `quit`. `flags` are those that the shell was
/// started with.
pub fn shell(context: &mut Context, flags: &Flags, perform: Perform) -> Result<Outcome, Failure> {
    context.keep_open()?;
    let json = context.output.json;
    let mut shell = Shell {
        context,
        flags,
        perform,
        words: args::command(),
        json,
    };
    match io::stdin().is_terminal() && shell.context.output.is_terminal {
        true => shell.talk(),
        false => shell.follow(),
    }
}

impl Shell<'_> {
    /// Answers a person at a terminal.
    fn talk(&mut self) -> Result<Outcome, Failure> {
        complete::answer_about(&self.context.config.store.value);
        let mut editor = LineEditor::open(self.context.environment.state_folder.as_deref())?;
        let output = &mut self.context.output;
        output.note("memdir shell — `help` shows the commands, `quit` or Ctrl-D ends it");
        while let Some(line) = editor.line()? {
            match self.answer(&line) {
                Ok(None) => break,
                Ok(Some(_)) => {}
                Err(failure) => self.context.output.error(&failure),
            }
            self.context.output.flush()?;
        }
        Ok(Outcome::Done)
    }

    /// Answers the lines of a pipe or a file, and ends as the worst of them did.
    fn follow(&mut self) -> Result<Outcome, Failure> {
        let (mut has_failed, mut has_missed) = (false, false);
        for number in 1.. {
            let mut line = String::new();
            // The lock is not held in between: a command may read what follows.
            let read = io::stdin().read_line(&mut line);
            let read = read.map_err(|error| {
                Failure::new(format!("cannot read line {number}")).because(error)
            })?;
            if read == 0 || self.context.output.reader_is_gone() {
                break;
            }
            match self.answer(&line) {
                Ok(None) => break,
                Ok(Some(outcome)) => {
                    has_missed |= outcome == Outcome::Nothing;
                    has_failed |= outcome == Outcome::Failed
                        || matches!(outcome, Outcome::Code(code) if code > 0);
                }
                Err(mut failure) => {
                    failure.what = format!("line {number}: {}", failure.what);
                    self.context.output.flush()?;
                    self.context.output.error(&failure);
                    has_failed = true;
                }
            }
            self.context.output.flush()?;
        }
        Ok(match (has_failed, has_missed) {
            (true, _) => Outcome::Failed,
            (false, true) => Outcome::Nothing,
            (false, false) => Outcome::Done,
        })
    }

    /// Answers one line; `None` ends the shell.
    fn answer(&mut self, line: &str) -> Result<Option<Outcome>, Failure> {
        let outcome = match line::read(line)? {
            Line::Nothing => Outcome::Done,
            Line::Quit => return Ok(None),
            Line::Help => self.help()?,
            Line::AiMemory(command) => programs::perform(self.context, &command)?,
            Line::Memdir(words) => {
                let words = words.into_iter().map(Into::into).collect();
                let outcome = self.command(words);
                self.context.output.json = self.json;
                outcome?
            }
        };
        Ok(Some(outcome))
    }

    /// Runs a line of memdir's own command line.
    fn command(&mut self, words: Vec<std::ffi::OsString>) -> Result<Outcome, Failure> {
        let words = std::iter::once("memdir".into()).chain(words);
        let parsed = self.words.try_get_matches_from_mut(words);
        let parsed = parsed.and_then(|matches| Args::from_arg_matches(&matches));
        let line = match parsed {
            Ok(line) => line,
            Err(error) => return self.not_taken(&error),
        };
        let is_bent = line.store.is_some() || line.read_only || line.color != Color::Auto;
        if is_bent || line.raw {
            return Err(Failure::new(
                "--store, --read-only, --color and --raw hold for a whole shell",
            )
            .hint("Give them to `memdir shell` itself."));
        }
        self.context.output.json |= line.json;
        match line.command {
            None => Err(Failure::new("no command is given").hint("`help` shows them.")),
            Some(Command::As(As::Line(words))) => self.command_of(&words),
            Some(
                Command::Mcp(_)
                | Command::Serve(_)
                | Command::Open(_)
                | Command::Hook(_)
                | Command::Shell
                | Command::Git(_),
            ) => Err(Failure::new("that command takes the terminal for itself")
                .hint("Call it outside of the shell.")),
            Some(command) => {
                let is_bent = changes_settings(&command);
                let done = (self.perform)(self.context, command);
                if is_bent || !self.context.is_open() {
                    self.context.config = Config::read(self.flags, &self.context.environment)?;
                    self.context.keep_open()?;
                }
                done
            }
        }
    }

    /// Runs a line of another program.
    fn command_of(&mut self, words: &[std::ffi::OsString]) -> Result<Outcome, Failure> {
        match programs::read(words, &|_| None, &self.context.environment.folder)? {
            programs::Line::Shown(code) => Ok(Outcome::Code(code)),
            programs::Line::Memdir(words) => self.command(words),
            programs::Line::AiMemory(line) if line.store.is_some() => {
                Err(Failure::new("--db holds for a whole shell"))
            }
            programs::Line::AiMemory(line) => {
                self.context.output.json |= line.json;
                programs::perform(self.context, &line.command)
            }
        }
    }

    /// Shows what clap has to say instead of a command: a help text, or what is wrong with the line.
    fn not_taken(&mut self, error: &clap::Error) -> Result<Outcome, Failure> {
        let text = error.render().to_string();
        if error.use_stderr() {
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            return Err(Failure::new(text.trim_end()));
        }
        self.context.output.bytes(text.as_bytes())?;
        Ok(Outcome::Done)
    }

    fn help(&mut self) -> Result<Outcome, Failure> {
        let output = &mut self.context.output;
        for (names, takes, does) in COMMANDS {
            let name = format!("{} {takes}", names[0]);
            let short = match names {
                [_, short @ ..] if !short.is_empty() => format!(" ({})", short.join(", ")),
                _ => String::new(),
            };
            output.line(format!("  {BOLD}{name:<20}{BOLD:#} {does}{short}"))?;
        }
        let names = self.words.get_subcommands();
        let names = names.map(clap::Command::get_name);
        let names: Vec<&str> = names
            .filter(|name| line::own_name(name).is_none())
            .collect();
        output.line(format!(
            "\nAnd every command of memdir; with an option, the names above mean memdir's own:\n{}",
            wrapped(&names.join(", "), WIDTH, "  ")
        ))?;
        Ok(Outcome::Done)
    }
}

/// Returns whether a command may change the settings, or put other files in the place of the store's.
fn changes_settings(command: &Command) -> bool {
    matches!(
        command,
        Command::Init(_)
            | Command::Config { .. }
            | Command::Trust(_)
            | Command::Model(_)
            | Command::Layout(_)
            | Command::Reset(_)
            | Command::Sync(_)
    )
}
