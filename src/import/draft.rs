//! A foreign memory during its conversion: values that do not fit the format are repaired here, so that
//! few memories are refused.
//!
//! Every repair is named in the metadata entry `import_note`. Only content that is too long, and
//! more fields than a frontmatter holds, cannot be repaired.

use super::fields::ForeignFields;
use super::{Defaults, Foreign, ImportError, fields};
use crate::format::MAX_CONTENT_BYTES;
use crate::model::{Link, MetaValue, Timestamp};

/// Key of the metadata entry that names the repairs.
pub(super) const IMPORT_NOTE: &str = "import_note";

// What `format` allows. The test below asks `format` whether the repaired memory passes.
const MAX_SCALAR_BYTES: usize = 1024;
const MAX_TOPICS: usize = 100;
const MAX_TOPIC_BYTES: usize = 256;
const MAX_LINKS: usize = 200;
/// Maximum number of entries: the 64 that are allowed, without `source_id` and `source_hash`, the note, and the entry
/// that holds the rest.
const MAX_ENTRIES: usize = 60;
/// Maximum size of metadata, in bytes: more fits into no frontmatter.
const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Maximum number of uses of one memory that are imported.
const MOST_USES: usize = 1_000;
/// Maximum depth of nested metadata: two levels less than allowed.
const MAX_NESTING: usize = 12;

/// A foreign memory that is being converted.
pub(super) struct Draft {
    /// The memory so far.
    pub foreign: Foreign,
    /// Descriptions of the repairs.
    notes: Vec<String>,
}

impl Draft {
    /// Returns an empty memory from `source`.
    pub fn new(source: String) -> Draft {
        let foreign = Foreign {
            source,
            ..Foreign::default()
        };
        Draft {
            foreign,
            notes: Vec::new(),
        }
    }

    /// Sets the name of the memory in its source.
    pub fn called(&mut self, source_id: Option<String>) {
        self.foreign.source_id = source_id;
    }

    /// Adds the description of a repair.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds an entry to the metadata, under another name if its own is taken.
    pub fn keep(&mut self, key: &str, value: MetaValue) {
        insert(&mut self.foreign.memory.metadata, key, value);
    }

    /// Adds all entries of `metadata`, and the remaining fields.
    ///
    /// # Errors
    ///
    /// Fails if they are more than a frontmatter holds.
    pub fn keep_rest(
        &mut self,
        metadata: Vec<(String, MetaValue)>,
        fields: ForeignFields,
    ) -> Result<(), ImportError> {
        let bytes = size_of(&metadata) + size_of(&fields.0);
        if bytes > MAX_METADATA_BYTES {
            let what = format!(
                "its metadata has {bytes} bytes, more than {MAX_METADATA_BYTES}. Shorten it, or \
                 move the longest field into the text."
            );
            return Err(self.error(what));
        }
        for (key, value) in metadata.into_iter().chain(fields.rest()) {
            self.keep(&key, value);
        }
        Ok(())
    }

    /// Takes the time of the last change, which is kept in the metadata if it differs from the timestamp.
    pub fn take_updated(&mut self, fields: &mut ForeignFields) {
        let updated = fields.take(&["updated_at"], fields::moment);
        let created = self.foreign.memory.timestamp.as_ref().map(Timestamp::utc);
        if let Some(updated) = updated.filter(|at| Some(at.utc()) != created) {
            self.keep("updated_at", MetaValue::Text(updated.as_str().to_owned()));
        }
    }

    /// Takes the number of uses and the time of the last one. The source counts finds, memdir counts reads:
    /// only the last one is counted, and the number is kept in the metadata.
    pub fn take_uses(&mut self, fields: &mut ForeignFields) {
        let count = fields.take(&["access_count"], fields::count).unwrap_or(0);
        self.foreign.last_used =
            fields.take(&["last_accessed", "last_accessed_at"], fields::moment);
        let told = i64::from(self.foreign.last_used.is_some());
        if count > told {
            self.keep("access_count", MetaValue::Int(count));
            self.foreign
                .not_carried
                .push("counts of uses, kept as `access_count`");
        }
    }

