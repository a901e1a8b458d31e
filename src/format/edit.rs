//! Changes single keys of a memory file and leaves every other byte alone.

use std::borrow::Cow;
use std::ops::Range;

use super::comment::comment_of;
use super::layout::{FileLayout, Frontmatter};
use super::limits::MAX_FRONTMATTER_BYTES;
use super::lists::{List, ListKind};
use super::mapping::Mapping;
use super::read::KEYS;
use super::{FormatError, limits, scalar, value};
use crate::model::{Change, Memory, Patch, Stem, is_global_namespace, normalized_namespace};

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
    for (key, text) in rendered(change, FileLayout::of(bytes).newline)? {
        edited = match with_kept_items(&edited, key, change)? {
            Some(edited) => edited,
            None => set_key(&edited, key, text.as_deref())?,
        };
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
    let layout = FileLayout::of(bytes);
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
    let mut adopted = called(&framed, stem)?;
    let is_missing = |key| FileLayout::of(&framed).entry(key).is_none();
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
            adopted = set_key(&adopted, key, Some(&text))?;
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
    set_key(bytes, "id", Some(stem.short()))
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
    let list = format!("[{}]", list.join(", "));
    set_key(bytes, SECRETS_ALLOWED, Some(&list))
}

/// Returns the fingerprints of the credentials that may stand in a memory file.
pub fn allowed_secrets(bytes: &[u8]) -> Vec<String> {
    let layout = FileLayout::of(bytes);
    let Some(entry) = layout.entry(SECRETS_ALLOWED) else {
        return Vec::new();
    };
    String::from_utf8_lossy(&bytes[entry.value.start..entry.lines.end])
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit()))
        .map(str::to_owned)
        .collect()
}

/// Returns the place at which the content of a memory file begins, behind the frontmatter and its
/// frame.
pub fn content_start(bytes: &[u8]) -> usize {
    FileLayout::of(bytes).content.start
}

/// The key, unknown to readers, that holds [`allowed_secrets`].
const SECRETS_ALLOWED: &str = "secrets_allowed";

/// The changed keys with their values; `None` removes the key.
type ChangedKeys = Vec<(&'static str, Option<String>)>;

/// Returns the keys of `change`, in the format's order.
fn rendered(change: &Change, newline: &str) -> Result<ChangedKeys, FormatError> {
    let required = |key: &'static str| {
        move |text: &String| {
            limits::check_required(key, text)?;
            Ok(scalar::write(text).into_owned())
        }
    };
    let mut keys = ChangedKeys::new();
    for (key, text) in [("agent", &change.agent), ("user", &change.user)] {
        if let Some(text) = text {
            keys.push((key, Some(required(key)(text)?)));
        }
    }
    if let Some(topics) = &change.topics {
        limits::check_topics(topics)?;
        keys.push(("topics", Some(scalar::write_list(topics))));
    }
    let namespace = match &change.namespace {
        // A memory of no project states none.
        Patch::Set(text) if is_global_namespace(text) => Patch::Clear,
        Patch::Set(text) => Patch::Set(normalized_namespace(text).into_owned()),
        other => other.clone(),
    };
    put(&mut keys, "title", &change.title, required("title"))?;
    put(&mut keys, "kind", &change.kind, |kind| Ok(kind.to_string()))?;
    put(&mut keys, "namespace", &namespace, required("namespace"))?;
    put(&mut keys, "scope", &change.scope, |it| Ok(it.to_string()))?;
    put(&mut keys, "tier", &change.tier, |tier| Ok(tier.to_string()))?;
    put(&mut keys, "importance", &change.importance, |&number| {
        limits::check_importance(number)?;
        Ok(number.to_string())
    })?;
    put(&mut keys, "confidence", &change.confidence, |&number| {
        limits::check_confidence(number)?;
        Ok(number.to_string())
    })?;
    put(&mut keys, "source", &change.source, required("source"))?;
    put(&mut keys, "status", &change.status, required("status"))?;
    put(&mut keys, "expires", &change.expires, |at| {
        Ok(at.as_str().to_owned())
    })?;
    put(&mut keys, "supersedes", &change.supersedes, |stems| {
        let mut each = stems.iter();
        each.try_for_each(|stem| limits::check_required("supersedes", stem))?;
        Ok(scalar::write_list(stems))
    })?;
    let replacement = &change.superseded_by;
    put(
        &mut keys,
        "superseded_by",
        replacement,
        required("superseded_by"),
    )?;
    put(&mut keys, "links", &change.links, |links| {
        limits::check_links(links)?;
        Ok(value::write_links(links, newline))
    })?;
    put(&mut keys, "metadata", &change.metadata, |metadata| {
        limits::check_metadata(metadata)?;
        Ok(value::write_metadata(metadata))
    })?;
    Ok(keys)
}

