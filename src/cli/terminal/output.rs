//! Output of answers, with texts from memories made safe for a terminal.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{BufWriter, IsTerminal, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, io};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use crate::cli::terminal::fail::Failure;
use crate::dialect::json::to_object;
use crate::dialect::views::MemoryView;
use crate::engine::{Quarantined, Screened};

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Standard output, with what is to be known about it.
pub struct Output {
    stream: Rc<RefCell<BufWriter<AutoStream<io::Stdout>>>>,
    pub json: bool,
    /// Somebody looks at it: a terminal.
    pub is_terminal: bool,
    /// Colours are wanted; by default on terminals.
    pub is_coloured: bool,
    /// Control characters in texts are shown, not sent.
    escapes: bool,
    reader_is_gone: Rc<RefCell<bool>>,
}

/// A style of standard output, written as `{ID}` and ended by `{ID:#}`; nothing where colours are
/// not wanted. So whatever else looks like a colour is part of a memory, and stays.
#[derive(Debug, Clone, Copy)]
pub struct Paint(Style);

static IS_COLOURED: AtomicBool = AtomicBool::new(false);

impl fmt::Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if IS_COLOURED.load(Ordering::Relaxed) {
            return self.0.fmt(f);
        }
        Ok(())
    }
}

pub const PLAIN: Paint = Paint(Style::new());
pub const BOLD: Paint = Paint(Style::new().bold());
pub const DIM: Paint = Paint(Style::new().dimmed());
pub const ID: Paint = Paint(AnsiColor::Yellow.on_default());
pub const ADDED: Paint = Paint(AnsiColor::Green.on_default());
pub const REMOVED: Paint = Paint(AnsiColor::Red.on_default());
// Names of places, such as namespaces; tiers.
pub const NAME: Paint = Paint(AnsiColor::Cyan.on_default());
pub const SHORT: Paint = Paint(AnsiColor::Red.on_default());
pub const MID: Paint = Paint(AnsiColor::Yellow.on_default());
pub const LONG: Paint = Paint(AnsiColor::Green.on_default());
pub const MATCH: Paint = Paint(AnsiColor::Red.on_default().bold());

// Styles of standard error, which `anstream` takes out again where it is no terminal.
const ERROR: Style = AnsiColor::Red.on_default().bold();
const CAUSE: Style = Style::new().dimmed();
const HINT: Style = Style::new().bold();

impl Output {
    pub fn new(json: bool, color: Color, raw: bool) -> Output {
        match color {
            Color::Auto => {}
            Color::Always => ColorChoice::Always.write_global(),
            Color::Never => ColorChoice::Never.write_global(),
        }
        let is_terminal = io::stdout().is_terminal();
        let is_coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        IS_COLOURED.store(is_coloured, Ordering::Relaxed);
        // Without colours nothing is taken out either: `anstream` would remove from contents what
        // looks like a colour, and bytes that are not UTF-8.
        let stream = if is_coloured {
            AutoStream::always(io::stdout())
        } else {
            AutoStream::always_ansi(io::stdout())
        };
        Output {
            stream: Rc::new(RefCell::new(BufWriter::new(stream))),
            json,
            is_terminal,
            is_coloured,
            escapes: is_terminal && !raw,
            reader_is_gone: Rc::default(),
        }
    }

    /// Returns whether somebody sits at a terminal who reads this and can answer by keys.
    pub fn is_asked(&self) -> bool {
        !self.json && self.is_terminal && io::stdin().is_terminal()
    }

    /// Returns the same output under another owner.
    pub fn share(&self) -> Output {
        Output {
            stream: Rc::clone(&self.stream),
            reader_is_gone: Rc::clone(&self.reader_is_gone),
            ..*self
        }
    }

