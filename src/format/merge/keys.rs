//! Merges two frontmatters key by key.
//!
//! Promises: what one side changed is as that side wrote it, to the byte; no comment that either
//! side wrote is lost. Says no where two values differ and no rule decides between them.

use chrono::{DateTime, Utc};

use super::changed_once::changed_once;
use super::front::{Front, FrontKey};
use crate::format::comment::comment_of;
use crate::format::lists::{self, List, ListKind};
use crate::format::mapping::Mapping;
use crate::format::read::{KEYS, RAW_KEYS};
use crate::format::{danger, limits, scalar, value};
use crate::model::{MetaValue, Timestamp};

/// Merges what `winner` and `loser` made of `base`; `None` if they contradict.
///
/// The keys have the winner's order; those that only the loser has follow.
pub(super) fn merge(
    base: &Front<'_>,
    winner: &Front<'_>,
    loser: &Front<'_>,
    newline: &str,
) -> Option<String> {
    let known = [base, winner, loser].map(Front::comment_lines);
    let [in_base, in_winner, in_loser] = known;
    let is_kept = |line: &&&str| {
        let text = line.trim();
        !in_base.contains(text) || in_loser.contains(text)
    };
    let is_new = |line: &&&str| {
        let text = line.trim();
        !text.is_empty() && !in_base.contains(text) && !in_winner.contains(text)
    };
    let mut merged = String::new();
    let only_in_loser = loser
        .keys
        .iter()
        .filter(|key| winner.key(&key.name).is_none());
    for key in winner.keys.iter().chain(only_in_loser) {
        let [old, ours, theirs] = [base, winner, loser].map(|side| side.key(&key.name));
        let our_lines = ours.iter().flat_map(|key| &key.above).filter(is_kept);
        let their_lines = theirs.iter().flat_map(|key| &key.above).filter(is_new);
        let lines: Vec<&str> = our_lines.chain(their_lines).copied().collect();
        match of_key(old, ours, theirs, newline)? {
            Some(text) => {
                merged.extend(lines);
                merged.push_str(&text);
            }
            // A comment may be about more than the key below it.
            None => merged.extend(lines.iter().copied().filter(|line| !line.trim().is_empty())),
        }
    }
    merged.extend(winner.tail.iter().filter(is_kept).copied());
    merged.extend(loser.tail.iter().filter(is_new).copied());
    has_every_comment(base, winner, loser, &merged).then_some(merged)
}

/// Returns whether `merged` holds the comments that neither side removed.
fn has_every_comment(
    base: &Front<'_>,
    winner: &Front<'_>,
    loser: &Front<'_>,
    merged: &str,
) -> bool {
    let [old, ours, theirs] = [base, winner, loser].map(Front::comments);
    let is_there = |comment: &String| merged.contains(comment);
    ours.symmetric_difference(&theirs)
        .filter(|comment| !old.contains(*comment))
        .all(is_there)
        && ours.intersection(&theirs).all(is_there)
}

/// Returns the lines of one key in the result, `None` for none; no answer if the sides contradict.
fn of_key(
    base: Option<&FrontKey<'_>>,
    winner: Option<&FrontKey<'_>>,
    loser: Option<&FrontKey<'_>>,
    newline: &str,
) -> Option<Option<String>> {
    let [old, ours, theirs] = [base, winner, loser].map(|key| key.map(|key| key.whole));
    if let Some(lines) = changed_once(old, ours, theirs) {
        return Some(lines.map(str::to_owned));
    }
    let name = winner.or(loser)?.name.as_str();
    let list = |kind| of_list(kind, base, winner, loser, newline);
    let merged = match name {
        "metadata" => return of_metadata(base, winner, loser, newline),
        "topics" | "tags" | "supersedes" => list(ListKind::Words),
        "links" => list(ListKind::Links),
        _ if KEYS.contains(&name) => None,
        _ => list(ListKind::Any),
    };
    merged.or_else(|| of_scalar(name, base, winner, loser))
}

