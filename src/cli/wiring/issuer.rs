//! The issuer whose tokens a team's server takes, as the command line and the environment name it.

use std::sync::Arc;
use std::time::Duration;

use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::Context;
use crate::fetch::{FetchClient, RequestLimits, Url};
use crate::openid::Issuer;

/// Variable with the address of the issuer.
pub const ISSUER: &str = "MEMDIR_ISSUER";

/// Variable with the address of the server as clients call it.
pub const AUDIENCE: &str = "MEMDIR_AUDIENCE";

/// Variable with the name of the claim with groups.
pub const GROUPS_CLAIM: &str = "MEMDIR_GROUPS_CLAIM";

/// Default name of that claim.
const GROUPS: &str = "groups";

/// Time limits of requests to the issuer, for which requests of clients wait.
const LIMITS: RequestLimits = RequestLimits {
    connect: Duration::from_secs(3),
    silence: Duration::from_secs(3),
    least: 1,
    tries: 2,
    pause: Duration::from_millis(200),
    longest_wait: Duration::from_secs(2),
};

/// An issuer, and the server as its tokens name it.
pub struct TrustedIssuer {
    /// The issuer.
    pub issuer: Arc<Issuer>,
    /// Origin of the server as clients call it.
    pub origin: String,
    /// Path below which its workspaces are: empty, or `/memories`.
    pub path: String,
}

impl TrustedIssuer {
    /// Returns the path of a workspace's MCP endpoint as clients call it.
    pub fn path_of(&self, workspace: &str) -> String {
        format!("{}/w/{workspace}/mcp", self.path)
    }

    /// Returns the audiences for which a token may be made that opens a workspace: it, or the whole server.
    pub fn audiences(&self, workspace: &str) -> [String; 3] {
        let server = format!("{}{}", self.origin, self.path);
        let workspace = format!("{}{}", self.origin, self.path_of(workspace));
        [workspace, format!("{server}/"), server]
    }
}

/// Options of a command about the issuer.
pub struct Named<'a> {
    /// Address of the issuer.
    pub issuer: Option<&'a str>,
    /// Address of the server as clients call it.
    pub audience: Option<&'a str>,
    /// Name of the claim with groups.
    pub groups_claim: Option<&'a str>,
    /// Further names of the server.
    pub hosts: &'a [String],
}

/// Returns the issuer that a command names, or the environment; `None` if none is named.
pub fn open(context: &Context, named: &Named<'_>) -> Result<Option<TrustedIssuer>, Failure> {
    let variables = &context.environment.variables;
    let chosen = |option: Option<&str>, variable: &str| {
        let option = option.or(variables.get(variable).map(String::as_str));
        option.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let audience = chosen(named.audience, AUDIENCE);
    let Some(name) = chosen(named.issuer, ISSUER) else {
        return match audience {
            Some(_) => Err(
                Failure::new("an audience is named, and no issuer of tokens").hint(format!(
                    "Set {ISSUER} to its address, or give --issuer URL."
                )),
            ),
            None => Ok(None),
        };
    };
    let of_host = || named.hosts.first().map(|host| format!("https://{host}"));
    let Some(audience) = audience.or_else(of_host) else {
        let what =
            "tokens of an issuer are made for the address of this server, which is not known";
        return Err(Failure::new(what).hint(format!(
            "Give --audience https://HOST, as clients call it, or set {AUDIENCE}."
        )));
    };
    let bad = || {
        Failure::new(format!("`{audience}` is no address of this server"))
            .hint("Write --audience https://HOST, or https://HOST/PATH, without a query.")
    };
    let address = Url::parse(&audience).map_err(|_| bad())?;
    let path = address.path().trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    if audience.contains(['?', '#']) || !path.chars().all(is_plain) {
        return Err(bad());
    }
    let claim = chosen(named.groups_claim, GROUPS_CLAIM);
    let client = FetchClient::new(variables, LIMITS);
    let issuer = Issuer::new(&name, claim.as_deref().unwrap_or(GROUPS), client);
    let issuer = issuer.map_err(|error| {
        Failure::new("cannot take tokens of the issuer")
            .because(error)
            .hint("Give --issuer https://HOST, as its tokens name it in `iss`.")
    })?;
    Ok(Some(TrustedIssuer {
        issuer: Arc::new(issuer),
        origin: address.origin(),
        path: path.to_owned(),
    }))
}
