//! Line ends of a file whose text went through a form, which has only one kind of them.

use imara_diff::{Algorithm, Diff, InternedInput};

/// Returns the text of a file, if a form can hold it: browsers replace bytes that are no UTF-8 and NULs, and end lines at
/// lone carriage returns.
pub(in crate::page) fn editable(file: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(file).ok()?;
    let is_kept = !text.contains('\0') && !text.replace("\r\n", "").contains('\r');
    is_kept.then_some(text)
}

/// Returns the `sent` text of a form with the line ends of the file that it was made from: lines that stay keep theirs,
/// changed ones have that of the line in their place, new ones that of the line before.
pub(in crate::page) fn with_line_ends_of(file: &str, sent: &str) -> String {
    let sent = sent.replace("\r\n", "\n");
    if !file.contains("\r\n") {
        return sent;
    }
    let old: Vec<(&str, &str)> = file.split_inclusive('\n').map(parts).collect();
    let new: Vec<(&str, &str)> = sent.split_inclusive('\n').map(parts).collect();
    let mut input = InternedInput::default();
    input.update_before(old.iter().map(|(line, _)| *line));
    input.update_after(new.iter().map(|(line, _)| *line));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let (mut ends, mut known) = (Vec::with_capacity(new.len()), 0);
    let end_at = |at: usize| old[at].1;
    for hunk in diff.hunks() {
        let (before, after) = (hunk.before.start as usize, hunk.after);
        ends.extend((known..before).map(end_at));
        known = hunk.before.end as usize;
        let last = known.max(before + 1) - 1;
        let place = |at: usize| match known > before {
            true => (before + at).min(last),
            false => before.saturating_sub(1),
        };
        ends.extend((0..after.len()).map(|at| end_at(place(at))));
    }
    ends.extend((known..old.len()).map(end_at));
    let mut text = String::with_capacity(sent.len() + new.len());
    for ((line, end), kept) in new.iter().zip(ends) {
        text.push_str(line);
        // The last line of either may have no end.
        text.push_str(match (end.is_empty(), kept.is_empty()) {
            (true, _) => "",
            (false, true) => end_at(0),
            (false, false) => kept,
        });
    }
    text
}

/// Returns a line and its end.
fn parts(line: &str) -> (&str, &str) {
    let text = line.strip_suffix('\n').unwrap_or(line);
    let text = text.strip_suffix('\r').unwrap_or(text);
    line.split_at(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_changes_no_line_end() {
        #[track_caller]
        fn check(file: &str, sent: &str, expected: &str) {
            assert_eq!(with_line_ends_of(file, sent), expected);
        }
        check("a\nb\n", "a\r\nc\r\n", "a\nc\n");
        check("a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n");
        let mixed = "-\nid: 1\n-\n\r\none\r\ntwo\r\n";
        let unchanged = "-\r\nid: 1\r\n-\r\n\r\none\r\ntwo\r\n";
        check(mixed, unchanged, mixed);
        let one_word = unchanged.replace("two", "three").replace("id: 1", "id: 2");
        let changed = mixed.replace("two", "three").replace("id: 1", "id: 2");
        check(mixed, &one_word, &changed);
        // A new line is like the one before it, in either half.
        check(
            mixed,
            "-\r\nid: 1\r\nnew: 2\r\n-\r\n\r\nnew\r\none\r\ntwo\r\n",
            "-\nid: 1\nnew: 2\n-\n\r\nnew\r\none\r\ntwo\r\n",
        );
        check(mixed, "-\r\none\r\n", "-\none\r\n");
        check(mixed, "", "");
        // A last line without an end, before and after.
        check("a\r\nb", "a\r\nb\r\nc", "a\r\nb\r\nc");
        check("a\r\nb\r\n", "a\r\nb", "a\r\nb");
        check("a\r\nb\r\n", "new\r\na\r\nb\r\n", "new\r\na\r\nb\r\n");
    }

    #[test]
    fn what_a_browser_would_change_is_no_text_for_a_form() {
        assert_eq!(editable(b"a\r\nb\n"), Some("a\r\nb\n"));
        for bytes in [&b"a\rb"[..], b"a\r\r\nb", b"a\0b", b"a\xff", b"a\r"] {
            assert_eq!(editable(bytes), None, "{bytes:?}");
        }
    }
}
