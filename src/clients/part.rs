//! The parts of a set-up: what each puts into a file of a client, and how it is taken out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::block;
use super::client::{Client, Place, Scope};
use super::error::EditError;
use super::hooks;
use super::instructions::{self, Words};
use super::json::{self, Step};
use super::server::{self, Launch};
use super::style::ServerStyle;
use super::toml;

/// A part of the set-up of one client; each stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    Server,
    Hooks,
    Instructions,
    Skill,
}

/// Contents that are put into files.
#[derive(Debug, Clone)]
pub struct Contents {
    pub launch: Launch,
    pub words: Words,
    /// Another command than the one in an entry is wanted: it is written over one that a person wrote.
    pub overrides_command: bool,
}

/// A changed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    pub text: String,
    /// The entry of the server, if memdir wrote it.
    pub server: Option<Value>,
    /// The entry runs another command than memdir would write, which a person chose; it is kept.
    pub keeps_command: bool,
}

impl Part {
    pub const ALL: [Part; 4] = [Part::Server, Part::Hooks, Part::Instructions, Part::Skill];

    pub fn name(self) -> &'static str {
        match self {
            Part::Server => "server",
            Part::Hooks => "hooks",
            Part::Instructions => "instructions",
            Part::Skill => "skill",
        }
    }

    /// Returns the file of a part; `None` where the client has none in this scope.
    pub fn place(self, client: &Client, scope: Scope) -> Option<&Place> {
        match self {
            Part::Server => client.server.files.at(scope),
            Part::Hooks => client.hooks.as_ref()?.files.at(scope),
            Part::Instructions => client.instructions.at(scope),
            Part::Skill => client.skill.at(scope),
        }
    }

    /// Returns the part as a text for pasting.
    pub fn snippet(self, contents: &Contents, client: &Client, scope: Scope) -> String {
        let launch = &contents.launch;
        match (self, client.server.style, &client.hooks) {
            (Part::Server, ServerStyle::Yaml, _) => server::yaml(launch, client, scope),
            (Part::Server, style @ ServerStyle::Toml(_), _) => {
                toml::pretty(style.path(), &style.entry(launch, client, scope))
            }
            (Part::Server, style, _) => {
                let entry = style.entry(launch, client, scope);
                let [above, name] = style.path();
                format!(
                    "{}\n",
                    json::pretty(&serde_json::json!({above: {name: entry}}))
                )
            }
            (Part::Hooks, _, Some(hooks)) => {
                let entries = hooks::entries(hooks.style, launch, client, scope);
                hooks::pretty(hooks.style, &entries)
            }
            (Part::Hooks, _, None) => String::new(),
            (Part::Instructions, ..) => {
                block::set("", &instructions::block(&contents.words)).expect("it has no markers")
            }
            (Part::Skill, ..) => instructions::skill(&contents.words),
        }
    }

    /// Returns the text of a file with the part in it. `own` is the entry of the server that memdir wrote
    /// last.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be changed without risk to what others wrote.
    pub fn put(
        self,
        text: &str,
        contents: &Contents,
        client: &Client,
        scope: Scope,
        own: Option<&Value>,
    ) -> Result<Put, EditError> {
        let plain = |text: String| Put {
            text,
            server: None,
            keeps_command: false,
        };
        match (self, &client.hooks) {
            (Part::Server, _) => put_server(text, contents, client, scope, own),
            (Part::Hooks, Some(hooks)) => {
                let entries = hooks::entries(hooks.style, &contents.launch, client, scope);
                hooks::set(text, hooks.style, &entries).map(plain)
            }
            (Part::Hooks, None) => Ok(plain(text.to_owned())),
            (Part::Instructions, _) => {
                block::set(text, &instructions::block(&contents.words)).map(plain)
            }
            (Part::Skill, _) => match text.is_empty() || is_own_skill(text) {
                true => Ok(plain(instructions::skill(&contents.words))),
                false => Err(EditError::Foreign),
            },
        }
    }

    /// Returns the text of a file without the part; `None` where nothing is left of a file that was not
    /// there before. `before` is the text as it was before memdir, if there was a file.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be changed without risk to what others wrote.
    pub fn take(
        self,
        text: &str,
        client: &Client,
        before: Option<&str>,
    ) -> Result<Option<String>, EditError> {
        let rest = match (self, &client.hooks) {
            (Part::Server, _) => take_server(text, client.server.style, before)?,
            (Part::Hooks, Some(hooks)) => hooks::remove(text, hooks.style, before)?,
            (Part::Hooks, None) => text.to_owned(),
            (Part::Instructions, _) => block::remove(text)?,
            (Part::Skill, _) if is_own_skill(text) => String::new(),
            (Part::Skill, _) => return Err(EditError::Foreign),
        };
        let is_empty = matches!(rest.trim(), "" | "{}");
        Ok(Some(rest).filter(|_| !is_empty || before.is_some()))
    }
}

