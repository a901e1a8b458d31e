//! The store, the dialect and the preferences of a server.

use std::sync::{Arc, Mutex};

use crate::dialect::{Call, Caller, Dialect, Preferences, ServedStore};
use crate::engine::Engine;
use crate::mcp::session::Session;

/// A dialect over a store, with the user's preferences.
#[derive(Clone)]
pub struct Served {
    /// The engine of the store.
    pub engine: Arc<Engine>,
    /// The tool set.
    pub dialect: Arc<dyn Dialect>,
    /// Settings of the user.
    pub preferences: Arc<Preferences>,
    /// All stores, that of `engine` first, if there are several; else none.
    pub stores: Arc<[ServedStore]>,
    /// Facts of the session, where they differ from those of the process.
    pub session: Session,
    /// Notice for the first structured reply of a tool.
    pub notice: Arc<Mutex<Option<String>>>,
}

impl Served {
    /// Returns the context of a call of `caller`.
    pub(super) fn call<'a>(&'a self, caller: &'a Caller) -> Call<'a> {
        self.engine
            .writer
            .serve(caller.client.as_deref().unwrap_or("mcp"));
        Call {
            engine: &self.engine,
            caller,
            preferences: &self.preferences,
            stores: &self.stores,
        }
    }
}