/// Merges lists; no answer if one of the values is none.
fn of_list(
    kind: ListKind,
    base: Option<&FrontKey<'_>>,
    winner: Option<&FrontKey<'_>>,
    loser: Option<&FrontKey<'_>>,
    newline: &str,
) -> Option<Option<String>> {
    let mut lists = Vec::new();
    for key in [base, winner, loser] {
        lists.push(match key {
            Some(key) => {
                if danger::find(&format!("{}\n{}", key.value, key.below)).is_some() {
                    return None;
                }
                Some(List::read(kind, key.value, key.below)?)
            }
            None => None,
        });
    }
    let [old, ours, theirs] = [&lists[0], &lists[1], &lists[2]].map(Option::as_ref);
    let items = lists::merge(old, ours, theirs);
    if items.is_empty() && (ours.is_none() || theirs.is_none()) {
        return Some(None);
    }
    let sides = [(winner, ours), (loser, theirs)];
    let sides = sides
        .into_iter()
        .filter_map(|(key, list)| Some((key?, list?)));
    let sides: Vec<(&FrontKey<'_>, &List<'_>)> = sides.collect();
    let as_written = sides.iter().find(|(_, list)| {
        list.items.len() == items.len() && items.iter().all(|item| list.items.contains(item))
    });
    if let Some((key, _)) = as_written {
        return Some(Some(key.whole.to_owned()));
    }
    let (key, list) = sides.first()?;
    Some(Some(list.write(kind, key.head, &items, newline)))
}

/// Merges mappings entry by entry; no answer if one cannot be read, or the result not be written.
fn of_metadata(
    base: Option<&FrontKey<'_>>,
    winner: Option<&FrontKey<'_>>,
    loser: Option<&FrontKey<'_>>,
    newline: &str,
) -> Option<Option<String>> {
    let mut maps = Vec::new();
    for key in [base, winner, loser] {
        maps.push(match key {
            Some(key) => value::read_metadata(key.value, key.below).ok()?,
            None => Vec::new(),
        });
    }
    let merged = merge_maps(&maps[0], &maps[1], &maps[2]);
    for (key, map) in [(winner, &maps[1]), (loser, &maps[2])] {
        if *map == merged {
            return Some(key.map(|key| key.whole.to_owned()));
        }
    }
    limits::check_metadata(&merged).ok()?;
    let Some(key) = winner.or(loser).filter(|_| !merged.is_empty()) else {
        return Some(None);
    };
    let sides = [winner, loser].into_iter().flatten();
    let sides: Vec<Mapping<'_>> = sides
        .filter_map(|key| Mapping::read(key.value, key.below))
        .collect();
    let kept = sides
        .split_first()
        .and_then(|(first, others)| first.write(others, &merged, key.head, newline));
    if kept.is_some() {
        return Some(kept);
    }
    let comment = match key.below {
        "" => comment_of("metadata", key.value),
        _ => String::new(),
    };
    let text = value::write_metadata(&merged);
    Some(Some(format!("{} {text}{comment}{newline}", key.head)))
}

type Map = [(String, MetaValue)];

/// Returns the winner's entries in its order, then those that only the loser has. Where both changed an
/// entry the winner's counts, and a change counts more than a removal.
fn merge_maps(base: &Map, winner: &Map, loser: &Map) -> Vec<(String, MetaValue)> {
    fn get<'a>(map: &'a Map, key: &str) -> Option<&'a MetaValue> {
        let entry = map.iter().find(|(known, _)| known == key);
        entry.map(|(_, value)| value)
    }
    let only_in_loser = loser.iter().filter(|(key, _)| get(winner, key).is_none());
    let keys = winner.iter().chain(only_in_loser).map(|(key, _)| key);
    keys.filter_map(|key| {
        let (old, ours, theirs) = (get(base, key), get(winner, key), get(loser, key));
        let merged = match changed_once(old, ours, theirs) {
            Some(value) => value.cloned(),
            None => match (ours, theirs) {
                (Some(MetaValue::Map(ours)), Some(MetaValue::Map(theirs))) => {
                    let old = match old {
                        Some(MetaValue::Map(old)) => old.as_slice(),
                        _ => &[],
                    };
                    Some(MetaValue::Map(merge_maps(old, ours, theirs)))
                }
                _ => ours.or(theirs).cloned(),
            },
        };
        Some((key.clone(), merged?))
    })
    .collect()
}

/// Decides between two scalars; no answer if no rule does.
fn of_scalar(
    name: &str,
    base: Option<&FrontKey<'_>>,
    winner: Option<&FrontKey<'_>>,
    loser: Option<&FrontKey<'_>>,
) -> Option<Option<String>> {
    let [old, ours, theirs] = [base, winner, loser].map(|key| key.map(meaning));
    // An empty value is an absent one.
    let is_absent = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
    let is_loser_right = if ours == theirs || old == theirs {
        false
    } else if old == ours {
        true
    } else if is_absent(&theirs) || is_absent(&ours) {
        !is_absent(&theirs)
    } else if matches!(name, "importance" | "confidence") {
        false
    } else if is_count(name)
        && let (Some(ours), Some(theirs)) = (count(&ours), count(&theirs))
    {
        theirs > ours
    } else if is_time(name) {
        moment(&theirs?)? > moment(&ours?)?
    } else {
        return None;
    };
    let right = if is_loser_right { loser } else { winner };
    Some(right.map(|key| key.whole.to_owned()))
}

