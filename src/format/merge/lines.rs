//! Merges two versions of a body line by line, as diff3 does.
//!
//! Promises: every line of the result stands in one of the three texts; a line that one side
//! added is there, one that a side removed and the other left alone is not. Says no rather than
//! guess. A line's end is no part of it, but for the last line, where having none is kept.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use super::changed_once::changed_once;

/// Longer bodies are not compared line by line: it could take seconds, and memory.
const MAX_BYTES: usize = 1024 * 1024;
/// More lines are not compared, either.
const MAX_LINES: usize = 20_000;

/// Merges the changes that `winner` and `loser` made to `base`; `None` if they contradict.
///
/// Lines that both appended to the end stand one after the other, the loser's first: they were
/// written earlier. Lines without an end of their own get `newline`.
pub(super) fn merge(base: &[u8], winner: &[u8], loser: &[u8], newline: &str) -> Option<Vec<u8>> {
    if let Some(text) = changed_once(base, winner, loser) {
        return Some(text.to_vec());
    }
    let texts = [base, winner, loser];
    if texts.iter().any(|text| text.len() > MAX_BYTES) {
        return None;
    }
    let [base_lines, winner_lines, loser_lines] = texts.map(lines);
    if [&base_lines, &winner_lines, &loser_lines]
        .iter()
        .any(|lines| lines.len() > MAX_LINES)
    {
        return None;
    }
    let merged = diff3(&base_lines, &winner_lines, &loser_lines).or_else(|| {
        // An editor may have taken the blanks from the ends of all lines: that contradicts nothing.
        let [base, winner, loser] =
            [&base_lines, &winner_lines, &loser_lines].map(|lines| without_blanks(lines));
        diff3(&base, &winner, &loser)
    })?;
    let ends = |text: &[u8]| (!text.is_empty()).then(|| text.ends_with(b"\n"));
    let [base_ends, winner_ends, loser_ends] = texts.map(ends);
    let is_ended = if winner_ends == base_ends {
        loser_ends.or(winner_ends)
    } else {
        winner_ends.or(loser_ends)
    };
    let newline = winner_lines
        .iter()
        .map(|line| line.end)
        .find(|end| !end.is_empty())
        .unwrap_or(newline.as_bytes());
    Some(joined(&merged, newline, is_ended.unwrap_or(true)))
}

/// A line's text, and what ends it: nothing at the end of some texts.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    text: &'a [u8],
    end: &'a [u8],
    /// The text that it is compared by.
    compared: &'a [u8],
}

impl PartialEq for Line<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.compared == other.compared
    }
}

/// Returns the same lines, compared without the blanks at their ends.
fn without_blanks<'a>(lines: &[Line<'a>]) -> Vec<Line<'a>> {
    let lines = lines.iter().map(|line| Line {
        compared: line.text.trim_ascii_end(),
        ..*line
    });
    lines.collect()
}

fn lines(text: &[u8]) -> Vec<Line<'_>> {
    text.split_inclusive(|&byte| byte == b'\n')
        .map(|line| {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let text = match line.len() - text.len() {
                0 => text,
                _ => text.strip_suffix(b"\r").unwrap_or(text),
            };
            Line {
                text,
                end: &line[text.len()..],
                compared: text,
            }
        })
        .collect()
}

fn joined(lines: &[Line<'_>], newline: &[u8], is_ended: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        text.extend_from_slice(line.text);
        if at + 1 < lines.len() || is_ended {
            let end = if line.end.is_empty() {
                newline
            } else {
                line.end
            };
            text.extend_from_slice(end);
        }
    }
    text
}

/// One side's changes: which lines of the base became which lines of the side.
struct Changes {
    hunks: Vec<(Range<usize>, Range<usize>)>,
    /// The first hunk that has not been passed.
    next: usize,
    /// The side's line that stands where the base has been read up to.
    at: usize,
}

