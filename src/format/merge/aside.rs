//! Two memories out of two texts that contradict: one keeps the name, the other gets a new one.
//!
//! Promises: both texts stay as they are but for the new one's id and a link to each other; where
//! not even these can be written, a text is left alone, or stands whole below a new frontmatter.

use chrono::DateTime;

use super::keys::moment;
use super::merged::Merged;
use super::problems;
use crate::format::file_name::{FileNameKind, classify};
use crate::format::layout::{FileLayout, Frontmatter};
use crate::format::limits::MAX_FRONTMATTER_BYTES;
use crate::format::lists::{List, ListItem, ListKind};
use crate::format::markers::has_conflict_markers;
use crate::format::read::STATED_TIMES;
use crate::format::render::render;
use crate::format::{edit, limits, scalar, value};
use crate::model::{Change, Handle, Link, NewMemory, Patch, Stem, Timestamp};

/// The type of the links between the two.
pub(super) const RELATION: &str = "conflicts-with";

/// Keeps `winner` under `stem` and puts `loser`, which was written `at`, in seconds since 1970, aside.
pub(super) fn two(stem: &Stem, winner: &[u8], loser: &[u8], at: i64) -> Merged {
    let aside_stem = name(stem, winner, loser, at);
    let kept = linked(winner, &aside_stem)
        .filter(|kept| problems::has_no_new((stem, kept), &[(stem, winner)]))
        .unwrap_or_else(|| winner.to_vec());
    let aside = renamed(stem, loser, &aside_stem)
        .unwrap_or_else(|| fresh(stem, winner, loser, &aside_stem));
    Merged::Two {
        kept,
        aside,
        aside_stem,
    }
}

/// `text`, a later version of what the memory `aside` was made of, as a version of that memory, which
/// conflicts with `stem`; `None` if that would lose more than its id.
pub fn aside_as(stem: &Stem, text: &[u8], aside: &Stem) -> Option<Vec<u8>> {
    renamed(stem, text, aside)
}

/// Returns the new memory's stem: it follows from both texts, and from which of them keeps the name, so that
/// every machine finds the same one, finds it again when the same conflict comes back, and finds
/// another one where the other text is put aside.
fn name(stem: &Stem, winner: &[u8], loser: &[u8], at: i64) -> Stem {
    let own = match classify(&format!("{stem}.md")) {
        FileNameKind::ConflictCopy { of, .. } => of,
        _ => stem.clone(),
    };
    // As every machine reads it, in whatever time zone.
    let stated = |bytes| {
        let keys = ["timestamp"].into_iter().chain(STATED_TIMES);
        keys.into_iter().find_map(|key| moment(&raw(bytes, key)?))
    };
    let moment = own
        .time()
        .or_else(|| [loser, winner].into_iter().find_map(stated));
    // Without the fractions: those of a leap second would name a second that is none.
    let seconds = moment.map_or(at, |moment| moment.timestamp());
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or(DateTime::UNIX_EPOCH);
    let mut hasher = blake3::Hasher::new();
    hasher.update(stem.as_str().as_bytes());
    hasher.update(&[0]);
    // Without the length, texts that are cut apart elsewhere would have the same name.
    hasher.update(&(loser.len() as u64).to_le_bytes());
    hasher.update(loser);
    hasher.update(winner);
    loop {
        let hex = hasher.finalize().to_hex();
        let handle = Handle::parse(&hex[..8]).expect("a hash is written in hex digits");
        // As when a handle is drawn: no YAML reader may take it for a number.
        let is_text = handle.as_str().contains(['a', 'c', 'd', 'f']);
        if is_text && own.handle() != Some(handle) {
            return Stem::new(time, handle);
        }
        hasher.update(&[1]);
    }
}

/// Returns the one-line value of a key that is read raw.
fn raw(bytes: &[u8], key: &str) -> Option<String> {
    let layout = FileLayout::of(bytes);
    let value = layout.entry(key)?.value.clone();
    let value = String::from_utf8_lossy(&bytes[value]);
    Some(scalar::read_raw(&value).into_owned())
}

