//! Finds names of memories in a text: `[[…]]` as editors write it, `memory://…`, and UUIDs, which
//! other programs call memories by; and reads ids that somebody pasted.

use std::ops::Range;

/// The fact that says what a memory's text names.
pub const MENTIONED: &str = "mentions";
/// Maximum number of mentions that count: a list of everything is no relation.
const MOST: usize = 200;
/// A UUID, and where its dashes are.
const UUID_BYTES: usize = 36;
const UUID_DASHES: [usize; 4] = [8, 13, 18, 23];
/// Maximum length of a name, in bytes.
const LONGEST: usize = 255;

/// Returns the names in `[[name]]`, `[[name|shown]]`, `[[name#part]]` and `memory://name`, in the order of
/// the text, and then the UUIDs that stand anywhere else; each once. `[[name]]` in code is none: there it
/// is an example, or another language's syntax.
pub fn mentioned(text: &str) -> Vec<&str> {
    let mut names = linked(text);
    for id in uuids(text) {
        if names.len() == MOST {
            break;
        }
        if !names.contains(&id) {
            names.push(id);
        }
    }
    names
}

/// Returns whether `name`, which the text mentions, stands there as an id alone and not as a link.
pub fn is_bare(text: &str, name: &str) -> bool {
    uuids(name).next() == Some(name) && !linked(text).contains(&name)
}

/// Returns the UUIDs in a text, as words of their own.
fn uuids(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let is_word = |at: Option<&u8>| at.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let dashes = text.match_indices('-');
    dashes.filter_map(move |(dash, _)| {
        let start = dash.checked_sub(UUID_DASHES[0])?;
        let end = start + UUID_BYTES;
        let id = bytes.get(start..end)?;
        let is_id = id
            .iter()
            .enumerate()
            .all(|(at, byte)| match UUID_DASHES.contains(&at) {
                true => *byte == b'-',
                false => byte.is_ascii_hexdigit(),
            });
        let before = start.checked_sub(1).and_then(|at| bytes.get(at));
        let is_whole = is_id && !is_word(before) && !is_word(bytes.get(end));
        is_whole.then(|| &text[start..end])
    })
}

fn linked(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let code = match text.contains("[[") {
        true => code_ranges(text),
        false => Vec::new(),
    };
    let mut code = code.into_iter().peekable();
    let mut rest = text;
    while let Some(at) = rest.find(['[', 'm']) {
        let here = &rest[at..];
        let offset = text.len() - here.len();
        while code.next_if(|range| range.end <= offset).is_some() {}
        let is_code = code.peek().is_some_and(|range| range.start <= offset);
        let (name, length) = if is_code && here.starts_with('[') {
            ("", 1)
        } else if let Some(inner) = here.strip_prefix("[[") {
            let end = inner.find(['[', ']', '\n']).unwrap_or(inner.len());
            match inner[end..].starts_with("]]") {
                true => (wikilink(&inner[..end]), 2 + end + 2),
                false => ("", 1),
            }
        } else if let Some(inner) = here.strip_prefix("memory://") {
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
            (&inner[..end], "memory://".len() + end)
        } else {
            ("", 1)
        };
        if !name.is_empty() && name.len() <= LONGEST && !names.contains(&name) {
            names.push(name);
        }
        if names.len() == MOST {
            break;
        }
        rest = &here[length..];
    }
    names
}

/// Returns the places of code in a text, in order: fenced blocks, and code within a line.
fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut fence: Option<&str> = None;
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let end = begin + line.len();
        let mark = fence_of(line);
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if mark.starts_with(open) => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let mut from = 0;
                while let Some(at) = line[from..].find('`') {
                    let start = from + at;
                    from = start + code_length(&line[start..]);
                    ranges.push(begin + start..begin + from);
                }
                begin = end;
                continue;
            }
        }
        ranges.push(begin..end);
        begin = end;
    }
    ranges
}

/// Returns the three or more marks with which a line begins or ends a block of code.
pub fn fence_of(line: &str) -> Option<&str> {
    let start = line.trim_start();
    let mark = start
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let length = start.len() - start.trim_start_matches(mark).len();
    // ```code``` on one line is no block.
    let is_block = length >= 3 && !(mark == '`' && start[length..].contains('`'));
    is_block.then(|| &start[..length])
}

