//! Changes single keys of a memory file and leaves every other byte alone.

use std::borrow::Cow;

use super::FormatError;
use super::layout::Frontmatter;
use super::layout::Layout;
use super::limits;
use super::limits::MAX_FRONTMATTER_BYTES;
use super::read::KEYS;
use super::read::RAW_KEYS;
use super::scalar;
use super::value;
use crate::model::Change;
use crate::model::Memory;
use crate::model::Patch;
use crate::model::Stem;
use crate::model::is_global_namespace;
use crate::model::normalized_namespace;

/// Returns `bytes` with `change` made.
///
/// A changed key keeps its place and the comment after it; a new key goes where the format's
/// order wants it; a cleared key's lines go. Line ends, order, quoting, comments and spacing of
/// everything else stay. A change that changes nothing returns the same bytes.
///
/// # Errors
///
/// Fails if a new value breaks the limits of the format, or if a key shall change in a file
/// without frontmatter.
pub fn edit(bytes: &[u8], change: &Change) -> Result<Vec<u8>, FormatError> {
    let mut edited = bytes.to_vec();
    for (key, text) in rendered(change, Layout::of(bytes).newline)? {
        edited = set_key(&edited, key, text.as_deref())?;
    }
    if let Some(content) = &change.content {
        limits::check_content(content)?;
        edited = set_content(&edited, content);
    }
    Ok(edited)
}

/// Returns `bytes`, which were read as `memory`, with a frontmatter before them if they have none. It
/// states the time, as the file's own changes with the file. What was there follows byte for byte. What
/// begins a frontmatter without an end, or is no UTF-8, stays as it is.
pub fn with_frontmatter<'a>(bytes: &'a [u8], memory: &Memory) -> Cow<'a, [u8]> {
    let layout = Layout::of(bytes);
    match layout.frontmatter {
        Frontmatter::Absent if std::str::from_utf8(bytes).is_ok() => {
            let (mark, text) = bytes.split_at(layout.keys.start);
            let newline = match memchr::memchr(b'\n', text) {
                Some(end) if text[..end].ends_with(b"\r") => "\r\n",
                _ => "\n",
            };
            let id = scalar::write(memory.stem.short());
            let timestamp = memory.timestamp.as_str();
            let lines = [
                "---",
                &format!("id: {id}"),
                &format!("timestamp: {timestamp}"),
                "topics: []",
                "---",
                "",
                "",
            ];
            Cow::Owned([mark, lines.join(newline).as_bytes(), text].concat())
        }
        _ => Cow::Borrowed(bytes),
    }
}

/// Returns `bytes`, which were read as `memory`, as those of the memory `stem`: with its id, with the
/// other keys that every memory has, and with `title`, if it is given and can be one.
///
/// # Errors
///
/// Fails if the file can get no frontmatter, or has one without an end.
pub fn adopted(
    bytes: &[u8],
    memory: &Memory,
    (stem, title): (&Stem, Option<&str>),
    (agent, user): (&str, &str),
) -> Result<Vec<u8>, FormatError> {
    let framed = with_frontmatter(bytes, memory);
    let mut adopted = set_key(&framed, "id", Some(&format!(" {}", stem.short())))?;
    let is_missing = |key| Layout::of(&framed).entry(key).is_none();
    let topics = is_missing("tags").then(|| "[]".to_owned());
    let title = title.filter(|title| limits::check_required("title", title).is_ok());
    for (key, text) in [
        ("timestamp", Some(memory.timestamp.as_str().to_owned())),
        ("agent", Some(scalar::write(agent).into_owned())),
        ("user", Some(scalar::write(user).into_owned())),
        ("topics", topics),
        (
            "title",
            title.map(|title| scalar::write(title).into_owned()),
        ),
    ] {
        if let Some(text) = text.filter(|_| is_missing(key)) {
            adopted = set_key(&adopted, key, Some(&format!(" {text}")))?;
        }
    }
    Ok(adopted)
}

/// Returns `bytes` as those of a memory that is called `stem`: with its id, and else as they are.
///
/// # Errors
///
/// Fails if the file has no frontmatter.
pub fn called(bytes: &[u8], stem: &Stem) -> Result<Vec<u8>, FormatError> {
    set_key(bytes, "id", Some(&format!(" {}", stem.short())))
}

/// Returns `bytes` with `fingerprints` added to those of the credentials that may stand in them;
/// only the lines of that key change.
///
/// # Errors
///
/// Fails if the file has no frontmatter.
pub fn allow_secrets(bytes: &[u8], fingerprints: &[String]) -> Result<Vec<u8>, FormatError> {
    let mut all = allowed_secrets(bytes);
    for fingerprint in fingerprints {
        if !all.contains(fingerprint) {
            all.push(fingerprint.clone());
        }
    }
    // Quoted, as some consist of digits alone.
    let list: Vec<String> = all.iter().map(|one| format!("\"{one}\"")).collect();
    set_key(
        bytes,
        SECRETS_ALLOWED,
        Some(&format!(" [{}]", list.join(", "))),
    )
}