    /// Takes as [`Draft::take_updated`], and counts it as the time of a change.
    pub fn take_change(&mut self, fields: &mut ForeignFields) {
        self.take_updated(fields);
        let mut metadata = self.foreign.memory.metadata.iter();
        let kept = metadata.find(|(key, _)| key == "updated_at");
        self.foreign.updated = kept.and_then(|(_, value)| match value {
            MetaValue::Text(text) => Timestamp::parse(text),
            _ => None,
        });
    }

    /// Takes as [`Draft::take_uses`], of a source that counts uses as memdir does: all of them are imported, at
    /// the moment of the last one.
    pub fn take_all_uses(&mut self, fields: &mut ForeignFields) {
        let count = fields.take(&["access_count"], fields::count).unwrap_or(0);
        let last = fields.take(&["last_accessed", "last_accessed_at"], fields::moment);
        let uses = usize::try_from(count).unwrap_or(0).min(MOST_USES);
        let uses = uses.max(usize::from(last.is_some()));
        let at = last.or_else(|| self.foreign.updated.clone());
        let at = at.or_else(|| self.foreign.memory.timestamp.clone());
        if at.is_none() && uses > 0 {
            self.keep("access_count", MetaValue::Int(count));
            self.foreign
                .not_carried
                .push("counts of uses, kept as `access_count`");
        }
        self.foreign.last_used = at.filter(|_| uses > 0);
        self.foreign.earlier_uses = uses.saturating_sub(1);
    }

    /// Adds a relation to the memory that its source calls `to`.
    pub fn relate(&mut self, relation: &str, to: String) {
        self.foreign.relations.push(Link {
            to,
            relation: fields::relation_word(relation),
        });
    }

    /// Returns an error about this memory.
    pub fn error(&self, what: String) -> ImportError {
        ImportError::Unreadable {
            source_name: self.foreign.source.clone(),
            what,
        }
    }

    /// Returns the memory with missing values filled in and invalid ones repaired.
    ///
    /// # Errors
    ///
    /// Fails if the content is longer than a memory may be.
    pub fn finish(mut self, defaults: &Defaults) -> Result<Foreign, ImportError> {
        let bytes = self.foreign.memory.content.len();
        if bytes > MAX_CONTENT_BYTES {
            let what = format!(
                "its content has {bytes} bytes, more than {MAX_CONTENT_BYTES}. Split it first."
            );
            return Err(self.error(what));
        }
        let mut memory = std::mem::take(&mut self.foreign.memory);
        let mut scalar = |field, text| fitting(field, text, MAX_SCALAR_BYTES, &mut self.notes);
        memory.agent = scalar("agent", memory.agent).unwrap_or_else(|| defaults.agent.clone());
        memory.user = scalar("user", memory.user).unwrap_or_else(|| defaults.user.clone());
        memory.title = memory.title.and_then(|text| scalar("title", text));
        memory.namespace = memory.namespace.and_then(|text| scalar("namespace", text));
        memory.source = memory.source.and_then(|text| scalar("source", text));
        memory.status = memory.status.and_then(|text| scalar("status", text));
        memory.supersedes = memory
            .supersedes
            .into_iter()
            .filter_map(|text| scalar("supersedes", text))
            .collect();
        memory.links = memory
            .links
            .into_iter()
            .filter_map(|link| {
                Some(Link {
                    to: scalar("a link's target", link.to)?,
                    relation: scalar("a link's type", link.relation)?,
                })
            })
            .collect();
        memory.topics = memory
            .topics
            .into_iter()
            .filter_map(|topic| fitting("a topic", topic, MAX_TOPIC_BYTES, &mut self.notes))
            .collect();
        cut_list("topics", &mut memory.topics, MAX_TOPICS, &mut self.notes);
        cut_list("links", &mut memory.links, MAX_LINKS, &mut self.notes);
        memory.metadata = self.fitting_metadata(memory.metadata);
        Ok(Foreign {
            memory,
            ..self.foreign
        })
    }

