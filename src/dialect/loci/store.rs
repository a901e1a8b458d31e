//! `store_memory`: from arguments to a memory on disk.

use serde::Serialize;

use super::arguments::{group, needed};
use super::shown::preview;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::metadata;
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::{DuplicatePolicy, Engine, Remembered, Stored, WriteOutcome, WritePolicy, ops};
use crate::model::{Kind, MetaValue, NewMemory, Scope, Stem, is_same_namespace};

/// Metadata keys whose values become topics.
const NAMING: [&str; 6] = [
    "category",
    "subject",
    "trigger",
    "entity_type",
    "name",
    "aliases",
];
/// Maximum length of a topic, in bytes.
const MOST_TOPIC_BYTES: usize = 256;
/// Maximum number of topics from metadata.
const MOST_TOPICS: usize = 20;

/// Runs the tool `store_memory`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let content = needed(arguments, "content")?;
    let kind: Kind = arguments.word("type")?.ok_or_else(|| {
        ToolError::refused(format!("`type` is missing: {}", Kind::WORDS.join(", ")))
    })?;
    let scope: Option<Scope> = arguments.word("scope")?;
    let (metadata, told) = arguments.object_or_note("metadata");
    let metadata = metadata::from_json(metadata.unwrap_or_default());
    let supersedes = arguments.set_text("supersedes")?;
    let place = TargetScope::of(call, kind, scope, supersedes.as_deref())?;
    let memory = NewMemory {
        agent: call.agent(),
        user: call.preferences.user.clone(),
        topics: topics(&metadata),
        content,
        kind: Some(kind),
        namespace: Some(place.namespace),
        scope: Some(place.scope),
        supersedes: supersedes.into_iter().collect(),
        metadata,
        ..NewMemory::default()
    };
    let policy = WritePolicy {
        duplicates: DuplicatePolicy::Similar,
        ..call.engine.writer.write_policy().clone()
    };
    match ops::remember_as(call.engine, memory, None, &policy)? {
        Stored::Written(remembered) => {
            let warnings = place.warning.into_iter().chain(told).collect();
            Ok(reply(call.engine, *remembered, kind, warnings))
        }
        Stored::Suggested(_) => unreachable!("suggestions were not asked for"),
    }
}

/// Namespace and scope of a new memory.
struct TargetScope {
    namespace: String,
    scope: Scope,
    warning: Option<String>,
}

impl TargetScope {
    /// Returns the namespace and scope from the arguments. Without a scope among them, a memory that replaces
    /// another one takes its scope: else some callers would see neither.
    fn of(
        call: &Call<'_>,
        kind: Kind,
        scope: Option<Scope>,
        supersedes: Option<&str>,
    ) -> Result<TargetScope, ToolError> {
        let mut place = TargetScope {
            namespace: group(call, None)?,
            scope: scope.unwrap_or(kind.usual_scope()),
            warning: None,
        };
        // One that is not there is refused when it is written.
        let Some(Ok((old, _))) = supersedes.map(|id| ops::recall_one(call.engine, id)) else {
            return Ok(place);
        };
        let (old_group, old_scope) = (old.namespace_or_global(), old.scope_or_usual());
        let is_same_group = is_same_namespace(old_group, &place.namespace);
        if scope.is_none() {
            place.scope = old_scope;
            if old_scope == Scope::Group {
                place.namespace = old_group.to_owned();
            }
        } else if place.scope == Scope::Group && (old_scope == Scope::Global || !is_same_group) {
            let saw = match old_scope {
                Scope::Global => "everybody".to_owned(),
                Scope::Group => format!("the group {old_group}"),
            };
            place.warning = Some(format!(
                "what it supersedes was seen by {saw}, and is now found by nobody; this one is seen by the group {} only",
                place.namespace
            ));
        }
        Ok(place)
    }
}

/// Returns names in the metadata as topics, by which every tool set finds the memory.
fn topics(metadata: &[(String, MetaValue)]) -> Vec<String> {
    let mut topics: Vec<String> = Vec::new();
    let named = metadata
        .iter()
        .filter(|(key, _)| NAMING.contains(&key.as_str()));
    let values = named.flat_map(|(_, value)| match value {
        MetaValue::List(values) => values.iter().collect(),
        value => vec![value],
    });
    for value in values {
        let MetaValue::Text(text) = value else {
            continue;
        };
        let text = text.trim();
        let is_topic = !text.is_empty()
            && text.len() <= MOST_TOPIC_BYTES
            && !text.chars().any(char::is_control);
        if is_topic && !topics.iter().any(|known| known == text) {
            topics.push(text.to_owned());
        }
    }
    topics.truncate(MOST_TOPICS);
    topics
}

/// A memory that was stored, and what is near it.
#[derive(Serialize)]
struct StoredView {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    deduplicated: bool,
    superseded: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    similar: Vec<SimilarView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    may_contradict: Vec<ContradictedView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_text_as: Option<String>,
}

/// A memory that says nearly the same, and was linked.
#[derive(Serialize)]
struct SimilarView {
    id: String,
    preview: String,
    reason: String,
    linked: &'static str,
}

/// A memory that may say the contrary.
#[derive(Serialize)]
struct ContradictedView {
    id: String,
    preview: String,
    there: String,
    here: String,
}

fn reply(engine: &Engine, remembered: Remembered, kind: Kind, told: Vec<String>) -> Reply {
    let shown = |stem: &Stem| engine.live.shown_id(stem);
    let is_known = remembered.became == WriteOutcome::Known;
    if is_known {
        let stem = remembered.stem.as_str().to_owned();
        engine.writer.count_uses(&ops::recall(engine, &[stem]));
    }
    let similar = remembered.near.iter().map(|near| {
        let reasons: Vec<String> = near.reasons.iter().map(ToString::to_string).collect();
        SimilarView {
            id: shown(&near.stem),
            preview: preview(&near.headline).0,
            reason: reasons.join(", "),
            linked: "related-to",
        }
    });
    let contradicted = remembered.contradicted.into_iter();
    let contradicted = contradicted.map(|one| ContradictedView {
        id: shown(&one.stem),
        preview: preview(&one.headline).0,
        there: one.evidence.older,
        here: one.evidence.newer,
    });
    let warnings = remembered.screened.warnings().into_iter();
    Reply::of(&StoredView {
        id: shown(&remembered.stem),
        kind: kind.as_str(),
        deduplicated: is_known,
        superseded: remembered.superseded.first().map(shown),
        changed: remembered.changed,
        similar: similar.collect(),
        linked: remembered.related.iter().map(shown).collect(),
        may_contradict: contradicted.collect(),
        warnings: warnings.chain(told).collect(),
        same_text_as: remembered.same_text.as_ref().map(shown),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dialect::reply::object;

    #[test]
    fn what_metadata_calls_a_memory_by_are_its_topics() {
        let metadata = json!({
            "entity_type": "person", "name": "John Smith", "aliases": ["John", "JS", "John", 7, " "],
            "properties": {"name": "no"}, "subject": "x".repeat(300), "category": "a\nb",
        });
        let metadata = metadata::from_json(object(metadata));
        assert_eq!(topics(&metadata), ["person", "John Smith", "John", "JS"]);
    }
}
