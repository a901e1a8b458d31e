//! `remember`: from arguments to a memory on disk.

use super::remembered::remember_view;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::metadata;
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::stores::{self, ServedStore};
use crate::engine::{WritePolicy, ops};
use crate::model::{GLOBAL, NewMemory};

/// Runs the tool `remember`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let mut memory = memory(call, arguments)?;
    let store = store_for(call, &memory);
    let engine = store.map_or(call.engine, |store| &store.engine);
    if store.is_some() && memory.namespace.is_none() {
        memory.namespace = call.engine.live.namespace();
    }
    let policy = WritePolicy {
        force: arguments.flag("force")?.unwrap_or(false),
        ..engine.writer.write_policy().clone()
    };
    let key = arguments.set_text("idempotency_key")?;
    let stored = ops::remember_as(engine, memory, key.as_deref(), &policy)?;
    let mut view = remember_view(engine, &stored);
    view.store = store.map(|store| store.name.as_str());
    let others = arguments.others().map(|name| {
        let shown: String = name.chars().take(40).collect();
        format!("`{shown}` is no argument of `remember` and was not kept")
    });
    view.warnings.extend(others);
    view.warnings.extend(arguments.object_or_note("metadata").1);
    Ok(Reply::of(&view))
}

/// Returns the store that a memory goes to, where there are several: that of its namespace; if it names none,
/// that of what it supersedes, or of the namespace of the session.
fn store_for<'a>(call: &Call<'a>, memory: &NewMemory) -> Option<&'a ServedStore> {
    let of_superseded = || {
        let mut ids = memory.supersedes.iter();
        ids.find_map(|id| stores::holder_of(call.stores, id))
    };
    match &memory.namespace {
        Some(namespace) => stores::home_of(call.stores, namespace),
        None => of_superseded().or_else(|| {
            let session = call.engine.live.namespace();
            stores::home_of(call.stores, session.as_deref().unwrap_or(GLOBAL))
        }),
    }
}

fn memory(call: &Call<'_>, arguments: &Arguments) -> Result<NewMemory, ToolError> {
    let refused = |what: &str| ToolError::refused(what);
    let content = arguments.required_text("content")?;
    if content.trim().is_empty() {
        return Err(refused("`content` is empty: give the text to remember"));
    }
    let agent = match arguments.text("agent")? {
        Some(agent) => agent,
        None if call.caller.client.is_some() => call.agent(),
        None => return Err(refused("`agent` is missing: give your name")),
    };
    Ok(NewMemory {
        agent: agent.trim().to_owned(),
        user: arguments.required_text("user")?.trim().to_owned(),
        topics: arguments
            .list_of_either("topics", "tags")?
            .unwrap_or_default(),
        content,
        title: arguments.line("title")?,
        namespace: arguments.set_text("namespace")?,
        importance: arguments.number("importance")?.map(|n| n as u8),
        expires: arguments.end("expires", call.engine.live.now())?,
        supersedes: arguments.list("supersedes")?.unwrap_or_default(),
        metadata: metadata::from_json(arguments.object_or_note("metadata").0.unwrap_or_default()),
        ..NewMemory::default()
    })
}
