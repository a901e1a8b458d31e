//! A workspace of a database: its name, its connections, and questions to it.

use std::sync::Arc;

use tokio_postgres::Row;

use super::calls;
use super::database::{Database, Origin, Pace, Value, Wanted, check_name};
use super::error::RowsError;
use super::known::Known;
use crate::files::Place;

/// Place of the files that are no memories.
pub(super) const BESIDE: &str = "beside";

/// Memories of one workspace in PostgreSQL. A clone is the same.
#[derive(Clone)]
pub struct Rows {
    pub(super) database: Database,
    pub(super) workspace: Arc<str>,
    pub(super) known: Arc<Known>,
    /// Number of what this process claims in tables of work that servers divide among them.
    pub(super) claim: i64,
}

/// Returns a random number for a transaction or a claim.
pub(super) fn draw() -> Result<i64, RowsError> {
    let number = getrandom::u64().map_err(|error| RowsError::NotStarted(error.into()))?;
    Ok((number >> 1) as i64)
}

/// Returns the name of a place in the tables.
pub(super) fn place_name(place: Place) -> &'static str {
    match place {
        Place::Files => "files",
        Place::Archive => "archive",
    }
}

/// Returns the place with that name in the tables; `None` for files that are no memories.
pub(super) fn place_in(name: &str) -> Option<Place> {
    let mut places = [Place::Files, Place::Archive].into_iter();
    places.find(|place| place_name(*place) == name)
}

/// Returns the path of a file below the folder of a store.
pub(super) fn path_of(place: &str, name: &str) -> String {
    match place {
        BESIDE => name.to_owned(),
        place => format!("{place}/{name}"),
    }
}

/// Returns place and name of the file at a path below the folder of a store.
pub(super) fn row_of(path: &str) -> (&'static str, String) {
    match Place::of(path) {
        Some((place, name)) => (place_name(place), name.to_owned()),
        None => (BESIDE, path.to_owned()),
    }
}

impl Rows {
    /// Opens the workspace `name`.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be reached, has another schema, or has no such workspace.
    pub fn open(database: &Database, name: &str) -> Result<Rows, RowsError> {
        database.check_any()?;
        check_name(name)?;
        let rows = Rows {
            database: database.clone(),
            workspace: Arc::from(name),
            known: Arc::default(),
            claim: draw()?,
        };
        rows.head().map(|_| rows.clone())
    }

    /// Returns the name of the workspace.
    pub fn name(&self) -> &str {
        &self.workspace
    }

    /// Returns the number of the last change.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be asked, or has no such workspace any more.
    pub fn head(&self) -> Result<i64, RowsError> {
        let rows = self.look("SELECT head FROM workspace WHERE name = $1", [])?;
        match rows.first() {
            Some(row) => Ok(row.get(0)),
            None => Err(RowsError::NoWorkspace(self.workspace.to_string())),
        }
    }

    /// Returns the former texts of a memory, oldest first, each with the number of the change that wrote it.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be asked.
    pub fn former_texts(&self, place: Place, name: &str) -> Result<Vec<(i64, Vec<u8>)>, RowsError> {
        let sql = "SELECT seq, bytes FROM version WHERE workspace = $1 AND place = $2 AND name = $3 \
             ORDER BY seq";
        let rows = self.ask(sql, [Value::from(place_name(place)), Value::from(name)])?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Asks the primary; the first value of `sql` is the workspace.
    pub(super) fn ask<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Vec<Row>, RowsError> {
        let values = self.values(values);
        let answered = self
            .database
            .read_primary(&self.workspace, sql, values, Pace::Any);
        answered.inspect_err(note_unread)
    }

    /// Asks a replica that has every change that is known here, or the primary; while it is away, a replica that has
    /// the changes that this process follows.
    pub(super) fn look<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Vec<Row>, RowsError> {
        // No text of the database holds this character, and it refuses a question with it.
        let has_nul = |value: &Value| matches!(value, Value::Text(text) if text.contains('\0'));
        if values.iter().any(has_nul) {
            return Ok(Vec::new());
        }
        self.look_for(sql, values, self.known.wanted())
    }

    /// Asks the primary; while it is away, a replica that has the changes that this process follows.
    pub(super) fn look_at_newest<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value; N],
    ) -> Result<Vec<Row>, RowsError> {
        let wanted = Wanted {
            prefers_primary: true,
            ..self.known.wanted()
        };
        self.look_for(sql, values, wanted)
    }

    fn look_for<const N: usize>(
        &self,
        sql: &'static str,
        values: [Value; N],
        wanted: Wanted,
    ) -> Result<Vec<Row>, RowsError> {
        let values = self.values(values);
        let answered = self.database.read(&self.workspace, sql, values, wanted);
        let (rows, origin) = answered.inspect_err(note_unread)?;
        if origin == Origin::Earlier {
            calls::note_as_known(Some(wanted.told));
        }
        Ok(rows)
    }

    /// Returns `values` after the name of the workspace.
    pub(super) fn values<const N: usize>(&self, values: [Value; N]) -> Vec<Value> {
        let mut all = vec![Value::from(&*self.workspace)];
        all.extend(values);
        all
    }
}

/// Notes that a call did not get what it asked for, for whatever reason of the database.
fn note_unread(error: &RowsError) {
    if error.is_lack() {
        calls::note_lack();
    }
}

/// Notes that a call could not write, as the database is away.
pub(super) fn note_lack<T>(answered: Result<T, RowsError>) -> Result<T, RowsError> {
    answered.inspect_err(|error| {
        if error.is_away() {
            calls::note_lack();
        }
    })
}
