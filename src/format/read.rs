//! Bytes → [`Memory`], whatever the bytes are.

use std::borrow::Cow;
use std::str::FromStr;

use chrono::{DateTime, Utc};

use super::file_name::{FileNameKind, classify};
use super::layout::{FileLayout, Frontmatter, KeyEntry};
use super::limits::{MAX_FRONTMATTER_BYTES, MAX_KEYS};
use super::markers::has_conflict_markers;
use super::{danger, scalar, value};
use crate::model::{
    Memory, POSSIBLE_TIMES, Problem, Stem, Timestamp, UPDATED, is_possible_time,
    normalized_namespace,
};

/// Every key the format knows, in the order it is written.
pub(super) const KEYS: [&str; 19] = [
    "id",
    "timestamp",
    "agent",
    "user",
    "topics",
    "title",
    "kind",
    "namespace",
    "scope",
    "tier",
    "importance",
    "confidence",
    "source",
    "status",
    "expires",
    "supersedes",
    "superseded_by",
    "links",
    "metadata",
];

/// Keys that other programs write unquoted whatever their text; a comment cannot follow them.
pub(super) const RAW_KEYS: [&str; 4] = ["id", "timestamp", "agent", "user"];

const LIST_KEYS: [&str; 3] = ["topics", "tags", "supersedes"];

/// Maximum distance between a name in UTC and one by a program that names files in local time.
const MOST_APART: chrono::Duration = chrono::Duration::hours(24);

/// Keys under which other programs state when a note was written, best first.
pub(super) const STATED_TIMES: [&str; 4] = ["created", "created_at", "date", UPDATED];

