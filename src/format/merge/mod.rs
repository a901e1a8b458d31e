//! Merges two versions of one memory file by what they mean.
//!
//! Promises: the same result whichever side comes first, on every machine; no line that a side
//! wrote is lost, but for the few values that a rule decides; no conflict markers; a result that
//! has no problem which neither side had. Where two texts contradict, both stay, as two memories
//! that name each other. `docs/FORMAT.md` has the rules. Leaves to others: which versions belong
//! together, and where the results go.

mod aside;
mod changed_once;
mod front;
mod journal;
mod keys;
mod lines;
mod merged;
mod problems;
mod same;
mod text;

use std::borrow::Cow;
use std::collections::HashSet;

pub use self::aside::aside_as;
pub use self::journal::unite_journals;
pub use self::same::is_aside_of;
pub use merged::Merged;

use self::changed_once::changed_once;
use self::front::Front;
use super::layout::Frontmatter;
use crate::model::Stem;
use text::Text;

/// One side of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeSide<'a> {
    /// The whole file.
    pub bytes: &'a [u8],
    /// When its author wrote this version, in seconds since 1970.
    pub at: i64,
}

/// Merges two versions of the memory `stem`.
///
/// `base` is the version that both come from, `None` if there is none. Where a rule has to
/// prefer a side, it is the one written later; of two written in the same second, the one whose
/// bytes are greater. Which side is called `one` never matters.
pub fn merge(stem: &Stem, base: Option<&[u8]>, one: MergeSide<'_>, other: MergeSide<'_>) -> Merged {
    if one.bytes == other.bytes || base == Some(other.bytes) {
        return Merged::One(one.bytes.to_vec());
    }
    if base == Some(one.bytes) {
        return Merged::One(other.bytes.to_vec());
    }
    let (later, earlier) = if (one.at, one.bytes) > (other.at, other.bytes) {
        (one, other)
    } else {
        (other, one)
    };
    let (winner, loser) = (later.bytes, earlier.bytes);
    // What a crash or a full disk left says nothing; a memory is removed by removing its file.
    let is_blank = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_whitespace);
    if is_blank(loser) {
        return Merged::One(winner.to_vec());
    }
    if is_blank(winner) {
        return Merged::One(loser.to_vec());
    }
    let ours = Text::of(Cow::Borrowed(winner));
    let theirs = Text::of(Cow::Borrowed(loser)).with_line_ends_of(&ours);
    let base = base.map(|base| Text::of(Cow::Borrowed(base)).with_line_ends_of(&ours));
    let merged = match &base {
        Some(base) if base.is_like(&ours) && base.is_like(&theirs) => {
            three_way(stem, base, &ours, &theirs)
        }
        // A side gave a plain note its first keys.
        Some(base) if base.layout.frontmatter == Frontmatter::Absent => {
            let [base, ours, theirs] = [base, &ours, &theirs].map(Text::with_frontmatter);
            let [base, theirs] = [base, theirs].map(|text| text.with_line_ends_of(&ours));
            three_way(stem, &base, &ours, &theirs)
        }
        _ => None,
    };
    let is_same = |one: &Text<'_>, other: &Text<'_>| same::is_same_memory(stem, one, other);
    // Who changed nothing that a person would call a change gives way.
    let is_unchanged = |side: &Text<'_>| base.as_ref().is_some_and(|base| is_same(base, side));
    let merged = merged.or_else(|| {
        if is_same(&ours, &theirs) || is_unchanged(&theirs) {
            Some(winner.to_vec())
        } else if is_unchanged(&ours) {
            Some(loser.to_vec())
        } else {
            None
        }
    });
    merged.map_or_else(|| aside::two(stem, winner, loser, earlier.at), Merged::One)
}

/// Merges what both sides made of `base`; `None` if that would lose or damage anything.
fn three_way(stem: &Stem, base: &Text<'_>, winner: &Text<'_>, loser: &Text<'_>) -> Option<Vec<u8>> {
    if !winner.is_like(loser) {
        return None;
    }
    let newline = winner.layout.newline;
    let [was, ours, theirs] = [base, winner, loser].map(Text::content);
    let content = lines::merge(was, ours, theirs, newline)
        // Who only moved blanks in the content gives way there, whatever became of the keys.
        .or_else(|| same::is_same_content(was, theirs).then(|| ours.to_vec()))
        .or_else(|| same::is_same_content(was, ours).then(|| theirs.to_vec()))?;
    let keys = merge_keys(base, winner, loser)?;
    let merged = Text::of(Cow::Owned(assembled(winner, &keys, &content)));
    let is_sound = merged.content() == content
        && merged.is_like(winner)
        && has_added_lines(base, [winner, loser], &content)
        && problems::has_no_new(
            (stem, &merged.bytes),
            &[(stem, &winner.bytes), (stem, &loser.bytes)],
        );
    is_sound.then(|| merged.bytes.into_owned())
}

