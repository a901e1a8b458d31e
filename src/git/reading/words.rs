//! Words that differ within the lines of a comparison.

use imara_diff::{Algorithm, Diff, InternedInput};

use super::revisions::{ComparedLine, LineKind};

/// Words of longer lines are not compared.
const LONGEST_LINE: usize = 64 << 10;

/// A line of a comparison, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedLine {
    /// Kind of the line.
    pub kind: LineKind,
    /// Its text without line end, in pieces, each with whether the other line lacks it. Of a line that stands
    /// for no single other one, a single piece.
    pub words: Vec<(String, bool)>,
    /// Whether it has a line end.
    pub has_end: bool,
}

/// Returns the lines of a comparison in their order. Where as many lines were added as removed, each stands for
/// the one in the same place, and the words are marked in which the two differ; where all of them do, none is.
pub fn mark_words(lines: &[ComparedLine]) -> Vec<MarkedLine> {
    let mut marked = Vec::with_capacity(lines.len());
    let mut rest = lines;
    while !rest.is_empty() {
        let run = |kind: LineKind, at: usize| {
            let lines = rest[at..].iter();
            lines.take_while(|line| line.kind == kind).count()
        };
        let removed = run(LineKind::Removed, 0);
        // The last line of a text may be followed by the marker that it has no end.
        let unended = run(LineKind::NoEnd, removed);
        let added = run(LineKind::Added, removed + unended);
        if removed == 0 || removed != added {
            // As a whole: its lines are counted once, however many there are.
            let (run, after) = rest.split_at((removed + unended + added).max(1));
            marked.extend(run.iter().map(|line| of(line, vec![(text(line), false)])));
            rest = after;
            continue;
        }
        let (olds, after) = rest.split_at(removed);
        let (between, after) = after.split_at(unended);
        let (news, after) = after.split_at(added);
        let words = olds.iter().zip(news).map(|(a, b)| compare(a, b));
        let (before, now): (Vec<_>, Vec<_>) = words.unzip();
        marked.extend(olds.iter().zip(before).map(|(line, words)| of(line, words)));
        let between = between.iter();
        marked.extend(between.map(|line| of(line, vec![(text(line), false)])));
        marked.extend(news.iter().zip(now).map(|(line, words)| of(line, words)));
        rest = after;
    }
    marked
}

fn of(line: &ComparedLine, mut words: Vec<(String, bool)>) -> MarkedLine {
    // Where every word differs, marks tell nothing.
    if words.iter().all(|(_, differs)| *differs) {
        words.iter_mut().for_each(|(_, differs)| *differs = false);
    }
    MarkedLine {
        kind: line.kind,
        words,
        has_end: line.text.ends_with(b"\n"),
    }
}

/// Returns a line without its end; where the carriage returns of line ends are no matter, they are not shown.
fn text(line: &ComparedLine) -> String {
    let text = line.text.strip_suffix(b"\n").unwrap_or(&line.text);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    String::from_utf8_lossy(text).into_owned()
}

type Words = Vec<(String, bool)>;

fn compare(old: &ComparedLine, new: &ComparedLine) -> (Words, Words) {
    let [old, new] = [old, new].map(text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_differ_are_found_wherever_they_stand() {
        let line = |kind, text: &str| ComparedLine {
            kind,
            text: text.as_bytes().to_vec(),
        };
        let lines = mark_words(&[
            line(LineKind::Same, "Dear all,\n"),
            line(LineKind::Removed, "We meet on Monday at nine."),
            line(LineKind::NoEnd, "\n\\ No newline at end of file\n"),
            line(LineKind::Added, "They meet on Friday at nine.\r\n"),
        ]);
        let differing = |line: &MarkedLine| -> Vec<String> {
            let words = line.words.iter().filter(|(_, differs)| *differs);
            words.map(|(word, _)| word.clone()).collect()
        };
        let [same, old, _, new] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        assert!(differing(same).is_empty());
        assert_eq!(differing(old), ["We ", "Monday "]);
        assert_eq!(differing(new), ["They ", "Friday "]);
    }

    #[test]
    fn lines_that_stand_for_no_others_are_counted_once() {
        // Counted anew for each line, these are 20 thousand million.
        let many = 200_000;
        let line = |kind| ComparedLine {
            kind,
            text: b"a b\n".to_vec(),
        };
        for kinds in [
            [LineKind::Removed, LineKind::Same, LineKind::Added],
            [LineKind::Added, LineKind::Removed, LineKind::Same],
            [LineKind::Same, LineKind::Removed, LineKind::Removed],
        ] {
            let lines: Vec<ComparedLine> = kinds
                .into_iter()
                .flat_map(|kind| std::iter::repeat_with(move || line(kind)).take(many))
                .collect();
            let marked = mark_words(&lines);
            let shown: Vec<LineKind> = marked.iter().map(|line| line.kind).collect();
            let given: Vec<LineKind> = lines.iter().map(|line| line.kind).collect();
            assert!(shown == given, "the lines are others, or in another order");
        }
    }
}
