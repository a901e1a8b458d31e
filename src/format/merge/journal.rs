//! Unites two versions of a journal, line by line.
//!
//! Promises: the same result whichever side comes first; a line that a side added is there, one
//! that a side removed and the other one did not write again is not, and none stands more often
//! than in the side that has it most often. A last line without an end gets one, so that nothing is
//! glued to it. What a line says is the business of others, but for the moment `t` that it may name.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

/// Unites what two sides made of the journal `base`, which is empty where they have none in common.
///
/// Lines with which both begin come first. Further lines stand in the order of their moments; one
/// without a moment stays behind the line before it. Each side's lines keep their order.
pub fn unite_journals(base: &[u8], one: &[u8], other: &[u8]) -> Vec<u8> {
    if one == other || base == other {
        return one.to_vec();
    }
    if base == one {
        return other.to_vec();
    }
    // Of lines of one moment those of either side may come first, as long as it is always the same.
    let [base, first, second] = [base, one.min(other), one.max(other)].map(lines);
    let mut left = counts(&base, &first, &second);
    let mut united = Vec::with_capacity(one.len() + other.len());
    let pairs = first.iter().zip(&second);
    let common = pairs.take_while(|(one, other)| one == other).count();
    for line in &first[..common] {
        put(line, &mut left, &mut united);
    }
    let (mut first, mut second) = (
        DatedLines::of(&first[common..]),
        DatedLines::of(&second[common..]),
    );
    loop {
        let side = match (first.moment(), second.moment()) {
            (None, None) => return united,
            (Some(_), None) => &mut first,
            (None, Some(_)) => &mut second,
            (Some(one), Some(other)) if one <= other => &mut first,
            _ => &mut second,
        };
        put(side.take(), &mut left, &mut united);
    }
}

/// Lines that are still to be put down, in their order.
struct DatedLines<'a> {
    lines: Vec<(Cow<'a, str>, &'a [u8])>,
    next: usize,
}

impl<'a> DatedLines<'a> {
    fn of(lines: &[&'a [u8]]) -> DatedLines<'a> {
        let mut last = Cow::Borrowed("");
        let dated = |line: &&'a [u8]| {
            if let Some(moment) = moment_of(line) {
                last = moment;
            }
            (last.clone(), *line)
        };
        DatedLines {
            lines: lines.iter().map(dated).collect(),
            next: 0,
        }
    }

    /// Returns the next line's; `None` after the last one.
    fn moment(&self) -> Option<&str> {
        let (moment, _) = self.lines.get(self.next)?;
        Some(moment)
    }

    fn take(&mut self) -> &'a [u8] {
        self.next += 1;
        self.lines[self.next - 1].1
    }
}

/// The moment at which a line was written, as text that sorts.
#[derive(Deserialize)]
struct Dated<'a> {
    #[serde(borrow)]
    t: Cow<'a, str>,
}

fn moment_of(line: &[u8]) -> Option<Cow<'_, str>> {
    let dated: Dated<'_> = serde_json::from_slice(line).ok()?;
    Some(dated.t)
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .collect()
}

/// Counts how often each line is to stand in the result.
fn counts<'a>(base: &[&'a [u8]], one: &[&'a [u8]], other: &[&'a [u8]]) -> HashMap<&'a [u8], usize> {
    let mut seen: HashMap<&[u8], [usize; 3]> = HashMap::new();
    for (at, side) in [base, one, other].into_iter().enumerate() {
        for line in side {
            seen.entry(line).or_default()[at] += 1;
        }
    }
    let wanted = |[base, one, other]: [usize; 3]| {
        let kept = base.min(one).min(other);
        kept + one.max(other).saturating_sub(base)
    };
    seen.into_iter()
        .map(|(line, counts)| (line, wanted(counts)))
        .collect()
}

fn put<'a>(line: &'a [u8], left: &mut HashMap<&'a [u8], usize>, united: &mut Vec<u8>) {
    let Some(left) = left.get_mut(line).filter(|left| **left > 0) else {
        return;
    };
    *left -= 1;
    united.extend_from_slice(line);
    united.push(b'\n');
}

#[cfg(test)]
mod tests {
    use proptest::collection;
    use proptest::prelude::*;

    use super::*;

    /// Words stand for lines; one that begins with digits has them as its moment.
    fn text(words: &str) -> Vec<u8> {
        let line = |word: &str| match word.find(|c: char| !c.is_ascii_digit()) {
            Some(0) | None => format!("{word}\n"),
            Some(at) => format!("{{\"t\":\"{}\",\"id\":\"{}\"}}\n", &word[..at], &word[at..]),
        };
        words
            .split_whitespace()
            .map(line)
            .collect::<String>()
            .into()
    }

    #[track_caller]
    fn check(base: &str, one: &str, other: &str, expected: &str) {
        check_bytes(&text(base), &text(one), &text(other), &text(expected));
    }

    #[track_caller]
    fn check_bytes(base: &[u8], one: &[u8], other: &[u8], expected: &[u8]) {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let united = unite_journals(base, one, other);
        assert_eq!(shown(&united), shown(expected));
        let united = unite_journals(base, other, one);
        assert_eq!(shown(&united), shown(expected));
    }

