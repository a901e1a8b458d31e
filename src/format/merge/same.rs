//! Whether two texts of a memory say the same, as the person who wrote them would put it.
//!
//! Promises: texts are the same that differ in line ends, in blanks at the ends of lines, in blank
//! lines at the end, in how a value is written, or in keys in which programs count reads and note
//! times. Texts of which something could not be read are the same only if their bytes are.

use std::borrow::Cow;

use chrono::DateTime;

use super::front::Front;
use super::keys::is_kept_by_programs;
use super::text::Text;
use crate::format::read::parse;
use crate::model::{Memory, Problem, Stem};

/// Returns whether the memory `aside`, which a merge may have made of the loser's text, says what `text`
/// says. Its id and its links of conflicts are its own.
pub fn is_aside_of(aside: &[u8], text: &[u8]) -> bool {
    let aside = Text::of(Cow::Borrowed(aside));
    // A damaged text stands whole below a new frontmatter.
    if aside.content() == text {
        return true;
    }
    let text = Text::of(Cow::Borrowed(text)).with_line_ends_of(&aside);
    let stem = Stem::from_file_name("aside");
    let own = |memory: &mut Memory| {
        memory.id.clear();
        let conflicts = |relation: &str| relation.eq_ignore_ascii_case(super::aside::RELATION);
        memory.links.retain(|link| !conflicts(&link.relation));
    };
    is_same(&stem, &aside, &text, own)
}

/// Returns whether `winner` says all that `loser` says, so that it is enough.
pub(super) fn is_same_memory(stem: &Stem, winner: &Text<'_>, loser: &Text<'_>) -> bool {
    if winner.is_like(loser)
        && winner.keys() == loser.keys()
        && is_same_content(winner.content(), loser.content())
    {
        return true;
    }
    let comments = |text: &Text<'_>| Some(Front::read(&text.bytes, &text.layout)?.comments());
    let has_comments = match (comments(winner), comments(loser)) {
        (Some(ours), Some(theirs)) => ours.is_superset(&theirs),
        _ => false,
    };
    has_comments && is_same(stem, winner, loser, |_| {})
}

/// Bytes that are no text are shown alike and differ.
fn is_text(text: &Text<'_>) -> bool {
    std::str::from_utf8(&text.bytes).is_ok()
}

fn is_same(stem: &Stem, one: &Text<'_>, other: &Text<'_>, adjust: impl Fn(&mut Memory)) -> bool {
    if !is_text(one) || !is_text(other) {
        return one.bytes == other.bytes;
    }
    let read = |text: &Text<'_>| {
        let mut memory = parse(stem, &text.bytes, DateTime::UNIX_EPOCH);
        let is_readable = memory.problems.iter().all(is_harmless);
        adjust(&mut memory);
        memory.unknown.retain(|(key, _)| !is_kept_by_programs(key));
        memory.problems.clear();
        (std::mem::take(&mut memory.content), memory, is_readable)
    };
    let (one_content, one, is_one_readable) = read(one);
    let (other_content, other, is_other_readable) = read(other);
    is_one_readable
        && is_other_readable
        && one == other
        && is_same_content(one_content.as_bytes(), other_content.as_bytes())
}

/// Returns whether a problem leaves the text readable as a whole.
fn is_harmless(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::ForeignName
            | Problem::ConflictCopyOf(_)
            | Problem::IdDiffersFromName { .. }
            | Problem::MissingKey(_)
    )
}