    fn fitting_metadata(&mut self, entries: Vec<(String, MetaValue)>) -> Vec<(String, MetaValue)> {
        let mut metadata = Vec::new();
        for (key, value) in entries {
            // The engine writes its own `source_id` and would drop this one.
            let taken = key == "source_id" && self.foreign.source_id.is_some();
            let key = if taken { "earlier_source_id" } else { &key };
            insert(&mut metadata, &self.metadata_key(key), value);
        }
        for (_, value) in &mut metadata {
            self.flatten(value, 1);
        }
        if metadata.len() > MAX_ENTRIES {
            let rest = metadata.split_off(MAX_ENTRIES);
            insert(&mut metadata, "more", MetaValue::Map(rest));
            self.note("metadata beyond 60 entries stands under `more`");
        }
        if !self.notes.is_empty() {
            let note = std::mem::take(&mut self.notes).join("; ");
            insert(&mut metadata, IMPORT_NOTE, MetaValue::Text(note));
        }
        metadata
    }

    fn metadata_key(&mut self, key: &str) -> String {
        // Room for the number of a name that is taken.
        let limit = MAX_SCALAR_BYTES - 24;
        fitting("a metadata key", key.to_owned(), limit, &mut self.notes)
            .unwrap_or_else(|| "unnamed".to_owned())
    }

    fn flatten(&mut self, value: &mut MetaValue, level: usize) {
        let is_container = matches!(value, MetaValue::List(_) | MetaValue::Map(_));
        if is_container && level > MAX_NESTING {
            self.note("what was nested too deep is kept as JSON text");
            *value = MetaValue::Text(fields::to_json(value).to_string());
            return;
        }
        match value {
            MetaValue::List(items) => items
                .iter_mut()
                .for_each(|item| self.flatten(item, level + 1)),
            MetaValue::Map(entries) => {
                let mut fitting = Vec::new();
                for (key, mut value) in std::mem::take(entries) {
                    self.flatten(&mut value, level + 1);
                    insert(&mut fitting, &self.metadata_key(&key), value);
                }
                *entries = fitting;
            }
            _ => {}
        }
    }
}

/// Returns a lower bound of the written size of the entries, in bytes.
fn size_of(entries: &[(String, MetaValue)]) -> usize {
    fn value_size(value: &MetaValue) -> usize {
        match value {
            MetaValue::Text(text) => text.len(),
            MetaValue::List(items) => items.iter().map(|item| 1 + value_size(item)).sum(),
            MetaValue::Map(entries) => size_of(entries),
            _ => 1,
        }
    }
    entries
        .iter()
        .map(|(key, value)| 3 + key.len() + value_size(value))
        .sum()
}

/// Adds an entry under `key`, or under `key_2`, `key_3` … where that is taken by another value.
fn insert(entries: &mut Vec<(String, MetaValue)>, key: &str, value: MetaValue) {
    let mut name = key.to_owned();
    let mut number = 1;
    while let Some((_, taken)) = entries.iter().find(|(known, _)| *known == name) {
        if *taken == value {
            return;
        }
        number += 1;
        name = format!("{key}_{number}");
    }
    entries.push((name, value));
}

/// Returns the text without control characters and not longer than `limit` bytes; `None` if it is blank.
fn fitting(field: &str, text: String, limit: usize, notes: &mut Vec<String>) -> Option<String> {
    let mut text = text;
    if text.contains(char::is_control) {
        text = text.replace(char::is_control, " ").trim().to_owned();
        notes.push(format!("control characters in {field} became spaces"));
    }
    if text.len() > limit {
        notes.push(format!("{field} was cut, it had {} bytes", text.len()));
        text.truncate(text.floor_char_boundary(limit));
    }
    (!text.trim().is_empty()).then_some(text)
}

