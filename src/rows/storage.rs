//! A workspace as a place that keeps memories: [`Storage`] and [`WritableStorage`] over rows.
//!
//! A file of a store is a row: live memories and archived ones by the names that they have in a folder, and all
//! others (settings, tombstones, proposals) by their paths. The stamp of a row holds the number of its change, so
//! that two versions never have the same one.

use std::collections::BTreeSet;

use super::database::Value;
use super::error::{RowsError, told};
use super::feed::Feed;
use super::reader::{RowReader, entry_of};
use super::workspace::{BESIDE, Rows, note_lack, path_of, place_name, row_of};
use super::writing;
use super::writing::{Edit, Expected, Outcome, Text};
use crate::files::{
    ChangeFeed, ChangeLog, Entry, FilesError, FilesOf, Leftover, Listing, Place, Reader, Replaced,
    Sequence, Skipped, Storage, TOMBSTONES, Version, WritableStorage,
};
use crate::format::is_memory_name;
use crate::model::Stamp;

/// Name of the file with a store's settings.
pub(super) const SETTINGS: &str = "memdir.toml";

/// Erases the former texts of memories for which a condition holds. Copies of indexes may hold words of deleted texts, and
/// so may files of indexes until servers, which are told, write them anew. A vector does not say of which texts it is.
macro_rules! erase {
    ($condition:literal) => {
        concat!(
            "WITH former AS (DELETE FROM version WHERE workspace = $1 AND place <> 'beside' AND ",
            $condition,
            "), copies AS (DELETE FROM index_copy WHERE workspace = $1), \
             vectors AS (DELETE FROM vector WHERE workspace = $1) \
             UPDATE workspace SET erased = head WHERE name = $1 RETURNING pg_notify('memdir', name)"
        )
    };
}

/// Returns the first name below `folder`, and the first one after all of them.
fn below(folder: &str) -> [Value; 2] {
    // `0` follows `/`.
    [
        Value::Text(format!("{folder}/")),
        Value::Text(format!("{folder}0")),
    ]
}

impl Rows {
    fn write(&self, edits: Vec<Edit>) -> Result<Vec<Outcome>, RowsError> {
        let written = writing::write(&self.database, &self.workspace, &self.known, edits);
        note_lack(written)
    }

    /// Erases the former texts with these hashes.
    pub(super) fn erase_texts(&self, hashes: &[Vec<u8>]) -> Result<(), RowsError> {
        let sql = erase!("hash = ANY($2)");
        self.ask(sql, [Value::ManyBytes(hashes.to_vec())]).map(drop)
    }

    /// Makes one edit.
    fn write_one(&self, edit: Edit) -> Result<Outcome, FilesError> {
        let path = path_of(edit.place, &edit.name);
        let outcomes = self.write(vec![edit]);
        let outcomes = outcomes.map_err(|error| error.at("write", &path))?;
        Ok(outcomes.first().copied().unwrap_or(Outcome::Missing))
    }
}

/// Adds files with their times, in nanoseconds since 1970: paths below the folder of a store, such as
/// `archive/x.md`. Results are in the same order.
///
/// # Errors
///
/// Fails if the database fails; nothing was added then. A path that exists is [`FilesError::Taken`].
pub(super) fn added_files(
    rows: &Rows,
    files: &[(String, Vec<u8>, i64)],
) -> Result<Vec<Result<(), FilesError>>, RowsError> {
    let edit = |(path, bytes, modified): &(String, Vec<u8>, i64)| {
        let (place, name) = row_of(path);
        let text = Text {
            modified: Some(*modified),
            ..Text::new(bytes)
        };
        Edit {
            place,
            name,
            expected: Expected::Absent,
            text: Some(text),
            keeps: false,
        }
    };
    let edits: Vec<Edit> = files.iter().map(edit).collect();
    let outcomes = rows.write(edits)?;
    let added = outcomes.into_iter().zip(files);
    Ok(added
        .map(|(outcome, (path, ..))| added_as(outcome, path))
        .collect())
}

/// Returns the result of adding the file at `path`.
fn added_as(outcome: Outcome, path: &str) -> Result<(), FilesError> {
    match outcome {
        Outcome::Done => Ok(()),
        _ => Err(FilesError::Taken { path: path.into() }),
    }
}