/// Returns the value of a key as a text that is equal for values that mean the same.
fn meaning(key: &FrontKey<'_>) -> String {
    if !key.below.trim().is_empty() {
        // No one-line value holds a line break.
        return format!("{}\n{}", key.value, key.below);
    }
    let name = key.name.as_str();
    if RAW_KEYS.contains(&name) {
        return scalar::read_raw(key.value).into_owned();
    }
    let text = scalar::read(key.value);
    match name {
        "kind" | "scope" | "tier" => text.trim().to_lowercase(),
        _ => text.into_owned(),
    }
}

/// Returns whether a key says when something was last the case, so that the later of two is right.
fn is_time(name: &str) -> bool {
    let last = name.strip_prefix("last");
    matches!(
        name,
        "expires" | "updated" | "updated_at" | "modified" | "modified_at"
    ) || last.is_some_and(|rest| rest.starts_with(['_', '-']))
}

/// Returns whether a key says how often something was done, so that the larger of two numbers is right.
fn is_count(name: &str) -> bool {
    let is_read = ["access", "use", "usage", "recall", "view", "hit", "read"];
    let noun = name.strip_suffix("_count").or(name.strip_suffix("-count"));
    noun.is_some_and(|noun| is_read.contains(&noun))
}

fn count(text: &Option<String>) -> Option<u64> {
    text.as_ref()?.trim().parse().ok()
}

/// Returns whether programs write a key by themselves: two texts that differ in it alone say the same.
pub(super) fn is_kept_by_programs(name: &str) -> bool {
    is_count(name) || name != "expires" && is_time(name)
}

/// Returns the moment that a text states, the same on every machine: without an offset it is UTC.
pub(super) fn moment(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    ["+00:00", ":00+00:00", "T00:00:00+00:00", ""]
        .iter()
        .find_map(|rest| Timestamp::parse(&format!("{text}{rest}")))
        .map(|timestamp| timestamp.utc())
}

#[cfg(test)]
mod tests {
    use crate::format::{MergeSide, Merged, merge};
    use crate::model::Stem;

    fn file(keys: &str) -> String {
        let head = "id: 1f3a9c02\ntimestamp: 2026-01-14T09:15:00Z\nagent: claude\nuser: mira\n";
        format!("---\n{head}{keys}---\n\nText.\n")
    }

    /// Merges keys; `expected` is `None` where both texts must stay.
    #[track_caller]
    fn check(base: &str, later: &str, earlier: &str, expected: Option<&str>) {
        let stem = Stem::from_file_name("20260114_091500_1f3a9c02");
        let [base, later, earlier] = [base, later, earlier].map(file);
        let [later, earlier] = [(&later, 20), (&earlier, 10)].map(|(text, at)| MergeSide {
            bytes: text.as_bytes(),
            at,
        });
        let merged = merge(&stem, Some(base.as_bytes()), later, earlier);
        assert_eq!(merge(&stem, Some(base.as_bytes()), earlier, later), merged);
        let one = match merged {
            Merged::One(text) => Some(String::from_utf8(text).unwrap()),
            Merged::Two { .. } => None,
        };
        assert_eq!(one, expected.map(file));
    }

    #[test]
    fn changes_of_different_keys_are_merged() {
        check(
            "title: a\nkind: semantic\n",
            "title: b\nkind: semantic\n",
            "title: a\n",
            Some("title: b\n"),
        );
        check(
            "x: 1\n",
            "y: 2 # new\nx: 1\n",
            "# why\nz: |\n  3\nx: 1\n",
            Some("y: 2 # new\nx: 1\n# why\nz: |\n  3\n"),
        );
        check(
            "x: 1\ny: 1\n",
            "y: 1\nx: 1\n",
            "x: 1\ny: 2\n",
            Some("y: 2\nx: 1\n"),
        );
    }