fn is_own_skill(text: &str) -> bool {
    text.starts_with("---\nname: memdir\n")
}

/// Returns the entry of the server; `None` if there is none.
pub(super) fn present(text: &str, style: ServerStyle) -> Result<Option<Value>, EditError> {
    let path = style.path();
    match style {
        ServerStyle::Yaml => Err(EditError::ByHand),
        ServerStyle::Toml(_) => toml::table(text, path),
        _ => {
            let value = json::value(text)?;
            Ok(json::at(&value, &path.map(Step::Key)).cloned())
        }
    }
}

/// Returns whether a file has an entry of the server that starts memdir by another command than set-up writes.
pub(super) fn has_other_command(
    text: &str,
    contents: &Contents,
    client: &Client,
    scope: Scope,
) -> bool {
    let style = client.server.style;
    let entry = style.entry(&contents.launch, client, scope);
    let differs = |present: &Value| {
        let mut keys = style.command_keys().iter();
        keys.any(|key| present.get(key) != entry.get(key))
    };
    let present = present(text, style).ok().flatten();
    present.is_some_and(|present| server::starts_memdir(&present) && differs(&present))
}

fn put_server(
    text: &str,
    contents: &Contents,
    client: &Client,
    scope: Scope,
    own: Option<&Value>,
) -> Result<Put, EditError> {
    let style = client.server.style;
    let path = style.path();
    let mut entry = style.entry(&contents.launch, client, scope);
    let present = present(text, style)?;
    let mut keeps_command = false;
    if let Some(present) = present.as_ref().filter(|present| Some(*present) != own) {
        let differs = |key: &&str| present.get(key) != entry.get(key);
        let keys = style.command_keys();
        if keys.iter().any(differs) && !contents.overrides_command {
            if !server::starts_memdir(present) {
                return Err(EditError::Foreign);
            }
            keeps_command = true;
            let members = entry.as_object_mut().expect("an entry is an object");
            members.retain(|key, _| !keys.contains(&key.as_str()));
        }
    }
    let mut new = text.to_owned();
    match (style, &present) {
        (ServerStyle::Toml(_), _) => new = toml::set(&new, path, &entry)?,
        (_, None) => new = json::set(&new, &path, &entry)?,
        (_, Some(_)) => {
            for (key, value) in entry.as_object().expect("an entry is an object") {
                new = json::set(&new, &[path[0], path[1], key], value)?;
            }
        }
    }
    let server = match keeps_command {
        true => None,
        false => self::present(&new, style)?,
    };
    Ok(Put {
        text: new,
        server,
        keeps_command,
    })
}

fn take_server(text: &str, style: ServerStyle, before: Option<&str>) -> Result<String, EditError> {
    let path = style.path();
    match present(text, style)? {
        None => return Ok(text.to_owned()),
        Some(entry) if !server::starts_memdir(&entry) => return Err(EditError::Foreign),
        Some(_) => {}
    }
    if let ServerStyle::Toml(_) = style {
        return toml::remove(text, path);
    }
    let text = json::remove(text, &path.map(Step::Key))?;
    let before = before
        .and_then(|text| json::value(text).ok())
        .unwrap_or_default();
    hooks::without_empty(&text, &[Step::Key(path[0])], &before)
}
