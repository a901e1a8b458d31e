//! The ways in which clients write servers and hooks down.

/// Form in which a client writes a server down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerStyle {
    /// JSON: `command` and `args` in an object below the key.
    Plain(&'static str),
    /// The same, with `"type": "stdio"`.
    Typed(&'static str),
    /// The same, with the tools loaded at the start of a session instead of when they are searched for.
    ClaudeCode(&'static str),
    /// The same, with all tools, loaded at the start of a session.
    Copilot(&'static str),
    /// With an empty environment, as Zed writes it.
    Zed(&'static str),
    /// One array for the command and its arguments.
    OpenCode(&'static str),
    /// A TOML table.
    Toml(&'static str),
    /// YAML, which is printed for pasting.
    Yaml,
}

/// Form in which a client writes hooks down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookStyle {
    /// Groups of hooks for each event; times in seconds.
    ClaudeCode,
    /// The same with other names of events; times in milliseconds.
    Gemini,
    /// `version` 1 and a list of commands for each event.
    Cursor,
    /// `version` 1 and a list of commands for each event, one for each kind of shell; a file for each
    /// program.
    Copilot,
}
