//! Lets the links in a note follow files that get other names.
//!
//! A link is `[[Name]]`, as Obsidian and others write it, or `[shown](path.md)`. What stands in code
//! is none. Nothing but the names in links changes.

use std::borrow::Cow;
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;

use crate::model::{code_length, fence_of};

/// The target of a link, as the link names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteLink<'a> {
    /// By its name or the end of its path, without `.md`.
    Wiki(&'a str),
    /// By its path from the note's folder, with `.md`; decoded.
    Path(&'a str),
}

/// Returns `text` with the names in its links replaced by what `renamed` says: another name, or for a
/// link by a path another path; nothing for a link that stays.
///
/// A `[[Name]]` goes on showing that name: `[[20260114_091500_1f3a9c02|Name]]`.
pub fn relinked<'a>(
    text: &'a str,
    renamed: &dyn Fn(NoteLink<'_>) -> Option<String>,
) -> Cow<'a, str> {
    if !text.contains("[[") && !text.contains("](") {
        return Cow::Borrowed(text);
    }
    let mut changed = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        match (fence, fence_of(line)) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if mark.starts_with(open) => fence = None,
            (None, None) => {
                relink_line(line, renamed, &mut changed);
                continue;
            }
            (Some(_), _) => {}
        }
        changed.push_str(line);
    }
    match changed == text {
        true => Cow::Borrowed(text),
        false => Cow::Owned(changed),
    }
}

