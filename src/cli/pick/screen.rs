//! The terminal as a full screen: entered, left for an editor, and given back whatever happens.
//!
//! The picture goes to standard output where that is a terminal. Where it is not, as in `$(memdir pick)`, standard
//! output is the terminal for as long as the screen is open (Unix), so that editors find one, too; then it is what
//! it was, and gets the id.

use std::io::{self, IsTerminal, Stdout, Write};

use base64::Engine as _;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::signals::EndingSignals;

/// A full screen.
pub struct Screen {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
    is_entered: bool,
    /// Held until the screen is closed: a signal gives the terminal back, too.
    _signals: EndingSignals,
    _stdout: StdoutOnTerminal,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or if it cannot be switched to single keys.
    pub fn open() -> Result<Screen, Failure> {
        let stdout = StdoutOnTerminal::make().map_err(failed)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout())).map_err(failed)?;
        let mut screen = Screen {
            terminal,
            is_entered: false,
            _signals: EndingSignals::watch(give_back).map_err(failed)?,
            _stdout: stdout,
        };
        screen.enter()?;
        Ok(screen)
    }

    /// Shows the full screen, empty.
    pub fn enter(&mut self) -> Result<(), Failure> {
        enable_raw_mode().map_err(failed)?;
        self.is_entered = true;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste).map_err(failed)?;
        self.redraw()
    }

    /// Has the next picture draw every cell. The terminal is asked nothing: an answer may be late, or never come.
    pub fn redraw(&mut self) -> Result<(), Failure> {
        let size = self.terminal.size().map_err(failed)?;
        self.terminal.resize(size.into()).map_err(failed)
    }

    /// Gives the terminal back, as it was.
    pub fn leave(&mut self) {
        if !self.is_entered {
            return;
        }
        self.is_entered = false;
        give_back();
    }

    /// Has the terminal put `text` into the clipboard (OSC 52), also over ssh; terminals that do not know it, or do
    /// not allow it, do nothing.
    pub fn copy(&mut self, text: &str) -> Result<(), Failure> {
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        let mut stdout = io::stdout();
        let written = write!(stdout, "\x1b]52;c;{text}\x07").and_then(|()| stdout.flush());
        written.map_err(failed)
    }
}

/// Gives the terminal back. One that is gone needs nothing.
fn give_back() {
    let _ = execute!(
        io::stdout(),
        Show,
        DisableBracketedPaste,
        LeaveAlternateScreen
    );
    let _ = disable_raw_mode();
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Returns whether there is a terminal to read keys from and to draw on.
pub fn has_terminal() -> bool {
    io::stdin().is_terminal() && (io::stdout().is_terminal() || terminal_file().is_ok())
}

pub fn failed(error: io::Error) -> Failure {
    Failure::new("cannot use the terminal").because(error)
}

#[cfg(unix)]
fn terminal_file() -> io::Result<std::fs::File> {
    std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/tty")
}

#[cfg(not(unix))]
fn terminal_file() -> io::Result<std::fs::File> {
    Err(io::ErrorKind::NotFound.into())
}

/// Standard output on the terminal; what it was before comes back when this is dropped.
struct StdoutOnTerminal {
    #[cfg(unix)]
    before: Option<std::os::fd::OwnedFd>,
}

#[cfg(unix)]
impl StdoutOnTerminal {
    fn make() -> io::Result<StdoutOnTerminal> {
        if io::stdout().is_terminal() {
            return Ok(StdoutOnTerminal { before: None });
        }
        let terminal = terminal_file()?;
        let before = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
        rustix::stdio::dup2_stdout(&terminal)?;
        Ok(StdoutOnTerminal {
            before: Some(before),
        })
    }
}

#[cfg(unix)]
impl Drop for StdoutOnTerminal {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = io::stdout().flush();
            let _ = rustix::stdio::dup2_stdout(before); // It was open a moment ago.
        }
    }
}

#[cfg(not(unix))]
impl StdoutOnTerminal {
    fn make() -> io::Result<StdoutOnTerminal> {
        Ok(StdoutOnTerminal {})
    }
}
