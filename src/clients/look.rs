//! Reads what the files of a client say of memdir now.

use std::path::PathBuf;

use super::client::{Client, Folders, Scope};
use super::hooks;
use super::part::{self, Part};
use super::plan;
use super::server;
use super::style::ServerStyle;

/// Entry of memdir's server in the configuration of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEntry {
    /// There is no entry, or no file.
    Missing,
    /// The file cannot be read, and why.
    Unreadable(String),
    /// The entry runs this program with these arguments.
    Runs(Vec<String>),
}

/// Returns the file in which a client lists its servers, and what it says of memdir; `None` where the client
/// has no such file in this scope, or one of a format that memdir does not read.
pub fn server_entry(
    client: &Client,
    folders: &Folders,
    scope: Scope,
) -> Option<(PathBuf, ServerEntry)> {
    if client.server.style == ServerStyle::Yaml {
        return None;
    }
    let path = folders.path(Part::Server.place(client, scope)?);
    let read = plan::resolved(&path).and_then(|file| plan::read(&file));
    let entry = read.and_then(|text| match text {
        None => Ok(None),
        Some(text) => {
            let entry = part::present(&text, client.server.style);
            entry.map_err(|error| error.to_string())
        }
    });
    let entry = match entry {
        Err(why) => ServerEntry::Unreadable(why),
        Ok(None) => ServerEntry::Missing,
        Ok(Some(entry)) => ServerEntry::Runs(server::command(&entry)),
    };
    Some((path, entry))
}

/// Returns whether a client calls `memdir hook` at any event.
pub fn has_hooks(client: &Client, folders: &Folders, scope: Scope) -> bool {
    let (Some(hooks), Some(place)) = (&client.hooks, Part::Hooks.place(client, scope)) else {
        return false;
    };
    let read = plan::resolved(&folders.path(place)).and_then(|file| plan::read(&file));
    let text = read.ok().flatten();
    text.is_some_and(|text| hooks::are_in(&text, hooks.style))
}
