//! Metadata of protected resources (RFC 9728): where clients get tokens for a workspace.

use ::http::HeaderValue;
use ::http::StatusCode;
use ::http::header;
use axum::response::Response;
use serde_json::{Value, json};

/// Beginning of the addresses of metadata, before the path of the resource.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Route of the metadata of a workspace.
pub(super) const PATH: &str = "/.well-known/oauth-protected-resource/w/{name}/mcp";

/// A workspace, as clients that look for a token know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedResource {
    /// Origin of the server as clients call it: `https://team.example`.
    pub origin: String,
    /// Path of the workspace's MCP endpoint there: `/w/atlas/mcp`.
    pub path: String,
    /// The issuer of tokens.
    pub issuer: String,
}

impl ProtectedResource {
    /// Returns the metadata.
    pub(super) fn metadata(&self) -> Value {
        json!({
            "resource": format!("{}{}", self.origin, self.path),
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
        })
    }

    /// Has a refusal for want of a valid token tell where the metadata is; any other response stays as it is.
    pub(super) fn challenge(&self, response: &mut Response, has_token: bool) {
        if response.status() != StatusCode::UNAUTHORIZED {
            return;
        }
        let metadata = format!("{}{WELL_KNOWN}{}", self.origin, self.path);
        let error = match has_token {
            true => "error=\"invalid_token\", ",
            false => "",
        };
        let value = format!("Bearer realm=\"memdir\", {error}resource_metadata=\"{metadata}\"");
        // Origin and path are checked when they are made.
        if let Ok(value) = HeaderValue::from_str(&value) {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, value);
        }
    }
}
