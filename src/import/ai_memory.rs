//! An export of ai-memory, or its database → memories and links.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::draft::Draft;
use super::fields::ForeignFields;
use super::rows::{ImportRow, ImportRows, SQLITE};
use super::sqlite::{LINKS, MEMORIES};
use super::{
    Defaults, EndReason, ForeignItem, ForeignItems, ForeignRelation, ImportError, fields, sqlite,
};
use crate::format;
use crate::model::{Handle, MetaValue, Stem, Tier, Timestamp};

/// Number of uses after which a memory's priority rises by one.
const USES_PER_PRIORITY: usize = 10;

type JsonObject = serde_json::Map<String, serde_json::Value>;

/// Reads the memories and links of the database or export at `path`, or of an export on standard input
/// for `-`.
///
/// # Errors
///
/// Fails if the file cannot be read, or is a database of something else.
pub fn ai_memory(path: &Path, defaults: &Defaults) -> Result<ForeignItems, ImportError> {
    let defaults = defaults.clone();
    if is_database(path) {
        let rows = sqlite::rows(path)?;
        return Ok(Box::new(rows.map(move |row| item(row?, &defaults))));
    }
    let rows = ImportRows::open(path, &[MEMORIES, LINKS])?.refuse_loci()?;
    Ok(Box::new(rows.map(move |row| item(row?, &defaults))))
}

/// Converts the memories and links of an export whose objects were read already, each with a name for
/// messages; memories come first, so that relations find them.
pub fn ai_memory_objects(
    memories: Vec<(String, JsonObject)>,
    links: Vec<(String, JsonObject)>,
    defaults: &Defaults,
) -> ForeignItems {
    let defaults = defaults.clone();
    let of = |list: &'static str| {
        move |(source, object): (String, JsonObject)| {
            let fields = match format::from_json(serde_json::Value::Object(object)) {
                MetaValue::Map(entries) => ForeignFields(entries),
                _ => ForeignFields(Vec::new()),
            };
            ImportRow {
                list,
                source,
                fields,
            }
        }
    };
    let memories = memories.into_iter().map(of(MEMORIES));
    let rows = memories.chain(links.into_iter().map(of(LINKS)));
    Box::new(rows.map(move |row| item(row, &defaults)))
}

fn is_database(path: &Path) -> bool {
    let mut head = Vec::new();
    // A pipe would lose what is read of it here.
    let is_file = path != Path::new("-") && path.is_file();
    is_file
        && File::open(path)
            .and_then(|file| file.take(SQLITE.len() as u64).read_to_end(&mut head))
            .is_ok()
        && head == SQLITE
}

/// Reads a row of one of the two lists, or tables.
fn item(row: ImportRow, defaults: &Defaults) -> Result<ForeignItem, ImportError> {
    let draft = Draft::new(row.source);
    match row.list {
        LINKS => link(&draft, row.fields).map(ForeignItem::ForeignRelation),
        _ => memory(draft, row.fields, defaults),
    }
}

fn link(draft: &Draft, mut fields: ForeignFields) -> Result<ForeignRelation, ImportError> {
    let mut word = |name: &str| {
        let lacks = || draft.error(format!("this link has no `{name}`"));
        fields.take(&[name], fields::text).ok_or_else(lacks)
    };
    let (from, to) = (word("source_id")?, word("target_id")?);
    let relation = fields.take(&["relation"], fields::text);
    Ok(ForeignRelation {
        from,
        relation: fields::relation_word(&relation.unwrap_or_default()),
        to,
        is_dated: fields.take(&["created_at"], fields::text).is_some(),
    })
}

