//! Line diffs of two texts, as of `git diff`; on a terminal with the words marked that differ within
//! a line.

use imara_diff::{Algorithm, Diff, InternedInput};

use crate::cli::terminal::fail::Failure;
use crate::cli::terminal::output::{ADDED, BOLD, DIM, ID, Output, PLAIN, Paint, REMOVED};
use crate::git::{ComparedLine, LineKind};

/// Words of longer lines are not compared.
const LONGEST_LINE: usize = 64 << 10;

/// Shows `lines`, as they are to scripts, and without control characters on a terminal.
pub fn show(output: &mut Output, lines: &[ComparedLine]) -> Result<(), Failure> {
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let count = |kind: LineKind, lines: &[ComparedLine]| {
            lines.iter().take_while(|line| line.kind == kind).count()
        };
        let removed = count(LineKind::Removed, rest);
        let added = count(LineKind::Added, &rest[removed..]);
        // As many lines for as many: each stands for the one in the same place.
        if output.is_terminal && removed > 0 && removed == added {
            let (pairs, after) = rest.split_at(removed * 2);
            let (olds, news) = pairs.split_at(removed);
            let words: Vec<_> = olds.iter().zip(news).map(|(a, b)| compare(a, b)).collect();
            for (line, (old, _)) in olds.iter().zip(&words) {
                marked(output, (REMOVED, "-"), line, old)?;
            }
            for (line, (_, new)) in news.iter().zip(&words) {
                marked(output, (ADDED, "+"), line, new)?;
            }
            rest = after;
        } else {
            whole(output, first)?;
            rest = &rest[1..];
        }
    }
    Ok(())
}

/// A word of a line, and whether the other line lacks it.
type Word = (String, bool);

fn compare(old: &ComparedLine, new: &ComparedLine) -> (Vec<Word>, Vec<Word>) {
    let [old, new] = [old, new].map(|line| {
        let text = String::from_utf8_lossy(&line.text);
        text.trim_end_matches(['\n', '\r']).to_owned()
    });
    if old.len().max(new.len()) > LONGEST_LINE {
        return (vec![(old, false)], vec![(new, false)]);
    }
    let mut input = InternedInput::default();
    input.update_before(old.split_inclusive(' '));
    input.update_after(new.split_inclusive(' '));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let words = |text: &str, differs: &dyn Fn(u32) -> bool| {
        (0..)
            .zip(text.split_inclusive(' '))
            .map(|(at, word)| (word.to_owned(), differs(at)))
            .collect()
    };
    let before = words(&old, &|at| diff.is_removed(at));
    let after = words(&new, &|at| diff.is_added(at));
    (before, after)
}

fn marked(
    output: &mut Output,
    (paint, sign): (Paint, &str),
    line: &ComparedLine,
    words: &[Word],
) -> Result<(), Failure> {
    let mut text = format!("{paint}{sign}");
    // Where every word differs, marks tell nothing.
    let is_new = words.iter().all(|(_, differs)| *differs);
    for (word, differs) in words {
        let word = output.shown(word);
        if *differs && !is_new {
            text.push_str(&format!("{BOLD}{word}{BOLD:#}{paint}"));
        } else {
            text.push_str(&word);
        }
    }
    text.push_str(&format!("{paint:#}"));
    output.bytes(text.as_bytes())?;
    end(output, line)
}

fn whole(output: &mut Output, line: &ComparedLine) -> Result<(), Failure> {
    let (paint, sign) = match line.kind {
        LineKind::Place => (ID, ""),
        LineKind::Same => (PLAIN, " "),
        LineKind::Added => (ADDED, "+"),
        LineKind::Removed => (REMOVED, "-"),
        LineKind::NoEnd => (DIM, ""),
    };
    let text = line.text.strip_suffix(b"\n").unwrap_or(&line.text);
    output.bytes(format!("{paint}{sign}").as_bytes())?;
    if output.is_terminal {
        // Where the carriage returns of line ends are no matter, they are not shown.
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        output.bytes(output.shown(&String::from_utf8_lossy(text)).as_bytes())?;
    } else {
        output.bytes(text)?;
    }
    output.bytes(format!("{paint:#}").as_bytes())?;
    end(output, line)
}

/// A line without an end is followed by words that say so, and begin with one.
fn end(output: &mut Output, line: &ComparedLine) -> Result<(), Failure> {
    let ends = line.text.ends_with(b"\n");
    output.bytes(if ends { b"\n" } else { b"" })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_differ_are_found_wherever_they_stand() {
        let line = |kind, text: &str| ComparedLine {
            kind,
            text: text.as_bytes().to_vec(),
        };
        let (old, new) = compare(
            &line(LineKind::Removed, "We meet on Monday at nine.\n"),
            &line(LineKind::Added, "They meet on Friday at nine.\r\n"),
        );
        let differing = |words: &[Word]| -> Vec<String> {
            let words = words.iter().filter(|(_, differs)| *differs);
            words.map(|(word, _)| word.clone()).collect()
        };
        assert_eq!(differing(&old), ["We ", "Monday "]);
        assert_eq!(differing(&new), ["They ", "Friday "]);
    }
}
