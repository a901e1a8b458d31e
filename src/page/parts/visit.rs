//! One look at a store, and who looks.

use std::cell::RefCell;
use std::sync::Arc;

use super::error::PageError;
use super::health::Health;
use super::parameters::Parameters;
use super::texts;
use super::uploads::Uploads;
use crate::engine::Engine;

/// A visitor of the page.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// True if the visitor may change memories.
    pub may_write: bool,
    /// Token that each of his forms has to hold.
    pub form_token: String,
    /// True if the browser runs on the machine with the files, so that links to programs of it make sense.
    pub is_local: bool,
}

/// Parts of the page that only a store in a folder has.
pub struct OfFolder<'a> {
    /// User of memories that are imported.
    pub user: &'a str,
    /// Files that were sent to be imported.
    pub uploads: &'a Uploads,
    /// Checks of `memdir doctor`.
    pub health: &'a Health,
}

/// One look at a store.
pub struct Visit<'a> {
    /// The store.
    pub engine: &'a Arc<Engine>,
    /// Parts of the page of a store in a folder; `None` of another place for memories.
    pub folder: Option<OfFolder<'a>>,
    /// Name of the tool set that agents of this store have, for the text of the brief.
    pub dialect: Option<&'a str>,
    /// The visitor.
    pub visitor: &'a Visitor,
    /// Path of the page, with a slash at both ends.
    pub base: &'a str,
    /// Address of this view below that of the page, with its parameters.
    pub address: &'a str,
    /// Number of the store's state before anything was read, if it can be read.
    pub at: Option<u64>,
    /// Parameters of the address.
    pub parameters: &'a Parameters,
    /// Ids of the memories that the view names.
    pub named: RefCell<Vec<String>>,
    /// Sentences about what an action did, for the document that follows it.
    pub warnings: RefCell<Vec<String>>,
}

impl<'a> Visit<'a> {
    /// Returns the ids of the memories that the view names, each once, in the order of the view.
    pub fn into_named(self) -> Vec<String> {
        self.named.into_inner()
    }

    /// Notes that the view names a memory.
    pub(in crate::page) fn name(&self, id: &str) {
        let mut named = self.named.borrow_mut();
        if !named.iter().any(|known| known == id) {
            named.push(id.to_owned());
        }
    }

    /// Keeps sentences for the document that follows.
    pub(in crate::page) fn warn(&self, sentences: Vec<String>) {
        self.warnings.borrow_mut().extend(sentences);
    }

    /// Returns the parts of a store in a folder.
    ///
    /// # Errors
    ///
    /// Fails for another place for memories.
    pub(in crate::page) fn folder(&self) -> Result<&OfFolder<'a>, PageError> {
        self.folder.as_ref().ok_or(PageError::NeedsFolder)
    }

    /// Returns why a visitor who may only read cannot change anything.
    pub(in crate::page) fn may_not_write(&self) -> &'static str {
        match self.folder {
            Some(_) => texts::MAY_NOT_WRITE,
            None => texts::READER_MAY_NOT_WRITE,
        }
    }
}
