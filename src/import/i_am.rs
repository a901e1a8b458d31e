//! The `memory.json` of the i-am plugin → memories.
//!
//! It is one object, by category and key, and read whole. An entry's name there is `category.key`;
//! both are kept in the metadata, too.

use std::path::Path;

use super::draft::Draft;
use super::fields::ForeignFields;
use super::source_file::{read_whole, unreadable};
use super::{Defaults, EndReason, ForeignItem, ForeignItems, ImportError, fields};
use crate::format;
use crate::model::MetaValue;

/// Maximum size of a file, in bytes; all of it is held in memory.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reads the entries of the file at `path`.
///
/// # Errors
///
/// Fails if the file cannot be read, is no JSON, or has more than 64 MiB.
pub fn i_am(path: &Path, defaults: &Defaults) -> Result<ForeignItems, ImportError> {
    let bytes = read_whole(path, MAX_BYTES)?;
    let json: serde_json::Value = serde_json::from_slice(&bytes)
        .map_err(|cause| unreadable(path, format!("it is no JSON: {cause}")))?;
    let MetaValue::Map(file) = format::from_json(json) else {
        return Err(unreadable(path, "it is no JSON object".to_owned()));
    };
    let mut file = ForeignFields(file);
    let sessions = file.take(&["session_count"], fields::count);
    let sessions = sessions.and_then(|count| usize::try_from(count).ok());
    let ForeignFields(mut file) = file;
    // What `export_memories` prints may be the inner part alone.
    let inner = file.iter().position(|(key, _)| key == "memories");
    let categories = match inner.map(|at| file.swap_remove(at).1) {
        Some(MetaValue::Map(categories)) => categories,
        Some(_) => return Err(unreadable(path, "its `memories` is no object".to_owned())),
        None => file,
    };
    let (source, defaults) = (path.display().to_string(), defaults.clone());
    let entries = categories.into_iter().flat_map(|(category, entries)| {
        let entries = match entries {
            MetaValue::Map(entries) => entries,
            // No category, such as the version.
            _ => Vec::new(),
        };
        entries
            .into_iter()
            .map(move |(key, entry)| (category.clone(), key, entry))
    });
    let entries =
        entries.map(move |(category, key, entry)| item(&source, category, key, entry, &defaults));
    let sessions = sessions.map(|count| Ok(ForeignItem::Sessions(count)));
    Ok(Box::new(entries.chain(sessions)))
}

fn item(
    source: &str,
    category: String,
    key: String,
    entry: MetaValue,
    defaults: &Defaults,
) -> Result<ForeignItem, ImportError> {
    let name = format!("{category}.{key}");
    let mut draft = Draft::new(format!("{source}: {name}"));
    let MetaValue::Map(entry) = entry else {
        return Err(draft.error("it is no object".to_owned()));
    };
    let mut fields = ForeignFields(entry);
    let Some(content) = fields.take(&["value"], fields::any_text) else {
        return Err(draft.error("it has no `value`".to_owned()));
    };
    let memory = &mut draft.foreign.memory;
    memory.content = content;
    memory.title = Some(key.clone());
    memory.timestamp = fields.take(&["created_at"], fields::moment);
    memory.topics = fields.take_words("tags");
    memory.importance = fields.take(&["importance"], fields::importance);
    memory.confidence = fields.take(&["confidence"], fields::confidence);
    let status = fields.take(&["status"], fields::text);
    memory.namespace = defaults.namespace.clone();
    // Where a memory lies says that here.
    draft.foreign.ended = match status.as_deref() {
        Some("archived") => Some(EndReason::Archived("archived in i-am".to_owned())),
        Some("superseded") => Some(EndReason::Superseded),
        _ => None,
    };
    draft.foreign.memory.status = status.filter(|_| draft.foreign.ended.is_none());
    draft.keep("category", MetaValue::Text(category));
    draft.keep("key", MetaValue::Text(key));
    // Where it comes from is a word in the first version.
    draft.foreign.memory.source = fields.take(&["source"], fields::text);
    if let Some(origin) = fields.take(&["source"], fields::map) {
        let mut origin = ForeignFields(origin);
        draft.foreign.memory.source = origin.take(&["type"], fields::text);
        if let Some(detail) = origin.take(&["detail"], fields::text) {
            draft.keep("source_detail", MetaValue::Text(detail));
        }
        draft.keep_rest(origin.rest().collect(), ForeignFields(Vec::new()))?;
    }
    let mut links = fields.take(&["links"], fields::links).unwrap_or_default();
    for link in links.drain(..) {
        draft.relate(&link.relation, link.to);
    }
    draft.take_change(&mut fields);
    draft.take_all_uses(&mut fields);
    draft.keep_rest(Vec::new(), fields)?;
    draft.called(Some(name));
    Ok(draft.finish(defaults)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::{defaults, told};

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        assert_eq!(told(input, |path| i_am(path, &defaults())), expected);
    }

    #[test]
    fn keys_with_dots_old_versions_and_bare_categories_are_read() {
        let name = r#"user.a.b: "x" {"category":"user","key":"a.b"}"#;
        check(
            r#"{"schema_version": "1.0", "memories": {"user": {"a.b": {"value": "x"}}, "tools": {}}}"#,
            &[name],
        );
        check(
            r#"{"schema_version": "1.0", "user": {"a.b": {"value": "x"}}}"#,
            &[name],
        );
        check(
            r#"{"memories": {"user": {"a": {"value": "x", "last_accessed": null, "access_count": 0, "confidence": null, "source": {"type": "inferred", "detail": "d"}, "links": [{"target": "tools.b.c", "relation": "depends-on"}]}}}}"#,
            &[
                r#"user.a: "x" {"category":"user","key":"a","source_detail":"d"} depends-on tools.b.c"#,
            ],
        );
    }

    #[test]
    fn one_bad_entry_does_not_stop_the_others() {
        check(
            r#"{"memories": {"user": {"a": 7, "b": {"tags": []}, "c": {"value": "x"}}, "odd": [1]}}"#,
            &[
                "in: user.a: it is no object",
                "in: user.b: it has no `value`",
                r#"user.c: "x" {"category":"user","key":"c"}"#,
            ],
        );
        check(r#"{"session_count": 41, "memories": {}}"#, &["41 sessions"]);
        check(r#"{"session_count": -1, "memories": {}}"#, &[]);
        check("[1]", &["in: it is no JSON object"]);
        check(r#"{"memories": 1}"#, &["in: its `memories` is no object"]);
    }
}