/// `bytes` with a link to `to`; `None` if none can be added to what is there.
fn linked(bytes: &[u8], to: &Stem) -> Option<Vec<u8>> {
    let layout = FileLayout::of(bytes);
    let keys = std::str::from_utf8(&bytes[layout.keys.clone()]).ok()?;
    if layout.frontmatter != Frontmatter::Whole || has_conflict_markers(keys.as_bytes()) {
        return None;
    }
    let link = Link {
        to: to.as_str().to_owned(),
        relation: RELATION.to_owned(),
    };
    let links = std::slice::from_ref(&link);
    limits::check_links(links).ok()?;
    let with_link = match layout.entry("links") {
        None => {
            let change = Change {
                links: Patch::Set(links.to_vec()),
                ..Change::default()
            };
            edit::edit(bytes, &change).ok()?
        }
        Some(entry) => {
            let [head, value, below] = [
                entry.lines.start..entry.value.start,
                entry.value.clone(),
                entry.below.clone(),
            ]
            .map(|range| &keys[range.start - layout.keys.start..range.end - layout.keys.start]);
            let known = value::read_links(value, below).ok()?;
            let list = List::read(ListKind::Links, value, below)?;
            let item = ListItem::of_link(&link);
            if list.holds(&item) {
                return Some(bytes.to_vec());
            }
            limits::check_links(&[known.as_slice(), links].concat()).ok()?;
            let items: Vec<ListItem> = list.items.iter().cloned().chain([item]).collect();
            let text = list.write(ListKind::Links, head, &items, layout.newline);
            let (start, end) = (entry.lines.start, entry.lines.end);
            [&bytes[..start], text.as_bytes(), &bytes[end..]].concat()
        }
    };
    let is_within_limit = FileLayout::of(&with_link).keys.len() <= MAX_FRONTMATTER_BYTES;
    is_within_limit.then_some(with_link)
}

/// `bytes` as the memory `aside`, which conflicts with `stem`; `None` if its frontmatter is
/// damaged, or would lose more than the old id.
fn renamed(stem: &Stem, bytes: &[u8], aside: &Stem) -> Option<Vec<u8>> {
    let layout = FileLayout::of(bytes);
    let keys = &bytes[layout.keys.clone()];
    let has_more = |key| {
        layout
            .entry(key)
            .is_some_and(|entry| !entry.below.is_empty())
    };
    if layout.frontmatter != Frontmatter::Whole || has_conflict_markers(keys) || has_more("id") {
        return None;
    }
    let renamed = edit::called(bytes, aside).ok()?;
    [linked(&renamed, stem), Some(renamed)]
        .into_iter()
        .flatten()
        .find(|text| problems::has_no_new((aside, text), &[(stem, bytes)]))
}

/// A memory whose content is `bytes`, all of them.
fn fresh(stem: &Stem, winner: &[u8], bytes: &[u8], aside: &Stem) -> Vec<u8> {
    let known = |key: &'static str| {
        let texts = [bytes, winner]
            .into_iter()
            .filter_map(|side| raw(side, key));
        let mut sound = texts.filter(|text| limits::check_required(key, text).is_ok());
        sound.next().unwrap_or_else(|| "unknown".to_owned())
    };
    let link = Link {
        to: stem.as_str().to_owned(),
        relation: RELATION.to_owned(),
    };
    let mut memory = NewMemory {
        agent: known("agent"),
        user: known("user"),
        links: vec![link],
        ..NewMemory::default()
    };
    if limits::check_links(&memory.links).is_err() {
        memory.links.clear(); // A file name may hold what no value does.
    }
    let time = aside.time().unwrap_or(DateTime::UNIX_EPOCH);
    let frontmatter = render(&memory, aside, &Timestamp::from_utc(time))
        .expect("its values were checked, and there are few");
    [frontmatter.as_bytes(), bytes].concat()
}
