//! Two versions of a memory become one or two, and nothing of either is lost: on random pairs.

use std::cell::Cell;
use std::collections::BTreeSet;

use chrono::DateTime;
use memdir::format;
use memdir::format::{MergeSide, Merged, has_conflict_markers};
use memdir::model::{Memory, MetaValue, Problem, Stem};
use proptest::prelude::any;
use proptest::test_runner::TestRunner;

use crate::drafts::{Dice, STEM, base, damaged, edited};
use crate::support::random;

const PAIRS: u32 = 10_000;

fn read(stem: &Stem, bytes: &[u8]) -> Memory {
    format::parse(stem, bytes, DateTime::UNIX_EPOCH)
}

fn texts_of(merged: &Merged) -> Vec<(Stem, Vec<u8>)> {
    let stem = Stem::from_file_name(STEM);
    match merged.clone() {
        Merged::One(text) => vec![(stem, text)],
        Merged::Two {
            kept,
            aside,
            aside_stem,
        } => vec![(stem, kept), (aside_stem, aside)],
    }
}

fn lines(bytes: &[u8]) -> BTreeSet<Vec<u8>> {
    bytes
        .split(|&byte| byte == b'\n')
        .map(|line| {
            line.strip_suffix(b"\r")
                .unwrap_or(line)
                .trim_ascii_end()
                .to_vec()
        })
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn random_pairs_lose_nothing_whichever_side_comes_first() {
    let (ones, twos) = (Cell::new(0_u32), Cell::new(0_u32));
    let result = TestRunner::new(random(PAIRS)).run(&any::<u64>(), |seed| {
        match check_pair(seed) {
            Merged::One(_) => ones.set(ones.get() + 1),
            Merged::Two { .. } => twos.set(twos.get() + 1),
        }
        Ok(())
    });
    let (ones, twos) = (ones.get(), twos.get());
    eprintln!("{ones} pairs became one memory, {twos} two");
    result.unwrap();
    // Both are common, or the pairs try little.
    assert!(ones > (ones + twos) / 3 && twos > (ones + twos) / 10);
}

#[test]
fn a_pair_without_a_stated_time_loses_nothing() {
    check_pair(5_945_710_497_092_606_439);
}

/// Merges the pair that follows from `seed` and checks every promise.
fn check_pair(seed: u64) -> Merged {
    let mut dice = Dice(seed);
    let draft = base(&mut dice);
    let drafts = [edited(&mut dice, &draft), edited(&mut dice, &draft)];
    let base = damaged_rarely(&mut dice, draft.bytes(), 4);
    let sides = drafts.map(|draft| damaged(&mut dice, draft.bytes()));
    let base = (!dice.once_in(12)).then_some(base);
    let base = base.as_deref();
    let at = [dice.roll(3), dice.roll(3)].map(|at| i64::try_from(at).unwrap());
    let [one, other] = [0, 1].map(|n| MergeSide {
        bytes: &sides[n],
        at: at[n],
    });
    let stem = Stem::from_file_name(STEM);
    let merged = format::merge(&stem, base, one, other);

    assert_eq!(format::merge(&stem, base, other, one), merged, "symmetric");
    for (_, text) in texts_of(&merged) {
        let side = MergeSide {
            bytes: &text,
            at: 7,
        };
        let again = Merged::One(text.clone());
        assert_eq!(format::merge(&stem, base, side, side), again);
        assert_eq!(format::merge(&stem, Some(one.bytes), one, side), again);
    }
    let is_one_later = (one.at, one.bytes) > (other.at, other.bytes);
    let (winner, loser) = if is_one_later {
        (one, other)
    } else {
        (other, one)
    };
    let memories = [winner, loser].map(|side| read(&stem, side.bytes));
    check_problems(&merged, &memories);
    check_markers(&merged, winner.bytes, loser.bytes);
    match &merged {
        Merged::One(text) => check_one(base, [winner.bytes, loser.bytes], &memories, text),
        Merged::Two { kept, aside, .. } => {
            check_two(winner.bytes, kept, b"");
            check_two(loser.bytes, aside, b"id");
        }
    }
    merged
}

fn damaged_rarely(dice: &mut Dice, bytes: Vec<u8>, chance: usize) -> Vec<u8> {
    if dice.once_in(chance) {
        damaged(dice, bytes)
    } else {
        bytes
    }
}

fn check_problems(merged: &Merged, sides: &[Memory; 2]) {
    let known = |problem: &Problem| {
        sides.iter().flat_map(|side| &side.problems).any(|known| {
            // What is wrong may say where in the key it stands, and line ends move that.
            match (known, problem) {
                (Problem::Key { key, .. }, Problem::Key { key: found, .. }) => key == found,
                (known, found) => known == found,
            }
        })
    };
    for (stem, text) in texts_of(merged) {
        for problem in read(&stem, &text).problems {
            assert!(known(&problem), "{problem:?}");
        }
    }
}

fn check_markers(merged: &Merged, winner: &[u8], loser: &[u8]) {
    let known: BTreeSet<Vec<u8>> = lines(winner).union(&lines(loser)).cloned().collect();
    for (_, text) in texts_of(merged) {
        let is_marker = |line: &&Vec<u8>| {
            [&b"<<<<<<<"[..], b"=======", b">>>>>>>"]
                .iter()
                .any(|mark| line.starts_with(mark))
        };
        assert!(
            lines(&text)
                .iter()
                .filter(is_marker)
                .all(|line| known.contains(line))
        );
        let was_marked = has_conflict_markers(winner) || has_conflict_markers(loser);
        assert!(was_marked || !has_conflict_markers(&text));
    }
}

/// Every line of `side` but the one of its id stands in `text`, and its links are there.
fn check_two(side: &[u8], text: &[u8], but: &[u8]) {
    let mut inside = text;
    if text.ends_with(side) {
        return;
    }
    if inside.starts_with(b"\xef\xbb\xbf") {
        inside = &inside[3..];
    }
    let known = lines(inside);
    let stem = Stem::from_file_name(STEM);
    for line in lines(side.strip_prefix(b"\xef\xbb\xbf").unwrap_or(side)) {
        let is_id = !but.is_empty() && line.starts_with(but);
        // A link more may be written on the line of the others.
        if !known.contains(&line) && !is_id && !line.starts_with(b"links:") {
            panic!("lost: {}", String::from_utf8_lossy(&line));
        }
    }
    let (old, new) = (read(&stem, side), read(&stem, text));
    assert!(old.links.iter().all(|link| new.links.contains(link)));
    assert_eq!(old.content, new.content);
}

/// One text holds what either side changed.
fn check_one(base: Option<&[u8]>, sides: [&[u8]; 2], memories: &[Memory; 2], text: &[u8]) {
    let [winner, loser] = sides;
    let stem = Stem::from_file_name(STEM);
    let is_blank = |bytes: &[u8]| bytes.trim_ascii().is_empty();
    if is_blank(winner) || is_blank(loser) || Some(winner) == base || Some(loser) == base {
        return;
    }
    let Some(base) = base else {
        assert_eq!(text, winner);
        return;
    };
    let [ours, theirs] = memories;
    let [old, merged] = [base, text].map(|text| read(&stem, text));
    check_body(&old, ours, theirs, &merged);
    check_comments(base, winner, loser, text);
    for (side, other) in [(ours, theirs), (theirs, ours)] {
        check_scalars(&old, side, &merged);
        check_lists(&old, side, other, &merged);
        check_metadata(&old, side, other, &merged);
    }
    // The later side's number, and the later moment.
    if ours.importance != old.importance && ours.importance.is_some() {
        assert_eq!(merged.importance, ours.importance);
    }
    if ours.confidence != old.confidence && ours.confidence.is_some() {
        assert_eq!(merged.confidence, ours.confidence);
    }
    let moment = |memory: &Memory| memory.expires.as_ref().map(|at| at.as_str().to_owned());
    if moment(ours) != moment(&old) && moment(theirs) != moment(&old) {
        let day = |memory: &Memory| moment(memory).map(|text| text[..10].to_owned());
        assert_eq!(day(&merged), day(ours).max(day(theirs)));
    }
}

fn check_body(old: &Memory, ours: &Memory, theirs: &Memory, merged: &Memory) {
    let [old, ours, theirs, merged] =
        [old, ours, theirs, merged].map(|memory| lines(memory.content.as_bytes()));
    for side in [&ours, &theirs] {
        for line in side.difference(&old) {
            assert!(merged.contains(line), "{}", String::from_utf8_lossy(line));
        }
    }
    for line in &merged {
        assert!(ours.contains(line) || theirs.contains(line));
        // What one side removed and the other did not write is gone; most lines stand once.
        let is_single = line.starts_with(b"- ") && line.last().is_some_and(u8::is_ascii_digit);
        if is_single && old.contains(line) {
            assert!(ours.contains(line) && theirs.contains(line));
        }
    }
}

fn check_comments(base: &[u8], winner: &[u8], loser: &[u8], text: &[u8]) {
    let is_comment = |line: &&Vec<u8>| line.starts_with(b"# note");
    let [old, ours, theirs, merged] = [base, winner, loser, text].map(lines);
    for side in [&ours, &theirs] {
        for line in side.difference(&old).filter(is_comment) {
            assert!(merged.contains(line), "{}", String::from_utf8_lossy(line));
        }
    }
    for line in ours.intersection(&theirs).filter(is_comment) {
        assert!(merged.contains(line), "{}", String::from_utf8_lossy(line));
    }
}

fn is_without_timestamp(problem: &Problem) -> bool {
    match problem {
        Problem::MissingKey(key) => *key == "timestamp",
        Problem::Key { key, .. } => key == "timestamp",
        _ => false,
    }
}

fn check_scalars(old: &Memory, side: &Memory, merged: &Memory) {
    let texts = |memory: &Memory| {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        [
            memory.id.clone(),
            // One that is not stated follows from other keys, which have rules of their own.
            match memory.problems.iter().any(is_without_timestamp) {
                true => String::new(),
                false => memory.timestamp.as_str().to_owned(),
            },
            memory.agent.clone(),
            memory.user.clone(),
            text(&memory.title),
            text(&memory.namespace),
            text(&memory.source),
            text(&memory.status),
            text(&memory.superseded_by),
            memory
                .kind
                .map_or_else(String::new, |kind| kind.to_string()),
        ]
    };
    let fields = texts(old).into_iter().zip(texts(side)).zip(texts(merged));
    for ((old, new), merged) in fields {
        assert!(old == new || new.is_empty() || merged == new, "lost: {new}");
    }
    for (key, value) in &side.unknown {
        let value = value.replace('\r', "");
        let is = |memory: &Memory| {
            let mut entries = memory.unknown.iter();
            entries.any(|(known, text)| known == key && text.replace('\r', "") == value)
        };
        let by_rule = ["updated", "aliases"].contains(&key.as_str());
        assert!(by_rule || is(old) || is(merged), "lost: {key}: {value}");
    }
}

fn check_lists(old: &Memory, side: &Memory, other: &Memory, merged: &Memory) {
    let aliases = |memory: &Memory| {
        let found = memory.unknown.iter().find(|(key, _)| key == "aliases");
        let text = found.map_or("", |(_, text)| text);
        text.split(|c: char| c.is_whitespace() || "[],\"".contains(c))
            .filter(|word| !word.is_empty() && *word != "-")
            .map(str::to_owned)
            .collect()
    };
    let links = |memory: &Memory| {
        let links = memory.links.iter();
        links
            .map(|link| format!("{} {}", link.to, link.relation))
            .collect()
    };
    let all = |memory: &Memory| -> [BTreeSet<String>; 4] {
        [
            memory.topics.iter().cloned().collect(),
            memory.supersedes.iter().cloned().collect(),
            links(memory),
            aliases(memory),
        ]
    };
    let is_damaged = [old, side, other]
        .iter()
        .any(|text| !text.problems.is_empty());
    let (old, side, other, merged) = (all(old), all(side), all(other), all(merged));
    for list in 0..4 {
        for item in &side[list] {
            let is_expected = !old[list].contains(item) || other[list].contains(item);
            let is_found = merged[list].contains(item);
            assert!(is_found >= is_expected, "lost: {item}");
            // Of a damaged list nobody knows what was removed.
            assert!(is_found == is_expected || is_damaged, "still there: {item}");
        }
        let is_known = |item: &String| side[list].contains(item) || other[list].contains(item);
        assert!(merged[list].iter().all(is_known));
    }
}

fn check_metadata(old: &Memory, side: &Memory, other: &Memory, merged: &Memory) {
    let get = |memory: &Memory, key: &str| -> Option<MetaValue> {
        let entry = memory.metadata.iter().find(|(known, _)| known == key);
        entry.map(|(_, value)| value.clone())
    };
    for (key, value) in &side.metadata {
        let was = get(old, key);
        if was.as_ref() == Some(value) {
            continue;
        }
        let is = get(merged, key);
        // Where both changed an entry, one of the two counts.
        let both = get(other, key) != was && get(other, key).is_some();
        assert!(
            is.as_ref() == Some(value) || (both && is.is_some()),
            "lost: {key}"
        );
    }
}
