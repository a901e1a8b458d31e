//! Exports of other programs as JSON → memories: one object a line, or one list of objects.
//!
//! Each object is read by itself, from a file or standard input of any length. Usual names of other
//! programs (`text`, `tags`, `priority` …) are mapped to fields; an unknown name, or one with an invalid
//! value, is kept in the metadata under its own key.

use std::path::Path;

use super::draft::Draft;
use super::fields::ForeignFields;
use super::rows::ImportRows;
use super::{Defaults, ForeignMemories, ImportError, fields};
use crate::model::{Stem, Timestamp};

/// Reads the memories of the file at `path`, or of standard input for `-`, in their order.
///
/// # Errors
///
/// Fails if the file cannot be read.
pub fn jsonl(path: &Path, defaults: &Defaults) -> Result<ForeignMemories, ImportError> {
    Ok(memories(ImportRows::open(path, &[])?, defaults))
}

fn memories(rows: ImportRows, defaults: &Defaults) -> ForeignMemories {
    let defaults = defaults.clone();
    Box::new(rows.map(move |row| {
        let row = row?;
        let mut draft = Draft::new(row.source);
        fill(&mut draft, row.fields, &defaults)?;
        draft.finish(&defaults)
    }))
}

/// Returns whether the stem has the second of this timestamp.
fn is_second_of(stem: &Stem, at: &Timestamp) -> bool {
    stem.time()
        .is_some_and(|time| time.timestamp() == at.utc().timestamp())
}

