//! The entry of a server in a client's configuration, and the command in it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::client::{Client, Folders, Scope};
use super::style::ServerStyle;

/// Name of the server in every client.
pub const SERVER: &str = "memdir";

/// The program in entries, as clients find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// This program.
    pub path: PathBuf,
    /// It is the first of its name on the PATH.
    pub is_on_path: bool,
}

/// Command line that a client runs: the program, and the arguments for a server.
#[derive(Debug, Clone)]
pub struct Launch {
    pub program: Program,
    /// Options of every command: the store, if one was named.
    pub options: Vec<String>,
    /// Arguments after `mcp`.
    pub served: Vec<String>,
}

/// Folders that the PATH of a program has that was started from the desktop.
const FOLDERS_OF_THE_SYSTEM: &[&str] = match cfg!(target_os = "macos") {
    true => &["/usr/bin", "/bin", "/usr/sbin", "/sbin"],
    false => &[
        "/usr/local/bin",
        "/usr/local/sbin",
        "/usr/bin",
        "/bin",
        "/usr/sbin",
        "/sbin",
    ],
};

impl Program {
    /// Returns how the program at `own` is called: by its name where the PATH leads to it.
    pub fn find(own: &Path, folders: &Folders) -> Program {
        let real = |path: &Path| path.canonicalize().ok();
        match folders.program(SERVER) {
            Some(found) if real(&found) == real(own) => Program {
                path: found,
                is_on_path: true,
            },
            _ => Program {
                path: own.to_owned(),
                is_on_path: false,
            },
        }
    }

    /// Returns the word with which a client starts the program: the bare name where the client's PATH leads
    /// to it, and in a project's files, which others have, too.
    pub fn word(&self, client: &Client, scope: Scope) -> String {
        let folder = self.path.parent().unwrap_or(&self.path);
        let is_of_the_system = cfg!(windows)
            || FOLDERS_OF_THE_SYSTEM
                .iter()
                .any(|known| folder == Path::new(known));
        let is_seen = !client.is_windowed || is_of_the_system || scope == Scope::Project;
        match self.is_on_path && is_seen {
            true => SERVER.to_owned(),
            false => self.path.display().to_string(),
        }
    }
}

impl Launch {
    /// Returns the program and arguments of the server.
    pub fn server(&self, client: &Client, scope: Scope) -> (String, Vec<String>) {
        let mut arguments = self.options.clone();
        arguments.push("mcp".to_owned());
        arguments.extend(self.served.iter().cloned());
        (self.program.word(client, scope), arguments)
    }
}

impl ServerStyle {
    /// Returns the keys that lead to the entry.
    pub fn path(self) -> [&'static str; 2] {
        let above = match self {
            ServerStyle::Plain(key)
            | ServerStyle::Typed(key)
            | ServerStyle::ClaudeCode(key)
            | ServerStyle::Copilot(key)
            | ServerStyle::Zed(key)
            | ServerStyle::OpenCode(key)
            | ServerStyle::Toml(key) => key,
            ServerStyle::Yaml => "extensions",
        };
        [above, SERVER]
    }

    /// Returns the entry as an object.
    pub fn entry(self, launch: &Launch, client: &Client, scope: Scope) -> Value {
        let (command, arguments) = launch.server(client, scope);
        let mut entry = Map::new();
        let mut add = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        match self {
            ServerStyle::Typed(_) | ServerStyle::ClaudeCode(_) => drop(add("type", json!("stdio"))),
            ServerStyle::Copilot(_) | ServerStyle::OpenCode(_) => {
                add("type", json!("local"));
            }
            _ => {}
        }
        if let ServerStyle::OpenCode(_) = self {
            let words: Vec<String> = [command].into_iter().chain(arguments).collect();
            add("command", json!(words));
            add("enabled", json!(true));
            return Value::Object(entry);
        }
        add("command", json!(command));
        add("args", json!(arguments));
        match self {
            ServerStyle::ClaudeCode(_) => drop(add("alwaysLoad", json!(true))),
            ServerStyle::Copilot(_) => {
                add("tools", json!(["*"]));
                add("deferTools", json!("never"));
            }
            ServerStyle::Zed(_) => drop(add("env", json!({}))),
            _ => {}
        }
        Value::Object(entry)
    }

    /// Returns the keys of an entry that say what is run.
    pub fn command_keys(self) -> &'static [&'static str] {
        match self {
            ServerStyle::OpenCode(_) => &["command"],
            _ => &["command", "args"],
        }
    }
}

/// Returns whether an entry starts a memdir of the user's own choice: another path, another store.
pub fn starts_memdir(entry: &Value) -> bool {
    let command = command(entry);
    let name = command.first().map(Path::new);
    let is_memdir = name
        .and_then(Path::file_stem)
        .is_some_and(|name| name == SERVER);
    is_memdir && command.iter().any(|word| word == "mcp")
}

/// Returns the program that an entry runs and its arguments; nothing if it runs none.
pub fn command(entry: &Value) -> Vec<String> {
    let words = |key: &str| -> Vec<&str> {
        match entry.get(key) {
            Some(Value::String(word)) => vec![word],
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    };
    let words = [words("command"), words("args")].concat();
    words.into_iter().map(str::to_owned).collect()
}

/// Returns the entry as YAML, for the clients that keep their settings in it.
pub fn yaml(launch: &Launch, client: &Client, scope: Scope) -> String {
    let (command, arguments) = launch.server(client, scope);
    // A text in double quotes means the same in JSON and in YAML.
    let quoted = |text: &str| Value::from(text).to_string();
    let arguments: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
    format!(
        "extensions:\n  {SERVER}:\n    name: {SERVER}\n    type: stdio\n    cmd: {}\n    args: [{}]\n    enabled: true\n    timeout: 300\n",
        quoted(&command),
        arguments.join(", ")
    )
}