    /// Writes one line. A reader that has gone away, such as `head`, is no error: what follows is
    /// not written any more.
    pub fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.bytes(text.as_ref().as_bytes())
            .and_then(|()| self.bytes(b"\n"))
    }

    /// Writes a table of names and values, a line each.
    pub fn rows(&mut self, rows: &[(&str, String)]) -> io::Result<()> {
        for (name, value) in rows {
            let value = self.shown(value);
            self.line(format!("{BOLD}{name:>9}{BOLD:#}  {value}"))?;
        }
        Ok(())
    }

    /// Writes what is no line. Whatever it is, a terminal gets nothing to obey but our own colours:
    /// what a caller forgot to have [`Output::shown`] is shown here.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.reader_is_gone() {
            return Ok(());
        }
        let written = if self.escapes {
            let text = String::from_utf8_lossy(bytes);
            self.stream
                .borrow_mut()
                .write_all(guarded(&text).as_bytes())
        } else {
            self.stream.borrow_mut().write_all(bytes)
        };
        self.forgive(written)
    }

    /// Writes one document, on terminals over several lines.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = match self.is_terminal {
            true => serde_json::to_string_pretty(value),
            false => serde_json::to_string(value),
        };
        self.json_text(text?)
    }

    /// Writes one document over several lines, wherever it goes.
    pub fn json_lines(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.json_text(serde_json::to_string_pretty(value)?)
    }

    /// Writes one document on one line.
    pub fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.json_text(serde_json::to_string(value)?)
    }

    fn json_text(&mut self, text: String) -> io::Result<()> {
        let text = if self.escapes { escaped(&text) } else { text };
        self.line(text)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stream.borrow_mut().flush();
        self.forgive(flushed)
    }

    fn forgive(&mut self, result: io::Result<()>) -> io::Result<()> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                *self.reader_is_gone.borrow_mut() = true;
                Ok(())
            }
            other => other,
        }
    }

    pub fn reader_is_gone(&self) -> bool {
        *self.reader_is_gone.borrow()
    }

    /// Says something to the person beside the answer. Lines go out with their end in one piece: what a person types
    /// or another program writes meanwhile stands before or after them.
    pub fn note(&self, text: impl AsRef<str>) {
        let lines = format!("{}\n", guarded(text.as_ref()));
        let _ = anstream::stderr().write_all(lines.as_bytes());
    }

    /// Asks a question on the terminal; returns whether the answer, a line, is yes.
    ///
    /// # Errors
    ///
    /// Fails if standard input cannot be read.
    pub fn is_agreed(&self, question: &str) -> io::Result<bool> {
        self.note(question);
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Tells of the credentials in what was written, a line each.
    pub fn warnings(&self, screened: &Screened) {
        for warning in screened.warnings() {
            self.note(format!("warning: {warning}"));
        }
    }

    /// Tells what is not committed because of what it holds, a line each.
    pub fn held_back(&self, held_back: &[Quarantined]) {
        for one in held_back {
            self.note(format!("not committed: {}", visible(&one.to_string())));
        }
        if held_back.iter().any(Quarantined::is_unmerged) {
            self.note(
                "`memdir resolve ID` makes one memory of both sides, or two where they contradict.",
            );
        }
        let is_credential = |one: &Quarantined| !one.is_unmerged() && !one.is_untaken();
        let (beside, memories): (Vec<&Quarantined>, Vec<&Quarantined>) = held_back
            .iter()
            .filter(|one| is_credential(one))
            .partition(|one| one.is_beside());
        if !memories.is_empty() {
            self.note("`memdir redact ID` takes it out of the memory; `memdir allow ID` says that it may be sent.");
        }
        for one in beside {
            let file = visible(&one.file);
            self.note(format!("{file} is no memory: take it out of the file."));
        }
    }

    /// Shows an error: to people, and with `--json` to the script too.
    pub fn error(&mut self, failure: &Failure) {
        let mut text = format!("{ERROR}error:{ERROR:#} {}", visible(&failure.what));
        for cause in &failure.causes {
            let _ = write!(text, "\n{CAUSE}cause:{CAUSE:#} {}", visible(cause));
        }
        if let Some(hint) = &failure.hint {
            let _ = write!(text, "\n{HINT}hint:{HINT:#} {}", visible(hint));
        }
        self.note(text);
        if self.json {
            let _ = self.json(&serde_json::json!({
                "error": failure.what, "causes": failure.causes, "hint": failure.hint,
            }));
            let _ = self.flush();
        }
    }

    /// Returns a text from a memory, safe for the output: control characters are made visible on a terminal.
    pub fn shown(&self, text: &str) -> String {
        if self.escapes {
            visible(text)
        } else {
            text.to_owned()
        }
    }

    /// Returns the fields of a memory but its content, each with its value on one line.
    pub fn fields(&self, memory: &MemoryView<'_>) -> Vec<(String, String)> {
        let mut fields = to_object(memory);
        fields.shift_remove("content");
        let line = |(key, value)| {
            let text = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            (key, self.shown(&text.replace('\n', " ")))
        };
        fields.into_iter().map(line).collect()
    }

    /// Returns a file's name as part of a line: a line break in it is none here.
    pub fn shown_name(&self, name: &str) -> String {
        self.shown(&name.replace('\n', "\\n"))
    }

    /// Returns the age of `at` on a terminal; else `written`.
    pub fn age(&self, at: DateTime<Utc>, now: DateTime<Utc>, written: &str) -> String {
        if self.is_terminal {
            age(at, now)
        } else {
            written.to_owned()
        }
    }
}

