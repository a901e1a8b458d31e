//! `memdir.toml` as something that two machines change: by key, never by line.

use std::ops::Range;

use toml::{Table, Value};

use super::MergeSide;

/// Returns whether the bytes are settings that can be read.
pub fn are_settings(bytes: &[u8]) -> bool {
    read(bytes).is_some()
}

/// Two versions of the settings as one, the same whichever comes first: what one side changed is as
/// it wrote it, and where both did, the later side's value counts. The result has the later side's
/// comments and can be read, if either side can.
pub fn merge_settings(base: Option<&[u8]>, one: MergeSide<'_>, other: MergeSide<'_>) -> Vec<u8> {
    let (earlier, later) = match (one.at, one.bytes) <= (other.at, other.bytes) {
        true => (one.bytes, other.bytes),
        false => (other.bytes, one.bytes),
    };
    let (Some(old), Some(new)) = (read(earlier), read(later)) else {
        let is_earlier_better = are_settings(earlier) && !are_settings(later);
        return if is_earlier_better { earlier } else { later }.to_owned();
    };
    let base = base.and_then(read).unwrap_or_default();
    let wanted = united(&base, &old, &new);
    let text = String::from_utf8_lossy(later);
    let edited =
        edited(&text, &new, &wanted).filter(|text| read(text.as_bytes()) == Some(wanted.clone()));
    // What cannot be changed in place is written anew, without comments.
    edited.unwrap_or_else(|| wanted.to_string()).into_bytes()
}

fn read(bytes: &[u8]) -> Option<Table> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// Merges the values of all keys. A change counts more than a removal.
fn united(base: &Table, earlier: &Table, later: &Table) -> Table {
    let mut wanted = later.clone();
    for key in base.keys().chain(earlier.keys()) {
        let (before, old, new) = (base.get(key), earlier.get(key), later.get(key));
        let is_old_wanted = new == before || new.is_none() && old != before;
        match old.filter(|_| is_old_wanted) {
            Some(value) => drop(wanted.insert(key.clone(), value.clone())),
            None if is_old_wanted => drop(wanted.remove(key)),
            None => {}
        }
    }
    wanted
}

/// `text`, which says `now`, changed so that it says `wanted`, key by key; `None` if it cannot be
/// told where a key stands.
fn edited(text: &str, now: &Table, wanted: &Table) -> Option<String> {
    let parsed = toml::de::DeTable::parse(text).ok()?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (key, value) in parsed.get_ref() {
        let name: &str = key.get_ref();
        match wanted.get(name) {
            Some(value) if now.get(name) == Some(value) => {}
            Some(new) => edits.push((value.span(), new.to_string())),
            None => {
                let start = text[..key.span().start].rfind('\n').map_or(0, |at| at + 1);
                let rest = &text[value.span().end..];
                let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
                edits.push((start..value.span().end + end, String::new()));
            }
        }
    }
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    for (range, new) in edits {
        text.replace_range(range, &new);
    }
    let added = wanted.iter().filter(|(key, _)| !now.contains_key(*key));
    Some(added.fold(text, |text, (key, value)| with_key(text, key, value)))
}

/// `text` with one more key, before the first table.
fn with_key(mut text: String, key: &str, value: &Value) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let table = match text.starts_with('[') {
        true => 0,
        false => text.find("\n[").map_or(text.len(), |at| at + 1),
    };
    text.insert_str(table, &format!("{key} = {value}{newline}"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, earlier: &str, later: &str, expected: &str) {
        let side = |text: &'static str, at| MergeSide {
            bytes: text.as_bytes(),
            at,
        };
        let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let (earlier, later) = (leak(earlier), leak(later));
        for (one, other) in [
            (side(earlier, 1), side(later, 2)),
            (side(later, 2), side(earlier, 1)),
        ] {
            let merged = merge_settings(Some(base.as_bytes()), one, other);
            assert_eq!(String::from_utf8(merged).unwrap(), expected);
        }
    }

    #[test]
    fn settings_are_merged_by_key() {
        check(
            "# x\n",
            "# x\nlimit = 1\n",
            "# x\nlimit = 2 # y\n",
            "# x\nlimit = 2 # y\n",
        );
        check(
            "a = 1\nb = 1\n",
            "a = 2\nb = 1\n",
            "# c\na = 1 # d\nb = 2\n",
            "# c\na = 2 # d\nb = 2\n",
        );
        check("a = 1\nb = 1\n", "b = 1\n", "a = 1\nb = 2", "b = 2");
        check("a = 1\n", "a = 2\n", "", "a = 2\n");
        check(
            "",
            "a = \"x\"\n",
            "b = 1\n[t]\nc = 2\n",
            "b = 1\na = \"x\"\n[t]\nc = 2\n",
        );
        check(
            "",
            "l = [\"a\",\n \"b\"]\n",
            "# only\n",
            "# only\nl = [\"a\", \"b\"]\n",
        );
        check(
            "[t]\na = 1\n",
            "[t]\na = 2\n",
            "[t] # gone\na = 1\n",
            "[t]\na = 2\n",
        );
    }

    #[test]
    fn what_cannot_be_read_gives_way() {
        check("", "a = 1\n", "a = \n", "a = 1\n");
        check("", "a = 1\na = 2\n", "b = 1\n", "b = 1\n");
        check("", "a = \n", "b = \n", "b = \n");
    }
}
