//! What is served: a store, by a dialect, as its user prefers it.

use std::sync::Arc;
use std::sync::Mutex;

use crate::dialect::Call;
use crate::dialect::Caller;
use crate::dialect::Dialect;
use crate::dialect::Preferences;
use crate::engine::Engine;

/// What is served: a tool set over a store, as the user has set it.
#[derive(Clone)]
pub struct Served {
    pub engine: Arc<Engine>,
    pub dialect: Arc<dyn Dialect>,
    pub preferences: Arc<Preferences>,
    /// What is told in the first structured reply of a tool, once.
    pub notice: Arc<Mutex<Option<String>>>,
}

impl Served {
    /// What a call of `caller` is about.
    pub(super) fn call<'a>(&'a self, caller: &'a Caller) -> Call<'a> {
        self.engine
            .writer
            .serve(caller.client.as_deref().unwrap_or("mcp"));
        Call {
            engine: &self.engine,
            caller,
            preferences: &self.preferences,
        }
    }
}