fn relink_line(line: &str, renamed: &dyn Fn(NoteLink<'_>) -> Option<String>, changed: &mut String) {
    let in_table = line.trim_start().starts_with('|');
    let mut rest = line;
    while let Some(at) = rest.find(['`', '[', ']']) {
        let (before, here) = rest.split_at(at);
        changed.push_str(before);
        let length = if here.starts_with('`') {
            code_length(here)
        } else if let Some(inside) = here.strip_prefix("[[") {
            let is_embed = before.ends_with('!');
            wiki(inside, in_table, is_embed, renamed, changed)
        } else if let Some(inside) = here.strip_prefix("](") {
            path(inside, renamed, changed)
        } else {
            0
        };
        // What was no link, or stays one, is copied: a whole run of code, or one character.
        match length {
            0 => {
                changed.push_str(&here[..1]);
                rest = &here[1..];
            }
            length if here.starts_with('`') => {
                changed.push_str(&here[..length]);
                rest = &here[length..];
            }
            length => rest = &here[length..],
        }
    }
    changed.push_str(rest);
}

/// Writes the link with the inside that `inside` begins with anew, and returns its length with both
/// pairs of brackets; 0 if it stays.
fn wiki(
    inside: &str,
    in_table: bool,
    is_embed: bool,
    renamed: &dyn Fn(NoteLink<'_>) -> Option<String>,
    changed: &mut String,
) -> usize {
    let Some(end) = inside
        .find(['[', ']', '\n'])
        .filter(|end| inside[*end..].starts_with("]]"))
    else {
        return 0;
    };
    let link = &inside[..end];
    let target_end = link.find(['|', '#', '^']).unwrap_or(link.len());
    // In a table the bar is written `\|`.
    let target = link[..target_end].trim_end_matches('\\');
    let name = target
        .trim()
        .trim_start_matches("./")
        .trim_start_matches('/');
    let name = name.strip_suffix(".md").unwrap_or(name);
    let new = (!name.is_empty())
        .then(|| renamed(NoteLink::Wiki(name)))
        .flatten();
    let Some(new) = new else {
        return 0;
    };
    let after = &link[target.len()..];
    let shown = match is_embed || after.contains('|') {
        true => String::new(),
        false if in_table => format!("\\|{link}"),
        false => format!("|{link}"),
    };
    let _ = write!(changed, "[[{new}{after}{shown}]]");
    "[[".len() + end + "]]".len()
}

/// Returns the same of what follows the text of a `[text](path)`.
fn path(
    inside: &str,
    renamed: &dyn Fn(NoteLink<'_>) -> Option<String>,
    changed: &mut String,
) -> usize {
    let (open, close) = match inside.starts_with('<') {
        true => ("](<", '>'),
        false => ("](", ')'),
    };
    let target = &inside[open.len() - "](".len()..];
    let Some(end) = target
        .find([close, '\n'])
        .filter(|end| target[*end..].starts_with(close))
    else {
        return 0;
    };
    // A title may follow the path, `(path.md "title")`, and a part may be named.
    let target = &target[..end];
    let path_end = match close {
        '>' => target.find('#'),
        _ => target.find(['#', ' ']),
    };
    let (written, after) = target.split_at(path_end.unwrap_or(target.len()));
    let is_title = |after: &str| after.trim_start().starts_with(['"', '\'', '(']);
    if after.starts_with(' ') && !is_title(after) {
        return 0;
    }
    if written.contains("://") || !written.ends_with(".md") {
        return 0;
    }
    // One that is not UTF-8 then stays as it is.
    let decoded = percent_decode_str(written).decode_utf8();
    let decoded = decoded.unwrap_or(Cow::Borrowed(written));
    let Some(new) = renamed(NoteLink::Path(&decoded)) else {
        return 0;
    };
    let new = match close {
        '>' => Cow::Borrowed(new.as_str()),
        _ => Cow::Owned(percent_encoded(&new)),
    };
    let _ = write!(changed, "{open}{new}{after}");
    open.len() + end
}

/// Returns the path below the folder of all notes that a link by `path` means in the note `name`.
pub fn path_from(name: &str, path: &str) -> String {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = match path.starts_with('/') {
        true => Vec::new(),
        false => folder.split('/').filter(|part| !part.is_empty()).collect(),
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A path as it may stand in round brackets.
fn percent_encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for character in path.chars() {
        match character {
            ' ' | '(' | ')' | '%' => {
                let _ = write!(encoded, "%{:02X}", u32::from(character));
            }
            other => encoded.push(other),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let renamed = |link: NoteLink<'_>| match link {
            NoteLink::Wiki("Old" | "a/Old" | "Old note") => Some("NEW".to_owned()),
            NoteLink::Path(path) if path.ends_with("Old.md") || path == "../Old note.md" => {
                Some(path.replace("Old note", "N W").replace("Old", "NEW"))
            }
            _ => None,
        };
        assert_eq!(relinked(text, &renamed), expected);
    }

    #[test]
    fn links_follow_and_go_on_showing_what_they_showed() {
        check("[[Old]] and [[Other]]", "[[NEW|Old]] and [[Other]]");
        check(
            "[[Old.md]] [[./Old]] [[/a/Old]]",
            "[[NEW|Old.md]] [[NEW|./Old]] [[NEW|/a/Old]]",
        );
        check(
            "[[Old|it]] [[Old#part]] [[Old#^b|x]]",
            "[[NEW|it]] [[NEW#part|Old#part]] [[NEW#^b|x]]",
        );
        check("![[Old]] ![[Old#part]]", "![[NEW]] ![[NEW#part]]");
        check(
            "| [[Old\\|x]] | [[Old]] |\n",
            "| [[NEW\\|x]] | [[NEW\\|Old]] |\n",
        );
        check(
            "[x](Old.md) [x](a/Old.md#part \"t\")",
            "[x](NEW.md) [x](a/NEW.md#part \"t\")",
        );
        check(
            "[x](../Old%20note.md) [x](<../Old note.md>)",
            "[x](../N%20W.md) [x](<../N W.md>)",
        );
        check("up: \"[[Old]]\"\r\n", "up: \"[[NEW|Old]]\"\r\n");
        check(
            "[[Old]][[Old]][ü](Old.md)[[",
            "[[NEW|Old]][[NEW|Old]][ü](NEW.md)[[",
        );
    }

    #[test]
    fn what_is_no_link_to_a_note_that_moves_stays() {
        for text in [
            "`[[Old]]` ``x ` [[Old]]`` [[Old\n]] [[Old] [[]] [[#part]]",
            "```\n[[Old]]\n~~~\n[[Old]]\n```\n",
            "~~~\n[[Old]]\n",
            "[x](https://example.org/Old.md) [x](Old.png) [x](Old.md [x](New.md)",
            "[[Older]] [[b/Old]] ![x](Old.png)",
        ] {
            check(text, text);
        }
        check("` [[Old]]", "` [[NEW|Old]]");
        check("```\n```\n[[Old]]", "```\n```\n[[NEW|Old]]");
    }
}
