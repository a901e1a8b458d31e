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
    /// The view of a memory that is shown as `id`.
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