impl Changes {
    fn between(base: &[Line<'_>], side: &[Line<'_>]) -> Changes {
        let mut input = InternedInput::default();
        input.update_before(base.iter().map(|line| line.compared));
        input.update_after(side.iter().map(|line| line.compared));
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        // Of the places where repeated lines may have been inserted it takes the last, so that
        // both sides name the same one.
        diff.postprocess_no_heuristic(&input);
        let range = |range: Range<u32>| range.start as usize..range.end as usize;
        Changes {
            hunks: diff
                .hunks()
                .map(|hunk| (range(hunk.before), range(hunk.after)))
                .collect(),
            next: 0,
            at: 0,
        }
    }

    /// Returns the next hunk's lines of the base.
    fn upcoming(&self) -> Option<Range<usize>> {
        self.hunks.get(self.next).map(|(before, _)| before.clone())
    }

    /// Widens `region` by the hunks that touch it; says whether there was one.
    fn widen(&self, passed: &mut usize, region: &mut Range<usize>) -> bool {
        match self.hunks.get(*passed) {
            Some((before, _)) if before.start <= region.end => {
                region.end = region.end.max(before.end);
                *passed += 1;
                true
            }
            _ => false,
        }
    }

    /// Returns the side's lines for `region` of the base, which the hunks up to `passed` lie in.
    fn take(&mut self, passed: usize, region: &Range<usize>) -> Range<usize> {
        let (removed, added) = self.hunks[self.next..passed]
            .iter()
            .fold((0, 0), |(removed, added), (before, after)| {
                (removed + before.len(), added + after.len())
            });
        let start = self.at;
        self.at += region.len() - removed + added;
        self.next = passed;
        start..self.at
    }
}

fn diff3<'a>(base: &[Line<'a>], winner: &[Line<'a>], loser: &[Line<'a>]) -> Option<Vec<Line<'a>>> {
    let mut by_winner = Changes::between(base, winner);
    let mut by_loser = Changes::between(base, loser);
    let mut merged = Vec::new();
    let mut at = 0;
    loop {
        let starts = [by_winner.upcoming(), by_loser.upcoming()];
        let start = starts.iter().flatten().map(|hunk| hunk.start).min();
        let same = start.unwrap_or(base.len()) - at;
        merged.extend_from_slice(&winner[by_winner.at..by_winner.at + same]);
        by_winner.at += same;
        by_loser.at += same;
        let Some(start) = start else {
            return Some(merged);
        };
        // Changes of neighbouring lines are one change: they were hardly made independently.
        let mut region = start..start;
        let (mut winner_passed, mut loser_passed) = (by_winner.next, by_loser.next);
        while by_winner.widen(&mut winner_passed, &mut region)
            || by_loser.widen(&mut loser_passed, &mut region)
        {}
        let ours = &winner[by_winner.take(winner_passed, &region)];
        let theirs = &loser[by_loser.take(loser_passed, &region)];
        let old = &base[region.clone()];
        at = region.end;
        if let Some(lines) = changed_once(old, ours, theirs) {
            merged.extend_from_slice(lines);
        } else if old.is_empty() && at == base.len() && base.iter().any(|line| !is_blank(line)) {
            merged.extend(appended(theirs, ours));
        } else {
            return None;
        }
    }
}