fn cut_list<T>(field: &str, items: &mut Vec<T>, limit: usize, notes: &mut Vec<String>) {
    if items.len() > limit {
        notes.push(format!("only {limit} of {} {field} were kept", items.len()));
        items.truncate(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;
    use crate::format::FormatError;
    use crate::model::{NewMemory, Stem};

    #[test]
    fn whatever_is_repaired_is_accepted_by_the_writer() {
        check(
            |memory| memory.title = Some("x".repeat(5000)),
            "title was cut",
        );
        check(
            |memory| memory.title = Some("ü".repeat(513)),
            "title was cut",
        );
        check(
            |memory| memory.title = Some("a\u{7}b".to_owned()),
            "control characters in title",
        );
        check(
            |memory| memory.agent = "\n".to_owned(),
            "control characters in agent",
        );
        check(|memory| memory.user = "u".repeat(1025), "user was cut");
        check(
            |memory| memory.topics = vec!["t".repeat(257)],
            "a topic was cut",
        );
        check(
            |memory| memory.topics = vec!["t".to_owned(); 101],
            "only 100 of 101 topics",
        );
        check(|memory| memory.metadata = many(70), "beyond 60 entries");
        check(
            |memory| memory.metadata = vec![("a".to_owned(), deep(40))],
            "nested too deep",
        );
        check(
            |memory| memory.metadata = vec![("a\u{0}".repeat(2000), deep(1))],
            "key was cut",
        );
        check(
            |memory| memory.metadata = vec![(String::new(), deep(1)), (String::new(), deep(2))],
            "",
        );
        check(|memory| memory.namespace = Some(" ".to_owned()), "");
        let link = |to: &str| Link {
            to: to.to_owned(),
            relation: "x".to_owned(),
        };
        check(
            |memory| memory.links = vec![link("a\tb"), link("")],
            "link's target",
        );
        check(
            |memory| memory.links = vec![link("a"); 201],
            "only 200 of 201 links",
        );
    }

    fn many(count: usize) -> Vec<(String, MetaValue)> {
        (0..count)
            .map(|n| (format!("key{n}"), MetaValue::Int(1)))
            .collect()
    }

    fn deep(levels: usize) -> MetaValue {
        (0..levels).fold(MetaValue::Null, |inside, n| match n % 2 {
            0 => MetaValue::List(vec![inside]),
            _ => MetaValue::Map(vec![("k".to_owned(), inside)]),
        })
    }

    fn defaults() -> Defaults {
        Defaults {
            agent: "importer".to_owned(),
            user: "me".to_owned(),
            namespace: None,
        }
    }

    #[track_caller]
    fn check(spoil: impl Fn(&mut NewMemory), note: &str) {
        let mut draft = Draft::new("here".to_owned());
        spoil(&mut draft.foreign.memory);
        draft.called(Some("x".to_owned()));
        let mut memory = draft.finish(&defaults()).unwrap().memory;
        let notes = memory
            .metadata
            .iter()
            .find(|(key, _)| key == IMPORT_NOTE)
            .map_or(String::new(), |(_, note)| fields::text(note).unwrap());
        assert!(notes.contains(note), "{notes:?} does not say {note:?}");
        let source_id = MetaValue::Text("x".to_owned());
        memory
            .metadata
            .insert(0, ("source_id".to_owned(), source_id));
        let timestamp = Timestamp::parse("2026-01-14T09:15:00Z").unwrap();
        let stem = Stem::parse("20260114_091500_1f3a9c02").unwrap();
        let rendered = format::render(&memory, &stem, &timestamp);
        assert!(
            matches!(
                rendered,
                Ok(_) | Err(FormatError::FrontmatterTooLarge { .. })
            ),
            "{rendered:?}"
        );
    }

    #[test]
    fn no_entry_of_the_metadata_replaces_another() {
        let mut draft = Draft::new("here".to_owned());
        draft.called(Some("new".to_owned()));
        draft.keep("a", MetaValue::Int(1));
        draft.keep("a", MetaValue::Int(1));
        draft.keep("a", MetaValue::Int(2));
        draft.keep("source_id", MetaValue::Int(3));
        let metadata = draft.finish(&defaults()).unwrap().memory.metadata;
        let expected = [("a", 1), ("a_2", 2), ("earlier_source_id", 3)]
            .map(|(key, int)| (key.to_owned(), MetaValue::Int(int)));
        assert_eq!(metadata, expected);
    }

    #[test]
    fn content_over_the_limit_is_refused_with_its_size() {
        let mut draft = Draft::new("notes/long.md".to_owned());
        draft.foreign.memory.content = "x".repeat(MAX_CONTENT_BYTES + 1);
        let error = draft.finish(&defaults()).unwrap_err().to_string();
        assert!(
            error.starts_with("notes/long.md: its content has 1048577 bytes"),
            "{error}"
        );
    }
}
