//! `memdir sync --with https://HOST/w/NAME`: this store and a workspace of a team's server.
//!
//! The token is that of `MEMDIR_TOKEN`, else the one that was kept for this address with the user's state. It goes to
//! the address that the command names and nowhere else: over TLS, or to this machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::args::sharing::{Direction, Sync};
use crate::cli::sharing::with;
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::afterwards;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Taken, WithWorkspace, WorkspaceClient, WorkspaceError, history};
use crate::fetch::{ApiKey, FetchClient, FetchError, Post, RequestLimits, Url};
use crate::{engine, tls};

/// Maximum time for one answer, with the tries.
const DEADLINE: Duration = Duration::from_secs(120);

/// Maximum size of an answer in bytes: a page of a listing has at most 20 MiB, and texts have less.
const MAX_ANSWER: u64 = 64 << 20;

/// Folder of kept tokens, below the user's folder for state.
const TOKENS: &str = "tokens";

/// Returns the address that `with` is, if it is none of a folder.
pub fn address(with: &Path) -> Option<&str> {
    let text = with.to_str()?;
    let schemes = ["https://", "http://"];
    schemes
        .iter()
        .any(|one| text.starts_with(one))
        .then_some(text)
}

/// Runs `memdir sync --with URL`.
pub fn sync(context: &mut Context, address: &str, command: &Sync) -> Result<Outcome, Failure> {
    let client = client(context, address, command.keep_token)?;
    let engine = context.engine()?;
    let wanted = WithWorkspace {
        client: &client,
        direction: match command.direction {
            Direction::Pull => engine::Direction::Pull,
            Direction::Push => engine::Direction::Push,
            Direction::Merge => engine::Direction::Merge,
        },
        dry_run: command.dry_run,
        accept_deletions: command.accept_deletions,
    };
    let done = history::sync_with_workspace(&engine.history, &wanted)?;
    let report = &done.report;
    let output = &mut context.output;
    if output.json {
        let mut document = with::report_as_json(client.address(), command.direction, report);
        document["private"] = json!(done.private);
        document["only_reads"] = json!(done.only_reads);
        output.json(&document)?;
    } else {
        with::show_report(output, client.address(), report)?;
        if report.dry_run {
            names(context, "comes", &report.here)?;
            names(context, "goes", &report.there)?;
        }
        let output = &mut context.output;
        if done.private > 0 {
            output.line(format!("private, and staying here: {}", done.private))?;
        }
        output.flush()?;
        with::tell_skipped(output, report);
        if done.only_reads {
            output.note("nothing was sent: this token only reads");
        }
    }
    if !command.dry_run {
        afterwards::after_writing(context, &engine)?;
    }
    Ok(Outcome::Done)
}

/// Names each memory that a dry run found, one a line.
fn names(context: &mut Context, what: &str, taken: &Taken) -> Result<(), Failure> {
    let output = &mut context.output;
    let groups = [
        ("", &taken.came),
        (" united", &taken.united),
        (" forgotten", &taken.forgotten),
        (" removed", &taken.removed),
        (" in conflict", &taken.conflicts),
    ];
    for (how, names) in groups {
        for name in names {
            let name = output.shown(name);
            output.line(format!("  {what}{how}: {name}"))?;
        }
    }
    Ok(())
}

/// A workspace over HTTP.
struct HttpWorkspace {
    client: FetchClient,
    url: Url,
    address: String,
    token: ApiKey,
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
            WorkspaceError {
            message: format!("cannot exchange memories: {}", error.in_one_line()),
            hint: match error {
                FetchError::Refused { status: 401, .. } => {
                    Some("Set MEMDIR_TOKEN to a token of that workspace.".to_owned())
                }
                FetchError::Refused { status: 404, .. } => {
                    Some("Look at the address: the server has no such workspace.".to_owned())
                }
                FetchError::Broken { .. } => Some(
                    "Try again later: it goes on where it stopped. A proxy is named by HTTPS_PROXY."
                        .to_owned(),
                ),
                error => error.hint(),
            },
        }
        })
    }
}

fn client(context: &Context, address: &str, keep: bool) -> Result<HttpWorkspace, Failure> {
    let address = address.trim_end_matches('/').to_owned();
    let url = Url::parse(&address)
        .map_err(|error| Failure::new("cannot use this address").because(error))?;
    if !url.is_encrypted() && !url.is_loopback() {
        return Err(Failure::new(format!(
            "nothing was sent: nothing is secret on the way to {address}"
        ))
        .hint("Use https://; plain http is for this machine alone."));
    }
    if !is_of_workspace(&address) {
        return Err(
            Failure::new(format!("{address} is no address of a workspace"))
                .hint("It ends with /w/NAME, as in https://team.example/w/atlas."),
        );
    }
    let token = token(context, &address, keep)?;
    let limits = RequestLimits {
        tries: 3,
        ..RequestLimits::default()
    };
    Ok(HttpWorkspace {
        client: FetchClient::new(&with_authorities(context), limits),
        url,
        address,
        token: ApiKey::new(token),
    })
}

/// Returns whether an address ends with `/w/` and a name.
fn is_of_workspace(address: &str) -> bool {
    let mut parts = address.rsplit('/');
    let name = parts.next();
    name.is_some_and(|name| !name.is_empty()) && parts.next() == Some("w")
}

/// Returns the variables, with the system's authorities where no others are named.
fn with_authorities(context: &Context) -> HashMap<String, String> {
    let mut variables = context.environment.variables.clone();
    let system = tls::system_authorities().and_then(Path::to_str);
    if let Some(system) = system {
        let named = variables.entry("SSL_CERT_FILE".to_owned()).or_default();
        if named.is_empty() {
            system.clone_into(named);
        }
    }
    variables
}

/// Returns the token for `address`; keeps the one of the variable if `keep`.
fn token(context: &Context, address: &str, keep: bool) -> Result<String, Failure> {
    let given = context.environment.variables.get("MEMDIR_TOKEN");
    let given = given
        .map(|token| token.trim())
        .filter(|token| !token.is_empty());
    let path = token_path(context, address);
    match (given, path) {
        (Some(token), Some(path)) if keep => {
            keep_token(&path, token).map_err(|error| {
                Failure::new(format!("cannot keep the token in {}", path.display())).because(error)
            })?;
            Ok(token.to_owned())
        }
        (Some(token), _) => Ok(token.to_owned()),
        (None, path) => {
            let kept = path.and_then(|path| crate::files::read_derived(&path).ok());
            let kept = kept.and_then(|bytes| String::from_utf8(bytes).ok());
            kept.ok_or_else(|| {
                Failure::new(format!("there is no token for {address}"))
                    .hint("Set MEMDIR_TOKEN to one of that server; --keep-token keeps it.")
            })
        }
    }
}

fn token_path(context: &Context, address: &str) -> Option<PathBuf> {
    let folder = context.environment.state_folder.as_ref()?.join(TOKENS);
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
