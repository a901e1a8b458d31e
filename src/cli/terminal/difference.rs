//! Line diffs of two texts, as of `git diff`; on a terminal with the words marked that differ within
//! a line.

use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{ADDED, BOLD, DIM, ID, Output, PLAIN, Paint, REMOVED};
use crate::git::{ComparedLine, LineKind, MarkedLine, mark_words};

/// Shows `lines`, as they are to scripts, and without control characters on a terminal.
pub fn show(output: &mut Output, lines: &[ComparedLine]) -> Result<(), Failure> {
    if output.is_terminal {
        for line in mark_words(lines) {
            marked(output, &line)?;
        }
        return Ok(());
    }
    for line in lines {
        let (paint, sign) = look(line.kind);
        let text = line.text.strip_suffix(b"\n").unwrap_or(&line.text);
        output.bytes(format!("{paint}{sign}").as_bytes())?;
        output.bytes(text)?;
        output.bytes(format!("{paint:#}").as_bytes())?;
        end(output, line.text.ends_with(b"\n"))?;
    }
    Ok(())
}

fn look(kind: LineKind) -> (Paint, &'static str) {
    match kind {
        LineKind::Place => (ID, ""),
        LineKind::Same => (PLAIN, " "),
        LineKind::Added => (ADDED, "+"),
        LineKind::Removed => (REMOVED, "-"),
        LineKind::NoEnd => (DIM, ""),
    }
}

fn marked(output: &mut Output, line: &MarkedLine) -> Result<(), Failure> {
    let (paint, sign) = look(line.kind);
    let mut text = format!("{paint}{sign}");
    for (word, differs) in &line.words {
        let word = output.shown(word);
        match differs {
            true => text.push_str(&format!("{BOLD}{word}{BOLD:#}{paint}")),
            false => text.push_str(&word),
        }
    }
    text.push_str(&format!("{paint:#}"));
    output.bytes(text.as_bytes())?;
    end(output, line.has_end)
}

/// A line without an end is followed by words that say so, and begin with one.
fn end(output: &mut Output, has_end: bool) -> Result<(), Failure> {
    output.bytes(if has_end { b"\n" } else { b"" })?;
    Ok(())
}