/// Replaces what moves cursors, changes titles or turns text around by its name.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if !is_obeyed(character) {
            shown.push(character);
        } else if (character as u32) < 0x100 {
            let _ = write!(shown, "\\x{:02x}", character as u32);
        } else {
            let _ = write!(shown, "\\u{{{:x}}}", character as u32);
        }
    }
    shown
}

/// The escape sequences of our own styles and of the log's. None of them hides or moves text, so a
/// memory that holds one gains nothing by it.
const OURS: [&str; 10] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[35m",
    "\x1b[36m", "\x1b[3m",
];

/// As [`visible`], but for our own colours.
pub fn guarded(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        shown.push_str(&visible(&rest[..at]));
        let ours = OURS.iter().find(|style| rest[at..].starts_with(**style));
        let style = ours.map_or("\x1b", |style| *style);
        match ours {
            Some(style) => shown.push_str(style),
            None => shown.push_str(&visible(style)),
        }
        rest = &rest[at + style.len()..];
    }
    shown.push_str(&visible(rest));
    Cow::Owned(shown)
}

/// As [`visible`], in the words of JSON; a reader gets the same values.
fn escaped(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if is_obeyed(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Returns whether a terminal would do something else with a character than draw it.
fn is_obeyed(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// Returns a moment as people say it, such as `2h ago`.
pub fn age(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let seconds = (now - at).num_seconds();
    let (amount, is_past) = (seconds.unsigned_abs(), seconds >= 0);
    let (count, unit) = match amount {
        0..60 if is_past => return "just now".to_owned(),
        0..3_600 => (amount / 60, "min"),
        3_600..86_400 => (amount / 3_600, "h"),
        86_400..1_209_600 => (amount / 86_400, "d"),
        1_209_600..5_184_000 => (amount / 604_800, "wk"),
        5_184_000..63_072_000 => (amount / 2_592_000, "mo"),
        _ => (amount / 31_536_000, "yr"),
    };
    let gap = if unit.len() > 1 { " " } else { "" };
    if is_past {
        format!("{count}{gap}{unit} ago")
    } else {
        format!("in {count}{gap}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_given_what_it_would_obey() {
        let hostile = "\x1b]52;c;x\x07 \u{9b}2J \u{202e}abc\u{2069} a\tb\n\u{e0041}";
        let shown = visible(hostile);
        assert!(
            shown
                .chars()
                .all(|c| !c.is_control() || c == '\n' || c == '\t'),
            "{shown}"
        );
        assert_eq!(
            shown,
            "\\x1b]52;c;x\\x07 \\x9b2J \\u{202e}abc\\u{2069} a\tb\n\\u{e0041}"
        );
    }

    #[test]
    fn our_own_styles_pass_and_nothing_else_does() {
        for style in [
            PLAIN.0, BOLD.0, DIM.0, ID.0, ADDED.0, REMOVED.0, MATCH.0, NAME.0, SHORT.0, MID.0,
            LONG.0, ERROR, CAUSE, HINT,
        ] {
            let text = format!("{style}id{style:#}");
            assert_eq!(guarded(&text), text);
        }
        let check = |text: &str, shown: &str| assert_eq!(guarded(text), shown);
        check(
            "\x1b[33mid\x1b]0;x\x07\x1b[0m",
            "\x1b[33mid\\x1b]0;x\\x07\x1b[0m",
        );
        check("\x1b[8mhidden\x1b[0m", "\\x1b[8mhidden\x1b[0m");
        check("\x1b[33;8m \u{202e} \x1b", "\\x1b[33;8m \\u{202e} \\x1b");
    }

    #[test]
    fn escaped_json_is_the_same_document() {
        let value = serde_json::json!({"a\u{202e}": "\x1b \u{9b} \u{7f} \u{e0041} é 😀 \\"});
        let shown = escaped(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!shown.chars().any(is_obeyed), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }

    #[test]
    fn ages_are_short() {
        let now = Utc::now();
        let ago = |seconds| age(now - chrono::Duration::seconds(seconds), now);
        assert_eq!(
            [ago(5), ago(130), ago(7_300), ago(90_000), ago(-90_000)].join("|"),
            "just now|2 min ago|2h ago|1d ago|in 1d"
        );
    }
}