/// Returns the result of replacing or removing the file at `path`.
fn replaced_as(outcome: Outcome, path: String) -> Result<Replaced, FilesError> {
    match outcome {
        Outcome::Done => Ok(Replaced::Done),
        Outcome::Stale | Outcome::Taken => Ok(Replaced::Stale),
        Outcome::Missing => Err(FilesError::Missing { path: path.into() }),
    }
}

impl Storage for Rows {
    fn list(&self, place: Place) -> Result<Listing, FilesError> {
        self.list_after(place, &|_| ())
    }

    fn list_after(&self, place: Place, before: &dyn Fn(&str)) -> Result<Listing, FilesError> {
        before("");
        let sql = "SELECT w.head, m.name, octet_length(m.bytes)::bigint, m.seq, m.modified, m.changed \
             FROM workspace w LEFT JOIN memory m ON m.workspace = $1 AND m.place = $2 WHERE w.name = $1 \
             ORDER BY m.name";
        let failed = |error: RowsError| error.at("list", place_name(place));
        let asked = self.known.ask();
        let rows = self
            .look(sql, [Value::from(place_name(place))])
            .map_err(failed)?;
        let Some(first) = rows.first() else {
            return Err(failed(RowsError::NoWorkspace(self.workspace.to_string())));
        };
        let named = rows
            .iter()
            .filter(|row| row.get::<_, Option<&str>>(1).is_some());
        let entries = named.map(|row| entry_of(row, 1));
        let entries: Vec<Entry> = entries
            .filter(|entry| is_memory_name(entry.name.rsplit('/').next().unwrap_or_default()))
            .collect();
        if place == Place::Files {
            self.known.keep(&asked, entries.iter());
        }
        Ok(Listing {
            entries,
            folders: vec![(String::new(), first.get(0))],
            ..Listing::default()
        })
    }

    fn list_called(&self, place: Place, file: &str) -> Result<Vec<Entry>, FilesError> {
        // By the index of changes: there is a change of every file.
        let sql = "SELECT m.* FROM (SELECT DISTINCT place, name FROM change WHERE workspace = $1 AND place = $2 \
             AND regexp_replace(name, '^.*/', '') = $3) f CROSS JOIN LATERAL ( \
             SELECT name, octet_length(bytes)::bigint, seq, modified, changed FROM memory \
             WHERE workspace = $1 AND place = f.place AND name = f.name OFFSET 0) m ORDER BY m.name";
        let values = [Value::from(place_name(place)), Value::from(file)];
        let rows = self.look(sql, values);
        let rows = rows.map_err(|error| error.at("list", place_name(place)))?;
        Ok(rows.iter().map(|row| entry_of(row, 0)).collect())
    }

    fn look_at(&self, place: Place, name: &str) -> Option<Result<Entry, Skipped>> {
        let entry = RowReader::new(self, place_name(place)).entry(name);
        // Of a file that cannot be asked for nobody knows whether it is gone. Whoever reads it learns why.
        let unknown = || Entry {
            name: name.to_owned(),
            stamp: Stamp::default(),
            changed: i64::MAX,
            has_links: false,
        };
        entry.unwrap_or_else(|_| Some(unknown())).map(Ok)
    }

    fn reader(&self, place: Place) -> Box<dyn Reader> {
        Box::new(RowReader::new(self, place_name(place)))
    }

    fn beside(&self) -> Box<dyn Reader> {
        Box::new(RowReader::new(self, BESIDE))
    }

    fn has_handle(&self, handle: &str) -> bool {
        let sql = "SELECT EXISTS (SELECT FROM memory WHERE workspace = $1 AND place = 'files' \
             AND right(name, 12) = $2)";
        let rows = self.ask(sql, [Value::Text(format!("_{handle}.md"))]);
        rows.is_ok_and(|rows| rows[0].get(0))
    }