/// Returns whether two contents differ in nothing but blanks at the ends of lines and blank lines at the
/// end. Bytes that are no text differ from all others.
pub(super) fn is_same_content(one: &[u8], other: &[u8]) -> bool {
    fn lines(text: &str) -> impl Iterator<Item = &str> {
        text.trim_end().lines().map(str::trim_end)
    }
    match (std::str::from_utf8(one), std::str::from_utf8(other)) {
        (Ok(one), Ok(other)) => lines(one).eq(lines(other)),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{MergeSide, Merged, merge};

    const HEAD: &str = "id: 1f3a9c02\ntimestamp: 2026-01-14T09:15:00Z\nagent: claude\nuser: mira\n";

    fn file(keys: &str, body: &str) -> String {
        format!("---\n{HEAD}{keys}---\n\n{body}")
    }

    /// Whether the two become one memory, without a text that both come from and with one.
    #[track_caller]
    fn check(later: &str, earlier: &str, expected: bool) {
        let stem = Stem::from_file_name("20260114_091500_1f3a9c02");
        let base = file("topics: [a]\n", "Something else.\n");
        for base in [None, Some(base.as_bytes())] {
            let later = MergeSide {
                bytes: later.as_bytes(),
                at: 20,
            };
            let earlier = MergeSide {
                bytes: earlier.as_bytes(),
                at: 10,
            };
            let merged = merge(&stem, base, later, earlier);
            assert_eq!(merge(&stem, base, earlier, later), merged);
            assert_eq!(matches!(merged, Merged::One(_)), expected, "{base:?}");
        }
    }

    #[test]
    fn texts_that_a_person_would_not_call_different_are_one_memory() {
        let text = file("topics: [a]\n", "One.\n\nTwo.\n");
        check(&text, &file("topics: [a]\n", "One.  \n\nTwo.\t\n"), true);
        check(&text, &file("topics: [a]\n", "One.\n\nTwo.\n\n\n"), true);
        check(&text, &file("topics: [a]\n", "One.\n\nTwo."), true);
        check(&text, &text.replace('\n', "\r\n"), true);
        check(
            &file(
                "topics: [a]\naccess_count: 3\nupdated: 2026-02-01\n",
                "One.\n",
            ),
            &file(
                "topics:\n  - a\naccess_count: 7\nupdated: 2026-03-01\n",
                "One. \n",
            ),
            true,
        );
        check("No frontmatter. \n", "No frontmatter.\n", true);
    }

    #[test]
    fn a_side_that_only_moved_blanks_gives_way() {
        let stem = Stem::from_file_name("20260114_091500_1f3a9c02");
        let base = file("topics: [a]\n", "One.\nTwo.\n");
        let tidied = file("topics: [a]\n", "One.  \nTwo.\n\n");
        let edited = file("topics: [a]\n", "Three.\n");
        for at in [5, 15] {
            let tidied = MergeSide {
                bytes: tidied.as_bytes(),
                at,
            };
            let edited = MergeSide {
                bytes: edited.as_bytes(),
                at: 10,
            };
            let expected = Merged::One(edited.bytes.to_vec());
            let base = Some(base.as_bytes());
            assert_eq!(merge(&stem, base, tidied, edited), expected);
            assert_eq!(merge(&stem, base, edited, tidied), expected);
        }
    }

    #[test]
    fn blanks_give_way_where_both_sides_changed_keys_too() {
        let stem = Stem::from_file_name("20260114_091500_1f3a9c02");
        let base = file("topics: [a]\n", "One.\nTwo.\n");
        let tidied = file("topics: [a]\nimportance: 5\n", "One. \nTwo.\n\n");
        let edited = file("topics: [a]\nimportance: 8\n", "Three.\n");
        for (at, importance) in [(5, 8), (15, 5)] {
            let tidied = MergeSide {
                bytes: tidied.as_bytes(),
                at,
            };
            let edited = MergeSide {
                bytes: edited.as_bytes(),
                at: 10,
            };
            let keys = format!("topics: [a]\nimportance: {importance}\n");
            let expected = Merged::One(file(&keys, "Three.\n").into_bytes());
            let base = Some(base.as_bytes());
            assert_eq!(merge(&stem, base, tidied, edited), expected);
            assert_eq!(merge(&stem, base, edited, tidied), expected);
        }
    }

    #[test]
    fn texts_that_say_anything_else_are_two() {
        let text = file("topics: [a]\n", "One.\n\nTwo.\n");
        check(&text, &file("topics: [a]\n", "One.\n\nThree.\n"), false);
        check(&text, &file("topics: [a]\n", "One.\nTwo.\n"), false);
        check(&text, &file("topics: [a]\n", "One.\n\n Two.\n"), false);
        check(
            &file("title: a\n", "One.\n"),
            &file("title: b\n", "One.\n"),
            false,
        );
    }

    #[test]
    fn a_memory_that_was_put_aside_is_told_from_others() {
        let text = file("topics: [a]\n", "One.\n");
        let aside = text.replace("1f3a9c02", "0badcafe").replace(
            "topics: [a]\n",
            "topics: [a]\nlinks:\n  - {to: 20260114_091500_1f3a9c02, type: conflicts-with}\n",
        );
        assert!(is_aside_of(aside.as_bytes(), text.as_bytes()));
        let other = aside.replace("One.", "Two.");
        assert!(!is_aside_of(other.as_bytes(), text.as_bytes()));
        let linked = aside.replace("conflicts-with", "supports");
        assert!(!is_aside_of(linked.as_bytes(), text.as_bytes()));
        let whole = format!("---\n{HEAD}---\n\nbroken [\n");
        assert!(is_aside_of(whole.as_bytes(), b"broken [\n"));
    }
}