/// The fingerprints of the credentials that may stand in a memory file.
pub fn allowed_secrets(bytes: &[u8]) -> Vec<String> {
    let layout = Layout::of(bytes);
    let Some(entry) = layout.entry(SECRETS_ALLOWED) else {
        return Vec::new();
    };
    String::from_utf8_lossy(&bytes[entry.value.start..entry.lines.end])
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit()))
        .map(str::to_owned)
        .collect()
}

/// Where the content of a memory file begins: what lies before is the frontmatter and its frame.
pub fn content_start(bytes: &[u8]) -> usize {
    Layout::of(bytes).content.start
}

/// The key, unknown to readers, that holds [`allowed_secrets`].
const SECRETS_ALLOWED: &str = "secrets_allowed";

/// The changed keys with what follows their colon; `None` removes the key.
fn rendered(
    change: &Change,
    newline: &str,
) -> Result<Vec<(&'static str, Option<String>)>, FormatError> {
    let mut keys: Vec<(&'static str, Option<String>)> = Vec::new();
    for (key, text) in [("agent", &change.agent), ("user", &change.user)] {
        if let Some(text) = text {
            limits::check_required(key, text)?;
            keys.push((key, Some(format!(" {}", scalar::write(text)))));
        }
    }
    if let Some(topics) = &change.topics {
        limits::check_topics(topics)?;
        keys.push(("topics", Some(format!(" {}", scalar::write_list(topics)))));
    }
    let mut patch = |key: &'static str, text: Patch<Result<String, FormatError>>| {
        match text {
            Patch::Keep => {}
            Patch::Set(text) => keys.push((key, Some(text?))),
            Patch::Clear => keys.push((key, None)),
        }
        Ok::<(), FormatError>(())
    };
    let text = |key: &'static str, patch: &Patch<String>| {
        map(patch, |text| {
            limits::check_required(key, text)?;
            Ok(format!(" {}", scalar::write(text)))
        })
    };
    patch("title", text("title", &change.title))?;
    patch("kind", map(&change.kind, |kind| Ok(format!(" {kind}"))))?;
    let namespace = match &change.namespace {
        // A memory of no project states none.
        Patch::Set(text) if is_global_namespace(text) => Patch::Clear,
        Patch::Set(text) => Patch::Set(normalized_namespace(text).into_owned()),
        other => other.clone(),
    };
    patch("namespace", text("namespace", &namespace))?;
    patch("scope", map(&change.scope, |scope| Ok(format!(" {scope}"))))?;
    patch("tier", map(&change.tier, |tier| Ok(format!(" {tier}"))))?;
    patch(
        "importance",
        map(&change.importance, |&n| {
            limits::check_importance(n)?;
            Ok(format!(" {n}"))
        }),
    )?;
    patch(
        "confidence",
        map(&change.confidence, |&n| {
            limits::check_confidence(n)?;
            Ok(format!(" {n}"))
        }),
    )?;
    patch("source", text("source", &change.source))?;
    patch("status", text("status", &change.status))?;
    patch(
        "expires",
        map(&change.expires, |at| Ok(format!(" {}", at.as_str()))),
    )?;
    patch(
        "supersedes",
        map(&change.supersedes, |stems| {
            stems
                .iter()
                .try_for_each(|stem| limits::check_required("supersedes", stem))?;
            Ok(format!(" {}", scalar::write_list(stems)))
        }),
    )?;
    patch(
        "superseded_by",
        text("superseded_by", &change.superseded_by),
    )?;
    patch(
        "links",
        map(&change.links, |links| {
            limits::check_links(links)?;
            Ok(value::write_links(links, newline))
        }),
    )?;
    patch(
        "metadata",
        map(&change.metadata, |metadata| {
            limits::check_metadata(metadata)?;
            Ok(format!(" {}", value::write_metadata(metadata)))
        }),
    )?;
    Ok(keys)
}

fn map<T>(
    patch: &Patch<T>,
    render: impl FnOnce(&T) -> Result<String, FormatError>,
) -> Patch<Result<String, FormatError>> {
    match patch {
        Patch::Keep => Patch::Keep,
        Patch::Set(value) => Patch::Set(render(value)),
        Patch::Clear => Patch::Clear,
    }
}

