//! Memories whose life has ended go to the archive, from which they can be restored.

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;

use super::Engine;
use super::EngineError;
use super::archive::Archived;
use crate::engine::live::reading::parse;
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::model::Filter;
use crate::model::Visibility;

/// What ended so long ago is archived unasked: journals of other machines, which may say that it
/// was used, come within an hour while both are on.
const GRACE: TimeDelta = TimeDelta::days(1);
/// More than so many, and more than one in so many, are not archived unasked: a clock may be wrong,
/// or a setting have come from elsewhere.
const MOST: usize = 20;
const SHARE: usize = 5;
/// Why, in the journal.
const EXPIRED: &str = "expired";

impl Engine {
    /// Moves every memory whose life has ended to the archive; with `dry_run` only says which.
    /// One that cannot be moved stays where it is and does not stop the others.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be searched, or not be written.
    pub fn expire(&self, dry_run: bool) -> Result<Archived, EngineError> {
        self.expire_until(self.clock.now(), None, dry_run)
    }

    /// As [`Engine::expire`] for whoever asks nobody: leaves those whose end another machine may
    /// have put off, and moves nothing if it would be much at once.
    ///
    /// # Errors
    ///
    /// As for [`Engine::expire`].
    pub(super) fn expire_unasked(&self) -> Result<Archived, EngineError> {
        let until = self.clock.now() - GRACE;
        self.expire_until(until, Some(self.counts().files), false)
    }

    fn expire_until(
        &self,
        until: DateTime<Utc>,
        of: Option<usize>,
        dry_run: bool,
    ) -> Result<Archived, EngineError> {
        if !dry_run {
            self.check_writable()?;
        }
        // Who does not know all uses does not know what has ended.
        self.check_uses()?;
        let filter = Filter {
            visibility: Visibility::Expired,
            ..Filter::default()
        };
        let mut names = self.mending(|| self.names_of(self.snapshot()?.as_ref(), &filter))?;
        names.sort_unstable();
        // What was written a moment ago is left where it is, whatever end it states.
        let written_until = of.map(|_| until);
        let has_expired = |name: &str| self.has_expired(name, until, written_until);
        names.retain(|name| has_expired(name));
        if let Some(all) = of
            && names.len() > MOST
            && names.len() * SHARE > all
        {
            return Err(EngineError::TooManyExpired(names.len()));
        }
        // The file decides, and a use of a moment ago.
        Ok(self.archive_all(names, Some(EXPIRED), dry_run, has_expired))
    }

    fn has_expired(
        &self,
        name: &str,
        until: DateTime<Utc>,
        written_until: Option<DateTime<Utc>>,
    ) -> bool {
        let reader = self.store.reader(Place::Files);
        let Ok(version) = reader.read(name, MAX_INDEXED_BYTES as u64) else {
            return false;
        };
        let memory = parse(&version.entry, &version.bytes);
        let is_young = |until: DateTime<Utc>| memory.timestamp.utc() > until;
        if written_until.is_some_and(is_young) {
            return false;
        }
        let (state, _) = self.state_of(&memory);
        state.is_expired(until)
    }
}
