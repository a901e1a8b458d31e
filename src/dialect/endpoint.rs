//! Endpoints of the HTTP interface, as rows of a table.
//!
//! A row holds the path, the parameters and the schema of the response; the route, the reading of a
//! request and the interface's description are made from it. Headers, authorization and limits are left
//! to the server.

use std::error::Error;
use std::io;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::arguments::Arguments;
use super::call::Call;
use super::json::JsonObject;
use super::parameter::Parameter;
use super::reply::{Reply, ToolError, full};
use super::tool_set::{Run, Tool};
use crate::engine::{EngineError, OneDeed, PastError};

/// The HTTP method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

/// Location of the parameters that are not in the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterLocation {
    Query,
    /// A JSON object in the body; an empty body is an empty object.
    Body,
    /// A list in the body, as the value of the only parameter.
    List,
}

/// One endpoint.
#[derive(Clone, Copy)]
pub struct Endpoint {
    /// HTTP method.
    pub verb: Verb,
    /// Path below the interface's base; `{name}` is a parameter.
    pub path: &'static str,
    /// Name of the operation, for generated clients.
    pub name: &'static str,
    /// Summary for the description.
    pub summary: &'static str,
    /// Parameters of path, query and body.
    pub parameters: &'static [Parameter],
    /// Members of the body that are ignored: a response has them, and they cannot be set.
    pub ignored: &'static [&'static str],
    /// Member of a response in which the body may be wrapped, and the members beside it, which are ignored
    /// then.
    pub wrapper: Option<(&'static str, &'static [&'static str])>,
    /// Location of the other parameters.
    pub place: ParameterLocation,
    /// Whether it changes anything, and so needs the right to write.
    pub writes: bool,
    /// Whether its calls are short, as those of a [`Tool`] may be.
    pub is_short: bool,
    /// Whether its body may be as large as a whole store.
    pub is_large: bool,
    /// Status of a success, the first one; the last one is that of a reply that is marked as an error.
    pub statuses: &'static [u16],
    /// JSON schema of the response.
    pub reply: fn() -> Value,
    /// Function that runs a call.
    pub run: Run,
}

impl Endpoint {
    /// Returns an endpoint with its parameters in the query if it reads or deletes, else in the body.
    pub const fn new(
        verb: Verb,
        path: &'static str,
        name: &'static str,
        summary: &'static str,
        run: Run,
        reply: fn() -> Value,
    ) -> Endpoint {
        Endpoint {
            verb,
            path,
            name,
            summary,
            parameters: &[],
            ignored: &[],
            wrapper: None,
            place: match verb {
                Verb::Get | Verb::Delete => ParameterLocation::Query,
                Verb::Post | Verb::Put => ParameterLocation::Body,
            },
            writes: !matches!(verb, Verb::Get),
            is_short: false,
            is_large: false,
            statuses: &[200],
            reply,
            run,
        }
    }

    /// Returns an endpoint that runs `tool`.
    pub const fn of_tool(
        verb: Verb,
        path: &'static str,
        name: &'static str,
        summary: &'static str,
        tool: &Tool,
        reply: fn() -> Value,
    ) -> Endpoint {
        Endpoint {
            parameters: tool.parameters,
            is_short: tool.is_short,
            ..Endpoint::new(verb, path, name, summary, tool.run, reply)
        }
    }

    /// Returns the endpoint with these statuses.
    pub const fn answering(self, statuses: &'static [u16]) -> Endpoint {
        Endpoint { statuses, ..self }
    }

    /// Returns the body without the member in which it is wrapped.
    ///
    /// # Errors
    ///
    /// Fails with the name of a member that is in it and beside it.
    pub fn unwrapped(&self, mut given: JsonObject) -> Result<JsonObject, String> {
        let Some((wrapper, beside)) = self.wrapper else {
            return Ok(given);
        };
        if !given.get(wrapper).is_some_and(Value::is_object) {
            return Ok(given);
        }
        let Some(Value::Object(mut whole)) = given.remove(wrapper) else {
            return Ok(given);
        };
        given.retain(|name, _| !beside.contains(&name.as_str()));
        for (name, value) in given {
            if whole.contains_key(&name) {
                return Err(format!("`{name}` stands in `{wrapper}` and beside it"));
            }
            whole.insert(name, value);
        }
        Ok(whole)
    }

    /// Returns the status of a reply.
    pub fn status(&self, reply: &Reply) -> u16 {
        let status = match reply.is_error {
            true => self.statuses.last(),
            false => self.statuses.first(),
        };
        status.copied().unwrap_or(200)
    }

    /// Returns whether the parameter called `name` is in the path.
    pub fn is_in_path(&self, name: &str) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) == Some(name))
    }

    /// Reads the arguments, and runs the call.
    ///
    /// # Errors
    ///
    /// Fails with an error for the caller.
    pub fn call(&self, call: &Call<'_>, values: JsonObject) -> Result<Reply, ToolError> {
        // What one call changes is undone together.
        let _deed = OneDeed::begin();
        let arguments = Arguments::new(values, self.parameters)?;
        (self.run)(call, &arguments)
    }
}

