//! The loop of the picker: an event, the state's answer, the screen.

use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::draw::{self, Look};
use super::panes::Pane;
use super::screen::{Screen, failed, has_terminal};
use super::source::{Source, one_line};
use super::state::{Effect, Picker, Purpose, Row};
use super::{actions, plain};
use crate::cli::args::Command;
use crate::cli::args::history::Log;
use crate::cli::args::search::Pick;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, ops};
use crate::model::Filter;

/// Time between looks at the store while no key is pressed: what others write appears.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The same while the folder is compared with the index.
const COMPARING: Duration = Duration::from_millis(20);

/// Runs `memdir pick`.
pub fn pick(context: &mut Context, command: &Pick) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let base = command.filters.filter(context, &engine)?;
    let picker = Picker::new(Purpose::Print, &command.words.join(" "));
    let chosen = choose(context, &engine, picker, base, command.plain)?;
    for id in &chosen {
        context.output.line(id)?;
    }
    Ok(Outcome::found(!chosen.is_empty()))
}

/// Asks a person at a terminal for the memory that a command needs and its line does not name. `None` where nothing
/// was chosen.
///
/// # Errors
///
/// Fails with a hint at other commands if a memory is missing and there is no terminal.
pub fn when_unnamed(context: &mut Context, command: Command) -> Result<Option<Command>, Failure> {
    let mut command = command;
    let purpose = match &command {
        Command::Edit(edit) if edit.id.is_none() => Purpose::Command("edit"),
        Command::Recall(recall) if recall.ids.is_empty() => Purpose::Command("recall"),
        Command::Diff(diff) if diff.id.is_none() => Purpose::Command("diff"),
        // Conditions describe the memories, and without a terminal `forget` says what it wants.
        Command::Forget(forget) if forget.is_undescribed() && has_terminal() => Purpose::Forget,
        Command::Link(link) if link.from.is_none() => Purpose::LinkFrom,
        Command::Link(link) if link.to.is_none() => Purpose::LinkTo,
        _ => return Ok(Some(command)),
    };
    if context.output.json {
        return Err(no_terminal(purpose));
    }
    let engine = context.engine()?;
    let picker = Picker::new(purpose, "");
    let chosen = choose(context, &engine, picker, Filter::default(), false)?;
    let mut ids = chosen.into_iter();
    let Some(first) = ids.next() else {
        return Ok(None);
    };
    match &mut command {
        Command::Edit(edit) => edit.id = Some(first),
        Command::Recall(recall) => recall.ids.push(first),
        Command::Diff(diff) => diff.id = Some(first),
        Command::Forget(forget) => forget.named.push(first),
        Command::Link(link) if link.from.is_some() => link.to = Some(first),
        Command::Link(link) => (link.from, link.to) = (Some(first), ids.next()),
        _ => {}
    }
    Ok(Some(command))
}

/// Shows the versions of the memory that `memdir log` names on the whole screen, with their differences. False
/// where there is no terminal for that, or no version: the command prints lines then.
pub fn show_versions(context: &mut Context, command: &Log) -> Result<bool, Failure> {
    let Some(id) = command.id.as_ref().filter(|_| command.is_of_one()) else {
        return Ok(false);
    };
    let has_screen = context.output.is_terminal && has_terminal() && !is_plain();
    if context.output.json || !has_screen {
        return Ok(false);
    }
    let engine = context.engine()?;
    let source = Source::new(engine.clone(), Filter::default());
    let mut picker = Picker::new(Purpose::Versions, "");
    let headline = ops::recall_one(&engine, id).map(|(memory, _)| one_line(memory.headline()));
    let of = (id.clone(), headline.unwrap_or_default());
    actions::show_history(context, &source, &mut picker, of)?;
    if !matches!(&picker.pane, Pane::History(pane) if !pane.versions.is_empty()) {
        return Ok(false);
    }
    context.output.flush()?;
    let mut session = Session::open(context, source, picker)?;
    session.run_pane()?;
    drop(session);
    afterwards::settle(&engine);
    Ok(true)
}

