//! The suite's tools that go on after they were answered.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, CreateTaskResult,
    ErrorData, JsonObject,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskOptions};
use serde_json::Value;

use super::fixtures::{Shared, typed};
use super::tools::elicitation;

/// Milliseconds for which the outcome of a task is kept.
const KEPT_MS: u64 = 60_000;

/// How often it is worth asking.
const POLL_MS: u64 = 100;

/// Waits so long, as a task where the client knows of tasks, unless it is cancelled.
pub async fn slow_compute(
    shared: &Arc<Shared>,
    context: &RequestContext<RoleServer>,
    arguments: &JsonObject,
) -> Result<CallToolResponse, ErrorData> {
    let seconds = arguments.get("seconds").and_then(Value::as_f64);
    let length = Duration::try_from_secs_f64(seconds.unwrap_or_default());
    let length = length.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
    if !knows_tasks(context) {
        tokio::time::sleep(length).await;
        return Ok(text("computed").into());
    }
    begin(shared, move |task| {
        Box::pin(async move {
            tokio::select! {
                () = task.cancelled() => Err(TaskExit::Cancelled),
                () = tokio::time::sleep(length) => Ok(text("computed")),
            }
        })
    })
}

/// Fails as a tool does, and only as a task.
pub fn failing_job(
    shared: &Arc<Shared>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    must_know_tasks(context)?;
    begin(shared, |_| {
        Box::pin(async { Ok(CallToolResult::error(vec![ContentBlock::text("it failed")])) })
    })
}

/// Fails as no tool should.
pub fn protocol_error_job(
    shared: &Arc<Shared>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let broken = || ErrorData::internal_error("broken on purpose", None);
    if !knows_tasks(context) {
        return Err(broken());
    }
    begin(shared, move |_| {
        Box::pin(async move { Err(TaskExit::Error(broken())) })
    })
}

/// Asks under each of these keys, all at once, and is done when all are answered.
pub fn asking(
    shared: &Arc<Shared>,
    context: &RequestContext<RoleServer>,
    keys: &'static [&'static str],
) -> Result<CallToolResponse, ErrorData> {
    must_know_tasks(context)?;
    begin(shared, move |task| {
        Box::pin(async move {
            let (first, second) = (keys.first(), keys.get(1));
            let answers = tokio::join!(ask(&task, first), ask(&task, second));
            answers.0?;
            answers.1?;
            Ok(text("answered"))
        })
    })
}

async fn ask(task: &TaskContext, key: Option<&&'static str>) -> Result<(), TaskExit> {
    let Some(key) = key else {
        return Ok(());
    };
    let request = typed(elicitation("Is that so?", "confirm"))?;
    task.request_input(*key, request).await?;
    Ok(())
}

/// Says `name`, a little later.
pub fn greeting(
    shared: &Arc<Shared>,
    context: &RequestContext<RoleServer>,
    name: String,
) -> Result<CallToolResponse, ErrorData> {
    must_know_tasks(context)?;
    begin(shared, move |_| {
        Box::pin(async move { Ok(text(&format!("Hello, {name}!"))) })
    })
}

fn begin(
    shared: &Arc<Shared>,
    make: impl FnOnce(TaskContext) -> TaskFuture,
) -> Result<CallToolResponse, ErrorData> {
    let options = TaskOptions::new()
        .with_ttl_ms(KEPT_MS)
        .with_poll_interval_ms(POLL_MS);
    Ok(CreateTaskResult::new(shared.tasks.spawn(options, make)).into())
}

fn text(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn knows_tasks(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    capabilities.is_some_and(|capabilities| capabilities.supports_tasks())
}

/// What cannot be done otherwise is refused before it is begun.
pub fn must_know_tasks(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    match knows_tasks(context) {
        true => Ok(()),
        false => Err(ErrorData::missing_required_client_capability(
            ClientCapabilities::builder().enable_tasks().build(),
        )),
    }
}
