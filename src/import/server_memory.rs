//! The file of the reference memory server (`memory.jsonl`, older `memory.json`) → entities, which
//! become memories, and relations.
//!
//! It has no times, so a memory's time is that of the import. Keys of older versions and forks are
//! accepted.

use std::path::Path;

use super::draft::Draft;
use super::fields::ForeignFields;
use super::rows::{ImportRow, ImportRows};
use super::{Defaults, ForeignItem, ForeignItems, ForeignRelation, ImportError, fields};
use crate::model::{Kind, MetaValue};

const RELATIONS: &str = "relations";
const FROM: [&str; 3] = ["from", "from_id", "source"];
const TO: [&str; 3] = ["to", "to_id", "target"];

/// Reads the entities and relations of the file at `path`, or of standard input for `-`.
///
/// # Errors
///
/// Fails if the file cannot be read.
pub fn server_memory(path: &Path, defaults: &Defaults) -> Result<ForeignItems, ImportError> {
    let rows = ImportRows::open(path, &["entities", RELATIONS])?;
    let defaults = defaults.clone();
    Ok(Box::new(rows.map(move |row| item(row?, &defaults))))
}

fn item(row: ImportRow, defaults: &Defaults) -> Result<ForeignItem, ImportError> {
    let (draft, mut fields) = (Draft::new(row.source), row.fields);
    let sort = fields.take(&["type"], fields::text);
    let names_two = fields.0.iter().any(|(key, _)| FROM.contains(&key.as_str()));
    match sort.as_deref() {
        Some("relation") => relation(&draft, fields).map(ForeignItem::ForeignRelation),
        Some("entity") => entity(draft, fields, defaults),
        _ if row.list == RELATIONS || names_two => {
            relation(&draft, fields).map(ForeignItem::ForeignRelation)
        }
        _ => entity(draft, fields, defaults),
    }
}

fn relation(draft: &Draft, mut fields: ForeignFields) -> Result<ForeignRelation, ImportError> {
    let mut word = |names: &[&str]| {
        let lacks = || draft.error(format!("this relation has no `{}`", names[0]));
        fields.take(names, fields::text).ok_or_else(lacks)
    };
    let (from, to) = (word(&FROM)?, word(&TO)?);
    let relation = word(&["relationType", "relation_type"])?;
    Ok(ForeignRelation {
        from,
        relation: fields::relation_word(&relation),
        to,
        is_dated: false,
    })
}

fn entity(
    mut draft: Draft,
    mut fields: ForeignFields,
    defaults: &Defaults,
) -> Result<ForeignItem, ImportError> {
    let Some(name) = fields.take(&["name", "entityName", "entity_name"], fields::text) else {
        return Err(draft.error("this entity has no `name`".to_owned()));
    };
    let observations = fields
        .take_items("observations")
        .or_else(|| Some(vec![fields.take(&["observations"], fields::any_text)?]));
    let sort = fields.take(&["entityType", "entity_type"], fields::text);
    let memory = &mut draft.foreign.memory;
    memory.content = listed(&observations.unwrap_or_default());
    memory.title = Some(name.clone());
    memory.kind = Some(Kind::Entity);
    memory.namespace = defaults.namespace.clone();
    draft.keep("name", MetaValue::Text(name.clone()));
    if let Some(sort) = sort {
        draft.keep("entity_type", MetaValue::Text(sort));
    }
    draft.keep_rest(Vec::new(), fields)?;
    draft.called(Some(name));
    Ok(draft.finish(defaults)?.into())
}

/// Returns observations as a markdown list; further lines of an observation belong to its item.
fn listed(observations: &[String]) -> String {
    let item = |text: &String| format!("- {}\n", text.trim_end().replace('\n', "\n  "));
    observations.iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::{defaults, told};

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        assert_eq!(
            told(input, |path| server_memory(path, &defaults())),
            expected
        );
    }

    #[test]
    fn lines_and_one_object_with_their_older_keys_are_read() {
        let ada = r#"Ada: "- a\n- b\n  c\n" {"name":"Ada","entity_type":"person"}"#;
        let expected = ["Ada works_at Acme", ada];
        check(
            r#"{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}
{"type":"entity","name":"Ada","entityType":"person","observations":["a","b\nc"]}"#,
            &expected,
        );
        check(
            r#"{"from_id":"Ada","to_id":"Acme","relation_type":"works_at"}
{"entityName":"Ada","entity_type":"person","observations":["a","b\nc"]}"#,
            &expected,
        );
        check(
            r#"{"entities":[{"name":"Ada","entityType":"person","observations":["a","b\nc"]}],
"relations":[{"from":"Ada","to":"Acme","relationType":"works_at"}]}"#,
            &[ada, expected[0]],
        );
    }

    #[test]
    fn one_odd_observation_costs_no_other() {
        check(
            r#"{"type":"entity","name":"x","observations":["a",null,7,{"b":1},"c"]}
{"type":"entity","name":"y","observations":["a",null]}
{"type":"entity","name":"z","observations":"one, alone"}"#,
            &[
                r#"x: "- a\n- 7\n- c\n" {"name":"x","observations":[{"b":1}]}"#,
                r#"y: "- a\n" {"name":"y"}"#,
                r#"z: "- one, alone\n" {"name":"z"}"#,
            ],
        );
    }

    #[test]
    fn odd_values_cost_no_entity() {
        check(
            r#"{"type":"entity","name":"x","observations":[{"a":1}]}
{"type":"entity","name":"y","observations":[]}
{"type":"entity","entityType":"t"}
{"type":"relation","from":"x","relationType":"t"}"#,
            &[
                r#"x: "" {"name":"x","observations":[{"a":1}]}"#,
                r#"y: "" {"name":"y"}"#,
                "in:3: this entity has no `name`",
                "in:4: this relation has no `to`",
            ],
        );
    }
}