    fn names_beside(&self, top: &'static str) -> Result<Vec<String>, FilesError> {
        let sql = "SELECT name FROM memory WHERE workspace = $1 AND place = 'beside' \
             AND name > $2 AND name < $3 ORDER BY name";
        let rows = self.look(sql, below(top));
        let rows = rows.map_err(|error| error.at("list", top))?;
        let names = rows
            .iter()
            .map(|row| &row.get::<_, &str>(0)[top.len() + 1..]);
        let names = names.filter(|name| !name.contains('/') && !name.starts_with('.'));
        Ok(names.map(str::to_owned).collect())
    }

    fn has_folder(&self, folder: &str) -> bool {
        if let Some(is_there) = self.known.folder(folder) {
            return is_there;
        }
        let sql = "SELECT EXISTS (SELECT FROM memory WHERE workspace = $1 AND place = 'files' \
             AND name > $2 AND name < $3)";
        let asked = self.known.ask();
        let (values, wanted) = (self.values(below(folder)), self.known.wanted());
        // There may be some: whoever then needs a text of them learns that the database is away.
        let Ok((rows, _)) = self.database.read(&self.workspace, sql, values, wanted) else {
            return true;
        };
        let is_there = rows[0].get(0);
        self.known.keep_folder(&asked, folder, is_there);
        is_there
    }

    fn shows_whole_texts(&self) -> bool {
        true
    }

    fn change_log(&self) -> Option<&dyn ChangeLog> {
        Some(self)
    }

    fn sequence(&self) -> Option<&dyn Sequence> {
        Some(self)
    }

    fn purged(&self) -> Result<BTreeSet<String>, FilesError> {
        Ok(self.names_beside(TOMBSTONES)?.into_iter().collect())
    }

    fn folder_times(&self, _place: Place, folders: &[(String, i64)]) -> Option<Vec<(String, i64)>> {
        let head = match self.known.head() {
            Some(head) => head,
            None => self.head().ok()?,
        };
        Some(
            folders
                .iter()
                .map(|(folder, _)| (folder.clone(), head))
                .collect(),
        )
    }

    fn folders_changed(&self, place: Place, folders: &[(String, i64)]) -> bool {
        folders.is_empty()
            || self
                .folder_times(place, folders)
                .is_none_or(|times| times != folders)
    }

    fn changed_folders<'a>(&self, _place: Place, _folders: &'a [(String, i64)]) -> Vec<&'a str> {
        // The feed tells all changes by name.
        Vec::new()
    }

    fn changes(&self, wake: Box<dyn Fn() + Send + Sync>) -> Result<Box<dyn ChangeFeed>, String> {
        let feed = Feed::new(&self.database, &self.workspace, &self.known, wake);
        Ok(Box::new(feed))
    }

    fn remove_leftovers(&self, _place: Place, _temps: &[String]) -> Vec<Leftover> {
        Vec::new()
    }
}

impl WritableStorage for Rows {
    fn create(&self) -> Result<(), FilesError> {
        // A workspace is made by its owner.
        Ok(())
    }

    fn add(&self, place: Place, name: &str, bytes: &[u8]) -> Result<(), FilesError> {
        let outcome = self.write_one(Edit {
            place: place_name(place),
            name: name.to_owned(),
            expected: Expected::Absent,
            text: Some(Text::new(bytes)),
            keeps: false,
        })?;
        added_as(outcome, &place.path_of(name))
    }

    fn add_many(&self, place: Place, files: &[(String, Vec<u8>)]) -> Vec<Result<(), FilesError>> {
        let edit = |(name, bytes): &(String, Vec<u8>)| Edit {
            place: place_name(place),
            name: name.clone(),
            expected: Expected::Absent,
            text: Some(Text::new(bytes)),
            keeps: false,
        };
        let outcomes = self.write(files.iter().map(edit).collect());
        let names = files.iter().map(|(name, _)| place.path_of(name));
        each(outcomes, names, |outcome, path| added_as(outcome, &path))
    }