    #[test]
    fn what_both_appended_stands_in_the_order_of_time() {
        check("1a 2b", "1a 2b 3c 6d", "1a 2b 4e 5f", "1a 2b 3c 4e 5f 6d");
        check("", "1a 3c", "2b", "1a 2b 3c");
        check("1a", "1a 2b", "1a 2b 3c", "1a 2b 3c");
        check("1a", "1a 2b 4d", "1a 3c 2b", "1a 2b 3c 4d");
        // Without a moment a line stays where its side has it.
        check("1a", "1a 2b x 5c", "1a 3d y", "1a 2b x 3d y 5c");
        // A clock that was set back reorders nothing.
        check("", "5a 1b", "3c", "3c 5a 1b");
    }

    #[test]
    fn what_one_side_removed_is_gone_and_what_the_other_added_stays() {
        check("1a 2b 3c", "3c", "1a 2b 3c 4d", "3c 4d");
        check("1a 2b", "", "1a 2b 3c", "3c");
        check("1a 2b 3c", "1a 3c", "2b 3c", "3c");
        check("1a 2b", "2b 3c", "1a 2b", "2b 3c");
        check("1a", "", "1a 1a", "1a");
    }

    #[test]
    fn a_line_stands_as_often_as_a_side_has_it() {
        check("", "1a 1a", "1a", "1a 1a");
        check("1a", "1a 2b 2b", "1a 2b", "1a 2b 2b");
        check("", "x x y", "x y y", "x x y y");
    }

    #[test]
    fn a_torn_line_is_a_line_of_its_own() {
        check_bytes(b"a\n", b"a\n{\"t\":\"2", b"a\nb\n", b"a\nb\n{\"t\":\"2\n");
        check_bytes(b"", b"a", b"b", b"a\nb\n");
        // What was half there when it was committed is whole by now.
        check_bytes(b"a\nhal", b"a\nhalf\n", b"a\nhal\nb\n", b"a\nb\nhalf\n");
        check_bytes(b"", b"a", b"a\n", b"a\n");
    }

    #[test]
    fn a_side_that_changed_nothing_gives_way_to_the_byte() {
        let torn = b"\n\n\xff\0 torn";
        check_bytes(b"a\n", b"a\n", torn, torn);
        check_bytes(b"", torn, torn, torn);
    }

    #[test]
    fn bytes_that_are_no_journal_do_no_harm() {
        let (deep, long) = ("[".repeat(100_000), "x".repeat(5 << 20));
        let one = format!("{{\"t\":{deep}\n{long}\n");
        let united = unite_journals(b"", one.as_bytes(), b"\x00\xfe\n");
        assert_eq!(united.len(), one.len() + 3);
    }

    /// Returns a line out of few, so that both sides often write the same.
    fn line(number: u8) -> Vec<u8> {
        match number % 8 {
            0 => b"no moment".to_vec(),
            _ => format!("{{\"t\":\"2026-01-0{}\",\"id\":{number}}}", number % 8).into_bytes(),
        }
    }

    fn written(numbers: &[u8], is_torn: bool) -> Vec<u8> {
        let lines: Vec<Vec<u8>> = numbers.iter().map(|number| line(*number)).collect();
        let mut text = lines.join(&b'\n');
        if !is_torn && !text.is_empty() {
            text.push(b'\n');
        }
        text
    }

    fn count(text: &[u8], wanted: &[u8]) -> usize {
        lines(text).iter().filter(|line| **line == wanted).count()
    }

    type Change = (u16, Vec<u8>, bool);

    /// Returns a side's version of `base`: without the lines that the mask names, with more at the
    /// end.
    fn changed(base: &[u8], (removed, added, is_torn): &Change) -> Vec<u8> {
        let kept = base.iter().enumerate();
        let kept = kept.filter(|(at, _)| removed & (1 << (at % 16)) == 0);
        let numbers: Vec<u8> = kept
            .map(|(_, number)| *number)
            .chain(added.clone())
            .collect();
        written(&numbers, *is_torn)
    }

    fn change() -> impl Strategy<Value = Change> {
        let added = collection::vec(0..40_u8, 0..8);
        // Most sides remove nothing.
        let removed = prop_oneof![3 => Just(0_u16), 1 => any::<u16>()];
        (removed, added, any::<bool>())
    }

    proptest! {
        #[test]
        fn no_line_is_lost_and_none_doubled_whichever_side_comes_first(
            base in collection::vec(0..40_u8, 0..12),
            one in change(),
            other in change(),
        ) {
            let sides = [changed(&base, &one), changed(&base, &other)];
            let base = written(&base, false);
            let united = unite_journals(&base, &sides[0], &sides[1]);
            prop_assert_eq!(&united, &unite_journals(&base, &sides[1], &sides[0]));
            // Both sides have it now: nothing more comes of it.
            prop_assert_eq!(&united, &unite_journals(&base, &united, &united));
            for number in 0..40 {
                let line = line(number);
                let [before, one, other] = [&base, &sides[0], &sides[1]].map(|text| count(text, &line));
                let now = count(&united, &line);
                let most = one.max(other);
                prop_assert!(now <= most && now >= most.saturating_sub(before));
                prop_assert!(one.min(other) < before || now == most);
                prop_assert!(one.max(other) > before || now == one.min(other));
            }
        }
    }
}
