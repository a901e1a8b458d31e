//! Questions that one key answers: the terminal takes single keys, and shows none of them, from before the first
//! question until after the last. A key that is pressed between two questions is an answer to the second.

use std::io;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use super::fail::Failure;
use super::signals::EndingSignals;

/// The terminal, taking single keys until this is dropped. Lines are written as before.
pub struct Keys {
    mode: SingleKeys,
    /// A signal gives the terminal back, too.
    _signals: EndingSignals,
}

impl Keys {
    /// Has the terminal on standard input take single keys.
    ///
    /// # Errors
    ///
    /// Fails if standard input is no terminal.
    pub fn take() -> Result<Keys, Failure> {
        let mode = SingleKeys::enter().map_err(failed)?;
        let before = mode.clone();
        let signals = EndingSignals::watch(move || before.leave()).map_err(failed)?;
        Ok(Keys {
            mode,
            _signals: signals,
        })
    }

    /// Waits for a key, and returns its letter in lower case; Escape, Ctrl-C and Ctrl-D are `q`, Enter is `\n`.
    ///
    /// # Errors
    ///
    /// Fails if the terminal is gone.
    pub fn next(&mut self) -> Result<char, Failure> {
        loop {
            let Event::Key(key) = event::read().map_err(failed)? else {
                continue;
            };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
            return Ok(match key.code {
                KeyCode::Esc => 'q',
                KeyCode::Char('c' | 'd') if is_control => 'q',
                KeyCode::Enter => '\n',
                KeyCode::Char(letter) if !is_control => letter.to_ascii_lowercase(),
                _ => continue,
            });
        }
    }

    /// Gives the terminal back while `act` runs.
    ///
    /// # Errors
    ///
    /// Passes on the error of `act`, and fails if the terminal is gone afterwards.
    pub fn without<T>(&mut self, act: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.mode.leave();
        let done = act();
        self.mode.enter_again().map_err(failed)?;
        done
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.mode.leave();
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::new("cannot read a key").because(error)
}

/// The mode of the terminal that delivers each key at once and shows none; lines are ended as before, unlike in raw
/// mode, and Ctrl-C interrupts.
#[cfg(unix)]
#[derive(Clone)]
struct SingleKeys {
    before: rustix::termios::Termios,
}

#[cfg(unix)]
impl SingleKeys {
    fn enter() -> io::Result<SingleKeys> {
        let before = rustix::termios::tcgetattr(io::stdin())?;
        let entered = SingleKeys { before };
        entered.enter_again()?;
        Ok(entered)
    }

    fn enter_again(&self) -> io::Result<()> {
        use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcsetattr};
        let mut mode = self.before.clone();
        mode.local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON);
        mode.special_codes[SpecialCodeIndex::VMIN] = 1;
        mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(tcsetattr(io::stdin(), OptionalActions::Drain, &mode)?)
    }

    /// A terminal that is gone needs nothing.
    fn leave(&self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
    }
}

/// Elsewhere keys are read as events, which are never shown.
#[cfg(not(unix))]
#[derive(Clone)]
struct SingleKeys;

#[cfg(not(unix))]
impl SingleKeys {
    fn enter() -> io::Result<SingleKeys> {
        Ok(SingleKeys)
    }

    fn enter_again(&self) -> io::Result<()> {
        Ok(())
    }

    fn leave(&self) {}
}