    #[test]
    fn changes_to_the_same_meaning_are_one_change() {
        check(
            "title: a\n",
            "title: \"b\"\n",
            "title: b\n",
            Some("title: \"b\"\n"),
        );
        check(
            "title: a\n",
            "title: 'a'\n",
            "title: b\n",
            Some("title: b\n"),
        );
        check(
            "kind: entity\n",
            "kind: Semantic\n",
            "kind: semantic\n",
            Some("kind: Semantic\n"),
        );
        check("x: 1\n", "", "x: 2\n", Some("x: 2\n"));
        check("x: 1\n", "", "x: \"1\"\n", Some(""));
        check("x: 1\n", "x:\n", "x: 2\n", Some("x: 2\n"));
    }

    #[test]
    fn values_that_no_rule_decides_make_two_memories() {
        check("title: a\n", "title: b\n", "title: c\n", None);
        check("", "status: b\n", "status: c\n", None);
        check("", "superseded_by: b\n", "superseded_by: c\n", None);
        check("x: a\n", "x: b\n", "x: [c]\n", None);
        check(
            "",
            "agent2: a # b\n",
            "agent2: a\n",
            Some("agent2: a # b\n"),
        );
        check("", "agent2: a\n", "agent2: a # b\n", None);
    }

    #[test]
    fn the_later_value_of_numbers_and_the_later_time_count() {
        check(
            "importance: 1\n",
            "importance: 2\n",
            "importance: 9\n",
            Some("importance: 2\n"),
        );
        check(
            "",
            "confidence: 0.5\n",
            "confidence: 0.9\n",
            Some("confidence: 0.5\n"),
        );
        check(
            "expires: 2026-01-01\n",
            "expires: 2026-02-01\n",
            "expires: 2026-02-01T00:30:00+01:00\n",
            Some("expires: 2026-02-01\n"),
        );
        check(
            "",
            "updated: 2026-02-01T10:00\n",
            "updated: 2026-02-01T12:00:00+01:00\n",
            Some("updated: 2026-02-01T12:00:00+01:00\n"),
        );
        check(
            "",
            "last_seen: 2026-02-01\n",
            "last_seen: 2026-03-01\n",
            Some("last_seen: 2026-03-01\n"),
        );
        // What nobody can compare is kept by programs all the same: no second memory for it.
        check(
            "",
            "last_seen: once\n",
            "last_seen: 2026-03-01\n",
            Some("last_seen: once\n"),
        );
    }

    #[test]
    fn the_larger_of_two_counts_counts() {
        check(
            "access_count: 1\ntitle: a\n",
            "access_count: 5\ntitle: b\n",
            "access_count: 7\ntitle: a\n",
            Some("access_count: 7\ntitle: b\n"),
        );
        check(
            "",
            "use-count: 12\n",
            "use-count: 9\n",
            Some("use-count: 12\n"),
        );
        check("count: 1\n", "count: 5\n", "count: 7\n", None);
    }

    #[test]
    fn lists_are_merged_as_sets() {
        check(
            "topics: [a, b]\n",
            "topics: [a, b, c]\n",
            "topics: [b, d]\n",
            Some("topics: [b, d, c]\n"),
        );
        check(
            "topics: [a, b]\n",
            "topics: [b, a]\n",
            "topics: [a]\n",
            Some("topics: [a]\n"),
        );
        check(
            "",
            "topics: [a] # why\n",
            "topics: [b, c d]\n",
            Some("topics: [b, c d, a] # why\n"),
        );
        check(
            "topics: [a]\n",
            "",
            "topics: [a, b]\n",
            Some("topics: [b]\n"),
        );
        check("topics: [a, b]\n", "", "topics: [a]\n", Some(""));
        check(
            "topics: [\"a\"]\n",
            "topics: a, b\n",
            "topics: [\"a\", \"c\"]\n",
            Some("topics: [a, c, b]\n"),
        );
        check(
            "topics:\n  - a # one\n  - b\n",
            "topics:\n  - a # one\n  - b\n  # more\n  - \"c\"\n",
            "topics:\n- a # one\n- d\n",
            Some("topics:\n  - a # one\n  - d\n  # more\n  - \"c\"\n"),
        );
        check(
            "supersedes: []\n",
            "supersedes: [ax]\n",
            "supersedes: [bx]\n",
            Some("supersedes: [bx, ax]\n"),
        );
        check(
            "aliases: [1, 'b']\n",
            "aliases: [1, 'b', {x: y}]\n",
            "aliases: [1, 2026-01-01]\n",
            Some("aliases: [1, 2026-01-01, {x: y}]\n"),
        );
        check(
            "notes:\n  - a\n",
            "notes:\n  - a\n  - |\n    # long\n\n    text\n",
            "notes: [a, b]\n",
            Some("notes:\n  - a\n  - b\n  - |\n    # long\n\n    text\n"),
        );
        check(
            "topics: [a]\n",
            "topics: [\"a, b]\n",
            "topics: [a, b]\n",
            None,
        );
        check("x: [a]\n", "x: [a, *b]\n", "x: [a, c]\n", None);
    }

