//! An address of the HTTP interface: a row of a table, as tools are.
//!
//! The row says where it is, what it can be given and what it answers; from it the route, the
//! reading of a request and the interface's description are made. What HTTP itself wants (headers,
//! who may, how much) is left to whoever serves it.

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

/// Where the parameters stand that are not in the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterLocation {
    Query,
    /// A JSON object in the body; nothing is an empty one.
    Body,
    /// The body is a list: the value of the one parameter.
    List,
}

/// One address, with what is done there.
#[derive(Clone, Copy)]
pub struct Endpoint {
    pub verb: Verb,
    /// Below the interface's base; `{name}` is a parameter.
    pub path: &'static str,
    /// One name for it, for programs that are made from the description.
    pub name: &'static str,
    pub summary: &'static str,
    /// The parameters of path, query and body.
    pub parameters: &'static [Parameter],
    /// Members of the body that are passed over: they stand in what is answered, and are nobody's to
    /// set.
    pub ignored: &'static [&'static str],
    /// The member of what an address answers that its body may come in, and those beside it, which
    /// are passed over then.
    pub wrapper: Option<(&'static str, &'static [&'static str])>,
    pub place: ParameterLocation,
    /// Whether it changes anything: not for who may only read.
    pub writes: bool,
    /// Whether its body may be as large as a whole store.
    pub is_large: bool,
    /// Status of a success; the last one is that of a reply that is marked as an error.
    pub statuses: &'static [u16],
    /// The JSON schema of what it answers then.
    pub reply: fn() -> Value,
    pub run: Run,
}

impl Endpoint {
    /// An address whose parameters stand in the query where it reads or removes, else in the body.
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
            is_large: false,
            statuses: &[200],
            reply,
            run,
        }
    }

    /// An address that answers as `tool` does.
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
            ..Endpoint::new(verb, path, name, summary, tool.run, reply)
        }
    }

    /// The same, where success has other statuses than 200.
    pub const fn answering(self, statuses: &'static [u16]) -> Endpoint {
        Endpoint { statuses, ..self }
    }

    /// The body without the member that all of it came in, as an address answers it.
    ///
    /// # Errors
    ///
    /// Says which member stands in it and beside it.
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

    /// The status that `reply` is sent with.
    pub fn status(&self, reply: &Reply) -> u16 {
        let status = match reply.is_error {
            true => self.statuses.last(),
            false => self.statuses.first(),
        };
        status.copied().unwrap_or(200)
    }

    /// Whether the parameter called `name` stands in the path.
    pub fn is_in_path(&self, name: &str) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) == Some(name))
    }

    /// Reads the arguments, and runs.
    ///
    /// # Errors
    ///
    /// Fails with what to tell the caller; nothing is done half.
    pub fn call(&self, call: &Call<'_>, values: JsonObject) -> Result<Reply, ToolError> {
        // What one call changes is undone together.
        let _deed = OneDeed::begin();
        let arguments = Arguments::new(values, self.parameters)?;
        (self.run)(call, &arguments)
    }
}

/// Why a request was not done: one of four codes, and a message for the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    pub const NOT_FOUND: &'static str = "NOT_FOUND";
    pub const VALIDATION_FAILED: &'static str = "VALIDATION_FAILED";
    pub const CONFLICT: &'static str = "CONFLICT";
    pub const DATABASE_ERROR: &'static str = "DATABASE_ERROR";

    /// What is about this machine, such as a disk that is full, is in the server's log, and the
    /// caller gets a general message.
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
        EngineError::Past(past) => (of_past(past), past.to_string()),
        other => {
            tracing::error!("{}", full(other));
            let message = "Internal server error".to_owned();
            (Refusal::DATABASE_ERROR, message)
        }
    }
}

fn of_past(error: &PastError) -> &'static str {
    match error {
        PastError::NoHistory { .. } | PastError::Paused(_) => Refusal::CONFLICT,
        PastError::UnknownRevision(_)
        | PastError::UnknownTarget(_)
        | PastError::BeforeTheBeginning { .. }
        | PastError::NotThere { .. }
        | PastError::Purged(_) => Refusal::NOT_FOUND,
        _ => Refusal::VALIDATION_FAILED,
    }
}
