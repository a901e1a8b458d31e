//! What `remember` of the three-tool set replies.
//!
//! The specification's two fields are there in every case; what was found similar, replaced or
//! left as it was is said in the message and stands in fields of its own.

use serde_json::Value;
use serde_json::json;

use crate::dialect::json::JsonObject;
use crate::dialect::reply::Reply;
use crate::engine::Engine;
use crate::engine::Remembered;
use crate::engine::Stored;
use crate::engine::Suggestion;
use crate::engine::WriteOutcome;
use crate::model::Stem;

/// The reply to a memory that was to be stored.
pub fn remember_reply(engine: &Engine, stored: &Stored) -> Reply {
    match stored {
        Stored::Written(remembered) => written(engine, remembered),
        Stored::Suggested(suggestions) => suggested(engine, suggestions),
    }
}

/// The reply where nothing was stored because of an error.
pub(super) fn failed(reason: &str) -> Reply {
    Reply {
        is_error: true,
        ..Reply::object(fields("", &format!("Error storing memory: {reason}")))
    }
}

fn written(engine: &Engine, remembered: &Remembered) -> Reply {
    let id = engine.live.shown_id(&remembered.stem);
    let ids = |stems: &[Stem]| -> Vec<String> {
        stems
            .iter()
            .map(|stem| engine.live.shown_id(stem))
            .collect()
    };
    let mut message = match &remembered.became {
        WriteOutcome::Added => format!("Memory stored successfully with ID: {id}"),
        WriteOutcome::Repeated => format!("Memory was already stored with ID: {id}"),
        WriteOutcome::Known if remembered.changed.is_empty() => {
            format!("Memory says the same as the one with ID: {id}; nothing new was stored")
        }
        WriteOutcome::Known => format!(
            "Memory says the same as the one with ID: {id}; nothing new was stored, but that one \
             got what is new: {}",
            remembered.changed.join(", ")
        ),
        WriteOutcome::Updated { earlier: None } if remembered.changed.is_empty() => {
            format!("Memory says the same as the one with its title, ID: {id}; nothing was changed")
        }
        WriteOutcome::Updated { earlier: None } => format!(
            "Memory says the same as the one with its title, ID: {id}; that one got what is new: {}",
            remembered.changed.join(", ")
        ),
        WriteOutcome::Updated {
            earlier: Some(earlier),
        } => format!(
            "Memory with this title updated, ID: {id}; its earlier text is {} in the archive",
            engine.live.shown_id(earlier)
        ),
    };
    if remembered.lives_on {
        message = format!("{message}; it lives longer than that, and goes on so");
    }
    if !remembered.superseded.is_empty() {
        let superseded = ids(&remembered.superseded).join(", ");
        message = format!("{message}; it supersedes {superseded}");
    }
    for near in &remembered.near {
        let other = engine.live.shown_id(&near.stem);
        message = format!("{message}; {other} is nearly the same: {}", reasons(near));
    }
    if !remembered.related.is_empty() {
        let related = ids(&remembered.related).join(", ");
        message = format!("{message}; linked with {related}, which have topics of it");
    }
    for one in &remembered.contradicted {
        let other = engine.live.shown_id(&one.stem);
        message = format!(
            "{message}. Hint: it may contradict {other} ({}). If it corrects that one, say so: \
             `memdir resolve {id} {other}`",
            one.evidence
        );
    }
    let mut object = fields(&id, &message);
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    match &remembered.became {
        WriteOutcome::Added | WriteOutcome::Repeated => {}
        WriteOutcome::Known => {
            let is_changed = !remembered.changed.is_empty();
            put("action", json!(if is_changed { "UPDATE" } else { "NOOP" }));
        }
        WriteOutcome::Updated { earlier } => {
            let is_changed = earlier.is_some() || !remembered.changed.is_empty();
            put("action", json!(if is_changed { "UPDATE" } else { "NOOP" }));
            if let Some(earlier) = earlier {
                put("earlier", json!(engine.live.shown_id(earlier)));
            }
        }
    }
    if !remembered.changed.is_empty() {
        put("changed", json!(remembered.changed));
    }
    if !remembered.near.is_empty() {
        let near: Vec<Value> = remembered
            .near
            .iter()
            .map(|near| json!({"id": engine.live.shown_id(&near.stem), "reasons": reason_list(near)}))
            .collect();
        put("similar", json!(near));
    }
    if !remembered.related.is_empty() {
        put("linked", json!(ids(&remembered.related)));
    }
    if let Some(same) = &remembered.same_text {
        put("same_text_as", json!(engine.live.shown_id(same)));
    }
    if !remembered.contradicted.is_empty() {
        let contradicted = remembered.contradicted.iter();
        let contradicted: Vec<Value> = contradicted
            .map(|one| {
                json!({
                    "id": engine.live.shown_id(&one.stem),
                    "headline": one.headline,
                    "difference": one.evidence.difference.word(),
                    "there": one.evidence.older,
                    "here": one.evidence.newer,
                })
            })
            .collect();
        put("may_contradict", json!(contradicted));
    }
    let warnings = remembered.screened.warnings();
    if !warnings.is_empty() {
        put("warnings", json!(warnings));
    }
    Reply::object(object)
}

fn suggested(engine: &Engine, suggestions: &[Suggestion]) -> Reply {
    let candidates: Vec<Value> = suggestions
        .iter()
        .map(|one| {
            json!({
                "id": engine.live.shown_id(&one.stem),
                "action": one.action.word(),
                "headline": one.headline,
                "reasons": reason_list(one),
            })
        })
        .collect();
    let listed: Vec<String> = suggestions
        .iter()
        .map(|one| {
            let id = engine.live.shown_id(&one.stem);
            format!("{id} ({}: {})", one.action.word(), reasons(one))
        })
        .collect();
    let message = format!(
        "Nothing was stored, because one of these may be meant: {}. To correct one, call again with \
         its id in `supersedes`; to store it beside them, with `force`",
        listed.join(", ")
    );
    let mut object = fields("", &message);
    object.insert("action".to_owned(), json!("SUGGEST"));
    object.insert("candidates".to_owned(), json!(candidates));
    Reply::object(object)
}

fn reason_list(suggestion: &Suggestion) -> Vec<String> {
    let reasons = suggestion.reasons.iter();
    reasons.map(ToString::to_string).collect()
}

fn reasons(suggestion: &Suggestion) -> String {
    reason_list(suggestion).join(", ")
}

fn fields(id: &str, message: &str) -> JsonObject {
    let mut object = JsonObject::new();
    object.insert("memory_id".to_owned(), json!(id));
    object.insert("message".to_owned(), json!(message));
    object
}
