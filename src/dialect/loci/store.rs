//! `store_memory`: from arguments to a memory on disk.

use serde_json::Value;
use serde_json::json;

use super::arguments::group;
use super::arguments::needed;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::metadata;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::object;
use crate::engine::DuplicatePolicy;
use crate::engine::Engine;
use crate::engine::Recalled;
use crate::engine::Remembered;
use crate::engine::Stored;
use crate::engine::Suggestion;
use crate::engine::WriteOutcome;
use crate::engine::WritePolicy;
use crate::engine::ops;
use crate::model::Kind;
use crate::model::MetaValue;
use crate::model::NewMemory;
use crate::model::Scope;
use crate::model::is_same_namespace;

/// The metadata that says what a memory is found by.
const NAMING: [&str; 6] = [
    "category",
    "subject",
    "trigger",
    "entity_type",
    "name",
    "aliases",
];
/// A topic has at most so many bytes.
const MOST_TOPIC_BYTES: usize = 256;
/// Maximum number of these that become topics.
const MOST_TOPICS: usize = 20;

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
            Ok(reply(call.engine, &remembered, kind, warnings))
        }
        Stored::Suggested(_) => unreachable!("suggestions were not asked for"),
    }
}

/// Where a memory is put.
struct TargetScope {
    namespace: String,
    scope: Scope,
    warning: Option<String>,
}

impl TargetScope {
    /// As it is asked for. What replaces a memory is seen by whoever saw that one, or some would
    /// have neither, unless another scope is asked for.
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
        let recalled = supersedes.map(|id| ops::recall(call.engine, &[id.to_owned()]));
        // One that is not there is refused when it is written.
        let Some(Some(Recalled::Found { memory: old, .. })) =
            recalled.map(|mut recalled| recalled.pop())
        else {
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

/// What the metadata calls the memory by, as topics, so that every tool set finds it by them.
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

fn reply(engine: &Engine, remembered: &Remembered, kind: Kind, told: Vec<String>) -> Reply {
    let id = engine.live.shown_id(&remembered.stem);
    let is_known = remembered.became == WriteOutcome::Known;
    if is_known {
        engine
            .writer
            .count_uses(&ops::recall(engine, &[remembered.stem.as_str().to_owned()]));
    }
    let superseded = remembered.superseded.first();
    let mut reply = object(json!({
        "id": id,
        "type": kind.as_str(),
        "deduplicated": is_known,
        "superseded": superseded.map(|stem| engine.live.shown_id(stem)),
    }));
    let mut put = |key: &str, values: Vec<Value>| {
        if !values.is_empty() {
            reply.insert(key.to_owned(), json!(values));
        }
    };
    let changed = remembered.changed.iter();
    put("changed", changed.map(|field| json!(field)).collect());
    let similar = |near: &Suggestion| {
        let reasons: Vec<String> = near.reasons.iter().map(ToString::to_string).collect();
        json!({
            "id": engine.live.shown_id(&near.stem),
            "preview": super::shown::preview(&near.headline).0,
            "reason": reasons.join(", "),
            "linked": "related-to",
        })
    };
    put("similar", remembered.near.iter().map(similar).collect());
    let related = remembered.related.iter();
    put(
        "linked",
        related
            .map(|stem| json!(engine.live.shown_id(stem)))
            .collect(),
    );
    let contradicted = remembered.contradicted.iter().map(|one| {
        json!({
            "id": engine.live.shown_id(&one.stem),
            "preview": super::shown::preview(&one.headline).0,
            "there": one.evidence.older,
            "here": one.evidence.newer,
        })
    });
    put("may_contradict", contradicted.collect());
    let warnings = remembered.screened.warnings().into_iter();
    let warnings = warnings.map(|warning| json!(warning));
    let warnings = warnings.chain(told.into_iter().map(|warning| json!(warning)));
    put("warnings", warnings.collect());
    if let Some(same) = &remembered.same_text {
        reply.insert("same_text_as".to_owned(), json!(engine.live.shown_id(same)));
    }
    Reply::object(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

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