/// Reads a memory file.
///
/// The time is what the frontmatter states (`timestamp`, else `created`, `date` or `updated`), else the
/// one in the name; `modified` stands in where neither states one. What cannot be
/// read is left out and named in `problems`; the content is always there.
pub fn parse(stem: &Stem, bytes: &[u8], modified: DateTime<Utc>) -> Memory {
    Reader::new(bytes).memory(stem, modified)
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// The same, where all of it is UTF-8.
    utf8: Option<&'a str>,
    layout: FileLayout,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            bytes,
            utf8: std::str::from_utf8(bytes).ok(),
            layout: FileLayout::of(bytes),
            problems: Vec::new(),
        }
    }

    fn memory(mut self, stem: &Stem, modified: DateTime<Utc>) -> Memory {
        self.check_name(stem);
        self.check_text();
        self.check_block();
        let id = self.raw("id");
        if let (Some(id), Some(handle)) = (&id, stem.handle())
            && id != handle.as_str()
        {
            self.problems
                .push(Problem::IdDiffersFromName { id: id.clone() });
        }
        let timestamp = self.timestamp(stem, modified);
        let content = self.text(self.layout.content.clone()).into_owned();
        Memory {
            stem: stem.clone(),
            id: id.unwrap_or_else(|| stem.short().to_owned()),
            timestamp,
            agent: self.raw("agent").unwrap_or_default(),
            user: self.raw("user").unwrap_or_default(),
            topics: self.topics(),
            title: self.title(),
            kind: self.parsed("kind"),
            namespace: self
                .scalar("namespace")
                .map(|text| normalized_namespace(&text).into_owned()),
            scope: self.parsed("scope"),
            tier: self.parsed("tier"),
            importance: self.number("importance", |n: &u8| (1..=10).contains(n), "1 to 10"),
            confidence: self.number("confidence", |n: &f64| (0.0..=1.0).contains(n), "0 to 1"),
            source: self.scalar("source"),
            status: self.scalar("status"),
            expires: self.expires(),
            supersedes: self.list("supersedes").unwrap_or_default(),
            superseded_by: self.scalar("superseded_by"),
            links: self.checked("links", value::read_links),
            metadata: self.checked("metadata", value::read_metadata),
            unknown: self.unknown(),
            content,
            problems: self.problems,
        }
    }

    fn check_name(&mut self, stem: &Stem) {
        match classify(&format!("{stem}.md")) {
            FileNameKind::Memory(_) => {}
            FileNameKind::ConflictCopy { of, .. } => {
                self.problems
                    .push(Problem::ConflictCopyOf(of.as_str().to_owned()));
            }
            FileNameKind::Foreign(_) if stem.is_of_replaced_text() => {}
            FileNameKind::Foreign(_) | FileNameKind::Ignored => {
                self.problems.push(Problem::ForeignName);
            }
        }
    }

    fn check_text(&mut self) {
        if self.bytes.is_empty() {
            self.problems.push(Problem::Empty);
            return;
        }
        if self.utf8.is_none() {
            self.problems.push(Problem::NotUtf8);
        }
        if memchr::memchr(0, self.bytes).is_some() {
            self.problems.push(Problem::HasNul);
        }
        if has_conflict_markers(self.bytes) {
            self.problems.push(Problem::ConflictMarkers);
        }
    }

    fn check_block(&mut self) {
        match self.layout.frontmatter {
            Frontmatter::Absent if self.bytes.is_empty() => {}
            Frontmatter::Absent => self.problems.push(Problem::NoFrontmatter),
            Frontmatter::NotClosed => self.problems.push(Problem::FrontmatterNotClosed),
            Frontmatter::Whole => self.check_keys(),
        }
    }

    fn check_keys(&mut self) {
        let bytes = self.layout.keys.len();
        if bytes > MAX_FRONTMATTER_BYTES {
            self.problems.push(Problem::FrontmatterTooLarge { bytes });
        }
        for range in self.layout.stray.clone() {
            let key: String = self.text(range).chars().take(40).collect();
            self.report(&key, "is no `key: value` line".to_owned());
        }
        let keys: Vec<&str> = self.layout.entries.iter().map(|e| e.key.as_str()).collect();
        if keys.len() > MAX_KEYS {
            let what = format!("{} keys, more than {MAX_KEYS}", keys.len());
            self.problems.push(Problem::RefusedYaml(what));
        }
        let mut twice: Vec<String> = Vec::new();
        for (at, key) in keys.iter().enumerate().take(MAX_KEYS) {
            if keys[..at].contains(key) && !twice.iter().any(|known| known == key) {
                twice.push((*key).to_owned());
            }
        }
        let twice = twice.into_iter().map(Problem::DuplicateKey);
        self.problems.extend(twice);
        let entries = std::mem::take(&mut self.layout.entries);
        entries.iter().for_each(|entry| self.check_entry(entry));
        self.layout.entries = entries;
        for key in &KEYS[..5] {
            if self.layout.entry(key).is_none()
                && !(*key == "topics" && self.layout.entry("tags").is_some())
            {
                self.problems.push(Problem::MissingKey(key));
            }
        }
    }

    /// Reports faults of a key's lines that leave their meaning plain.
    fn check_entry(&mut self, entry: &KeyEntry) {
        let key = entry.key.as_str();
        let (value, below) = (
            self.text(entry.value.clone()),
            self.text(entry.below.clone()),
        );
        if key == "<<" {
            self.problems
                .push(Problem::RefusedYaml("it holds a merge key".to_owned()));
        }
        if below.lines().any(|line| line.starts_with('\t')) {
            let what = "is indented by a tab, which YAML does not allow".to_owned();
            self.report(key, what);
        }
        if LIST_KEYS.contains(&key) && !value::is_sound_list(&value, &below) {
            let what = "holds a quoted text that has no end or an impossible escape".to_owned();
            self.report(key, what);
        }
    }

    fn report(&mut self, key: &str, what: String) {
        let key = key.to_owned();
        self.problems.push(Problem::Key { key, what });
    }

    fn text(&self, range: std::ops::Range<usize>) -> Cow<'a, str> {
        // A range begins and ends beside ASCII.
        match self.utf8.and_then(|text| text.get(range.clone())) {
            Some(text) => Cow::Borrowed(text),
            None => String::from_utf8_lossy(&self.bytes[range]),
        }
    }

    fn value_of(&self, key: &str) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let entry = self.layout.entry(key)?;
        Some((
            self.text(entry.value.clone()),
            self.text(entry.below.clone()),
        ))
    }

    fn raw(&self, key: &str) -> Option<String> {
        let (value, _) = self.value_of(key)?;
        Some(scalar::read_raw(&value).into_owned())
    }

    /// Reads a one-line scalar, or a block scalar (`|`, `>`) as YAML folds it. Empty counts as absent.
    fn scalar(&mut self, key: &'static str) -> Option<String> {
        let (value, below) = self.value_of(key)?;
        let first = scalar::trim_blank(&value);
        let text = if below.trim().is_empty() {
            scalar::read(&value).into_owned()
        } else {
            match self.folded(key, &value, &below) {
                Ok(text) => text,
                Err(what) => {
                    self.report(key, what);
                    first.to_owned()
                }
            }
        };
        (!text.is_empty()).then_some(text)
    }

    fn folded(&self, key: &str, value: &str, below: &str) -> Result<String, String> {
        let yaml = format!("{value}\n{below}");
        if let Some(what) = danger::find(&yaml) {
            return Err(format!("it is refused, because it holds {what}"));
        }
        let map: std::collections::BTreeMap<String, String> =
            serde_yaml::from_str(&format!("{key}:{yaml}")).map_err(|error| error.to_string())?;
        Ok(map.into_values().next().unwrap_or_default())
    }

    fn parsed<T: FromStr<Err: ToString>>(&mut self, key: &'static str) -> Option<T> {
        let text = self.scalar(key)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.report(key, error.to_string());
                None
            }
        }
    }

    fn number<T: FromStr>(
        &mut self,
        key: &'static str,
        fits: fn(&T) -> bool,
        range: &str,
    ) -> Option<T> {
        let text = self.scalar(key)?;
        let number = text.parse().ok().filter(fits);
        if number.is_none() {
            let what = format!("`{text}` is no number from {range}");
            self.report(key, what);
        }
        number
    }

    fn timestamp(&mut self, stem: &Stem, modified: DateTime<Utc>) -> Timestamp {
        if let Some(text) = self.raw("timestamp").filter(|text| !text.is_empty()) {
            if let Some(timestamp) = Timestamp::parse(&text) {
                let apart = stem.time().map(|time| (timestamp.utc() - time).abs());
                if apart.is_some_and(|apart| apart > MOST_APART) {
                    let what = format!("`{text}` is more than a day away from the file name");
                    self.report("timestamp", what);
                }
                return timestamp;
            }
            let what = format!("`{text}` is no date and time in ISO 8601 {POSSIBLE_TIMES}");
            self.report("timestamp", what);
        }
        // Keys of other programs: one that says no time is no fault of the file.
        let stated = STATED_TIMES
            .into_iter()
            .find_map(|key| Timestamp::parse(&self.raw(key)?));
        stated.unwrap_or_else(|| {
            let named = stem.time().filter(|at| is_possible_time(*at));
            Timestamp::from_utc(named.unwrap_or(modified))
        })
    }

    fn expires(&mut self) -> Option<Timestamp> {
        let text = self.scalar("expires")?;
        let expires = Timestamp::parse(&text);
        if expires.is_none() {
            let what = format!(
                "`{text}` is no date and time in ISO 8601 {POSSIBLE_TIMES}; it never expires"
            );
            self.report("expires", what);
        }
        expires
    }

    /// Between git's conflict markers a key stands once for each side, and both are searched.
    fn title(&mut self) -> Option<String> {
        let title = self.scalar("title")?;
        let others = self.other_sides("title");
        let others = others.map(|(value, _)| scalar::read(&value).into_owned());
        let sides: Vec<String> = std::iter::once(title).chain(others).collect();
        Some(sides.join(" / "))
    }

    /// Returns the further lines of a key in a frontmatter with git's conflict markers.
    fn other_sides(&self, key: &str) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        let is_in_conflict = has_conflict_markers(&self.bytes[self.layout.keys.clone()]);
        let entries = self.layout.entries.iter().filter(move |e| e.key == key);
        entries
            .skip(if is_in_conflict { 1 } else { usize::MAX })
            .map(|entry| {
                let (value, below) = (entry.value.clone(), entry.below.clone());
                (self.text(value), self.text(below))
            })
    }

    fn topics(&self) -> Vec<String> {
        let mut topics = self.list("topics");
        for (value, below) in self.other_sides("topics") {
            topics
                .get_or_insert_default()
                .extend(value::read_list(&value, &below));
        }
        topics
            .or_else(|| {
                let tags = self.list("tags")?;
                Some(
                    tags.iter()
                        .map(|tag| tag.trim_start_matches('#').to_owned())
                        .collect(),
                )
            })
            .unwrap_or_default()
    }

    fn list(&self, key: &str) -> Option<Vec<String>> {
        let (value, below) = self.value_of(key)?;
        Some(value::read_list(&value, &below))
    }

    fn checked<T: Default>(
        &mut self,
        key: &'static str,
        read: fn(&str, &str) -> Result<T, String>,
    ) -> T {
        let Some((value, below)) = self.value_of(key) else {
            return T::default();
        };
        if self.layout.keys.len() > MAX_FRONTMATTER_BYTES {
            return T::default();
        }
        read(&value, &below).unwrap_or_else(|what| {
            self.report(key, what);
            T::default()
        })
    }

    fn unknown(&mut self) -> Vec<(String, String)> {
        let unknown: Vec<KeyEntry> = self
            .layout
            .entries
            .iter()
            .filter(|entry| !KEYS.contains(&entry.key.as_str()))
            .take(MAX_KEYS)
            .cloned()
            .collect();
        unknown
            .into_iter()
            .map(|entry| {
                let raw = self.text(entry.value.start..entry.lines.end);
                let raw = raw.trim();
                // A comment after a value, or its quotes, are no part of what it says.
                let text = match entry.below.is_empty() && !raw.starts_with(['[', '{']) {
                    true => scalar::read(raw).into_owned(),
                    false => raw.to_owned(),
                };
                if let Some(what) = danger::find(raw) {
                    self.problems.push(Problem::RefusedYaml(format!(
                        "`{}` holds {what}",
                        entry.key
                    )));
                }
                (entry.key, text)
            })
            .collect()
    }
}
