//! Clients of workspaces of servers, which the program makes: the engine speaks no HTTP.

use serde_json::Value;

use crate::model::PrivateRules;
use crate::trust::WorkspaceConsent;

/// Error of an exchange with a workspace.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct WorkspaceError {
    /// The action that failed, and the reason.
    pub message: String,
    /// Advice, as a sentence.
    pub hint: Option<String>,
    /// Whether another attempt is of no use before the user does something.
    pub is_lasting: bool,
}

/// A workspace of a server, as a client reaches it.
pub trait WorkspaceClient: Send + Sync {
    /// Returns its address, for messages.
    fn address(&self) -> &str;

    /// Posts `body` to `exchange/NAME` of the workspace and returns the answer.
    ///
    /// # Errors
    ///
    /// Fails if the server cannot be reached, or refuses.
    fn ask(&self, name: &str, body: &Value) -> Result<Value, WorkspaceError>;
}

/// Opener of clients, with the user's settings as they are at each call: a server runs for weeks.
pub trait WorkspaceClients: Send + Sync {
    /// Returns a client of the workspace, with the token that is in its place now.
    ///
    /// # Errors
    ///
    /// Fails if there is no token, or the address is not one that a token may be sent to.
    fn open(&self, joined: &WorkspaceConsent) -> Result<Box<dyn WorkspaceClient>, WorkspaceError>;

    /// Returns the rules by which memories never leave.
    ///
    /// # Errors
    ///
    /// Fails if the settings cannot be read.
    fn private(&self) -> Result<PrivateRules, WorkspaceError>;
}
