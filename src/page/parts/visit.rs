//! One look at a store, and who looks.

use std::sync::Arc;

use super::health::Health;
use super::parameters::Parameters;
use super::uploads::Uploads;
use crate::engine::Engine;

/// A visitor of the page.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// True if the visitor may change memories.
    pub may_write: bool,
    /// Token that each of his forms has to hold.
    pub form_token: String,
    /// True if the browser runs on this machine, so that links to programs of it make sense.
    pub is_local: bool,
}

/// One look at a store.
pub struct Visit<'a> {
    /// The store.
    pub engine: &'a Arc<Engine>,
    /// User of memories that are imported.
    pub user: &'a str,
    /// Files that were sent to be imported.
    pub uploads: &'a Uploads,
    /// Checks of `memdir doctor`.
    pub health: &'a Health,
    /// Name of the tool set that agents of this store have, for the text of the brief.
    pub dialect: Option<&'a str>,
    /// The visitor.
    pub visitor: &'a Visitor,
    /// Parameters of the address.
    pub parameters: &'a Parameters,
}