/// Merges what stands between the `---` lines.
fn merge_keys(base: &Text<'_>, winner: &Text<'_>, loser: &Text<'_>) -> Option<Vec<u8>> {
    // A damaged frontmatter is no obstacle as long as only one side touched it.
    if let Some(keys) = changed_once(base.keys(), winner.keys(), loser.keys()) {
        return Some(keys.to_vec());
    }
    let [base, ours, theirs] =
        [base, winner, loser].map(|text| Front::read(&text.bytes, &text.layout));
    keys::merge(&base?, &ours?, &theirs?, winner.layout.newline).map(String::into_bytes)
}

/// Returns the winner's file with other keys and another content.
fn assembled(winner: &Text<'_>, keys: &[u8], content: &[u8]) -> Vec<u8> {
    let layout = &winner.layout;
    let frame = &winner.bytes[layout.keys.end..layout.content.start];
    let mut file = [&winner.bytes[..layout.keys.start], keys, frame].concat();
    if layout.frontmatter == Frontmatter::Whole {
        if !content.is_empty() && !frame.ends_with(b"\n") {
            file.extend_from_slice(layout.newline.as_bytes());
        }
        // Without the frame's blank line the content's first one would be taken for it.
        let has_blank_line = frame.ends_with(b"\n\n") || frame.ends_with(b"\n\r\n");
        if !has_blank_line && (content.starts_with(b"\n") || content.starts_with(b"\r\n")) {
            file.extend_from_slice(layout.newline.as_bytes());
        }
    }
    file.extend_from_slice(content);
    file
}

