//! Reply of `remember` of the three-tool set.
//!
//! The specification's two fields are always present; similar, replaced and unchanged memories are in
//! the message and in further fields.

use schemars::JsonSchema;
use serde::Serialize;

use crate::dialect::json::JsonObject;
use crate::engine::{Engine, Remembered, Stored, Suggestion, WriteOutcome};
use crate::model::Stem;

/// The reply of `remember`.
#[derive(Default, Serialize, JsonSchema)]
pub struct RememberView<'a> {
    memory_id: String,
    message: String,
    /// Name of the store that it lies in, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub(super) store: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<String>,
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    #[schemars(skip)]
    changed: &'a [&'static str],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<JsonObject>")]
    similar: Vec<SimilarView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_text_as: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<JsonObject>")]
    may_contradict: Vec<ContradictionView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<JsonObject>")]
    candidates: Vec<CandidateView<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Action {
    Update,
    Noop,
    Suggest,
}

/// A memory that is nearly the same.
#[derive(Serialize)]
struct SimilarView {
    id: String,
    reasons: Vec<String>,
}

/// A memory that the new one may contradict, and in what.
#[derive(Serialize)]
struct ContradictionView<'a> {
    id: String,
    headline: &'a str,
    difference: &'static str,
    there: &'a str,
    here: &'a str,
}

/// A memory that may be meant instead of a new one.
#[derive(Serialize)]
struct CandidateView<'a> {
    id: String,
    action: &'static str,
    headline: &'a str,
    reasons: Vec<String>,
}

/// Returns the reply to a memory that was to be stored.
pub fn remember_view<'a>(engine: &Engine, stored: &'a Stored) -> RememberView<'a> {
    match stored {
        Stored::Written(remembered) => written(engine, remembered),
        Stored::Suggested(suggestions) => suggested(engine, suggestions),
    }
}

/// Returns the reply where nothing was stored because of an error.
pub(super) fn failed(reason: &str) -> RememberView<'static> {
    RememberView {
        message: format!("Error storing memory: {reason}"),
        ..RememberView::default()
    }
}

fn written<'a>(engine: &Engine, remembered: &'a Remembered) -> RememberView<'a> {
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
    let is_changed = !remembered.changed.is_empty();
    let (is_update, earlier) = match &remembered.became {
        WriteOutcome::Added | WriteOutcome::Repeated => (None, None),
        WriteOutcome::Known => (Some(is_changed), None),
        WriteOutcome::Updated { earlier } => {
            (Some(earlier.is_some() || is_changed), earlier.as_ref())
        }
    };
    let similar = remembered.near.iter().map(|near| SimilarView {
        id: engine.live.shown_id(&near.stem),
        reasons: reason_list(near),
    });
    let may_contradict = remembered.contradicted.iter().map(|one| ContradictionView {
        id: engine.live.shown_id(&one.stem),
        headline: &one.headline,
        difference: one.evidence.difference.word(),
        there: &one.evidence.older,
        here: &one.evidence.newer,
    });
    RememberView {
        memory_id: id,
        message,
        store: None,
        action: is_update.map(|is_update| match is_update {
            true => Action::Update,
            false => Action::Noop,
        }),
        earlier: earlier.map(|stem| engine.live.shown_id(stem)),
        changed: &remembered.changed,
        similar: similar.collect(),
        linked: ids(&remembered.related),
        same_text_as: (remembered.same_text.as_ref()).map(|stem| engine.live.shown_id(stem)),
        may_contradict: may_contradict.collect(),
        candidates: Vec::new(),
        warnings: remembered.screened.warnings(),
    }
}

fn suggested<'a>(engine: &Engine, suggestions: &'a [Suggestion]) -> RememberView<'a> {
    let candidates = suggestions.iter().map(|one| CandidateView {
        id: engine.live.shown_id(&one.stem),
        action: one.action.word(),
        headline: &one.headline,
        reasons: reason_list(one),
    });
    let candidates: Vec<CandidateView<'_>> = candidates.collect();
    let listed = candidates.iter().map(|one| {
        let reasons = one.reasons.join(", ");
        format!("{} ({}: {reasons})", one.id, one.action)
    });
    let listed: Vec<String> = listed.collect();
    RememberView {
        message: format!(
            "Nothing was stored, because one of these may be meant: {}. To correct one, call again \
             with its id in `supersedes`; to store it beside them, with `force`",
            listed.join(", ")
        ),
        action: Some(Action::Suggest),
        candidates,
        ..RememberView::default()
    }
}

fn reason_list(suggestion: &Suggestion) -> Vec<String> {
    let reasons = suggestion.reasons.iter();
    reasons.map(ToString::to_string).collect()
}

fn reasons(suggestion: &Suggestion) -> String {
    reason_list(suggestion).join(", ")
}