/// Reads a memory from the fields of an object.
///
/// # Errors
///
/// Fails if they have no text.
pub(super) fn fill(
    draft: &mut Draft,
    mut fields: ForeignFields,
    defaults: &Defaults,
) -> Result<(), ImportError> {
    let Some(content) = fields.take(&["text", "content", "value"], fields::any_text) else {
        return Err(draft.error("it has no text: no `text`, `content` or `value`".to_owned()));
    };
    let memory = &mut draft.foreign.memory;
    memory.content = content;
    memory.timestamp = fields.take(&["timestamp", "created_at"], fields::moment);
    memory.agent = fields.take(&["agent"], fields::text).unwrap_or_default();
    memory.user = fields.take(&["user"], fields::text).unwrap_or_default();
    memory.topics = fields.take_topics();
    memory.title = fields.take(&["title", "key"], fields::text);
    memory.kind = fields.take(&["kind", "type"], fields::word);
    memory.scope = fields.take(&["scope"], fields::word);
    memory.namespace = fields
        .take(&["namespace", "category", "source_group"], fields::text)
        .or_else(|| fields.take(&["scope"], fields::text))
        .or_else(|| defaults.namespace.clone());
    memory.tier = fields.take(&["tier"], fields::word);
    memory.importance = fields.take(&["importance", "priority"], fields::importance);
    memory.confidence = fields.take(&["confidence"], fields::confidence);
    memory.source = fields.take(&["source"], fields::text);
    memory.status = fields.take(&["status"], fields::text);
    memory.expires = fields.take(&["expires", "expires_at"], fields::moment);
    memory.supersedes = fields
        .take(&["supersedes"], fields::list)
        .unwrap_or_default();
    memory.superseded_by = fields.take(&["superseded_by"], fields::text);
    memory.links = fields.take(&["links"], fields::links).unwrap_or_default();
    // What `export` wrote keeps its name: it is the same memory in another store.
    let name = fields.take(&["stem"], fields::text);
    let stem = name.as_deref().and_then(Stem::parse);
    let own = stem.filter(|stem| {
        memory
            .timestamp
            .as_ref()
            .is_some_and(|at| is_second_of(stem, at))
    });
    memory.handle = own.as_ref().and_then(Stem::handle);
    let id = fields.take(&["id"], fields::text);
    let mut metadata = fields.take(&["metadata"], fields::map).unwrap_or_default();
    if name.is_some() {
        let keys = fields.take(&["keys"], fields::map).unwrap_or_default();
        let is_new = |key: &String| metadata.iter().all(|(known, _)| known != key);
        let keys: Vec<_> = keys.into_iter().filter(|(key, _)| is_new(key)).collect();
        metadata.extend(keys);
    }
    draft.keep_rest(metadata, fields)?;
    draft.called(id.filter(|_| own.is_none()));
    // Others name it so, where it gets another name.
    draft.foreign.names.extend(name.filter(|_| own.is_none()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::import::Foreign;
    use crate::import::records::MAX_RECORD_BYTES;
    use crate::model::{Kind, Link, MetaValue, Scope, Tier};

    fn defaults() -> Defaults {
        Defaults {
            agent: "importer".to_owned(),
            user: "me".to_owned(),
            namespace: None,
        }
    }

    fn read(input: impl Into<Vec<u8>>) -> Vec<Result<Foreign, ImportError>> {
        let input = Box::new(Cursor::new(input.into()));
        let rows = ImportRows::of(input, Path::new("in"), "in.jsonl", &[]).unwrap();
        memories(rows, &defaults()).collect()
    }

    #[track_caller]
    fn one(line: &str) -> Foreign {
        let mut all = read(line);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0).unwrap()
    }

    #[test]
    fn a_line_of_the_evaluation_sets_is_read_whole() {
        let foreign = one(
            r#"{"id": "conv-26/S1F0", "timestamp": "2023-05-08T13:57:00", "user": "Caroline", "agent": "chat", "text": "Caroline attended.", "session": "conv-26/S1", "scope": "conv-26"}"#,
        );
        let memory = foreign.memory;
        assert_eq!(foreign.source_id.as_deref(), Some("conv-26/S1F0"));
        assert_eq!(foreign.source, "in.jsonl:1");
        assert_eq!(memory.timestamp.unwrap().as_str(), "2023-05-08T13:57:00");
        assert_eq!(
            (memory.user.as_str(), memory.agent.as_str()),
            ("Caroline", "chat")
        );
        assert_eq!(memory.content, "Caroline attended.");
        assert_eq!(memory.namespace.as_deref(), Some("conv-26"));
        assert_eq!(memory.scope, None);
        let session = MetaValue::Text("conv-26/S1".to_owned());
        assert_eq!(memory.metadata, [("session".to_owned(), session)]);
    }

    #[test]
    fn every_field_is_known_by_its_other_names() {
        let memory = one(
            r#"{"value": "v", "tags": "a, b", "key": "k.x", "category": "tools", "scope": "global", "type": "semantic", "tier": "long", "priority": 7, "confidence": 0.5, "source": "session", "status": "active", "expires_at": "2030-01-01T00:00:00Z", "supersedes": ["old"], "links": [{"target": "x", "relation": "elaborates"}, "y"], "created_at": 1768382100, "id": 12}"#,
        );
        assert_eq!(memory.source_id.as_deref(), Some("12"));
        let memory = memory.memory;
        assert_eq!(memory.content, "v");
        assert_eq!(memory.topics, ["a", "b"]);
        assert_eq!(memory.title.as_deref(), Some("k.x"));
        assert_eq!(memory.namespace.as_deref(), Some("tools"));
        assert_eq!(memory.scope, Some(Scope::Global));
        assert_eq!(memory.kind, Some(Kind::Semantic));
        assert_eq!(memory.tier, Some(Tier::Long));
        assert_eq!((memory.importance, memory.confidence), (Some(7), Some(0.5)));
        assert_eq!(memory.source.as_deref(), Some("session"));
        assert_eq!(memory.status.as_deref(), Some("active"));
        assert_eq!(memory.expires.unwrap().as_str(), "2030-01-01T00:00:00Z");
        assert_eq!(memory.supersedes, ["old"]);
        let link = |to: &str, relation: &str| Link {
            to: to.to_owned(),
            relation: relation.to_owned(),
        };
        assert_eq!(
            memory.links,
            [link("x", "elaborates"), link("y", "related-to")]
        );
        let at = memory.timestamp.unwrap().utc().to_rfc3339();
        assert_eq!(at, "2026-01-14T09:15:00+00:00");
        assert_eq!(
            (memory.agent.as_str(), memory.user.as_str()),
            ("importer", "me")
        );
        assert_eq!(memory.metadata, []);
    }

    #[test]
    fn what_a_field_cannot_hold_is_kept_in_the_metadata() {
        check_metadata(r#""importance": 50"#, r#"{"importance": 50}"#);
        check_metadata(r#""importance": 0"#, r#"{"importance": 0}"#);
        check_metadata(r#""priority": "high""#, r#"{"priority": "high"}"#);
        check_metadata(r#""confidence": 1.5"#, r#"{"confidence": 1.5}"#);
        check_metadata(r#""kind": "recipe""#, r#"{"kind": "recipe"}"#);
        check_metadata(r#""timestamp": "now""#, r#"{"timestamp": "now"}"#);
        check_metadata(r#""source": {"a": 1}"#, r#"{"source": {"a": 1}}"#);
        check_metadata(r#""links": [{"a": 1}]"#, r#"{"links": [{"a": 1}]}"#);
        check_metadata(r#""tags": [["a"]]"#, r#"{"tags": [["a"]]}"#);
        check_metadata(r#""text": ["a"]"#, r#"{"text": ["a"]}"#);
        check_metadata(r#""namespace": "n", "scope": "s""#, r#"{"scope": "s"}"#);
        check_metadata(r#""title": null, "x": null, "status": """#, "{}");
        check_metadata(r#""a": 1, "metadata": {"a": 2}"#, r#"{"a": 2, "a_2": 1}"#);
        check_metadata(r#""metadata": "free""#, r#"{"metadata": "free"}"#);
        check_metadata(
            r#""n": 18446744073709551615"#,
            r#"{"n": "18446744073709551615"}"#,
        );
    }

    #[track_caller]
    fn check_metadata(fields: &str, expected: &str) {
        let foreign = one(&format!("{{\"content\": \"t\", {fields}}}"));
        let found = fields::to_json(&MetaValue::Map(foreign.memory.metadata));
        let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
        assert_eq!(found, expected, "{fields}");
    }

    #[test]
    fn one_object_a_line_a_list_and_a_list_in_an_object_are_told_apart() {
        check_contents("{\"text\":\"a\"}\n\n{\"text\":\"b\"}\r\n", &["1 a", "3 b"]);
        check_contents("\u{feff}{\"text\":\"a\"}", &["1 a"]);
        check_contents("[{\"text\":\"a\"},{\"text\":\"b\"}]\n", &["1 a", "1 b"]);
        check_contents(
            " [\n {\n\"text\":\"],[\\\"\"},\n{\"text\":\"b\"}\n]",
            &["2 ],[\"", "4 b"],
        );
        check_contents(
            "{\"version\": {\"memories\": [1]},\n \"memories\" : [{\"text\":\"a\"}], \"relations\": [1]}",
            &["2 a"],
        );
        check_contents(
            "{\"text\":\"memories\", \"memories\": 1}",
            &["1 a"].map(|_| "1 memories"),
        );
        check_contents(
            "{\"text\":\"same\",\"id\":1}\n{\"text\":\"same\",\"id\":1}",
            &["1 same", "2 same"],
        );
        check_contents("", &[]);
        check_contents(" \n ", &[]);
        check_contents("[]", &[]);
        check_contents("{\"memories\": []}", &[]);
    }

    #[test]
    fn what_cannot_be_read_is_one_error_with_its_line() {
        check_contents(
            "{\"text\":\"a\"}\n{oops\n{\"text\":\"b\"}",
            &[
                "1 a",
                "in.jsonl:2: column 2: it is no JSON: key must be a string",
                "3 b",
            ],
        );
        check_contents(
            "[oops\n{\"text\":\"b\"}",
            &["in.jsonl:1: column 2: it is no JSON: expected value", "2 b"],
        );
        check_contents("7", &["in.jsonl:1: it is no JSON object"]);
        check_contents(
            "{\"id\":1}",
            &["in.jsonl:1: it has no text: no `text`, `content` or `value`"],
        );
        check_contents(
            "[\n{\"text\":\"a\"},\n{\"text\":\"open},\n{\"text\":\"b\"}]",
            &[
                "2 a",
                "in.jsonl:3: column 15: it is no JSON: EOF while parsing a string",
                "4 b",
            ],
        );
        check_contents(
            "[{\"text\":\"a\"}\n",
            &[
                "1 a",
                "in.jsonl:2: the list has no closing `]`. The file may have been cut off here.",
            ],
        );
        check_contents(
            "[{\"text\":\"a\"},\n{\"text\":",
            &[
                "1 a",
                "in.jsonl:2: the list has no closing `]`. The file may have been cut off here.",
            ],
        );
        check_contents(
            "[{\"text\":\"a\"}] x",
            &["1 a", "in.jsonl:1: what follows the list was not read"],
        );
    }

    #[track_caller]
    fn check_contents(input: &str, expected: &[&str]) {
        let found: Vec<String> = read(input)
            .into_iter()
            .map(|item| match item {
                Ok(foreign) => {
                    let line = foreign.source.rsplit(':').next().unwrap().to_owned();
                    format!("{line} {}", foreign.memory.content)
                }
                Err(error) => error.to_string(),
            })
            .collect();
        assert_eq!(found, expected, "{input}");
    }

    #[test]
    fn a_line_of_any_length_is_skipped_and_the_next_one_read() {
        let long = "x".repeat(MAX_RECORD_BYTES);
        check_long(format!("{{\"text\":\"{long}\"}}\n{{\"text\":\"b\"}}"));
        check_long(format!("[{{\"text\":\"{long}\"}},\n{{\"text\":\"b\"}}]"));
    }

    #[track_caller]
    fn check_long(input: String) {
        let all = read(input);
        let error = all[0].as_ref().unwrap_err().to_string();
        assert_eq!(
            error,
            "in.jsonl:1: it has more than 8388608 bytes. Split the memory first."
        );
        assert_eq!(all[1].as_ref().unwrap().memory.content, "b");
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn bytes_that_are_no_text_and_endless_nesting_are_errors() {
        assert!(read(b"{\"text\":\"\xff\"}".to_vec())[0].is_err());
        assert!(read(format!("{{\"text\":\"a\",\"x\":{}", "[".repeat(100_000)))[0].is_err());
        let many: String = (0..100_000).map(|n| format!(",\"k{n}\":1")).collect();
        assert!(read(format!("{{\"text\":\"a\"{many}}}"))[0].is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_input_makes_it_panic(input in "[\\[\\]{}\",:\\\\ \n0-9a-z]{0,200}") {
            read(input);
        }
    }
}
