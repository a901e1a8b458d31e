//! How memories and their relations look in replies of the typed set.

use serde_json::Value;
use serde_json::json;

use crate::dialect::json::JsonObject;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::Forgotten;
use crate::engine::Relation;
use crate::engine::Relations;
use crate::engine::live;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Kind;
use crate::model::Memory;
use crate::model::Stem;
use crate::model::Timestamp;

/// Length of a preview in characters.
const PREVIEW: usize = 80;

/// The type of a memory. What states none, as other tool sets write it, is knowledge.
pub(super) fn kind(memory: &Memory) -> Kind {
    memory.kind.unwrap_or(Kind::Semantic)
}

/// Narrows a filter to the memories that are shown as of this type.
pub(super) fn only(kind: Kind, filter: &mut Filter) {
    match kind {
        Kind::Semantic => {
            let others = [Kind::Episodic, Kind::Procedural, Kind::Entity];
            let others = others.map(|kind| ("kind".to_owned(), kind.as_str().to_owned()));
            filter.differs.extend(others);
        }
        other => filter.kinds = vec![other],
    }
}

/// The beginning of a content on one line, and whether that is not all of it.
pub(super) fn preview(content: &str) -> (String, bool) {
    let words: Vec<&str> = content.split_whitespace().collect();
    let line = words.join(" ");
    let shown: String = line.chars().take(PREVIEW).collect();
    let is_cut = shown.len() < line.len();
    (shown, is_cut)
}

/// How sure a memory is as of now, in ten-thousandths.
pub(super) fn confidence(engine: &Engine, memory: &Memory) -> f64 {
    let (state, _) = live::state_of(&engine.live, memory);
    (state.confidence * 1e4).round() / 1e4
}

/// Puts `relations`, and `incoming` where there are any, into an object.
pub(super) fn put_relations(engine: &Engine, relations: &Relations, object: &mut JsonObject) {
    let end = |stem: &Stem, headline: &str| json!({"id": engine.live.shown_id(stem), "preview": preview(headline).0});
    let outgoing = |relation: &Relation| {
        let object = end(relation.to.as_ref()?, &relation.headline);
        Some(json!({"predicate": relation.relation, "object": object}))
    };
    let incoming = |relation: &Relation| {
        let subject = end(&relation.from, &relation.headline);
        json!({"predicate": relation.relation, "subject": subject})
    };
    let to: Vec<Value> = relations.to.iter().filter_map(outgoing).collect();
    object.insert("relations".to_owned(), json!(to));
    if !relations.from.is_empty() {
        let from: Vec<Value> = relations.from.iter().map(incoming).collect();
        object.insert("incoming".to_owned(), json!(from));
    }
}

/// Says of a memory that lies in the archive what replaced it there, and when and why it went: what it
/// was merged into, else `forgotten`.
pub(super) fn put_forgotten(
    engine: &Engine,
    forgotten: &Forgotten,
    object: &mut JsonObject,
) -> Result<(), EngineError> {
    let merged = ops::merged_into(engine, forgotten)?;
    let by = merged.map_or_else(
        || "forgotten".to_owned(),
        |stem| engine.live.shown_id(&stem),
    );
    object.insert("superseded_by".to_owned(), json!(by));
    let record = forgotten.record.as_ref();
    let why = record.and_then(|record| record.why.as_deref());
    let at = Timestamp::from_utc(forgotten.at);
    let gone = json!({"at": at.as_str(), "reason": why});
    object.insert("forgotten".to_owned(), gone);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_has_eighty_characters_of_one_line() {
        assert_eq!(preview("Two\n  lines."), ("Two lines.".to_owned(), false));
        let exact = "é".repeat(80);
        assert_eq!(preview(&exact), (exact.clone(), false));
        assert_eq!(preview(&format!("{exact}x")), (exact, true));
        assert_eq!(preview(" \n"), (String::new(), false));
    }
}
