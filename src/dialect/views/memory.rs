//! A memory with its fields.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::dialect::metadata;
use crate::model::Memory;

/// A memory with every field that is set, the five mandatory ones first and the content last, so
/// that it is read after what is said of it.
#[derive(Serialize, JsonSchema)]
pub struct MemoryView<'a> {
    id: String,
    timestamp: &'a str,
    agent: &'a str,
    user: &'a str,
    topics: &'a [String],
    #[serde(flatten)]
    #[schemars(skip)]
    optional: OptionalFields<'a>,
    /// Why the text is to be read with care.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub suspicious: Vec<&'static str>,
    content: &'a str,
}

/// The fields that a memory need not have.
#[derive(Serialize)]
struct OptionalFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    supersedes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<LinkView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
}

/// A link of a memory to another one, as its file states it.
#[derive(Serialize)]
struct LinkView<'a> {
    to: &'a str,
    #[serde(rename = "type")]
    relation: &'a str,
}

impl<'a> MemoryView<'a> {
    /// Returns the view of a memory that is shown as `id`.
    pub fn new(memory: &'a Memory, id: String) -> MemoryView<'a> {
        let links = memory.links.iter().map(|link| LinkView {
            to: &link.to,
            relation: &link.relation,
        });
        let optional = OptionalFields {
            title: memory.title.as_deref(),
            kind: memory.kind.map(|kind| kind.as_str()),
            namespace: memory.namespace.as_deref(),
            scope: memory.scope.map(|scope| scope.as_str()),
            tier: memory.tier.map(|tier| tier.as_str()),
            importance: memory.importance,
            confidence: memory.confidence,
            source: memory.source.as_deref(),
            status: memory.status.as_deref(),
            expires: memory.expires.as_ref().map(|at| at.as_str()),
            supersedes: &memory.supersedes,
            superseded_by: memory.superseded_by.as_deref(),
            links: links.collect(),
            metadata: (!memory.metadata.is_empty()).then(|| metadata::to_json(&memory.metadata)),
        };
        MemoryView {
            id,
            timestamp: memory.timestamp.as_str(),
            agent: &memory.agent,
            user: &memory.user,
            topics: &memory.topics,
            optional,
            suspicious: Vec::new(),
            content: &memory.content,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::json::to_text;
    use crate::model::{Kind, Link, MetaValue, NewMemory, Scope, Stem, Tier, Timestamp};

    /// Returns a memory with its mandatory fields.
    fn memory() -> Memory {
        let text = |text: &str| text.to_owned();
        let new = NewMemory {
            agent: text("claude"),
            user: text("mira"),
            topics: vec![text("rust")],
            content: text("Text.\n"),
            ..NewMemory::default()
        };
        let timestamp = Timestamp::parse("2026-01-14T09:15:00Z").unwrap();
        new.into_memory(Stem::from_file_name("20260114_091500_1f3a9c02"), timestamp)
    }

    #[test]
    fn a_memory_shows_the_fields_that_it_has() {
        let memory = memory();
        let view = MemoryView::new(&memory, memory.id.clone());
        assert_eq!(
            to_text(&view),
            r#"{"id":"1f3a9c02","timestamp":"2026-01-14T09:15:00Z","agent":"claude","user":"mira","topics":["rust"],"content":"Text.\n"}"#
        );
    }

    #[test]
    fn the_fields_of_a_memory_have_one_order() {
        let text = |text: &str| Some(text.to_owned());
        let memory = Memory {
            title: text("Title"),
            kind: Some(Kind::Semantic),
            namespace: text("atlas"),
            scope: Some(Scope::Group),
            tier: Some(Tier::Long),
            importance: Some(7),
            confidence: Some(0.5),
            source: text("api"),
            status: text("active"),
            expires: Timestamp::parse("2027-01-01T00:00:00Z"),
            supersedes: vec!["d".to_owned()],
            superseded_by: text("c"),
            links: vec![Link {
                to: "a".to_owned(),
                relation: "b".to_owned(),
            }],
            metadata: vec![("n".to_owned(), MetaValue::Int(1))],
            ..memory()
        };
        let mut view = MemoryView::new(&memory, memory.id.clone());
        view.suspicious = vec!["asks"];
        assert_eq!(
            to_text(&view),
            r#"{"id":"1f3a9c02","timestamp":"2026-01-14T09:15:00Z","agent":"claude","user":"mira","topics":["rust"],"title":"Title","kind":"semantic","namespace":"atlas","scope":"group","tier":"long","importance":7,"confidence":0.5,"source":"api","status":"active","expires":"2027-01-01T00:00:00Z","supersedes":["d"],"superseded_by":"c","links":[{"to":"a","type":"b"}],"metadata":{"n":1},"suspicious":["asks"],"content":"Text.\n"}"#
        );
    }
}