/// Returns whether every line that a side added to the content stands in `merged`.
fn has_added_lines(base: &Text<'_>, sides: [&Text<'_>; 2], merged: &[u8]) -> bool {
    fn lines(content: &[u8]) -> HashSet<&[u8]> {
        content
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::trim_ascii_end)
            .filter(|line| !line.is_empty())
            .collect()
    }
    let new = lines(merged);
    let added = sides
        .into_iter()
        // What a side has as it is holds that side's lines.
        .filter(|side| side.content() != merged);
    let mut added = added.flat_map(|side| lines(side.content()));
    let old = lines(base.content());
    added.all(|line| new.contains(line) || old.contains(line))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::super::markers::has_conflict_markers;
    use super::super::read::parse;
    use super::*;

    const STEM: &str = "20260114_091500_1f3a9c02";
    const HEAD: &str = "id: 1f3a9c02\ntimestamp: 2026-01-14T09:15:00Z\nagent: claude\nuser: mira\n";

    fn file(keys: &str, body: &str) -> Vec<u8> {
        format!("---\n{HEAD}{keys}---\n\n{body}").into_bytes()
    }

    /// Merges with the first side as the later one, and the other way round.
    #[track_caller]
    fn merged(base: Option<&[u8]>, later: &[u8], earlier: &[u8]) -> Merged {
        let stem = Stem::from_file_name(STEM);
        let (later, earlier) = (
            MergeSide {
                bytes: later,
                at: 20,
            },
            MergeSide {
                bytes: earlier,
                at: 10,
            },
        );
        let result = merge(&stem, base, later, earlier);
        assert_eq!(merge(&stem, base, earlier, later), result);
        result
    }

    #[test]
    fn a_side_that_changed_nothing_gives_way_to_the_byte() {
        let (base, changed) = (
            file("", "a\n"),
            b"\xff no frontmatter, \r\n no end".to_vec(),
        );
        assert_eq!(
            merged(Some(&base), &changed, &base),
            Merged::One(changed.clone())
        );
        assert_eq!(
            merged(Some(&base), &base, &changed),
            Merged::One(changed.clone())
        );
        assert_eq!(
            merged(None, &changed, &changed),
            Merged::One(changed.clone())
        );
        assert_eq!(
            merged(Some(&base), &changed, &changed),
            Merged::One(changed)
        );
    }

    #[test]
    fn keys_and_body_are_merged_independently() {
        let base = file("x: 1\n", "a\nb\nc\n");
        let later = file("x: 2\n", "A\nb\nc\n");
        let earlier = file("x: 1\ny: 3\n", "a\nb\nC\n");
        assert_eq!(
            merged(Some(&base), &later, &earlier),
            Merged::One(file("x: 2\ny: 3\n", "A\nb\nC\n"))
        );
    }

    #[test]
    fn line_ends_and_byte_order_mark_are_the_later_sides() {
        let crlf = |text: Vec<u8>| {
            let text = String::from_utf8(text).unwrap().replace('\n', "\r\n");
            format!("\u{feff}{text}").into_bytes()
        };
        let base = file("x: 1\n", "a\nb\nc\n");
        let later = crlf(file("x: 2\n", "a\nb\nc\nd\n"));
        let earlier = file("x: 1\ny: 1\n", "A\nb\nc\n");
        let expected = crlf(file("x: 2\ny: 1\n", "A\nb\nc\nd\n"));
        assert_eq!(merged(Some(&base), &later, &earlier), Merged::One(expected));
    }

    #[test]
    fn a_body_without_frame_keeps_its_first_line() {
        let cut = |keys: &str| format!("---\n{HEAD}{keys}---").into_bytes();
        let earlier = [cut(""), b"\n\n\ntext\n".to_vec()].concat();
        let expected = [cut("x: 1\n"), b"\n\n\ntext\n".to_vec()].concat();
        assert_eq!(
            merged(Some(&cut("")), &cut("x: 1\n"), &earlier),
            Merged::One(expected)
        );
    }

    #[test]
    fn texts_without_common_history_are_one_only_if_they_say_the_same() {
        let later = file("topics: [a]\ntitle: \"t\"\n", "Text.\n");
        let same = file("title: t\ntopics:\n  - a\n", "Text.\n");
        assert_eq!(merged(None, &later, &same), Merged::One(later.clone()));
        for other in [
            file("topics: [a]\ntitle: t\nimportance: 3\n", "Text.\n"),
            file("topics: [a]\ntitle: t\n", "Text.\nMore.\n"),
            file("topics: [a]\ntitle: t # why\n", "Text.\n"),
        ] {
            assert!(matches!(merged(None, &later, &other), Merged::Two { .. }));
        }
        // Nobody read the values, so nobody knows whether they are the same.
        let (one, other) = (file("links: *a\n", ""), file("links: *b\n", ""));
        assert!(matches!(merged(None, &one, &other), Merged::Two { .. }));
    }

    #[test]
    fn a_side_that_was_emptied_gives_way() {
        let (base, text) = (file("", "a\n"), file("", "b\n"));
        assert_eq!(merged(Some(&base), b"", &text), Merged::One(text.clone()));
        assert_eq!(merged(None, &text, b"\n"), Merged::One(text));
    }

    #[test]
    fn files_without_frontmatter_are_merged_as_bodies() {
        assert_eq!(
            merged(Some(b"a\nb\nc\n"), b"A\nb\nc\n", b"a\nb\nC\n"),
            Merged::One(b"A\nb\nC\n".to_vec())
        );
        // The result would begin with a frontmatter.
        assert!(matches!(
            merged(
                Some(b"a\nb\nc\n---\nx\n"),
                b"---\nb\nc\n---\nx\n",
                b"a\nb\nc\n---\ny\n"
            ),
            Merged::Two { .. }
        ));
    }

    #[test]
    fn a_plain_note_that_gets_its_first_keys_is_merged_by_lines_and_keys() {
        let base = b"a\nb\nc\n";
        let with = |keys: &str, body: &str| format!("---\n{keys}---\n\n{body}").into_bytes();
        let (later, earlier) = (
            with("topics: [x]\n", "a\nb\nc\n"),
            with("topics: [y]\n", "A\nb\nc\n"),
        );
        let Merged::One(both) = merged(Some(base), &later, &earlier) else {
            panic!("two texts");
        };
        let both = String::from_utf8(both).unwrap();
        assert!(
            both.contains('x') && both.contains('y') && both.ends_with("A\nb\nc\n"),
            "{both}"
        );
        // Keys on one side, lines on the other one, whichever is later.
        let expected = Merged::One(with("topics: [x]\n", "a\nb\nC\n"));
        assert_eq!(merged(Some(base), &later, b"a\nb\nC\n"), expected);
        assert_eq!(merged(Some(base), b"a\nb\nC\n", &later), expected);
        let crlf = String::from_utf8(with("topics: [x]\n", "a\nb\nc\n"))
            .unwrap()
            .replace('\n', "\r\n");
        assert!(matches!(
            merged(
                Some(b"a\r\nb\r\nc\r\n"),
                crlf.as_bytes(),
                b"a\r\nb\r\nC\r\n"
            ),
            Merged::One(_)
        ));
        // Two changes of one line exclude each other.
        let other = with("topics: [y]\n", "a\nB\nc\n");
        assert!(matches!(
            merged(Some(base), &other, b"a\nbb\nc\n"),
            Merged::Two { .. }
        ));
    }

    #[test]
    fn markers_are_never_put_together_from_two_sides() {
        let base = file("", "a\nb\nc\n");
        let later = file("", "<<<<<<< x\na\nb\nc\n");
        let earlier = file("", "a\nb\nc\n=======\n>>>>>>> y\n");
        let Merged::Two { kept, aside, .. } = merged(Some(&base), &later, &earlier) else {
            panic!("one text");
        };
        assert!(!has_conflict_markers(&kept) && !has_conflict_markers(&aside));
    }

    #[test]
    fn two_memories_name_each_other() {
        let base = file("topics: [a]\n", "a\n");
        let later = file("topics: [a]\nlinks: [x] # why\n", "b\n");
        let earlier = file("topics: [a]\n# c\n", "c\n");
        let Merged::Two {
            kept,
            aside,
            aside_stem,
        } = merged(Some(&base), &later, &earlier)
        else {
            panic!("one text");
        };
        assert!(aside_stem.as_str().starts_with(&STEM[..16]));
        assert_eq!(
            String::from_utf8(kept).unwrap(),
            String::from_utf8(later).unwrap().replace(
                "[x] # why",
                &format!("[x, {{to: {aside_stem}, type: conflicts-with}}] # why")
            )
        );
        let expected = String::from_utf8(earlier).unwrap();
        let expected = expected
            .replace("id: 1f3a9c02", &format!("id: {}", aside_stem.short()))
            .replace(
                "topics: [a]\n",
                &format!("topics: [a]\nlinks:\n  - {{to: {STEM}, type: conflicts-with}}\n"),
            );
        assert_eq!(String::from_utf8(aside.clone()).unwrap(), expected);
        assert!(problems::has_no_new((&aside_stem, &aside), &[]));
    }

    #[test]
    fn a_damaged_text_stands_whole_below_a_new_frontmatter() {
        let base = file("topics: [a]\n", "a\n");
        let later = file("topics: [a]\n", "b\n");
        for damaged in [
            "just text\n".to_owned(),
            format!("---\n{HEAD}no end\n"),
            format!("---\n{HEAD}<<<<<<< a\nx: 1\n=======\nx: 2\n>>>>>>> b\n---\n\ntext\n"),
        ] {
            let Merged::Two {
                kept,
                aside,
                aside_stem,
            } = merged(Some(&base), &later, damaged.as_bytes())
            else {
                panic!("one text");
            };
            let memory = parse(&aside_stem, &aside, DateTime::UNIX_EPOCH);
            assert_eq!(memory.content, damaged);
            assert_eq!(memory.user, "mira");
            assert_eq!(memory.links[0].to, STEM);
            let is_marked = has_conflict_markers(damaged.as_bytes());
            assert_eq!(memory.problems.len(), usize::from(is_marked));
            assert!(kept.starts_with(b"---\n"));

            let Merged::Two { kept, .. } = merge(
                &Stem::from_file_name(STEM),
                Some(&base),
                MergeSide {
                    bytes: damaged.as_bytes(),
                    at: 30,
                },
                MergeSide {
                    bytes: &later,
                    at: 20,
                },
            ) else {
                panic!("one text");
            };
            assert_eq!(kept, damaged.as_bytes());
        }
    }

    #[test]
    fn a_foreign_name_gets_a_stem_of_the_texts_own_time() {
        check_stem(
            "notes",
            "timestamp: 2026-03-01T12:30:00+02:00\n",
            "20260301_103000_",
        );
        check_stem("notes", "timestamp: 2026-03-01T12:30\n", "20260301_123000_");
        check_stem("notes", "created: 2026-03-01\n", "20260301_000000_");
        // Where none is stated, it is the time of the version.
        check_stem("notes", "timestamp: soon\n", "19700101_000001_");
        check_stem(&format!("{STEM}.conflict-0a1b2c3d"), "", &STEM[..16]);
    }

    #[track_caller]
    fn check_stem(stem: &str, keys: &str, expected: &str) {
        let file = |body: &str| format!("---\n{keys}---\n\n{body}").into_bytes();
        let (one, other) = (file("a\n"), file("b\n"));
        let (one, other) = (
            MergeSide { bytes: &one, at: 1 },
            MergeSide {
                bytes: &other,
                at: 1,
            },
        );
        let stem = Stem::from_file_name(stem);
        let Merged::Two { aside_stem, .. } = merge(&stem, None, one, other) else {
            panic!("one text");
        };
        assert!(aside_stem.is_canonical());
        assert!(aside_stem.as_str().starts_with(expected), "{aside_stem}");
    }
}
