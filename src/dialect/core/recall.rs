//! `recall`: whole memories by their ids.

use serde::Serialize;
use serde_json::{Value, json};

use super::replies::list_reply;
use super::suspicious::reasons;
use crate::dialect::arguments::Arguments;
use crate::dialect::budget::fit;
use crate::dialect::call::Call;
use crate::dialect::json::to_object;
use crate::dialect::reply::{Reply, ToolError, full, written};
use crate::dialect::views::MemoryView;
use crate::engine::{Engine, EngineError, Recalled, ops};
use crate::model::{Memory, estimated_tokens};

/// Maximum number of ids in one `recall`.
const MAX_IDS: usize = 100;

/// Entry for an id that could not be read.
#[derive(Serialize)]
struct Failed {
    id: String,
    error: String,
}

/// Runs the tool `recall`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let ids = arguments
        .list_of_either("memory_ids", "ids")?
        .unwrap_or_default();
    if ids.is_empty() {
        let what = "`memory_ids` is missing: give a list of ids from `think`";
        return Err(ToolError::refused(what));
    }
    if ids.len() > MAX_IDS {
        let what = "too many `memory_ids`: give at most 100 at once";
        return Err(ToolError::refused(what));
    }
    let max_tokens = arguments.number("max_tokens")?.map(|n| n as usize);
    let recalled = ops::recall(call.engine, &ids);
    call.engine.writer.count_uses(&recalled);
    let Some((own, others)) = call.stores.split_first() else {
        return Ok(recall_reply(call.engine, recalled, max_tokens));
    };
    let mut entries = recalled_of(call.engine, Some(&own.name), recalled);
    for store in others {
        let missing = entries
            .iter_mut()
            .filter_map(|entry| match &entry.recalled {
                Recalled::Failed {
                    id,
                    error: EngineError::NotFound(_),
                } => Some((id.clone(), entry)),
                _ => None,
            });
        let (ids, places): (Vec<String>, Vec<&mut RecalledIn<'_>>) = missing.unzip();
        let recalled = ops::recall(&store.engine, &ids);
        store.engine.writer.count_uses(&recalled);
        let found = recalled_of(&store.engine, Some(&store.name), recalled);
        for (place, entry) in places.into_iter().zip(found) {
            if let Recalled::Found { .. } = entry.recalled {
                *place = entry;
            }
        }
    }
    Ok(reply(entries, max_tokens))
}

/// Memory that was read for an id, with its store.
struct RecalledIn<'a> {
    engine: &'a Engine,
    /// Name of the store; `None` if there is one alone.
    store: Option<&'a str>,
    recalled: Recalled,
}

fn recalled_of<'a>(
    engine: &'a Engine,
    store: Option<&'a str>,
    recalled: Vec<Recalled>,
) -> Vec<RecalledIn<'a>> {
    let entry = |recalled| RecalledIn {
        engine,
        store,
        recalled,
    };
    recalled.into_iter().map(entry).collect()
}

/// Returns the reply to a recall: one entry for each id, in the order of the call.
pub fn recall_reply(engine: &Engine, recalled: Vec<Recalled>, max_tokens: Option<usize>) -> Reply {
    reply(recalled_of(engine, None, recalled), max_tokens)
}

fn reply(recalled: Vec<RecalledIn<'_>>, max_tokens: Option<usize>) -> Reply {
    let mut tokens = 0;
    let mut entries = Vec::new();
    for RecalledIn {
        engine,
        store,
        recalled,
    } in recalled
    {
        let mut object = match recalled {
            Recalled::Found { memory, .. } => {
                let mut object = to_object(&memory_view(engine, &memory));
                if let Some(store) = store {
                    object.insert("store".to_owned(), json!(store));
                }
                object
            }
            Recalled::Failed { id, error } => to_object(&Failed {
                error: not_recalled(&id, &error),
                id,
            }),
        };
        if let Some(most) = max_tokens {
            fit(&mut object, most.saturating_sub(tokens));
        }
        tokens += estimated_tokens(&written(&object));
        entries.push(Value::Object(object));
    }
    list_reply(entries, |structured| {
        structured.insert("tokens".to_owned(), json!(tokens));
    })
}

/// Returns the view of a memory in a reply of `recall`.
pub fn memory_view<'a>(engine: &Engine, memory: &'a Memory) -> MemoryView<'a> {
    let mut view = MemoryView::new(memory, engine.live.shown_id(&memory.stem));
    view.suspicious = reasons(memory.title.as_deref(), &memory.content);
    view
}

fn not_recalled(id: &str, error: &EngineError) -> String {
    match error {
        EngineError::NotFound(_) => format!("Memory with ID {id} not found"),
        EngineError::Ambiguous { candidates, .. } => {
            format!(
                "Memory ID {id} is ambiguous, use one of: {}",
                candidates.join(", ")
            )
        }
        other => full(other),
    }
}