/// Error of a request: a code, and a message for the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Code of the error.
    pub code: &'static str,
    /// Message for the caller.
    pub message: String,
}

impl Refusal {
    /// Code for a memory that does not exist.
    pub const NOT_FOUND: &'static str = "NOT_FOUND";
    /// Code for invalid arguments.
    pub const VALIDATION_FAILED: &'static str = "VALIDATION_FAILED";
    /// Code for a conflict with the present state.
    pub const CONFLICT: &'static str = "CONFLICT";
    /// Code for a write that exceeds a quota of the store.
    pub const OVER_QUOTA: &'static str = "OVER_QUOTA";
    /// Code for what cannot be answered yet, and soon can.
    pub const UNAVAILABLE: &'static str = "UNAVAILABLE";
    /// Code for an error of the store.
    pub const DATABASE_ERROR: &'static str = "DATABASE_ERROR";

    /// Returns the code and message of an error. Details of this machine, such as a full disk, are in the
    /// server's log, and the caller gets a general message.
    pub fn of(error: &ToolError) -> Refusal {
        let (code, message) = match error {
            ToolError::Argument(_) | ToolError::Refused(_) => {
                (Refusal::VALIDATION_FAILED, error.to_string())
            }
            ToolError::Conflict(_) => (Refusal::CONFLICT, error.to_string()),
            ToolError::Engine(error) => of_engine(error),
        };
        Refusal { code, message }
    }
}

/// The body of an error response.
#[derive(Serialize, JsonSchema)]
pub struct ErrorView {
    code: &'static str,
    message: String,
    /// The message again, where older clients look for it.
    error: String,
}

impl ErrorView {
    pub fn new(code: &'static str, message: String) -> ErrorView {
        ErrorView {
            code,
            error: message.clone(),
            message,
        }
    }
}

fn of_engine(error: &EngineError) -> (&'static str, String) {
    match error {
        EngineError::NotFound(id) => (Refusal::NOT_FOUND, format!("memory not found: {id}")),
        EngineError::Ambiguous { id, candidates } => {
            let ids = candidates.join(", ");
            let message = format!("ambiguous id `{id}`, use one of: {ids}");
            (Refusal::VALIDATION_FAILED, message)
        }
        EngineError::ReadOnly(_) => (Refusal::CONFLICT, full(error)),
        EngineError::Invalid(_) | EngineError::Format(_) | EngineError::Secrets(_) => {
            (Refusal::VALIDATION_FAILED, error.to_string())
        }
        EngineError::ChangedMeanwhile { id, .. } | EngineError::KeptOther { id } => {
            let message =
                format!("somebody else changed `{id}` in the same moment; both texts are kept");
            (Refusal::CONFLICT, message)
        }
        other if other.taken_name().is_some() => {
            let name = other.taken_name().unwrap_or_default();
            let message = format!("there is another file called {name} where it would go");
            (Refusal::CONFLICT, message)
        }
        other if other.awaits_index() => (Refusal::UNAVAILABLE, full(other)),
        other if other.busy().is_some() => {
            let what = other.busy().unwrap_or_default();
            let message = format!("another call writes {what}: try again in a moment");
            // Not as unavailable: clients repeat that unasked.
            (Refusal::CONFLICT, message)
        }
        EngineError::Past(past) => (of_past(past), past.to_string()),
        other if over_quota(other).is_some() => {
            (Refusal::OVER_QUOTA, over_quota(other).unwrap_or_default())
        }
        other => {
            tracing::error!("{}", full(other));
            let message = "Internal server error".to_owned();
            (Refusal::DATABASE_ERROR, message)
        }
    }
}

/// Returns the reason, if a quota of the store forbids a write; a quota of this machine is none.
fn over_quota(error: &EngineError) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::QuotaExceeded
            && error.get_ref().is_some()
        {
            return Some(error.to_string());
        }
        cause = error.source();
    }
    None
}

fn of_past(error: &PastError) -> &'static str {
    match error {
        PastError::NoHistory { .. }
        | PastError::Paused(_)
        | PastError::NothingToUndo
        | PastError::UndoneAlready { .. }
        | PastError::NotUndone { .. } => Refusal::CONFLICT,
        PastError::UnknownRevision(_)
        | PastError::UnknownTarget(_)
        | PastError::BeforeTheBeginning { .. }
        | PastError::NotThere { .. }
        | PastError::Purged(_) => Refusal::NOT_FOUND,
        _ => Refusal::VALIDATION_FAILED,
    }
}
