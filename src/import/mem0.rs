//! Answers and exports of mem0 (`get_all`) → memories.

use std::path::Path;

use super::draft::Draft;
use super::rows::{ImportRow, ImportRows};
use super::{Defaults, ForeignItem, ForeignItems, ImportError, fields};

const RELATIONS: &str = "relations";

/// Reads the memories of the file at `path`, or of standard input for `-`.
///
/// # Errors
///
/// Fails if the file cannot be read.
pub fn mem0(path: &Path, defaults: &Defaults) -> Result<ForeignItems, ImportError> {
    let rows = ImportRows::open(path, &["results", "memories", RELATIONS])?.refuse_loci()?;
    let defaults = defaults.clone();
    Ok(Box::new(rows.map(move |row| item(row?, &defaults))))
}

fn item(row: ImportRow, defaults: &Defaults) -> Result<ForeignItem, ImportError> {
    if row.list == RELATIONS {
        // They hold between names that occur in texts, not between memories.
        return Ok(ForeignItem::LeftOut {
            source_id: None,
            what: "relations of the graph",
        });
    }
    let (mut draft, mut fields) = (Draft::new(row.source), row.fields);
    let Some(content) = fields.take(&["memory", "text", "data", "content"], fields::any_text)
    else {
        return Err(draft.error("it has no `memory`".to_owned()));
    };
    let memory = &mut draft.foreign.memory;
    memory.content = content;
    memory.timestamp = fields.take(&["created_at"], fields::moment);
    memory.user = fields.take(&["user_id"], fields::text).unwrap_or_default();
    memory.agent = fields.take(&["agent_id"], fields::text).unwrap_or_default();
    memory.topics = fields.take_words("categories");
    memory.expires = fields.take(&["expiration_date"], fields::moment);
    memory.namespace = defaults.namespace.clone();
    let id = fields.take(&["id"], fields::text);
    // Of the text, for mem0's own use; and how near it was to a question.
    let _ = fields.take(&["hash"], fields::text);
    let _ = fields.take(&["score"], fields::text);
    let metadata = fields.take(&["metadata"], fields::map_or_json);
    draft.take_updated(&mut fields);
    draft.keep_rest(metadata.unwrap_or_default(), fields)?;
    draft.called(id);
    Ok(draft.finish(defaults)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::{defaults, told};

    #[test]
    fn one_odd_category_costs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in");
        let memory = r#"{"id": "a", "memory": "x", "categories": ["b", null, 7, ["c"]]}"#;
        std::fs::write(&path, memory).unwrap();
        let item = mem0(&path, &defaults()).unwrap().next().unwrap().unwrap();
        let ForeignItem::Memory(foreign) = item else {
            panic!("{item:?}");
        };
        assert_eq!(foreign.memory.topics, ["b", "7"]);
        assert_eq!(
            told(memory, |path| mem0(path, &defaults())),
            [r#"a: "x" {"categories":[["c"]]}"#]
        );
    }

    #[test]
    fn a_list_an_object_and_lines_are_read() {
        let memory = r#"{"id": "a", "memory": "x", "hash": "h", "user_id": "u", "metadata": {"k": 1}, "run_id": "r"}"#;
        let told = |input: &str| told(input, |path| mem0(path, &defaults()));
        let expected = [r#"a: "x" {"k":1,"run_id":"r"}"#];
        assert_eq!(told(&format!("[{memory}]")), expected);
        assert_eq!(told(&format!("{memory}\n")), expected);
        assert_eq!(told(&format!("{{\"memories\": [{memory}]}}")), expected);
        assert_eq!(
            told(&format!(
                r#"{{"count": 1, "results": [{memory}, {{"id": "b"}}], "relations": [{{"source": "s"}}]}}"#
            )),
            [
                expected[0],
                "in:1: it has no `memory`",
                "?: relations of the graph"
            ]
        );
    }
}
