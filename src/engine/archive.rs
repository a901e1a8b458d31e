//! Forgetting, which never loses: memories move to `archive/` and back.

use super::Engine;
use super::EngineError;
use super::reading::stem_of;
use crate::files::FilesError;
use crate::files::Place;
use crate::model::Stem;
use crate::secrets;

/// A memory that was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub stem: Stem,
    /// Its path below `files/` and `archive/`.
    pub name: String,
}

impl Moved {
    pub(super) fn of(name: String) -> Moved {
        Moved {
            stem: stem_of(&name),
            name,
        }
    }
}

impl Engine {
    /// Moves the memory called `id` to the archive; `restore` brings the same bytes back.
    ///
    /// # Errors
    ///
    /// Fails if there is no such memory, or if the archive holds another one of its name.
    pub fn forget(&self, id: &str) -> Result<Moved, EngineError> {
        self.forget_because(id, None)
    }

    /// As [`Engine::forget`], with a reason for whoever asks later.
    ///
    /// # Errors
    ///
    /// As for [`Engine::forget`].
    pub fn forget_because(&self, id: &str, why: Option<&str>) -> Result<Moved, EngineError> {
        self.check_writable()?;
        let (_, name) = self.resolve(id)?;
        // A credential would keep the whole journal from being committed.
        let why = why.map(secrets::redact);
        self.relocate(id, name, [Place::Files, Place::Archive], why.as_deref())
    }

    /// Moves the memory in the file `name` to the archive.
    pub(super) fn archive(&self, name: &str, why: &str) -> Result<Moved, EngineError> {
        let places = [Place::Files, Place::Archive];
        self.relocate(name, name.to_owned(), places, Some(why))
    }

    /// Brings the forgotten memory called `id` back.
    ///
    /// # Errors
    ///
    /// Fails if the archive holds no such memory, or if a live one has its name.
    pub fn restore(&self, id: &str) -> Result<Moved, EngineError> {
        self.check_writable()?;
        let (_, name) = self.resolve_archived(id)?;
        self.relocate(id, name, [Place::Archive, Place::Files], None)
    }

    fn relocate(
        &self,
        id: &str,
        name: String,
        [from, to]: [Place; 2],
        why: Option<&str>,
    ) -> Result<Moved, EngineError> {
        match self.store.relocate(&name, from, to) {
            Err(FilesError::Missing { .. }) => return Err(EngineError::NotFound(id.to_owned())),
            other => other?,
        }
        let tool = match to {
            Place::Archive => "forget",
            Place::Files => "restore",
        };
        self.changed_because(tool, &name, why);
        Ok(Moved::of(name))
    }
}
