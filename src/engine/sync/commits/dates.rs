//! Gives notes that state no time the time of the commit that changed them last.
//!
//! A checkout gives every file the time at which it was written here. For a memory that does not
//! matter, as its name and its frontmatter say when it was made; for a note without either, the time
//! of the file is all there is. So that a clone does not make such notes new, memdir gives a file
//! that it took from a commit, or found in a repository that becomes the store's own, the time of
//! the last commit that changed it. The text stays as it is.

use chrono::DateTime;

use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::live::reading::stem_of;
use crate::engine::sync::remote::apply::File;
use crate::engine::sync::remote::three_way_merge::Step;
use crate::files::FilesError;
use crate::files::Place;
use crate::files::Version;
use crate::git::Id;
use crate::git::LastChanges;
use crate::git::Repository;

impl Engine {
    /// Dates the notes that `steps` brought from `commit`. `head` is what was here before.
    pub(in crate::engine::sync) fn date_brought(
        &self,
        repository: &Repository,
        steps: &[Step],
        (head, commit): (Option<Id>, Id),
    ) -> Result<(), EngineError> {
        let taken = steps.iter().filter(|step| step.text.is_none());
        let taken = taken.filter_map(|step| match (File::at(&step.path), step.after) {
            (File::Memory(Place::Files, name), Some(id)) => Some((name.to_owned(), id)),
            _ => None,
        });
        self.date(repository, taken.collect(), (head, commit))
    }

    /// Dates the notes that stand in the files as in `commit`.
    pub(in crate::engine::sync) fn date_found(
        &self,
        repository: &Repository,
        commit: Id,
    ) -> Result<(), EngineError> {
        let committed = repository.trees(Some(commit))?.files_below("files")?;
        let names = committed.into_iter().filter_map(|(path, id)| {
            let name = path.strip_prefix("files/")?;
            Some((name.to_owned(), id))
        });
        self.date(repository, names.collect(), (None, commit))
    }

    /// Dates those of `names` that still are as in the commit `to`, by the commits since `from`.
    fn date(
        &self,
        repository: &Repository,
        names: Vec<(String, Id)>,
        (from, to): (Option<Id>, Id),
    ) -> Result<(), EngineError> {
        let mut last_changes: Option<LastChanges<'_>> = None;
        for (name, id) in names {
            self.date_file(&name, id, || {
                let changes = match &mut last_changes {
                    Some(changes) => changes,
                    empty => empty.insert(repository.last_changes(to, from, |path| path)?),
                };
                Ok(changes.of(&Place::Files.path_of(&name))?)
            })?;
        }
        Ok(())
    }

    /// Gives a note with the text `id` that states no time the time `at`, in seconds since 1970, if
    /// its file has a later one.
    pub(in crate::engine::sync) fn date_file(
        &self,
        name: &str,
        id: Id,
        at: impl FnOnce() -> Result<i64, EngineError>,
    ) -> Result<(), EngineError> {
        if stem_of(name).time().is_some() {
            return Ok(());
        }
        let version = match self.store.reader(Place::Files).read(name, u64::MAX) {
            Err(FilesError::Missing { .. } | FilesError::NotRegular { .. }) => return Ok(()),
            other => other?,
        };
        if Id::of_text(&version.bytes) != id || states_its_time(&version) {
            return Ok(());
        }
        let at = at()?.saturating_mul(1_000_000_000);
        if at < version.entry.stamp.modified {
            self.store.set_modified(Place::Files, &version, at)?;
            self.changed_by_us(name);
        }
        Ok(())
    }
}

/// Whether a file needs no time of its own: its name or its frontmatter states one.
fn states_its_time(version: &Version) -> bool {
    let nothing = DateTime::UNIX_EPOCH;
    let stem = stem_of(&version.entry.name);
    crate::format::parse(&stem, &version.bytes, nothing)
        .timestamp
        .utc()
        != nothing
}