    fn replace(
        &self,
        place: Place,
        name: &str,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Replaced, FilesError> {
        let outcome = self.write_one(replacing(place, name, seen, bytes))?;
        replaced_as(outcome, place.path_of(name))
    }

    fn replace_and_keep(
        &self,
        place: Place,
        name: &str,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Replaced, FilesError> {
        let outcome = self.write_one(Edit {
            keeps: true,
            ..replacing(place, name, seen, bytes)
        })?;
        replaced_as(outcome, place.path_of(name))
    }

    fn replace_many(
        &self,
        place: Place,
        files: &[(String, Version, Vec<u8>)],
    ) -> Vec<Result<Replaced, FilesError>> {
        let edit =
            |(name, seen, bytes): &(String, Version, Vec<u8>)| replacing(place, name, seen, bytes);
        let outcomes = self.write(files.iter().map(edit).collect());
        let names = files.iter().map(|(name, ..)| place.path_of(name));
        each(outcomes, names, replaced_as)
    }

    fn remove(&self, place: Place, name: &str, seen: &Version) -> Result<Replaced, FilesError> {
        let outcome = self.write_one(Edit {
            place: place_name(place),
            name: name.to_owned(),
            expected: Expected::Hash(seen.hash),
            text: None,
            keeps: true,
        })?;
        replaced_as(outcome, place.path_of(name))
    }

    fn rename(&self, from: (Place, &str), to: (Place, &str)) -> Result<(), FilesError> {
        let path = from.0.path_of(from.1);
        let row = |(place, name): (Place, &str)| (place_name(place), name.to_owned());
        let known = &self.known;
        let moved = writing::rename(&self.database, &self.workspace, known, row(from), row(to));
        match note_lack(moved).map_err(|error| error.at("move", &path))? {
            Outcome::Done => Ok(()),
            Outcome::Missing => Err(FilesError::Missing { path: path.into() }),
            Outcome::Taken | Outcome::Stale => Err(FilesError::Taken {
                path: to.0.path_of(to.1).into(),
            }),
        }
    }

    fn erase_former(&self, names: FilesOf<'_>) -> Result<(), FilesError> {
        let (sql, name) = match names {
            FilesOf::Name(name) => (erase!("name = $2"), name.to_owned()),
            FilesOf::Stem(stem) => (
                erase!("regexp_replace(name, '^.*/', '') = $2"),
                format!("{stem}.md"),
            ),
        };
        let erased = self.ask(sql, [Value::Text(name.clone())]);
        erased
            .map(drop)
            .map_err(|error| error.at("erase former texts of", name))
    }

    fn put_beside(
        &self,
        path: &str,
        seen: Option<&Version>,
        bytes: Option<&[u8]>,
    ) -> Result<Replaced, FilesError> {
        let outcome = self.write_one(Edit {
            place: BESIDE,
            name: path.to_owned(),
            expected: seen.map_or(Expected::Absent, |seen| Expected::Hash(seen.hash)),
            text: bytes.map(Text::new),
            // Of the others nobody asks for a former text.
            keeps: path == SETTINGS,
        })?;
        Ok(match outcome {
            Outcome::Done => Replaced::Done,
            Outcome::Stale | Outcome::Taken | Outcome::Missing => Replaced::Stale,
        })
    }
}

/// Returns the edit that replaces the text `seen`, and keeps no copy of it.
fn replacing(place: Place, name: &str, seen: &Version, bytes: &[u8]) -> Edit {
    Edit {
        place: place_name(place),
        name: name.to_owned(),
        expected: Expected::Hash(seen.hash),
        text: Some(Text::new(bytes)),
        keeps: false,
    }
}

/// Returns the result of each file of a call; where the call failed, that error for each.
fn each<T>(
    outcomes: Result<Vec<Outcome>, RowsError>,
    paths: impl Iterator<Item = String>,
    result: impl Fn(Outcome, String) -> Result<T, FilesError>,
) -> Vec<Result<T, FilesError>> {
    match outcomes {
        Ok(outcomes) => outcomes
            .into_iter()
            .zip(paths)
            .map(|(outcome, path)| result(outcome, path))
            .collect(),
        Err(error) => {
            let error = error.into_io();
            let (kind, text) = (error.kind(), told(&error));
            let copy = |path: String| FilesError::Io {
                action: "write",
                path: path.into(),
                source: std::io::Error::new(kind, text.clone()),
            };
            paths.map(|path| Err(copy(path))).collect()
        }
    }
}
