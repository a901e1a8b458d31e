//! An export of Loci (`loci export`) → memories and relations.
//!
//! Forgotten memories are left out and reported.

use std::path::Path;

use super::draft::Draft;
use super::fields::ForeignFields;
use super::rows::{ImportRow, ImportRows};
use super::{
    Defaults, ForeignItem, ForeignItems, ForeignRelation, ImportError, SUPERSEDED_BY, fields, jsonl,
};

const RELATIONS: &str = "relations";

/// Reads the memories and relations of the file at `path`, or of standard input for `-`.
///
/// # Errors
///
/// Fails if the file cannot be read.
pub fn loci(path: &Path, defaults: &Defaults) -> Result<ForeignItems, ImportError> {
    let rows = ImportRows::open(path, &["memories", RELATIONS])?;
    let defaults = defaults.clone();
    Ok(Box::new(rows.map(move |row| item(row?, &defaults))))
}

fn item(row: ImportRow, defaults: &Defaults) -> Result<ForeignItem, ImportError> {
    let mut draft = Draft::new(row.source);
    match row.list {
        // `memdir as loci export` writes what every export of memdir does: nothing of it is lost on the way back.
        _ if row.fields.is_of_memdir() => {
            jsonl::fill(&mut draft, row.fields, defaults)?;
            Ok(draft.finish(defaults)?.into())
        }
        RELATIONS => relation(&draft, row.fields).map(ForeignItem::ForeignRelation),
        _ => memory(draft, row.fields, defaults),
    }
}

fn relation(draft: &Draft, mut fields: ForeignFields) -> Result<ForeignRelation, ImportError> {
    let mut word = |name: &str| {
        let lacks = || draft.error(format!("this relation has no `{name}`"));
        fields.take(&[name], fields::text).ok_or_else(lacks)
    };
    Ok(ForeignRelation {
        from: word("subject_id")?,
        relation: fields::relation_word(&word("predicate")?),
        to: word("object_id")?,
        is_dated: fields.take(&["created_at"], fields::text).is_some(),
    })
}

fn memory(
    mut draft: Draft,
    mut fields: ForeignFields,
    defaults: &Defaults,
) -> Result<ForeignItem, ImportError> {
    let id = fields.take(&["id"], fields::text);
    match fields.take(&["superseded_by"], fields::text).as_deref() {
        None => {}
        Some("forgotten") => {
            return Ok(ForeignItem::LeftOut {
                source_id: id,
                what: "memories that were forgotten there",
            });
        }
        Some(newer) => draft.relate(SUPERSEDED_BY, newer.to_owned()),
    }
    let Some(content) = fields.take(&["content"], fields::any_text) else {
        return Err(draft.error("it has no `content`".to_owned()));
    };
    let memory = &mut draft.foreign.memory;
    memory.content = content;
    memory.timestamp = fields.take(&["created_at"], fields::moment);
    memory.kind = fields.take(&["type"], fields::word);
    memory.scope = fields.take(&["scope"], fields::word);
    memory.namespace = fields
        .take(&["source_group"], fields::text)
        .or_else(|| defaults.namespace.clone());
    memory.confidence = fields.take(&["confidence"], fields::confidence);
    let metadata = fields.take(&["metadata"], fields::map_or_json);
    draft.take_updated(&mut fields);
    draft.take_uses(&mut fields);
    draft.keep_rest(metadata.unwrap_or_default(), fields)?;
    draft.called(id);
    Ok(draft.finish(defaults)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::{defaults, told};

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        assert_eq!(told(input, |path| loci(path, &defaults())), expected);
    }

    #[test]
    fn odd_values_cost_no_memory() {
        check(
            r#"{"memories": [{"id": "a", "type": "mood", "content": "x", "confidence": 7, "metadata": "{\"k\": 1}", "updated_at": "soon"}]}"#,
            &[r#"a: "x" {"k":1,"type":"mood","confidence":7,"updated_at":"soon"}"#],
        );
        check(
            r#"{"memories": [{"content": "x", "metadata": null, "access_count": 1, "last_accessed": "2026-02-01T00:00:00Z"}]}"#,
            &[r#"?: "x" {}"#],
        );
        check(
            r#"{"memories": [{"id": "a", "content": "x", "access_count": 3}]}"#,
            &[r#"a: "x" {"access_count":3} lacks counts of uses, kept as `access_count`"#],
        );
    }

    #[test]
    fn what_replaced_a_memory_and_what_was_forgotten_is_told() {
        check(
            r#"{"relations": [{"subject_id": "a", "predicate": "works_at", "object_id": "b"}, {"subject_id": "a"}], "memories": [{"id": "a", "content": "x", "superseded_by": "b"}, {"id": "b", "content": "y", "superseded_by": "forgotten"}, {"id": "c"}]}"#,
            &[
                "a works_at b",
                "in:1: this relation has no `predicate`",
                r#"a: "x" {} superseded_by b"#,
                "b: memories that were forgotten there",
                "in:1: it has no `content`",
            ],
        );
    }
}