/// Returns whether the terminal can only take lines.
fn is_plain() -> bool {
    cfg!(unix) && std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}

fn no_terminal(purpose: Purpose) -> Failure {
    let what = match purpose {
        Purpose::Print => "there is no terminal to pick a memory on",
        _ => "no memory is named, and there is no terminal to pick one on",
    };
    Failure::new(what)
        .hint("Name its id: `memdir list` and `memdir think WORDS` print ids for scripts.")
}

/// Lets a person choose; without ids nothing was chosen.
fn choose(
    context: &mut Context,
    engine: &Engine,
    picker: Picker,
    base: Filter,
    as_lines: bool,
) -> Result<Vec<String>, Failure> {
    if !has_terminal() {
        return Err(no_terminal(picker.purpose));
    }
    context.output.flush()?;
    let source = Source::new(engine.clone(), base);
    let (chosen, has_written) = if as_lines || is_plain() {
        plain::choose(context, source, picker)?
    } else {
        let mut session = Session::open(context, source, picker)?;
        (session.run()?, session.has_written)
    };
    if has_written {
        afterwards::after_writing(context, engine)?;
    }
    Ok(chosen)
}

/// A picker on a full screen.
struct Session<'a> {
    context: &'a Context,
    source: Source,
    picker: Picker,
    screen: Screen,
    /// Something was typed that the rows do not show yet.
    needs_rows: bool,
    has_written: bool,
}