/// Returns `bytes` with what follows the colon of `key` replaced by `text`; `None` removes the key.
pub(super) fn set_key(
    bytes: &[u8],
    key: &'static str,
    text: Option<&str>,
) -> Result<Vec<u8>, FormatError> {
    let layout = Layout::of(bytes);
    match layout.frontmatter {
        Frontmatter::Whole => {}
        Frontmatter::NotClosed => return Err(FormatError::FrontmatterNotClosed),
        Frontmatter::Absent if std::str::from_utf8(bytes).is_err() => {
            return Err(FormatError::NotUtf8);
        }
        Frontmatter::Absent => return Err(FormatError::NoFrontmatter),
    }
    let (range, new) = match (layout.entry(key), text) {
        (None, None) => return Ok(bytes.to_vec()),
        (Some(entry), None) => (entry.lines.clone(), String::new()),
        (Some(entry), Some(text)) => {
            let old = String::from_utf8_lossy(&bytes[entry.value.clone()]);
            let comment = comment_of(key, &old);
            let end = if entry.below.is_empty() {
                entry.value.end
            } else {
                entry.below.end
            };
            let line_end = if entry.below.is_empty() {
                ""
            } else {
                layout.newline
            };
            (entry.value.start..end, format!("{text}{comment}{line_end}"))
        }
        (None, Some(text)) => {
            let at = place_of(&layout, key, bytes);
            (at..at, format!("{key}:{text}{}", layout.newline))
        }
    };
    let grown = layout.keys.len() - range.len() + new.len();
    if grown > MAX_FRONTMATTER_BYTES && new.len() > range.len() {
        return Err(FormatError::FrontmatterTooLarge {
            bytes: grown,
            limit: MAX_FRONTMATTER_BYTES,
        });
    }
    Ok([&bytes[..range.start], new.as_bytes(), &bytes[range.end..]].concat())
}

/// The comment after a one-line value, with the blanks before it, or with one.
pub(super) fn comment_of(key: &str, value: &str) -> String {
    let comment = bare_comment_of(key, value);
    // After no value at all the blanks were those before it.
    let blank = if comment.starts_with('#') { " " } else { "" };
    format!("{blank}{comment}")
}

fn bare_comment_of<'a>(key: &str, value: &'a str) -> &'a str {
    if RAW_KEYS.contains(&key) || key == "links" {
        return "";
    }
    let trimmed = value.trim_start_matches([' ', '\t']);
    if trimmed.starts_with(['[', '{']) {
        // `#` inside a flow value may belong to a word; only what follows its end is a comment.
        let Some(end) = flow_end(trimmed) else {
            return "";
        };
        let after = &trimmed[end..];
        return if after.trim_start().starts_with('#') {
            after
        } else {
            ""
        };
    }
    &trimmed[scalar::comment_start(trimmed)..]
}

/// Where the flow value that `text` begins with ends; `None` if it does not.
fn flow_end(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut begins_item) = (0_usize, None, true);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some('"'), '\\') => drop(characters.next()),
            // Two single quotes are one of the text.
            (Some('\''), '\'') if characters.next_if(|&(_, next)| next == '\'').is_some() => {}
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            // A quotation mark within a word is a letter.
            (None, '"' | '\'') if begins_item => quote = Some(character),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        begins_item =
            matches!(character, '[' | '{' | ',' | ':') || (begins_item && character == ' ');
    }
    None
}

/// After the last key that the format's order puts before `key`, else before all keys.
fn place_of(layout: &Layout, key: &str, bytes: &[u8]) -> usize {
    let rank = |key: &str| KEYS.iter().position(|known| *known == key);
    let own = rank(key).unwrap_or(KEYS.len()); // One it does not know goes after all it knows.
    let before = layout
        .entries
        .iter()
        .filter(|entry| rank(&entry.key).is_some_and(|other| other < own))
        .map(|entry| entry.lines.end)
        .max();
    // An indented line that no key precedes would become the new key's, and go with it.
    let first = layout.entries.first();
    let first = first.map_or(layout.keys.end, |entry| entry.lines.start);
    let stray = layout.stray.iter().rev().find(|line| line.end <= first);
    let after_stray = stray.map(|line| {
        let end = memchr::memchr(b'\n', &bytes[line.end..]);
        end.map_or(first, |at| line.end + at + 1)
    });
    before.or(after_stray).unwrap_or(layout.keys.start)
}

fn set_content(bytes: &[u8], content: &str) -> Vec<u8> {
    let layout = Layout::of(bytes);
    let mut edited = bytes[..layout.content.start].to_vec();
    if layout.frontmatter == Frontmatter::Whole {
        // The frame: the closing line must end, and one blank line must follow, or a content
        // that begins with a line break would lose it.
        if !edited.ends_with(b"\n") {
            edited.extend_from_slice(layout.newline.as_bytes());
        }
        if !has_blank_line(&edited) {
            edited.extend_from_slice(layout.newline.as_bytes());
        }
    }
    let head = edited.len();
    edited.extend_from_slice(content.as_bytes());
    if layout.frontmatter != Frontmatter::Whole && Layout::of(&edited).content.start != head {
        // A text that looks like a frontmatter would become one, and a byte order mark vanish.
        edited.splice(head..head, EMPTY_FRONTMATTER.iter().copied());
    }
    edited
}

/// What keeps a text that begins like a frontmatter apart from one.
const EMPTY_FRONTMATTER: &[u8] = b"---\n---\n\n";

/// Whether the last line of `head`, which ends with a line break, is blank.
fn has_blank_line(head: &[u8]) -> bool {
    head.ends_with(b"\n\n") || head.ends_with(b"\n\r\n")
}
