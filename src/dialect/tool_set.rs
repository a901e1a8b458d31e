//! A tool set as its clients see it: tools, resources and prompts.

use super::arguments::Arguments;
use super::call::Call;
use super::json::JsonObject;
use super::parameter::Parameter;
use super::reply::{Reply, ToolError};
use crate::engine::OneDeed;

/// A set of tools as one kind of client knows it.
pub trait Dialect: Send + Sync {
    /// Server name, version and instructions shown at connection.
    fn about(&self) -> About;

    fn tools(&self) -> &[Tool];

    /// Those that stand for one thing before those that stand for many.
    fn resources(&self) -> &[Resource] {
        &[]
    }

    fn prompts(&self) -> &[Prompt] {
        &[]
    }
}

/// The description of a server for its clients.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub name: &'static str,
    pub title: &'static str,
    pub version: &'static str,
    pub instructions: &'static str,
}

/// One tool: what the client sees, and what it does.
#[derive(Clone, Copy)]
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    /// The JSON schema of the structured reply, where the tool set has one: always an object,
    /// because clients lose every tool of a server that has an array there.
    pub result: Option<fn() -> JsonObject>,
    pub hints: Hints,
    pub run: Run,
    /// Makes the reply of an error.
    pub refuse: fn(&ToolError) -> Reply,
}

/// What a tool does.
pub type Run = fn(&Call<'_>, &Arguments) -> Result<Reply, ToolError>;

impl Tool {
    /// A tool without a schema of its structured reply.
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
            run,
            refuse,
        }
    }

    /// Reads the arguments, and runs.
    pub fn call(&self, call: &Call<'_>, values: JsonObject) -> Reply {
        // What one call changes is undone together.
        let _deed = OneDeed::begin();
        let arguments = Arguments::new(values, self.parameters).map_err(ToolError::from);
        let reply = arguments.and_then(|arguments| (self.run)(call, &arguments));
        reply.unwrap_or_else(|error| (self.refuse)(&error))
    }
}

/// The annotations of a tool for clients. No tool reaches out to other systems.
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    pub title: &'static str,
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    /// Whether clients that hide tools behind a search should show it at once: a memory that has
    /// to be searched for is not used, and each tool shown costs its description every time.
    pub at_hand: bool,
}

impl Hints {
    /// Of a tool that changes no memory.
    pub const fn reads(title: &'static str) -> Hints {
        Hints {
            title,
            read_only: true,
            destructive: false,
            idempotent: true,
            at_hand: false,
        }
    }

    /// Of a tool that adds or changes.
    pub const fn writes(title: &'static str) -> Hints {
        Hints {
            read_only: false,
            idempotent: false,
            ..Hints::reads(title)
        }
    }

    /// Of a tool that takes memories out of sight, or away.
    pub const fn takes_away(title: &'static str) -> Hints {
        Hints {
            destructive: true,
            ..Hints::writes(title)
        }
    }

    /// The same, of a tool whose second call with the same arguments changes nothing.
    pub const fn idempotent(self) -> Hints {
        Hints {
            idempotent: true,
            ..self
        }
    }

    /// The same, of a tool that clients should show at once.
    pub const fn at_hand(self) -> Hints {
        Hints {
            at_hand: true,
            ..self
        }
    }
}

/// Something that clients can read without calling a tool.
pub struct Resource {
    /// With `{id}` at its end it stands for many.
    pub uri: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub mime: &'static str,
    /// Time for which a client may cache the text, in milliseconds.
    pub ttl_ms: u64,
    /// Returns the text; `None` if there is no such thing.
    pub read: fn(&Call<'_>, id: &str) -> Result<Option<String>, ToolError>,
}

impl Resource {
    const ID: &'static str = "{id}";

    /// Whether it stands for many.
    pub fn is_template(&self) -> bool {
        self.uri.ends_with(Resource::ID)
    }

    /// The id in `uri`, empty where the resource is one thing; `None` for the address of another one.
    pub fn id_in<'a>(&self, uri: &'a str) -> Option<&'a str> {
        match self.uri.strip_suffix(Resource::ID) {
            Some(base) => uri.strip_prefix(base).filter(|id| !id.is_empty()),
            None => (uri == self.uri).then_some(""),
        }
    }
}

/// A text that a person can have put before the model.
pub struct Prompt {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// All of them texts.
    pub parameters: &'static [Parameter],
    pub run: fn(&Call<'_>, &Arguments) -> Result<String, ToolError>,
}
