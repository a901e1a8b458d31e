//! Logs: one line for each event, on standard error.
//!
//! Standard output belongs to answers and to the protocol. Names of files and messages of other
//! programs may hold whatever their writers like: in a log they begin no line of their own, and a
//! terminal is shown what it must not obey.

use std::io;
use std::io::{IsTerminal, Write};

use tracing_subscriber::EnvFilter;

use crate::cli::terminal::output::guarded;
use crate::config::Config;

/// Begins to write logs, as the settings want them; with `as_json` each line is an object, which
/// says when.
pub fn start(config: &Config, as_json: bool) {
    let level = config.log.value.as_str();
    let filter = EnvFilter::try_new(level).unwrap_or_else(|_| EnvFilter::new("warn"));
    // The protocol library logs whole requests at its lower levels: other people's texts.
    let quiet = "rmcp=warn".parse().expect("it is a directive");
    let is_plain = !level.contains(['=', ',']);
    let filter = if is_plain {
        filter.add_directive(quiet)
    } else {
        filter
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| OneLine(io::stderr()))
        .with_ansi(io::stderr().is_terminal() && !as_json)
        .with_target(false)
        // It would be told by a panic, in the middle of whatever the line was about.
        .log_internal_errors(false);
    // A second one is a test's; the first stays.
    let _ = match as_json {
        true => log.json().flatten_event(true).try_init(),
        false => log.without_time().try_init(),
    };
}

/// Takes whole events, each in one piece and with its line end, and writes each on one line.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let (line, end) = match text.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (&*text, ""),
        };
        let line = guarded(&line.replace('\n', "\\n")).into_owned();
        self.0.write_all(format!("{line}{end}").as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_it_tells_of() {
        let mut written = Vec::new();
        let event = "\x1b[33m WARN\x1b[0m cannot read a\n ERROR forged\x1b]0;x\x07\u{202e}.md\n";
        OneLine(&mut written).write_all(event.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "\x1b[33m WARN\x1b[0m cannot read a\\n ERROR forged\\x1b]0;x\\x07\\u{202e}.md\n"
        );
    }
}
