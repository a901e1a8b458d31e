//! `/health` and `/namespaces`: the store in words and numbers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::dialect::ai_memory::shape::NamespaceCount;
use crate::dialect::ai_memory::state;
use crate::dialect::ai_memory::titles::Titles;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::{Endpoint, Verb};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::views::schema_of;
use crate::engine::ops;

/// Endpoint `GET /health`.
pub(super) const HEALTH: Endpoint = Endpoint::new(
    Verb::Get,
    "/health",
    "health",
    "Whether the store can be read and searched.",
    health,
    schema_of::<HealthView>,
)
.answering(&[200, 503]);

/// Endpoint `GET /namespaces`.
pub(super) const NAMESPACES: Endpoint = Endpoint::new(
    Verb::Get,
    "/namespaces",
    "list_namespaces",
    "The namespaces with their numbers of memories, the largest first.",
    namespaces,
    schema_of::<NamespacesView>,
);

#[derive(Serialize, JsonSchema)]
struct NamespacesView {
    namespaces: Vec<NamespaceCount>,
}

fn namespaces(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    Ok(Reply::of(&NamespacesView {
        namespaces: state::namespaces(call, &Titles::of(call)?)?,
    }))
}

#[derive(Serialize, JsonSchema)]
struct HealthView {
    #[schemars(extend("enum" = ["ok", "error"]))]
    status: &'static str,
    /// The name that clients of this interface look for.
    service: &'static str,
    server: &'static str,
    version: &'static str,
}

fn health(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let health = |status| {
        Reply::of(&HealthView {
            status,
            service: "ai-memory",
            server: "memdir",
            version: env!("CARGO_PKG_VERSION"),
        })
    };
    Ok(match ops::facet(call.engine, "namespace") {
        Ok(_) => health("ok"),
        Err(_) => health("error").failed(),
    })
}
