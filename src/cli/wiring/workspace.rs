//! Clients of workspaces of a team's server, over HTTP, and their tokens.
//!
//! A token goes to the address that the command or the user's record names and nowhere else: over TLS, or to this
//! machine. The variable `MEMDIR_TOKEN` may be meant for another server, so a server takes it for a workspace only
//! where the user joined with it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::cli::terminal::fail::Failure;
use crate::config::{Config, Environment, Flags};
use crate::engine::{WorkspaceClient, WorkspaceClients, WorkspaceError};
use crate::fetch::{ApiKey, FetchClient, FetchError, Post, RequestLimits, Url};
use crate::model::PrivateRules;
use crate::tls;
use crate::trust::{TokenPlace, WorkspaceConsent};

/// Maximum time for one answer, with the tries.
const DEADLINE: Duration = Duration::from_secs(120);

/// Maximum size of an answer in bytes: a page of a listing has at most 20 MiB, and texts have less.
const MAX_ANSWER: u64 = 64 << 20;

/// Folder of kept tokens, below the user's folder for state.
const TOKENS: &str = "tokens";

/// Variable of a token.
const VARIABLE: &str = "MEMDIR_TOKEN";

/// A workspace over HTTP.
pub struct HttpWorkspace {
    client: FetchClient,
    url: Url,
    address: String,
    token: ApiKey,
}

impl HttpWorkspace {
    /// Returns a client that has not connected yet.
    ///
    /// # Errors
    ///
    /// Fails if `address` is none of a workspace, or a token would not be secret on the way to it.
    pub fn new(
        environment: &Environment,
        address: &str,
        token: &str,
    ) -> Result<HttpWorkspace, Failure> {
        let url = checked(address)?;
        let limits = RequestLimits {
            tries: 3,
            ..RequestLimits::default()
        };
        Ok(HttpWorkspace {
            client: FetchClient::new(&with_authorities(environment), limits),
            url,
            address: address.to_owned(),
            token: ApiKey::new(token),
        })
    }
}

impl WorkspaceClient for HttpWorkspace {
    fn address(&self) -> &str {
        &self.address
    }

    fn ask(&self, name: &str, body: &Value) -> Result<Value, WorkspaceError> {
        let asked = self.url.join(&format!("api/v1/exchange/{name}"));
        let asked = asked.and_then(|address| {
            self.client.ask(&Post {
                address: &address,
                key: Some(&self.token),
                body,
                deadline: DEADLINE,
                max_answer_bytes: MAX_ANSWER,
            })
        });
        asked.map_err(|error| {
            let address = &self.address;
            let (hint, is_lasting) = match &error {
                FetchError::Refused { status: 401, .. } => (
                    Some(format!(
                        "Set {VARIABLE} to a token of that workspace; `memdir sync --with {address} --keep-token` keeps it."
                    )),
                    true,
                ),
                // A quota may be raised, or others may make room.
                FetchError::Refused { status: 403, .. } => (
                    Some(
                        "A quota of the workspace is reached, or the token may not do that: ask its owner."
                            .to_owned(),
                    ),
                    false,
                ),
                FetchError::Refused { status: 404 | 410, .. } => (
                    Some("Look at the address: the server has no such workspace.".to_owned()),
                    true,
                ),
                FetchError::Broken { .. } => (
                    Some(
                        "Try again later: it goes on where it stopped. A proxy is named by HTTPS_PROXY."
                            .to_owned(),
                    ),
                    false,
                ),
                error => (error.hint(), false),
            };
            WorkspaceError {
                message: format!("cannot exchange memories: {}", error.in_one_line()),
                hint,
                is_lasting,
            }
        })
    }
}

/// Clients by the user's record, with the settings of the process and its variables.
pub struct ConfiguredWorkspaces {
    /// Flags of the process.
    pub flags: Flags,
    /// Surroundings of the process.
    pub environment: Environment,
}

impl WorkspaceClients for ConfiguredWorkspaces {
    fn open(&self, joined: &WorkspaceConsent) -> Result<Box<dyn WorkspaceClient>, WorkspaceError> {
        let token = match &joined.token {
            TokenPlace::Kept => read_token(&self.environment, &joined.address),
            TokenPlace::Variable(name) => variable(&self.environment, name),
        };
        let address = &joined.address;
        let token = token.ok_or_else(|| {
            let place = match &joined.token {
                TokenPlace::Kept => "none is kept any more".to_owned(),
                TokenPlace::Variable(name) => format!("the variable {name} is not set here"),
            };
            no_token(address, &format!(": {place}"))
        });
        let client = token.and_then(|token| HttpWorkspace::new(&self.environment, address, &token));
        match client {
            Ok(client) => Ok(Box::new(client)),
            Err(failure) => Err(WorkspaceError {
                message: failure.what,
                hint: failure.hint,
                is_lasting: true,
            }),
        }
    }