/// Joins the lines that both sides appended: common ones once, then the earlier side's, then the
/// later one's. The blank line that each put before its own stays with it.
fn appended<'a>(earlier: &[Line<'a>], later: &[Line<'a>]) -> Vec<Line<'a>> {
    let pairs = earlier.iter().zip(later);
    let mut common = pairs.take_while(|(one, other)| one == other).count();
    if common < earlier.len().min(later.len()) {
        while common > 0 && is_blank(&earlier[common - 1]) {
            common -= 1;
        }
    }
    [&earlier[..common], &earlier[common..], &later[common..]].concat()
}

fn is_blank(line: &Line<'_>) -> bool {
    line.text.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_different_lines_are_merged() {
        check("a b c d e", "A b c d e", "a b c d E", Some("A b c d E"));
        check("a b c d e", "b c d e", "a b c d x e", Some("b c d x e"));
        check(
            "a b c d e",
            "a x b c d e",
            "a b c y d e",
            Some("a x b c y d e"),
        );
        check("a b c", "a c", "a c", Some("a c"));
        check("a b c d", "A b c D", "A b c d", Some("A b c D"));
    }

    #[test]
    fn what_both_inserted_is_there_once() {
        check("a b", "a x b", "a x b", Some("a x b"));
        check("a x b", "a x x b", "a x x b", Some("a x x b"));
        check("a b", "a b x y", "a b x", Some("a b x y"));
    }

    #[test]
    fn changes_of_the_same_or_of_neighbouring_lines_contradict() {
        check("a b c", "a x c", "a y c", None);
        check("a b c", "a c", "a y c", None);
        check("a b c", "a x b c", "a y b c", None);
        check("a b c d", "a B c d", "a b C d", None);
        check("a b", "a x", "a b y", None);
    }

    #[test]
    fn what_both_appended_is_kept_the_earlier_first() {
        check("a b", "a b x", "a b y", Some("a b y x"));
        check("a b c d", "A b c d x", "a b c d y", Some("A b c d y x"));
        check("a _", "a _ n x", "a _ n y", Some("a _ n y x"));
        // The blank line between paragraphs is not what they have in common.
        check("a", "a _ x", "a _ y", Some("a _ y _ x"));
        check("a x", "a x x", "a x x y", Some("a x x y"));
        // There was nothing to append to: two texts.
        check("", "x", "y", None);
        check("_", "_ x", "_ y", None);
    }

    /// Lines stand for words; `_` is a blank one.
    #[track_caller]
    fn check(base: &str, winner: &str, loser: &str, expected: Option<&str>) {
        let text = |words: &str| -> Vec<u8> {
            words
                .split_whitespace()
                .fold(String::new(), |text, word| {
                    text + if word == "_" { "" } else { word } + "\n"
                })
                .into_bytes()
        };
        let merged = merge(&text(base), &text(winner), &text(loser), "\n");
        assert_eq!(merged, expected.map(text));
    }

    #[test]
    fn lines_are_never_glued_together() {
        check_ends("a", "a\nx", "a\ny", Some("a\ny\nx"));
        check_ends("a", "a\nx\n", "a\ny", Some("a\ny\nx\n"));
        check_ends("a\n", "a\nx\n", "a\ny", Some("a\ny\nx"));
        check_ends("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc", Some("A\nb\nc"));
        check_ends("a\nb\nc", "A\nb\nc", "a\nb\nc\n\n", Some("A\nb\nc\n\n"));
        check_ends("a\nb\nc\n", "a\nb\n", "A\nb\nc\n", Some("A\nb\n"));
        check_ends("a\nb\nc", "", "a\nb\nc\n", Some(""));
    }

    #[test]
    fn line_ends_are_no_part_of_a_line() {
        check_ends(
            "a\nb\nc\n",
            "a\r\nb\r\nC\r\n",
            "A\nb\nc\n",
            Some("A\nb\r\nC\r\n"),
        );
        check_ends(
            "a\r\nb",
            "a\r\nb\r\nx",
            "a\r\nb\r\ny",
            Some("a\r\nb\r\ny\r\nx"),
        );
    }

    #[track_caller]
    fn check_ends(base: &str, winner: &str, loser: &str, expected: Option<&str>) {
        let merged = merge(base.as_bytes(), winner.as_bytes(), loser.as_bytes(), "\n");
        let merged = merged.map(|text| String::from_utf8(text).unwrap());
        assert_eq!(merged.as_deref(), expected);
    }

    #[test]
    fn blanks_at_the_ends_of_lines_contradict_nothing() {
        check_ends(
            "a  \nb \nm\nc\n",
            "a\nB\nm\nc\n",
            "a  \nb\nm \nC\n",
            Some("a\nB\nm\nC\n"),
        );
        // Where they stand in nobody's way they are kept as they are.
        check_ends("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc  \n", Some("A\nb\nc  \n"));
    }

    #[test]
    fn a_huge_body_is_merged_only_where_one_side_changed_it() {
        let long = "line\n".repeat(MAX_LINES + 1);
        let (one, other) = (format!("one\n{long}"), format!("{long}other\n"));
        check_ends(&long, &one, &long, Some(&one));
        check_ends(&long, &one, &other, None);
        let wide = "x".repeat(MAX_BYTES);
        check_ends(&wide, &format!("{wide}\na"), &format!("{wide}\nb"), None);
    }
}