/// Returns the length of the code that a text begins with, its backticks included; code without an
/// end is as long as its backticks.
pub fn code_length(text: &str) -> usize {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let mut at = ticks;
    while let Some(next) = text[at..].find('`') {
        let start = at + next;
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        at = start + run;
        if run == ticks {
            return at;
        }
    }
    ticks
}

/// Returns the name in the inside of a link, without the text it shows and the part it means.
fn wikilink(inside: &str) -> &str {
    let name = inside.split(['|', '#', '^']).next().unwrap_or("");
    let name = name.trim();
    let name = name.strip_prefix("files/").unwrap_or(name);
    name.strip_suffix(".md").unwrap_or(name)
}

/// Returns the id in a text that somebody pasted, with the small letters of stems and handles.
pub fn plain_id(text: &str) -> String {
    let id = stripped_id(text);
    if id.is_ascii() && id.len() <= 24 {
        id.to_lowercase()
    } else {
        id.to_owned()
    }
}

/// Returns the id in a text that somebody pasted: a link, a file name, a reference.
pub fn stripped_id(text: &str) -> &str {
    let id = unwrapped_id(text);
    let id = id
        .strip_prefix("files/")
        .or_else(|| id.strip_prefix("archive/"))
        .unwrap_or(id);
    id.strip_suffix(".md").unwrap_or(id)
}

/// Returns the same with its folders and `.md`: a whole file name is one yet.
pub fn unwrapped_id(text: &str) -> &str {
    let id = text.trim();
    let id = id.strip_prefix("memory://").unwrap_or(id);
    id.strip_prefix("[[")
        .and_then(|id| id.strip_suffix("]]"))
        .unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_they_stand() {
        for (text, wanted) in [
            (
                "see [[20260101_000000_aaaaaaaa]] and [[Notes|the notes]]",
                vec!["20260101_000000_aaaaaaaa", "Notes"],
            ),
            (
                "memory://1f3a9c02, (memory://4be01c9a) m memory://",
                vec!["1f3a9c02", "4be01c9a"],
            ),
            (
                "[[a]] [[b#part]] [[c^block]] [[files/d.md]] [[a]]",
                vec!["a", "b", "c", "d"],
            ),
            ("[[[e]]] [[f\n]] [[ ]] [[]] [g] [[h", vec!["e"]),
            ("über [[Größe]] 日本 [[語]]", vec!["Größe", "語"]),
            (
                "`[[a]]` [[b]] ``[[c]] ` [[d]]`` [[e]] ` [[f]]",
                vec!["b", "e", "f"],
            ),
            (
                "```sh\nif [[ -f x ]]; then [[a]]\n~~~\n```\n[[b]]\n~~~~\n[[c]]\n~~~\n~~~~\n[[d]] `memory://e`",
                vec!["b", "d", "e"],
            ),
            ("```[[a]]``` [[b]]\n````\n```\n[[c]]", vec!["b"]),
            ("", vec![]),
        ] {
            assert_eq!(mentioned(text), wanted, "{text}");
        }
        let id = "5d0c6a52-1111-4222-8333-944445555666";
        for text in [
            format!("Follow-up of {id}."),
            format!("as in `{id}`, well-known"),
            format!("[[{id}|the old one]] {id}"),
            format!("über-{id}-x [[a"),
        ] {
            assert_eq!(mentioned(&text), [id], "{text}");
        }
        for text in [
            &id[1..],
            &format!("a{id}"),
            &format!("{id}7"),
            &format!("{id}-").replace('5', "g"),
        ] {
            assert!(mentioned(text).is_empty(), "{text}");
        }
        assert!(is_bare(id, id) && !is_bare(&format!("[[{id}]]"), id) && !is_bare("[[a]]", "a"));
        let many: String = (0..1000).map(|n| format!("[[n{n}]]")).collect();
        assert_eq!(mentioned(&many).len(), MOST);
        assert!(mentioned(&format!("[[{}]]", "x".repeat(300))).is_empty());
    }
}