    fn private(&self) -> Result<PrivateRules, WorkspaceError> {
        match Config::read(&self.flags, &self.environment) {
            Ok(config) => Ok(config.private),
            Err(error) => Err(WorkspaceError {
                message: format!(
                    "nothing is exchanged, as it is not known what is private: {error}"
                ),
                hint: None,
                is_lasting: false,
            }),
        }
    }
}

/// Returns the address of a workspace, parsed.
fn checked(address: &str) -> Result<Url, Failure> {
    let url = Url::parse(address)
        .map_err(|error| Failure::new("cannot use this address").because(error))?;
    if !url.is_encrypted() && !url.is_loopback() {
        return Err(Failure::new(format!(
            "nothing was sent: nothing is secret on the way to {address}"
        ))
        .hint("Use https://; plain http is for this machine alone."));
    }
    if !is_of_workspace(address) {
        return Err(
            Failure::new(format!("{address} is no address of a workspace"))
                .hint("It ends with /w/NAME, as in https://team.example/w/atlas."),
        );
    }
    Ok(url)
}

/// Returns whether an address ends with `/w/` and a name.
fn is_of_workspace(address: &str) -> bool {
    let mut parts = address.rsplit('/');
    let name = parts.next();
    name.is_some_and(|name| !name.is_empty()) && parts.next() == Some("w")
}

/// Returns the variables, with the system's authorities where no others are named.
fn with_authorities(environment: &Environment) -> HashMap<String, String> {
    let mut variables = environment.variables.clone();
    let system = tls::system_authorities().and_then(Path::to_str);
    if let Some(system) = system {
        let named = variables.entry("SSL_CERT_FILE".to_owned()).or_default();
        if named.is_empty() {
            system.clone_into(named);
        }
    }
    variables
}

/// Returns a client of the workspace at `address`, and the place of its token: that of the variable, which is kept if
/// `keep`, else the kept one.
///
/// # Errors
///
/// Fails if there is no token or it cannot be kept, and as [`HttpWorkspace::new`] does.
pub fn client(
    environment: &Environment,
    address: &str,
    keep: bool,
) -> Result<(HttpWorkspace, TokenPlace), Failure> {
    let address = address.trim_end_matches('/');
    checked(address)?;
    let (token, place) = match variable(environment, VARIABLE) {
        Some(token) if keep && let Some(path) = token_path(environment, address) => {
            keep_token(&path, &token).map_err(|error| {
                Failure::new(format!("cannot keep the token in {}", path.display())).because(error)
            })?;
            (token, TokenPlace::Kept)
        }
        Some(token) => (token, TokenPlace::Variable(VARIABLE.to_owned())),
        None => {
            let kept = read_token(environment, address);
            (kept.ok_or_else(|| no_token(address, ""))?, TokenPlace::Kept)
        }
    };
    Ok((HttpWorkspace::new(environment, address, &token)?, place))
}

fn no_token(address: &str, why: &str) -> Failure {
    Failure::new(format!("there is no token for {address}{why}")).hint(format!(
        "Set {VARIABLE} to one of that server; `memdir sync --with {address} --keep-token` keeps it."
    ))
}

fn variable(environment: &Environment, name: &str) -> Option<String> {
    let token = environment.variables.get(name)?.trim();
    (!token.is_empty()).then(|| token.to_owned())
}

fn read_token(environment: &Environment, address: &str) -> Option<String> {
    let bytes = crate::files::read_derived(&token_path(environment, address)?).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns the file with the token that is kept for `address`; `None` if there is none.
pub fn kept_token(environment: &Environment, address: &str) -> Option<PathBuf> {
    token_path(environment, address).filter(|path| path.exists())
}

fn token_path(environment: &Environment, address: &str) -> Option<PathBuf> {
    let folder = environment.state_folder.as_ref()?.join(TOKENS);
    Some(folder.join(format!("{:032x}", crate::files::digest(address.as_bytes()))))
}

fn keep_token(path: &Path, token: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        crate::files::create_private_folder(folder)?;
    }
    #[cfg(unix)]
    if path.exists() {
        use std::os::unix::fs::PermissionsExt;
        // What is written keeps the permissions of what was there.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    crate::files::write_synced(path, token.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::is_of_workspace;

    #[test]
    fn an_address_of_a_workspace_ends_with_its_name() {
        for address in ["https://host/w/atlas", "https://host/below/w/atlas"] {
            assert!(is_of_workspace(address), "{address}");
        }
        for address in [
            "https://host",
            "https://host/w",
            "https://host/w/",
            "https://host/atlas",
        ] {
            assert!(!is_of_workspace(address), "{address}");
        }
    }
}
