//! Views of memories and their relations in replies of the typed set.

use serde::Serialize;

use crate::engine::{Engine, EngineError, Forgotten, Relation, Relations, live, ops};
use crate::model::{Filter, Kind, Memory, Stem, Timestamp};

/// Length of a preview in characters.
const PREVIEW: usize = 80;

/// Returns the type of a memory; `semantic` if it states none, as those of other tool sets.
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

/// Returns the beginning of a content on one line, and whether it is truncated.
pub(super) fn preview(content: &str) -> (String, bool) {
    let words: Vec<&str> = content.split_whitespace().collect();
    let line = words.join(" ");
    let shown: String = line.chars().take(PREVIEW).collect();
    let is_cut = shown.len() < line.len();
    (shown, is_cut)
}

/// Returns the present confidence of a memory, rounded to four digits.
pub(super) fn confidence(engine: &Engine, memory: &Memory) -> f64 {
    let (state, _) = live::state_of(&engine.live, memory);
    (state.confidence * 1e4).round() / 1e4
}

/// The relations of a memory: from it, and to it where there are any.
#[derive(Serialize, Default)]
pub(super) struct RelationsView {
    relations: Vec<OutgoingView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incoming: Vec<IncomingView>,
}

#[derive(Serialize)]
struct OutgoingView {
    predicate: String,
    object: EndView,
}

#[derive(Serialize)]
struct IncomingView {
    predicate: String,
    subject: EndView,
}

/// The memory at the other end of a relation.
#[derive(Serialize)]
struct EndView {
    id: String,
    preview: String,
}

impl RelationsView {
    /// Returns the view of relations.
    pub fn of(engine: &Engine, relations: Relations) -> RelationsView {
        let end = |stem: &Stem, headline: &str| EndView {
            id: engine.live.shown_id(stem),
            preview: preview(headline).0,
        };
        let outgoing = |relation: Relation| {
            Some(OutgoingView {
                object: end(relation.to.as_ref()?, &relation.headline),
                predicate: relation.relation,
            })
        };
        let incoming = |relation: Relation| IncomingView {
            subject: end(&relation.from, &relation.headline),
            predicate: relation.relation,
        };
        RelationsView {
            relations: relations.to.into_iter().filter_map(outgoing).collect(),
            incoming: relations.from.into_iter().map(incoming).collect(),
        }
    }
}

/// Time and reason of a memory's archiving.
#[derive(Serialize)]
pub(super) struct GoneView {
    at: String,
    reason: Option<String>,
}

/// Returns the replacement of an archived memory, and the time and reason of its archiving. The
/// replacement is the memory it was merged into, else `forgotten`.
pub(super) fn gone(
    engine: &Engine,
    forgotten: &Forgotten,
) -> Result<(String, GoneView), EngineError> {
    let by = match ops::merged_into(engine, forgotten)? {
        Some(stem) => engine.live.shown_id(&stem),
        None => "forgotten".to_owned(),
    };
    let record = forgotten.record.as_ref();
    let gone = GoneView {
        at: Timestamp::from_utc(forgotten.at).as_str().to_owned(),
        reason: record.and_then(|record| record.why.clone()),
    };
    Ok((by, gone))
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
