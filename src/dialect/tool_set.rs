//! A tool set: tools, resources and prompts.

use super::arguments::Arguments;
use super::call::Call;
use super::json::JsonObject;
use super::parameter::Parameter;
use super::reply::{Reply, ToolError};
use crate::engine::OneDeed;

/// A tool set for one kind of client.
pub trait Dialect: Send + Sync {
    /// Returns server name, version and instructions for the connection.
    fn about(&self) -> About;

    /// Returns the tools.
    fn tools(&self) -> &[Tool];

    /// Returns the resources, single ones before templates.
    fn resources(&self) -> &[Resource] {
        &[]
    }

    /// Returns the prompts.
    fn prompts(&self) -> &[Prompt] {
        &[]
    }
}

/// Description of a server for its clients.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Name of the server.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Instructions for the model.
    pub instructions: &'static str,
}

/// One tool: its description and its function.
#[derive(Clone, Copy)]
pub struct Tool {
    /// Name of the tool.
    pub name: &'static str,
    /// Description for the model.
    pub description: &'static str,
    /// Parameters of the tool.
    pub parameters: &'static [Parameter],
    /// JSON schema of the structured reply, where the tool set has one: always an object, because clients
    /// drop every tool of a server that has an array there.
    pub result: Option<fn() -> JsonObject>,
    /// Annotations for clients.
    pub hints: Hints,
    /// Whether its calls mostly take less time than handing them over to another thread does.
    pub is_short: bool,
    /// Function that runs a call.
    pub run: Run,
    /// Function that makes the reply of an error.
    pub refuse: fn(&ToolError) -> Reply,
}

/// Function of a tool or an endpoint.
pub type Run = fn(&Call<'_>, &Arguments) -> Result<Reply, ToolError>;

impl Tool {
    /// Returns a tool without a schema of its structured reply.
    pub const fn new(
        name: &'static str,
        description: &'static str,
        parameters: &'static [Parameter],
        hints: Hints,
        run: Run,
        refuse: fn(&ToolError) -> Reply,
    ) -> Tool {
        Tool {
            name,
            description,
            parameters,
            result: None,
            hints,
            is_short: false,
            run,
            refuse,
        }
    }

    /// Reads the arguments, and runs the call; an error is a reply in the tool set's own form.
    pub fn call(&self, call: &Call<'_>, values: JsonObject) -> Reply {
        let reply = self.try_call(call, values);
        reply.unwrap_or_else(|error| (self.refuse)(&error))
    }

    /// Reads the arguments, and runs the call.
    ///
    /// # Errors
    ///
    /// Fails with what the tool set would refuse the call with.
    pub fn try_call(&self, call: &Call<'_>, values: JsonObject) -> Result<Reply, ToolError> {
        // What one call changes is undone together.
        let _deed = OneDeed::begin();
        let arguments = Arguments::new(values, self.parameters)?;
        (self.run)(call, &arguments)
    }
}

/// Annotations of a tool for clients. No tool reaches other systems.
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    /// Title for people.
    pub title: &'static str,
    /// Whether it changes no memory.
    pub read_only: bool,
    /// Whether it archives or deletes memories.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing.
    pub idempotent: bool,
    /// Whether clients that hide tools behind a search should show it at once: hidden tools are not used,
    /// and the description of each shown tool takes tokens.
    pub at_hand: bool,
}

impl Hints {
    /// Returns the hints of a tool that changes no memory.
    pub const fn reads(title: &'static str) -> Hints {
        Hints {
            title,
            read_only: true,
            destructive: false,
            idempotent: true,
            at_hand: false,
        }
    }

    /// Returns the hints of a tool that adds or changes memories.
    pub const fn writes(title: &'static str) -> Hints {
        Hints {
            read_only: false,
            idempotent: false,
            ..Hints::reads(title)
        }
    }

    /// Returns the hints of a tool that archives or deletes memories.
    pub const fn takes_away(title: &'static str) -> Hints {
        Hints {
            destructive: true,
            ..Hints::writes(title)
        }
    }

    /// Returns the hints of a tool whose second call with the same arguments changes nothing.
    pub const fn idempotent(self) -> Hints {
        Hints {
            idempotent: true,
            ..self
        }
    }

    /// Returns the hints of a tool that clients should show at once.
    pub const fn at_hand(self) -> Hints {
        Hints {
            at_hand: true,
            ..self
        }
    }
}

/// A resource that clients read without calling a tool.
pub struct Resource {
    /// Address; a template for many if it ends with `{id}`.
    pub uri: &'static str,
    /// Name of the resource.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Description for clients.
    pub description: &'static str,
    /// MIME type of the text.
    pub mime: &'static str,
    /// Time for which a client may cache the text, in milliseconds.
    pub ttl_ms: u64,
    /// Function that returns the text; `None` if there is no such resource.
    pub read: fn(&Call<'_>, id: &str) -> Result<Option<String>, ToolError>,
}

impl Resource {
    const ID: &'static str = "{id}";

    /// Returns whether it is a template for many.
    pub fn is_template(&self) -> bool {
        self.uri.ends_with(Resource::ID)
    }

    /// Returns the id in `uri`, empty for a single resource; `None` for the address of another one.
    pub fn id_in<'a>(&self, uri: &'a str) -> Option<&'a str> {
        match self.uri.strip_suffix(Resource::ID) {
            Some(base) => uri.strip_prefix(base).filter(|id| !id.is_empty()),
            None => (uri == self.uri).then_some(""),
        }
    }
}

/// A prompt that a person can send to the model.
pub struct Prompt {
    /// Name of the prompt.
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Description for people.
    pub description: &'static str,
    /// Parameters, all of them texts.
    pub parameters: &'static [Parameter],
    /// Function that returns the text.
    pub run: fn(&Call<'_>, &Arguments) -> Result<String, ToolError>,
}