/// Adds `key` if `patch` changes it.
fn put<T>(
    keys: &mut ChangedKeys,
    key: &'static str,
    patch: &Patch<T>,
    render: impl FnOnce(&T) -> Result<String, FormatError>,
) -> Result<(), FormatError> {
    match patch {
        Patch::Keep => {}
        Patch::Set(value) => keys.push((key, Some(render(value)?))),
        Patch::Clear => keys.push((key, None)),
    }
    Ok(())
}

/// Returns `bytes` with the value of `key` replaced by `text`, which may begin on the next line;
/// `None` removes the key.
pub(super) fn set_key(
    bytes: &[u8],
    key: &'static str,
    text: Option<&str>,
) -> Result<Vec<u8>, FormatError> {
    let layout = FileLayout::of(bytes);
    let blank = text.map_or("", |text| match text.starts_with(['\r', '\n']) {
        true => "",
        false => " ",
    });
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
            let value = format!("{blank}{text}{comment}{line_end}");
            (entry.value.start..end, value)
        }
        (None, Some(text)) => {
            let at = place_of(&layout, key, bytes);
            (at..at, format!("{key}:{blank}{text}{}", layout.newline))
        }
    };
    spliced(bytes, &layout, range, &new)
}

/// Returns `bytes` with the range of its keys replaced by `new`.
fn spliced(
    bytes: &[u8],
    layout: &FileLayout,
    range: Range<usize>,
    new: &str,
) -> Result<Vec<u8>, FormatError> {
    let grown = layout.keys.len() - range.len() + new.len();
    if grown > MAX_FRONTMATTER_BYTES && new.len() > range.len() {
        return Err(FormatError::FrontmatterTooLarge {
            bytes: grown,
            limit: MAX_FRONTMATTER_BYTES,
        });
    }
    Ok([&bytes[..range.start], new.as_bytes(), &bytes[range.end..]].concat())
}

/// Returns `bytes` with the links or the metadata of `change`, where each that stays is as it was written; `None` where
/// another key changes, or the items of the key cannot be told apart.
fn with_kept_items(
    bytes: &[u8],
    key: &str,
    change: &Change,
) -> Result<Option<Vec<u8>>, FormatError> {
    let layout = FileLayout::of(bytes);
    let Some(entry) = layout.entry(key) else {
        return Ok(None);
    };
    let text = |range: Range<usize>| str::from_utf8(&bytes[range]).ok();
    let parts = (
        text(entry.lines.start..entry.value.start),
        text(entry.value.clone()),
        text(entry.below.clone()),
    );
    let (Some(head), Some(value), Some(below)) = parts else {
        return Ok(None);
    };
    let written = match (key, &change.links, &change.metadata) {
        ("links", Patch::Set(links), _) => List::read(ListKind::Links, value, below)
            .and_then(|list| list.with_links(links, head, layout.newline)),
        ("metadata", _, Patch::Set(metadata)) => Mapping::read(value, below)
            .and_then(|mapping| mapping.write(&[], metadata, head, layout.newline)),
        _ => None,
    };
    let spliced = |lines: String| spliced(bytes, &layout, entry.lines.clone(), &lines);
    written.map(spliced).transpose()
}

/// After the last key that the format's order puts before `key`, else before all keys.
fn place_of(layout: &FileLayout, key: &str, bytes: &[u8]) -> usize {
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
    let layout = FileLayout::of(bytes);
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
    if layout.frontmatter != Frontmatter::Whole && FileLayout::of(&edited).content.start != head {
        // A text that looks like a frontmatter would become one, and a byte order mark vanish.
        edited.splice(head..head, EMPTY_FRONTMATTER.iter().copied());
    }
    edited
}

/// Block that is put before a text which begins like a frontmatter, so that it is not taken for
/// one.
const EMPTY_FRONTMATTER: &[u8] = b"---\n---\n\n";

/// Returns whether the last line of `head`, which ends with a line break, is blank.
fn has_blank_line(head: &[u8]) -> bool {
    head.ends_with(b"\n\n") || head.ends_with(b"\n\r\n")
}