impl<'a> Session<'a> {
    /// Takes the terminal.
    fn open(context: &'a Context, source: Source, picker: Picker) -> Result<Session<'a>, Failure> {
        let screen = Screen::open()?;
        // The first look for events installs the handler of SIGWINCH: no change of size is missed after it.
        event::poll(Duration::ZERO).map_err(failed)?;
        Ok(Session {
            context,
            source,
            picker,
            screen,
            needs_rows: true,
            has_written: false,
        })
    }

    /// Answers keys until the pane over the list is closed; the list is never asked for.
    fn run_pane(&mut self) -> Result<(), Failure> {
        while !matches!(self.picker.pane, Pane::List) {
            self.lay_out()?;
            self.needs_rows = false;
            self.draw()?;
            let event = event::read().map_err(failed)?;
            self.take(&event)?;
        }
        Ok(())
    }

    /// Answers keys until a memory is chosen, or none.
    fn run(&mut self) -> Result<Vec<String>, Failure> {
        self.lay_out()?;
        self.load_rows();
        self.draw()?;
        // Not before the first list: it would share the processor with it.
        self.source.compare();
        loop {
            let pause = match self.source.is_comparing() {
                true => COMPARING,
                false => LOOK_AGAIN,
            };
            if !event::poll(pause).map_err(failed)? {
                if !self.source.is_comparing() || self.source.compared_now() {
                    self.look_again();
                    self.draw()?;
                }
                continue;
            }
            // All that was typed meanwhile is answered by one search.
            while event::poll(Duration::ZERO).map_err(failed)? {
                let event = event::read().map_err(failed)?;
                if let Some(ids) = self.take(&event)? {
                    return Ok(ids);
                }
            }
            if self.needs_rows {
                self.load_rows();
            }
            self.draw()?;
        }
    }

    /// Applies an event; `Some` ends the picker.
    fn take(&mut self, event: &Event) -> Result<Option<Vec<String>>, Failure> {
        let effect = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                if self.needs_rows && !is_letter(*key) {
                    self.load_rows();
                }
                self.picker.press(*key)
            }
            Event::Paste(text) => self.picker.paste(text),
            Event::Resize(..) => {
                self.lay_out()?;
                Effect::None
            }
            _ => Effect::None,
        };
        self.perform(effect)
    }

    fn perform(&mut self, effect: Effect) -> Result<Option<Vec<String>>, Failure> {
        let done = match effect {
            Effect::None => return Ok(None),
            Effect::Finish(ids) => return Ok(Some(ids)),
            Effect::Redraw => {
                self.screen.redraw()?;
                return Ok(None);
            }
            Effect::Search => {
                self.needs_rows = true;
                return Ok(None);
            }
            Effect::Copy(id) => self.screen.copy(&id).map(|()| format!("copied {id}")),
            Effect::Edit(id) => {
                self.screen.leave();
                let edited = actions::edit(self.context, &self.source, &id);
                self.screen.enter()?;
                self.lay_out()?;
                self.has_written |= edited.is_ok();
                edited
            }
            Effect::Forget(id) => self.written(|source| actions::forget(source, &id)),
            Effect::Link { from, to, relation } => {
                self.written(|source| actions::link(source, (&from, &to), &relation))
            }
            Effect::Values(field) => {
                let values = self.source.values(field).map_err(Failure::from);
                return Ok(self.shown(values, |picker, values| {
                    picker.open(Pane::Values(values));
                }));
            }
            Effect::History { id, headline } => {
                let of = (id, headline);
                let shown = actions::show_history(self.context, &self.source, &mut self.picker, of);
                return Ok(self.shown(shown, |_, ()| {}));
            }
            Effect::Difference => {
                let shown = actions::show_difference(&self.source, &mut self.picker);
                return Ok(self.shown(shown, |_, ()| {}));
            }
        };
        self.look_again();
        self.picker.said = Some(done.unwrap_or_else(|failure| actions::as_line(&failure)));
        Ok(None)
    }

    /// Does something that writes.
    fn written(
        &mut self,
        act: impl FnOnce(&Source) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        let done = act(&self.source);
        self.has_written |= done.is_ok();
        done
    }

    /// Shows what was loaded, or says why it was not.
    fn shown<T>(
        &mut self,
        loaded: Result<T, Failure>,
        show: impl FnOnce(&mut Picker, T),
    ) -> Option<Vec<String>> {
        match loaded {
            Ok(loaded) => show(&mut self.picker, loaded),
            Err(failure) => {
                self.picker.close();
                self.picker.said = Some(actions::as_line(&failure));
            }
        }
        None
    }

    /// Takes the size of the screen.
    fn lay_out(&mut self) -> Result<(), Failure> {
        let size = self.screen.terminal.size().map_err(failed)?;
        let height = draw::rows_that_fit(size.width, size.height);
        self.needs_rows |= self.picker.resize(height);
        Ok(())
    }

    fn load_rows(&mut self) {
        self.needs_rows = false;
        match self.page() {
            Ok((rows, total)) => self.picker.show(rows, total),
            Err(failure) => self.picker.said = Some(actions::as_line(&failure)),
        }
        if self.picker.resize(self.picker.height) {
            // Fewer memories match than the window began at.
            if let Ok((rows, total)) = self.page() {
                self.picker.show(rows, total);
            }
        }
    }

    /// Shows what the store holds now, with the same memory selected.
    fn look_again(&mut self) {
        if let Ok((rows, total)) = self.page() {
            self.picker.show_again(rows, total);
        }
    }

    fn page(&self) -> Result<(Vec<Row>, usize), Failure> {
        let window = (self.picker.top, self.picker.height);
        self.source.page(self.context, &self.picker.asked(), window)
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let look = Look::of(&self.picker);
        let picker = &mut self.picker;
        let drawn = self
            .screen
            .terminal
            .draw(|frame| draw::draw(frame, picker, &look));
        drawn.map(drop).map_err(failed)
    }
}

/// Returns whether a key only adds to what is typed.
fn is_letter(key: KeyEvent) -> bool {
    let modifiers = key.modifiers.difference(KeyModifiers::SHIFT);
    matches!(key.code, KeyCode::Char(letter) if letter != '?') && modifiers.is_empty()
}
