//! Views of a memory, a relation and a list of memories in this tool set.

use std::cmp::Reverse;
use std::fmt;

use chrono::{DateTime, SecondsFormat, SubsecRound, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::check::{MAX_TITLE, TIERS};
use crate::dialect::arguments::Arguments;
use crate::dialect::json::{JsonObject, object, to_object};
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::toon::toon;
use crate::dialect::{metadata, toon};
use crate::engine::live::UsesOfAll;
use crate::engine::{Engine, Relation, ops};
use crate::model::{Memory, Stem};

/// Importance of a memory that states none.
pub(super) const USUAL_IMPORTANCE: u8 = 5;
const USUAL_CONFIDENCE: f64 = 1.0;
const USUAL_TIER: &str = "long";
const USUAL_SOURCE: &str = "api";
const UNTITLED: &str = "(untitled)";

const FORMATS: &[&str] = &["json", "toon", "toon_compact"];
/// Parameter for the format of a reply with memories.
pub(super) const FORMAT: Parameter = Parameter::word(
    "format",
    FORMATS,
    "toon_compact (default): titles; toon: more columns; json: contents, too",
);

/// A moment as this tool set writes it: RFC3339, to the microsecond.
#[derive(Serialize, JsonSchema)]
#[schemars(extend("format" = "date-time"))]
pub(super) struct Moment(String);

impl From<DateTime<Utc>> for Moment {
    fn from(at: DateTime<Utc>) -> Moment {
        let at = at.trunc_subsecs(6);
        Moment(at.to_rfc3339_opts(SecondsFormat::AutoSi, false))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A memory with its fifteen fields, as it is now.
#[derive(Serialize, JsonSchema)]
pub(super) struct MemoryView {
    pub id: String,
    #[schemars(extend("enum" = TIERS))]
    pub tier: &'static str,
    pub namespace: String,
    pub title: String,
    content: String,
    pub tags: Vec<String>,
    #[schemars(range(min = 1, max = 10))]
    pub priority: u8,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
    source: String,
    access_count: u32,
    created_at: Moment,
    updated_at: Moment,
    last_accessed_at: Option<Moment>,
    expires_at: Option<Moment>,
    metadata: JsonObject,
}

impl MemoryView {
    pub fn of(engine: &Engine, memory: &Memory) -> MemoryView {
        MemoryView::by_uses(engine, memory, &UsesOfAll::read(&engine.live))
    }

    /// Returns the view of a memory by uses that were read for several.
    pub fn by_uses(engine: &Engine, memory: &Memory, uses: &UsesOfAll) -> MemoryView {
        let (state, usage) = uses.state_of(&engine.live, memory);
        MemoryView {
            id: engine.live.shown_id(&memory.stem),
            tier: state.tier.map_or(USUAL_TIER, |tier| tier.as_str()),
            namespace: memory.namespace_or_global().to_owned(),
            title: title(memory),
            content: memory.content.clone(),
            tags: memory.topics.clone(),
            priority: state.importance,
            // Here confidence is what was said; that it is asked for often counts as uses, once.
            confidence: rounded(memory.confidence.unwrap_or(USUAL_CONFIDENCE)),
            source: memory.source.as_deref().unwrap_or(USUAL_SOURCE).to_owned(),
            access_count: usage.count(),
            created_at: memory.timestamp.utc().into(),
            updated_at: state.changed.into(),
            last_accessed_at: usage.last().map(Moment::from),
            expires_at: state.expires.map(Moment::from),
            metadata: object(metadata::to_json(&memory.metadata)),
        }
    }
}

/// Returns the title, else the beginning of the content, within the limit of a title.
pub(super) fn title(memory: &Memory) -> String {
    let headline = memory.headline().trim();
    let mut end = headline.len().min(MAX_TITLE);
    while !headline.is_char_boundary(end) {
        end -= 1;
    }
    match &headline[..end] {
        "" => UNTITLED.to_owned(),
        title => title.to_owned(),
    }
}

/// Rounds a score to three digits.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Returns the ids of memories as they are shown.
pub(super) fn shown_ids(engine: &Engine, stems: &[Stem]) -> Vec<String> {
    stems
        .iter()
        .map(|stem| engine.live.shown_id(stem))
        .collect()
}

/// Returns a relation of this tool set in the form of files.
pub(super) fn stored_relation(relation: &str) -> String {
    relation.replace('_', "-")
}

/// One relation, in the words of this tool set.
#[derive(Serialize, JsonSchema)]
pub(super) struct LinkView {
    source_id: String,
    target_id: String,
    relation: String,
    /// A file does not say when it was made: at the earliest when both memories were there, which is
    /// what is shown.
    created_at: Option<Moment>,
}

impl LinkView {
    pub fn of(engine: &Engine, relation: &Relation) -> LinkView {
        let ends = [Some(&relation.from), relation.to.as_ref()];
        let made = ends.into_iter().flatten().filter_map(Stem::time).max();
        LinkView {
            source_id: engine.live.shown_id(&relation.from),
            target_id: match &relation.to {
                Some(stem) => engine.live.shown_id(stem),
                None => relation.written.clone(),
            },
            relation: relation.relation.replace('-', "_"),
            created_at: made.map(Moment::from),
        }
    }
}

/// Returns the relations of a memory, from it and then to it.
pub(super) fn links(engine: &Engine, id: &str) -> Result<Vec<LinkView>, ToolError> {
    let relations = ops::relations_of(engine, id)?;
    let all = relations.to.iter().chain(&relations.from);
    Ok(all.map(|relation| LinkView::of(engine, relation)).collect())
}

/// A namespace with its number of memories.
#[derive(Serialize, JsonSchema)]
pub(super) struct NamespaceCount {
    pub namespace: String,
    pub count: usize,
}

/// Returns namespaces with their numbers of memories, the largest first; equal ones keep their order.
pub(super) fn namespaces(counts: impl IntoIterator<Item = (String, usize)>) -> Vec<NamespaceCount> {
    let counts = counts.into_iter();
    let mut counts: Vec<NamespaceCount> = counts
        .map(|(namespace, count)| NamespaceCount { namespace, count })
        .collect();
    counts.sort_by_key(|one| Reverse(one.count));
    counts
}

/// Returns an answer with memories in the requested format.
pub(super) fn listed(arguments: &Arguments, answer: &impl Serialize) -> Result<Reply, ToolError> {
    let format = super::check::one_of(arguments, "format", FORMATS)?;
    let columns: &[&str] = match format.as_deref() {
        Some("json") => return Ok(Reply::of(answer)),
        Some("toon") => &toon::FULL,
        _ => &toon::COMPACT,
    };
    let mut answer = to_object(answer);
    if answer["count"] != 0 {
        // The columns are titles; who takes them for the memories has not read any.
        let hint = "memory_get ID, or format json";
        answer.insert("contents".to_owned(), json!(hint));
    }
    Ok(Reply::text(toon(&answer, columns)))
}