fn memory(
    mut draft: Draft,
    mut fields: ForeignFields,
    defaults: &Defaults,
) -> Result<ForeignItem, ImportError> {
    let Some(content) = fields.take(&["content"], fields::any_text) else {
        return Err(draft.error("it has no `content`".to_owned()));
    };
    let memory = &mut draft.foreign.memory;
    memory.content = content;
    memory.timestamp = fields.take(&["created_at"], fields::moment);
    memory.title = fields.take(&["title"], fields::text);
    memory.topics = fields.take_words("tags");
    memory.namespace = match fields.take(&["namespace"], fields::text) {
        // What a memory without a namespace belongs to.
        Some(namespace) if namespace == "global" => None,
        None => defaults.namespace.clone(),
        other => other,
    };
    let tier = fields.take(&["tier"], fields::word);
    memory.importance = fields.take(&["priority"], fields::importance);
    memory.confidence = fields.take(&["confidence"], fields::confidence);
    memory.source = fields.take(&["source"], fields::text);
    let is_endless = fields
        .0
        .contains(&("expires_at".to_owned(), MetaValue::Null));
    memory.expires = fields.take(&["expires_at"], fields::moment);
    match tier {
        // There it never ends, here its tier would end it.
        Some(tier @ (Tier::Short | Tier::Mid)) if is_endless => {
            draft.keep("tier", MetaValue::Text(tier.as_str().to_owned()));
            draft.note("it never ends there, so `tier` is kept as metadata");
        }
        tier => memory.tier = tier,
    }
    let id = fields.take(&["id"], fields::text);
    let metadata = fields.take(&["metadata"], fields::map_or_json);
    draft.take_change(&mut fields);
    draft.take_all_uses(&mut fields);
    // Every tenth use has raised it there, and raises it here.
    let uses = draft.foreign.earlier_uses + usize::from(draft.foreign.last_used.is_some());
    let earned = u8::try_from(uses / USES_PER_PRIORITY).unwrap_or(u8::MAX);
    if let Some(importance) = &mut draft.foreign.memory.importance {
        *importance = importance.saturating_sub(earned).max(1);
    }
    // Only its table of archived memories has these.
    if let Some(at) = fields.take(&["archived_at"], fields::any_text) {
        let why = fields.take(&["archive_reason"], fields::text);
        let why = why.unwrap_or_else(|| "gc".to_owned());
        draft.foreign.ended = Some(EndReason::Archived(format!(
            "archived in ai-memory: {why}, {at}"
        )));
    }
    draft.keep_rest(metadata.unwrap_or_default(), fields)?;
    let timestamp = draft.foreign.memory.timestamp.as_ref();
    match id.as_deref().zip(timestamp).and_then(own_handle) {
        // What this program exported is itself again.
        Some(handle) => {
            draft.foreign.memory.handle = Some(handle);
            draft.foreign.names.extend(id);
        }
        None => draft.called(id),
    }
    Ok(draft.finish(defaults)?.into())
}

/// Returns the handle of a memory that this program exported under this id.
fn own_handle((id, timestamp): (&str, &Timestamp)) -> Option<Handle> {
    let handle = Handle::parse(id);
    handle.or_else(|| {
        let stem = Stem::parse(id).filter(|stem| {
            let second = timestamp.utc().timestamp();
            stem.time().is_some_and(|time| time.timestamp() == second)
        });
        stem?.handle()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::{defaults, told};

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        assert_eq!(told(input, |path| ai_memory(path, &defaults())), expected);
    }

    #[test]
    fn odd_values_cost_no_memory() {
        check(
            r#"{"memories": [{"id": "a", "content": "", "tags": "[\"x\"]", "priority": 12, "tier": "huge", "metadata": [1], "score": 0.5}]}"#,
            &[r#"a: "" {"priority":12,"tier":"huge","metadata":[1],"score":0.5}"#],
        );
        check(
            r#"[{"id": "a", "content": "x", "metadata": {}}, {"id": "b", "content": {"no": "text"}}]"#,
            &[r#"a: "x" {}"#, "in:1: it has no `content`"],
        );
    }

    #[test]
    fn what_never_ends_there_gets_no_tier_that_would_end_it() {
        let note = r#""import_note":"it never ends there, so `tier` is kept as metadata""#;
        check(
            r#"{"memories": [{"id": "a", "content": "x", "tier": "short", "expires_at": null}, {"id": "b", "content": "x", "tier": "long", "expires_at": null}, {"id": "c", "content": "x", "tier": "mid"}]}"#,
            &[
                &format!(r#"a: "x" {{"tier":"short",{note}}}"#),
                r#"b: "x" {}"#,
                r#"c: "x" {}"#,
            ],
        );
    }

    #[test]
    fn what_this_program_exported_is_called_as_it_was() {
        let handle_of = |id: &str, created_at: &str| {
            let object = serde_json::json!({"id": id, "content": "x", "created_at": created_at});
            let serde_json::Value::Object(object) = object else {
                unreachable!()
            };
            let memories = vec![("memories[0]".to_owned(), object)];
            let mut items = ai_memory_objects(memories, Vec::new(), &defaults());
            let Some(Ok(ForeignItem::Memory(foreign))) = items.next() else {
                panic!("it is a memory")
            };
            let handle = foreign.memory.handle.map(|handle| handle.to_string());
            (handle, foreign.source_id, foreign.names)
        };
        let at = "2026-01-14T09:15:00.25+00:00";
        let (own, stem) = ("1f3a9c02", "20260114_091500_1f3a9c02");
        for id in [own, stem] {
            let expected = (Some(own.to_owned()), None, vec![id.to_owned()]);
            assert_eq!(handle_of(id, at), expected);
        }
        for (id, at) in [
            ("a1b2c3d4-e5", at),
            (stem, "2026-01-14T09:15:01Z"),
            (own, ""),
        ] {
            assert_eq!(handle_of(id, at), (None, Some(id.to_owned()), Vec::new()));
        }
    }

    #[test]
    fn a_link_without_a_relation_says_that_they_are_related() {
        check(
            r#"{"links": [{"source_id": "a", "target_id": "b"}, {"source_id": "a", "relation": "x"}, {"source_id": "a", "target_id": "b", "relation": "derived_from"}], "memories": []}"#,
            &[
                "a related-to b",
                "in:1: this link has no `target_id`",
                "a derived-from b",
            ],
        );
    }
}
