//! The tools and endpoints of ai-memory's tool set, called by the command line.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cli::args::mcp::ToolSet;
use crate::cli::serving::mcp;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::dialect;
use crate::dialect::json::object;
use crate::dialect::{Call, Caller, Dialect, JsonObject, Preferences, ToolError};
use crate::engine::{Engine, EngineError};

/// The tool set on one store.
pub struct Tools<'a> {
    engine: &'a Engine,
    dialect: Arc<dyn Dialect>,
    caller: Caller,
    preferences: Preferences,
}

impl<'a> Tools<'a> {
    /// Returns the tools with the features of `tier`; the usual ones without it.
    pub fn new(
        context: &Context,
        engine: &'a Engine,
        tier: Option<&str>,
    ) -> Result<Tools<'a>, Failure> {
        let wanted = ToolSet {
            dialect: None,
            tools: Vec::new(),
            tier: tier.map(str::to_owned),
            group: None,
        };
        Ok(Tools {
            engine,
            dialect: dialect::named("ai-memory").expect("it is one of them"),
            caller: Caller {
                client: Some(context.config.agent.value.clone()),
                version: None,
            },
            preferences: mcp::preferences(context, &wanted)?,
        })
    }

    /// Calls a tool; an argument that is null is not given.
    pub fn call(&self, tool: &str, arguments: Value) -> Result<JsonObject, Failure> {
        let mut tools = self.dialect.tools().iter();
        let tool = tools.find(|known| known.name == tool);
        let tool = tool.expect("the tool set has it");
        let reply = tool.try_call(&self.context(), object(arguments));
        Ok(reply.map_err(failure)?.structured)
    }

    /// Calls an endpoint of the HTTP interface.
    pub fn ask(&self, endpoint: &str) -> Result<JsonObject, Failure> {
        let endpoint = dialect::endpoints().find(|known| known.name == endpoint);
        let endpoint = endpoint.expect("the interface has it");
        let reply = endpoint.call(&self.context(), JsonObject::new());
        Ok(reply.map_err(failure)?.structured)
    }

    fn context(&self) -> Call<'_> {
        Call {
            engine: self.engine,
            caller: &self.caller,
            preferences: &self.preferences,
            stores: &[],
        }
    }
}

/// Returns the member `name` of a reply as the type of its view.
pub fn member<T: DeserializeOwned>(reply: &JsonObject, name: &str) -> T {
    let value = reply.get(name).cloned().unwrap_or_default();
    serde_json::from_value(value).expect("the view of the tool set has it")
}

fn failure(error: ToolError) -> Failure {
    match error {
        ToolError::Engine(EngineError::NotFound(id)) => Failure::new(format!("not found: {id}")),
        ToolError::Engine(error) => error.into(),
        other => Failure::new(other.to_string()),
    }
}