    #[test]
    fn links_are_merged_as_sets() {
        check(
            "links:\n  - {to: a, type: b}\n",
            "links:\n  - {to: a, type: b}\n  - {to: c, type: d, note: kept}\n",
            "links:\n  - {type: b, to: a}\n  - to: e\n    type: f\n",
            Some(
                "links:\n  - {type: b, to: a}\n  - to: e\n    type: f\n  - {to: c, type: d, note: kept}\n",
            ),
        );
        check(
            "",
            "links: [a]\n",
            "links: [b, {to: c, type: d}]\n",
            Some("links: [b, {to: c, type: d}, a]\n"),
        );
    }

    #[test]
    fn metadata_is_merged_entry_by_entry() {
        check(
            "metadata: {\"a\": \"see #1\"} # why\n",
            "metadata: {\"a\": \"see #1\", \"b\": 1} # why\n",
            "metadata: {\"a\": \"see #1\", \"c\": 1} # why\n",
            Some("metadata: {\"a\": \"see #1\", \"b\": 1, \"c\": 1} # why\n"),
        );
        check(
            "metadata: {\"a\": 1, \"b\": 1, \"c\": 1, \"e\": 1}\n",
            "metadata: {\"a\": 2, \"b\": 1, \"e\": 2}\n",
            "metadata: {\"a\": 1, \"b\": 3, \"c\": 1, \"d\": 4, \"e\": 3}\n",
            Some("metadata: {\"a\": 2, \"b\": 3, \"e\": 2, \"d\": 4}\n"),
        );
        check(
            "metadata:\n  deep: {x: 1}\n",
            "metadata:\n  deep: {x: 1, y: \"see\"}\n",
            "metadata:\n  deep: {x: 1, z: 2}\n",
            Some("metadata: {\"deep\": {\"x\": 1, \"y\": \"see\", \"z\": 2}}\n"),
        );
        check(
            "metadata: {a: 1}\n",
            "",
            "metadata: {a: 1, b: 2}\n",
            Some("metadata: {b: 2}\n"),
        );
        // The texts of both sides stay, though YAML reads them as numbers.
        check(
            "metadata:\n  version: 1.0\n  same: 1\n",
            "metadata:\n  version: 1.10 # the next one\n  same: 1\n",
            "metadata:\n  version: 1.0\n  # by hand\n  phone: +4915112345678\n  same: 1\n",
            Some(
                "metadata:\n  version: 1.10 # the next one\n  same: 1\n  # by hand\n  phone: +4915112345678\n",
            ),
        );
        check("", "metadata: {a: &x 1}\n", "metadata: {b: 2}\n", None);
    }

    #[test]
    fn comments_of_both_sides_stay() {
        check(
            "# old\n# gone\nx: 1\n# end\n",
            "# old\n# gone\n# ours\nx: 2\n# end\n",
            "# old\nx: 1\n# theirs\ny: 1\n# end\n# last\n",
            Some("# old\n# ours\nx: 2\n# theirs\ny: 1\n# end\n# last\n"),
        );
        check("x: 1 # a\n", "x: 1 # b\n", "x: 2 # a\n", None);
        check(
            "# about x\nx: 1\ny: 1\n",
            "# about x\nx: 1\ny: 2\n",
            "# about x\ny: 1\n",
            Some("# about x\ny: 2\n"),
        );
    }

    #[test]
    fn limits_are_not_broken_by_a_merge() {
        let topics = |prefix: &str| {
            let words: Vec<String> = (0..60).map(|n| format!("{prefix}{n}")).collect();
            format!("topics: [{}]\n", words.join(", "))
        };
        check("", &topics("a"), &topics("b"), None);
        let long = |name: &str| format!("{name}: {}\n", "x".repeat(9_000));
        check("", &long("a"), &long("b"), None);
        let keys = |name: &str| -> String { (0..40).map(|n| format!("{name}{n}: 1\n")).collect() };
        check("", &keys("a"), &keys("b"), None);
    }
}
